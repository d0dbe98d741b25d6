//! Who called what, when, and what came back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::checker::Call;

/// A clock that every look moves on: times are unique, and ordered as the looks were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// The calls of one thread or task.
#[derive(Debug)]
pub(crate) struct Record<Op, Ret> {
    thread: usize,
    clock: Clock,
    calls: Vec<Call<Op, Ret>>,
}

impl<Op, Ret: Clone> Record<Op, Ret> {
    pub(crate) fn new(thread: usize, clock: &Clock) -> Self {
        Self {
            thread,
            clock: clock.clone(),
            calls: Vec::new(),
        }
    }

    /// Does `call` between two looks at the clock.
    pub(crate) fn call(&mut self, op: Op, call: impl FnOnce() -> Ret) -> Ret {
        let called = self.clock.now();
        let ret = call();
        let returned = Some((self.clock.now(), ret.clone()));
        self.calls.push(Call {
            thread: self.thread,
            op,
            called,
            returned,
        });
        ret
    }

    pub(crate) fn into_calls(self) -> Vec<Call<Op, Ret>> {
        self.calls
    }
}
