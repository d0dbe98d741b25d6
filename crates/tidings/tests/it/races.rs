//! What happens to an actor at the same time as something else: on real threads, under many seeds, and as
//! shuttle draws it (`cargo x laws shuttle/races`), many times.

use std::sync::Arc;
use std::time::Duration;

use crate::books::{Books, Entry};
use crate::letter::Ledger;
use crate::storm::{beside, storm};
use tidings::actor::{
    self, ActorRef, Builder, CallError, Child, Exit, Mailbox, Reply, Restart, Shutdown, Strategy,
    Supervisor,
};
use tidings::{Event, unbounded, yield_now};

#[path = "races/begin.rs"]
mod begin;
#[path = "races/driver.rs"]
mod driver;

/// Lets the others run a little, more or less, by round.
async fn pause(round: u64) {
    for _ in 0..round % 7 {
        yield_now().await;
    }
}

fn crash() -> ! {
    std::panic::resume_unwind(Box::new("crash"))
}

async fn handle(mut mailbox: Mailbox<Entry>) {
    while let Ok(entry) = mailbox.recv().await {
        entry.handle();
    }
}

/// Sends entries from another task.
fn sender(books: &Books, to: &ActorRef<Entry>, n: u64) -> tidings::JoinHandle<()> {
    let (books, to) = (books.clone(), to.clone());
    beside(async move {
        for _ in 0..n {
            books.send(&to, |entry| entry, |entry| entry).await;
        }
    })
}

#[test]
fn a_stop_or_a_kill_during_the_start_is_heard() {
    storm(|round| async move {
        let books = Books::default();
        let actor = actor::spawn(move |mailbox: Mailbox<Entry>| async move {
            // Itself, from the first moment on.
            let this = mailbox.this().any();
            let act = beside(async move {
                match round % 3 {
                    0 => this.stop(),
                    1 => this.stop_now(),
                    _ => this.kill(),
                }
            });
            pause(round).await;
            handle(mailbox).await;
            act.await.unwrap();
        });
        let sending = sender(&books, &actor, 5);
        let exit = actor.down().await;
        sending.await.unwrap();
        assert_eq!(matches!(exit, Exit::Killed), round % 3 == 2, "{exit:?}");
        books.balance(actor.dead_letters());
    });
}

#[test]
fn an_actor_that_kills_itself_in_its_first_poll_has_been_killed() {
    storm(|_| async {
        let actor = actor::spawn(|mailbox: Mailbox<()>| async move {
            mailbox.this().any().kill();
            std::future::pending::<()>().await;
        });
        assert!(matches!(actor.down().await, Exit::Killed));
    });
}

#[test]
fn a_kill_before_the_actor_has_a_task_is_heard() {
    storm(|_| async {
        let actor = actor::spawn(|mailbox: Mailbox<()>| {
            mailbox.this().any().kill();
            async move {
                let _mailbox = mailbox;
                std::future::pending::<()>().await;
            }
        });
        assert!(matches!(actor.down().await, Exit::Killed));
    });
}

#[test]
fn what_was_to_end_a_life_that_ended_of_itself_does_not_end_the_next_one() {
    storm(|_| async {
        let (tell, told) = unbounded::<()>();
        let child = Child::new(move |mut mailbox: Mailbox<Reply<u64>>| {
            let told = told.clone();
            async move {
                while let Ok(reply) = mailbox.recv().await {
                    reply.send(mailbox.incarnation()).unwrap();
                    if mailbox.incarnation() == 1 {
                        // It does not listen to its mailbox any more.
                        told.recv().await.unwrap();
                        crash();
                    }
                }
            }
        });
        let actor = child.actor_ref();
        let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 1);
        actor.fail("too late");
        tell.send(()).await.unwrap();
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 2);
    });
}

