//! Actors over mailbox loops: sending, calling, ending.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::both::{on_all, pool, run};
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use tidings::actor::{self, Builder, CallError, Ended, Exit, Mailbox, Overflow, Reply, SendError};
use tidings::{Either, Event, after, always, oneshot, select, unbounded, yield_now};

enum Count {
    Add(i64),
    GetAndReset(Reply<i64>),
}

async fn count(mut mailbox: Mailbox<Count>) {
    let mut sum = 0;
    while let Ok(message) = mailbox.recv().await {
        match message {
            Count::Add(n) => sum += n,
            Count::GetAndReset(reply) => {
                let _ = reply.send(std::mem::take(&mut sum));
            }
        }
    }
}

#[test]
fn a_counter_counts() {
    on_all(|| async {
        let counter = actor::spawn(count);
        let adders: Vec<_> = (0..4)
            .map(|_| {
                let counter = counter.clone();
                tidings::spawn(async move {
                    for n in 0..100 {
                        counter.send(Count::Add(n)).await.unwrap();
                    }
                })
            })
            .collect();
        for adder in adders {
            adder.await.unwrap();
        }
        assert_eq!(counter.call(Count::GetAndReset).await.unwrap(), 4 * 4950);
        assert_eq!(counter.call(Count::GetAndReset).await.unwrap(), 0);
    });
}

#[test]
fn it_ends_when_its_last_reference_is_dropped() {
    on_all(|| async {
        let (seen, all) = unbounded();
        let actor = actor::spawn(move |mut mailbox: Mailbox<u32>| async move {
            while let Ok(n) = mailbox.recv().await {
                seen.send(n).await.unwrap();
            }
        });
        let weak = actor.downgrade();
        for n in 0..3 {
            actor.send(n).await.unwrap();
        }
        drop(actor);
        let mut got = Vec::new();
        while let Ok(n) = all.recv().await {
            got.push(n);
        }
        assert_eq!(got, [0, 1, 2]);
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn a_stop_drains_and_a_stop_now_does_not() {
    on_all(|| async {
        for now in [false, true] {
            let (open, gate) = oneshot();
            let handled = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&handled);
            let actor = actor::spawn(move |mut mailbox: Mailbox<Reply<()>>| async move {
                gate.await.unwrap();
                while let Ok(reply) = mailbox.recv().await {
                    count.fetch_add(1, Ordering::SeqCst);
                    let _ = reply.send(());
                }
            });
            let mut calls: Vec<_> = (0..3).map(|_| pinned(actor.call(|reply| reply))).collect();
            for call in &mut calls {
                assert!(poll(call.as_mut()).is_pending());
            }
            if now {
                actor.stop_now();
            } else {
                actor.stop();
            }
            open.send(()).unwrap();
            assert!(matches!(actor.down().await, Exit::Stopped));
            for call in calls {
                let answer = call.await;
                if now {
                    assert!(
                        matches!(answer, Err(CallError::NotExecuted(Exit::Stopped))),
                        "{answer:?}"
                    );
                } else {
                    assert!(answer.is_ok());
                }
            }
            assert_eq!(handled.load(Ordering::SeqCst), if now { 0 } else { 3 });
            let late = actor.call(|reply| reply).await;
            assert!(matches!(late, Err(CallError::NotExecuted(Exit::Stopped))));
        }
    });
}

#[test]
fn a_panic_tells_its_callers_and_its_monitors_the_cause() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
            let _first = mailbox.recv().await.unwrap();
            let _second = mailbox.recv().await.unwrap();
            panic!("the third wheel");
        });
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let actor = actor.clone();
                tidings::spawn(async move { actor.call(|reply| reply).await })
            })
            .collect();
        let mut ended = 0;
        for call in calls {
            match call.await.unwrap().unwrap_err() {
                CallError::Ended(Exit::Panicked(why)) => {
                    assert_eq!(&*why, "the third wheel");
                    ended += 1;
                }
                CallError::NotExecuted(Exit::Panicked(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(ended, 2);
        let exit = actor.down().await;
        assert!(matches!(exit, Exit::Panicked(_)), "{exit:?}");
        assert!(!exit.is_orderly());
    });
}

#[test]
fn a_kill_ends_an_actor_whatever_it_waits_for() {
    on_all(|| async {
        let ledger = Ledger::default();
        let kept = ledger.letter(1);
        let actor = actor::spawn(move |mailbox: Mailbox<u32>| async move {
            let _kept = (kept, mailbox);
            std::future::pending::<()>().await;
        });
        yield_now().await;
        actor.kill();
        assert!(matches!(actor.down().await, Exit::Killed));
        assert_eq!(ledger.alive(), 0);
        assert!(matches!(
            actor.send(1).await,
            Err(SendError::Ended(1, Exit::Killed))
        ));
    });
}

#[test]
fn a_dropped_reply_is_heard_of_at_once() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                drop(reply);
            }
        });
        let answer = actor.call(|reply| reply).await;
        assert!(matches!(answer, Err(CallError::NoReply)), "{answer:?}");
    });
}

