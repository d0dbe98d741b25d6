//! Calls that look as if they closed a cycle, and are not refused: what was asked of reentrant
//! handlers, stashed, dropped, handed on, or asked by a life that is over.

use std::future::{Future, IntoFuture, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use crate::both::on_all;
use tidings::actor::{
    self, ActorRef, Builder, CallError, Child, Mailbox, Overflow, Reply, Shared, Strategy,
    Supervisor,
};
use tidings::channel::oneshot::Sender;
use tidings::{oneshot, unbounded, yield_now};

/// Answered with `PLAIN`, but where a task answers.
type Plain = Reply<u8>;

const PLAIN: u8 = 1;
const BY_TASK: u8 = 2;

/// Answers whoever asks.
async fn answer(mut mailbox: Mailbox<Plain>) {
    while let Ok(reply) = mailbox.recv().await {
        let _ = reply.send(PLAIN);
    }
}

#[tidings::interface]
trait Ask {
    /// Asks the rest of the way, from its first.
    async fn ask(&mut self, way: Vec<AskRef>) -> &'static str;
}

struct Asked;

impl Ask for Asked {
    async fn ask(&mut self, mut way: Vec<AskRef>) -> &'static str {
        match way.pop() {
            None => "asked",
            Some(next) => next.ask(way).await.unwrap(),
        }
    }
}

#[tidings::interface]
trait Beside {
    /// As `ask`, while others are handled.
    async fn beside(this: Shared<Self>, way: Vec<BesideRef>) -> String;
    /// As `ask`, alone.
    async fn alone(&mut self, way: Vec<BesideRef>) -> String;
}

struct Besides;

async fn on(mut way: Vec<BesideRef>) -> String {
    match way.pop() {
        None => "asked".to_owned(),
        Some(next) => next.beside(way).await.unwrap(),
    }
}

impl Beside for Besides {
    async fn beside(_: Shared<Self>, way: Vec<BesideRef>) -> String {
        on(way).await
    }
    async fn alone(&mut self, way: Vec<BesideRef>) -> String {
        on(way).await
    }
}

/// Others are handled while a reentrant handler waits: a call back is answered.
#[test]
fn a_cycle_through_reentrant_handlers_is_not_refused() {
    on_all(|| async {
        let (a, b): (BesideRef, BesideRef) = (actor::start(Besides), actor::start(Besides));
        for _ in 0..3 {
            let way = vec![b.clone(), a.clone(), b.clone(), a.clone(), a.clone()];
            assert_eq!(a.beside(way).await.unwrap(), "asked");
            // From a method that has its actor to itself.
            assert_eq!(a.alone(vec![b.clone(), b.clone()]).await.unwrap(), "asked");
        }
    });
}

/// An actor that asks another when it is told to, is answered by that one's task, and answers then.
fn asks_in_time<M: Send + 'static>(
    to: &ActorRef<M>,
    ask: fn(Plain) -> M,
) -> (Sender<()>, ActorRef<Plain>) {
    let (go, begin) = oneshot::<()>();
    let to = to.clone();
    let other = actor::spawn(move |mailbox: Mailbox<Plain>| async move {
        begin.await.unwrap();
        assert_eq!(to.call(ask).await.unwrap(), BY_TASK);
        answer(mailbox).await;
    });
    (go, other)
}

/// `a` handles a message that it had stashed, when it has taken another and given its reply away:
/// it calls who waits for that reply.
#[test]
fn a_reply_given_away_before_a_stashed_message_does_not_close_a_cycle() {
    enum Late {
        Call(ActorRef<Plain>, Plain),
        Give(Plain),
    }
    on_all(|| async {
        for scans in [false, true] {
            let a = actor::spawn(move |mut mailbox: Mailbox<Late>| async move {
                let reply = if scans {
                    let give = |late| match late {
                        Late::Give(reply) => Ok(reply),
                        Late::Call(..) => Err(late),
                    };
                    mailbox.scan(give).await.unwrap()
                } else {
                    let early = mailbox.recv().await.unwrap();
                    mailbox.stash(early).ok().unwrap();
                    let Ok(Late::Give(reply)) = mailbox.recv().await else {
                        panic!("it comes second");
                    };
                    mailbox.unstash();
                    reply
                };
                tidings::spawn(async move {
                    for _ in 0..20 {
                        yield_now().await;
                    }
                    reply.send(BY_TASK).unwrap();
                });
                let Ok(Late::Call(other, reply)) = mailbox.recv().await else {
                    panic!("it was passed over");
                };
                for _ in 0..5 {
                    yield_now().await;
                }
                let back = other.call(|reply| reply).await.unwrap();
                reply.send(back).unwrap();
            });
            let (go, other) = asks_in_time(&a, Late::Give);
            // The first comes first.
            let call = a.call(|reply| Late::Call(other, reply)).into_future();
            let (back, ()) = futures::join!(call, async { go.send(()).unwrap() });
            assert_eq!(back.unwrap(), PLAIN);
        }
    });
}

