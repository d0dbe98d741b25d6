//! banking: which account pays which.

use crate::PseudoRandom;

/// One transaction. `from` is always lower than `to`, so that accounts never wait for each other in a circle.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub from: usize,
    pub to: usize,
    pub amount: i64,
}

/// The transactions of the teller, without an end.
#[derive(Debug)]
pub struct Transfers {
    random: PseudoRandom,
    accounts: i64,
}

impl Transfers {
    pub fn new(accounts: i64) -> Self {
        Self {
            random: PseudoRandom::new(123_456),
            accounts,
        }
    }
}

impl Iterator for Transfers {
    type Item = Transfer;

    fn next(&mut self) -> Option<Transfer> {
        let from = self.random.below(self.accounts / 10 * 8);
        let further = self.random.below(self.accounts - from).max(1);
        Some(Transfer {
            from: from as usize,
            to: (from + further) as usize,
            amount: self.random.below(1000) + 1,
        })
    }
}
