//! The shortest failing run: decisions are taken out of a trace, or made the first alternative, as
//! long as the run fails in the same way. Short means few bytes, then small ones.

use crate::decisions::trimmed;

/// Looks for the shortest trace that `fails`, in at most `budget` runs. `fails` gives the decisions
/// that were really taken. The trace, and the runs it took.
pub(crate) fn shrink(
    trace: Vec<u8>,
    budget: usize,
    fails: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> (Vec<u8>, usize) {
    let mut shrink = Shrink {
        best: trimmed(trace),
        runs: 0,
        budget,
        fails,
    };
    loop {
        let before = shrink.best.clone();
        shrink.cut_end();
        shrink.delete();
        shrink.zero();
        shrink.lower();
        if shrink.best == before || shrink.is_over() {
            return (shrink.best, shrink.runs);
        }
    }
}

struct Shrink<F> {
    best: Vec<u8>,
    runs: usize,
    budget: usize,
    fails: F,
}

impl<F: FnMut(&[u8]) -> Option<Vec<u8>>> Shrink<F> {
    fn is_over(&self) -> bool {
        self.runs >= self.budget
    }

    /// Takes this trace, if its run fails and is shorter.
    fn try_this(&mut self, trace: &[u8]) -> bool {
        if self.is_over() {
            return false;
        }
        self.runs += 1;
        let Some(taken) = (self.fails)(trace) else {
            return false;
        };
        let taken = trimmed(taken);
        let shorter = (taken.len(), &taken) < (self.best.len(), &self.best);
        if shorter {
            self.best = taken;
        }
        shorter
    }

    /// The shortest beginning, by halves.
    fn cut_end(&mut self) {
        let (mut short, mut long) = (0, self.best.len());
        while short < long && !self.is_over() {
            let middle = usize::midpoint(short, long);
            let beginning = self.best[..middle.min(self.best.len())].to_vec();
            if self.try_this(&beginning) {
                long = middle.min(self.best.len());
            } else {
                short = middle + 1;
            }
        }
    }

    /// Without some of its bytes, from the end on: what comes after is decided anew.
    fn delete(&mut self) {
        for size in [32, 16, 8, 4, 2, 1] {
            let mut at = self.best.len();
            while at > 0 && !self.is_over() {
                at = at.min(self.best.len());
                let from = at.saturating_sub(size);
                let mut trace = self.best.clone();
                trace.drain(from..at);
                if !self.try_this(&trace) {
                    at = from;
                }
            }
        }
    }

    /// With the first alternative in the place of some.
    fn zero(&mut self) {
        for size in [16, 4, 1] {
            let mut at = self.best.len();
            while at > 0 && !self.is_over() {
                at = at.min(self.best.len());
                let from = at.saturating_sub(size);
                let mut trace = self.best.clone();
                if trace[from..at].iter().any(|&byte| byte != 0) {
                    trace[from..at].fill(0);
                    self.try_this(&trace);
                }
                at = from;
            }
        }
    }

    /// With smaller numbers, by halves.
    fn lower(&mut self) {
        let mut at = 0;
        while at < self.best.len() && !self.is_over() {
            let (mut low, mut high) = (0, self.best[at]);
            while low < high && at < self.best.len() {
                let middle = u8::midpoint(low, high);
                let mut trace = self.best.clone();
                trace[at] = middle;
                if self.try_this(&trace) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use crate::decisions::{About, Decisions};

    #[test]
    fn what_does_not_matter_goes() {
        // Fails if a 7 comes before a 3.
        let fails = |trace: &[u8]| {
            let seven = trace.iter().position(|&byte| byte == 7)?;
            trace[seven..].contains(&3).then(|| trace.to_vec())
        };
        let long: Vec<u8> = (0..200)
            .map(|n| match n {
                50 => 7,
                150 => 3,
                n => n % 5 * 2 + 10,
            })
            .collect();
        assert_eq!(shrink(long, 10_000, fails).0, [7, 3]);
    }

    #[test]
    fn numbers_become_as_small_as_they_can() {
        let fails = |trace: &[u8]| {
            let sum: u32 = trace.iter().map(|&byte| u32::from(byte)).sum();
            (sum >= 300).then(|| trace.to_vec())
        };
        let (trace, _) = shrink(vec![200, 140, 50, 255], 10_000, fails);
        let sum: u32 = trace.iter().map(|&byte| u32::from(byte)).sum();
        assert_eq!((trace.len(), sum), (2, 300), "{trace:?}");
    }

    #[test]
    fn what_is_made_short_still_fails() {
        // Of two bytes and more: what a trace leaves out at its end are low ones.
        for (n, least) in [(1_000, 256), (1_000, 300), (1 << 32, 1 << 20)] {
            let fails = |trace: &[u8]| {
                let mut decisions = Decisions::new(trace.to_vec(), None);
                let drawn = decisions.choose(About::Random, n);
                (drawn >= least).then(|| decisions.end().0)
            };
            for last in 0..=255 {
                let (trace, _) = shrink(vec![3, last, 2, 1], 10_000, fails);
                assert!(fails(&trace).is_some(), "{trace:?} of {n}");
            }
        }
    }

    #[test]
    fn it_ends_when_its_runs_are_used_up() {
        let mut runs = 0;
        let (trace, said) = shrink(vec![9; 1000], 5, |trace| {
            runs += 1;
            (trace.len() > 3).then(|| trace.to_vec())
        });
        assert_eq!((runs, said), (5, 5));
        assert!(trace.len() > 3);
    }
}
