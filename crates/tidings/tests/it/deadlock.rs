//! Deadlocks are reported, with names and lines, and what is none is not.

use std::future::IntoFuture as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::both::watchdog;
use tidings::actor::{Builder, Mailbox, Reply};
use tidings::sched::{Runtime, Seeded};
use tidings::sync::Mutex;
use tidings::{
    Event, after, bounded, channel, choose, guard, oneshot, select, unbounded, with_nack, yield_now,
};

/// Long enough for a thread that is there already to be heard, short enough for a test.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// Runs what deadlocks, on threads and under a seam; gives the reports.
pub(crate) fn reports<F: Future>(body: impl Fn() -> F) -> [String; 2] {
    let _watchdog = watchdog();
    let threads = Runtime::builder().workers(2).watch_deadlocks(PATIENCE);
    let seam = Runtime::builder()
        .seam(Seeded::new(7))
        .watch_deadlocks(Duration::ZERO);
    [threads, seam].map(|builder| {
        let runtime = builder.build().unwrap();
        let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(body())));
        let Err(panic) = ended else {
            panic!("it did not deadlock")
        };
        *panic.downcast::<String>().expect("a report")
    })
}

/// As `reports`, of what goes on: no report, and what it gives.
pub(crate) fn goes_on<F: Future<Output = u32>>(body: impl Fn() -> F) {
    let _watchdog = watchdog();
    let threads = Runtime::builder().workers(2).watch_deadlocks(PATIENCE);
    let seam = Runtime::builder()
        .seam(Seeded::new(7))
        .watch_deadlocks(PATIENCE);
    for builder in [threads, seam] {
        assert_eq!(builder.build().unwrap().block_on(body()), 7);
    }
}

pub(crate) fn says(report: &str, words: &[&str]) {
    for word in words {
        assert!(report.contains(word), "{word:?} is not in:\n{report}");
    }
}

#[test]
fn tasks_that_wait_for_each_other_are_reported_with_names_and_lines() {
    static LINES: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
    let found = reports(|| {
        LINES[2].store(line!() + 1, Ordering::SeqCst);
        let (a, from_a) = channel::<u32>();
        let (b, from_b) = channel::<String>();
        let first = async move {
            // Nobody sends to `b` before `a` has received.
            LINES[0].store(line!() + 1, Ordering::SeqCst);
            let _ = from_b.recv().await;
            let _ = a.send(1).await;
        };
        async move {
            let first = tidings::spawn(first);
            LINES[1].store(line!() + 1, Ordering::SeqCst);
            from_a.recv().await.unwrap();
            b.send("never".to_owned()).await.unwrap();
            first.await.unwrap();
        }
    });
    for report in found {
        says(
            &report,
            &[
                "deadlock: nothing can run",
                "the future of block_on waits for Recv<u32> of 0x",
                "the task started at crates/tidings/tests/it/deadlock.rs:",
                "waits for Recv<String> of 0x",
            ],
        );
        if cfg!(debug_assertions) {
            for (line, what) in LINES.iter().zip(["at ", "at ", "made at "]) {
                let line = line.load(Ordering::SeqCst);
                let at = format!(", {what}crates/tidings/tests/it/deadlock.rs:{line}:");
                says(&report, &[&at]);
            }
        }
        // All wait for events, and none is an actor.
        for word in ["no event", "\n  0 "] {
            assert!(!report.contains(word), "{word:?} is in:\n{report}");
        }
    }
}

#[test]
fn a_wake_that_was_heard_already_takes_nothing_from_the_patience() {
    let _watchdog = watchdog();
    let (go, gone) = std::sync::mpsc::channel();
    let (tx, rx) = unbounded();
    let thread = std::thread::spawn(move || {
        gone.recv().unwrap();
        (0..1000).for_each(|_| std::thread::yield_now());
        tx.try_send(7).unwrap();
    });
    let seam = Runtime::builder().seam(Seeded::new(7));
    let runtime = seam
        .watch_deadlocks(Duration::from_secs(60))
        .build()
        .unwrap();
    let got = runtime.block_on(async {
        yield_now().await;
        go.send(()).unwrap();
        rx.recv().await
    });
    assert_eq!(got, Ok(7));
    thread.join().unwrap();
}

