//! Is a history linearizable? A search for an order of its calls that a sequential specification
//! allows and that respects real time: Wing and Gong, "Testing and verifying concurrent objects"
//! (JPDC 1993), with the memory of configurations that have failed of Lowe, "Testing for
//! linearizability" (CCPE 2017).
//!
//! Operations that wait are two calls, as in Scherer and Scott, "Nonblocking concurrent data
//! structures with condition synchronization" (DISC 2004): one that begins the wait, and one that
//! looks whether it is over. Both take effect at one point, also where the wait as a whole does
//! not: a rendezvous needs its two parties at once, which no single point of a plain `send` is.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

/// A sequential specification, which may be nondeterministic.
pub trait Spec {
    /// What the object holds.
    type State: Clone + Eq + Hash;
    /// What can be called.
    type Op: Debug;
    /// What comes back.
    type Ret: PartialEq + Debug;

    /// What it holds at first.
    fn initial(&self) -> Self::State;

    /// What `op` may do in `state`: nothing at all if it cannot take effect there.
    fn outcomes(&self, state: &Self::State, op: &Self::Op) -> Vec<(Self::State, Self::Ret)>;
}

/// One call of a history; its times are unique in the history.
#[derive(Clone, Debug)]
pub struct Call<Op, Ret> {
    /// Who called; for reports only.
    pub thread: usize,
    /// What.
    pub op: Op,
    /// When.
    pub called: u64,
    /// When it returned, and what. A call that did not return may have taken effect or not.
    pub returned: Option<(u64, Ret)>,
}

/// A history.
pub type Calls<S> = Vec<Call<<S as Spec>::Op, <S as Spec>::Ret>>;

/// The most calls of one history.
pub const MOST: usize = 128;

/// The order in which the calls took effect, as indices; or how far the search came at best.
///
/// # Errors
/// The longest order that was possible, if none of all calls is.
///
/// # Panics
/// If there are more than [`MOST`] calls.
///
/// ```
/// use tidings_sim::linear::{Call, Spec, linearize};
///
/// /// A number that is read and written.
/// struct Register;
///
/// impl Spec for Register {
///     type State = u32;
///     type Op = Option<u32>;
///     type Ret = u32;
///     fn initial(&self) -> u32 {
///         0
///     }
///     fn outcomes(&self, state: &u32, write: &Option<u32>) -> Vec<(u32, u32)> {
///         let state = write.unwrap_or(*state);
///         vec![(state, state)]
///     }
/// }
///
/// let call = |op, called, returned| Call { thread: 0, op, called, returned: Some(returned) };
/// // The write of 7 is over before the read begins, which must see it.
/// let stale = vec![call(Some(7), 0, (1, 7)), call(None, 2, (3, 0))];
/// assert!(linearize(&Register, &stale).is_err());
/// ```
pub fn linearize<S: Spec>(spec: &S, calls: &Calls<S>) -> Result<Vec<usize>, Vec<usize>> {
    assert!(calls.len() <= MOST, "{} calls are too many", calls.len());
    let required = calls
        .iter()
        .enumerate()
        .filter(|(_, call)| call.returned.is_some())
        .fold(0, |set, (index, _)| set | (1 << index));
    let mut search = Search {
        spec,
        calls,
        required,
        failed: HashSet::new(),
        order: Vec::new(),
        best: Vec::new(),
    };
    if search.from(0, &spec.initial()) {
        Ok(search.order)
    } else {
        Err(search.best)
    }
}

/// As [`linearize`], for a test.
///
/// # Panics
/// With the history, and the longest order that was possible, if it is not linearizable.
pub fn assert_linearizable<S: Spec>(spec: &S, calls: &Calls<S>, context: &str) {
    let Err(best) = linearize(spec, calls) else {
        return;
    };
    let mut text = format!("{context}: not linearizable\n");
    let mut by_time: Vec<usize> = (0..calls.len()).collect();
    by_time.sort_by_key(|&index| calls[index].called);
    for index in by_time {
        let call = &calls[index];
        let place = best.iter().position(|&done| done == index);
        let place = place.map_or("-".to_owned(), |place| place.to_string());
        text += &format!("{place:>4}  {call:?}\n");
    }
    panic!("{text}the first column is the longest order that was found");
}

struct Search<'a, S: Spec> {
    spec: &'a S,
    calls: &'a Calls<S>,
    /// The calls that returned, as a set of bits.
    required: u128,
    /// Configurations from which there is no way on: the calls done, and the state.
    failed: HashSet<(u128, S::State)>,
    order: Vec<usize>,
    best: Vec<usize>,
}

