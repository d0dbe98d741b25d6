//! The flight recorder.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Stdio;
use std::time::Duration;

use crate::both::watchdog;
use crate::process::child;
use tidings::sched::{Communication, Happened, Party, Runtime, Seeded, keep_books};
use tidings::sync::{Mutex, Notify};
use tidings::{Event, actor, bounded, channel, oneshot, unbounded, yield_now};

use Happened::{Received, Released, Sent, Spawned};

fn recording(kept: usize) -> Runtime {
    let builder = Runtime::builder().seam(Seeded::new(1));
    builder.flight_recorder(kept).build().unwrap()
}

/// The communications of one channel, as a word for each.
fn words(record: &[Communication], value: &str) -> Vec<&'static str> {
    let mine = record.iter().filter(|one| one.value == value);
    mine.map(|one| match (one.happened, one.with.is_some()) {
        (Sent, false) => "put",
        (Sent, true) => "handed",
        (Received, false) => "took",
        (Received, true) => "fetched",
        (Released, _) => "released",
        _ => "other",
    })
    .collect()
}

#[test]
fn every_way_of_a_value_is_recorded_once() {
    let rt = recording(1000);
    rt.block_on(async {
        // In a queue, by every form.
        let (tx, rx) = unbounded::<u8>();
        tx.send(1).await.unwrap();
        tx.try_send(2).unwrap();
        tx.post(3).unwrap();
        assert_eq!(rx.recv().await, Ok(1));
        assert_eq!(rx.try_recv(), Ok(2));
        let mut rest = Vec::new();
        assert_eq!(rx.recv_many(&mut rest, 9).await, 1);
        // To a receiver that waits.
        let (tx, rx) = channel::<u16>();
        let waits = tidings::spawn(async move { rx.recv().await });
        yield_now().await;
        while tx.try_send(1).is_err() {
            yield_now().await;
        }
        waits.await.unwrap().unwrap();
        // From a sender that waits.
        let (tx, rx) = channel::<u32>();
        let waits = tidings::spawn(async move { tx.send(1).await });
        while rx.try_recv().is_err() {
            yield_now().await;
        }
        waits.await.unwrap().unwrap();
        // From a sender that waits for a place.
        let (tx, rx) = bounded::<u64>(1);
        tx.send(1).await.unwrap();
        let waits = tidings::spawn(async move { tx.send(2).await });
        for _ in 0..50 {
            yield_now().await;
        }
        assert_eq!(rx.recv().await, Ok(1));
        waits.await.unwrap().unwrap();
        assert_eq!(rx.recv().await, Ok(2));
        // Of a cell.
        let (tx, rx) = oneshot::<i8>();
        tx.send(1).unwrap();
        assert_eq!(rx.await, Ok(1));
        // Not at all: it was given up.
        let (tx, _rx) = channel::<i16>();
        assert!(
            tx.send(1)
                .or(tidings::always(Ok(())))
                .biased()
                .await
                .is_ok()
        );
    });
    let record = rt.handle().flight_record();
    let queued = ["put", "put", "put", "took", "took", "took"];
    assert_eq!(words(&record, "u8"), queued);
    assert_eq!(words(&record, "u16"), ["handed"]);
    assert_eq!(words(&record, "u32"), ["fetched"]);
    // The second enters when the first has made room.
    assert_eq!(words(&record, "u64"), ["put", "took", "put", "took"]);
    assert_eq!(words(&record, "i8"), ["put", "took"]);
    assert_eq!(words(&record, "i16"), [""; 0]);
    assert!(rt.handle().flight_record().is_empty(), "it was taken");
}

#[test]
fn starts_and_releases_are_recorded_with_their_lines() {
    let rt = recording(1000);
    rt.block_on(async {
        let notify = std::sync::Arc::new(Notify::new());
        let waits = std::sync::Arc::clone(&notify);
        let task = tidings::spawn(async move { waits.notified().await });
        for _ in 0..50 {
            yield_now().await;
        }
        notify.notify_waiters();
        task.await.unwrap();
        let echo = actor::spawn(|mut mailbox: actor::Mailbox<u8>| async move {
            while mailbox.recv().await.is_ok() {}
        });
        echo.send(1).await.unwrap();
    });
    let record = rt.handle().flight_record();
    let started: Vec<Party> = record
        .iter()
        .filter(|one| one.happened == Spawned)
        .map(|one| one.with.unwrap())
        .collect();
    assert_eq!(started.len(), 2);
    let file = started[0].started.unwrap().file();
    assert!(file.ends_with("record.rs"), "{file}");
    let released = record.iter().find(|one| one.happened == Released).unwrap();
    assert_eq!(released.with, Some(started[0]));
    let sent = record.iter().find(|one| one.happened == Sent).unwrap();
    if cfg!(debug_assertions) {
        assert!(sent.at.unwrap().file().ends_with("record.rs"));
    }
    assert!(sent.to_string().contains(" sent a u8 into "), "{sent}");
}

