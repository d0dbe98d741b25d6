//! The order in which a choice tries its branches, for `choose.rs` and `or.rs`.
//!
//! Not a circle with a random start: there the first branch that is ready behind many that are not has the
//! chances of all of those. The step is drawn, too: turn `k` is `start + k * step` modulo a prime, and what is no
//! branch then is left out. Of all `prime * (prime - 1)` orders half have the one of any two branches first, and
//! half the other, whatever else there is. Of three and more that are ready each is first about as often: of up
//! to ten branches within a fifth. The ends of a long row of neighbours that are all ready, with many beside them
//! that are not, are first more often than those between: of a quarter of a hundred 1.55 times as often as they
//! should be, of a quarter of a thousand 2.2 times; no neighbour is less often than 0.75 times.

use crate::sched;

/// The turns of a choice, one after the other.
pub(super) struct Order {
    /// The next turn, if it is one of the choice's.
    at: usize,
    step: usize,
    /// From where on the step leads around the circle.
    around: usize,
    turns: usize,
    left: usize,
}

impl Order {
    /// As written, or drawn: one number, of which 0 is the order written.
    #[inline]
    pub(super) fn new(turns: usize, biased: bool) -> Self {
        match turns {
            _ if biased => Self::stepping(turns, turns, 0, 1),
            // There are no others.
            0 | 1 => Self::stepping(turns, turns, 0, 1),
            2 => Self::stepping(turns, turns, sched::choose_branch(2), 1),
            _ => Self::drawn(turns),
        }
    }

    #[inline]
    fn drawn(turns: usize) -> Self {
        let below = |n: u32| sched::choose_branch(n as usize) as u32;
        let prime = prime(turns as u32);
        match prime.checked_mul(prime - 1) {
            Some(orders) => Self::numbered(turns, prime, below(orders)),
            None => Self::stepping(
                turns,
                prime as usize,
                below(prime) as usize,
                1 + below(prime - 1) as usize,
            ),
        }
    }

    /// One of all orders, by its number: first those of step 1, by where they start.
    #[inline]
    fn numbered(turns: usize, prime: u32, number: u32) -> Self {
        let (step, start) = (1 + number / prime, number % prime);
        Self::stepping(turns, prime as usize, start as usize, step as usize)
    }

    #[inline]
    fn stepping(turns: usize, modulus: usize, start: usize, step: usize) -> Self {
        Self {
            at: start,
            step,
            around: modulus.saturating_sub(step),
            turns,
            left: turns,
        }
    }
}

impl Iterator for Order {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let at = self.at;
            self.at = if at < self.around {
                at + self.step
            } else {
                at - self.around
            };
            if at < self.turns {
                return Some(at);
            }
        }
    }
}

/// The first prime from `n` on, which is 3 or more.
#[inline]
fn prime(n: u32) -> u32 {
    let mut prime = n | 1;
    loop {
        let mut divisor = 3;
        while divisor <= prime / divisor && !prime.is_multiple_of(divisor) {
            divisor += 2;
        }
        if divisor > prime / divisor {
            return prime;
        }
        prime += 2;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Order, prime};

    /// All orders of so many turns.
    fn all(turns: usize) -> impl Iterator<Item = Vec<usize>> {
        let prime = prime(turns as u32);
        (0..prime * (prime - 1)).map(move |n| Order::numbered(turns, prime, n).collect())
    }

    #[test]
    fn a_prime_is_the_next_one() {
        let primes = [3, 4, 5, 6, 8, 9, 12, 14, 24, 48, 90, 120, 65_530].map(prime);
        assert_eq!(
            primes,
            [3, 5, 5, 7, 11, 11, 13, 17, 29, 53, 97, 127, 65_537]
        );
    }

    #[test]
    fn an_order_has_each_turn_once_and_the_first_is_the_one_written() {
        for turns in 3..30 {
            for (n, order) in all(turns).enumerate() {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..turns), "{order:?}");
                assert!(n > 0 || order.is_sorted(), "{order:?}");
            }
        }
        for turns in 0..5 {
            assert!(Order::new(turns, true).eq(0..turns));
        }
        for turns in [0, 1, 2, 3, 100, 70_000] {
            let mut sorted: Vec<usize> = Order::new(turns, false).collect();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..turns));
        }
    }

    #[test]
    fn of_any_two_turns_half_of_the_orders_have_the_one_first() {
        for turns in [3, 4, 5, 8, 10, 20] {
            let orders: Vec<Vec<usize>> = all(turns).collect();
            let pairs = (0..turns).flat_map(|second| (0..second).map(move |first| [first, second]));
            for pair in pairs {
                let firsts = orders
                    .iter()
                    .map(|order| order.iter().find(|n| pair.contains(n)));
                let half = firsts.filter(|&first| first == Some(&pair[0])).count();
                assert_eq!(2 * half, orders.len(), "{pair:?} of {turns}");
            }
        }
    }

    #[test]
    fn of_more_turns_each_is_the_first_about_as_often() {
        for turns in [3, 5, 8, 10, 20, 50, 100] {
            let orders: Vec<Vec<usize>> = all(turns).collect();
            for neighbours in [3, turns / 4, turns / 2, turns] {
                let ready = 0..neighbours.max(2);
                let mut firsts = vec![0; ready.len()];
                for order in &orders {
                    let first = order.iter().find(|n| ready.contains(n));
                    firsts[*first.unwrap()] += ready.len();
                }
                let percent = firsts.iter().map(|n| 100 * n / orders.len());
                let percent: Vec<_> = percent.collect();
                let fair = if turns <= 10 { 80..125 } else { 75..156 };
                assert!(
                    percent.iter().all(|n| fair.contains(n)),
                    "{percent:?} of {turns}"
                );
            }
        }
    }
}