#[test]
fn a_handler_hears_that_its_caller_went_elsewhere() {
    on_all(|| async {
        let (told, heard) = oneshot();
        let actor = actor::spawn(|mut mailbox: Mailbox<Reply<u8>>| async move {
            let reply = mailbox.recv().await.unwrap();
            reply.closed().await;
            told.send(()).unwrap();
        });
        let answer = select! {
            answer = actor.call(|reply| reply) => answer.unwrap(),
            () = after(Duration::from_millis(1)) => 7,
        };
        assert_eq!(answer, 7);
        heard.await.unwrap();
    });
}

#[test]
fn a_call_that_waits_for_a_place_goes_out_when_there_is_one() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let actor = Builder::new()
            .capacity(1)
            .spawn(move |mut mailbox| async move {
                gate.await.unwrap();
                while let Ok(reply) = mailbox.recv().await {
                    let reply: Reply<u32> = reply;
                    let _ = reply.send(1);
                }
            });
        let mut calls: Vec<_> = (0..4).map(|_| pinned(actor.call(|reply| reply))).collect();
        for call in &mut calls {
            assert!(poll(call.as_mut()).is_pending());
        }
        assert_eq!(actor.queued(), 1);
        // One that waits for a place gives up: its request never goes out.
        drop(calls.pop());
        open.send(()).unwrap();
        for call in calls {
            assert_eq!(call.await.unwrap(), 1);
        }
        assert_eq!(actor.queued(), 0);
    });
}

#[test]
fn a_call_that_loses_a_choice_leaves_its_place_to_others_at_once() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let actor = Builder::new().capacity(1).spawn(
            |mut mailbox: Mailbox<Option<Reply<()>>>| async move {
                gate.await.unwrap();
                assert!(mailbox.recv().await.unwrap().is_none());
                std::future::pending::<()>().await;
            },
        );
        actor.send(None).await.unwrap();
        let (elsewhere, other) = oneshot();
        let mut choice = pinned(actor.call(Some).either(other.into_recv()));
        assert!(poll(choice.as_mut()).is_pending());
        elsewhere.send(7).unwrap();
        let chosen = poll(choice.as_mut());
        assert!(matches!(chosen, Poll::Ready(Either::Right(Ok(7), _))));
        // The choice is over, and its future still there.
        open.send(()).unwrap();
        while actor.queued() > 0 {
            yield_now().await;
        }
        actor.try_send(None).unwrap();
        drop(choice);
        actor.kill();
    });
}

#[test]
fn who_gives_up_a_send_that_was_given_a_place_leaves_it_to_others() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let actor = Builder::new()
            .capacity(1)
            .spawn(|mut mailbox: Mailbox<u32>| async move {
                gate.await.unwrap();
                assert_eq!(mailbox.recv().await, Ok(1));
                std::future::pending::<()>().await;
                drop(mailbox);
            });
        actor.send(1).await.unwrap();
        let mut second = pinned(actor.send(2));
        assert!(poll(second.as_mut()).is_pending());
        open.send(()).unwrap();
        while actor.queued() > 0 {
            yield_now().await;
        }
        assert!(
            actor.try_send(3).unwrap_err().is_full(),
            "its place is kept"
        );
        drop(second);
        actor.try_send(3).unwrap();
        // One that waits at the end has no place to give up.
        let mut fourth = pinned(actor.send(4));
        assert!(poll(fourth.as_mut()).is_pending());
        actor.kill();
        actor.down().await;
        drop(fourth);
        let ended = actor.try_send(5).unwrap_err();
        assert!(matches!(ended, SendError::Ended(5, Exit::Killed)) && !ended.is_full());
    });
}

