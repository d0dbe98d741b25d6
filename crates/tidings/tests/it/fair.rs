//! A choice is fair among the branches that are ready, whatever stands beside them that is not.

use std::task::Poll;
use std::time::Duration;

use crate::both::{seeded, watchdog};
use crate::hands::poll;
use tidings::event::Boxed;
use tidings::{
    Either, Event, Receiver, Sender, always, choose, guard, never, select, unbounded, with_nack,
};

const ROUNDS: usize = 3_000;
const HOUR: Duration = Duration::from_secs(3600);

type Ends = Vec<(Sender<usize>, Receiver<usize>)>;

fn channels(n: usize) -> Ends {
    (0..n).map(|_| unbounded()).collect()
}

fn leaf(all: &Ends, n: usize) -> impl Event<Output = usize, Lost = ()> + Send + '_ {
    all[n].1.recv().map(Result::unwrap)
}

/// How often each of these channels gave its value, of so many rounds in which each has one.
fn taken(all: &Ends, ready: &[usize], round: impl Fn() -> usize) -> Vec<usize> {
    let mut taken = vec![0; all.len()];
    ready.iter().for_each(|&n| all[n].0.try_send(n).unwrap());
    for _ in 0..ROUNDS {
        let n = round();
        taken[n] += 1;
        all[n].0.try_send(n).unwrap();
    }
    for (_, rx) in all {
        while rx.try_recv().is_ok() {}
    }
    ready.iter().map(|&n| taken[n]).collect()
}

fn now<E: Event>(event: E) -> E::Output {
    event.try_now().ok().expect("it can happen")
}

fn awaited<F: Future>(future: F) -> F::Output {
    match poll(std::pin::pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it can happen"),
    }
}

/// Half of them each: 1,500, with a deviation of 27.
fn halves(taken: &[usize], what: &str) {
    assert!((1_350..1_650).contains(&taken[0]), "{taken:?}, {what}");
    assert_eq!(taken.iter().sum::<usize>(), ROUNDS);
}

#[test]
fn of_two_of_many_that_are_ready_each_has_the_same_chance() {
    let _watchdog = watchdog();
    let check = || {
        for (n, ready) in [
            (3, [0, 2]),
            (4, [1, 2]),
            (8, [0, 7]),
            (20, [0, 1]),
            (20, [7, 19]),
            (50, [3, 28]),
        ] {
            let all = channels(n);
            let round = || now(choose((0..n).map(|n| leaf(&all, n))));
            halves(&taken(&all, &ready, round), &format!("{ready:?} of {n}"));
        }
    };
    check();
    seeded(1).block_on(async { check() });
}

#[test]
fn of_three_neighbours_among_many_that_are_ready_each_has_about_a_third() {
    let all = channels(50);
    let round = || now(choose((0..50).map(|n| leaf(&all, n))));
    let taken = taken(&all, &[20, 21, 22], round);
    // 1,118, 764 and 1,118 (SEMANTICS.md S-17), with a deviation of 27.
    assert!(taken.iter().all(|n| (600..1_300).contains(n)), "{taken:?}");
}

#[test]
fn of_two_arms_that_are_ready_each_has_the_same_chance() {
    let all = channels(5);
    let of_three = || {
        awaited(async {
            select! {
                n = leaf(&all, 0) => n,
                n = leaf(&all, 1) => n,
                n = leaf(&all, 2) => n,
            }
        })
    };
    for ready in [[0, 2], [0, 1], [1, 2]] {
        halves(&taken(&all, &ready, of_three), "three arms");
    }
    let of_five = || {
        awaited(async {
            select! {
                n = leaf(&all, 0) => n,
                n = leaf(&all, 1) => n,
                n = leaf(&all, 2) => n,
                n = leaf(&all, 3) => n,
                n = leaf(&all, 4) => n,
            }
        })
    };
    for ready in [[0, 4], [0, 1], [3, 4]] {
        halves(&taken(&all, &ready, of_five), "five arms");
    }
    // An arm with a deadline is an arm.
    let with_deadlines = || {
        awaited(async {
            select! {
                n = leaf(&all, 0).timeout(HOUR) => n.unwrap(),
                n = leaf(&all, 1).timeout(HOUR) => n.unwrap(),
                n = leaf(&all, 2) => n,
            }
        })
    };
    halves(&taken(&all, &[0, 2], with_deadlines), "deadlines");
}

