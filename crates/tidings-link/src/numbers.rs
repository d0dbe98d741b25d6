//! Numbers that are in use: the lowest free ones are given out, so that tables stay short. And tables
//! by numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use tidings::remote::prefetch_first;

/// A table by numbers, which the peer may have chosen.
pub(crate) type ByNumber<T> = HashMap<u32, T, Multiply>;

/// Multiplication by a number that nobody outside knows: who chooses the keys cannot make them fall
/// together, and it costs a tenth of std's.
#[derive(Clone, Debug)]
pub(crate) struct Multiply(u64);

impl Default for Multiply {
    fn default() -> Self {
        static FACTOR: OnceLock<u64> = OnceLock::new();
        Self(*FACTOR.get_or_init(|| RandomState::new().hash_one(0) | 1))
    }
}

impl BuildHasher for Multiply {
    type Hasher = Product;
    fn build_hasher(&self) -> Product {
        Product(self.0)
    }
}

/// Empties a table, in the order of the numbers: a table's own differs from run to run, and what is
/// done in it would.
pub(crate) fn in_order<T>(table: &mut ByNumber<T>) -> Vec<(u32, T)> {
    let mut all: Vec<_> = table.drain().collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    all
}

pub(crate) struct Product(u64);

impl Hasher for Product {
    fn finish(&self) -> u64 {
        // A table looks at the lowest bits, and what is best mixed are the highest.
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }
    fn write_u32(&mut self, number: u32) {
        // 0 is a number, too.
        self.0 = self.0.wrapping_mul(u64::from(number) + (1 << 32));
    }
}

/// A set of numbers below a limit.
#[derive(Debug)]
pub(crate) struct Numbers {
    used: Vec<bool>,
    /// Below the length of `used`, and not in use; there may be more.
    free: Vec<u32>,
    count: u32,
    limit: u32,
}

impl Numbers {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            used: Vec::new(),
            free: Vec::new(),
            count: 0,
            limit,
        }
    }

    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        prefetch_first(&self.used);
        prefetch_first(&self.free);
    }

    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count >= self.limit
    }

    /// A number that is in use from here on. For sets into which nobody inserts.
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.used.push(false);
            u32::try_from(self.used.len() - 1).expect("below the limit")
        });
        self.used[number as usize] = true;
        self.count += 1;
        Some(number)
    }

    /// This number is in use from here on. `false`: it was.
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let index = number as usize;
        if index >= self.used.len() {
            self.used.resize(index + 1, false);
        }
        let fresh = !std::mem::replace(&mut self.used[index], true);
        self.count += u32::from(fresh);
        fresh
    }

    /// `false`: it was not in use.
    pub(crate) fn remove(&mut self, number: u32) -> bool {
        let Some(used) = self.used.get_mut(number as usize) else {
            return false;
        };
        let was = std::mem::replace(used, false);
        self.count -= u32::from(was);
        was
    }

    /// As `remove`; `next` may give it out again.
    pub(crate) fn give_back(&mut self, number: u32) -> bool {
        let was = self.remove(number);
        if was {
            self.free.push(number);
        }
        was
    }
}
