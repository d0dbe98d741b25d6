//! What a task's memory holds after its header: first the future, then the output, then nothing.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::handle::JoinError;
use crate::primitive::UnsafeCell;

/// The future, then the output, then nothing: `Header::holds` says which. Each begins where it does.
#[repr(C)]
pub(super) union Stage<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<Result<F::Output, JoinError>>,
}

impl<F: Future> Stage<F> {
    pub(super) const fn new(future: F) -> Self {
        let future = ManuallyDrop::new(future);
        Self { future }
    }
}

/// What a stage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Holds {
    Future,
    Output,
    Nothing,
}

/// A stage in the hands of its owner.
pub(super) struct Staged<'a, F: Future> {
    holds: &'a UnsafeCell<Holds>,
    stage: &'a UnsafeCell<Stage<F>>,
}

impl<'a, F: Future> Staged<'a, F> {
    /// # Safety
    /// `holds` says what `stage` holds, and the caller owns both until it lets go of this.
    #[inline(always)]
    pub(super) unsafe fn new(
        holds: &'a UnsafeCell<Holds>,
        stage: &'a UnsafeCell<Stage<F>>,
    ) -> Self {
        Self { holds, stage }
    }

    #[inline(always)]
    fn holds(&self) -> Holds {
        // SAFETY: the owner's (`new`).
        self.holds.with(|holds| unsafe { *holds })
    }

    #[inline(always)]
    fn set(&self, holds: Holds) {
        // SAFETY: the owner's.
        self.holds.with_mut(|place| unsafe { *place = holds });
    }

    #[inline(always)]
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<F::Output> {
        assert!(self.holds() == Holds::Future, "a live task has a future");
        self.stage.with_mut(|stage| {
            // SAFETY: the owner's, and it holds a future.
            let future = unsafe { &mut *(*stage).future };
            // SAFETY: the slot does not move, and the future is dropped in place.
            unsafe { Pin::new_unchecked(future) }.poll(context)
        })
    }

    /// Drops the future, which is there. Whether that panics or not, there is nothing afterwards.
    #[inline(always)]
    pub(super) fn drop_future(&mut self) {
        debug_assert!(self.holds() == Holds::Future);
        self.set(Holds::Nothing);
        // SAFETY: the owner's, it held a future, and it is not looked at again.
        self.stage
            .with_mut(|stage| unsafe { ManuallyDrop::drop(&mut (*stage).future) });
    }

    /// Drops what is there; an error after `left` has seen it. Whether that panics or not, there is nothing afterwards.
    pub(super) fn clear(&mut self, left: &dyn Fn(&JoinError)) {
        match self.holds() {
            Holds::Future => self.drop_future(),
            Holds::Output => {
                self.set(Holds::Nothing);
                // SAFETY: the owner's, it held the output, and it is not looked at again.
                self.stage.with_mut(|stage| unsafe {
                    let output = &mut (*stage).output;
                    if let Err(error) = &**output {
                        left(error);
                    }
                    ManuallyDrop::drop(output);
                });
            }
            Holds::Nothing => {}
        }
    }

    /// Puts the output into a stage that holds nothing.
    #[inline(always)]
    pub(super) fn put(&mut self, output: Result<F::Output, JoinError>) {
        debug_assert!(self.holds() == Holds::Nothing);
        let output = ManuallyDrop::new(output);
        // SAFETY: the owner's.
        self.stage
            .with_mut(|stage| unsafe { stage.write(Stage { output }) });
        self.set(Holds::Output);
    }
}
