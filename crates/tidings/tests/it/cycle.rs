//! Calls that would wait for each other for ever are refused, and no others.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use crate::both::{on_all, on_pools};
use crate::by_hand::Chance;
use crate::hands::pinned;
use tidings::actor::{self, ActorRef, Builder, CallError, Mailbox, Reply};
use tidings::{Activity, ActorView, after, inspect, oneshot, select, unbounded, yield_now};

/// Who is asked next, and the answer that goes back.
#[tidings::interface]
trait Ask {
    /// Asks the rest of the way, from its first.
    async fn ask(&mut self, way: Vec<AskRef>) -> String;
}

struct Asked;

impl Ask for Asked {
    async fn ask(&mut self, mut way: Vec<AskRef>) -> String {
        if way.is_empty() {
            return "asked".to_owned();
        }
        let next = way.remove(0);
        match next.ask(way).await {
            Ok(answer) => answer,
            Err(refused) => refused.to_string(),
        }
    }
}

fn asked(name: &str) -> AskRef {
    Builder::new().name(name).start(Asked)
}

/// A refusal names these, in this order. It begins with whom the refused call was for: that is the call
/// whose poll ended last, and the worker of an earlier one may have stood still in the middle of it.
#[track_caller]
fn assert_names(answer: &str, names: &[&str]) {
    let cycle = answer.strip_prefix("refused: the call closes a cycle: ");
    let told: Vec<_> = cycle.expect(answer).split(" -> ").collect();
    assert_eq!(told.first(), told.last(), "{answer}");
    let is_turned = |by: usize| {
        names
            .iter()
            .cycle()
            .skip(by)
            .take(names.len())
            .eq(&told[1..])
    };
    assert!((0..names.len()).any(is_turned), "{answer}");
}

#[test]
fn a_cycle_of_calls_of_any_length_is_refused_with_its_names() {
    on_all(|| async {
        let (a, b, c) = (asked("a"), asked("b"), asked("c"));
        let alone = a.ask(vec![a.clone()]).await.unwrap();
        assert_names(&alone, &["a"]);
        let two = a.ask(vec![b.clone(), a.clone()]).await.unwrap();
        assert_names(&two, &["a", "b"]);
        let three = a.ask(vec![b.clone(), c.clone(), a.clone()]).await.unwrap();
        assert_names(&three, &["a", "b", "c"]);
        // The cycle need not go through the first.
        let inner = a.ask(vec![b.clone(), c.clone(), b.clone()]).await.unwrap();
        assert_names(&inner, &["b", "c"]);
        let names: Vec<_> = (0..50).map(|n| n.to_string()).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let long: Vec<_> = names.iter().map(|name| asked(name)).collect();
        let mut way = long[1..].to_vec();
        way.push(long[0].clone());
        let answer = long[0].ask(way).await.unwrap();
        assert_names(&answer, &names);
        // Nobody is stuck.
        for actor in long.iter().chain([&a, &b, &c]) {
            assert_eq!(actor.ask(Vec::new()).await.unwrap(), "asked");
        }
    });
}

#[tidings::interface]
trait Counter {
    /// Asks `other` to call back.
    async fn start(&mut self, this: CounterRef, other: CounterRef) -> [bool; 2];
    async fn call_back(&mut self, first: CounterRef) -> [bool; 2];
    async fn count(&mut self) -> u32;
}

#[derive(Default)]
struct Counted(u32);

