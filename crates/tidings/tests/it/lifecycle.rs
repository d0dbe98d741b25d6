//! The life of an actor: restart in place, what stands around it, its children, dead letters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::books::{Books, Entry};
use crate::both::{on_all, pool, run, seeded, watchdog};
use crate::letter::Ledger;
use tidings::actor::{
    self, ActorRef, Builder, CallError, Child, Exit, Mailbox, Reply, Restart, SendError, Shutdown,
    Strategy, Supervisor,
};
use tidings::{always, oneshot, select, unbounded, yield_now};

fn crash(why: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(why))
}

pub(crate) fn one_for_one() -> Supervisor {
    Supervisor::new(Strategy::OneForOne).intensity(usize::MAX, Duration::from_secs(1))
}

#[test]
fn references_and_messages_survive_a_restart_but_for_the_one_in_hand() {
    on_all(|| async {
        let (open, gate) = unbounded();
        let child = Child::new(move |mut mailbox: Mailbox<(u64, Reply<u64>)>| {
            let gate = gate.clone();
            async move {
                gate.recv().await.unwrap();
                while let Ok((n, reply)) = mailbox.recv().await {
                    if n % 3 == 0 {
                        crash("three");
                    }
                    reply.send(n + 100 * mailbox.incarnation()).unwrap();
                }
            }
        });
        let actor: ActorRef<_> = child.actor_ref();
        // Before it is started: messages wait.
        assert_eq!((actor.incarnation(), actor.queued()), (0, 0));
        let calls: Vec<_> = (1..=7)
            .map(|n| {
                let actor = actor.clone();
                async move { actor.call(|reply| (n, reply)).await }
            })
            .collect();
        let calls = futures::future::join_all(calls);
        let opener = async {
            while actor.queued() < 7 {
                yield_now().await;
            }
            let supervisor = one_for_one().child(child).start();
            for _ in 0..3 {
                open.send(()).await.unwrap();
            }
            supervisor
        };
        let (answers, supervisor) = futures::future::join(calls, opener).await;
        let answers: Vec<_> = answers
            .into_iter()
            .map(|answer| match answer {
                Ok(n) => n,
                Err(CallError::Ended(Exit::Panicked(why))) if &*why == "three" => 0,
                Err(other) => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(answers, [101, 102, 0, 204, 205, 0, 307]);
        assert_eq!(actor.incarnation(), 3);
        assert!(actor.exit().is_none());
        drop(supervisor);
        assert!(matches!(actor.down().await, Exit::Stopped));
    });
}

#[test]
fn a_restart_is_an_event_and_none_is_missed() {
    on_all(|| async {
        let child =
            Child::new(
                |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} },
            );
        let actor = child.actor_ref();
        let lost = select! {
            _ = actor.restarted(0) => false,
            () = always(()) => true,
        };
        assert!(lost, "it has not been started");
        let mut waiting: Vec<_> = (0..4)
            .map(|n| {
                let actor = actor.clone();
                tidings::spawn(async move { actor.restarted(n).await })
            })
            .collect();
        let supervisor = one_for_one().child(child).start();
        supervisor.started().await.unwrap().unwrap();
        for n in 0..2 {
            actor.restarted(n).await.unwrap();
            actor.kill();
        }
        assert_eq!(actor.restarted(2).await.unwrap(), 3);
        assert_eq!(actor.restarted(0).await.unwrap(), 3);
        let fourth = waiting.pop().unwrap();
        for (n, wait) in (0..).zip(waiting) {
            let life = wait.await.unwrap().unwrap();
            assert!(n < life && life <= 3, "{life} after {n}");
        }
        supervisor.stop();
        assert!(matches!(fourth.await.unwrap(), Err(Exit::Stopped)));
        assert!(actor.restarted(0).await.is_err());
        assert!(matches!(actor.down().await, Exit::Stopped));
    });
}

#[test]
fn a_plain_actor_has_one_life() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<()>| async move {
            assert_eq!(mailbox.incarnation(), 1);
            while mailbox.recv().await.is_ok() {}
        });
        assert_eq!(actor.restarted(0).await.unwrap(), 1);
        let next = tidings::spawn({
            let actor = actor.clone();
            async move { actor.restarted(1).await }
        });
        yield_now().await;
        actor.kill();
        assert!(matches!(next.await.unwrap(), Err(Exit::Killed)));
        assert_eq!(actor.incarnation(), 1);
    });
}

