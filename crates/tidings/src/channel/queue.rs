//! The queue of a channel: its first value in place, the others in blocks.
//!
//! Most queues of a busy program hold one value or none: those have no block. A longer one is a list
//! of blocks from the slab, as many as its values fill: nothing is moved when it grows, a burst
//! leaves nothing behind, and memory comes from the allocator only while a peak is new.

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use crate::primitive::slab;

/// First in, first out. While `first` is there it is older than all others.
#[derive(Debug)]
pub(super) struct Queue<T> {
    first: Option<T>,
    /// With `back`, and without `front`: the number of all values. So one that is put or taken in a block changes one
    /// place. It wraps.
    rest: usize,
    /// Where the next value is taken from, in the first block; there is one while one is needed.
    head: *mut Block,
    /// Where the next value is put, in the last block.
    tail: *mut Block,
    front: u8,
    back: u8,
    /// Up to where values may be put with no look at the channel (`grant`). Before it, there are values.
    granted: u8,
}

/// What lies before the values of a block.
#[derive(Debug)]
struct Block {
    next: *mut Self,
}

impl<T> Queue<T> {
    /// How many values a block holds: fewer of large ones.
    const LEN: u8 = Self::fit(4096, 16) as u8;
    /// How many are moved out for one lock, which others wait for meanwhile.
    pub(super) const AT_ONCE: usize = Self::fit(4 * 4096, 256);
    const ALIGN: usize = if align_of::<T>() > align_of::<Block>() {
        align_of::<T>()
    } else {
        align_of::<Block>()
    };
    /// Where the values of a block begin.
    const VALUES: usize = size_of::<Block>().next_multiple_of(Self::ALIGN);
    const CLASS: slab::Class = slab::Class::of_bytes(
        Self::VALUES + Self::LEN as usize * size_of::<T>(),
        Self::ALIGN,
        slab::Kind::Channel,
    );

    /// How many values are no more than so many bytes: `most` at most, and one at least.
    const fn fit(bytes: usize, most: usize) -> usize {
        match bytes.checked_div(size_of::<T>()) {
            Some(0) => 1,
            Some(n) if n < most => n,
            _ => most,
        }
    }