#[test]
fn a_line_is_that_of_its_own_communication() {
    let rt = recording(100);
    rt.block_on(async {
        let mutex = std::sync::Arc::new(Mutex::new(()));
        let held = mutex.lock().await;
        let other = std::sync::Arc::clone(&mutex);
        let waits = tidings::spawn(async move { drop(other.lock().await) });
        for _ in 0..50 {
            yield_now().await;
        }
        let (tx, _rx) = unbounded::<u8>();
        tx.send(1).await.unwrap();
        tx.try_send(2).unwrap();
        // Nobody calls a drop.
        drop(held);
        waits.await.unwrap();
    });
    let record = rt.handle().flight_record();
    let lines = |happened| {
        let those = record.iter().filter(move |one| one.happened == happened);
        those.map(|one| one.at.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(lines(Sent), [cfg!(debug_assertions); 2]);
    assert_eq!(lines(Released), [false]);
}

#[test]
fn the_last_ones_are_kept_and_only_where_it_is_on() {
    let program = async || {
        let (tx, rx) = unbounded::<u8>();
        for n in 0..10 {
            tx.send(n).await.unwrap();
        }
        drop(tx);
        while rx.recv().await.is_ok() {}
    };
    let (on, off) = (recording(4), Runtime::builder().workers(1).build().unwrap());
    off.block_on(program());
    on.block_on(program());
    assert!(off.handle().flight_record().is_empty());
    assert_eq!(words(&on.handle().flight_record(), "u8"), ["took"; 4]);
    assert!(on.handle().flight_record().is_empty(), "it was taken");
}

#[test]
fn a_panic_of_a_task_prints_its_last_communications() {
    let Some(mut child) = child() else {
        let runtime = Runtime::builder().workers(2).flight_recorder(100);
        let ended = runtime.build().unwrap().block_on(async {
            let (tx, rx) = bounded::<u16>(4);
            let (other, others) = channel::<i8>();
            // It stays, so that nobody has its number after it.
            let _stays = tidings::spawn(async move {
                others.recv().await.unwrap();
                std::future::pending::<()>().await;
            });
            other.send(1).await.unwrap();
            tx.send(7).await.unwrap();
            tidings::spawn(async move { panic!("{} is unlucky", rx.recv().await.unwrap()) }).await
        });
        assert!(ended.is_err_and(|error| error.is_panic()));
        return;
    };
    let child = child.output().unwrap();
    let said = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{said}");
    let (_, told) = said.split_once("the task started at ").expect(&said);
    for word in ["record.rs:", "panicked\n  the last ", " u16 "] {
        assert!(told.contains(word), "{word:?} is not in:\n{told}");
    }
    assert!(!told.contains(" i8 "), "others' are not told:\n{told}");
}

#[test]
fn under_a_seam_a_panic_of_a_task_prints_none_of_its_communications() {
    let Some(mut child) = child() else {
        let ended = recording(100).block_on(async {
            let (tx, rx) = bounded::<u16>(4);
            tx.send(7).await.unwrap();
            tidings::spawn(async move { panic!("{} is unlucky", rx.recv().await.unwrap()) }).await
        });
        assert!(ended.is_err_and(|error| error.is_panic()));
        return;
    };
    let child = child.output().unwrap();
    let said = String::from_utf8(child.stderr).unwrap();
    assert!(
        child.status.success() && said.contains("7 is unlucky"),
        "{said}"
    );
    assert!(!said.contains("the last "), "{said}");
}

#[test]
fn a_local_task_is_recorded_as_who_it_is_and_its_panic_prints_its_last_communications() {
    let Some(mut child) = child() else {
        let runtime = Runtime::builder().workers(1).flight_recorder(100);
        let runtime = runtime.build().unwrap();
        let line = line!() + 3;
        runtime.block_on(async {
            let (tx, rx) = bounded::<u16>(4);
            let task = tidings::spawn_local(async move {
                tx.send(7).await.unwrap();
                panic!("unlucky");
            });
            let ended: Result<(), _> = task.await;
            assert!(ended.is_err_and(|error| error.is_panic()));
            rx.recv().await.unwrap();
        });
        let record = runtime.handle().flight_record();
        let who = |one: &Communication| one.who.started.map(std::panic::Location::line);
        let with = record[0].with.unwrap().started.unwrap().line();
        let [spawned, sent, received] = &record[..] else {
            panic!("{record:?}")
        };
        assert_eq!((who(spawned), with), (None, line));
        assert_eq!((who(sent), who(received)), (Some(line), None));
        return;
    };
    let child = child.output().unwrap();
    let said = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{said}");
    let (_, told) = said.split_once("the task started at ").expect(&said);
    for word in ["record.rs:", "panicked\n  the last 2 ", " u16 "] {
        assert!(told.contains(word), "{word:?} is not in:\n{told}");
    }
}

#[test]
fn a_panic_that_nobody_can_read_of_harms_no_worker() {
    let Some(mut child) = child() else {
        let _watchdog = watchdog();
        let runtime = Runtime::builder().workers(1).flight_recorder(100);
        let sum = runtime.build().unwrap().block_on(async {
            let (tx, rx) = bounded::<u16>(4);
            tx.send(7).await.unwrap();
            let unlucky = tidings::spawn(async move { panic!("{}", rx.recv().await.unwrap()) });
            assert!(unlucky.await.is_err_and(|error| error.is_panic()));
            tidings::spawn(async { 3 + 4 }).await.unwrap()
        });
        assert_eq!(sum, 7);
        return;
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = child.stderr(writer).stdout(Stdio::null()).status().unwrap();
    assert!(ended.success(), "{ended}");
}

#[test]
fn a_deadlock_tells_the_last_communications() {
    let runtime = Runtime::builder()
        .seam(Seeded::new(1))
        .watch_deadlocks(Duration::ZERO)
        .flight_recorder(100)
        .build()
        .unwrap();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let (tx, _rx) = bounded::<u16>(2);
            for n in 0..3 {
                tx.send(n).await.unwrap();
            }
        });
    }));
    let report = *ended.unwrap_err().downcast::<String>().unwrap();
    let (_, told) = report
        .split_once("the last 2 communications:")
        .expect(&report);
    assert_eq!(told.matches(" u16 ").count(), 2, "{told}");
    assert!(!cfg!(debug_assertions) || told.contains("record.rs:"));
}

