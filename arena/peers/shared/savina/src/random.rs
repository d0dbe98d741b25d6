//! The pseudo-random numbers of the suite, and its way to pass time.

use std::hint::black_box;

/// The suite's own generator: 16 bits of state, the same numbers everywhere.
#[derive(Clone, Debug)]
pub struct PseudoRandom(i64);

impl PseudoRandom {
    pub fn new(seed: i64) -> Self {
        Self(seed)
    }

    /// The next number, from 0 to 65,535.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> i64 {
        self.0 = (self.0.wrapping_mul(1309).wrapping_add(13849)) & 65535;
        self.0
    }

    pub fn below(&mut self, limit: i64) -> i64 {
        self.next() % limit
    }

    /// In (0, 1], mostly small.
    pub fn fraction(&mut self) -> f64 {
        1.0 / (self.next() + 1) as f64
    }

    /// The generator's lowest bits have short periods; its highest has the longest.
    pub fn coin(&mut self) -> bool {
        self.next() >= 32768
    }
}

/// Draws so many numbers.
pub fn busy_wait(steps: i64) {
    let mut random = PseudoRandom::new(steps);
    for _ in 0..steps {
        random.next();
    }
    black_box(random);
}
