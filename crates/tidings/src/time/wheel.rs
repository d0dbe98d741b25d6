//! A hierarchical timing wheel: a container of deadlines.
//!
//! Whoever drives time (a worker, the timer thread) owns one, says what tick it is, and gets back
//! what is due. It reads no clock, locks nothing, and never looks at its payloads. The pair that
//! must be cheap is `insert` followed by `remove` long before the deadline, because that is what a
//! timeout on a channel operation does: both are O(1), touch the entry, its two neighbours and one
//! bit, and leave no work for later.
//!
//! 1. With `now` and a deadline written in base 64, the entry lives at the level of the highest
//!    digit in which they differ, in the slot of the deadline's digit there. So every occupied slot
//!    of a level lies ahead of `now`, nothing wraps around, and each level expires entirely before
//!    the next one starts.
//! 2. A slot is cascaded at the tick it begins, hence all entries of one deadline share a slot and
//!    keep their order.
//! 3. A bit of `occupied` is set exactly when its slot's list has an entry.
//! 4. Lists are circular through a sentinel, which makes linking and unlinking free of branches.
//!    The sentinels come first in `links`; entry `i` of the slab has its links at `HEADS + i`, and
//!    a key's index is that of the links.
//!
//! Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7; the
//! level by exclusive-or is known from Linux's and tokio's wheels.

const SLOT_BITS: u32 = 6;
const SLOTS: u32 = 1 << SLOT_BITS;
/// 11 digits of 6 bits hold any `u64`, so there is no overflow list and no deadline too far.
const LEVELS: usize = u64::BITS.div_ceil(SLOT_BITS) as usize;
/// The list of entries whose deadline had passed when they were inserted or cascaded; its sentinel
/// follows the slots'.
const DUE: u32 = LEVELS as u32 * SLOTS;
/// The number of sentinels.
const HEADS: u32 = DUE + 1;
/// The end of the free list; no links can have this index.
const NONE: u32 = u32::MAX;
/// An emptied wheel keeps room for this many entries (and the sentinels), so that only a burst pays
/// for growing.
const KEEP: usize = 1024;

/// Deadlines in ticks, each with a payload that comes out when it passes.
pub(crate) struct Wheel<P> {
    now: u64,
    /// One word per level, one bit per slot (invariant 3).
    occupied: [u64; LEVELS],
    /// The sentinels, then one per entry (invariant 4); empty until the first insert.
    links: Vec<Links>,
    entries: Vec<Entry<P>>,
    /// The first free entry's links, chained through `next`.
    free: u32,
    /// Counts insertions, over the wheel and not per entry, so that a slab that shrank cannot hand
    /// out an old key again.
    generation: u32,
    len: usize,
}

/// Names one insertion; it goes stale when its entry expires or is removed.
///
/// The generation wraps, so a stale key must not be held over exactly 2^32 later insertions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

#[derive(Clone, Copy)]
struct Links {
    prev: u32,
    next: u32,
}

struct Entry<P> {
    deadline: u64,
    generation: u32,
    /// `None` while the entry is free.
    payload: Option<P>,
}

/// An occupied slot: its sentinel, its level, and the tick at which it begins.
struct Slot {
    head: u32,
    level: usize,
    start: u64,
}

impl<P> Wheel<P> {
    /// An empty wheel whose current tick is `now`; it allocates nothing until the first insert.
    pub(crate) const fn new(now: u64) -> Self {
        Self {
            now,
            occupied: [0; LEVELS],
            links: Vec::new(),
            entries: Vec::new(),
            free: NONE,
            generation: 0,
            len: 0,
        }
    }

    /// Adds a deadline; one that has passed counts as the current tick and expires at the next
    /// `advance`.
    #[inline]
    pub(crate) fn insert(&mut self, deadline: u64, payload: P) -> Key {
        let index = if self.free == NONE {
            self.grow()
        } else {
            self.free
        };
        let generation = self.generation.wrapping_add(1);
        self.free = self.links[index as usize].next;
        self.generation = generation;
        self.len += 1;
        self.entries[(index - HEADS) as usize] = Entry {
            deadline,
            generation,
            payload: Some(payload),
        };
        self.place(index, deadline);
        Key { index, generation }
    }

    /// Takes a deadline back; `None` if it has expired or was removed.
    #[inline]
    pub(crate) fn remove(&mut self, key: Key) -> Option<P> {
        let payload = self.live(key)?.payload.take();
        self.unlink(key.index);
        self.release(key.index);
        payload
    }