impl<S: Spec> Search<'_, S> {
    fn from(&mut self, done: u128, state: &S::State) -> bool {
        if done & self.required == self.required {
            return true;
        }
        if self.failed.contains(&(done, state.clone())) {
            return false;
        }
        // A call can be next if none that is left had returned before it was called.
        let left = |index: &usize| done & (1 << index) == 0;
        let returns = |index: usize| self.calls[index].returned.as_ref().map(|(at, _)| *at);
        let first_return = (0..self.calls.len()).filter(left).filter_map(returns).min();
        let next: Vec<usize> = (0..self.calls.len())
            .filter(left)
            .filter(|&index| first_return.is_none_or(|at| self.calls[index].called < at))
            .collect();
        for index in next {
            let call = &self.calls[index];
            for (after, ret) in self.spec.outcomes(state, &call.op) {
                if call.returned.as_ref().is_some_and(|(_, was)| *was != ret) {
                    continue;
                }
                self.order.push(index);
                if self.order.len() > self.best.len() {
                    self.best.clone_from(&self.order);
                }
                if self.from(done | (1 << index), &after) {
                    return true;
                }
                self.order.pop();
            }
        }
        self.failed.insert((done, state.clone()));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Spec, assert_linearizable, linearize};

    /// A register, and a queue whose `Take` waits: it has no outcome while the queue is empty.
    struct Small;

    #[derive(Debug)]
    enum Op {
        Write(u8),
        Read,
        Put(u8),
        Take,
    }

    impl Spec for Small {
        type State = (u8, Vec<u8>);
        type Op = Op;
        type Ret = u8;

        fn initial(&self) -> Self::State {
            (0, Vec::new())
        }

        fn outcomes(&self, (cell, queue): &Self::State, op: &Op) -> Vec<(Self::State, u8)> {
            let mut queue = queue.clone();
            match *op {
                Op::Write(n) => vec![((n, queue), 0)],
                Op::Read => vec![((*cell, queue), *cell)],
                Op::Put(n) => {
                    queue.push(n);
                    vec![((*cell, queue), 0)]
                }
                Op::Take if queue.is_empty() => vec![],
                Op::Take => {
                    let first = queue.remove(0);
                    vec![((*cell, queue), first)]
                }
            }
        }
    }

    /// What was called, when, and if it returned: when, and what. Who calls is not looked at.
    type Told = (Op, u64, Option<(u64, u8)>);

    fn history(calls: Vec<Told>) -> Vec<Call<Op, u8>> {
        let call = |(op, called, returned)| Call {
            thread: 0,
            op,
            called,
            returned,
        };
        calls.into_iter().map(call).collect()
    }

    fn holds(calls: Vec<Told>) -> bool {
        linearize(&Small, &history(calls)).is_ok()
    }

    #[test]
    fn calls_that_overlap_may_take_effect_in_any_order() {
        for seen in [0, 1] {
            assert!(holds(vec![
                (Op::Write(1), 0, Some((3, 0))),
                (Op::Read, 1, Some((2, seen))),
            ]));
        }
        // Two readers in turn, while the write goes on: the second cannot see less.
        let reads = |first, second| {
            holds(vec![
                (Op::Write(1), 0, Some((9, 0))),
                (Op::Read, 1, Some((2, first))),
                (Op::Read, 3, Some((4, second))),
            ])
        };
        assert!(reads(0, 0) && reads(0, 1) && reads(1, 1));
        assert!(!reads(1, 0));
    }

    #[test]
    fn a_call_that_begins_after_another_has_returned_comes_after_it() {
        let stale = vec![(Op::Write(1), 0, Some((1, 0))), (Op::Read, 2, Some((3, 0)))];
        assert!(!holds(stale));
    }

    #[test]
    fn a_queue_gives_each_value_once_and_in_order() {
        let takes = |first, second| {
            holds(vec![
                (Op::Put(1), 0, Some((1, 0))),
                (Op::Put(2), 2, Some((3, 0))),
                (Op::Take, 4, Some((5, first))),
                (Op::Take, 6, Some((7, second))),
            ])
        };
        assert!(takes(1, 2));
        assert!(!takes(2, 1), "out of order");
        assert!(!takes(1, 1), "twice");
        assert!(!takes(1, 3), "never put");
    }

    #[test]
    fn a_call_that_never_returned_may_have_happened_or_not() {
        for seen in [0, 7] {
            assert!(holds(vec![
                (Op::Write(7), 0, None),
                (Op::Read, 1, Some((2, seen))),
            ]));
        }
        assert!(!holds(vec![
            (Op::Write(7), 3, None),
            (Op::Read, 1, Some((2, 7))),
        ]));
        // Seen, then not: it cannot be undone.
        assert!(!holds(vec![
            (Op::Write(7), 0, None),
            (Op::Read, 1, Some((2, 7))),
            (Op::Read, 3, Some((4, 0))),
        ]));
    }

    #[test]
    fn a_call_without_an_outcome_waits_for_one() {
        let order = linearize(
            &Small,
            &history(vec![
                (Op::Take, 0, Some((9, 4))),
                (Op::Put(4), 1, Some((2, 0))),
            ]),
        );
        assert_eq!(order, Ok(vec![1, 0]));
        let late = vec![(Op::Take, 0, Some((1, 4))), (Op::Put(4), 2, Some((3, 0)))];
        assert!(!holds(late));
    }

    #[test]
    fn many_calls_at_once_are_decided_by_what_was_seen_before() {
        // 2^20 subsets in 20! orders; the memory keeps one visit for each state of a subset.
        let mut calls: Vec<_> = (0..20)
            .map(|n| (Op::Write(n % 2), 0, Some((90, 0))))
            .collect();
        calls.push((Op::Read, 91, Some((92, 3))));
        for (at, call) in calls.iter_mut().enumerate() {
            call.1 += at as u64;
        }
        assert!(!holds(calls.split_off(8)));
        assert!(holds(calls));
    }

    #[test]
    #[should_panic(expected = "seed 5: not linearizable")]
    fn a_failure_shows_the_history() {
        let calls = history(vec![(Op::Read, 0, Some((1, 5)))]);
        assert_linearizable(&Small, &calls, "seed 5");
    }
}