impl Counter for Counted {
    async fn start(&mut self, this: CounterRef, other: CounterRef) -> [bool; 2] {
        // Sends and calls that went before hide nothing: the dispatch keeps the reply.
        let (words, word) = unbounded();
        words.send("a word".to_owned()).await.unwrap();
        word.recv().await.unwrap();
        assert_eq!(other.count().await.unwrap(), 0);
        other.call_back(this).await.unwrap()
    }
    async fn call_back(&mut self, first: CounterRef) -> [bool; 2] {
        tidings::spawn(async {}).await.unwrap();
        // Its worker may stand still between its call and the end of that poll.
        calls(first.id()).await;
        let refused = |answer| matches!(answer, Err(CallError::Cycle(_)));
        [refused(first.count().await), refused(first.count().await)]
    }
    async fn count(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}

#[test]
fn a_refused_call_is_not_executed_and_the_next_is_refused_too() {
    on_all(|| async {
        let first: CounterRef = actor::start(Counted::default());
        let second: CounterRef = actor::start(Counted::default());
        let refused = first.start(first.clone(), second.clone()).await.unwrap();
        assert_eq!(refused, [true, true]);
        assert_eq!(first.count().await.unwrap(), 0, "neither was executed");
    });
}

/// Refuses the last call of a way that leads back to its first.
#[tidings::interface]
trait Step {
    /// Calls the next on the way, of which this is the one at `at`: was the last call refused?
    async fn go(&mut self, way: Vec<StepRef>, at: usize) -> bool;
    async fn count(&mut self) -> u32;
}

#[derive(Default)]
struct Steps(u32);

impl Step for Steps {
    async fn go(&mut self, way: Vec<StepRef>, at: usize) -> bool {
        if let Some(next) = way.get(at + 1) {
            return next.go(way.clone(), at + 1).await.unwrap();
        }
        for before in &way[..at] {
            calls(before.id()).await;
        }
        matches!(way[0].count().await, Err(CallError::Cycle(_)))
    }
    async fn count(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}

/// Until the actor waits for an answer.
async fn calls(id: u64) {
    let waits = |it: &ActorView| it.id == id && matches!(it.activity, Activity::Calls(..));
    while !inspect().actors.iter().any(waits) {
        yield_now().await;
    }
}

#[test]
fn a_refused_call_is_not_executed_however_long_the_cycle_is() {
    on_all(|| async {
        for n in 1..=4 {
            let way: Vec<StepRef> = (0..n).map(|_| actor::start(Steps::default())).collect();
            assert!(way[0].go(way.clone(), 0).await.unwrap());
            for actor in &way {
                assert_eq!(actor.count().await.unwrap(), 0, "{n} actors");
            }
        }
    });
}

type Said = String;

/// The messages of a mailbox loop.
enum Order {
    /// Is answered at once.
    Plain(Reply<Said>),
    /// The actor calls `to`, which is to call back; the answer is what came of it.
    Relay(How, ActorRef<Self>, ActorRef<Self>, Reply<Said>),
    /// The actor calls `ActorRef` back, and answers.
    CallBack(How, ActorRef<Self>, Reply<Said>),
}

/// How who is to call back deals with the call and with its reply.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Plainly,
    AnswerFirst,
    AnswerByTask,
    AnswerByChannel,
    AnswerBySecondCall,
    AnswerBeside,
    AnswerBefore,
    Timeout,
    Choice,
    Poll,
}

fn outcome(answer: Result<Said, CallError>) -> Said {
    match answer {
        Ok(answer) => answer,
        Err(CallError::Cycle(_)) => "cycle".into(),
        Err(CallError::Timeout) => "timeout".into(),
        Err(other) => panic!("{other}"),
    }
}

async fn obey(
    mut mailbox: Mailbox<Order>,
    later: tidings::Sender<Reply<Said>>,
    keeper: ActorRef<Reply<Said>>,
) {
    while let Ok(order) = mailbox.recv().await {
        let (how, other, reply) = match order {
            Order::Plain(reply) => {
                let _ = reply.send("plain".into());
                continue;
            }
            Order::Relay(how, to, this, reply) => {
                let answer = to.call(|reply| Order::CallBack(how, this, reply)).await;
                reply.send(outcome(answer)).unwrap();
                continue;
            }
            Order::CallBack(how, other, reply) => (how, other, reply),
        };
        let call = other.call(Order::Plain);
        match how {
            How::Plainly => {
                let back = outcome(call.await);
                // Not this call may be the one that is refused, but the one it was asked by.
                let _ = reply.send(back);
            }
            How::AnswerFirst => {
                reply.send("first".into()).unwrap();
                assert_eq!(outcome(call.await), "plain");
            }
            How::AnswerByTask => {
                // One more thing that leaves takes nothing back.
                tidings::spawn(async {});
                tidings::spawn(async move {
                    for _ in 0..5 {
                        yield_now().await;
                    }
                    reply.send("by task".into()).unwrap();
                });
                assert_eq!(outcome(call.await), "plain");
            }
            How::AnswerByChannel => {
                later.send(reply).await.unwrap();
                assert_eq!(outcome(call.await), "plain");
            }
            How::AnswerBySecondCall => {
                keeper.send(reply).await.unwrap();
                assert_eq!(outcome(call.await), "plain");
            }
            How::AnswerBeside | How::AnswerBefore => {
                let answer = async {
                    yield_now().await;
                    reply.send("beside".into()).unwrap();
                };
                // Whichever of the two waits first.
                let back = if how == How::AnswerBeside {
                    futures::join!(call.into_future(), answer).0
                } else {
                    futures::join!(answer, call.into_future()).1
                };
                assert_eq!(outcome(back), "plain");
            }
            How::Timeout => {
                let back = call.timeout(Duration::from_millis(5)).await;
                reply.send(outcome(back)).unwrap();
            }
            How::Choice => {
                let back = select! {
                    back = call => outcome(back),
                    () = after(Duration::from_millis(5)) => "chosen".into(),
                };
                reply.send(back).unwrap();
            }
            How::Poll => {
                // Foreign code keeps the waker, and may wake.
                let (open, gate) = futures::channel::oneshot::channel::<()>();
                let opener = async {
                    yield_now().await;
                    open.send(()).unwrap();
                };
                tidings::spawn(async move {
                    for _ in 0..5 {
                        yield_now().await;
                    }
                    reply.send("by task".into()).unwrap();
                });
                let (back, gate, ()) = futures::join!(call.into_future(), gate, opener);
                gate.unwrap();
                assert_eq!(outcome(back), "plain");
            }
        }
    }
}

#[test]
fn in_a_mailbox_loop_what_another_may_answer_is_not_refused() {
    on_all(|| async {
        let (later, replies) = unbounded::<Reply<Said>>();
        tidings::spawn(async move {
            while let Ok(reply) = replies.recv().await {
                reply.send("by channel".into()).unwrap();
            }
        });
        let keeper = actor::spawn(|mut mailbox: Mailbox<Reply<Said>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                reply.send("by keeper".into()).unwrap();
            }
        });
        let loops = || {
            let (later, keeper) = (later.clone(), keeper.clone());
            actor::spawn(move |mailbox| obey(mailbox, later, keeper))
        };
        let (a, b) = (loops(), loops());
        for (how, said) in [
            (How::Plainly, "cycle"),
            (How::AnswerFirst, "first"),
            (How::AnswerByTask, "by task"),
            (How::AnswerByChannel, "by channel"),
            (How::AnswerBySecondCall, "by keeper"),
            (How::AnswerBeside, "beside"),
            (How::AnswerBefore, "beside"),
            (How::Timeout, "timeout"),
            (How::Choice, "chosen"),
            (How::Plainly, "cycle"),
            (How::Poll, "by task"),
        ] {
            let (to, this) = (b.clone(), a.clone());
            let answer = a.call(|reply| Order::Relay(how, to, this, reply)).await;
            assert_eq!(outcome(answer), said, "{how:?}");
            // It has done with the order, or its call would close a cycle with the next.
            assert_eq!(outcome(b.call(Order::Plain).await), "plain");
        }
        let itself = a
            .call(|reply| Order::CallBack(How::Plainly, a.clone(), reply))
            .await;
        assert_eq!(outcome(itself), "cycle");
    });
}

