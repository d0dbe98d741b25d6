//! What the spawner keeps: a handle to the output, a handle to abort.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use super::cell::{self, Header};
use super::ending;
use super::here;
use super::panic::{self, Payload, panic_message};
use super::state::State;
use super::waker::{abort, clone_waker, drop_quietly, wake};
use crate::event::{Attempt, Enrol, Protocol, event, waits};
use crate::sched::{self, Shared};

/// The output of a spawned task: a future, and by [`join`](Self::join) an event.
///
/// Awaiting it gives `Ok(output)`, or a [`JoinError`] if the task panicked or was aborted.
/// Dropping the handle detaches the task: it goes on, and its output is dropped. Dropping a
/// wait on the handle has no effect.
///
/// ```
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let sum = tidings::spawn(async { 1 + 2 });
/// assert_eq!(sum.await.unwrap(), 3);
/// # });
/// ```
pub struct JoinHandle<T> {
    slot: Slot,
    /// The output was moved out; nothing is left but the slot.
    taken: bool,
    output: PhantomData<T>,
}

// SAFETY: the handle gives the output to one thread; everything else it does is atomic.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle can only abort and look at the state, both atomic.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}

/// A task's slot, as a handle has it: kept until the handle leaves.
struct Slot(NonNull<Header>);

impl Slot {
    fn header(&self) -> &Header {
        // SAFETY: the handle keeps the slot.
        unsafe { self.0.as_ref() }
    }

    fn state(&self) -> &State {
        &self.header().state
    }

    fn abort(&self) {
        if !self.state().is_complete() {
            abort(self.0);
        }
    }

    fn abort_handle(&self) -> AbortHandle {
        self.state().add_handle();
        AbortHandle { slot: Self(self.0) }
    }

    /// The join handle goes; `taken`: it has taken the output.
    fn leave(&self, taken: bool) {
        if waits::watched() {
            waits::end(self.address());
        }
        if !taken {
            if self.state().forgo() {
                return;
            }
            // SAFETY: complete, and we are the join handle.
            unsafe { ending::drop_output(self.0) };
        }
        if self.state().leave() {
            // SAFETY: complete, and we were the last handle; we have taken or dropped the output.
            unsafe { ending::give_back(self.0) };
        }
    }

    /// As waits know the task.
    fn address(&self) -> usize {
        self.0.addr().get()
    }
}

impl<T> JoinHandle<T> {
    pub(super) fn new(header: NonNull<Header>) -> Self {
        Self {
            slot: Slot(header),
            taken: false,
            output: PhantomData,
        }
    }

