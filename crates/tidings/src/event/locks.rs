//! Locking all sources of a choice, in address order, so that no two choices deadlock.

use std::ptr;

#[cfg(debug_assertions)]
use super::made::Made;
#[cfg(not(loom))]
use crate::primitive::LeaningLock as Raw;
#[cfg(loom)]
use crate::primitive::Met;
#[cfg(loom)]
use crate::primitive::RawLock as Raw;
use crate::task::here;

/// The lock of a source, as choices see it.
#[derive(Debug)]
pub(crate) struct Lock {
    raw: Raw,
    /// A model repeats its runs step by step, but not its addresses: there locks are ordered by
    /// when they were made.
    #[cfg(any(loom, shuttle))]
    number: usize,
    /// The line that made the source, for reports.
    #[cfg(debug_assertions)]
    pub(super) made: Made,
}

impl Lock {
    #[cfg(not(any(loom, shuttle)))]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn new() -> Self {
        Self {
            raw: Raw::new(),
            #[cfg(debug_assertions)]
            made: Made::here(),
        }
    }

    #[cfg(any(loom, shuttle))]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn new() -> Self {
        static MADE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self {
            raw: Raw::new(),
            number,
            #[cfg(debug_assertions)]
            made: Made::here(),
        }
    }

    /// The place in the order in which a choice takes its locks.
    #[inline(always)]
    fn place(&self) -> usize {
        #[cfg(not(any(loom, shuttle)))]
        return ptr::from_ref(self).addr();
        #[cfg(any(loom, shuttle))]
        self.number
    }

    #[inline(always)]
    pub(crate) fn lock(&self) {
        if !self.enter() {
            self.lock_openly();
        }
    }

    /// As `lock`, where `enter` has said no. In place: a call stores, and the read-modify-write waits for that.
    #[inline(always)]
    fn lock_openly(&self) {
        let me = here::me();
        // Models of those who use it have a lock of loom's; `models/leaning.rs` explores this one.
        #[cfg(loom)]
        let met = Met::holder(self.raw.lock(me.name));
        #[cfg(not(loom))]
        let met = self.raw.lock_openly(me);
        if let Some(whom) = met {
            crate::sched::met(whom);
        }
    }

    /// As `lock`, if that takes no read-modify-write: it leans towards this thread.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        #[cfg(not(loom))]
        return self.raw.enter(here::me());
        // What is done with it is explored all the same.
        #[cfg(loom)]
        {
            self.lock_openly();
            true
        }
    }

    /// Waits until the last who has it has let go of it. What he did with it happened before; nobody else comes.
    #[inline(always)]
    pub(crate) fn see_out(&self) {
        #[cfg(not(loom))]
        self.raw.see_out();
        #[cfg(loom)]
        {
            self.lock();
            self.unlock();
        }
    }

    /// As `unlock`, by who has entered.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        #[cfg(not(loom))]
        self.raw.leave();
        #[cfg(loom)]
        self.unlock();
    }

    #[inline(always)]
    pub(crate) fn unlock(&self) {
        self.raw.unlock();
    }

    /// This one held, and no other: takes `other`, too. `false`: this one was let go of meanwhile, since others
    /// take the two in the other order.
    #[inline(always)]
    pub(super) fn and(&self, other: &Self) -> bool {
        // Who enters waits for nobody, so it needs no order.
        if ptr::eq(self, other) || (!cfg!(loom) && other.enter()) {
            return true;
        }
        let in_order = self.place() < other.place();
        if in_order {
            other.lock_openly();
        } else {
            self.unlock();
            other.lock();
            self.lock();
        }
        in_order
    }
}

/// Branches up to this many need no allocation.
const INLINE: usize = 8;

/// The locks of a choice; a source that occurs twice is locked once.
#[derive(Debug, Default)]
pub(crate) struct Locks<'a> {
    inline: [Option<&'a Lock>; INLINE],
    len: usize,
    more: Vec<&'a Lock>,
}

