//! Who waits, asked of a program that runs, and by which names.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::both::watchdog;
use crate::deadlock::{PATIENCE, reports, says};
use crate::hands::{Wakes, pinned, poll_with};
use tidings::actor::{Builder, Mailbox};
use tidings::sched::{Runtime, waits};
use tidings::sync::{Barrier, Mutex};
use tidings::task::named;
use tidings::{bounded, channel, oneshot, unbounded, yield_now};

#[test]
fn a_running_program_can_ask_who_waits() {
    let _watchdog = watchdog();
    let builder = Runtime::builder().workers(2);
    let runtime = builder.watch_deadlocks(Duration::MAX).build().unwrap();
    let handle = runtime.handle();
    runtime.block_on(async {
        let (open, gate) = channel::<u32>();
        let idle = |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} };
        let actor = Builder::new().spawn(idle);
        let waits = tidings::spawn(async move { gate.recv().await });
        let asks = tidings::spawn(async move {
            loop {
                let said = tidings::Handle::current().who_waits();
                if said.contains("waits for Recv<u32>") && said.contains("1 wait for messages") {
                    return said;
                }
                yield_now().await;
            }
        });
        let said = asks.await.unwrap();
        // Who asks is no one who waits.
        let task = "the task started at crates/tidings/tests/it/who.rs:";
        assert_eq!(said.matches(task).count(), 2, "{said}");
        says(&said, &["runs, or waits for something that is no event"]);
        open.send(1).await.unwrap();
        waits.await.unwrap().unwrap();
        actor.stop();
        actor.down().await;
    });
    // From anywhere, and when all is over.
    drop(runtime);
    assert_eq!(handle.who_waits(), "");
}

#[test]
fn a_wait_that_is_polled_again_has_begun_when_it_began() {
    let _watchdog = watchdog();
    let builder = Runtime::builder().watch_deadlocks(Duration::MAX);
    builder.build().unwrap().block_on(async {
        let ((_tx, first), (_other, last)) = (unbounded::<u8>(), unbounded::<u16>());
        let (mut first, mut last) = (pinned(first.recv()), pinned(last.recv()));
        let mut task = tidings::spawn(std::future::pending::<()>());
        let mut polls = |waker: &Waker| {
            assert!(poll_with(first.as_mut(), waker).is_pending());
            assert!(poll_with(Pin::new(&mut task), waker).is_pending());
        };
        polls(Waker::noop());
        assert!(poll_with(last.as_mut(), Waker::noop()).is_pending());
        let began = waits();
        assert_eq!(began.len(), 3);
        for waker in [Waker::noop(), &Wakes::new().1] {
            polls(waker);
            assert_eq!(waits(), began);
        }
        task.abort();
    });
}

#[test]
fn a_task_that_has_a_name_goes_by_it() {
    let found = reports(|| {
        named("the whole", async {
            let (mutex, (tx, rx)) = (Arc::new(Mutex::new(1)), unbounded::<u8>());
            let (lent, lends) = oneshot();
            let theirs = Arc::clone(&mutex);
            let holder = tidings::spawn(named("holder", async move {
                let _has = theirs.lock().await;
                lent.send(()).unwrap();
                // Of several the first counts.
                let _ = named("within", async { rx.recv().await }).await;
            }));
            lends.await.unwrap();
            let local = tidings::spawn_local(named("local", async move {
                drop(mutex.lock().await);
            }));
            // Of one that has ended nothing is left.
            let over = tidings::spawn(named("over", async {}));
            over.await.unwrap();
            let nameless = tidings::spawn(std::future::pending::<()>());
            let child = tidings::scope(|scope| async move {
                let child = scope.spawn(named("child", std::future::pending::<()>()));
                child.await.unwrap();
            });
            futures::join!(child, async { local.await.unwrap() });
            drop((tx, holder, nameless));
        })
    });
    for report in found {
        let at = "started at crates/tidings/tests/it/who.rs:";
        for words in [
            "the future of block_on, \"the whole\", waits for the end of the task \"child\" started at",
            &format!("waits for the end of the task \"local\" {at}"),
            &format!("\n  the task \"holder\" {at}"),
            &format!("\n  the local task \"local\" {at}"),
            &format!(", which the task \"holder\" {at}"),
            "\n  the task \"child\" started at",
            &format!("\n  the task {at}"),
        ] {
            says(&report, &[words]);
        }
        for word in ["within", "over"] {
            assert!(!report.contains(word), "{word:?} is in:\n{report}");
        }
    }
}

#[test]
fn a_wait_has_the_line_that_asked_for_it_by_whatever_name() {
    let _watchdog = watchdog();
    let runtime = Runtime::builder().workers(1).watch_deadlocks(PATIENCE);
    let runtime = runtime.build().unwrap();
    let barriers = [2, 2].map(|n| Arc::new(Barrier::new(n)));
    let ((full, queue), (open, values), (tell, told)) = (bounded(1), bounded::<u8>(1), oneshot());
    full.try_send(1).unwrap();
    let first = line!() + 2;
    let waits: [Box<dyn FnOnce() + Send>; 4] = [
        Box::new(move || _ = full.send_blocking(2)),
        Box::new(move || _ = values.recv_blocking()),
        Box::new(move || _ = told.recv_blocking()),
        Box::new({
            let barrier = barriers[0].clone();
            move || _ = barrier.wait_blocking()
        }),
    ];
    let ended = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            for wait in waits {
                drop(tidings::spawn_blocking(wait));
            }
            barriers[1].wait().await;
        });
    }));
    // What has begun ends before its runtime does.
    drop((queue, open));
    let _: Result<(), u8> = tell.send(0);
    barriers[0].wait_blocking();
    let report = *ended.unwrap_err().downcast::<String>().unwrap();
    let lines = [first, first + 1, first + 2, first + 5, first + 13];
    for line in lines {
        says(&report, &[&format!(", at {}:{line}:", file!())]);
    }
}

#[test]
fn a_future_of_block_on_that_waits_for_what_is_no_event_is_reported_as_a_task_is() {
    for report in reports(std::future::pending::<()>) {
        let words = "\n  the future of block_on waits for something that is no event";
        says(&report, &[words]);
    }
}
