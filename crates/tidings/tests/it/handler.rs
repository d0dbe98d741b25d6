//! What a handler and its caller can do with a request: deadlines, nacks, answers that come later
//! or from elsewhere, refusals; and what a loop can do with its mailbox.

use std::future::pending;
use std::sync::mpsc;
use std::time::Duration;

use crate::both::{on_all, on_pools, pool, run};
use crate::hands::{pinned, poll};
use crate::letter::{Ledger, Letter};
use tidings::actor::{
    self, ActorRef, Builder, CallError, Carries, Exit, Mailbox, Recipient, Reply, SendError, Timers,
};
use tidings::time::{Instant, sleep};
use tidings::{Event, after, choose, oneshot, select, unbounded, yield_now};

const MILLI: Duration = Duration::from_millis(1);

enum Ask {
    Say,
    Get(u32, Reply<u32>),
}

fn get(n: u32) -> impl FnOnce(Reply<u32>) -> Ask {
    move |reply| Ask::Get(n, reply)
}

/// Answers with what it is asked.
fn echo() -> ActorRef<Ask> {
    actor::spawn(|mut mailbox| async move {
        while let Ok(message) = mailbox.recv().await {
            if let Ask::Get(n, reply) = message {
                let _ = reply.send(n);
            }
        }
    })
}

/// Has room for one message, and never looks.
fn silent() -> ActorRef<Ask> {
    Builder::new()
        .capacity(1)
        .spawn(|mailbox: Mailbox<Ask>| async move {
            pending::<()>().await;
            drop(mailbox);
        })
}

#[test]
fn calls_sends_ends_and_timers_stand_in_one_choice() {
    on_all(|| async {
        let full = silent();
        full.send(Ask::Say).await.unwrap();
        let ended = echo();
        ended.kill();
        ended.down().await;
        let answers = echo();
        let free = silent();
        // In each round one of them can happen, and does.
        for wanted in ["call", "send", "down", "timer"] {
            let called = if wanted == "call" { &answers } else { &full };
            let told = if wanted == "send" { &free } else { &full };
            let watched = if wanted == "down" { &ended } else { &full };
            let soon = if wanted == "timer" {
                MILLI
            } else {
                Duration::from_secs(3600)
            };
            let won = select! {
                answer = called.call(get(7)) => {
                    assert_eq!(answer.unwrap(), 7);
                    "call"
                }
                sent = told.send(Ask::Say) => {
                    sent.unwrap();
                    "send"
                }
                exit = watched.down() => {
                    assert!(matches!(exit, Exit::Killed));
                    "down"
                }
                () = after(soon) => "timer",
            };
            assert_eq!(won, wanted);
        }
        // Those that lost did nothing.
        assert_eq!((full.queued(), free.queued()), (1, 1));
    });
}

#[test]
fn a_loop_waits_for_its_mailbox_and_for_anything_else() {
    on_all(|| async {
        let (told, heard) = unbounded();
        let other = echo();
        let ends = silent();
        let (asked, watched) = (other.clone(), ends.clone());
        let actor = actor::spawn(move |mut mailbox: Mailbox<&'static str>| async move {
            let mut asks = false;
            loop {
                let line = select! {
                    message = mailbox.recv() => match message {
                        Ok(line) => line,
                        Err(_) => return,
                    },
                    // Made anew for every wait: one that loses has asked, and gone away.
                    answer = if asks { &asked } else { &watched }.call(get(3)) => {
                        asks = false;
                        answer.map_or("ended", |_| "answer")
                    }
                    () = after(MILLI) => {
                        asks = true;
                        "idle"
                    }
                };
                told.send(line).await.unwrap();
            }
        });
        let hear = async |wanted| while heard.recv().await.unwrap() != wanted {};
        hear("idle").await;
        hear("answer").await;
        actor.send("message").await.unwrap();
        hear("message").await;
        ends.kill();
        hear("ended").await;
        actor.stop();
        actor.down().await;
        assert!(other.exit().is_none());
    });
}