/// `a` asks the keeper, which keeps the reply; then it takes another message, hands the reply on by
/// a way that nobody sees, and calls `a`, which waits for the reply.
#[test]
fn a_reply_that_is_kept_until_later_does_not_close_a_cycle() {
    enum Keep {
        Keep(Reply<Said>),
        Call(ActorRef<Order>, Reply<Said>),
    }
    on_all(|| async {
        let shelf = Arc::new(Mutex::new(Vec::new()));
        let there = Arc::clone(&shelf);
        let keeper = actor::spawn(|mut mailbox: Mailbox<Keep>| async move {
            while let Ok(message) = mailbox.recv().await {
                match message {
                    Keep::Keep(reply) => there.lock().unwrap().push(reply),
                    Keep::Call(other, reply) => {
                        let back = outcome(other.call(Order::Plain).await);
                        reply.send(back).unwrap();
                    }
                }
            }
        });
        let to = keeper.clone();
        let a = actor::spawn(|mut mailbox: Mailbox<Order>| async move {
            assert_eq!(outcome(to.call(Keep::Keep).await), "from the shelf");
            while let Ok(Order::Plain(reply)) = mailbox.recv().await {
                let _ = reply.send("plain".into());
            }
        });
        while shelf.lock().unwrap().is_empty() {
            yield_now().await;
        }
        let calls = tidings::spawn(async move { outcome(keeper.call(|r| Keep::Call(a, r)).await) });
        for _ in 0..10 {
            yield_now().await;
        }
        let kept = shelf.lock().unwrap().pop().unwrap();
        kept.send("from the shelf".into()).unwrap();
        assert_eq!(calls.await.unwrap(), "plain");
    });
}

/// `a` calls `b`, gives that up, and goes on; `b`, which has the request in its hands, calls `a`.
#[test]
fn who_has_given_up_a_call_waits_for_nobody() {
    on_all(|| async {
        let (took, taken) = oneshot();
        let (go, gate) = oneshot();
        let (tell, told) = oneshot();
        let b = actor::spawn(
            |mut mailbox: Mailbox<(ActorRef<Order>, Reply<Said>)>| async move {
                let (a, _reply) = mailbox.recv().await.unwrap();
                took.send(()).unwrap();
                gate.await.unwrap();
                tell.send(outcome(a.call(Order::Plain).await)).unwrap();
            },
        );
        let (enough, mut is_enough) = oneshot();
        let a = actor::spawn(|mut mailbox| async move {
            let this = mailbox.this().upgrade().unwrap();
            let mut call = pinned(b.call(|reply| (this, reply)));
            let (mut enough, mut turn) = (pinned(is_enough.recv()), 0);
            // In a poll of its own the call is all that it waits for.
            poll_fn(|cx| {
                turn += 1;
                match turn {
                    1 => {
                        assert!(enough.as_mut().poll(cx).is_pending());
                        cx.waker().wake_by_ref();
                    }
                    2 => assert!(call.as_mut().poll(cx).is_pending()),
                    _ => return Poll::Ready(()),
                }
                Poll::Pending
            })
            .await;
            drop(call);
            while let Ok(Order::Plain(reply)) = mailbox.recv().await {
                let _ = reply.send("plain".into());
            }
        });
        taken.await.unwrap();
        enough.send(()).unwrap();
        assert_eq!(outcome(a.call(Order::Plain).await), "plain");
        go.send(()).unwrap();
        assert_eq!(told.await.unwrap(), "plain");
    });
}

