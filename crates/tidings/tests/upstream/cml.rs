//! Concurrent ML: the programs of Reppy's book and of MLton's `lib/cml/tests`, and what Racket's
//! `tests/racket/{sync,async-channel}.rktl` say of the same events.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use crate::both::{on_all, on_pools};
use crate::hands::{pinned, poll};
use crate::turns;
use tidings::channel::mvar::MVar;
use tidings::event::{Boxed, Nack};
use tidings::sync::{Notify, Semaphore};
use tidings::{
    Event, Receiver, Sender, after, always, channel, choose, guard, never, oneshot, select,
    unbounded, with_nack, yield_now,
};

/// MLton's `ping-pong.sml`: a rendezvous again and again.
#[test]
fn ping_and_pong() {
    on_all(|| async {
        let ((ping, pong), (back, home)) = (channel(), channel());
        let other = tidings::spawn(async move {
            while let Ok(n) = pong.recv().await {
                back.send(n).await.unwrap();
            }
        });
        for n in 0..200 {
            ping.send(n).await.unwrap();
            assert_eq!(home.recv().await, Ok(n));
        }
        drop(ping);
        other.await.unwrap();
    });
}

/// MLton's `primes-multicast.sml`; the book's multicast channel: every port sees everything from
/// when it was made.
#[test]
fn a_multicast_of_channels_reaches_every_port() {
    on_all(|| async {
        // A server that copies to each port's own queue.
        let (cast, queue) = channel::<Result<u32, Sender<u32>>>();
        let server = tidings::spawn(async move {
            let mut ports: Vec<Sender<u32>> = Vec::new();
            while let Ok(message) = queue.recv().await {
                match message {
                    Ok(n) => ports.retain(|port| port.post(n).is_ok()),
                    Err(port) => ports.push(port),
                }
            }
            ports.len()
        });
        let mut ports = Vec::new();
        for n in 0..4 {
            let (port, rx) = unbounded();
            cast.send(Err(port)).await.unwrap();
            ports.push(rx);
            cast.send(Ok(n)).await.unwrap();
        }
        drop(ports.pop());
        cast.send(Ok(9)).await.unwrap();
        drop(cast);
        assert_eq!(server.await.unwrap(), 3);
        for (first, port) in ports.into_iter().enumerate() {
            let mut seen = Vec::new();
            while let Ok(n) = port.recv().await {
                seen.push(n);
            }
            let expected: Vec<u32> = (first as u32..4).chain([9]).collect();
            assert_eq!(seen, expected);
        }
    });
}

/// MLton's `timeout.sml`, Racket's alarms: what is faster than its timeout, and what is not.
#[test]
fn the_faster_of_delays_wins_in_any_place() {
    on_all(|| async {
        let (fast, slow) = (Duration::from_millis(1), Duration::from_secs(3_600));
        // A delay counts from when it is awaited, so it is a guard.
        let delay = |length| guard(move || after(length).map(move |()| length));
        assert!(delay(slow).or(delay(slow)).timeout(fast).await.is_err());
        assert_eq!(delay(fast).or(delay(slow)).timeout(slow).await, Ok(fast));
        assert_eq!(delay(slow).or(delay(fast)).timeout(slow).await, Ok(fast));
        assert_eq!(choose([delay(slow), delay(fast)]).await, fast);
    });
}

/// The book's buffered channel: a server with a queue, whose choice sends only when there is
/// something to send.
#[test]
fn a_server_with_a_queue_is_a_buffered_channel() {
    on_all(|| async {
        let ((tx, input), (output, rx)) = (channel(), channel());
        let server = tidings::spawn(async move {
            let (mut queue, mut open) = (std::collections::VecDeque::new(), true);
            while open || !queue.is_empty() {
                let give = match queue.front() {
                    Some(&n) => output.send(n).map(|sent| sent.is_ok()).boxed(),
                    None => never().boxed(),
                };
                let take = if open {
                    input.recv().boxed()
                } else {
                    never().boxed()
                };
                select! {
                    given = give => {
                        assert!(given);
                        queue.pop_front();
                    }
                    got = take => match got {
                        Ok(n) => queue.push_back(n),
                        Err(_) => open = false,
                    },
                }
            }
        });
        for n in 0..50 {
            tx.send(n).await.unwrap();
        }
        drop(tx);
        for n in 0..50 {
            assert_eq!(rx.recv().await, Ok(n));
        }
        server.await.unwrap();
    });
}