/// The same where nobody sees that a reply was kept: what left the mailbox last is not what `a` handles, but what
/// `scan` finds among those that it had passed over or that were stashed.
#[test]
fn a_reply_kept_before_a_message_that_was_passed_over_does_not_close_a_cycle() {
    enum Late {
        Call(ActorRef<Plain>, Plain),
        Keep(Plain),
    }
    on_all(|| async {
        for stashes in [false, true] {
            let shelf = Arc::new(Mutex::new(None));
            let there = Arc::clone(&shelf);
            let a = actor::spawn(move |mut mailbox: Mailbox<Late>| async move {
                if stashes {
                    let early = mailbox.recv().await.unwrap();
                    mailbox.stash(early).ok().unwrap();
                }
                let keep = |late| match late {
                    Late::Keep(reply) => Ok(reply),
                    Late::Call(..) => Err(late),
                };
                let kept = if stashes {
                    keep(mailbox.recv().await.unwrap()).ok().unwrap()
                } else {
                    mailbox.scan(keep).await.unwrap()
                };
                mailbox.unstash();
                *there.lock().unwrap() = Some(kept);
                let Ok(Late::Call(other, reply)) = mailbox.scan(Ok).await else {
                    panic!("it was passed over");
                };
                let back = other.call(|reply| reply).await.unwrap();
                reply.send(back).unwrap();
            });
            let (go, other) = asks_in_time(&a, Late::Keep);
            // The first comes first.
            let call = a.call(|reply| Late::Call(other, reply)).into_future();
            let answers = async {
                go.send(()).unwrap();
                while shelf.lock().unwrap().is_none() {
                    yield_now().await;
                }
                for _ in 0..20 {
                    yield_now().await;
                }
                let kept = shelf.lock().unwrap().take().unwrap();
                kept.send(BY_TASK).unwrap();
            };
            let (back, ()) = futures::join!(call, answers);
            assert_eq!(back.unwrap(), PLAIN);
        }
    });
}

/// The request is in a mailbox that goes: its caller hears of that, and can answer.
#[test]
fn who_drops_its_mailbox_closes_no_cycle() {
    on_all(|| async {
        let (first, a_is) = oneshot::<ActorRef<Plain>>();
        let b = actor::spawn(|mailbox: Mailbox<Plain>| async move {
            let a = a_is.await.unwrap();
            let gone = a.call(|reply| reply).await;
            assert!(matches!(gone, Err(CallError::NotExecuted(_))), "{gone:?}");
            answer(mailbox).await;
        });
        let a = actor::spawn(|mailbox: Mailbox<Plain>| async move {
            while mailbox.is_empty() {
                yield_now().await;
            }
            for _ in 0..5 {
                yield_now().await;
            }
            drop(mailbox);
            assert_eq!(b.call(|reply| reply).await.unwrap(), PLAIN);
        });
        first.send(a.clone()).unwrap();
        assert!(a.down().await.is_orderly(), "{:?}", a.exit());
    });
}

