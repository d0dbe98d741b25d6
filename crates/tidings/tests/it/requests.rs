//! Where a request is whose answer is waited for, in reports of deadlocks.

use std::future::pending;

use crate::deadlock::{reports, says};
use tidings::actor::{ActorRef, Builder, Mailbox, Reply};
use tidings::channel::Sender;
use tidings::task::named;
use tidings::{unbounded, yield_now};

/// Takes so many requests, says so, and answers none.
fn keeps(name: &'static str, many: usize, took: Sender<()>) -> ActorRef<Reply<u32>> {
    let builder = Builder::new().name(name).capacity(1);
    builder.spawn(move |mut mailbox: Mailbox<Reply<u32>>| async move {
        let mut kept = Vec::new();
        for _ in 0..many {
            kept.push(mailbox.recv().await.unwrap());
            took.send(()).await.unwrap();
        }
        pending::<()>().await;
    })
}

#[test]
fn a_report_says_whether_the_request_of_a_call_was_taken() {
    let found = reports(|| async {
        let (took, taken) = unbounded();
        let (one, full) = (keeps("one", 1, took.clone()), keeps("full", 0, took));
        let call = |of: &ActorRef<Reply<u32>>, name| {
            let of = of.clone();
            let call = async move { of.call(|reply| reply).await };
            tidings::spawn(named(name, call))
        };
        let first = call(&one, "first");
        taken.recv().await.unwrap();
        let second = call(&full, "second");
        while full.queued() == 0 {
            yield_now().await;
        }
        let third = call(&full, "third");
        let asks = Builder::new().name("asks");
        let asks = asks.spawn(|_mailbox: Mailbox<()>| async move {
            one.call(|reply| reply).await.unwrap();
        });
        asks.down().await;
        for call in [first, second, third] {
            call.await.unwrap().unwrap();
        }
    });
    for report in found {
        for (who, what) in [
            (
                "\"first\"",
                "the answer of one, which has taken the request",
            ),
            ("\"second\"", "the answer of full, with 1 in its mailbox"),
            ("\"third\"", "a place in the mailbox of full"),
            ("asks waits", "the answer of one, with 1 in its mailbox"),
        ] {
            let mut lines = report.lines();
            let line = lines.find(|line| line.contains(who));
            says(line.unwrap_or(&report), &[what]);
        }
    }
}