#[test]
fn a_stop_between_lives_is_heard_by_the_next_one_and_a_stopped_mailbox_opens_again() {
    let _watchdog = watchdog();
    for seed in 0..20 {
        run(&seeded(seed), async {
            let child = Child::new(|mut mailbox: Mailbox<Reply<u64>>| async move {
                while let Ok(reply) = mailbox.recv().await {
                    reply.send(mailbox.incarnation()).unwrap();
                }
            });
            let actor = child.actor_ref();
            let wait = Duration::from_secs(10);
            let _supervisor = one_for_one()
                .backoff(actor::Backoff::new(wait, wait).jitter(0.0))
                .child(child)
                .start();
            assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
            actor.kill();
            tidings::after(wait / 2).await;
            // Nobody is there to be killed; a stop waits for the next life.
            actor.kill();
            actor.stop();
            assert_eq!(actor.restarted(2).await.unwrap(), 3);
            assert_eq!(actor.call(|reply| reply).await.unwrap(), 3);
            actor.stop_now();
            // It takes no messages while it stops, and takes them again when it lives again.
            while let Err(error) = actor.call(|reply| reply).await {
                assert!(
                    matches!(error, CallError::NotExecuted(Exit::Stopped)),
                    "{error:?}"
                );
                tidings::after(wait / 5).await;
            }
            assert_eq!(actor.incarnation(), 4);
        });
    }
}

#[test]
fn a_transient_actor_that_is_stopped_is_not_started_again() {
    on_all(|| async {
        let child =
            Child::new(
                |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} },
            );
        let actor = child.actor_ref();
        let _supervisor = one_for_one()
            .child(child.restart(Restart::Transient))
            .start();
        actor.stop();
        assert!(matches!(actor.down().await, Exit::Stopped));
        assert!(actor.send(()).await.is_err());
    });
}

#[tidings::interface]
trait Till {
    async fn pay(&mut self, n: u32);
    async fn sum(&mut self) -> u32;
    async fn shut(&mut self) -> ();
}

struct Drawer {
    sum: u32,
    this: actor::AnyRef,
    log: tidings::Sender<&'static str>,
}

impl Till for Drawer {
    async fn pay(&mut self, n: u32) {
        if n == 0 {
            crash("nothing");
        }
        self.sum += n;
    }
    async fn sum(&mut self) -> u32 {
        self.sum
    }
    async fn shut(&mut self) {
        self.this.fail("the till is shut");
    }
}

impl Drop for Drawer {
    fn drop(&mut self) {
        // The last one ends with the runtime, when nobody listens any more.
        let _ = self.log.try_send("dropped");
    }
}

#[test]
fn what_stands_around_serve_runs_at_the_turns_of_a_life() {
    on_all(|| async {
        let (log, turns) = unbounded();
        let child = Child::new(move |mut mailbox: Mailbox<TillMessage>| {
            let log = log.clone();
            async move {
                let restarted = mailbox.incarnation() > 1;
                log.try_send(if restarted { "restarted" } else { "started" })
                    .unwrap();
                let this = mailbox.this().any();
                let (sum, dead) = (0, log.clone());
                mailbox.on_undelivered(move |_, _| dead.try_send("undelivered").unwrap());
                let drawer = actor::serve(
                    Drawer {
                        sum,
                        this,
                        log: log.clone(),
                    },
                    &mut mailbox,
                )
                .await;
                log.try_send("stopping").unwrap();
                if drawer.sum > 100 {
                    return Err("too much");
                }
                Ok(())
            }
        });
        let till: TillRef = child.reference();
        let said = async |what: &[&str]| {
            for what in what {
                assert_eq!(turns.recv().await.as_ref(), Ok(what));
            }
            assert!(turns.try_recv().is_err());
        };
        let supervisor = one_for_one()
            .child(child.restart(Restart::Transient))
            .start();
        till.pay(5).await.unwrap();
        assert_eq!(till.sum().await.unwrap(), 5);
        said(&["started"]).await;
        till.pay(0).await.unwrap();
        assert_eq!(till.sum().await.unwrap(), 0, "the state is new");
        said(&["dropped", "restarted"]).await;
        till.pay(101).await.unwrap();
        till.shut().await.unwrap();
        // The error of the end counts more than that of the handler.
        till.restarted(2).await.unwrap();
        till.sum().await.unwrap();
        said(&["stopping", "dropped", "restarted"]).await;
        till.shut().await.unwrap();
        assert_eq!(till.restarted(3).await.unwrap(), 4);
        till.sum().await.unwrap();
        said(&["stopping", "dropped", "restarted"]).await;
        supervisor.stop();
        assert!(matches!(till.down().await, Exit::Stopped));
        said(&["stopping", "dropped"]).await;
    });
}