    /// The tick at which to call `advance` next: at or before the earliest deadline, and after the
    /// current tick unless something is due already. `None` if the wheel is empty.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        if self.len == 0 {
            None
        } else if self.links[DUE as usize].next == DUE {
            self.first_slot().map(|slot| slot.start)
        } else {
            Some(self.now)
        }
    }

    /// Moves the current tick to `now` and hands out every payload whose deadline is not after it:
    /// earlier deadlines first, equal ones in the order they were inserted. Time does not go back:
    /// an earlier `now` expires only what is due.
    ///
    /// If `expired` panics, the payload it was given is gone and the others wait for the next
    /// `advance`.
    pub(crate) fn advance(&mut self, now: u64, expired: &mut impl FnMut(P)) {
        let target = self.now.max(now);
        while self.len != 0 {
            self.expire(DUE, expired);
            let Some(slot) = self.first_slot().filter(|slot| slot.start <= target) else {
                break;
            };
            self.now = slot.start;
            if slot.level == 0 {
                self.expire(slot.head, expired);
            } else {
                self.cascade(slot.head);
            }
        }
        self.now = target;
    }

    /// How many deadlines are waiting.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn live(&mut self, key: Key) -> Option<&mut Entry<P>> {
        self.entries
            .get_mut((key.index - HEADS) as usize)
            .filter(|entry| entry.generation == key.generation && entry.payload.is_some())
    }

    /// The occupied slot that begins first; by invariant 1 it is the first one of the lowest level
    /// that has any.
    fn first_slot(&self) -> Option<Slot> {
        let level = self.occupied.iter().position(|&bits| bits != 0)?;
        let digit = self.occupied[level].trailing_zeros();
        let shift = level as u32 * SLOT_BITS;
        let start = ((self.now >> shift) & !u64::from(SLOTS - 1) | u64::from(digit)) << shift;
        Some(Slot {
            head: level as u32 * SLOTS + digit,
            level,
            start,
        })
    }

    /// Hands out all entries of one list, each gone from the wheel before `expired` sees it.
    fn expire(&mut self, head: u32, expired: &mut impl FnMut(P)) {
        loop {
            let index = self.links[head as usize].next;
            if index == head {
                return;
            }
            let payload = self.entries[(index - HEADS) as usize].payload.take();
            self.unlink(index);
            self.release(index);
            payload.into_iter().for_each(&mut *expired);
        }
    }

    /// Places the entries of a slot that begins at the current tick anew, which is at lower levels
    /// or among the due.
    fn cascade(&mut self, head: u32) {
        loop {
            let index = self.links[head as usize].next;
            if index == head {
                return;
            }
            let deadline = self.entries[(index - HEADS) as usize].deadline;
            self.unlink(index);
            self.place(index, deadline);
        }
    }

    /// Appends an entry to the list its deadline belongs to.
    fn place(&mut self, index: u32, deadline: u64) {
        let head = if deadline <= self.now {
            DUE
        } else {
            let level = (self.now ^ deadline).ilog2() / SLOT_BITS;
            let digit = (deadline >> (level * SLOT_BITS)) as u32 % SLOTS;
            self.occupied[level as usize] |= 1 << digit;
            level * SLOTS + digit
        };
        let tail = self.links[head as usize].prev;
        self.links[index as usize] = Links {
            prev: tail,
            next: head,
        };
        self.links[tail as usize].next = index;
        self.links[head as usize].prev = index;
    }

    /// Takes an entry off its list.
    fn unlink(&mut self, index: u32) {
        let Links { prev, next } = self.links[index as usize];
        self.links[prev as usize].next = next;
        self.links[next as usize].prev = prev;
        // Equal neighbours are the sentinel twice: the list is empty now. `DUE` has no bit.
        if prev == next
            && let Some(bits) = self.occupied.get_mut((next / SLOTS) as usize)
        {
            *bits &= !(1 << (next % SLOTS));
        }
    }

    /// Gives an unlinked entry back to the slab.
    fn release(&mut self, index: u32) {
        self.links[index as usize].next = self.free;
        self.free = index;
        self.len -= 1;
        if self.len == 0 && self.entries.len() > KEEP {
            self.shrink();
        }
    }

    /// Makes one free entry at the end of the slab, and the sentinels with the first.
    #[cold]
    fn grow(&mut self) -> u32 {
        if self.links.is_empty() {
            self.links.extend((0..HEADS).map(|head| Links {
                prev: head,
                next: head,
            }));
        }
        let index = self.links.len() as u32;
        assert!(
            index != NONE,
            "a timing wheel holds fewer than 2^32 deadlines"
        );
        self.links.push(Links {
            prev: NONE,
            next: NONE,
        });
        self.entries.push(Entry {
            deadline: 0,
            generation: 0,
            payload: None,
        });
        index
    }

    /// Gives the memory of a burst back; all entries are free.
    #[cold]
    fn shrink(&mut self) {
        self.free = NONE;
        self.entries.clear();
        self.entries.shrink_to(KEEP);
        self.links.truncate(HEADS as usize);
        self.links.shrink_to(HEADS as usize + KEEP);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{KEEP, Key, Wheel};

    fn advanced<P>(wheel: &mut Wheel<P>, now: u64) -> Vec<P> {
        let mut expired = Vec::new();
        wheel.advance(now, &mut |payload| expired.push(payload));
        expired
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// A deadline relative to the current tick; a negative one has passed.
        Insert(i128),
        /// Removes the key of the n-th insertion, stale or not.
        Remove(usize),
        Advance(u64),
        /// Advances to exactly what `next_expiry` says.
        Follow,
    }

    /// Distances of every magnitude, most of them near, some at the borders of a level.
    fn distance() -> impl Strategy<Value = u64> {
        prop_oneof![
            4 => 0u64..200,
            4 => (0u32..64, any::<u64>()).prop_map(|(bits, n)| n >> bits),
            2 => (1u32..11, 0u64..3).prop_map(|(level, n)| (1 << (6 * level)) - 1 + n),
            1 => Just(u64::MAX),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => distance().prop_map(|n| Step::Insert(i128::from(n))),
            1 => (0i128..100).prop_map(|n| Step::Insert(-n)),
            5 => any::<usize>().prop_map(Step::Remove),
            2 => distance().prop_map(Step::Advance),
            2 => Just(Step::Follow),
        ]
    }

    /// What a wheel must do: payloads are insertion numbers, ordered by deadline and then by
    /// number.
    #[derive(Default)]
    struct Model {
        now: u64,
        waiting: BTreeMap<(u64, usize), ()>,
        keys: Vec<(Key, u64)>,
    }

    impl Model {
        fn due_by(&mut self, target: u64) -> Vec<usize> {
            self.now = self.now.max(target);
            let later = self.waiting.split_off(&(self.now, usize::MAX));
            std::mem::replace(&mut self.waiting, later)
                .into_keys()
                .map(|(_, number)| number)
                .collect()
        }

        fn apply(&mut self, wheel: &mut Wheel<usize>, step: &Step) {
            let earliest = self.waiting.keys().next().map(|&(deadline, _)| deadline);
            match *step {
                Step::Insert(distance) => {
                    let deadline =
                        (i128::from(self.now) + distance).clamp(0, u64::MAX.into()) as u64;
                    let number = self.keys.len();
                    let counted = deadline.max(self.now);
                    self.waiting.insert((counted, number), ());
                    self.keys.push((wheel.insert(deadline, number), counted));
                }
                Step::Remove(_) if self.keys.is_empty() => {}
                Step::Remove(n) => {
                    let number = n % self.keys.len();
                    let (key, deadline) = self.keys[number];
                    let expected = self.waiting.remove(&(deadline, number)).map(|()| number);
                    assert_eq!(wheel.live(key).and_then(|entry| entry.payload), expected);
                    assert_eq!(wheel.remove(key), expected);
                }
                Step::Advance(distance) => {
                    let target = self.now.saturating_add(distance);
                    assert_eq!(advanced(wheel, target), self.due_by(target));
                }
                Step::Follow => {
                    let next = wheel.next_expiry();
                    assert_eq!(next.is_some(), earliest.is_some());
                    if let (Some(next), Some(earliest)) = (next, earliest) {
                        assert!(next <= earliest && (next > self.now || earliest == self.now));
                        assert_eq!(advanced(wheel, next), self.due_by(next));
                    }
                }
            }
            assert_eq!(wheel.len(), self.waiting.len());
        }
    }

    proptest! {
        #[test]
        fn a_wheel_does_what_an_ordered_map_does(
            start in prop_oneof![Just(0), distance()],
            steps in prop::collection::vec(step(), 1..200),
        ) {
            let mut wheel = Wheel::new(start);
            let mut model = Model { now: start, ..Model::default() };
            for step in &steps {
                model.apply(&mut wheel, step);
            }
            prop_assert_eq!(advanced(&mut wheel, u64::MAX), model.due_by(u64::MAX));
            prop_assert_eq!(wheel.next_expiry(), None);
        }
    }

    #[test]
    fn next_expiry_leads_to_the_farthest_deadline_in_one_step_per_level() {
        let mut wheel = Wheel::new(0);
        wheel.insert(u64::MAX, ());
        let mut steps = 0;
        while let Some(next) = wheel.next_expiry() {
            advanced(&mut wheel, next);
            steps += 1;
        }
        assert_eq!(steps, super::LEVELS);
    }

    #[test]
    fn a_panic_while_expiring_keeps_the_other_deadlines() {
        let mut wheel = Wheel::new(0);
        for number in 0..3 {
            wheel.insert(70, number);
        }
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wheel.advance(100, &mut |number| assert_ne!(number, 1));
        }));
        assert!(unwound.is_err());
        assert_eq!(wheel.next_expiry(), Some(70));
        assert_eq!(advanced(&mut wheel, 100), [2]);
    }

    #[test]
    fn a_key_from_before_the_slab_shrank_stays_stale() {
        let mut wheel = Wheel::new(0);
        assert_eq!(wheel.entries.capacity() + wheel.links.capacity(), 0);
        let keys: Vec<Key> = (0..10 * KEEP)
            .map(|number| wheel.insert(5, number))
            .collect();
        assert_eq!(advanced(&mut wheel, 5).len(), keys.len());
        assert!(wheel.entries.capacity() < 2 * KEEP);
        assert!(wheel.links.capacity() < super::HEADS as usize + 2 * KEEP);
        let fresh = wheel.insert(9, 7);
        assert!(keys.iter().all(|&key| wheel.remove(key).is_none()));
        assert_eq!(wheel.remove(fresh), Some(7));
    }
}
