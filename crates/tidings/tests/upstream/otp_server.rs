//! Erlang/OTP's `lib/stdlib/test/gen_server_SUITE.erl`: what a server's clients see of its life.

use std::time::Duration;

use crate::both::on_all;
use tidings::actor::{self, ActorRef, CallError, Exit, Mailbox, Reply, SendError, WeakActorRef};
use tidings::{Event, after, unbounded};

/// The requests of the suite's server.
enum Ask {
    Started(Reply<()>),
    /// Answers later, and takes other requests meanwhile.
    Delayed(Duration, Reply<()>),
    /// How many one-way messages came.
    Count(Reply<usize>),
    Cast,
    Stop(Reply<()>),
    /// Ends with an error before it answers.
    StopFor(&'static str, Reply<()>),
    /// Returns with the request in its hands.
    Return(Reply<()>),
    Crash(Reply<()>),
}

async fn serve(mut mailbox: Mailbox<Ask>) {
    let this: WeakActorRef<Ask> = mailbox.this();
    let mut casts = 0;
    while let Ok(ask) = mailbox.recv().await {
        match ask {
            Ask::Started(reply) => reply.send(()).unwrap(),
            Ask::Delayed(time, reply) => drop(tidings::spawn(async move {
                after(time).await;
                let _ = reply.send(());
            })),
            Ask::Cast => casts += 1,
            Ask::Count(reply) => reply.send(casts).unwrap(),
            Ask::Stop(reply) => {
                this.any().stop_now();
                reply.send(()).unwrap();
            }
            Ask::StopFor(why, reply) => {
                this.any().fail(why);
                reply.send(()).unwrap();
            }
            Ask::Return(_reply) => return,
            Ask::Crash(_reply) => std::panic::resume_unwind(Box::new("crashed")),
        }
    }
}

fn server() -> ActorRef<Ask> {
    actor::spawn(serve)
}

/// `start`, `stop1`: it is there, it stops, it is not there any more, and one can ask it to stop again.
#[test]
fn a_server_starts_stops_and_is_gone() {
    on_all(|| async {
        let server = server();
        server.call(Ask::Started).await.unwrap();
        server.call(Ask::Stop).await.unwrap();
        assert!(matches!(server.down().await, Exit::Stopped));
        let late = server.call(Ask::Started).await;
        assert!(
            matches!(late, Err(CallError::NotExecuted(Exit::Stopped))),
            "{late:?}"
        );
        server.stop();
        server.stop_now();
        server.kill();
        assert!(matches!(server.exit(), Some(Exit::Stopped)));
    });
}

/// `start` with a timeout: a start that takes too long is given up, and nothing is left of it.
#[test]
fn a_start_that_takes_too_long_can_be_given_up() {
    on_all(|| async {
        let slow = actor::spawn(|mailbox: Mailbox<Ask>| async move {
            std::future::pending::<()>().await;
            serve(mailbox).await;
        });
        let early = slow
            .call(Ask::Started)
            .timeout(Duration::from_millis(2))
            .await;
        assert!(matches!(early, Err(CallError::Timeout)));
        slow.kill();
        assert!(matches!(slow.down().await, Exit::Killed));
    });
}

/// `stop2`: with another reason.
#[test]
fn a_server_stops_for_a_reason() {
    on_all(|| async {
        let server = server();
        // The request in hand is handled to its end.
        server
            .call(|reply| Ask::StopFor("other reason", reply))
            .await
            .unwrap();
        let exit = server.down().await;
        assert_eq!(exit.to_string(), "failed: other reason");
        let late = server.send(Ask::Cast).await;
        assert!(matches!(
            late,
            Err(SendError::Ended(Ask::Cast, Exit::Failed(_)))
        ));
    });
}

/// `crash`: the caller, a linked server and later callers hear the reason.
#[test]
fn a_crash_tells_everyone_the_reason() {
    on_all(|| async {
        for panics in [false, true] {
            let server = server();
            let (told, exits) = unbounded();
            let (ready, linked) = tidings::oneshot();
            let other = server.any();
            let watcher = actor::spawn(move |mut mailbox: Mailbox<()>| async move {
                let ends = mailbox.trap_exits();
                mailbox.this().any().link(&other);
                ready.send(()).unwrap();
                told.send(ends.recv().await.unwrap()).await.unwrap();
                assert!(mailbox.recv().await.is_err());
            });
            linked.await.unwrap();
            let answer = if panics {
                server.call(Ask::Crash).await
            } else {
                server.call(Ask::Return).await
            };
            let told = exits.recv().await.unwrap();
            assert_eq!(told.actor, server.any());
            if panics {
                assert_eq!(
                    answer.unwrap_err().to_string(),
                    "no answer: the actor panicked: crashed"
                );
                assert!(matches!(told.exit, Exit::Panicked(_)));
            } else {
                // It was dropped before it was known that the server ends.
                assert!(matches!(answer, Err(CallError::NoReply)));
                assert!(matches!(told.exit, Exit::Normal));
            }
            let late = server.call(Ask::Started).await;
            assert!(matches!(late, Err(CallError::NotExecuted(_))));
            assert!(watcher.exit().is_none());
            watcher.stop();
            assert!(watcher.down().await.is_orderly());
        }
    });
}

/// `call`: answers may be late; a caller that does not wait so long hears of that, and its answer
/// does not come to anybody later.
#[test]
fn an_answer_may_be_late_and_a_caller_may_give_up() {
    on_all(|| async {
        let server = server();
        let ms = Duration::from_millis;
        server
            .call(|reply| Ask::Delayed(ms(1), reply))
            .await
            .unwrap();
        let in_time = server
            .call(|reply| Ask::Delayed(ms(1), reply))
            .timeout(ms(60_000));
        in_time.await.unwrap();
        let late = server
            .call(|reply| Ask::Delayed(ms(30), reply))
            .timeout(ms(1))
            .await;
        assert!(matches!(late, Err(CallError::Timeout)));
        server.call(Ask::Started).await.unwrap();
    });
}

/// `cast`, `abcast`, `info`: in their order, before the call that follows.
#[test]
fn casts_are_handled_before_the_call_that_follows() {
    on_all(|| async {
        let server = server();
        for n in 1..=50 {
            server.send(Ask::Cast).await.unwrap();
            if n % 10 == 0 {
                assert_eq!(server.call(Ask::Count).await.unwrap(), n);
            }
        }
    });
}

/// `cast_fast`: a message to a server that is gone neither waits nor goes somewhere else.
#[test]
fn a_cast_to_a_server_that_is_gone_comes_back_at_once() {
    on_all(|| async {
        let server = server();
        server.kill();
        server.down().await;
        for _ in 0..1000 {
            let back = server.send(Ask::Cast).try_now();
            assert!(matches!(
                back,
                Ok(Err(SendError::Ended(Ask::Cast, Exit::Killed)))
            ));
        }
    });
}

/// `multicall`, `multicall_down`: of many servers some are gone: the others answer, those do not.
#[test]
fn of_many_servers_those_that_are_there_answer() {
    on_all(|| async {
        let servers: Vec<_> = (0..6).map(|_| server()).collect();
        for gone in servers.iter().step_by(2) {
            gone.kill();
            gone.down().await;
        }
        let answers = servers
            .iter()
            .map(|server| server.call(Ask::Started).into_future());
        let answers = futures::future::join_all(answers).await;
        let there: Vec<_> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(there, [false, true, false, true, false, true]);
    });
}

/// `call_with_huge_message_queue`: an answer does not wait behind what is in the caller's mailbox.
#[test]
fn an_answer_does_not_wait_behind_the_mailbox() {
    on_all(|| async {
        let server = server();
        let asked = server.clone();
        let busy = actor::Builder::new().unbounded().spawn(
            move |mut mailbox: Mailbox<usize>| async move {
                let last = |n| if n == 999 { Ok(n) } else { Err(n) };
                mailbox.scan(last).await.unwrap();
                for _ in 0..10 {
                    asked.call(Ask::Started).await.unwrap();
                }
                assert_eq!(mailbox.len(), 999);
            },
        );
        for n in 0..1000 {
            busy.send(n).await.unwrap();
        }
        assert!(matches!(busy.down().await, Exit::Normal));
    });
}