#[test]
fn an_interface_made_anew_has_new_state() {
    on_all(|| async {
        let (log, turns) = unbounded();
        let nobody = actor::spawn(|_: Mailbox<()>| async {}).any();
        let child = Child::interface(move || Drawer {
            sum: 7,
            this: nobody.clone(),
            log: log.clone(),
        });
        let till: TillRef = child.reference();
        let _supervisor = one_for_one().child(child).start();
        till.pay(1).await.unwrap();
        assert_eq!(till.sum().await.unwrap(), 8);
        till.pay(0).await.unwrap();
        assert_eq!(till.sum().await.unwrap(), 7);
        assert_eq!(turns.recv().await, Ok("dropped"));
    });
}

#[test]
fn a_message_that_nobody_takes_is_a_dead_letter_with_its_reason() {
    on_all(|| async {
        for ways in 0..3 {
            let books = Books::default();
            let (dead, letters) = unbounded();
            let (open, gate) = oneshot();
            let (go_on, stopped) = oneshot();
            let actor = actor::spawn(move |mut mailbox: Mailbox<Entry>| async move {
                mailbox.on_undelivered(move |entry: Entry, exit| {
                    dead.try_send(exit.to_string()).unwrap();
                    drop(entry);
                });
                gate.await.unwrap();
                mailbox.recv().await.unwrap().handle();
                match ways {
                    0 => crash("over"),
                    1 => Err("enough"),
                    _ => {
                        stopped.await.unwrap();
                        assert!(mailbox.recv().await.is_err());
                        Ok(())
                    }
                }
            });
            for _ in 0..5 {
                assert!(books.send(&actor, |entry| entry, |entry| entry).await);
            }
            open.send(()).unwrap();
            if ways == 2 {
                while books.handled() == 0 {
                    yield_now().await;
                }
                actor.stop_now();
                go_on.send(()).unwrap();
            }
            actor.down().await;
            let back = books.send(&actor, |entry| entry, |entry| entry).await;
            assert!(!back);
            let why = ["panicked: over", "failed: enough", "was stopped"][ways];
            for _ in 0..4 {
                assert_eq!(letters.recv().await.as_deref(), Ok(why));
            }
            assert_eq!((actor.dead_letters(), books.handled()), (4, 1));
            books.balance(actor.dead_letters());
            assert!(
                letters.recv().await.is_err(),
                "what was done with them goes at the end"
            );
        }
    });
}