#[test]
fn a_choice_is_as_fair_however_it_is_built() {
    type Form = for<'a> fn(&'a Ends) -> Boxed<'a, usize>;
    let forms: [(&str, Form); 6] = [
        ("from the left", |all| {
            let left = leaf(all, 0).or(leaf(all, 1)).or(leaf(all, 2));
            left.or(leaf(all, 3)).or(leaf(all, 4)).boxed()
        }),
        ("from the right", |all| {
            let right = leaf(all, 2).or(leaf(all, 3).or(leaf(all, 4)));
            leaf(all, 0).or(leaf(all, 1).or(right)).boxed()
        }),
        ("a choice of many in one of two", |all| {
            let many = choose((0..4).map(|n| leaf(all, n)));
            many.or(leaf(all, 4)).boxed()
        }),
        ("behind pointers", |all| {
            let left = leaf(all, 0).or(leaf(all, 1)).boxed();
            let right = leaf(all, 2).or(leaf(all, 3)).or(leaf(all, 4)).boxed();
            left.or(right).boxed()
        }),
        ("made when it is awaited", |all| {
            let left = guard(|| leaf(all, 0).or(leaf(all, 1)).or(never()));
            let right = with_nack(|_| leaf(all, 2).or(leaf(all, 3)).or(leaf(all, 4)));
            left.or(right.map(|n| n)).boxed()
        }),
        ("of different types", |all| {
            let left = leaf(all, 0).or(leaf(all, 1));
            let either = left.either(choose((2..5).map(|n| leaf(all, n))));
            let either = either.map(|either| match either {
                Either::Left(n, _) | Either::Right(n, _) => n,
            });
            either.boxed()
        }),
    ];
    for (name, form) in forms {
        let all = channels(5);
        for ready in [[0, 1], [0, 4], [1, 3], [3, 4]] {
            let taken = taken(&all, &ready, || now(form(&all)));
            halves(&taken, &format!("{name}, {ready:?}"));
        }
    }
}

#[test]
fn branches_in_the_order_written_have_the_chance_of_one() {
    let all = channels(5);
    let round = || {
        let written = choose((0..4).map(|n| leaf(&all, n))).biased();
        now(written.or(leaf(&all, 4)))
    };
    let taken = taken(&all, &[1, 2, 3, 4], round);
    assert_eq!(taken[1..3], [0, 0]);
    halves(&[taken[0], taken[3]], "the first of those written");
}

#[test]
fn what_is_biased_takes_the_order_written_within_its_branches_too() {
    let all = channels(2);
    // Each waits on one source, so that two of them are tried as two.
    let or_none = |n| leaf(&all, n).map(Some).or(always(None));
    let in_time = |n| or_none(n).timeout(HOUR);
    let forms: [(&str, &dyn Fn() -> Option<usize>); 6] = [
        ("a choice of two", &|| {
            now(choose([or_none(0), or_none(1)]).biased())
        }),
        ("mapped", &|| {
            let two = choose([or_none(0), or_none(1)]);
            now(two.map(|n| n).biased().map(|n| n))
        }),
        ("made when it is awaited", &|| {
            now(guard(|| choose([or_none(0), or_none(1)])).biased())
        }),
        ("or", &|| now(in_time(0).or(in_time(1)).biased()).unwrap()),
        (
            "either",
            &|| match now(in_time(0).either(in_time(1)).biased()) {
                Either::Left(n, _) | Either::Right(n, _) => n.unwrap(),
            },
        ),
        ("arms", &|| {
            awaited(async {
                select! { biased; n = in_time(0) => n.unwrap(), n = in_time(1) => n.unwrap() }
            })
        }),
    ];
    for (name, form) in forms {
        for _ in 0..100 {
            all[0].0.try_send(0).unwrap();
            assert_eq!(form(), Some(0), "{name}");
        }
    }
}

#[test]
fn each_branch_of_a_choice_among_many_has_a_chance_of_its_own() {
    type Form = for<'a> fn(&'a Ends) -> Boxed<'a, usize>;
    let forms: [(&str, Form); 3] = [
        ("of two", |all| {
            let two = leaf(all, 0).or(leaf(all, 1)).boxed();
            choose([two, leaf(all, 2).boxed()]).boxed()
        }),
        ("of many in one of two", |all| {
            let many = (0..2).map(|n| leaf(all, n).or(never()));
            choose(many).or(leaf(all, 2)).boxed()
        }),
        ("one after another", |all| {
            let two = leaf(all, 0).or(always(1)).boxed();
            choose(
                [two]
                    .into_iter()
                    .chain((2..11).map(|n| leaf(all, n).boxed())),
            )
            .boxed()
        }),
    ];
    for (name, form) in forms {
        let all = channels(11);
        let mut taken = [0; 3];
        for _ in 0..ROUNDS {
            (0..3).for_each(|n| all[n].0.try_send(n).unwrap());
            taken[now(form(&all))] += 1;
            for (_, rx) in &all[..3] {
                while rx.try_recv().is_ok() {}
            }
        }
        // 1,000 each; of eleven that are tried, up to a fifth more or less (SEMANTICS.md S-17), with a deviation of 26.
        assert!(
            taken.iter().all(|n| (700..1_300).contains(n)),
            "{taken:?}, {name}"
        );
    }
}
