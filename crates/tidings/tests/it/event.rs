//! The algebra of events, and choice: one branch commits, the others had no effect.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::both::{on_all, watchdog};
use crate::channel::{rx_waiting, tx_waiting};
use crate::hands::{Wakes, pinned, poll, poll_with};
use tidings::event::{Boxed, Nack};
use tidings::{
    Either, Event, after, always, bounded, channel, choose, guard, never, oneshot, select,
    unbounded, with_nack, yield_now,
};

#[test]
fn never_is_the_unit_of_choice_and_always_happens() {
    on_all(|| async {
        assert_eq!(always(1).await, 1);
        assert_eq!(never().or(always(1)).await, 1);
        assert_eq!(always(1).or(never()).await, 1);
        assert_eq!(choose([always(1)]).await, 1);
        assert!(never::<()>().try_now().is_err());
        assert!(
            choose(Vec::<tidings::event::Never<()>>::new())
                .try_now()
                .is_err()
        );
        assert!(poll(pinned(never::<()>()).as_mut()).is_pending());
    });
}

#[test]
fn a_map_runs_once_for_the_winner_only() {
    on_all(|| async {
        let ran = AtomicUsize::new(0);
        let count = |n| {
            ran.fetch_add(1, Ordering::Relaxed);
            n
        };
        let (_tx, rx) = unbounded::<u8>();
        let won = always(1)
            .map(count)
            .or(rx.recv().map(|_| count(2)))
            .or(never().map(count));
        assert_eq!(won.map(|n| n + 10).await, 11);
        assert_eq!(ran.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_guard_runs_once_when_it_is_awaited() {
    on_all(|| async {
        let ran = AtomicUsize::new(0);
        let make = || {
            ran.fetch_add(1, Ordering::Relaxed);
            never()
        };
        let event = guard(make);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
        let mut wait = pinned(event);
        for _ in 0..3 {
            assert!(poll(wait.as_mut()).is_pending());
        }
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        drop(wait);
        assert_eq!(guard(make).or(always(4)).await, 4);
        assert_eq!(ran.load(Ordering::Relaxed), 2, "also if it loses");
        assert_eq!(guard(|| guard(|| always(5))).await, 5);
    });
}

/// A nack kept beside the event it belongs to.
fn nacked<E: Event>(
    event: E,
) -> (
    Arc<std::sync::OnceLock<Nack>>,
    impl Event<Output = E::Output>,
) {
    let kept = Arc::new(std::sync::OnceLock::new());
    let place = Arc::clone(&kept);
    let event = with_nack(move |nack| {
        assert!(place.set(nack).is_ok(), "made once");
        event
    });
    (kept, event)
}

#[test]
fn a_nack_fires_exactly_when_its_branch_loses() {
    on_all(|| async {
        // Wins at once, and after a wait.
        let (nack, event) = nacked(always(1));
        assert_eq!(event.or(never()).await, 1);
        assert!(!nack.get().unwrap().is_lost());
        let (tx, rx) = unbounded();
        let (nack, event) = nacked(rx.recv());
        let mut wait = pinned(event.or(never()));
        assert!(poll(wait.as_mut()).is_pending());
        tx.send(2).await.unwrap();
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(2)));
        drop(wait);
        assert!(!nack.get().unwrap().is_lost());
        // Loses at once, and after a wait.
        let (nack, event) = nacked(never());
        assert_eq!(event.or(always(3)).await, 3);
        nack.get().unwrap().lost().await;
        let (nack, event) = nacked(never());
        let mut wait = pinned(event.or(rx.recv()));
        assert!(poll(wait.as_mut()).is_pending());
        assert!(!nack.get().unwrap().is_lost());
        tx.send(4).await.unwrap();
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(4)));
        assert!(nack.get().unwrap().is_lost());
        // Is dropped, after the partner came too; and never begins.
        let (nack, event) = nacked(rx.recv());
        let mut wait = pinned(event);
        assert!(poll(wait.as_mut()).is_pending());
        let server = nack.get().unwrap().clone();
        let heard = tidings::spawn(async move { server.lost().await });
        drop(wait);
        heard.await.unwrap();
        let (nack, event) = nacked(never::<()>());
        drop(event);
        assert!(nack.get().is_none());
        let (nack, event) = nacked(never::<()>());
        assert!(event.try_now().is_err());
        assert!(nack.get().unwrap().is_lost());
    });
}