#[test]
fn a_handler_hears_of_every_way_in_which_its_caller_goes() {
    on_all(|| async {
        let (told, gone) = unbounded();
        let (begin, begun) = unbounded();
        let actor = actor::spawn(move |mut mailbox: Mailbox<Reply<u32>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                begin.send(()).await.unwrap();
                reply.closed().await;
                assert!(reply.is_closed());
                assert_eq!(reply.send(1), Err(1));
                told.send(()).await.unwrap();
            }
        });
        let call = || actor.call(|reply| reply);

        // Its time is over.
        assert!(matches!(
            call().timeout(MILLI).await,
            Err(CallError::Timeout)
        ));
        gone.recv().await.unwrap();
        // Its choice goes elsewhere: to a timer, to another call.
        select! {
            _ = call() => panic!("nobody answers"),
            () = after(MILLI) => {}
        }
        gone.recv().await.unwrap();
        let other = echo();
        let answered = choose([
            call().map(Result::unwrap).boxed(),
            other.call(get(2)).map(Result::unwrap).boxed(),
        ]);
        assert_eq!(answered.await, 2);
        gone.recv().await.unwrap();
        // Its wait is dropped, or its task aborted.
        let mut waits = pinned(call());
        assert!(poll(waits.as_mut()).is_pending());
        drop(waits);
        gone.recv().await.unwrap();
        while begun.try_recv().is_ok() {}
        let caller = tidings::spawn({
            let actor = actor.clone();
            async move { actor.call(|reply| reply).await }
        });
        begun.recv().await.unwrap();
        caller.abort();
        gone.recv().await.unwrap();
        assert!(caller.await.is_err());
        // A call that was never made tells nobody.
        drop(call());
        actor.stop();
        actor.down().await;
        assert!(gone.recv().await.is_err());
        assert!(matches!(
            call().try_now(),
            Ok(Err(CallError::NotExecuted(_)))
        ));
    });
}

#[test]
fn a_request_whose_caller_left_says_so_when_it_is_taken() {
    on_all(|| async {
        let (open, gate) = oneshot();
        let actor = actor::spawn(|mut mailbox: Mailbox<Reply<u32>>| async move {
            gate.await.unwrap();
            let mut left = 0;
            while let Ok(reply) = mailbox.recv().await {
                if reply.is_closed() {
                    left += 1;
                } else {
                    let _ = reply.send(left);
                }
            }
        });
        for _ in 0..3 {
            let call = actor.call(|reply| reply).timeout(MILLI);
            assert!(matches!(call.await, Err(CallError::Timeout)));
        }
        open.send(()).unwrap();
        assert_eq!(actor.call(|reply| reply).await.unwrap(), 3);
    });
}

#[test]
fn a_handler_sees_the_deadline_of_its_caller() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<Reply<Option<Instant>>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                let deadline = reply.deadline();
                let _ = reply.send(deadline);
            }
        });
        let hour = Duration::from_secs(3600);
        let before = Instant::now();
        let call = actor.call(|reply| reply).timeout(hour);
        let deadline = call.await.unwrap().unwrap();
        assert!(before + hour <= deadline && deadline <= Instant::now() + hour);
        // An event that loses a choice with a timer has no deadline of its own.
        let answer = select! {
            answer = actor.call(|reply| reply) => answer.unwrap(),
            () = after(hour) => unreachable!("it answers"),
        };
        assert_eq!(answer, None);
    });
}

