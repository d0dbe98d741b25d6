//! Branches keep their numbers: however a choice is built, and whoever ends its wait, what happens
//! is the branch that was meant, and no other.

use std::task::Poll;
use std::time::Duration;

use crate::both::watchdog;
use crate::by_hand::Chance;
use crate::channel::rx_waiting;
use crate::hands::{Wakes, pinned, poll, poll_with};
use tidings::event::Boxed;
use tidings::{
    Either, Event, Receiver, RecvError, Sender, after, always, choose, guard, never, unbounded,
    with_nack,
};

const LEAVES: usize = 6;
const HOUR: Duration = Duration::from_secs(3600);

/// Makes the base event of each number, which gives that number.
type Leaf<'l, 'a> = &'l dyn Fn(usize) -> Boxed<'a, usize>;
type Form = for<'l, 'a> fn(Leaf<'l, 'a>) -> Boxed<'a, usize>;

fn left<'a>(leaf: Leaf<'_, 'a>) -> impl Event<Output = usize> + Send + use<'a> {
    choose((0..3).map(leaf))
}

fn right<'a>(leaf: Leaf<'_, 'a>) -> impl Event<Output = usize> + Send + use<'a> {
    choose((3..LEAVES).map(leaf))
}

/// Ways to build a choice of all.
const FORMS: &[(&str, Form)] = &[
    ("choose", |leaf| choose((0..LEAVES).map(leaf)).boxed()),
    ("or, from the left", |leaf| {
        let first = leaf(0).or(leaf(1)).or(leaf(2));
        first.or(leaf(3)).or(leaf(4)).or(leaf(5)).boxed()
    }),
    ("or, from the right", |leaf| {
        let last = leaf(2).or(leaf(3).or(leaf(4).or(leaf(5))));
        leaf(0).or(leaf(1).or(last)).boxed()
    }),
    ("choices in a choice", |leaf| {
        choose([left(leaf).boxed(), right(leaf).boxed()]).boxed()
    }),
    ("never", |leaf| {
        let left = never().or(left(leaf)).or(never());
        left.or(never().or(right(leaf))).boxed()
    }),
    ("biased", |leaf| {
        left(leaf).biased().or(right(leaf).biased()).boxed()
    }),
    ("map", |leaf| {
        let left = left(leaf).map(|n| n + 1).map(|n| n - 1);
        left.or(right(leaf).map(|n| n)).boxed()
    }),
    ("guard and nack", |leaf| {
        let (left, right) = (left(leaf), right(leaf));
        guard(move || left)
            .or(with_nack(move |_| right.map(|n| n)))
            .boxed()
    }),
    ("either", |leaf| {
        let either = left(leaf).either(right(leaf));
        let either = either.map(|either| match either {
            Either::Left(n, _) | Either::Right(n, _) => n,
        });
        either.boxed()
    }),
    ("timeouts and timers", |leaf| {
        let left = left(leaf).timeout(HOUR).map(|n| n.ok().unwrap());
        let right = right(leaf).timeout(HOUR).map(|n| n.ok().unwrap());
        let timer = after(HOUR).map(|()| LEAVES);
        left.or(timer).or(right).boxed()
    }),
];

fn channels() -> (Vec<Sender<usize>>, Vec<Receiver<usize>>) {
    (0..LEAVES).map(|_| unbounded()).unzip()
}

/// Leaves that wait for what is sent.
fn received<'a>(from: &'a [Receiver<usize>]) -> impl Fn(usize) -> Boxed<'a, usize> {
    |n| from[n].recv().map(Result::unwrap).boxed()
}

/// Runs `body` for each form and each of its branches, and says which it was that failed.
fn for_each(forms: &[(&str, Form)], body: impl Fn(Form, usize)) {
    let _watchdog = watchdog();
    for (name, form) in forms {
        for n in 0..LEAVES {
            println!("{name}, branch {n}");
            body(*form, n);
        }
    }
}

#[test]
fn a_partner_ends_the_wait_by_its_own_branch_and_no_second_one_does() {
    for_each(FORMS, |form, n| {
        let (senders, receivers) = channels();
        let mut wait = pinned(form(&received(&receivers)));
        assert!(poll(wait.as_mut()).is_pending());
        assert!(receivers.iter().all(|from| rx_waiting(from) == 1));
        let second = (n + 1) % LEAVES;
        senders[n].try_send(n).unwrap();
        senders[second].try_send(second).unwrap();
        assert_eq!(poll(wait.as_mut()), Poll::Ready(n));
        for (of, from) in receivers.iter().enumerate() {
            assert_eq!(rx_waiting(from), 0);
            assert_eq!(from.try_recv().ok(), (of == second).then_some(second));
        }
    });
}

#[test]
fn what_can_happen_at_once_is_the_branch_that_can() {
    for_each(FORMS, |form, n| {
        let (senders, receivers) = channels();
        senders[n].try_send(n).unwrap();
        let mut wait = pinned(form(&received(&receivers)));
        assert_eq!(poll(wait.as_mut()), Poll::Ready(n));
        assert!(
            receivers
                .iter()
                .all(|from| from.is_empty() && rx_waiting(from) == 0)
        );
        senders[n].try_send(n).unwrap();
        assert_eq!(form(&received(&receivers)).try_now(), Ok(n));
        assert!(form(&received(&receivers)).try_now().is_err());
        assert!(
            receivers
                .iter()
                .all(|from| from.is_empty() && rx_waiting(from) == 0)
        );
    });
}

