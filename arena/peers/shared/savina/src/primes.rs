//! sieve: a filter of the pipeline, which keeps so many primes.

/// What becomes of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A prime of this filter divides it, or it is a new one of its own.
    Settled,
    /// The next filter is to look.
    Passed,
}

/// Primes with room for more.
#[derive(Debug)]
pub struct Filter {
    primes: Vec<i64>,
    room: usize,
    /// How often it has divided.
    pub divisions: i64,
}

impl Filter {
    pub fn new(first: i64, room: i64) -> Self {
        Self {
            primes: vec![first],
            room: room as usize,
            divisions: 0,
        }
    }

    pub fn primes(&self) -> i64 {
        self.primes.len() as i64
    }

    pub fn look(&mut self, candidate: i64) -> Verdict {
        let divisor = self.primes.iter().position(|prime| candidate % prime == 0);
        self.divisions += divisor.map_or(self.primes.len(), |at| at + 1) as i64;
        if divisor.is_some() {
            Verdict::Settled
        } else if self.primes.len() < self.room {
            self.primes.push(candidate);
            Verdict::Settled
        } else {
            Verdict::Passed
        }
    }
}

/// Primes below a limit, and the divisions that find them when every smaller prime is tried in turn.
pub(crate) fn counted(limit: i64) -> (i64, i64) {
    let limit = limit as usize;
    // The place of the smallest prime that divides a number, from 1; 0 for a prime.
    let mut place = vec![0_u32; limit];
    let (mut primes, mut divisions) = (0_u32, 0);
    for number in 2..limit {
        if place[number] == 0 {
            if number > 2 {
                divisions += i64::from(primes);
            }
            primes += 1;
            for multiple in (number * number..limit).step_by(number) {
                if place[multiple] == 0 {
                    place[multiple] = primes;
                }
            }
        } else if number % 2 == 1 {
            divisions += i64::from(place[number]);
        }
    }
    (i64::from(primes), divisions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_the_known_ones_and_divisions_are_counted() {
        assert_eq!(counted(100_000).0, 9592);
        for limit in [4, 5, 10, 997, 5000] {
            let mut filter = Filter::new(2, i64::MAX);
            for candidate in (3..limit).step_by(2) {
                assert_eq!(filter.look(candidate), Verdict::Settled);
            }
            assert_eq!(
                (filter.primes(), filter.divisions),
                counted(limit),
                "{limit}"
            );
        }
    }
}