/// Another task takes the messages of an actor, which calls who calls it.
#[test]
fn who_has_given_its_mailbox_to_a_task_closes_no_cycle() {
    on_all(|| async {
        for takes in [false, true] {
            let other: AskRef = actor::start(Asked);
            let (go, begin) = oneshot::<()>();
            let a = actor::spawn(move |mut mailbox| async move {
                let this = AskRef::from(&mailbox.this().upgrade().unwrap());
                if takes {
                    let first: AskMessage = mailbox.recv().await.unwrap();
                    actor::Dispatch::dispatch(first, &mut Asked).await;
                }
                tidings::spawn(async move {
                    for _ in 0..5 {
                        yield_now().await;
                    }
                    actor::serve(Asked, &mut mailbox).await;
                });
                if takes {
                    begin.await.unwrap();
                }
                assert_eq!(other.ask(vec![this]).await.unwrap(), "asked");
            });
            let ask = AskRef::from(&a);
            if takes {
                for _ in 0..2 {
                    assert_eq!(ask.ask(Vec::new()).await.unwrap(), "asked");
                }
                go.send(()).unwrap();
            }
            assert!(a.down().await.is_orderly(), "{:?}", a.exit());
        }
    });
}

/// A loop calls when its dispatch has answered, and whom it calls asks who has got that answer, and
/// has not looked at it yet.
#[test]
fn who_was_answered_by_a_dispatch_closes_no_cycle() {
    on_all(|| async {
        let (tell, other_is) = oneshot::<AskRef>();
        let asks: AskRef = actor::start(Asked);
        let a = actor::spawn(move |mut mailbox| async move {
            let other = other_is.await.unwrap();
            let first: AskMessage = mailbox.recv().await.unwrap();
            actor::Dispatch::dispatch(first, &mut Asked).await;
            assert_eq!(asks.ask(vec![other]).await.unwrap(), "asked");
            // It has its mailbox still: nobody else could answer.
            let this = AskRef::from(&mailbox.this().upgrade().unwrap());
            let own = this.ask(Vec::new()).await;
            assert!(matches!(own, Err(CallError::Cycle(_))), "{own:?}");
        });
        let to = AskRef::from(&a);
        let other = actor::spawn(move |mut mailbox: Mailbox<AskMessage>| async move {
            assert_eq!(to.ask(Vec::new()).await.unwrap(), "asked");
            actor::serve(Asked, &mut mailbox).await;
        });
        tell.send(AskRef::from(&other)).unwrap();
        assert!(a.down().await.is_orderly(), "{:?}", a.exit());
    });
}

/// A life that is over waits for nobody: a call to its actor waits for the next life.
#[test]
fn a_call_of_a_life_that_is_over_closes_no_cycle() {
    struct Opens(Option<Sender<()>>);
    impl Drop for Opens {
        fn drop(&mut self) {
            let _ = self.0.take().map(|open| open.send(()));
        }
    }
    on_all(|| async {
        let (open, gate) = oneshot();
        let (took, taken) = oneshot::<()>();
        let (first, a_is) = oneshot::<ActorRef<Plain>>();
        let b = actor::spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
            let a = a_is.await.unwrap();
            let _reply = mailbox.recv().await.unwrap();
            took.send(()).unwrap();
            gate.await.unwrap();
            assert_eq!(a.call(|reply| reply).await.unwrap(), PLAIN);
        });
        let ends = b.clone();
        let opens = Arc::new(Mutex::new(Some(Opens(Some(open)))));
        let child = Child::new(move |mut mailbox: Mailbox<Plain>| {
            let opens = opens.lock().unwrap().take();
            let b = b.clone();
            async move {
                if let Some(_opens) = &opens {
                    // It has started.
                    drop(mailbox.recv().await.unwrap());
                    b.call(|reply| reply).await.unwrap();
                }
                answer(mailbox).await;
            }
        });
        let a = child.actor_ref();
        first.send(a.clone()).unwrap();
        let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        assert!(a.call(|reply| reply).await.is_err());
        taken.await.unwrap();
        for _ in 0..5 {
            yield_now().await;
        }
        a.kill();
        assert!(ends.down().await.is_orderly(), "{:?}", ends.exit());
    });
}