#[test]
fn what_a_thread_waits_for_is_told_by_the_future_as_long_as_it_waits() {
    let builder = Runtime::builder().seam(Seeded::new(7));
    let runtime = builder.watch_deadlocks(Duration::MAX).build().unwrap();
    let (_tx, rx) = unbounded::<u8>();
    let mut wait = Box::pin(async { rx.recv().await });
    let (_other, never) = channel::<u16>();
    let idle = |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} };
    drop(runtime.spawn(async move { never.recv().await }));
    runtime.block_on(async {
        assert!(futures::poll!(&mut wait).is_pending());
        let quiet = Builder::new().name("quiet").spawn(idle);
        after(Duration::from_secs(1)).await;
        let mut said = tidings::sched::waits().into_values();
        assert!(said.any(|said| said.contains("a message for quiet")));
        drop(quiet);
    });
    let said = tidings::sched::waits().into_values();
    let said: Vec<String> = said.filter(|said| said.contains("<u8>")).collect();
    assert!(matches!(&said[..], [one] if one.starts_with("Recv<u8> of 0x")));
    drop(wait);
    let mut left = tidings::sched::waits().into_values();
    assert!(!left.any(|said| said.contains("<u8>")));
    // Of a runtime's tasks, who waits.
    while runtime.ready() > 0 {
        runtime.step(0);
    }
    let said = runtime.handle().who_waits();
    says(
        &said,
        &[
            "\n  the task started at crates/tidings/tests/it/deadlock.rs:",
            "waits for Recv<u16>",
        ],
    );
}