impl<'a> Locks<'a> {
    /// So many are going to be added.
    pub(crate) fn expect(&mut self, n: usize) {
        if self.len + n > INLINE {
            self.more.reserve(n);
        }
    }

    /// As `add`, of one that is likely the only one: apart.
    pub(crate) fn add_only(&mut self, lock: &'a Lock) {
        self.add(lock);
    }

    #[inline]
    pub(crate) fn add(&mut self, lock: &'a Lock) {
        if self.len < INLINE {
            // Insertion sort: there are few.
            let mut at = self.len;
            while at > 0 {
                let before = self.inline[at - 1];
                if before.is_some_and(|before| before.place() <= lock.place()) {
                    break;
                }
                self.inline[at] = before;
                at -= 1;
            }
            if at > 0 && self.inline[at - 1].is_some_and(|before| ptr::eq(before, lock)) {
                // Undo the shift: it is there already.
                for index in at..self.len {
                    self.inline[index] = self.inline[index + 1];
                }
                self.inline[self.len] = None;
                return;
            }
            self.inline[at] = Some(lock);
            self.len += 1;
        } else {
            self.more.push(lock);
        }
    }

    /// Takes them all.
    #[inline]
    pub(crate) fn lock_all(&mut self) {
        if !self.more.is_empty() {
            self.more
                .extend(self.inline.iter_mut().filter_map(Option::take));
            self.len = 0;
            self.more.sort_unstable_by_key(|lock| lock.place());
            self.more.dedup_by(|a, b| ptr::eq(*a, *b));
        }
        self.each(Lock::lock);
    }

    #[inline]
    pub(crate) fn unlock_all(&self) {
        self.each(Lock::unlock);
    }

    /// As `unlock_all`, not in place.
    #[cold]
    pub(crate) fn leave_all(self) {
        self.unlock_all();
    }

    #[inline]
    fn each(&self, f: impl Fn(&Lock)) {
        self.inline[..self.len]
            .iter()
            .flatten()
            .for_each(|lock| f(lock));
        self.more.iter().for_each(|lock| f(lock));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::cell::RefCell;

    use super::{INLINE, Lock, Locks};

    /// The places of these, as a choice takes them that has each of its branches in this order.
    fn taken<'a>(sources: impl IntoIterator<Item = &'a Lock>) -> Vec<usize> {
        let mut locks = Locks::default();
        sources.into_iter().for_each(|lock| locks.add(lock));
        locks.lock_all();
        let taken = RefCell::default();
        locks.each(|lock| Vec::push(&mut taken.borrow_mut(), lock.place()));
        locks.unlock_all();
        taken.into_inner()
    }

    #[test]
    fn each_lock_of_a_choice_is_taken_once_in_the_order_of_all_choices() {
        let all: Vec<Lock> = (0..20).map(|_| Lock::new()).collect();
        for n in [1, 2, 3, INLINE, INLINE + 1, 20] {
            let some = &all[..n];
            let places: Vec<usize> = some.iter().map(Lock::place).collect();
            assert_eq!(taken(some), places);
            assert_eq!(taken(some.iter().rev()), places);
            let (odd, even) = (some.iter().skip(1).step_by(2), some.iter().step_by(2));
            assert_eq!(taken(odd.chain(even)), places);
            assert_eq!(taken(some.iter().chain(some)), places);
            assert_eq!(taken(some.iter().chain(some).rev()), places);
        }
    }

    #[test]
    fn a_few_sources_take_no_memory_and_many_take_it_at_once() {
        let more = |added: usize, expected| {
            let all: Vec<Lock> = (0..added).map(|_| Lock::new()).collect();
            let mut locks = Locks::default();
            all.iter().for_each(|lock| locks.add(lock));
            locks.expect(expected);
            locks.more.capacity()
        };
        assert_eq!((more(0, INLINE), more(1, INLINE - 1)), (0, 0));
        assert!(more(0, INLINE + 1) > INLINE);
        assert!(more(1, INLINE) >= INLINE);
    }
}