#[test]
fn what_was_decided_of_a_call_that_is_given_up_is_not_decided_of_the_next() {
    on_all(|| async {
        let other = actor::spawn(answer);
        let actor = actor::spawn(move |mut mailbox: Mailbox<Plain>| async move {
            let this = mailbox.this().upgrade().unwrap();
            let reply = mailbox.recv().await.unwrap();
            {
                // Of oneself: it will be refused; but there is one poll of it only.
                let mut own = Box::pin(this.call(|reply| reply).into_future());
                let mut polled = false;
                poll_fn(|cx| {
                    if std::mem::replace(&mut polled, true) {
                        return Poll::Ready(());
                    }
                    assert!(own.as_mut().poll(cx).is_pending());
                    Poll::Pending
                })
                .await;
            }
            let answer = other.call(|reply| reply).await;
            reply.send(answer.unwrap()).unwrap();
        });
        assert_eq!(actor.call(|reply| reply).await.unwrap(), PLAIN);
    });
}

/// The request of `a` waits for a place in the mailbox of a keeper, or drops what is there. The keeper then gives its
/// reply away, takes another message, and calls `a`.
fn a_request_to_a_full_mailbox_is_kept(overflow: Overflow) {
    enum Order {
        Nothing,
        Keep(Plain),
        Call(ActorRef<Plain>, Plain),
    }
    on_all(move || async move {
        let (keep, kept) = unbounded();
        let (go, begin) = oneshot::<()>();
        let keeper = Builder::new().capacity(1).overflow(overflow).spawn(
            move |mut mailbox: Mailbox<Order>| async move {
                begin.await.unwrap();
                while let Ok(message) = mailbox.recv().await {
                    match message {
                        Order::Nothing => {}
                        Order::Keep(reply) => keep.try_send(reply).unwrap(),
                        Order::Call(other, reply) => {
                            reply
                                .send(other.call(|reply| reply).await.unwrap())
                                .unwrap();
                        }
                    }
                }
            },
        );
        keeper.send(Order::Nothing).await.unwrap();
        let (waits, waiting) = oneshot();
        let to = keeper.clone();
        let a = actor::spawn(move |mailbox: Mailbox<Plain>| async move {
            let mut waits = Some(waits);
            let mut call = std::pin::pin!(to.call(Order::Keep).into_future());
            let kept = poll_fn(|cx| {
                let answer = call.as_mut().poll(cx);
                if let Some(waits) = waits.take() {
                    waits.send(()).unwrap();
                }
                answer
            });
            assert_eq!(kept.await.unwrap(), BY_TASK);
            answer(mailbox).await;
        });
        waiting.await.unwrap();
        go.send(()).unwrap();
        let reply = kept.recv().await.unwrap();
        let (of_keeper, of_a) = (keeper.downgrade(), a.downgrade());
        let calls = tidings::spawn(async move { keeper.call(|reply| Order::Call(a, reply)).await });
        // Until it has called, or is refused.
        while of_a.any().exit().or(of_keeper.any().exit()).is_none()
            && of_a.upgrade().is_some_and(|a| a.queued() == 0)
        {
            yield_now().await;
        }
        reply.send(BY_TASK).unwrap();
        assert_eq!(calls.await.unwrap().unwrap(), PLAIN);
    });
}

#[test]
fn a_request_that_waited_for_a_place_and_was_kept_does_not_close_a_cycle() {
    a_request_to_a_full_mailbox_is_kept(Overflow::Wait);
}

#[test]
fn a_request_that_took_the_place_of_the_oldest_and_was_kept_does_not_close_a_cycle() {
    a_request_to_a_full_mailbox_is_kept(Overflow::DropOldest);
}

/// `b` has begun to wait for `a`, whose handler polls a call to `b` once and leaves the rest to a task.
#[test]
fn a_request_that_an_actor_held_back_goes_out_where_its_call_is_awaited() {
    on_all(|| async {
        let (done, answered) = oneshot();
        let (tell, told) = oneshot::<ActorRef<Plain>>();
        let a = actor::spawn(|mut mailbox: Mailbox<Plain>| async move {
            let b = told.await.unwrap();
            let reply = mailbox.recv().await.unwrap();
            let mut work = Box::pin(async move { b.call(|reply| reply).await });
            let begun = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
            assert!(begun.is_pending());
            done.send(tidings::spawn(work)).unwrap();
            reply.send(PLAIN).unwrap();
        });
        let waited = a.clone();
        let b = actor::spawn(move |mailbox: Mailbox<Plain>| async move {
            assert_eq!(a.call(|reply| reply).await.unwrap(), PLAIN);
            answer(mailbox).await;
        });
        // Now `b` waits for `a`.
        while waited.queued() == 0 {
            yield_now().await;
        }
        for _ in 0..5 {
            yield_now().await;
        }
        tell.send(b.clone()).unwrap();
        let answer = answered.await.unwrap().await.unwrap();
        assert_eq!(answer.unwrap(), PLAIN);
    });
}