#[test]
fn a_hook_that_panics_gets_the_next_letter_all_the_same() {
    on_all(|| async {
        let seen = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&seen);
        let (open, gate) = oneshot();
        let actor = actor::spawn(move |mut mailbox: Mailbox<Reply<()>>| async move {
            mailbox.on_undelivered(move |_, _| {
                count.fetch_add(1, Ordering::SeqCst);
                crash("a hook");
            });
            gate.await.unwrap();
        });
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let actor = actor.clone();
                tidings::spawn(async move { actor.call(|reply| reply).await })
            })
            .collect();
        while actor.queued() < 3 {
            yield_now().await;
        }
        open.send(()).unwrap();
        for call in calls {
            let answer = call.await.unwrap();
            assert!(
                matches!(answer, Err(CallError::NotExecuted(Exit::Normal))),
                "{answer:?}"
            );
        }
        assert!(matches!(actor.down().await, Exit::Normal));
        assert_eq!(seen.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn a_drain_handles_what_is_there_and_a_restart_keeps_it() {
    on_all(|| async {
        let books = Books::default();
        let child = |shutdown| {
            Child::new(|mut mailbox: Mailbox<Entry>| async move {
                while let Ok(entry) = mailbox.recv().await {
                    entry.handle();
                    yield_now().await;
                }
            })
            .shutdown(shutdown)
        };
        let drained = child(Shutdown::Drain(Duration::MAX));
        let actor = drained.actor_ref();
        let supervisor = one_for_one().child(drained).start();
        for n in 0..20 {
            assert!(books.send(&actor, |entry| entry, |entry| entry).await);
            if n == 10 {
                assert!(supervisor.restart_child(actor.id()).await.unwrap());
            }
        }
        supervisor.stop();
        supervisor.down().await;
        assert_eq!((books.handled(), actor.incarnation()), (20, 2));
        books.balance(actor.dead_letters());
    });
}

#[test]
fn children_end_before_their_parent_does() {
    on_all(|| async {
        for way in 0..4 {
            let ledger = Ledger::default();
            let parent = actor::spawn(move |mut mailbox: Mailbox<()>| async move {
                if mailbox.recv().await.is_ok() {
                    crash("told to");
                }
            });
            let held = |n| {
                let letter = ledger.letter(n);
                move |mut mailbox: Mailbox<()>| async move {
                    let _letter = letter;
                    while mailbox.recv().await.is_ok() {}
                    yield_now().await;
                }
            };
            let under = |parent: actor::AnyRef| Builder::new().parent(&parent);
            let child = under(parent.any()).spawn(held(1));
            let grandchild = under(child.any()).spawn(held(2));
            let worker = {
                let ledger = ledger.clone();
                Child::new(move |mut mailbox: Mailbox<()>| {
                    let letter = ledger.letter(3);
                    async move {
                        let _letter = letter;
                        while mailbox.recv().await.is_ok() {}
                    }
                })
            };
            let supervised = worker.actor_ref();
            let supervisor = one_for_one().parent(&parent.any()).child(worker).start();
            supervisor.count_children().await.unwrap();
            match way {
                0 => parent.stop(),
                1 => parent.kill(),
                2 => parent.send(()).await.unwrap(),
                _ => {}
            }
            let weak = parent.any();
            drop(parent);
            let exit = weak.down().await;
            assert_eq!(exit.is_orderly(), way % 3 == 0, "{exit:?}");
            assert_eq!(ledger.alive(), 0, "way {way}");
            for ended in [
                child.any(),
                grandchild.any(),
                supervised.any(),
                supervisor.any(),
            ] {
                let exit = ended.exit().expect("it ended before its parent");
                assert_eq!(matches!(exit, Exit::Killed), way == 1, "{exit:?}");
            }
            // It has ended: whoever comes now is stopped at once.
            let late = under(weak).spawn(held(4));
            assert!(matches!(late.down().await, Exit::Stopped));
        }
    });
}

#[test]
fn a_child_that_has_ended_is_forgotten_by_its_parent() {
    on_all(|| async {
        let parent = actor::spawn(|mut mailbox: Mailbox<()>| async move {
            while mailbox.recv().await.is_ok() {}
        });
        for _ in 0..50 {
            let child = Builder::new()
                .parent(&parent.any())
                .spawn(|_: Mailbox<()>| async {});
            let weak = child.downgrade();
            assert!(matches!(child.down().await, Exit::Normal));
            drop(child);
            while weak.upgrade().is_some() {
                yield_now().await;
            }
        }
        parent.stop();
        assert!(matches!(parent.down().await, Exit::Stopped));
    });
}

#[test]
fn a_runtime_that_ends_ends_a_tree() {
    for workers in [1, 2, 4] {
        let rt = pool(workers);
        let ledger = Ledger::default();
        let held = ledger.clone();
        let (refs, hooked) = run(&rt, async move {
            let child = move |n| {
                let letter = Arc::new(held.letter(n));
                Child::new(move |mut mailbox: Mailbox<()>| {
                    let letter = Arc::clone(&letter);
                    async move {
                        let _letter = letter;
                        while mailbox.recv().await.is_ok() {}
                    }
                })
            };
            let (one, two, never) = (child(1), child(2), child(3));
            let mut refs = vec![
                one.actor_ref().any(),
                two.actor_ref().any(),
                never.actor_ref().any(),
            ];
            let inner = one_for_one().child(one).into_child();
            let top = Supervisor::new(Strategy::RestForOne)
                .child(inner)
                .child(two)
                .child(Child::new(|_: Mailbox<()>| std::future::pending::<()>()))
                .child(never)
                .start();
            while refs[1].incarnation() == 0 {
                yield_now().await;
            }
            refs.push(top.any());
            (refs, top)
        });
        assert!(refs.iter().all(|actor| actor.exit().is_none()));
        drop(rt);
        for actor in &refs {
            assert!(matches!(actor.exit(), Some(Exit::Killed)), "{actor:?}");
        }
        assert_eq!(ledger.alive(), 0);
        drop(hooked);
    }
}

#[test]
fn a_child_that_nobody_starts_has_ended_when_it_is_dropped() {
    on_all(|| async {
        let ledger = Ledger::default();
        let child = Child::new(|mailbox: Mailbox<_>| async move {
            drop(mailbox);
        });
        let actor = child.actor_ref();
        actor.send(ledger.letter(1)).await.unwrap();
        drop(child);
        assert!(matches!(actor.down().await, Exit::Killed));
        assert_eq!((ledger.alive(), actor.dead_letters()), (0, 1));
        assert!(matches!(
            actor.send(ledger.letter(2)).await,
            Err(SendError::Ended(_, Exit::Killed))
        ));
    });
}