/// What becomes of values that are sent in some way: sent, received, returned, dead.
fn books<F: Future<Output = ()>>(way: impl FnOnce() -> F) -> [u64; 4] {
    let runtime = Runtime::builder().seam(Seeded::new(1)).build().unwrap();
    let ((), ledger, wrong) = keep_books(|| runtime.block_on(async { way().await }));
    assert_eq!(wrong, None);
    [ledger.sent, ledger.received, ledger.returned, ledger.dead]
}

#[test]
fn what_goes_into_a_channel_comes_out_or_dies() {
    let through = books(|| async {
        let (tx, rx) = bounded(2);
        let sends = tidings::spawn(async move {
            for n in 0..5 {
                tx.send(n).await.unwrap();
            }
            tx.reserve().await.unwrap().send(5).unwrap();
        });
        let mut some = Vec::new();
        while rx.recv_many(&mut some, 4).await > 0 {}
        assert_eq!(some, [0, 1, 2, 3, 4, 5]);
        sends.await.unwrap();
    });
    assert_eq!(through, [6, 6, 0, 0]);
    let met = books(|| async {
        let (tx, rx) = channel();
        let receives =
            tidings::spawn(async move { rx.recv().await.unwrap() + rx.recv().await.unwrap() });
        tx.send(1).await.unwrap();
        tx.send(2).await.unwrap();
        assert_eq!(receives.await.unwrap(), 3);
    });
    assert_eq!(met, [2, 2, 0, 0]);
    let unread = books(|| async {
        let (tx, rx) = unbounded();
        for n in 0..3 {
            tx.send(n).await.unwrap();
        }
        assert_eq!(rx.recv().await, Ok(0));
        drop(rx);
        assert_eq!(tx.send(3).await.unwrap_err().0, 3);
    });
    assert_eq!(unread, [3, 1, 0, 2]);
}

