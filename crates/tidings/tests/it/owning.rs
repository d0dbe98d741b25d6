//! Events that take along what they borrow from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use tidings::channel::watch;
use tidings::event::{Always, Boxed, Event};
use tidings::sync::{Mutex, Notify};
use tidings::{
    Receiver, RecvError, Sender, bounded, broadcast, channel, choose, guard, oneshot, unbounded,
};

use crate::both::on_all;
use crate::hands::{Bomb, pinned, poll, poll_with};
use crate::letter::{Ledger, Letter};

type Next<T> = Boxed<'static, Result<T, RecvError>>;

fn next<T: Send + 'static>(rx: Receiver<T>) -> Next<T> {
    Boxed::owning(rx, |rx| rx.recv().boxed())
}

fn give<T: Send + 'static>(tx: Sender<T>, value: T) -> Boxed<'static, bool> {
    Boxed::owning(tx, |tx| tx.send(value).map(|sent| sent.is_ok()).boxed())
}

#[test]
fn an_event_goes_through_a_channel_and_is_performed_elsewhere() {
    on_all(|| async {
        let (numbers, rx) = channel();
        let (words, other) = channel::<&str>();
        let (todo, events) = unbounded::<Boxed<'static, String>>();
        let number = next(rx).map(|n: Result<u32, _>| n.unwrap().to_string());
        let word = next(other).map(|word| word.unwrap().to_owned());
        todo.try_send(choose([number.boxed(), word.boxed()]).boxed())
            .unwrap();
        let who = tidings::spawn(async move { events.recv().await.unwrap().await });
        // Both sides choose, and this one owns its senders.
        let both = give(numbers.clone(), 7).or(give(numbers, 8));
        let sent = tidings::spawn(async move { both.await });
        assert!(["7", "8"].contains(&who.await.unwrap().as_str()));
        assert!(sent.await.unwrap());
        assert!(
            words.try_send("late").is_err(),
            "the receiver went with its event"
        );
    });
}

#[test]
fn what_it_takes_along_ends_with_it() {
    let ledger = Ledger::default();
    // Not awaited, polled and dropped, and done.
    for polls in 0..3 {
        let (tx, rx) = bounded::<Letter>(4);
        let mut event = pinned(Boxed::owning((ledger.letter(1), rx), |(letter, rx)| {
            let n = letter.n;
            rx.recv()
                .map(move |got| got.map(|letter| letter.n + n))
                .boxed()
        }));
        assert_eq!(ledger.alive(), 1);
        if polls > 0 {
            assert!(poll(event.as_mut()).is_pending());
        }
        if polls > 1 {
            tx.try_send(ledger.letter(2)).unwrap();
            assert_eq!(poll(event.as_mut()), Poll::Ready(Ok(3)));
        }
        drop(event);
        assert_eq!(ledger.alive(), 0);
        assert!(tx.is_closed());
    }
}

#[test]
fn a_value_that_was_handed_to_one_that_is_dropped_is_the_next_receivers() {
    let ledger = Ledger::default();
    let (tx, rx) = channel();
    let mut event = pinned(next(rx.clone()));
    assert!(poll(event.as_mut()).is_pending());
    tx.try_send(ledger.letter(1)).unwrap();
    drop(event);
    assert_eq!(rx.try_recv().map(|letter| letter.n), Ok(1));
    // The unsent value of a choice's loser goes with it.
    let mut lost = pinned(give(tx.clone(), ledger.letter(2)).or(give(tx, ledger.letter(3))));
    assert!(poll(lost.as_mut()).is_pending());
    assert_eq!(ledger.alive(), 2);
    drop(lost);
    assert_eq!((ledger.alive(), rx.try_recv().is_err()), (0, true));
}

#[test]
fn what_is_borrowed_for_writing_can_be_taken_along() {
    on_all(|| async {
        let (tx, rx) = broadcast(4);
        let (version, seen) = watch(0);
        let (answer, question) = oneshot();
        let heard = Boxed::owning(rx, |rx| rx.recv().map(|n| n.unwrap()).boxed());
        let changed = Boxed::owning(seen, |seen: &mut watch::Receiver<u32>| {
            seen.changed().map(|end| u32::from(end.is_err())).boxed()
        });
        let answered = Boxed::owning(question, |question| {
            question.recv().map(|n: Result<u32, _>| n.unwrap()).boxed()
        });
        let first = tidings::spawn(async move { choose([heard, changed, answered]).await });
        answer.send(3).ok();
        assert_eq!(first.await.unwrap(), 3);
        drop((tx, version));
    });
}

#[test]
fn one_in_another_keeps_both() {
    let ledger = Ledger::default();
    let (tx, rx) = unbounded();
    let inner = ledger.letter(1);
    let event = Boxed::owning(ledger.letter(2), move |_| {
        Boxed::owning((inner, rx), |(_, rx)| rx.recv().boxed())
    });
    assert_eq!(ledger.alive(), 2);
    tx.try_send(5).unwrap();
    let moved = std::thread::spawn(move || event.wait());
    assert_eq!((moved.join().unwrap(), ledger.alive()), (Ok(5), 0));
}

#[test]
fn panics_leave_nothing_behind() {
    let ledger = Ledger::default();
    let made = catch_unwind(AssertUnwindSafe(|| {
        Boxed::<()>::owning(ledger.letter(1), |_| panic!("no event"))
    }));
    assert!(made.is_err());
    assert_eq!(ledger.alive(), 0);
    // Who is withdrawn wakes who waits behind it, by a waker that panics.
    let semaphore = Arc::new(tidings::sync::Semaphore::new(1));
    let owner = (ledger.letter(2), Arc::clone(&semaphore));
    let mut event = pinned(Boxed::owning(owner, |(_, semaphore)| {
        semaphore.acquire(2).map(drop).boxed()
    }));
    assert!(poll(event.as_mut()).is_pending());
    let mut behind = pinned(semaphore.acquire(1));
    let bomb = Waker::from(Arc::new(Bomb));
    assert!(poll_with(behind.as_mut(), &bomb).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(event))).is_err());
    assert_eq!(ledger.alive(), 0);
    // One that gives a value back as it is dropped, whose neighbour cannot be made.
    let (tx, _rx) = channel();
    let event = Boxed::owning((tx, Some(ledger.letter(3))), |(tx, place)| {
        tx.send_from(place).map(drop).boxed()
    });
    let neighbour = guard(|| -> Always<()> { panic!("no event") });
    let choice = AssertUnwindSafe(|| poll(pinned(event.or(neighbour)).as_mut()));
    assert!(catch_unwind(choice).is_err());
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn it_waits_as_any_other() {
    on_all(|| async {
        let notify = Arc::new(Notify::new());
        let mutex = Arc::new(Mutex::new(()));
        let held = mutex.lock().await;
        let notified = Boxed::owning(Arc::clone(&notify), |notify| notify.notified().boxed());
        let locked = Boxed::owning(Arc::clone(&mutex), |mutex| mutex.lock().map(drop).boxed());
        assert!(locked.timeout(Duration::from_millis(1)).await.is_err());
        drop(held);
        notify.notify_one();
        notified.await;
        assert!(mutex.try_lock().is_some());
    });
}