#[test]
fn a_panic_while_it_stops_is_its_end_and_callers_hear() {
    /// A state whose drop panics.
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                crash();
            }
        }
    }
    storm(|round| async move {
        let actor = actor::spawn(move |mut mailbox: Mailbox<Reply<()>>| async move {
            let bad = (round % 2 == 0).then(|| Bad);
            while mailbox.recv().await.is_ok() {
                pause(round).await;
            }
            if bad.is_none() {
                crash();
            }
        });
        let caller = beside({
            let actor = actor.clone();
            async move {
                loop {
                    match actor.call(|reply| reply).await {
                        Err(CallError::NoReply) => {}
                        heard => break heard,
                    }
                }
            }
        });
        pause(round).await;
        if round % 3 == 0 {
            actor.kill();
        } else {
            actor.stop_now();
        }
        let exit = actor.down().await;
        // A kill may come before there is a state to be dropped.
        match exit {
            Exit::Panicked(why) => assert_eq!(&*why, "crash"),
            exit => assert!(round % 3 == 0 && matches!(exit, Exit::Killed), "{exit:?}"),
        }
        // Why it ended, or, before that panic, why it was to.
        match caller.await.unwrap() {
            Err(CallError::Ended(exit) | CallError::NotExecuted(exit)) => match exit {
                Exit::Panicked(why) => assert_eq!(&*why, "crash"),
                Exit::Killed => assert_eq!(round % 3, 0),
                exit => assert!(round % 3 != 0 && matches!(exit, Exit::Stopped), "{exit:?}"),
            },
            heard => panic!("nobody answers: {heard:?}"),
        }
    });
}

#[test]
fn a_storm_of_restarts_loses_no_message() {
    storm(|round| async move {
        let books = Books::default();
        let child = Builder::new()
            .capacity(3)
            .child(|mut mailbox: Mailbox<Entry>| async move {
                let mut n = mailbox.incarnation() % 3;
                while let Ok(entry) = mailbox.recv().await {
                    entry.handle();
                    n += 1;
                    if n.is_multiple_of(3) {
                        crash();
                    }
                }
            });
        let actor = child.actor_ref();
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .intensity(usize::MAX, Duration::from_secs(1))
            .child(child)
            .start();
        supervisor.started().await.unwrap().unwrap();
        let senders: Vec<_> = (0..3).map(|_| sender(&books, &actor, 8)).collect();
        for _ in 0..3 {
            pause(round).await;
            actor.kill();
        }
        for sending in senders {
            sending.await.unwrap();
        }
        while actor.queued() > 0 {
            yield_now().await;
        }
        supervisor.stop();
        supervisor.down().await;
        assert!(actor.incarnation() >= 8);
        // One that was on its way to a life that was killed is handled by the next.
        assert_eq!(books.handled() + actor.dead_letters(), 24);
        books.balance(actor.dead_letters());
    });
}