#[test]
fn what_comes_back_from_a_receive_that_is_dropped_is_on_the_books() {
    let back = books(|| async {
        let (tx, rx) = unbounded();
        let mut dropped = Box::pin(rx.recv().into_future());
        assert!(futures::poll!(dropped.as_mut()).is_pending());
        tx.send(1).await.unwrap();
        drop(dropped);
        assert_eq!(rx.recv().await, Ok(1));
        // To the next who waits.
        let mut one = Box::pin(rx.recv().into_future());
        let mut two = Box::pin(rx.recv().into_future());
        assert!(futures::poll!(one.as_mut()).is_pending());
        assert!(futures::poll!(two.as_mut()).is_pending());
        tx.send(2).await.unwrap();
        drop(one);
        assert_eq!(two.await, Ok(2));
    });
    assert_eq!(back, [2, 3, 1, 0]);
}

#[test]
fn the_one_value_of_a_oneshot_is_on_the_books() {
    let came = books(|| async {
        let (tx, rx) = oneshot();
        tx.send(1).unwrap();
        assert_eq!(rx.await, Ok(1));
        let (tx, mut rx) = oneshot();
        tx.send(2).unwrap();
        assert_eq!(rx.try_recv(), Ok(2));
        let (tx, rx) = oneshot();
        let waits = tidings::spawn(rx.into_recv().into_future());
        yield_now().await;
        tx.send(3).unwrap();
        assert_eq!(waits.await.unwrap(), Ok(3));
        let (tx, rx) = oneshot::<u8>();
        drop(tx);
        assert!(rx.await.is_err());
    });
    assert_eq!(came, [3, 3, 0, 0]);
    let unread = books(|| async {
        let (tx, rx) = oneshot();
        tx.send(1).unwrap();
        drop(rx);
        let (tx, rx) = oneshot();
        drop(rx);
        assert_eq!(tx.send(2), Err(2));
    });
    assert_eq!(unread, [1, 0, 0, 1]);
    let back = books(|| async {
        let (tx, mut rx) = oneshot();
        let mut dropped = Box::pin(rx.recv().into_future());
        assert!(futures::poll!(dropped.as_mut()).is_pending());
        tx.send(1).unwrap();
        drop(dropped);
        assert_eq!(rx.await, Ok(1));
    });
    assert_eq!(back, [1, 2, 1, 0]);
}

#[test]
fn on_several_workers_a_value_goes_in_before_it_comes_out() {
    const VALUES: usize = 2_000;
    let builder = Runtime::builder().workers(2).flight_recorder(100_000);
    let rt = builder.build().unwrap();
    rt.block_on(async {
        let chain: Vec<_> = (0..3).map(|_| unbounded::<u8>()).collect();
        let links: Vec<_> = chain
            .windows(2)
            .map(|pair| {
                let (from, to) = (pair[0].1.clone(), pair[1].0.clone());
                tidings::spawn(async move {
                    for _ in 0..VALUES {
                        to.send(from.recv().await.unwrap()).await.unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..VALUES {
            chain[0].0.send(1).await.unwrap();
        }
        for _ in 0..VALUES {
            chain[2].1.recv().await.unwrap();
        }
        for link in links {
            link.await.unwrap();
        }
    });
    let record = rt.handle().flight_record();
    let mut inside = std::collections::HashMap::new();
    for one in record.iter().filter(|one| one.value == "u8") {
        // One that is handed over needs one note, of him who found the other waiting.
        let inside: &mut usize = inside.entry(one.channel).or_default();
        match (one.happened, one.with) {
            (Sent, None) => *inside += 1,
            (Received, None) => *inside = inside.checked_sub(1).expect("it went in before"),
            _ => {}
        }
    }
    assert_eq!(inside.into_values().collect::<Vec<_>>(), [0; 3]);
    assert!(record.is_sorted_by_key(|one| one.time));
}

#[test]
fn a_mailbox_that_drops_its_oldest_has_it_on_the_books() {
    let dropped = books(|| async {
        let (open, gate) = oneshot::<()>();
        let actor = actor::Builder::new()
            .capacity(2)
            .overflow(actor::Overflow::DropOldest)
            .spawn(|mut mailbox: actor::Mailbox<u32>| async move {
                gate.await.unwrap();
                while mailbox.recv().await.is_ok() {}
            });
        for n in 0..5 {
            actor.send(n).await.unwrap();
        }
        open.send(()).unwrap();
        actor.stop();
        actor.down().await;
    });
    // One more is the gate's.
    assert_eq!(dropped, [6, 3, 0, 3]);
}