/// The partner came; then the wait was dropped, and nobody has what it gave.
#[test]
fn a_nack_fires_when_its_wait_is_dropped_after_the_partner_came() {
    on_all(|| async {
        let (tx, rx) = channel();
        let (nack, event) = nacked(rx.recv());
        let mut wait = pinned(event.or(never()));
        assert!(poll(wait.as_mut()).is_pending());
        tx.try_send(1).unwrap();
        assert!(!nack.get().unwrap().is_lost());
        drop(wait);
        assert!(nack.get().unwrap().is_lost());
        assert_eq!(rx.try_recv(), Ok(1));
    });
}

#[test]
fn a_nack_fires_when_a_neighbour_panics() {
    fn bomb() {
        panic!("a guard that panics");
    }
    let mut kept = None;
    let asked = with_nack(|nack| {
        kept = Some(nack);
        never::<u8>()
    });
    let neighbour = guard(|| {
        bomb();
        never()
    });
    let wait = AssertUnwindSafe(|| asked.or(neighbour).wait());
    assert!(catch_unwind(wait).is_err());
    assert!(kept.unwrap().is_lost());
}

#[test]
fn a_timeout_prefers_what_can_happen_in_time() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        tx.send(1).await.unwrap();
        assert_eq!(rx.recv().timeout(Duration::ZERO).await, Ok(Ok(1)));
        assert!(rx.recv().timeout(Duration::ZERO).await.is_err());
        assert!(rx.recv().timeout(Duration::from_millis(1)).await.is_err());
        let nested = rx
            .recv()
            .timeout(Duration::from_secs(3600))
            .timeout(Duration::from_millis(1));
        assert!(nested.await.is_err());
        assert_eq!(rx_waiting(&rx), 0);
    });
}

#[test]
fn either_says_which_and_what_the_other_gives_back() {
    on_all(|| async {
        let (tx, rx) = channel::<String>();
        let kept = tx.send("kept".into()).either(always(1)).await;
        assert_eq!(kept, Either::Right(1, "kept".to_owned()));
        let (other, _silent) = channel::<u8>();
        let mut wait = pinned(other.send(9).either(rx.recv()));
        assert!(poll(wait.as_mut()).is_pending());
        tx.send("came".into()).await.unwrap();
        assert_eq!(
            poll(wait.as_mut()),
            Poll::Ready(Either::Right(Ok("came".into()), 9))
        );
    });
}

#[test]
fn biased_is_the_order_written() {
    on_all(|| async {
        for _ in 0..50 {
            assert_eq!(always(1).or(always(2)).or(always(3)).biased().await, 1);
            assert_eq!(choose([always(1), always(2)]).biased().await, 1);
            let got = select! { biased; n = always(1) => n, n = always(2) => n };
            assert_eq!(got, 1);
        }
    });
}

#[test]
fn a_bias_ends_with_its_own_branches() {
    let ((c, from_c), (d, from_d)) = (unbounded(), unbounded());
    let (_silent, nothing) = unbounded();
    let mut second = 0;
    for _ in 0..1000 {
        c.try_send(0).unwrap();
        d.try_send(1).unwrap();
        let biased = nothing
            .recv()
            .or(nothing.recv())
            .biased()
            .map(Result::unwrap);
        // With a deadline it is one branch, which draws its own order when it is its turn.
        let fair = from_c
            .recv()
            .or(from_d.recv())
            .timeout(Duration::from_secs(3600));
        second += biased.or(fair.map(|came| came.unwrap().unwrap())).wait();
    }
    // 500 if it is fair, with a deviation of 16.
    assert!((400..600).contains(&second), "{second} of 1000");
}

