//! Numbers that are in use: the lowest free ones are given out, so that tables stay short. And tables
//! by numbers.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use tidings::remote::prefetch_first;

/// How many entries an empty table keeps room for.
const KEPT: usize = 1 << 10;

/// A table by numbers, which the peer may have chosen.
///
/// One entry lies in the table itself: of links over which one actor is called, and they are many,
/// each table has no other. Finding it is a comparison, and reads no memory elsewhere.
#[derive(Debug)]
pub(crate) struct ByNumber<T> {
    first: Option<(u32, T)>,
    /// None of these has the number of `first`.
    more: HashMap<u32, T, Multiply>,
}

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self {
            first: None,
            more: HashMap::default(),
        }
    }
}

impl<T> ByNumber<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        let first = self.first.iter().map(|(_, value)| value);
        first.chain(self.more.values())
    }

    /// In no order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let first = self
            .first
            .iter_mut()
            .map(|(number, value)| (*number, value));
        let more = self.more.iter_mut();
        first.chain(more.map(|(number, value)| (*number, value)))
    }

    /// The entry that lies in the table, if there is one.
    pub(crate) fn first(&self) -> Option<&T> {
        self.first.as_ref().map(|(_, value)| value)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        match &self.first {
            Some((known, value)) if *known == number => Some(value),
            _ => self.more.get(&number),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match &mut self.first {
            Some((known, value)) if *known == number => Some(value),
            _ => self.more.get_mut(&number),
        }
    }

    /// What has this number; if nothing has, what is made.
    #[inline]
    pub(crate) fn get_or_insert_with(&mut self, number: u32, make: impl FnOnce() -> T) -> &mut T {
        let lies_elsewhere = match &self.first {
            Some((known, _)) => *known != number,
            None => self.more.contains_key(&number),
        };
        if lies_elsewhere {
            return self.more.entry(number).or_insert_with(make);
        }
        &mut self.first.get_or_insert_with(|| (number, make())).1
    }

    /// Puts it in the place of what has this number.
    #[inline]
    pub(crate) fn insert(&mut self, number: u32, value: T) {
        drop(self.remove(number));
        self.get_or_insert_with(number, || value);
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let first = self.first.take_if(|(known, _)| *known == number);
        let first = first.map(|(_, value)| value);
        first.or_else(|| {
            let value = self.more.remove(&number);
            if self.more.is_empty() {
                self.more.shrink_to(KEPT);
            }
            value
        })
    }

    /// Empties it, in the order of the numbers: the table's own differs from run to run, and what is
    /// done in it would.
    pub(crate) fn take_in_order(&mut self) -> Vec<(u32, T)> {
        let mut all: Vec<_> = self.first.take().into_iter().collect();
        all.extend(self.more.drain());
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }
}

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

/// A table by the numbers of the peer's calls. It is to choose low ones: those lie in a row. One that is
/// not low costs no more room than itself.
#[derive(Debug)]
pub(crate) struct LowFirst<T> {
    low: Vec<Option<T>>,
    high: BTreeMap<u32, T>,
}

/// Numbers below this are low.
const LOW: usize = 1 << 12;

impl<T> Default for LowFirst<T> {
    fn default() -> Self {
        Self {
            low: Vec::new(),
            high: BTreeMap::new(),
        }
    }
}

impl<T> LowFirst<T> {
    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        prefetch_first(&self.low);
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        match number as usize {
            low if low < LOW => self.low.get(low)?.as_ref(),
            _ => self.high.get(&number),
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, number: u32, value: T) {
        let low = number as usize;
        if low >= LOW {
            self.high.insert(number, value);
            return;
        }
        if low >= self.low.len() {
            self.low.resize_with(low + 1, || None);
        }
        self.low[low] = Some(value);
    }

    /// In the order of their numbers.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        let low = self.low.into_iter().flatten();
        low.chain(self.high.into_values())
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        match number as usize {
            low if low < LOW => self.low.get_mut(low)?.take(),
            _ => self.high.remove(&number),
        }
    }
}

/// How a number is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    No,
    Yes,
    /// As above; something waits to be written that speaks of it.
    Spoken,
    /// No more. What waits to be written is of what it was.
    Over,
}