    /// Asks the task to end: its future is dropped at its next turn, and the handle gives a
    /// [`JoinError`] that is cancelled. A task that completes first is not affected.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let task = tidings::spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort(&self) {
        self.slot.abort();
    }

    /// A handle that can only abort.
    ///
    /// It keeps the task's memory, not its output.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        self.slot.abort_handle()
    }

    /// Whether the task has completed, panicked or been aborted.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.slot.state().is_complete()
    }

    /// The task's end, as an event to stand in a choice.
    ///
    /// Waits until the task ends. A branch that loses leaves the handle as it was.
    ///
    /// # Panics
    /// If the output was already taken.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::Event;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let mut task = tidings::spawn(std::future::pending::<()>());
    /// assert!(task.join().timeout(Duration::from_millis(5)).await.is_err());
    /// # });
    /// ```
    pub fn join(&mut self) -> Join<'_, T> {
        Join {
            handle: self,
            enrolled: false,
        }
    }

    /// The output, if it is there.
    fn try_take(&mut self) -> Option<Result<T, JoinError>> {
        assert!(!self.taken, "a join handle gives its output once");
        if !self.slot.state().is_complete() {
            return None;
        }
        if waits::watched() {
            waits::end(self.slot.address());
        }
        self.taken = true;
        // SAFETY: complete, we are the handle, and `T` is the type it was made with.
        let output = unsafe { cell::take_output(self.slot.0) };
        Some(output.map_err(JoinError::heard))
    }

    /// Leaves a waker for the completer. `false`: the task has completed meanwhile.
    fn register(&self, waker: &Waker) -> bool {
        let (header, state) = (self.slot.header(), self.slot.state());
        let mut old = None;
        let waker = if state.has_waker() {
            // SAFETY: we are the join handle, and have left one.
            let known = unsafe { header.has_waker(waker) };
            if known || state.is_complete() {
                return !state.is_complete();
            }
            let waker = clone_waker(waker);
            if !state.take_back() {
                return false;
            }
            // SAFETY: it is ours again.
            old = Some(unsafe { header.take_waker() });
            waker
        } else {
            clone_waker(waker)
        };
        // SAFETY: there is none.
        unsafe { header.leave_waker(waker) };
        let waits = state.wait();
        if !waits {
            // SAFETY: nobody was told of it.
            drop(unsafe { header.take_waker() });
        }
        drop(old);
        waits
    }

    /// Gives the waker that was left, unless the task has completed, or none was.
    #[inline]
    fn deregister(&self) -> Option<Waker> {
        // SAFETY: it is ours again.
        let take = || unsafe { self.slot.header().take_waker() };
        self.slot.state().take_back().then(take)
    }

    /// Goes, polled and not ready: who polled it is not to be woken any more.
    #[cold]
    fn leave_with_waker(&self) {
        let waker = self.deregister();
        self.slot.leave(false);
        // When the handle has gone: foreign code.
        drop_quietly(waker);
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[cfg_attr(debug_assertions, track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(output) = self.try_take() {
            return Poll::Ready(output);
        }
        if self.register(cx.waker()) {
            if waits::watched() {
                // Of the `await`, if it is the caller.
                #[cfg(debug_assertions)]
                let at = waits::of_a_program(Location::caller());
                #[cfg(not(debug_assertions))]
                let at = None;
                let started = cell::location(self.slot.0);
                waits::begin_join(self.slot.abort_handle(), cx.waker(), at, started);
            }
            here::waits();
            return Poll::Pending;
        }
        Poll::Ready(self.try_take().expect("register saw the task complete"))
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.taken && !waits::watched() && sched::forgoes_new(self.slot.header()) {
            return;
        }
        if !self.taken && self.slot.state().has_waker() {
            self.leave_with_waker();
        } else {
            self.slot.leave(self.taken);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("finished", &self.is_finished())
            .finish()
    }
}

/// The event of a task's end, from [`JoinHandle::join`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Join<'a, T> {
    handle: &'a mut JoinHandle<T>,
    enrolled: bool,
}

impl<T> Protocol for Join<'_, T> {
    fn waits_for(&self, waits: &mut waits::Waits) {
        // With that of the offer.
        waits.wakers += 1;
        let at = cell::location(self.handle.slot.0);
        waits.end(self.handle.slot.abort_handle(), at);
    }
    fn attempt(self: Pin<&mut Self>, _: &mut Attempt) -> Option<u32> {
        self.handle.is_finished().then_some(0)
    }
    fn enrol(self: Pin<&mut Self>, enrol: &mut Enrol<'_>) {
        enrol.next_branch();
        enrol.has_due();
    }
    fn due(self: Pin<&mut Self>, waker: &Waker) -> Option<u32> {
        let this = self.get_mut();
        if this.handle.is_finished() {
            return Some(0);
        }
        this.enrolled = true;
        (!this.handle.register(waker)).then_some(0)
    }
    fn rewake(self: Pin<&mut Self>, waker: &Waker) {
        if self.enrolled && !self.handle.register(waker) {
            // The task has completed meanwhile, and has woken the waker before.
            waker.wake_by_ref();
        }
    }
    fn withdraw(self: Pin<&mut Self>, _: Option<u32>, locked: bool) {
        // Not under a lock: dropping a foreign waker runs foreign code.
        if self.enrolled && !locked {
            drop(self.handle.deregister());
        }
    }
    fn finish(self: Pin<&mut Self>, _: u32) -> Self::Output {
        self.get_mut()
            .handle
            .try_take()
            .expect("the task is complete")
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {}
}

event!(impl['a, T] Join<'a, T> => Result<T, JoinError>);

/// Aborts a task, from [`JoinHandle::abort_handle`].
pub struct AbortHandle {
    slot: Slot,
}

// SAFETY: everything an abort handle does is atomic.
unsafe impl Send for AbortHandle {}
// SAFETY: as above.
unsafe impl Sync for AbortHandle {}

impl AbortHandle {
    /// As [`JoinHandle::abort`].
    pub fn abort(&self) {
        self.slot.abort();
    }

    /// As [`JoinHandle::is_finished`].
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.slot.state().is_complete()
    }
}

impl AbortHandle {
    /// Is it neither running nor queued?
    pub(crate) fn is_idle(&self) -> bool {
        self.slot.header().is_idle()
    }

    /// Has the task polled once more.
    pub(crate) fn wake(&self) {
        wake(self.slot.0);
    }

    /// As waits know the task.
    pub(crate) fn address(&self) -> usize {
        self.slot.address()
    }

    /// Where the task was started.
    pub(crate) fn location(&self) -> &'static Location<'static> {
        cell::location(self.slot.0)
    }

    /// Whose the task is: as [`Header::owner`] says.
    pub(crate) fn owner(&self) -> *const Shared {
        self.slot.header().owner()
    }

    /// How many handles the task has.
    pub(crate) fn handles(&self) -> u64 {
        self.slot.state().look().handles()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        self.slot.abort_handle()
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        if self.slot.state().leave() {
            // SAFETY: complete, and we were the last handle.
            unsafe { ending::free(self.slot.0) };
        }
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("finished", &self.is_finished())
            .finish()
    }
}

/// Why a task has no output: it panicked, or was aborted. Its text says where the task was started.
pub struct JoinError {
    started: &'static Location<'static>,
    /// `None`: cancelled. In a box of its own: the place of an output has room for two words of an error.
    panic: Option<Box<Payload>>,
}

// SAFETY: a shared error gives no access to the payload but through `panic_message`, which
// reads strings.
unsafe impl Sync for JoinError {}

impl JoinError {
    pub(super) fn cancelled(started: &'static Location<'static>) -> Self {
        Self {
            started,
            panic: None,
        }
    }

    #[cold]
    pub(super) fn panic(started: &'static Location<'static>, payload: Payload) -> Self {
        Self {
            started,
            panic: Some(Box::new(payload)),
        }
    }

    /// It is somebody's from here on.
    #[cold]
    pub(super) fn heard(mut self) -> Self {
        self.panic = self.panic.map(|payload| Box::new(panic::heard(*payload)));
        self
    }

    /// It is dropped, and who waited for it has not looked.
    #[cold]
    pub(super) fn left(&self) {
        if let Some(panic) = &self.panic {
            panic::left(&***panic);
        }
    }

    /// The task was aborted, or its runtime shut down.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.panic.is_none()
    }

    /// The task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.panic.is_some()
    }

    /// The message of the panic, if it was a string.
    #[must_use]
    pub fn panic_message(&self) -> Option<&str> {
        self.panic
            .as_deref()
            .and_then(|panic| panic_message(&**panic))
    }

    /// What the panic carried, to be resumed with [`std::panic::resume_unwind`].
    ///
    /// # Errors
    /// Gives the error back if the task was cancelled.
    pub fn try_into_panic(mut self) -> Result<Box<dyn Any + Send>, Self> {
        self.panic.take().map(|payload| *payload).ok_or(self)
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.panic {
            None => f.write_str("JoinError::Cancelled"),
            Some(_) => write!(
                f,
                "JoinError::Panic({:?})",
                self.panic_message().unwrap_or("..")
            ),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match &self.panic {
            None => "was cancelled",
            Some(_) => "panicked",
        };
        write!(f, "the task started at {} {how}", self.started)?;
        match self.panic_message() {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for JoinError {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::Ready;
    use std::panic::{Location, resume_unwind};
    use std::ptr;
    use std::task::Wake;

    use super::super::cell::{Cell, Task};
    use super::super::word::At;
    use super::*;
    use crate::primitive::Arc;

    /// Panics as it is dropped.
    struct Bomb(Arc<()>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            resume_unwind(Box::new(Arc::clone(&self.0)));
        }
    }

    impl Wake for Bomb {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn a_waker_that_panics_as_it_is_dropped_harms_nobody_when_its_handle_goes_as_the_task_ends() {
        let header = Cell::<_>::alloc(std::future::ready(()), ptr::null(), Location::caller());
        let mut handle = JoinHandle::<()>::new(header);
        let there = Arc::new(());
        {
            let waker = Waker::from(Arc::new(Bomb(Arc::clone(&there))));
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut handle).poll(&mut context).is_pending());
        }
        // The output has been put away for it.
        drop(handle);
        // SAFETY: who makes a task has the right to run it.
        unsafe { ending::end(header, true) };
        assert_eq!(Arc::strong_count(&there), 1, "it is dropped");
    }

    #[test]
    fn an_output_is_dropped_that_was_put_away_as_its_join_handle_went_though_there_are_others() {
        type Of = Cell<Ready<Arc<()>>>;
        let there = Arc::new(());
        for waits in [false, true] {
            let output = Arc::clone(&there);
            let header = Of::alloc(std::future::ready(output), ptr::null(), Location::caller());
            let mut handle = JoinHandle::<Arc<()>>::new(header);
            let abort = handle.abort_handle();
            if waits {
                let mut context = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut handle).poll(&mut context).is_pending());
            }
            // SAFETY: who makes a task has the right to run it, and its stage.
            let mut stage = unsafe { header.cast::<Of>().as_ref().stage() };
            stage.clear(&|_| ());
            stage.put(Ok(Arc::clone(&there)));
            drop(handle);
            // SAFETY: as above.
            unsafe { ending::end(header, true) };
            assert_eq!(Arc::strong_count(&there), 1, "it is dropped");
            assert!(abort.is_finished());
        }
    }

    #[test]
    fn a_task_knows_who_ran_it_last_and_has_no_home_once_it_is_let_go() {
        let (task, handle) = Task::new(std::future::ready(()), ptr::null(), Location::caller());
        let ran = [1, 1, 2].map(|worker| task.set_ran_on(worker));
        assert_eq!(ran, [true, false, true]);
        let state = handle.slot.state();
        assert!(state.move_to(state.look(), 3).is_some());
        task.let_go(At::new(Some(3)));
        assert_eq!(state.look().home(), 0);
        task.cancel();
        assert!(handle.is_finished());
    }
}