/// Only what closes a cycle is held back: not the call of one that waits for another.
#[test]
fn a_call_goes_out_before_what_its_actor_sends_next() {
    enum Part {
        Call(Reply<()>),
        Send,
    }
    on_all(|| async {
        let (answer, wanted) = oneshot();
        let c = actor::spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
            answer.send(mailbox.recv().await.unwrap()).unwrap();
        });
        let b = actor::spawn(|mut mailbox: Mailbox<Part>| async move {
            c.call(|reply| reply).await.unwrap();
            let Ok(Part::Call(reply)) = mailbox.recv().await else {
                panic!("the call came first");
            };
            reply.send(()).unwrap();
            assert!(matches!(mailbox.recv().await, Ok(Part::Send)));
        });
        calls(b.id()).await;
        let asked = b.clone();
        let a = actor::spawn(|_: Mailbox<()>| async move {
            let mut call = pinned(b.call(Part::Call));
            poll_fn(|cx| {
                assert!(call.as_mut().poll(cx).is_pending());
                b.try_send(Part::Send).unwrap();
                Poll::Ready(())
            })
            .await;
            call.await.unwrap();
        });
        while asked.queued() < 2 {
            yield_now().await;
        }
        wanted.await.unwrap().send(()).unwrap();
        assert!(a.down().await.is_orderly());
    });
}

/// Two actors that call each other at the same time, often: whatever happens, all calls end.
#[test]
fn two_calls_that_close_a_cycle_at_the_same_time_do_not_hang() {
    on_pools(|| async {
        let refused = Arc::new(AtomicUsize::new(0));
        let (a, b) = (asked("a"), asked("b"));
        for _ in 0..2000 {
            let there = {
                let (a, b) = (a.clone(), b.clone());
                tidings::spawn(async move { a.ask(vec![b]).await.unwrap() })
            };
            let back = b.ask(vec![a.clone()]).await.unwrap();
            for answer in [there.await.unwrap(), back] {
                if answer != "asked" {
                    assert!(answer.starts_with("refused: "), "{answer}");
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        assert_eq!(a.ask(Vec::new()).await.unwrap(), "asked");
        assert_eq!(b.ask(Vec::new()).await.unwrap(), "asked");
    });
}

/// Calls from lower to higher numbers make no cycle, however many wait for each other.
#[test]
fn calls_that_make_no_cycle_are_never_refused() {
    on_all(|| async {
        let actors: Arc<Vec<_>> = Arc::new((0..12).map(|n| asked(&n.to_string())).collect());
        let callers: Vec<_> = (0..8_u64)
            .map(|seed| {
                let actors = Arc::clone(&actors);
                tidings::spawn(async move {
                    let mut chance = Chance::new(seed + 1);
                    for _ in 0..100 {
                        let mut way: Vec<_> = (0..12)
                            .filter(|_| chance.below(2) == 0)
                            .map(|n| actors[n].clone())
                            .collect();
                        if way.is_empty() {
                            continue;
                        }
                        let first = way.remove(0);
                        assert_eq!(first.ask(way).await.unwrap(), "asked");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
    });
}

/// Calls along random ways: no hang, and who is not refused was answered.
#[test]
fn calls_along_random_ways_all_end() {
    on_all(|| async {
        let actors: Arc<Vec<_>> = Arc::new((0..5).map(|n| asked(&n.to_string())).collect());
        let callers: Vec<_> = (0..6_u64)
            .map(|seed| {
                let actors = Arc::clone(&actors);
                tidings::spawn(async move {
                    let mut chance = Chance::new(seed + 1);
                    for _ in 0..100 {
                        let n = 1 + chance.below(4);
                        let mut any = || {
                            let n = usize::try_from(chance.below(5)).unwrap();
                            actors[n].clone()
                        };
                        let first = any();
                        let way = (0..n).map(|_| any()).collect();
                        let answer = first.ask(way).await.unwrap();
                        assert!(
                            answer == "asked" || answer.starts_with("refused: the call closes")
                        );
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
    });
}