/// A set of numbers below a limit.
#[derive(Debug)]
pub(crate) struct Numbers {
    used: Vec<Use>,
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

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.count >= self.limit
    }

    /// A number that is in use from here on. For sets into which nobody inserts.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.used.push(Use::No);
            u32::try_from(self.used.len() - 1).expect("below the limit")
        });
        self.used[number as usize] = Use::Yes;
        self.count += 1;
        Some(number)
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        let known = self.used.get(number as usize);
        matches!(known, Some(Use::Yes | Use::Spoken))
    }

    /// This number is in use from here on, and was not.
    #[inline]
    pub(crate) fn insert(&mut self, number: u32) {
        let index = number as usize;
        if index >= self.used.len() {
            self.used.resize(index + 1, Use::No);
        }
        self.used[index] = Use::Yes;
        self.count += 1;
    }

    /// `false`: it was not in use.
    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> bool {
        let Some(used @ (Use::Yes | Use::Spoken)) = self.used.get_mut(number as usize) else {
            return false;
        };
        *used = Use::No;
        self.count -= 1;
        true
    }

    /// As `remove`; `next` may give it out again, once nothing waits that speaks of it.
    #[inline]
    pub(crate) fn give_back(&mut self, number: u32) -> bool {
        if let Some(used @ Use::Spoken) = self.used.get_mut(number as usize) {
            *used = Use::Over;
            return true;
        }
        let was = self.remove(number);
        if was {
            self.free.push(number);
        }
        was
    }

    /// What waits to be written speaks of this number, which is in use.
    pub(crate) fn speak(&mut self, number: u32) {
        if let Some(used @ Use::Yes) = self.used.get_mut(number as usize) {
            *used = Use::Spoken;
        }
    }

    /// That is written.
    pub(crate) fn spoken(&mut self, number: u32) {
        match self.used.get_mut(number as usize) {
            Some(used @ Use::Spoken) => *used = Use::Yes,
            Some(used @ Use::Over) => {
                *used = Use::No;
                self.count -= 1;
                self.free.push(number);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_not_given_out_while_something_waits_that_speaks_of_what_it_was() {
        let mut numbers = Numbers::new(2);
        assert_eq!((numbers.next(), numbers.next()), (Some(0), Some(1)));
        numbers.speak(1);
        assert!(numbers.give_back(1) && !numbers.give_back(1) && !numbers.contains(1));
        assert!(numbers.is_full() && numbers.next().is_none());
        numbers.spoken(1);
        assert_eq!(numbers.next(), Some(1));
        // It is written before the end of what it speaks of.
        numbers.speak(0);
        numbers.spoken(0);
        assert!(numbers.contains(0) && numbers.give_back(0));
        assert_eq!(numbers.next(), Some(0));
    }

    #[test]
    fn one_high_number_costs_no_room_for_those_below() {
        let mut table = LowFirst::default();
        for number in [0, 7, 4_095, 4_096, u32::MAX] {
            table.insert(number, number);
            assert_eq!(table.get(number), Some(&number));
        }
        assert!(table.low.len() <= LOW && table.high.len() == 2);
        for number in [0, 7, 4_095, 4_096, u32::MAX] {
            assert_eq!(table.remove(number), Some(number));
            assert_eq!(table.get(number), None);
            assert_eq!(table.remove(number), None);
        }
    }

    proptest! {
        #[test]
        fn a_table_is_as_an_ordered_map_wherever_its_entries_lie(
            acts in prop::collection::vec((0_u8..5, 0_u32..6), 0..80),
        ) {
            let (mut table, mut map) = (ByNumber::default(), BTreeMap::new());
            for (value, (act, number)) in acts.into_iter().enumerate() {
                match act {
                    0 => {
                        table.insert(number, value);
                        map.insert(number, value);
                    }
                    1 => prop_assert_eq!(table.remove(number), map.remove(&number)),
                    2 => prop_assert_eq!(table.get_mut(number), map.get_mut(&number)),
                    3 => {
                        let known = *table.get_or_insert_with(number, || value);
                        prop_assert_eq!(known, *map.entry(number).or_insert(value));
                    }
                    _ => prop_assert_eq!(table.get(number), map.get(&number)),
                }
                prop_assert_eq!((table.len(), table.is_empty()), (map.len(), map.is_empty()));
                let first = table.first();
                prop_assert!(first.is_none_or(|first| map.values().any(|known| known == first)));
                let mut values: Vec<_> = table.values().copied().collect();
                values.sort_unstable();
                let mut known: Vec<_> = map.values().copied().collect();
                known.sort_unstable();
                prop_assert_eq!(values, known);
            }
            prop_assert_eq!(table.take_in_order(), map.into_iter().collect::<Vec<_>>());
            prop_assert!(table.is_empty());
        }
    }
}