#[test]
fn a_request_is_passed_on_and_its_caller_does_not_know() {
    on_all(|| async {
        let back = actor::spawn(|mut mailbox| async move {
            while let Ok(Ask::Get(n, reply)) = mailbox.recv().await {
                if n == 13 {
                    panic!("not that one");
                }
                let _ = reply.send(n);
            }
        });
        let to = back.clone();
        let front = actor::spawn(|mut mailbox| async move {
            while let Ok(message) = mailbox.recv().await {
                let passed = match message {
                    Ask::Get(n, reply) => to.send(Ask::Get(n + 1, reply)).await,
                    say => to.send(say).await,
                };
                if let Err(SendError::Ended(message, exit)) = passed {
                    actor::refuse(message, exit.to_string());
                }
            }
        });
        assert_eq!(front.call(get(1)).await.unwrap(), 2);
        // What happens there is heard here.
        match front.call(get(12)).await.unwrap_err() {
            CallError::Ended(Exit::Panicked(why)) => assert_eq!(&*why, "not that one"),
            other => panic!("{other:?}"),
        }
        back.down().await;
        let refused = front.call(get(1)).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(_)), "{refused:?}");
        assert!(front.exit().is_none());
    });
}

#[test]
fn an_answer_comes_later_from_anywhere() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox| async move {
            let mut held: Vec<(u32, Reply<u32>)> = Vec::new();
            while let Ok(message) = mailbox.recv().await {
                match message {
                    Ask::Get(n, reply) => held.push((n, reply)),
                    // From a task, from a thread, in any order.
                    Ask::Say => {
                        while let Some((n, reply)) = held.pop() {
                            if n % 2 == 0 {
                                tidings::spawn(async move { reply.send(n).unwrap() });
                            } else {
                                tidings::spawn_blocking(move || reply.send(n).unwrap());
                            }
                        }
                    }
                }
            }
        });
        let mut calls: Vec<_> = (0..6).map(|n| pinned(actor.call(get(n)))).collect();
        for call in &mut calls {
            assert!(poll(call.as_mut()).is_pending());
        }
        actor.send(Ask::Say).await.unwrap();
        for (n, call) in (0..).zip(calls) {
            assert_eq!(call.await.unwrap(), n);
        }
    });
}

#[test]
fn a_stash_is_bounded_kept_in_order_and_part_of_the_mailbox() {
    on_all(|| async {
        let (told, all) = unbounded();
        let actor = Builder::new()
            .capacity(3)
            .spawn(move |mut mailbox: Mailbox<u32>| async move {
                let odd = |n: u32| if n % 2 == 1 { Ok(n) } else { Err(n) };
                for _ in 0..3 {
                    let early = mailbox.recv().await.unwrap();
                    mailbox.stash(early).unwrap();
                }
                let fourth = mailbox.recv().await.unwrap();
                assert_eq!(mailbox.stash(fourth), Err(4));
                // A selective receive passes over others, not over the stash.
                assert_eq!(mailbox.scan(odd).await, Ok(7));
                assert_eq!((mailbox.stashed(), mailbox.len()), (3, 4));
                assert_eq!(mailbox.recv().await, Ok(6));
                mailbox.unstash();
                assert_eq!((mailbox.stashed(), mailbox.len()), (0, 3));
                while let Ok(n) = mailbox.recv().await {
                    told.send(n).await.unwrap();
                }
            });
        for n in [1, 2, 3, 4, 6, 7] {
            actor.send(n).await.unwrap();
        }
        for n in 1..=3 {
            assert_eq!(all.recv().await, Ok(n));
        }
        actor.send(8).await.unwrap();
        assert_eq!(all.recv().await, Ok(8));
    });
}

#[test]
fn what_is_stashed_at_the_end_was_not_executed() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                mailbox.stash(reply).unwrap();
            }
        });
        let mut calls: Vec<_> = (0..3).map(|_| pinned(actor.call(|reply| reply))).collect();
        for call in &mut calls {
            assert!(poll(call.as_mut()).is_pending());
        }
        actor.stop();
        for call in calls {
            let error = call.await.unwrap_err();
            let stopped = matches!(error, CallError::NotExecuted(Exit::Stopped));
            assert!(stopped, "{error:?}");
        }
    });
}