#[test]
fn of_many_who_wait_for_what_is_no_event_some_are_named_and_the_others_counted() {
    let found = reports(|| async {
        let tasks: Vec<_> = (0..20)
            .map(|_| tidings::spawn(std::future::pending::<()>()))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    for report in found {
        let named = report
            .matches("waits for something that is no event")
            .count();
        assert_eq!(named, 16, "{report}");
        says(&report, &["\n  4 more wait for something that is no event"]);
    }
}

#[test]
fn actors_calls_and_full_mailboxes_are_named() {
    let found = reports(|| async {
        let quiet = Builder::new()
            .name("quiet")
            .spawn(|mailbox: Mailbox<Reply<u32>>| async move {
                let _mailbox = mailbox;
                std::future::pending::<()>().await;
            });
        let idle = Builder::new()
            .name("idle")
            .spawn(
                |mut mailbox: Mailbox<u32>| async move { while mailbox.recv().await.is_ok() {} },
            );
        let full = Builder::new().name("full").capacity(1).spawn({
            let quiet = quiet.clone();
            |mailbox: Mailbox<u32>| async move {
                let _mailbox = mailbox;
                quiet.call(|reply| reply).await.unwrap();
            }
        });
        full.send(1).await.unwrap();
        drop(tidings::spawn({
            let idle = idle.clone();
            async move { idle.down().await }
        }));
        let sender = tidings::spawn(async move { full.send(2).await });
        let _ = sender.await;
        idle.send(1).await.unwrap();
    });
    for report in found {
        says(
            &report,
            &[
                "the future of block_on waits for the end of the task started at",
                "waits for the end of idle",
                "waits for a place in the mailbox of full",
                "full waits for the answer of quiet, with 1 in its mailbox",
                "1 wait for messages, each an actor",
                "\n  quiet waits for something that is no event",
            ],
        );
    }
}

#[test]
fn a_wait_for_an_end_has_its_own_line() {
    static LINES: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
    let found = reports(|| async {
        let ends = tidings::spawn(std::future::pending::<()>());
        let joins = tidings::spawn(async move {
            LINES[0].store(line!() + 1, Ordering::SeqCst);
            ends.await.unwrap();
        });
        LINES[1].store(line!() + 1, Ordering::SeqCst);
        joins.await.unwrap();
    });
    for report in found.iter().filter(|_| cfg!(debug_assertions)) {
        for line in &LINES {
            let line = line.load(Ordering::SeqCst);
            let at = format!(", at crates/tidings/tests/it/deadlock.rs:{line}:");
            let line = report.lines().find(|line| line.contains(&at));
            let line = line.unwrap_or_else(|| panic!("{at:?} is not in:\n{report}"));
            assert!(line.contains("waits for the end of the task"), "{line}");
        }
    }
}

#[test]
fn a_wait_for_a_life_of_an_actor_names_it() {
    let found = reports(|| async {
        let phoenix = Builder::new().name("phoenix");
        let phoenix = phoenix
            .spawn(|mut mailbox: Mailbox<u8>| async move { while mailbox.recv().await.is_ok() {} });
        // It waits for a child that does not hear of its end.
        let hangs = Builder::new().name("egg").parent(&phoenix.any());
        let _hangs = hangs.spawn(|_: Mailbox<u8>| std::future::pending::<()>());
        phoenix.stop();
        phoenix.restarted(1).await
    });
    for report in found {
        let lives = [
            "waits for the beginning of a life of phoenix",
            "waits for the end of a life of egg",
        ];
        says(&report, &lives);
    }
}

#[test]
fn who_has_a_lock_is_named_until_it_is_let_go() {
    let found = reports(|| async {
        let locks = Arc::new([(); 3].map(|()| Mutex::new(0)));
        let (lent, lends) = oneshot();
        // Has one, and had the others.
        let all = Arc::clone(&locks);
        let lender = async move {
            drop((all[0].lock().await, all[1].try_lock()));
            let _has = all[2].lock().await;
            lent.send(()).unwrap();
            std::future::pending::<()>().await;
        };
        let lender = Builder::new().name("lender").spawn(|_: Mailbox<u8>| lender);
        lends.await.unwrap();
        // Each has one, and wants the other's.
        let (first, meets) = channel::<()>();
        let tasks = [(0, 1), (1, 0)].map(|(mine, yours)| {
            let (locks, first, meets) = (Arc::clone(&locks), first.clone(), meets.clone());
            tidings::spawn(async move {
                let _mine = locks[mine].lock().await;
                let met = first.send(()).map(drop).or(meets.recv().map(drop));
                met.await;
                let _yours = locks[yours].lock().await;
            })
        });
        drop(locks[2].lock().await);
        drop((tasks, lender));
    });
    for report in found {
        let waits = |line: &&str| line.contains("waits for Lock<&Mutex<i32>> of");
        let lines: Vec<_> = report.lines().filter(waits).collect();
        let has = |who: &str| lines.iter().filter(|line| line.contains(who)).count();
        let task = ", which the task started at crates/tidings/tests/it/deadlock.rs:";
        assert_eq!((has(task), has(", which lender has")), (2, 1), "{report}");
    }
}

#[test]
fn a_choice_and_locks_say_all_that_they_wait_for() {
    let found = reports(|| async {
        let mutex = Mutex::new(1);
        // Who ran last has no part in it.
        tidings::spawn(async {}).await.unwrap();
        let held = mutex.lock().await;
        let (_tx, rx) = unbounded::<u8>();
        select! {
            _ = rx.recv() => {},
            _again = mutex.lock() => {},
        }
        drop(held);
    });
    for report in found {
        let words = [
            "waits for Recv<u8> of 0x",
            ", or Lock<",
            ", which the future of block_on (or a thread) has",
        ];
        says(&report, &words);
    }
}

#[test]
fn a_choice_says_all_that_it_waits_for_however_it_was_built() {
    let found = reports(|| async {
        let (_a, a) = unbounded::<u8>();
        let (_b, b) = unbounded::<u16>();
        let (_c, c) = unbounded::<u32>();
        let (_d, d) = unbounded::<u64>();
        let (_e, e) = unbounded::<i8>();
        let (_f, f) = unbounded::<i16>();
        let (g, _g) = channel::<i32>();
        let mut place = Some(1);
        let made = guard(|| c.recv().map(drop)).either(with_nack(|_| d.recv().map(drop)));
        let all = [
            a.recv().map(drop).or(b.recv().map(drop)).boxed(),
            made.map(drop).biased().boxed(),
            choose([choose([e.recv()]).map(drop).boxed()]).boxed(),
            f.recv().map(drop).boxed(),
            g.send_from(&mut place).map(drop).boxed(),
        ];
        choose(all).await;
    });
    for report in found {
        for of in ["u8", "u16", "u32", "u64", "i8", "i16"] {
            says(&report, &[&format!("Recv<{of}> of 0x")]);
        }
        says(&report, &["Send<i32> of 0x"]);
    }
}

#[test]
fn an_end_of_a_task_in_a_choice_is_named() {
    let found = reports(|| async {
        let (open, gate) = channel::<u32>();
        let mut task = tidings::spawn(async move { gate.recv().await });
        let (_open, nothing) = unbounded::<u8>();
        let ended = task.join().map(drop);
        ended.or(nothing.recv().map(drop)).await;
        drop(open);
    });
    for report in found {
        let words = [
            "the end of the task started at crates/tidings/tests/it/deadlock.rs:",
            "Recv<u8> of 0x",
            "waits for Recv<u32> of 0x",
        ];
        says(&report, &words);
    }
}

#[test]
fn what_is_over_is_not_in_a_report() {
    let found = reports(|| async {
        let (to_done, done) = unbounded::<u8>();
        let (_to_lost, lost) = unbounded::<u16>();
        let (_to_last, last) = unbounded::<u32>();
        let mut wait = Box::pin(done.recv().into_future());
        assert!(futures::poll!(wait.as_mut()).is_pending());
        to_done.send(1).await.unwrap();
        wait.as_mut().await.unwrap();
        let mut given_up = Box::pin(lost.recv().into_future());
        assert!(futures::poll!(given_up.as_mut()).is_pending());
        drop(given_up);
        let _ = last.recv().await;
        drop(wait);
    });
    for report in found {
        says(&report, &["Recv<u32> of 0x"]);
        for of in ["u8", "u16"] {
            assert!(!report.contains(&format!("Recv<{of}>")), "{report}");
        }
    }
}

#[test]
fn a_task_in_the_place_of_one_that_foreign_code_knew_is_looked_at_anew() {
    // All of one size, so that they have places in common.
    async fn task(foreign: Option<futures::channel::oneshot::Receiver<()>>) {
        if let Some(foreign) = foreign {
            return foreign.await.unwrap();
        }
        let (_tx, rx) = unbounded::<u8>();
        let _ = rx.recv().await;
    }
    let found = reports(|| async {
        let (tx, rx) = futures::channel::oneshot::channel();
        let known = tidings::spawn(task(Some(rx)));
        for _ in 0..9 {
            yield_now().await;
        }
        tx.send(()).unwrap();
        known.await.unwrap();
        // As many as it takes to have its place.
        for _ in 0..64 {
            tidings::spawn(task(None));
        }
        let (_tx, rx) = unbounded::<u16>();
        let _ = rx.recv().await;
    });
    for report in found {
        says(&report, &["Recv<u8> of 0x", "Recv<u16> of 0x"]);
    }
}

#[test]
fn a_local_task_that_waits_is_in_a_report_and_so_is_what_it_has() {
    let found = reports(|| async {
        let mutex = Rc::new(Mutex::new(1));
        let theirs = Rc::clone(&mutex);
        let (lent, lends) = oneshot();
        let (_tx, rx) = unbounded::<u8>();
        let holder = tidings::spawn_local(async move {
            let _has = theirs.lock().await;
            lent.send(()).unwrap();
            let _ = rx.recv().await;
        });
        lends.await.unwrap();
        let waits = tidings::spawn_local(async move { drop(mutex.lock().await) });
        let task = tidings::spawn_local(async { std::future::pending::<()>().await });
        waits.await.unwrap();
        drop((holder, task));
    });
    for report in found {
        let local = "\n  the local task started at crates/tidings/tests/it/deadlock.rs:";
        assert_eq!(report.matches(local).count(), 3, "{report}");
        let words = [
            "the future of block_on waits for the end of the task started at",
            "waits for Recv<u8> of 0x",
            "waits for something that is no event",
            ", which the task started at crates/tidings/tests/it/deadlock.rs:",
        ];
        says(&report, &words);
    }
}

#[test]
fn a_local_task_that_can_go_on_is_no_deadlock() {
    // One that waits for the time, or for foreign code, on which the future of `block_on` waits.
    goes_on(|| async {
        let late = tidings::spawn_local(after(3 * PATIENCE).map(|()| Rc::new(7)).into_future());
        *late.await.unwrap()
    });
    goes_on(|| async {
        let (tx, rx) = futures::channel::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(3 * PATIENCE);
            tx.send(7).unwrap();
        });
        tidings::spawn_local(rx).await.unwrap().unwrap()
    });
    // One that is busy, here or in the `block_on` of another thread.
    for yields in [true, false] {
        let busy = move || async move {
            let start = std::time::Instant::now();
            while start.elapsed() < 3 * PATIENCE {
                if yields {
                    yield_now().await;
                }
            }
            7
        };
        goes_on(|| async move { tidings::spawn_local(busy()).await.unwrap() });
        let runtime = Runtime::builder().workers(2).watch_deadlocks(PATIENCE);
        let (runtime, (tx, rx)) = (runtime.build().unwrap(), oneshot());
        let handle = runtime.handle();
        std::thread::spawn(move || {
            let local = async { tidings::spawn_local(busy()).await.unwrap() };
            let _ = tx.send(handle.block_on(local));
        });
        assert_eq!(runtime.block_on(rx.into_future()), Ok(7));
    }
}