#[test]
fn a_choice_among_ready_branches_is_fair() {
    on_all(|| async {
        let fair = |counts: &[u32]| {
            let all: u32 = counts.iter().sum();
            let share = all / counts.len() as u32;
            let (low, high) = (share * 7 / 10, share * 13 / 10);
            assert!(
                counts.iter().all(|n| (low..=high).contains(n)),
                "{counts:?}"
            );
        };
        let (mut or, mut list, mut macros) = ([0; 2], [0; 5], [0; 3]);
        let (mut from_right, mut from_left) = ([0; 3], [0; 3]);
        for _ in 0..2_000 {
            or[always(0).or(always(1)).await] += 1;
            list[choose((0..5).map(always)).await] += 1;
            from_right[always(0).or(always(1).or(always(2))).await] += 1;
            from_left[always(0).or(always(1)).or(always(2)).await] += 1;
            select! {
                n = always(0) => macros[n] += 1,
                n = always(1) => macros[n] += 1,
                n = always(2) => macros[n] += 1,
            }
        }
        fair(&or);
        fair(&list);
        fair(&from_right);
        fair(&from_left);
        fair(&macros);
    });
}

#[test]
fn two_channels_that_are_both_ready_are_chosen_alike() {
    on_all(|| async {
        let (a, ar) = unbounded();
        let (b, br) = unbounded();
        let mut from_a = 0;
        for _ in 0..2_000 {
            a.try_send(1).unwrap();
            b.try_send(0).unwrap();
            from_a += ar.recv().or(br.recv()).await.unwrap();
        }
        assert!((700..=1300).contains(&from_a), "{from_a}");
        assert_eq!(ar.len() + br.len(), 2_000);
    });
}

#[test]
fn select_has_all_its_forms() {
    async fn arms(rx: &tidings::Receiver<u32>) -> Result<u32, tidings::RecvError> {
        let mut sum = 0;
        loop {
            select! {
                got = rx.recv() => {
                    let n = got?;
                    if n == 99 {
                        break;
                    }
                    if n == 100 {
                        return Ok(100);
                    }
                    sum += n;
                }
                () = after(Duration::from_secs(3600)) => continue,
            }
        }
        let one = select! { n = always(1) => n };
        let block = select! {
            (a, b) = always((1, 2)) => { a + b },
            _ = never::<()>() => unreachable!(),
        };
        let awaited = select! {
            biased;
            () = always(()) => { yield_now().await; 10 }
            () = never() => 0
        };
        Ok(sum + one + block + awaited)
    }
    on_all(|| async {
        let (tx, rx) = unbounded();
        for n in [5, 6, 99, 100] {
            tx.send(n).await.unwrap();
        }
        assert_eq!(arms(&rx).await, Ok(25));
        assert_eq!(arms(&rx).await, Ok(100));
        drop(tx);
        assert!(arms(&rx).await.is_err());
        let mut place = Some(1);
        let (tx, _rx) = channel();
        select! {
            sent = tx.send_from(&mut place) => sent.unwrap(),
            () = after(Duration::from_millis(1)) => {}
        }
        assert_eq!(place, Some(1));
    });
}

/// The types of what arms give have lifetimes; a task that holds them must still be `Send`.
#[test]
fn a_task_may_select_over_references() {
    on_all(|| async {
        let ((tx, rx), (_quiet_tx, quiet)) =
            (unbounded::<&'static str>(), channel::<&'static str>());
        let one = Arc::new(tidings::sync::Semaphore::new(0));
        let task = tidings::spawn(async move {
            let mut words = Vec::new();
            while words.len() < 2 {
                select! {
                    word = rx.recv() => words.push(word.unwrap()),
                    word = quiet.recv() => words.push(word.unwrap()),
                    permit = one.acquire(1) => drop(permit),
                    () = after(Duration::from_secs(3600)) => {}
                }
            }
            words
        });
        tx.send("one").await.unwrap();
        tx.send("two").await.unwrap();
        assert_eq!(task.await.unwrap(), ["one", "two"]);
    });
}