#[test]
fn timers_of_a_loop_come_in_order_and_never_after_a_cancel() {
    on_all(|| async {
        let ledger = Ledger::default();
        let mut timers = Timers::new();
        let hour = Duration::from_secs(3600);
        timers.after("late", hour, ledger.letter(4));
        timers.after("second", 2 * MILLI, ledger.letter(2));
        timers.after("first", MILLI, ledger.letter(1));
        timers.after("replaced", MILLI, ledger.letter(0));
        timers.after("replaced", 3 * MILLI, ledger.letter(3));
        timers.after("stale", 2 * MILLI, ledger.letter(5));
        assert_eq!((timers.len(), ledger.alive()), (5, 5));
        sleep(5 * MILLI).await;
        // Its time has come, and nothing of it is on its way.
        assert_eq!(timers.cancel(&"stale").unwrap().n, 5);
        assert!(timers.cancel(&"stale").is_none());
        // A wait that loses leaves what is due.
        let lost = timers.recv().either(after(Duration::ZERO));
        let first = match lost.biased().await {
            tidings::Either::Left(letter, ()) => letter,
            tidings::Either::Right((), _) => timers.recv().await,
        };
        let mut seen = vec![first.n];
        for _ in 0..2 {
            seen.push(timers.recv().await.n);
        }
        drop(first);
        assert_eq!(seen, [1, 2, 3]);
        assert!(timers.recv().timeout(MILLI).await.is_err());
        assert_eq!(timers.cancel(&"late").unwrap().n, 4);
        assert!(timers.is_empty() && ledger.alive() == 0);
    });
}

#[test]
fn a_timer_that_goes_on_leaves_out_what_was_late() {
    on_all(|| async {
        let mut timers = Timers::default();
        let start = Instant::now();
        timers.every(1, 2 * MILLI, "tick");
        sleep(9 * MILLI).await;
        assert_eq!(timers.recv().try_now(), Ok("tick"));
        // The next is at a multiple of the period that had not passed.
        let late = Instant::now();
        assert_eq!(timers.recv().await, "tick");
        let passed = (late - start).as_nanos() / (2 * MILLI).as_nanos();
        let next = start + 2 * MILLI * u32::try_from(passed + 1).unwrap();
        assert!(Instant::now() >= next.min(late));
        assert_eq!(timers.cancel(&1), Some("tick"));
        assert!(timers.recv().try_now().is_err());
        timers.every(2, Duration::from_secs(3600), "late");
        assert!(!timers.is_empty() && timers.recv().try_now().is_err());
    });
}

enum Input {
    Number(u32),
    Stop,
}

impl Carries<u32> for Input {
    fn wrap(n: u32) -> Self {
        Self::Number(n)
    }
}

#[test]
fn an_adapter_turns_messages_into_others_in_order_and_ends_with_its_actor() {
    on_all(|| async {
        let (told, all) = unbounded();
        let actor = actor::spawn(|mut mailbox| async move {
            while let Ok(Input::Number(n)) = mailbox.recv().await {
                told.send(n).await.unwrap();
            }
        });
        let numbers: Recipient<u32> = actor.narrow();
        let lines: Recipient<(&'static str, Reply<usize>)> = numbers.adapt(
            |(line, reply): (&'static str, Reply<usize>)| match line.parse() {
                Ok(n) => {
                    let _ = reply.send(line.len());
                    Some(n)
                }
                Err(error) => {
                    actor::refuse(reply, error);
                    None
                }
            },
        );
        for (line, length) in [("1", 1), ("22", 2), ("333", 3)] {
            let call = lines.call(|reply| (line, reply));
            assert_eq!(call.await.unwrap(), length);
        }
        let refused = lines.call(|reply| ("four", reply)).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(_)), "{refused:?}");
        for n in [1, 22, 333] {
            assert_eq!(all.recv().await, Ok(n));
        }
        // Without its references it ends, and the actor does not.
        let other = numbers.adapt(|n: u8| Some(u32::from(n)));
        let weak = other.downgrade();
        drop(other);
        assert!(weak.upgrade().is_none());
        assert!(actor.exit().is_none());
        actor.send(Input::Stop).await.unwrap();
        assert!(matches!(lines.down().await, Exit::Normal));
        let late = lines.call(|reply| ("5", reply)).await.unwrap_err();
        assert!(
            matches!(late, CallError::NotExecuted(Exit::Normal)),
            "{late:?}"
        );
    });
}

