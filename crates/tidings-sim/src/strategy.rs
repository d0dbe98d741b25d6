//! How a run is chosen among all there are.

/// How the schedules of a simulation are chosen; each seed is one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// By seed in turn: `Random` with more or less of a tendency to let a task go on, and `Pct` of a depth of
    /// 1 to 4.
    #[default]
    Mixed,
    /// Any task that can run is as likely as any other.
    Random,
    /// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte 2010): tasks have
    /// random priorities, the highest runs, and at `depth - 1` random moments the one that runs becomes
    /// the lowest. Meant for a bug that needs `depth` orderings. The paper's probability of finding it is for runs of a
    /// known length; here the length is guessed, a task that runs a hundred times in a row becomes the lowest, too, and
    /// after 5,000 polls any task is as likely as any other.
    Pct {
        /// How many orderings a bug may need: 1 to 4 find most.
        depth: usize,
    },
    /// Not by chance: every run that takes another alternative than the first, the next task in the
    /// queue, at most so many times (delay bounding: Emmi, Qadeer, Rakamaric 2011). For small programs: it ends after
    /// 100,000 runs, or as many as [`Sim::seeds`](crate::Sim::seeds) says.
    Exhaustive {
        /// How many decisions may differ from the first alternative.
        delays: usize,
    },
}

/// `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        // The product's high half is below n.
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// Decides for one seed.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    dice: Dice,
    how: How,
    /// A task lets others run before its next communication once in so many times; 0: never.
    yields: usize,
}

#[derive(Clone, Debug)]
enum How {
    /// The task at the end of the queue, the one woken last, goes first once in so many times; 0: never.
    Random {
        eager: usize,
    },
    Pct(Pct),
}

/// The priorities of tasks by their numbers, and when they change.
#[derive(Clone, Debug)]
struct Pct {
    priorities: Vec<(u64, u64)>,
    /// Steps left until the one that runs becomes the lowest, the next change last.
    changes: Vec<usize>,
    step: usize,
    lowest: u64,
    /// Who ran last, and how often in a row: one that only yields must not keep all others out.
    streak: (u64, usize),
}

/// Priorities begin above this; those that were changed are below.
const HIGH: u64 = 1 << 32;
/// So often in a row the highest may run.
const STREAK: usize = 100;
/// After so many steps any task is as likely as any other: two that keep each other going, one that
/// waits for what a third is to do, keep the third out for ever (Coyote's fair PCT).
const UNFAIR: usize = 5_000;

impl Chooser {
    pub(crate) fn new(strategy: Strategy, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let how = match strategy {
            Strategy::Random => How::Random { eager: 0 },
            Strategy::Exhaustive { .. } => unreachable!("a search has traces, not seeds"),
            Strategy::Pct { depth } => How::Pct(Pct::new(depth, &mut dice)),
            Strategy::Mixed => match seed % 4 {
                0 => How::Random { eager: 0 },
                1 => How::Random {
                    eager: 2 + dice.below(8),
                },
                _ => {
                    let depth = 1 + dice.below(4);
                    How::Pct(Pct::new(depth, &mut dice))
                }
            },
        };
        let yields = match strategy {
            // It decides at every communication, which mostly is to let the same task go on.
            _ if matches!(how, How::Pct(_)) => 1,
            Strategy::Mixed => [0, 2, 4, 16][dice.below(4)],
            _ => 2,
        };
        Self { dice, how, yields }
    }

    pub(crate) fn yields(&mut self) -> bool {
        self.yields > 0 && self.dice.below(self.yields) == 0
    }

    pub(crate) fn wants_tasks(&self) -> bool {
        matches!(self.how, How::Pct(_))
    }

    pub(crate) fn other(&mut self, n: usize) -> usize {
        self.dice.below(n)
    }

    pub(crate) fn task(&mut self, n: usize, tasks: &[u64]) -> usize {
        match &mut self.how {
            How::Random { eager } if *eager > 0 && self.dice.below(*eager) > 0 => n - 1,
            How::Random { .. } => self.dice.below(n),
            How::Pct(pct) => pct.pick(tasks, &mut self.dice),
        }
    }
}

impl Pct {
    fn new(depth: usize, dice: &mut Dice) -> Self {
        // How long the run will be is not known: any order of magnitude is as likely.
        let length = 16 << dice.below(9);
        let mut changes: Vec<usize> = (1..depth).map(|_| dice.below(length)).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            priorities: Vec::new(),
            changes,
            step: 0,
            lowest: HIGH,
            streak: (u64::MAX, 0),
        }
    }

    fn pick(&mut self, tasks: &[u64], dice: &mut Dice) -> usize {
        self.step += 1;
        if self.step > UNFAIR {
            return dice.below(tasks.len());
        }
        let mut best = (0, 0);
        for (index, &task) in tasks.iter().enumerate() {
            let priority = match self
                .priorities
                .binary_search_by_key(&task, |&(task, _)| task)
            {
                Ok(at) => self.priorities[at].1,
                Err(at) => {
                    let priority = HIGH + 1 + dice.below(HIGH as usize) as u64;
                    self.priorities.insert(at, (task, priority));
                    priority
                }
            };
            if priority > best.0 {
                best = (priority, index);
            }
        }
        let task = tasks[best.1];
        self.streak = match self.streak {
            (last, n) if last == task => (task, n + 1),
            _ => (task, 1),
        };
        let due = self.changes.last().is_some_and(|&at| at < self.step);
        if due || self.streak.1 >= STREAK {
            if due {
                self.changes.pop();
            }
            self.lowest -= 1;
            if let Ok(at) = self
                .priorities
                .binary_search_by_key(&task, |&(task, _)| task)
            {
                self.priorities[at].1 = self.lowest;
            }
            self.streak = (u64::MAX, 0);
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::{Chooser, Strategy};

    #[test]
    fn pct_lets_the_highest_go_on_until_it_changes() {
        let mut longest = 0;
        for seed in 0..50 {
            let mut chooser = Chooser::new(Strategy::Pct { depth: 2 }, seed);
            let tasks = [3, 5, 9];
            let picks: Vec<usize> = (0..40).map(|_| chooser.task(3, &tasks)).collect();
            let changes = picks.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert!(changes <= 1, "{picks:?}");
            longest = longest.max(changes);
        }
        assert_eq!(longest, 1, "some change comes within 40 steps");
    }

    #[test]
    fn pct_starves_nobody_for_ever() {
        let mut chooser = Chooser::new(Strategy::Pct { depth: 1 }, 1);
        let picks: Vec<usize> = (0..1000).map(|_| chooser.task(3, &[0, 1, 2])).collect();
        assert!((0..3).all(|task| picks.contains(&task)));
        for seed in 0..20 {
            // Two that run in turn, whatever their priorities are, and one beside them.
            let mut chooser = Chooser::new(Strategy::Pct { depth: 1 }, seed);
            assert!((0..20_000).any(|n| chooser.task(2, &[n % 2, 2]) == 1));
        }
    }

    #[test]
    fn a_seed_is_a_schedule() {
        for seed in 0..20 {
            let picks = |mut chooser: Chooser| -> Vec<usize> {
                (0..50).map(|_| chooser.task(4, &[0, 1, 2, 3])).collect()
            };
            let [one, two] = [(); 2].map(|()| picks(Chooser::new(Strategy::Mixed, seed)));
            assert_eq!(one, two);
        }
    }
}