#[test]
fn a_kill_during_calls_answers_them_all() {
    storm(|round| async move {
        let child =
            Builder::new()
                .capacity(2)
                .child(|mut mailbox: Mailbox<Reply<u64>>| async move {
                    while let Ok(reply) = mailbox.recv().await {
                        yield_now().await;
                        let _ = reply.send(mailbox.incarnation());
                    }
                });
        let actor = child.actor_ref();
        let restart = if round % 2 == 0 {
            Restart::Permanent
        } else {
            Restart::Temporary
        };
        let supervisor = Supervisor::new(Strategy::OneForAll)
            .intensity(usize::MAX, Duration::from_secs(1))
            .child(child.restart(restart))
            .start();
        supervisor.started().await.unwrap().unwrap();
        let callers: Vec<_> = (0..4)
            .map(|_| {
                let actor = actor.clone();
                beside(async move {
                    for _ in 0..4 {
                        match actor.call(|reply| reply).await {
                            Ok(life) => assert!(life > 0),
                            // Its handler always answers, and nothing else ends it.
                            Err(
                                CallError::Ended(Exit::Killed)
                                | CallError::NotExecuted(Exit::Killed),
                            ) => {}
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                })
            })
            .collect();
        for _ in 0..3 {
            pause(round).await;
            actor.kill();
        }
        for caller in callers {
            caller.await.unwrap();
        }
        drop(supervisor);
        actor.down().await;
    });
}

#[test]
fn a_monitor_hears_an_end_whenever_it_comes() {
    storm(|round| async move {
        let actor = actor::spawn(handle);
        let monitors: Vec<_> = (0..4)
            .map(|n| {
                let actor = actor.any();
                beside(async move {
                    pause(round + n).await;
                    // Some give up before, and come back.
                    let early = actor.down().try_now();
                    (early.is_ok(), actor.down().await)
                })
            })
            .collect();
        pause(round).await;
        if round % 2 == 0 {
            actor.kill();
        } else {
            drop(actor);
        }
        for monitor in monitors {
            let (_, exit) = monitor.await.unwrap();
            assert_eq!(matches!(exit, Exit::Killed), round % 2 == 0);
        }
    });
}

#[test]
fn of_two_that_are_linked_neither_survives_a_failure_of_the_other() {
    storm(|round| async move {
        let (one, two) = (actor::spawn(handle), actor::spawn(handle));
        let killers: Vec<_> = [one.any(), two.any()]
            .into_iter()
            .take(1 + usize::from(round % 5 == 0))
            .map(|actor| {
                beside(async move {
                    pause(round).await;
                    actor.kill();
                })
            })
            .collect();
        let linkers: Vec<_> = [(one.any(), two.any()), (two.any(), one.any())]
            .into_iter()
            .map(|(from, to)| {
                beside(async move {
                    pause(round / 7).await;
                    from.link(&to);
                })
            })
            .collect();
        for task in killers.into_iter().chain(linkers) {
            task.await.unwrap();
        }
        assert!(!one.down().await.is_orderly());
        assert!(!two.down().await.is_orderly());
    });
}

#[test]
fn who_is_unlinked_in_time_survives() {
    storm(|round| async move {
        let (one, two) = (actor::spawn(handle), actor::spawn(handle));
        let linker = beside({
            let (one, two) = (one.any(), two.any());
            async move {
                for _ in 0..5 {
                    one.link(&two);
                    pause(round).await;
                    two.unlink(&one);
                }
            }
        });
        linker.await.unwrap();
        one.kill();
        one.down().await;
        pause(round).await;
        two.stop();
        assert!(matches!(two.down().await, Exit::Stopped));
    });
}

#[test]
fn a_supervisor_that_is_killed_takes_its_children_with_it() {
    storm(|round| async move {
        let ledger = Ledger::default();
        let child = |n| {
            let ledger = ledger.clone();
            Child::new(move |mut mailbox: Mailbox<()>| {
                let letter = ledger.letter(n);
                async move {
                    let _letter = letter;
                    while mailbox.recv().await.is_ok() {}
                }
            })
        };
        let strategy = [Strategy::OneForAll, Strategy::Dynamic][(round % 2) as usize];
        let mut refs = Vec::new();
        let mut inner = Supervisor::new(strategy);
        for n in 0..3 {
            let child = child(n);
            refs.push(child.actor_ref().any());
            inner = inner.child(child);
        }
        let last = child(3);
        refs.push(last.actor_ref().any());
        let top = Supervisor::new(strategy)
            .child(inner.into_child())
            .child(last)
            .start();
        pause(round).await;
        if round % 3 == 0 {
            refs[0].kill();
        }
        top.kill();
        assert!(matches!(top.down().await, Exit::Killed));
        assert_eq!(ledger.alive(), 0);
        for actor in refs {
            assert!(actor.exit().is_some(), "{actor:?}");
        }
    });
}

#[test]
fn a_subtree_that_is_killed_lives_again_when_all_of_it_has_ended() {
    storm(|round| async move {
        let ledger = Ledger::default();
        let alone = ledger.clone();
        let child = Child::new(move |mut mailbox: Mailbox<Reply<u64>>| {
            let ledger = alone.clone();
            async move {
                assert_eq!(ledger.alive(), 0, "two lives at once");
                let _letter = ledger.letter(0);
                while let Ok(reply) = mailbox.recv().await {
                    let _ = reply.send(mailbox.incarnation());
                }
            }
        });
        let actor = child.actor_ref();
        let inner = Supervisor::new(Strategy::OneForOne)
            .child(child)
            .into_child();
        let inner_ref = inner.actor_ref();
        let top = Supervisor::new(Strategy::OneForOne)
            .intensity(usize::MAX, Duration::from_secs(1))
            .child(inner)
            .start();
        top.started().await.unwrap().unwrap();
        for n in 0..3 {
            inner_ref.restarted(n).await.unwrap();
            pause(round).await;
            inner_ref.kill();
        }
        inner_ref.restarted(3).await.unwrap();
        let life = loop {
            if let Ok(life) = actor.call(|reply| reply).await {
                break life;
            }
        };
        assert!((1..=4).contains(&life), "{life}");
        top.stop();
        top.down().await;
        assert!(matches!(actor.exit(), Some(Exit::Stopped)));
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn children_that_come_while_the_supervisor_ends_end_too() {
    storm(|round| async move {
        let strategy = [Strategy::OneForOne, Strategy::Dynamic][(round % 2) as usize];
        let supervisor = Supervisor::new(strategy).start();
        let comers: Vec<_> = (0..4)
            .map(|n| {
                let supervisor = supervisor.clone();
                beside(async move {
                    pause(round + n).await;
                    let child = Child::new(handle);
                    let actor = child.actor_ref();
                    let started = supervisor.start_child(child).await;
                    (actor, started)
                })
            })
            .collect();
        pause(round / 7).await;
        match round % 3 {
            0 => supervisor.kill(),
            1 => supervisor.stop(),
            _ => supervisor.stop_now(),
        }
        supervisor.down().await;
        for comer in comers {
            let (actor, started) = comer.await.unwrap();
            // Before or after the supervisor does: when its request is dropped, so is it.
            actor.down().await;
            if let Ok(Ok(())) = started {
                assert_eq!(actor.incarnation(), 1);
            }
        }
    });
}

#[test]
fn a_stop_while_children_start_ends_them() {
    storm(|round| async move {
        let strategy = [
            Strategy::OneForOne,
            Strategy::OneForAll,
            Strategy::RestForOne,
            Strategy::Dynamic,
        ][(round % 4) as usize];
        let mut refs = Vec::new();
        let mut supervisor = Supervisor::new(strategy);
        for n in 0..4 {
            let child = Child::new(move |mut mailbox: Mailbox<()>| async move {
                pause(round + n).await;
                while mailbox.recv().await.is_ok() {}
            });
            refs.push(child.actor_ref());
            supervisor = supervisor.child(child.shutdown(Shutdown::Now(Duration::MAX)));
        }
        let supervisor = supervisor.start();
        pause(round / 7).await;
        supervisor.stop();
        assert!(matches!(supervisor.down().await, Exit::Stopped));
        for actor in refs {
            let exit = actor.exit().unwrap();
            let expected = if actor.incarnation() == 0 {
                "was killed"
            } else {
                "was stopped"
            };
            assert_eq!(exit.to_string(), expected);
        }
    });
}

#[test]
fn a_child_that_comes_while_its_parent_ends_ends_too() {
    storm(|round| async move {
        let ledger = Ledger::default();
        let parent = actor::spawn(handle);
        let births: Vec<_> = (0..4)
            .map(|n| {
                let (parent, letter) = (parent.any(), ledger.letter(n));
                beside(async move {
                    pause(round + n).await;
                    let child = Builder::new().parent(&parent).spawn(
                        |mut mailbox: Mailbox<()>| async move {
                            let _letter = letter;
                            while mailbox.recv().await.is_ok() {}
                        },
                    );
                    child.down().await
                })
            })
            .collect();
        pause(round / 7).await;
        parent.stop();
        parent.down().await;
        for birth in births {
            assert!(matches!(birth.await.unwrap(), Exit::Stopped));
        }
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn a_group_that_fails_all_over_comes_up_whole() {
    storm(|round| async move {
        let strategy = [Strategy::OneForAll, Strategy::RestForOne][(round % 2) as usize];
        let mut refs = Vec::new();
        let mut supervisor =
            Supervisor::new(strategy).intensity(usize::MAX, Duration::from_secs(1));
        let books = Books::default();
        for _ in 0..3 {
            let child = Child::new(handle);
            refs.push(child.actor_ref());
            supervisor = supervisor.child(child);
        }
        let supervisor = supervisor.start();
        supervisor.started().await.unwrap().unwrap();
        let refs = Arc::new(refs);
        let killers: Vec<_> = (0..3)
            .map(|n| {
                let refs = Arc::clone(&refs);
                beside(async move {
                    for _ in 0..3 {
                        pause(round + n as u64).await;
                        refs[n].kill();
                    }
                })
            })
            .collect();
        for actor in &*refs {
            sender(&books, actor, 3).await.unwrap();
        }
        for killer in killers {
            killer.await.unwrap();
        }
        // All live in the end, and take messages.
        while books.handled() + refs.iter().map(|actor| actor.dead_letters()).sum::<u64>() < 9 {
            yield_now().await;
        }
        loop {
            let count = supervisor.count_children().await.unwrap();
            assert_eq!(count.specs, 3);
            if count.active == 3 {
                break;
            }
            yield_now().await;
        }
        supervisor.stop();
        supervisor.down().await;
        books.balance(0);
    });
}
