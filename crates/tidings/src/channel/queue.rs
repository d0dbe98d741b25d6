//! The queue of a channel: its first value in place, the others in a ring.
//!
//! Most queues of a busy program hold one value or none: those never allocate.

use std::collections::VecDeque;

/// The ring's first allocation has room for this many, or for what the channel may hold.
const INITIAL: usize = 16;
/// An empty ring keeps at most this capacity.
const CAPACITY_KEPT: usize = 1024;

/// First in, first out. While `first` is there it is older than all of `rest`.
#[derive(Debug)]
pub(super) struct Queue<T> {
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Queue<T> {
    pub(super) const fn new() -> Self {
        Self {
            first: None,
            rest: VecDeque::new(),
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.rest.len() + usize::from(self.first.is_some())
    }

    /// Appends a value; `bound` is how many the queue will hold at most.
    #[inline(always)]
    pub(super) fn push_back(&mut self, value: T, bound: usize) {
        if self.rest.is_empty() && self.first.is_none() {
            self.first = Some(value);
            return;
        }
        if self.rest.len() == self.rest.capacity() {
            self.grow(bound);
        }
        self.rest.push_back(value);
    }

    #[cold]
    fn grow(&mut self, bound: usize) {
        let more = self.rest.len().max(INITIAL.min(bound.max(1)));
        self.rest.reserve_exact(more);
    }

    /// Puts a value before all others.
    pub(super) fn push_front(&mut self, value: T) {
        if let Some(second) = self.first.replace(value) {
            self.rest.push_front(second);
        }
    }

    #[inline(always)]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        if self.first.is_some() {
            return self.first.take();
        }
        let value = self.rest.pop_front()?;
        if self.rest.is_empty() && self.rest.capacity() > CAPACITY_KEPT {
            self.rest = VecDeque::new();
        }
        Some(value)
    }
}

impl<T> Queue<T> {
    /// Moves up to `limit` values into `into`, which has room for them.
    pub(super) fn take(&mut self, into: &mut Vec<T>, limit: usize) {
        let before = into.len();
        if limit > 0 {
            into.extend(self.first.take());
        }
        let n = (limit - (into.len() - before)).min(self.rest.len());
        into.extend(self.rest.drain(..n));
        if self.rest.is_empty() && self.rest.capacity() > CAPACITY_KEPT {
            self.rest = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_leave_in_order_and_a_returned_one_first() {
        let mut queue = Queue::new();
        for n in 0..50 {
            queue.push_back(n, usize::MAX);
        }
        assert_eq!(queue.pop_front(), Some(0));
        queue.push_front(0);
        assert_eq!(queue.len(), 50);
        queue.push_front(-1);
        assert!((-1..50).all(|n| queue.pop_front() == Some(n)));
        assert_eq!(queue.pop_front(), None);
    }

    #[test]
    fn many_are_taken_in_order_up_to_the_limit() {
        let mut queue = Queue::new();
        (0..10).for_each(|n| queue.push_back(n, usize::MAX));
        let mut taken = Vec::new();
        queue.take(&mut taken, 0);
        queue.take(&mut taken, 1);
        queue.take(&mut taken, 4);
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        queue.take(&mut taken, 100);
        assert_eq!((taken.len(), queue.len()), (10, 0));
    }

    #[test]
    fn an_emptied_burst_is_not_kept() {
        let mut queue = Queue::new();
        (0..10_000).for_each(|n| queue.push_back(n, usize::MAX));
        while queue.pop_front().is_some() {}
        assert_eq!(queue.rest.capacity(), 0);
    }
}