/// The book's swap channel: two who swap exchange their values, both or neither.
#[test]
fn who_swaps_gives_and_gets() {
    type Swap = (u32, oneshot::Sender<u32>);
    async fn swap(tx: &Sender<Swap>, rx: &Receiver<Swap>, mine: u32) -> u32 {
        let (reply, theirs) = oneshot();
        let give = tx.send((mine, reply)).map(|_| None);
        let take = rx.recv().map(Result::ok);
        match give.or(take).await {
            None => theirs.await.unwrap(),
            Some((got, reply)) => {
                reply.send(mine).unwrap();
                got
            }
        }
    }
    on_all(|| async {
        let (tx, rx) = channel();
        let tasks: Vec<_> = (0..10)
            .map(|n| {
                let (tx, rx) = (tx.clone(), rx.clone());
                tidings::spawn(async move { (n, swap(&tx, &rx, n).await) })
            })
            .collect();
        let mut pairs = Vec::new();
        for task in tasks {
            pairs.push(task.await.unwrap());
        }
        assert!(
            pairs
                .iter()
                .all(|&(a, b)| a != b && pairs.contains(&(b, a))),
            "{pairs:?}"
        );
    });
}

/// A lock server as in the book: a request that loses its choice never gets the lock.
#[test]
fn a_lock_server_forgets_who_gave_up() {
    type Request = (oneshot::Sender<()>, Nack);
    fn acquire(server: &Sender<Request>) -> impl Event<Output = bool> + use<> {
        let server = server.clone();
        with_nack(move |nack| {
            let (grant, granted) = oneshot();
            server.post((grant, nack)).ok();
            granted.into_recv().map(|got| got.is_ok())
        })
    }
    on_all(|| async {
        let ((server, requests), (release, released)) = (unbounded::<Request>(), unbounded());
        let grants = tidings::spawn(async move {
            let mut grants = 0;
            while let Ok((grant, nack)) = requests.recv().await {
                if !nack.is_lost() && grant.send(()).is_ok() {
                    // The grant may still lose to the nack; then nobody holds the lock.
                    select! {
                        got = released.recv() => { got.unwrap(); grants += 1 }
                        () = nack.lost() => {}
                    }
                }
            }
            grants
        });
        let (mut held, soon) = (0, Duration::from_micros(50));
        for n in 0..40 {
            let got = if n % 2 == 0 {
                matches!(acquire(&server).timeout(soon).await, Ok(true))
            } else {
                acquire(&server).await
            };
            if got {
                held += 1;
                release.send(()).await.unwrap();
            }
        }
        drop(server);
        assert_eq!(grants.await.unwrap(), held);
        assert!(held >= 20);
    });
}

/// Racket: a rendezvous with a task that was killed, on either side, does not happen.
#[test]
fn a_task_that_was_killed_neither_gives_nor_takes() {
    on_all(|| async {
        let (tx, rx) = channel();
        let other = rx.clone();
        let getter = tidings::spawn(async move { other.recv().await });
        turns(3).await;
        getter.abort();
        assert!(getter.await.is_err());
        assert!(tx.send(32).timeout(Duration::ZERO).await.is_err());
        let other = tx.clone();
        let putter = tidings::spawn(async move { other.send(17).await });
        turns(3).await;
        putter.abort();
        assert!(putter.await.is_err());
        assert!(rx.recv().timeout(Duration::ZERO).await.is_err());
    });
}

/// Racket: a choice of giving and taking on one channel does not meet itself; two such meet.
#[test]
fn two_choices_of_giving_and_taking_meet() {
    on_all(|| async {
        let (tx, rx) = channel();
        assert!(
            rx.recv()
                .map(drop)
                .or(tx.send(100).map(drop))
                .try_now()
                .is_err()
        );
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let (tx, rx) = (tx.clone(), rx.clone());
                tidings::spawn(async move {
                    rx.recv()
                        .map(Result::ok)
                        .or(tx.send(100).map(|_| None))
                        .await
                })
            })
            .collect();
        let mut got = Vec::new();
        for task in tasks {
            got.push(task.await.unwrap());
        }
        assert!(got.contains(&None) && got.contains(&Some(100)));
    });
}