#[test]
fn a_full_mailbox_does_what_its_policy_says() {
    on_all(|| async {
        let ledger = Ledger::default();
        let sleeper = |mailbox| async move {
            std::future::pending::<()>().await;
            drop::<Mailbox<_>>(mailbox);
        };
        let with = |overflow| Builder::new().capacity(2).overflow(overflow).spawn(sleeper);
        let fill = async |actor: &actor::ActorRef<_>| {
            for n in 0..2 {
                actor.send(ledger.letter(n)).await.unwrap();
            }
        };

        let waits = with(Overflow::Wait);
        fill(&waits).await;
        let unsent = waits
            .send(ledger.letter(2))
            .timeout(Duration::from_millis(1))
            .await;
        assert!(matches!(unsent, Err(SendError::Timeout(_))));

        let rejects = with(Overflow::Reject);
        fill(&rejects).await;
        let refused = rejects.send(ledger.letter(2)).await.unwrap_err();
        assert!(refused.is_full());
        assert!(rejects.try_send(ledger.letter(2)).unwrap_err().is_full());
        assert_eq!((rejects.overflowed(), waits.overflowed()), (2, 0));
        drop((unsent, refused));

        let newest = with(Overflow::DropNewest);
        fill(&newest).await;
        assert_eq!(ledger.alive(), 6);
        newest.send(ledger.letter(2)).await.unwrap();
        assert_eq!((ledger.alive(), newest.overflowed()), (6, 1));

        let oldest = with(Overflow::DropOldest);
        fill(&oldest).await;
        oldest.send(ledger.letter(2)).await.unwrap();
        assert_eq!(
            (ledger.alive(), oldest.queued(), oldest.overflowed()),
            (8, 2, 1)
        );

        for actor in [waits, rejects, newest, oldest] {
            actor.kill();
            actor.down().await;
        }
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn whoever_calls_hears_that_a_full_mailbox_dropped_the_request() {
    on_all(|| async {
        for overflow in [Overflow::Reject, Overflow::DropNewest, Overflow::DropOldest] {
            let actor = Builder::new().capacity(1).overflow(overflow).spawn(
                |mailbox: Mailbox<Reply<()>>| async move {
                    std::future::pending::<()>().await;
                    drop(mailbox);
                },
            );
            let mut first = pinned(actor.call(|reply| reply));
            assert!(poll(first.as_mut()).is_pending());
            let mut second = pinned(actor.call(|reply| reply));
            let dropped = if overflow == Overflow::DropOldest {
                assert!(poll(second.as_mut()).is_pending());
                first.await
            } else {
                second.await
            };
            assert!(matches!(dropped, Err(CallError::Full)), "{dropped:?}");
            assert_eq!(actor.overflowed(), 1);
            actor.kill();
        }
    });
}

#[test]
fn an_unbounded_mailbox_takes_all_and_says_how_many_wait() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let actor = Builder::new()
            .unbounded()
            .spawn(|mut mailbox: Mailbox<u32>| async move {
                gate.await.unwrap();
                for left in (0..1000).rev() {
                    assert!(!mailbox.is_empty());
                    mailbox.recv().await.unwrap();
                    assert_eq!(mailbox.len(), left);
                }
                assert!(mailbox.is_empty());
            });
        for n in 0..1000 {
            actor.try_send(n).unwrap();
        }
        open.send(()).unwrap();
        assert!(actor.down().await.is_orderly());
    });
}

#[test]
fn a_send_that_loses_a_choice_gives_its_message_back() {
    on_all(|| async {
        let actor = Builder::new()
            .capacity(1)
            .spawn(|mailbox: Mailbox<String>| async move {
                std::future::pending::<()>().await;
                drop(mailbox);
            });
        actor.send("first".to_owned()).await.unwrap();
        match actor.send("second".to_owned()).either(always(1)).await {
            Either::Right(1, unsent) => assert_eq!(unsent, "second"),
            _ => panic!("the mailbox is full"),
        }
        assert_eq!(actor.queued(), 1);
    });
}