#[test]
fn two_choices_that_face_each_other_agree_on_one_branch() {
    on_all(|| async {
        for channels in [2usize, 3, 10] {
            let made: Vec<_> = (0..channels).map(|_| channel::<u64>()).collect();
            let made = Arc::new(made);
            let mut tasks = Vec::new();
            for side in 0..4u64 {
                let made = Arc::clone(&made);
                tasks.push(tidings::spawn(async move {
                    let mut sum = 0;
                    for n in 0..100 {
                        sum += if side % 2 == 0 {
                            choose(made.iter().map(|ends| ends.0.send(n)))
                                .await
                                .unwrap();
                            n
                        } else {
                            choose(made.iter().rev().map(|ends| ends.1.recv()))
                                .await
                                .unwrap()
                        };
                    }
                    (side % 2, sum)
                }));
            }
            let mut sums = [0, 0];
            for task in tasks {
                let (side, sum) = task.await.unwrap();
                sums[side as usize] += sum;
            }
            assert_eq!(sums[0], sums[1]);
            for (_, rx) in made.iter() {
                assert_eq!((rx.len(), rx_waiting(rx), tx_waiting(rx)), (0, 0, 0));
            }
        }
    });
}

#[test]
fn swaps_over_crossed_channels_exchange_both_or_nothing() {
    on_all(|| async {
        // Each offers a send on one channel and a receive on the other, in either order.
        let ((a, ar), (b, br)) = (channel::<u32>(), channel::<u32>());
        let left = tidings::spawn({
            let (a, br) = (a.clone(), br.clone());
            async move {
                let mut sent = 0;
                for _ in 0..200 {
                    sent += a.send(1).map(|_| 1).or(br.recv().map(|_| 0)).await;
                }
                sent
            }
        });
        let right = tidings::spawn(async move {
            let mut sent = 0;
            for _ in 0..200 {
                sent += b.send(1).map(|_| 1).or(ar.recv().map(|_| 0)).await;
            }
            sent
        });
        assert_eq!(left.await.unwrap() + right.await.unwrap(), 200);
    });
}

#[test]
fn a_choice_over_one_channel_twice_takes_one_value() {
    on_all(|| async {
        let (tx, rx) = channel();
        let mut wait = pinned(choose([rx.recv(), rx.recv()]));
        assert!(poll(wait.as_mut()).is_pending());
        assert_eq!(rx_waiting(&rx), 2);
        tx.try_send(1).unwrap();
        assert!(
            tx.try_send(2).is_err(),
            "the other branch is no receiver any more"
        );
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(1)));
        drop(wait);
        assert_eq!(rx_waiting(&rx), 0);
        tx.post(3).unwrap();
        assert_eq!(rx.recv().or(rx.recv()).or(rx.recv()).await, Ok(3));
    });
}

/// More branches than there is room for in place, of few sources.
#[test]
fn a_choice_over_two_channels_many_times_takes_one_value() {
    let _watchdog = watchdog();
    let ((tx, rx), (_silent, other)) = (unbounded(), unbounded());
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let branches = (0..30).map(|n| if n % 3 == 0 { other.recv() } else { rx.recv() });
    assert_eq!(choose(branches).wait(), Ok(1));
    assert_eq!((rx.try_recv(), rx.len()), (Ok(2), 0));
}

#[test]
fn a_choice_over_twenty_channels_twice_each_takes_one_value() {
    let _watchdog = watchdog();
    let all: Vec<_> = (0..20).map(|_| unbounded()).collect();
    all[7].0.try_send(1).unwrap();
    all[7].0.try_send(2).unwrap();
    let branches = all.iter().chain(&all).map(|(_, rx)| rx.recv());
    assert_eq!(choose(branches).wait(), Ok(1));
    assert_eq!((all[7].1.try_recv(), all[7].1.len()), (Ok(2), 0));
    // Beside another event it locks them all.
    all[7].0.try_send(3).unwrap();
    let branches = all.iter().chain(&all).map(|(_, rx)| rx.recv());
    assert_eq!(choose(branches).or(never()).wait(), Ok(3));
}