/// Racket's waitable sets: choices in choices, empty ones too, happen with whichever member does.
#[test]
fn choices_in_choices_are_one_flat_choice() {
    on_all(|| async {
        let signals: Vec<_> = (0..4).map(|_| Semaphore::new(0)).collect();
        let acquire = |nth: usize| {
            let acquired = signals[nth].acquire(1);
            acquired.map(move |permit| {
                permit.unwrap().forget();
                nth
            })
        };
        let nested = || -> [Boxed<'_, usize>; 5] {
            [
                choose((0..4).map(acquire)).boxed(),
                acquire(0)
                    .or(choose([acquire(1), acquire(2)]))
                    .or(acquire(3))
                    .boxed(),
                choose(Vec::<Boxed<'_, usize>>::new())
                    .or(choose([
                        acquire(0).or(acquire(1)),
                        acquire(2).or(acquire(3)),
                    ]))
                    .boxed(),
                guard(|| choose([acquire(0), acquire(1)]).or(choose([acquire(2), acquire(3)])))
                    .boxed(),
                choose([choose([choose((0..4).map(acquire))])]).boxed(),
            ]
        };
        for event in nested() {
            assert!(event.try_now().is_err());
        }
        for (nth, signal) in signals.iter().enumerate() {
            for event in nested() {
                signal.add_permits(1);
                assert_eq!(event.await, nth);
                assert_eq!(signal.available_permits(), 0);
            }
            for event in nested() {
                let mut wait = pinned(event);
                assert!(poll(wait.as_mut()).is_pending());
                signal.add_permits(1);
                assert_eq!(poll(wait.as_mut()), Poll::Ready(nth));
            }
            turns(1).await;
        }
    });
}

/// Racket's wrapped waitables: maps apply inside out, once, also around a choice and a guard, and
/// two that wait on one signal run one map.
#[test]
fn maps_apply_inside_out_around_whatever_they_wrap() {
    on_all(|| async {
        assert_eq!(always(1).map(|n| n + 1).map(|n| n * 10).await, 20);
        assert_eq!(never().or(always(1)).map(|n| n + 5).await, 6);
        assert_eq!(guard(|| always(2).map(|n| n * 2)).map(|n| n + 1).await, 5);
        let ran = AtomicUsize::new(17);
        let notify = Notify::new();
        let count = || {
            notify
                .notified()
                .map(|()| ran.fetch_add(1, Ordering::SeqCst))
        };
        let mut wait = pinned(count().or(count()));
        assert!(poll(wait.as_mut()).is_pending());
        notify.notify_one();
        assert_eq!(wait.await, 17);
        assert_eq!(ran.load(Ordering::SeqCst), 18);
    });
}

/// Racket's nacks: lists of them, nested, behind a choice, with a guard that fails beside them, of a
/// task that is killed.
#[test]
fn nacks_fire_for_all_that_lost_and_for_none_that_won() {
    type Kept = Arc<Mutex<Vec<Nack>>>;
    fn nacked<'a, T: Send + 'a>(kept: &Kept, event: Boxed<'a, T>) -> Boxed<'a, T> {
        let kept = Arc::clone(kept);
        with_nack(move |nack| {
            kept.lock().unwrap().push(nack);
            event
        })
        .boxed()
    }
    let lost = |kept: &Kept| {
        let nacks = std::mem::take(&mut *kept.lock().unwrap());
        let lost = nacks.iter().filter(|nack| nack.is_lost()).count();
        (nacks.len(), lost)
    };
    on_all(move || async move {
        let kept = Kept::default();
        // All lose.
        let all = choose((0..3).map(|_| nacked(&kept, never::<u8>().boxed())));
        assert!(all.try_now().is_err());
        assert_eq!(lost(&kept), (3, 3));
        let all = choose((0..3).map(|_| nacked(&kept, never::<u8>().boxed())));
        assert!(all.timeout(Duration::from_micros(10)).await.is_err());
        assert_eq!(lost(&kept), (3, 3));
        // One of the choice behind the nack wins.
        nacked(&kept, always(1).or(never()).boxed()).await;
        assert_eq!(lost(&kept), (1, 0));
        // Nested a hundred times, all of one branch.
        let deep = (0..100).fold(always(1).or(never()).boxed(), |event, _| {
            nacked(&kept, event)
        });
        assert_eq!(deep.await, 1);
        assert_eq!(lost(&kept), (100, 0));
        // A neighbour's guard fails while the choice begins.
        let (first, second) = (
            nacked(&kept, never::<u8>().boxed()),
            guard(|| -> tidings::event::Never<u8> { resume_unwind(Box::new("quiet")) }).boxed(),
        );
        let choice = std::panic::AssertUnwindSafe(|| first.or(second).biased().try_now());
        assert!(std::panic::catch_unwind(choice).is_err());
        let (made, fired) = lost(&kept);
        assert_eq!(made, fired, "what was made has lost");
        // The task that waits is killed.
        let (mine, ready) = (Arc::clone(&kept), Arc::new(Notify::new()));
        let signal = Arc::clone(&ready);
        let task = tidings::spawn(async move {
            let event = nacked(&mine, never::<()>().boxed());
            let mut wait = pinned(event);
            let _ = poll(wait.as_mut());
            signal.notify_one();
            wait.await;
        });
        ready.notified().await;
        let nack = kept.lock().unwrap()[0].clone();
        assert!(!nack.is_lost());
        task.abort();
        nack.lost().await;
    });
}

/// Racket's `replace-evt`, as far as `guard` has it: an event that decides what to wait for, deep,
/// and a choice of fifty thousand.
#[test]
fn deep_and_wide_choices_come_to_an_end() {
    on_all(|| async {
        let deep = (0..200).fold(always(0u32).boxed(), |event: Boxed<'_, u32>, n| {
            match n % 3 {
                0 => guard(move || event).boxed(),
                1 => never().or(event).boxed(),
                _ => event.map(|n| n + 1).boxed(),
            }
        });
        assert_eq!(deep.await, 66);
        let wide = choose((0..5_000).map(always)).await;
        assert!((0..5_000).contains(&wide));
        let (tx, rx) = channel();
        let mut wait = pinned(choose((0..2_000).map(|_| rx.recv())));
        assert!(poll(wait.as_mut()).is_pending());
        tx.try_send(1).unwrap();
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(1)));
    });
}