#[test]
fn what_an_adapter_cannot_pass_on_is_among_its_dead_letters() {
    on_all(|| async {
        let builder = Builder::new().capacity(1);
        let actor = builder.spawn(|mailbox: Mailbox<u32>| async move {
            pending::<()>().await;
            drop(mailbox);
        });
        let numbers: Recipient<u32> = actor.narrow();
        let bytes = numbers.adapt(|n: u8| Some(u32::from(n)));
        for n in 0..3 {
            bytes.send(n).await.unwrap();
        }
        // One is there, one waits for a place, and one for its turn.
        while (bytes.queued(), actor.queued()) != (1, 1) {
            yield_now().await;
        }
        actor.kill();
        bytes.down().await;
        assert_eq!((actor.dead_letters(), bytes.dead_letters()), (1, 2));
    });
}

#[test]
fn an_actor_on_its_own_thread_may_block() {
    let _watchdog = crate::both::watchdog();
    // One worker, which the actor must not hold.
    let rt = pool(1);
    run(&rt, async {
        let (tx, rx) = mpsc::channel::<u32>();
        let actor =
            Builder::new()
                .blocking()
                .spawn(move |mut mailbox: Mailbox<Reply<u32>>| async move {
                    while let Ok(reply) = mailbox.recv().await {
                        let _ = reply.send(rx.recv().unwrap());
                    }
                    "its end".parse::<u32>().map(|_| ())
                });
        let mut call = pinned(actor.call(|reply| reply));
        assert!(poll(call.as_mut()).is_pending());
        while actor.queued() > 0 {
            yield_now().await;
        }
        tx.send(5).unwrap();
        assert_eq!(call.await.unwrap(), 5);
        actor.stop();
        assert!(matches!(actor.down().await, Exit::Failed(_)));
    });
}

#[test]
fn a_kill_of_an_actor_on_its_own_thread_waits_for_its_code() {
    on_pools(|| async {
        let ledger = Ledger::default();
        let (tx, rx) = mpsc::channel::<()>();
        let (told, begun) = oneshot();
        let letter = ledger.letter(1);
        let actor = Builder::new()
            .blocking()
            .spawn(move |mailbox: Mailbox<Letter>| async move {
                let _kept = (letter, mailbox);
                told.send(()).unwrap();
                rx.recv().unwrap();
                pending::<()>().await;
            });
        actor.send(ledger.letter(2)).await.unwrap();
        begun.await.unwrap();
        actor.kill();
        for _ in 0..20 {
            yield_now().await;
        }
        assert!(actor.exit().is_none());
        tx.send(()).unwrap();
        assert!(matches!(actor.down().await, Exit::Killed));
        assert_eq!(ledger.alive(), 0);

        let panics =
            Builder::new()
                .blocking()
                .spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
                    let _reply = mailbox.recv().await;
                    panic!("on a thread");
                });
        match panics.call(|reply| reply).await.unwrap_err() {
            CallError::Ended(Exit::Panicked(why)) => assert_eq!(&*why, "on a thread"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_runtime_that_ends_kills_its_actors_on_threads() {
    let _watchdog = crate::both::watchdog();
    for started in [false, true] {
        let rt = pool(2);
        let actor = run(&rt, async move {
            let (told, begun) = oneshot();
            let actor = Builder::new()
                .blocking()
                .spawn(|mut mailbox: Mailbox<()>| async move {
                    let _ = told.send(());
                    while mailbox.recv().await.is_ok() {}
                });
            if started {
                begun.await.unwrap();
            }
            actor
        });
        drop(rt);
        assert!(matches!(actor.exit(), Some(Exit::Killed)));
    }
}