    pub(super) const fn new() -> Self {
        Self {
            first: None,
            rest: (0_usize).wrapping_sub(Self::LEN as usize),
            head: ptr::null_mut(),
            tail: ptr::null_mut(),
            front: 0,
            back: Self::LEN,
            granted: 0,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        let behind = usize::from(self.back).wrapping_sub(usize::from(self.front));
        self.rest.wrapping_add(behind)
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.head.is_null()
    }

    /// Moves the end of what the head and the tail have; the number of values is the same.
    #[inline(always)]
    fn turn(&mut self, front: u8, back: u8) {
        let len = self.len();
        (self.front, self.back) = (front, back);
        self.rest = 0;
        self.rest = len.wrapping_sub(self.len());
    }

    /// # Safety
    /// The block is one of this queue's, and `at` less than `LEN`.
    #[inline(always)]
    unsafe fn place(block: *mut Block, at: u8) -> *mut T {
        // SAFETY: the caller's promise; a block was made for as many values.
        unsafe {
            block
                .byte_add(Self::VALUES)
                .cast::<T>()
                .add(usize::from(at))
        }
    }

    /// A block that is in no list.
    fn block(next: *mut Block) -> *mut Block {
        let block = slab::alloc(Self::CLASS).cast::<Block>().as_ptr();
        // SAFETY: the slot is ours, large enough and aligned.
        unsafe { block.write(Block { next }) };
        block
    }

    /// # Safety
    /// The block is one of this queue's, none of its places holds a value, and it is not used again.
    unsafe fn free(block: *mut Block) {
        // SAFETY: the caller's promise; it came from `block`.
        unsafe { slab::free(NonNull::new_unchecked(block.cast()), Self::CLASS) };
    }

    /// Appends a value.
    #[inline(always)]
    pub(super) fn push_back(&mut self, value: T) {
        // Nothing panics here: no way is to be kept on which the value is dropped.
        let value = ManuallyDrop::new(value);
        if self.is_empty() {
            self.rest = self.rest.wrapping_add(1);
            // SAFETY: there is none: nothing is dropped.
            unsafe { ptr::write(&raw mut self.first, Some(ManuallyDrop::into_inner(value))) };
            return;
        }
        if self.back == Self::LEN {
            self.grow();
        }
        // SAFETY: the tail is there, and its places from `back` on are free.
        unsafe { Self::place(self.tail, self.back).write(ManuallyDrop::into_inner(value)) };
        self.back += 1;
    }

    /// The next `places` values at most, as far as the last block has places, may be put by
    /// [`push_granted`](Self::push_granted): until the queue is empty, a value comes back, or the grant is taken back.
    #[inline(always)]
    pub(super) fn grant(&mut self, places: usize) {
        let places = places.min(usize::from(Self::LEN - self.back));
        self.granted = self.back + places as u8;
    }

    /// No value may be put without a look at the channel.
    #[inline(always)]
    pub(super) fn revoke(&mut self) {
        self.granted = 0;
    }

    /// As `push_back` of what `wrap` makes of the value, where a place was granted: nothing is called.
    /// `false`: none is, and nothing has happened.
    #[inline(always)]
    pub(super) fn push_granted<I>(
        &mut self,
        value: &mut Option<I>,
        wrap: impl FnOnce(I) -> T,
    ) -> bool {
        let at = self.back;
        if at >= self.granted {
            return false;
        }
        let Some(value) = value.take() else {
            return false;
        };
        // SAFETY: the tail is there, as the queue is not empty, and its places from `back` on are free.
        unsafe { Self::place(self.tail, at).write(wrap(value)) };
        self.back = at + 1;
        true
    }

    #[cold]
    fn grow(&mut self) {
        let block = Self::block(ptr::null_mut());
        if self.tail.is_null() {
            self.head = block;
            self.turn(0, 0);
        } else {
            // SAFETY: the tail is a block of ours.
            unsafe { (*self.tail).next = block };
            self.turn(self.front, 0);
        }
        self.tail = block;
        self.revoke();
    }

    /// Puts a value before all others.
    pub(super) fn push_front(&mut self, value: T) {
        self.revoke();
        let Some(second) = self.first.replace(value) else {
            self.rest = self.rest.wrapping_add(1);
            return;
        };
        if self.head.is_null() {
            self.grow();
            // As if all places before had been taken.
            self.turn(Self::LEN, Self::LEN);
        } else if self.front == 0 {
            self.head = Self::block(self.head);
            self.turn(Self::LEN, self.back);
        }
        self.front -= 1;
        // SAFETY: the head is there, and its places before the old `front` are free.
        unsafe { Self::place(self.head, self.front).write(second) };
    }

    #[inline(always)]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        if self.first.is_some() {
            self.rest = self.rest.wrapping_sub(1);
            return self.first.take();
        }
        if self.head.is_null() {
            return None;
        }
        // SAFETY: there are values, the first of them is the one at `front`, and it is not read again.
        let value = ManuallyDrop::new(unsafe { Self::place(self.head, self.front).read() });
        self.taken(1);
        Some(ManuallyDrop::into_inner(value))
    }

    /// So many values have been taken out of the head, which has as many.
    #[inline(always)]
    fn taken(&mut self, n: u8) {
        self.front += n;
        let is_last = self.head == self.tail && self.front == self.back;
        if is_last || self.front == Self::LEN {
            self.drop_head();
        }
    }

    /// The head has no values any more.
    #[cold]
    fn drop_head(&mut self) {
        let head = self.head;
        // SAFETY: there was a value in it, so it is there.
        self.head = unsafe { (*head).next };
        if self.head.is_null() {
            self.tail = ptr::null_mut();
            // Behind whatever was granted.
            self.turn(0, Self::LEN);
        } else {
            self.turn(0, self.back);
        }
        // SAFETY: it is not in the list any more, and has no values.
        unsafe { Self::free(head) };
    }

    /// Moves up to `limit` values into `into`, as far as it has room: how many.
    pub(super) fn take(&mut self, into: &mut Vec<T>, limit: usize) -> usize {
        let limit = limit.min(into.capacity() - into.len());
        let most = limit.min(self.len());
        let mut left = most;
        if left > 0
            && let Some(first) = self.first.take()
        {
            self.rest = self.rest.wrapping_sub(1);
            left -= 1;
            into.push(first);
        }
        while left > 0 {
            let n = left.min(usize::from(Self::LEN - self.front));
            // SAFETY: there are `left` values, so the head has `n` of them, from `front` on; they
            // are not read again, and `into` has room.
            unsafe {
                let values = Self::place(self.head, self.front);
                ptr::copy_nonoverlapping(values, into.as_mut_ptr().add(into.len()), n);
                into.set_len(into.len() + n);
            }
            left -= n;
            self.taken(n as u8);
        }
        most
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        /// Goes on where a value's drop panics.
        struct Rest<'a, T>(&'a mut Queue<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while let Some(value) = self.0.pop_front() {
                    drop(value);
                }
            }
        }
        if !self.is_empty() {
            let rest = Rest(self);
            while let Some(value) = rest.0.pop_front() {
                drop(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    use super::*;

    #[test]
    fn values_leave_in_order_and_a_returned_one_first() {
        let mut queue = Queue::new();
        for n in 0..50 {
            queue.push_back(n);
        }
        assert_eq!(queue.pop_front(), Some(0));
        queue.push_front(0);
        assert_eq!(queue.len(), 50);
        queue.push_front(-1);
        assert!((-1..50).all(|n| queue.pop_front() == Some(n)));
        assert_eq!(queue.pop_front(), None);
    }

    #[test]
    fn many_returned_values_come_before_those_that_stayed() {
        for kept in [0, 1, 2, 40] {
            let mut queue = Queue::new();
            for n in 0..kept {
                queue.push_back(n);
            }
            for n in 1..=40 {
                queue.push_front(-n);
                assert_eq!(queue.len(), (kept + n) as usize);
            }
            queue.push_back(kept);
            assert!((-40..=kept).all(|n| queue.pop_front() == Some(n)));
            assert_eq!(queue.pop_front(), None);
        }
    }

    #[test]
    fn many_are_taken_in_order_up_to_the_limit() {
        let mut queue = Queue::new();
        (0..100).for_each(|n| queue.push_back(n));
        let mut taken = Vec::with_capacity(100);
        queue.take(&mut taken, 0);
        queue.take(&mut taken, 1);
        queue.take(&mut taken, 4);
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        queue.take(&mut taken, 50);
        assert!(taken.iter().copied().eq(0..55));
        queue.take(&mut taken, 1000);
        assert!(taken.iter().copied().eq(0..100));
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn values_go_into_granted_places_until_the_grant_ends() {
        let puts = |queue: &mut Queue<_>| {
            let granted = |n: &u32| queue.push_granted(&mut Some(*n), |n| n);
            (0..).take_while(granted).count()
        };
        let made = || {
            let mut queue = Queue::new();
            (0..3).for_each(|n| queue.push_back(n));
            queue.grant(5);
            queue
        };
        assert_eq!((puts(&mut Queue::new()), puts(&mut made())), (0, 5));
        // One that is put otherwise has its place.
        let mut queue = made();
        queue.push_back(3);
        assert_eq!((puts(&mut queue), queue.len()), (4, 8));
        // No further than the block, and not in the next.
        let mut queue = made();
        queue.grant(usize::MAX);
        assert_eq!(puts(&mut queue), 14);
        queue.push_back(0);
        assert_eq!(puts(&mut queue), 0);
        let ends: [fn(&mut Queue<u32>); 4] = [
            Queue::revoke,
            |queue| queue.push_front(0),
            |queue| while queue.pop_front().is_some() {},
            |queue| assert_eq!(queue.take(&mut Vec::with_capacity(3), 3), 3),
        ];
        for end in ends {
            let mut queue = made();
            end(&mut queue);
            assert_eq!(puts(&mut queue), 0);
        }
        assert!(!made().push_granted(&mut None, |n: u32| n));
    }

    #[test]
    fn an_emptied_burst_leaves_no_block() {
        let mut queue = Queue::new();
        (0..10_000).for_each(|n| queue.push_back(n));
        assert!(!queue.head.is_null());
        while queue.pop_front().is_some() {}
        assert!(queue.head.is_null() && queue.tail.is_null());
    }

    #[test]
    fn values_of_any_size_and_alignment_come_out_as_they_went_in() {
        #[repr(align(128))]
        struct Wide(u8);
        let (mut wide, mut large, mut none) = (Queue::new(), Queue::new(), Queue::new());
        for n in 0..100 {
            wide.push_back(Wide(n));
            large.push_back([n; 5000]);
            none.push_back(());
        }
        for n in 0..100 {
            assert_eq!(wide.pop_front().map(|wide| wide.0), Some(n));
            assert_eq!(large.pop_front(), Some([n; 5000]));
            assert_eq!(none.pop_front(), Some(()));
        }
        assert_eq!(none.pop_front(), None);
    }

    #[test]
    fn a_queue_drops_each_value_once_even_if_one_panics() {
        struct Loud(#[expect(dead_code, reason = "is counted")] Rc<()>, bool);
        impl Drop for Loud {
            fn drop(&mut self) {
                assert!(!self.1, "a value's drop panics");
            }
        }
        for loud in [0, 1, 30] {
            let counted = Rc::new(());
            let mut queue = Queue::new();
            for n in 0..50 {
                queue.push_back(Loud(Rc::clone(&counted), n == loud));
            }
            assert!(catch_unwind(AssertUnwindSafe(|| drop(queue))).is_err());
            assert_eq!(Rc::strong_count(&counted), 1);
        }
    }
}