/// Racket's fairness: each of two or three that are always ready is taken, a choice within a choice
/// weighs as much as its members.
#[test]
fn members_of_a_choice_within_a_choice_weigh_alike() {
    on_all(|| async {
        let mut hits = [0; 3];
        for _ in 0..600 {
            hits[always(0).or(choose([always(1), always(2)])).await] += 1;
        }
        assert!(hits.iter().all(|&n| n >= 100), "{hits:?}");
    });
}

/// Racket: a task that posts and takes one signal in a loop does not keep another from taking it.
#[test]
fn who_posts_and_takes_in_a_loop_starves_no_other() {
    on_pools(|| async {
        let (one, two) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let (one, two) = (Arc::clone(&one), Arc::clone(&two));
                tidings::spawn(async move {
                    let take = |permit: Result<tidings::sync::Permit<&Semaphore>, _>| drop(permit);
                    one.acquire(1).map(take).or(two.acquire(1).map(take)).await;
                })
            })
            .collect();
        while waiters.iter().any(|task| !task.is_finished()) {
            for semaphore in [&one, &two] {
                semaphore.add_permits(1);
                semaphore.acquire(1).await.unwrap().forget();
            }
            yield_now().await;
        }
    });
}

/// Racket's `async-channel.rktl`: a bounded buffer between tasks, kept in order, given up by both
/// sides, and an `MVar` of one.
#[test]
fn a_buffer_of_few_and_a_buffer_of_one() {
    on_all(|| async {
        let (tx, rx) = tidings::bounded(3);
        for n in 0..3 {
            tx.send(n).await.unwrap();
        }
        let mut put = pinned(tx.send(3));
        assert!(poll(put.as_mut()).is_pending());
        assert_eq!(rx.try_recv(), Ok(0));
        put.await.unwrap();
        assert_eq!(
            [rx.try_recv(), rx.try_recv(), rx.try_recv()],
            [Ok(1), Ok(2), Ok(3)]
        );
        let cell = MVar::empty();
        let other = cell.clone();
        let feeder = tidings::spawn(async move {
            for n in 0..50 {
                other.put(n).await;
            }
        });
        for n in 0..50 {
            assert_eq!(cell.take().await, n);
        }
        feeder.await.unwrap();
        assert!(cell.take().timeout(Duration::ZERO).await.is_err());
    });
}