#[test]
fn a_choice_does_not_meet_itself() {
    on_all(|| async {
        let (tx, rx) = channel();
        let mut wait = pinned(tx.send(1).map(|_| 0).or(rx.recv().map(Result::unwrap)));
        assert!(poll(wait.as_mut()).is_pending());
        assert!(poll(wait.as_mut()).is_pending());
        assert_eq!((tx_waiting(&rx), rx_waiting(&rx)), (1, 1));
        let mut other = pinned(tx.send(2).map(|_| 0).or(rx.recv().map(Result::unwrap)));
        let Poll::Ready(second) = poll(other.as_mut()) else {
            panic!("it meets the other")
        };
        let Poll::Ready(first) = poll(wait.as_mut()) else {
            panic!("and the other it")
        };
        assert_eq!((first.min(second), first.max(second) > 0), (0, true));
        drop((wait, other));
        assert_eq!((tx_waiting(&rx), rx_waiting(&rx)), (0, 0));
    });
}

#[test]
fn a_choice_of_a_thousand_branches_leaves_no_waiter_behind() {
    on_all(|| async {
        let all: Vec<_> = (0..1_000).map(|_| channel::<usize>()).collect();
        for way in 0..3 {
            let mut wait = pinned(choose(all.iter().map(|ends| ends.1.recv())));
            assert!(poll(wait.as_mut()).is_pending());
            assert!(all.iter().all(|ends| rx_waiting(&ends.1) == 1));
            match way {
                0 => all[617].0.try_send(1).unwrap(),
                1 => assert!(poll(wait.as_mut()).is_pending()),
                _ => drop(choose(all.iter().map(|ends| ends.0.send(3))).await),
            }
            if way != 1 {
                assert!(poll(wait.as_mut()).is_ready());
            }
            drop(wait);
            for (_, rx) in &all {
                assert_eq!((rx_waiting(rx), tx_waiting(rx), rx.len()), (0, 0, 0));
            }
        }
    });
}

#[test]
fn a_wait_is_woken_once_for_its_commit() {
    on_all(|| async {
        let all: Vec<_> = (0..5).map(|_| unbounded()).collect();
        let (wakes, waker) = Wakes::new();
        let mut wait = pinned(choose(all.iter().map(|ends| ends.1.recv())));
        assert!(poll_with(wait.as_mut(), &waker).is_pending());
        for (n, (tx, _)) in all.iter().enumerate() {
            tx.send(n).await.unwrap();
        }
        assert_eq!(wakes.count(), 1);
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(0)));
        assert_eq!(all.iter().map(|ends| ends.1.len()).sum::<usize>(), 4);
    });
}

#[test]
fn events_of_all_kinds_stand_in_one_choice() {
    on_all(|| async {
        let (tx, rx) = bounded(1);
        let (one, mut reply) = oneshot::<u8>();
        let mut task = tidings::spawn(std::future::pending::<()>());
        let cell = channel::ivar::IVar::new();
        for expected in [1, 2, 3, 4] {
            match expected {
                1 => tx.send(1).await.unwrap(),
                2 => cell.fill(()).unwrap(),
                3 => {}
                _ => task.abort(),
            }
            let mut events: Vec<Boxed<'_, u8>> = vec![
                rx.recv().map(|_| 1).boxed(),
                reply.recv().map(|_| 9).boxed(),
                after(Duration::from_millis(1)).map(|()| 3).boxed(),
                never().boxed(),
            ];
            match expected {
                2 => events.push(cell.read().map(|()| 2).boxed()),
                4 => {
                    events.truncate(2);
                    events.push(task.join().map(|_| 4).boxed());
                }
                _ => {}
            }
            assert_eq!(choose(events).await, expected);
        }
        drop(one);
    });
}

#[test]
#[should_panic(expected = "an event's future is polled after it was ready")]
fn a_wait_that_is_over_says_so() {
    let mut wait = pinned(always(1));
    assert!(poll(wait.as_mut()).is_ready());
    let _ = poll(wait.as_mut());
}

#[test]
fn plain_threads_choose_too() {
    let _watchdog = watchdog();
    let ((a, ar), (b, br)) = (channel(), channel());
    let sender = std::thread::spawn(move || {
        for n in 0..500 {
            choose([a.send(n), b.send(n)]).wait().unwrap();
        }
    });
    for n in 0..500 {
        assert_eq!(ar.recv().or(br.recv()).wait(), Ok(n));
    }
    sender.join().unwrap();
}