/// Two wait for replies that `a` has kept, and `a` asks both, and a third, beside each other: whoever is asked first.
#[test]
fn requests_that_an_actor_held_back_beside_each_other_all_go_out() {
    on_all(|| async {
        for order in 0..6 {
            let (keep, kept) = unbounded::<Plain>();
            let (tell, told) = oneshot::<[ActorRef<Plain>; 3]>();
            let a = actor::spawn(move |mut mailbox: Mailbox<Plain>| async move {
                let asked = told.await.unwrap();
                while mailbox.len() < 2 {
                    yield_now().await;
                }
                for _ in 0..2 {
                    keep.send(mailbox.recv().await.unwrap()).await.unwrap();
                }
                // All ways in which three can be put in a row.
                let (first, mut rest) = (order % 3, vec![0, 1, 2]);
                let first = rest.remove(first);
                rest.rotate_left(order / 3);
                let [one, two, three] =
                    [first, rest[0], rest[1]].map(|n| asked[n].call(|reply| reply).into_future());
                let answers = futures::join!(one, two, three);
                assert_eq!(answers.0.unwrap(), PLAIN);
                assert_eq!(answers.1.unwrap(), PLAIN);
                assert_eq!(answers.2.unwrap(), PLAIN);
            });
            let waiting = [0; 2].map(|_| {
                let a = a.clone();
                actor::spawn(move |mailbox: Mailbox<Plain>| async move {
                    assert_eq!(a.call(|reply| reply).await.unwrap(), BY_TASK);
                    answer(mailbox).await;
                })
            });
            let [left, right] = waiting.clone();
            let third = actor::spawn(move |mut mailbox: Mailbox<Plain>| async move {
                let reply = mailbox.recv().await.unwrap();
                while left.queued() + right.queued() < 2 {
                    yield_now().await;
                }
                let _ = reply.send(PLAIN);
                for _ in 0..2 {
                    kept.recv().await.unwrap().send(BY_TASK).unwrap();
                }
            });
            let [left, right] = waiting;
            tell.send([left, third, right]).unwrap();
            assert!(a.down().await.is_orderly(), "{:?}", a.exit());
        }
    });
}

/// As above, beside an actor that is polled within `a`, of which nothing is known.
#[test]
fn a_request_that_an_actor_held_back_beside_a_driver_goes_out() {
    on_all(|| async {
        let (keep, kept) = oneshot::<Plain>();
        let (tell, told) = oneshot::<ActorRef<Plain>>();
        let (give, life) = oneshot();
        let give = Mutex::new(Some(give));
        let within = Builder::new().executor(move |life| {
            let give = give.lock().unwrap().take().unwrap();
            give.send(life).ok().unwrap();
        });
        let within = within.spawn(answer);
        let a = actor::spawn(move |mut mailbox: Mailbox<Plain>| async move {
            let (b, life) = (told.await.unwrap(), life.await.unwrap());
            keep.send(mailbox.recv().await.unwrap()).unwrap();
            for _ in 0..5 {
                yield_now().await;
            }
            let call = b.call(|reply| reply).into_future();
            let call = async {
                assert_eq!(call.await.unwrap(), PLAIN);
                within.stop();
            };
            futures::join!(call, life);
        });
        let waited = a.downgrade();
        let b = actor::spawn(move |mailbox: Mailbox<Plain>| async move {
            assert_eq!(a.call(|reply| reply).await.unwrap(), BY_TASK);
            answer(mailbox).await;
        });
        tell.send(b.clone()).unwrap();
        let reply = kept.await.unwrap();
        while b.queued() == 0 {
            yield_now().await;
        }
        reply.send(BY_TASK).unwrap();
        let a = waited.any().down().await;
        assert!(a.is_orderly(), "{a}");
    });
}