#[test]
fn a_selective_receive_leaves_the_others_in_order() {
    on_all(|| async {
        let (seen, all) = unbounded();
        let (told, begun) = oneshot();
        let (open, gate) = oneshot();
        let actor = actor::spawn(move |mut mailbox: Mailbox<u32>| async move {
            let wanted = |n| if n >= 10 { Ok(n) } else { Err(n) };
            let mut given_up = Box::pin(mailbox.scan(wanted));
            assert!(poll(given_up.as_mut()).is_pending());
            told.send(()).unwrap();
            gate.await.unwrap();
            // It has been handed the first message, and does not look at it any more.
            drop(given_up);
            seen.send(mailbox.scan(wanted).await.unwrap())
                .await
                .unwrap();
            assert_eq!(mailbox.scan(wanted).await, Ok(11));
            while let Ok(n) = mailbox.recv().await {
                seen.send(n).await.unwrap();
            }
            assert_eq!(mailbox.scan(wanted).await, Err(Ended));
        });
        begun.await.unwrap();
        for n in [1, 2, 10, 3, 11, 4] {
            actor.send(n).await.unwrap();
        }
        open.send(()).unwrap();
        drop(actor);
        let mut got = Vec::new();
        while let Ok(n) = all.recv().await {
            got.push(n);
        }
        assert_eq!(got, [10, 1, 2, 3, 4]);
    });
}

#[test]
fn a_failed_actor_says_why() {
    on_all(|| async {
        let actor = actor::spawn(|_mailbox: Mailbox<()>| async { Err("no disk") });
        match actor.down().await {
            Exit::Failed(error) => assert_eq!(error.to_string(), "no disk"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn everyone_who_waits_for_an_end_hears_of_it() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<()>| async move {
            while mailbox.recv().await.is_ok() {}
        });
        let waiting: Vec<_> = (0..40)
            .map(|_| {
                let actor = actor.clone();
                tidings::spawn(async move { actor.down().await.is_orderly() })
            })
            .collect();
        yield_now().await;
        actor.stop();
        for wait in waiting {
            assert!(wait.await.unwrap());
        }
    });
}

#[test]
fn a_runtime_that_ends_kills_its_actors() {
    let rt = pool(2);
    let actor = run(&rt, async {
        actor::spawn(|mailbox: Mailbox<()>| async move {
            std::future::pending::<()>().await;
            drop(mailbox);
        })
    });
    assert!(actor.exit().is_none());
    drop(rt);
    assert!(matches!(actor.exit(), Some(Exit::Killed)));
}

#[test]
fn references_compare_and_hash_by_their_actor() {
    fn hash(of: &impl Hash) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(of)
    }
    on_all(|| async {
        let start = || actor::spawn(|_mailbox: Mailbox<u8>| std::future::pending::<()>());
        let (a, b) = (start(), start());
        assert_eq!(a, a.clone());
        assert_ne!(a, b);
        assert_eq!(a.narrow::<u8>(), a.narrow());
        assert_eq!(a.downgrade().upgrade(), Some(a.clone()));
        assert!(a.any() == a.any() && a.any() != b.any());
        assert_eq!(hash(&a), hash(&a.narrow::<u8>()));
        assert_eq!(hash(&a), hash(&a.any()));
        assert!(hash(&a) != hash(&b) && hash(&a.any()) != hash(&b.any()));
        a.kill();
        b.kill();
    });
}

#[test]
fn who_has_heard_that_it_ends_receives_nothing_more() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let actor = actor::spawn(move |mut mailbox: Mailbox<u32>| async move {
            gate.await.unwrap();
            for _ in 0..3 {
                assert!(mailbox.recv().await.is_err());
            }
        });
        actor.send(1).await.unwrap();
        actor.send(2).await.unwrap();
        actor.stop_now();
        open.send(()).unwrap();
        assert!(matches!(actor.down().await, Exit::Stopped));
        assert_eq!(actor.dead_letters(), 2);
    });
}

#[test]
fn who_drops_its_mailbox_lives_on_and_lets_nobody_wait() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let (end, ended) = oneshot();
        let actor = actor::spawn(move |mailbox: Mailbox<Reply<u32>>| async move {
            gate.await.unwrap();
            drop(mailbox);
            ended.await.unwrap();
        });
        let asked = tidings::spawn({
            let actor = actor.clone();
            async move { actor.call(|reply| reply).await }
        });
        while actor.queued() == 0 {
            yield_now().await;
        }
        open.send(()).unwrap();
        let error = asked.await.unwrap().unwrap_err();
        assert!(
            matches!(error, CallError::NotExecuted(Exit::Normal)),
            "{error}"
        );
        assert!(actor.exit().is_none());
        end.send(()).unwrap();
        assert!(matches!(actor.down().await, Exit::Normal));
    });
}
