//! Requests that are lost while their actor lives: by a panic that is not the actor's, by a mailbox that somebody
//! else drops. Whoever called hears of it.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc;

use futures::FutureExt;

use crate::both::{on_all, on_all_unheard, pool, run, watchdog};
use crate::driver::crash;
use crate::hands::{pinned, poll};
use tidings::actor::{self, ActorRef, Builder, CallError, Exit, Mailbox, Reply};
use tidings::{Runtime, oneshot, spawn_local, unbounded};

#[test]
fn who_called_hears_of_a_reply_that_a_caught_panic_dropped() {
    on_all(|| async {
        let careful = actor::spawn(|mut mailbox: Mailbox<Reply<u32>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                let handled = async move {
                    let _reply = reply;
                    crash("it is caught")
                };
                assert!(AssertUnwindSafe(handled).catch_unwind().await.is_err());
            }
        });
        for _ in 0..3 {
            let heard = careful.call(|reply| reply).await;
            assert!(matches!(heard, Err(CallError::NoReply)), "{heard:?}");
        }
        careful.stop();
        assert!(matches!(careful.down().await, Exit::Stopped));
    });
}

#[test]
fn who_called_hears_of_a_reply_that_the_panic_of_a_scope_dropped_before_its_tasks_have_ended() {
    let _watchdog = watchdog();
    let (release, held) = mpsc::channel::<()>();
    run(&pool(2), async move {
        let scopes = actor::spawn(move |mut mailbox: Mailbox<Reply<u32>>| async move {
            let reply = mailbox.recv().await.unwrap();
            let (begin, begun) = oneshot();
            let () = tidings::scope(|scope| async move {
                let _reply = reply;
                scope.spawn(async move {
                    begin.send(()).unwrap();
                    // It does not end before it is told to.
                    let _ = held.recv();
                });
                begun.await.unwrap();
                crash("of the scope")
            })
            .await;
        });
        let heard = scopes.call(|reply| reply).await;
        assert!(matches!(heard, Err(CallError::NoReply)), "{heard:?}");
        assert!(scopes.exit().is_none());
        release.send(()).unwrap();
        assert!(matches!(scopes.down().await, Exit::Panicked(_)));
    });
}

#[test]
fn who_called_hears_of_a_reply_that_the_panic_of_a_local_task_dropped_within_a_poll_of_the_actor() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (heard, hears) = unbounded();
        let blocking = Builder::new().blocking();
        let nests = blocking.spawn(move |mut mailbox: Mailbox<Reply<u32>>| async move {
            let reply = mailbox.recv().await.unwrap();
            let inner = Runtime::builder().workers(1).build().unwrap();
            inner.block_on(async {
                let task = spawn_local(async move {
                    let _reply = reply;
                    crash("of the task")
                });
                assert!(task.await.is_err());
                hears.recv().await.unwrap();
            });
        });
        let answer = nests.call(|reply| reply).await;
        assert!(matches!(answer, Err(CallError::NoReply)), "{answer:?}");
        heard.send(()).await.unwrap();
        assert!(matches!(nests.down().await, Exit::Normal));
    });
}

#[test]
fn a_mailbox_that_another_task_drops_is_closed_and_what_is_in_it_dies_though_the_actor_lives() {
    on_all_unheard(|| async {
        for crashes in [false, true] {
            let (go, gate) = oneshot::<()>();
            let (letters, dead) = unbounded();
            let parts = actor::spawn(move |mut mailbox: Mailbox<Reply<u32>>| async move {
                mailbox.on_undelivered(move |_, exit| letters.try_send(exit.is_orderly()).unwrap());
                tidings::spawn(async move {
                    let first = mailbox.recv().await.unwrap();
                    first.send(1).unwrap();
                    gate.await.unwrap();
                    if crashes {
                        crash("with the mailbox");
                    }
                    drop(mailbox);
                });
                pending::<()>().await;
            });
            assert_eq!(parts.call(|reply| reply).await.unwrap(), 1);
            let mut queued = pinned(parts.call(|reply| reply));
            assert!(poll(queued.as_mut()).is_pending());
            go.send(()).unwrap();
            let heard = queued.await;
            let lost = matches!(heard, Err(CallError::NotExecuted(Exit::Normal)));
            assert!(lost, "{heard:?}");
            assert_eq!(dead.recv().await, Ok(true));
            let late = parts.call(|reply| reply).await;
            assert!(late.is_err(), "{late:?}");
            assert!(parts.exit().is_none());
            parts.kill();
            assert!(matches!(parts.down().await, Exit::Killed));
            assert_eq!(parts.dead_letters(), 1);
        }
    });
}

/// Keeps the replies that it is told to, and answers the others.
async fn keep(mailbox: &mut Mailbox<(bool, Reply<u32>)>) -> Vec<Reply<u32>> {
    let mut kept = Vec::new();
    while let Ok((keeps, reply)) = mailbox.recv().await {
        if keeps {
            kept.push(reply);
        } else {
            reply.send(1).unwrap();
        }
    }
    kept
}

#[test]
fn who_called_hears_of_the_end_of_an_actor_that_had_kept_the_reply() {
    type Ends = fn(&ActorRef<(bool, Reply<u32>)>);
    let ends: [(Ends, &str); 3] = [
        (|actor| actor.stop(), "was stopped"),
        (|actor| actor.stop_now(), "was stopped"),
        (|actor| actor.fail("no disk"), "failed: no disk"),
    ];
    for (end, exit) in ends {
        for scans in [false, true] {
            on_all(move || async move {
                let actor = actor::spawn(move |mut mailbox| async move {
                    let mut kept = Vec::new();
                    if scans {
                        while let Ok((keeps, reply)) = mailbox.scan(Ok).await {
                            let (keeps, reply): (bool, Reply<u32>) = (keeps, reply);
                            match keeps {
                                true => kept.push(reply),
                                false => reply.send(1).unwrap(),
                            }
                        }
                    } else {
                        kept = keep(&mut mailbox).await;
                    }
                    drop(kept);
                });
                let mut call = pinned(actor.call(|reply| (true, reply)));
                assert!(poll(call.as_mut()).is_pending());
                assert_eq!(actor.call(|reply| (false, reply)).await.unwrap(), 1);
                end(&actor);
                match call.await {
                    Err(CallError::Ended(heard)) => assert_eq!(heard.to_string(), exit),
                    heard => panic!("{heard:?}"),
                }
                assert_eq!(actor.down().await.to_string(), exit);
            });
        }
    }
}

#[test]
fn who_called_hears_of_a_reply_that_is_dropped_by_an_actor_that_is_to_end_and_goes_on() {
    on_all(|| async {
        let (go, gate) = oneshot::<()>();
        let actor = actor::spawn(move |mut mailbox| async move {
            drop(keep(&mut mailbox).await);
            gate.await.unwrap();
        });
        let mut call = pinned(actor.call(|reply| (true, reply)));
        assert!(poll(call.as_mut()).is_pending());
        actor.stop();
        let heard = call.await;
        assert!(matches!(heard, Err(CallError::NoReply)), "{heard:?}");
        assert!(actor.exit().is_none());
        go.send(()).unwrap();
        assert!(matches!(actor.down().await, Exit::Stopped));
    });
}
