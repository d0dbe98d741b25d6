//! The flight recorder.

use tidings::sched::{Communication, Happened, Party, Runtime, Seeded};
use tidings::sync::Notify;
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
    let record = rt.flight_record();
    let queued = ["put", "put", "put", "took", "took", "took"];
    assert_eq!(words(&record, "u8"), queued);
    assert_eq!(words(&record, "u16"), ["handed"]);
    assert_eq!(words(&record, "u32"), ["fetched"]);
    // The second enters when the first has made room.
    assert_eq!(words(&record, "u64"), ["put", "took", "put", "took"]);
    assert_eq!(words(&record, "i8"), ["put", "took"]);
    assert_eq!(words(&record, "i16"), [""; 0]);
    assert!(rt.flight_record().is_empty(), "it was taken");
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
    let record = rt.flight_record();
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
    assert!(off.flight_record().is_empty());
    assert_eq!(words(&on.flight_record(), "u8"), ["took"; 4]);
}