#[test]
fn a_wait_that_is_dropped_gives_back_what_its_branch_was_handed() {
    for_each(FORMS, |form, n| {
        let (senders, receivers) = channels();
        let mut wait = pinned(form(&received(&receivers)));
        assert!(poll(wait.as_mut()).is_pending());
        senders[n].try_send(n).unwrap();
        drop(wait);
        for (of, from) in receivers.iter().enumerate() {
            assert_eq!(rx_waiting(from), 0);
            assert_eq!(from.try_recv().ok(), (of == n).then_some(n));
        }
    });
}

#[test]
fn whoever_polled_last_is_woken_and_once() {
    for_each(FORMS, |form, n| {
        let (senders, receivers) = channels();
        let mut wait = pinned(form(&received(&receivers)));
        let (first, first_waker) = Wakes::new();
        let (last, last_waker) = Wakes::new();
        assert!(poll_with(wait.as_mut(), &first_waker).is_pending());
        assert!(poll_with(wait.as_mut(), &last_waker).is_pending());
        senders[n].try_send(n).unwrap();
        senders[n].try_send(n).unwrap();
        assert_eq!((first.count(), last.count()), (0, 1));
        assert_eq!(poll(wait.as_mut()), Poll::Ready(n));
        assert_eq!((first.count(), last.count()), (0, 1));
    });
}

#[test]
fn a_timer_ends_the_wait_by_its_own_branch_wherever_the_wait_is_then() {
    for_each(FORMS, |form, n| {
        let timer = |of| {
            let time = if of == n {
                Duration::from_millis(2)
            } else {
                HOUR
            };
            after(time).map(move |()| of).boxed()
        };
        assert_eq!(form(&timer).wait(), n);
        let mut wait = pinned(form(&timer));
        match poll(wait.as_mut()) {
            // The machine stood still.
            Poll::Ready(found) => assert_eq!(found, n),
            // Armed by one waker, and heard by another.
            Poll::Pending => assert_eq!(futures::executor::block_on(wait), n),
        }
    });
}

#[test]
fn an_event_is_printed_before_and_while_it_is_awaited() {
    for_each(FORMS, |form, n| {
        let (senders, receivers) = channels();
        let form = || form(&received(&receivers));
        assert!(format!("{:?}", form()).contains("Boxed"));
        let around = choose([form().map(|n| n).or(never())]);
        assert!(format!("{:?}", around.timeout(HOUR).biased()).contains("Boxed"));
        let mut wait = pinned(form());
        assert!(poll(wait.as_mut()).is_pending());
        assert!(format!("{wait:?}").contains("Waiting"));
        senders[n].try_send(n).unwrap();
    });
    let event = guard(|| always(1)).boxed();
    assert_eq!(format!("{event:?}"), "Boxed { .. }");
}

#[test]
fn a_partner_that_comes_second_finds_nobody_however_the_waiters_are_counted() {
    type Ends = [(Sender<usize>, Receiver<usize>); 3];
    fn check<E: Event<Output = Result<usize, RecvError>>>([a, b, c]: &Ends, event: E) {
        let mut wait = pinned(event);
        assert!(poll(wait.as_mut()).is_pending());
        for (n, (to, _)) in [b, c, a].into_iter().enumerate() {
            to.try_send(n).unwrap();
        }
        assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(0)));
        assert_eq!((c.1.try_recv(), a.1.try_recv()), (Ok(1), Ok(2)));
        assert!(b.1.is_empty());
    }
    let ends = [(); 3].map(|()| unbounded());
    let [a, b, c] = &ends;
    let some = || choose([a.1.recv(), b.1.recv()]);
    check(&ends, some().or(c.1.recv()));
    check(&ends, some().boxed().or(c.1.recv()));
    check(&ends, c.1.recv().or(some()));
    check(&ends, c.1.recv().or(some().boxed()).boxed());
    check(&ends, c.1.recv().or(some().boxed()));
}

#[test]
fn branches_may_wait_on_the_same_channels_in_any_order() {
    let _watchdog = watchdog();
    let (senders, receivers) = channels();
    let mut chance = Chance::new(1);
    let mut below = |n: usize| usize::try_from(chance.below(n as u64)).unwrap();
    for _ in 0..500 {
        // More than eight take another way.
        let of: Vec<usize> = (0..=below(12)).map(|_| below(LEAVES)).collect();
        let mut wait = pinned(choose(of.iter().map(|&n| received(&receivers)(n))));
        assert!(poll(wait.as_mut()).is_pending(), "{of:?}");
        let n = of[below(of.len())];
        senders[n].try_send(n).unwrap();
        assert_eq!(poll(wait.as_mut()), Poll::Ready(n), "{of:?}");
        assert!(receivers.iter().all(|from| rx_waiting(from) == 0), "{of:?}");
    }
}