#[test]
fn a_future_of_block_on_that_a_thread_wakes_again_and_again_is_not_stuck() {
    goes_on(|| async {
        let ((tx, rx), (heard, hears)) = (unbounded(), std::sync::mpsc::channel());
        let thread = std::thread::spawn(move || {
            for n in 0..100 {
                tx.try_send(n).unwrap();
                hears.recv().unwrap();
            }
        });
        for n in 0..100 {
            assert_eq!(rx.recv().await, Ok(n));
            heard.send(()).unwrap();
        }
        thread.join().unwrap();
        7
    });
}

#[test]
fn what_waits_for_a_time_or_a_thread_or_foreign_code_is_no_deadlock() {
    // A timer, of a task and of the future of `block_on`.
    goes_on(|| async {
        let (tx, rx) = oneshot();
        tidings::spawn(async move {
            after(3 * PATIENCE).await;
            tx.send(7).unwrap();
        });
        rx.await.unwrap()
    });
    goes_on(|| async { after(3 * PATIENCE).map(|()| 7).await });
    // Blocking work, and a channel of another library that a thread uses late.
    goes_on(|| async {
        let work = tidings::spawn_blocking(|| {
            std::thread::sleep(3 * PATIENCE);
            7
        });
        work.await.unwrap()
    });
    goes_on(|| async {
        let (tx, rx) = futures::channel::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(3 * PATIENCE);
            tx.send(7).unwrap();
        });
        tidings::spawn(async move { rx.await.unwrap() })
            .await
            .unwrap()
    });
    goes_on(|| async {
        let (tx, rx) = futures::channel::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(3 * PATIENCE);
            tx.send(7).unwrap();
        });
        let never = [bounded::<u32>(1), bounded::<u32>(1)];
        // Of the future of `block_on` itself, beside waits that are known.
        let known = never
            .each_ref()
            .map(|(_, rx)| Box::pin(rx.recv().into_future()));
        let both = futures::future::select(futures::future::select_all(known), rx);
        match both.await {
            futures::future::Either::Right((got, _)) => got.unwrap(),
            futures::future::Either::Left(_) => unreachable!(),
        }
    });
    // Work that takes longer than the patience, in many polls and in one.
    for yields in [true, false] {
        goes_on(|| async move {
            let busy = tidings::spawn(async move {
                let start = std::time::Instant::now();
                while start.elapsed() < 3 * PATIENCE {
                    if yields {
                        yield_now().await;
                    }
                }
                7
            });
            busy.await.unwrap()
        });
    }
}

#[tidings::test]
#[should_panic(expected = "waits for Recv<u32>")]
async fn a_test_that_deadlocks_fails_and_says_so() {
    let (tx, rx) = unbounded::<u32>();
    let _ = rx.recv().await;
    drop(tx);
}
