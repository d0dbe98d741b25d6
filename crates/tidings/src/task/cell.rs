//! The memory of a task: a header, then the future, then its output in the same place.

use std::future::Future;
use std::mem::{self, MaybeUninit};
use std::panic::{AssertUnwindSafe, Location, RefUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

use super::ending::{self, Out};
use super::handle::{JoinError, JoinHandle};
use super::lean::{Home, Lean};
use super::stage::{Holds, Stage, Staged};
use super::state::State;
use super::waker::waker;
use super::word::{At, Seen};
use crate::event::waits;
use crate::primitive::atomic::{AtomicPtr, Ordering};
use crate::primitive::{Section, UnsafeCell, slab};
use crate::sched::{self, Shared};

/// What every task has, whatever its future.
#[repr(C)]
pub(crate) struct Header {
    /// Word 0 (slab I1).
    pub(super) state: State,
    /// The task that spawned it. Owned by whoever owns the run right.
    parent: UnsafeCell<*mut Self>,
    /// The runtime, or, of a local task, its set ([`LocalTasks::owner`]). Valid while the task is alive: both end
    /// their tasks before they end.
    pub(super) shared: AtomicPtr<Shared>,
    vtable: UnsafeCell<&'static Vtable>,
    /// Where it was spawned. Atomic, because reports read it in slots that come and go.
    location: AtomicPtr<Location<'static>>,
    /// Of the waker in `joiner`. Apart from it, so that `ran_on` lies between and the header is one cache line.
    pub(super) out: Out,
    /// What the stage holds; belongs to it. Here, because beside it it would take 8 bytes.
    pub(super) holds: UnsafeCell<Holds>,
    /// With the state: who may run it.
    pub(super) lean: Lean,
    /// The worker that ran it last. Owned by whoever owns the run right.
    ran_on: UnsafeCell<u32>,
    /// Who awaits the output, where the state says that one does. Written by the join handle before it says so, and
    /// when it has taken that back; taken out by the completer.
    joiner: UnsafeCell<MaybeUninit<Waker>>,
}

#[cfg(all(not(any(loom, shuttle)), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Header>() == 64);

// Panics of its future, and of whoever uses its handles, are caught where its state changes.
impl RefUnwindSafe for Header {}

impl Header {
    /// Leaves a waker, of which [`State::wait`] tells.
    ///
    /// # Safety
    /// The caller is the join handle, and the state has no waker.
    #[inline(always)]
    pub(super) unsafe fn leave_waker(&self, waker: Waker) {
        // SAFETY: without a waker in the state the place is the join handle's.
        self.joiner
            .with_mut(|joiner| unsafe { (*joiner).write(waker) });
    }

    /// Is this the waker that is there, or that the completer has taken?
    ///
    /// # Safety
    /// The caller is the join handle, and the state has a waker.
    #[inline(always)]
    pub(super) unsafe fn has_waker(&self, waker: &Waker) -> bool {
        // SAFETY: it has been written, and nobody but the caller writes it again. A completer that takes it leaves the
        // bits, and nothing but the addresses in it is looked at.
        self.joiner
            .with(|joiner| unsafe { (*joiner).assume_init_ref() }.will_wake(waker))
    }

    /// Takes the waker.
    ///
    /// # Safety
    /// There is one, and it is the caller's: the join handle's before its task is told of it, or when that is taken
    /// back; the completer's afterwards.
    #[inline(always)]
    pub(super) unsafe fn take_waker(&self) -> Waker {
        // SAFETY: the caller's promise.
        self.joiner
            .with(|joiner| unsafe { (*joiner).assume_init_read() })
    }

    /// A handle of a complete task only.
    #[inline(always)]
    pub(super) fn see_out(&self) {
        self.out.see(&self.state);
    }

    /// Nobody has woken it since it last ran; for reports.
    pub(super) fn is_idle(&self) -> bool {
        self.lean.is_idle(&self.state)
    }

    /// The owner of the run right only: before the poll, or before it ends the task.
    #[inline(always)]
    fn begin(&self, home: Option<Home<'_>>, moved: bool) -> Seen {
        self.lean
            .begin(&self.state, home, moved, |seat| self.section(seat))
    }

    /// The runtime that runs this task, or its set (`sched/local_tasks.rs`), or pool of threads (`sched/blocking.rs`).
    #[inline(always)]
    pub(super) fn owner(&self) -> *const Shared {
        self.shared.load(Ordering::Relaxed)
    }

    /// Of the worker with this seat. The task is alive, and cannot end.
    #[cold]
    pub(super) fn section(&self, seat: u8) -> &Section {
        // SAFETY: the runtime is there as long as its tasks.
        unsafe { &*self.owner() }.section(seat)
    }
}

/// No worker has run the task yet.
const NOWHERE: u32 = u32::MAX;

/// The functions that know the future's type. What can do without is in `ending.rs`: there it is compiled once, and here
/// once for every future of a program.
pub(super) struct Vtable {
    /// Polls once.
    run: unsafe fn(NonNull<Header>) -> Polled,
    /// Where the output is, a `Result<T, JoinError>`: so many bytes behind the header's first.
    output: usize,
    /// Drops what the stage holds, which may panic.
    pub(super) clear: unsafe fn(NonNull<Header>),
    /// Puts an error in the place of the output.
    pub(super) put_error: unsafe fn(NonNull<Header>, JoinError),
    /// Of the slot.
    pub(super) class: slab::Class,
}

/// What has become of the future.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Polled {
    Pending,
    /// It is gone. Its output was put away for the join handle, or dropped, as nobody wants it.
    Over {
        put: bool,
    },
}

/// `LOCAL`: the task stays on its thread.
#[repr(C)]
pub(super) struct Cell<F: Future, const LOCAL: bool = false> {
    header: Header,
    stage: UnsafeCell<Stage<F>>,
}

/// The right to run a task: exactly one exists while the task is queued or running.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Task(pub(super) NonNull<Header>);

// SAFETY: the right to run may move between threads; what is not `Send` is in local tasks alone, whose
// right is used on their own thread alone (sched/local_tasks.rs).
unsafe impl Send for Task {}

impl<F: Future, const LOCAL: bool> Cell<F, LOCAL> {
    const CLASS: slab::Class = slab::Class::of::<Self>(match LOCAL {
        true => slab::Kind::LocalTask,
        false => slab::Kind::Task,
    });

    const VTABLE: Vtable = Vtable {
        run: Self::run,
        output: mem::offset_of!(Self, stage),
        clear: Self::clear,
        put_error: Self::put_error,
        class: Self::CLASS,
    };

    #[inline]
    pub(super) fn alloc(
        future: F,
        shared: *const Shared,
        at: &'static Location<'static>,
    ) -> NonNull<Header> {
        let slot = slab::alloc(Self::CLASS).cast::<Self>();
        let cell = slot.as_ptr();
        // SAFETY: the slot is ours, large enough and aligned. Word 0 is written last, as an
        // atomic (slab I1: stale wakes may read it meanwhile).
        unsafe {
            Header::write(slot.cast(), shared, at, &Self::VTABLE);
            ptr::addr_of_mut!((*cell).stage).write(UnsafeCell::new(Stage::new(future)));
            (*ptr::addr_of!((*cell).header.state)).reset();
        }
        slot.cast()
    }

    /// Polls once.
    ///
    /// # Safety
    /// The header is of a live cell of this type; the caller owns the run right, and has begun.
    unsafe fn run(header: NonNull<Header>) -> Polled {
        // SAFETY: the header is the first field of a live cell of this type.
        let cell = unsafe { header.cast::<Self>().as_ref() };
        let waker = waker(header);
        let mut context = Context::from_waker(&waker);
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the owner of the run right owns the stage.
            unsafe { cell.stage() }.poll(&mut context)
        }));
        match polled {
            Ok(Poll::Pending) => Polled::Pending,
            // SAFETY: the caller owns the run right.
            Ok(Poll::Ready(output)) => unsafe { cell.settle(header, output) },
            // SAFETY: as above.
            Err(panic) => unsafe { ending::panicked(header, panic) },
        }
    }

    /// Drops the future, and puts the output in its place or drops it. The output alone, and not with what might be in
    /// its place: so it is not moved through memory in pieces.
    ///
    /// # Safety
    /// The caller owns the run right; the header is this cell's.
    #[inline(always)]
    unsafe fn settle(&self, header: NonNull<Header>, output: F::Output) -> Polled {
        // SAFETY: the owner of the run right owns the stage.
        let mut stage = unsafe { self.stage() };
        // A panic in the future's drop is caught before the task ends: a joiner hears of it.
        let dropped = catch_unwind(AssertUnwindSafe(|| stage.drop_future()));
        if let Err(panic) = dropped {
            stage.put(Ok(output));
            // SAFETY: the caller's promise.
            return unsafe { ending::panicked(header, panic) };
        }
        let put = self.header.state.is_joined();
        if put || mem::needs_drop::<F::Output>() {
            stage.put(Ok(output));
        }
        if !put && mem::needs_drop::<F::Output>() {
            // Nobody wants it. SAFETY: the owner of the run right owns the stage.
            unsafe { ending::clear(header) };
        }
        Polled::Over { put }
    }

    /// Drops what the stage holds.
    ///
    /// # Safety
    /// The header is of a cell of this type, and the caller owns the stage.
    unsafe fn clear(header: NonNull<Header>) {
        // SAFETY: the header is the first field of a cell of this type.
        let cell = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: the caller owns the stage.
        unsafe { cell.stage() }.clear(&|error| {
            if cell.header.state.was_waited() {
                error.left();
            }
        });
    }

    /// Puts an error into the stage.
    ///
    /// # Safety
    /// As for `clear`; the stage holds nothing.
    unsafe fn put_error(header: NonNull<Header>, error: JoinError) {
        // SAFETY: the header is the first field of a cell of this type.
        let cell = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: the caller owns the stage.
        unsafe { cell.stage() }.put(Err(error));
    }
}

impl<F: Future, const LOCAL: bool> Cell<F, LOCAL> {
    /// # Safety
    /// The caller owns the stage until it lets go of what this gives.
    #[inline(always)]
    pub(super) unsafe fn stage(&self) -> Staged<'_, F> {
        // SAFETY: the two belong together.
        unsafe { Staged::new(&self.header.holds, &self.stage) }
    }
}

impl Header {
    /// See [`State::forgo_new`].
    #[inline(always)]
    pub(crate) fn forgo_new(&self) -> bool {
        self.state.forgo_new()
    }

    pub(super) fn vtable(&self) -> &'static Vtable {
        // SAFETY: written by the maker before the task was published.
        self.vtable.with(|vtable| unsafe { *vtable })
    }

    /// Writes all of it but word 0, which makes it a task.
    ///
    /// # Safety
    /// The place is the caller's, for a header. Nobody reads it but stale wakes, what is atomic in it.
    #[inline]
    unsafe fn write(
        place: NonNull<Self>,
        shared: *const Shared,
        at: &'static Location<'static>,
        of: &'static Vtable,
    ) {
        let header = place.as_ptr();
        // SAFETY: the caller's promise.
        unsafe {
            // Its atomics are more than their bits, and its slots are not reused.
            #[cfg(shuttle)]
            {
                ptr::addr_of_mut!((*header).state).write(State::new());
                ptr::addr_of_mut!((*header).shared).write(AtomicPtr::default());
                ptr::addr_of_mut!((*header).location).write(AtomicPtr::default());
            }
            ptr::addr_of_mut!((*header).parent).write(UnsafeCell::new(ptr::null_mut()));
            (*ptr::addr_of!((*header).shared)).store(shared.cast_mut(), Ordering::Relaxed);
            ptr::addr_of_mut!((*header).vtable).write(UnsafeCell::new(of));
            (*ptr::addr_of!((*header).location))
                .store(ptr::from_ref(at).cast_mut(), Ordering::Relaxed);
            ptr::addr_of_mut!((*header).out).write(Out::new());
            ptr::addr_of_mut!((*header).holds).write(UnsafeCell::new(Holds::Future));
            ptr::addr_of_mut!((*header).lean).write(Lean::new());
            ptr::addr_of_mut!((*header).ran_on).write(UnsafeCell::new(NOWHERE));
        }
    }

    pub(super) fn location(&self) -> &'static Location<'static> {
        // RELAXED: whoever gets there finds what the maker wrote, or, in a report, what a later one
        // did. SAFETY: only such references are ever written.
        unsafe { &*self.location.load(Ordering::Relaxed) }
    }
}

impl Task {
    /// Makes a task and the handle of its output. The caller must queue or cancel the task.
    #[inline]
    pub(crate) fn new<F: Future>(
        future: F,
        shared: *const Shared,
        at: &'static Location<'static>,
    ) -> (Self, JoinHandle<F::Output>) {
        Self::made(Cell::<_, false>::alloc(future, shared, at))
    }

    /// As `new`, of a task that is run and ended on one thread alone, whatever its future is: `owner` is its set.
    pub(crate) fn new_local<F: Future>(
        future: F,
        owner: *const Shared,
        at: &'static Location<'static>,
    ) -> (Self, JoinHandle<F::Output>) {
        Self::made(Cell::<_, true>::alloc(future, owner, at))
    }

    #[inline(always)]
    fn made<T>(header: NonNull<Header>) -> (Self, JoinHandle<T>) {
        if waits::watched() || waits::noted() {
            Self::observe(header);
        }
        (Self(header), JoinHandle::new(header))
    }

    #[cold]
    fn observe(header: NonNull<Header>) {
        if waits::watched() {
            waits::fresh(header.addr().get());
        }
        if waits::noted() {
            sched::record::spawned(header.as_ptr());
        }
    }

    /// A model's: a task that can only be queued.
    #[cfg(all(test, loom))]
    pub(crate) fn stub() -> Self {
        const STUB: Vtable = Vtable {
            run: |_| unreachable!("a stub is not run"),
            output: 0,
            clear: |_| unreachable!("a stub is not run"),
            put_error: |_, _| unreachable!("a stub is not run"),
            class: Cell::<std::future::Ready<()>>::CLASS,
        };
        let stub = Self(NonNull::from(Box::leak(Box::new(Header {
            state: State::new(),
            parent: UnsafeCell::new(ptr::null_mut()),
            shared: AtomicPtr::new(ptr::null_mut()),
            vtable: UnsafeCell::new(&STUB),
            location: AtomicPtr::new(ptr::from_ref(Location::caller()).cast_mut()),
            out: Out::new(),
            joiner: UnsafeCell::new(MaybeUninit::uninit()),
            holds: UnsafeCell::new(Holds::Nothing),
            lean: Lean::new(),
            ran_on: UnsafeCell::new(NOWHERE),
        }))));
        // What its taker must see.
        stub.set_parent(ptr::null_mut());
        stub
    }

    /// Ends a [`stub`](Self::stub), whose owner must see what was done to it.
    #[cfg(all(test, loom))]
    pub(crate) fn drop_stub(self) {
        // SAFETY: a stub is a box of its own.
        let header = unsafe { Box::from_raw(self.0.as_ptr()) };
        header.parent.with_mut(|_| ());
    }

    /// Polls the task once. `Some`: it was woken meanwhile, and must be queued again. `home`: of the worker
    /// that this thread is; `moved`: another has run it last.
    #[inline(always)]
    pub(crate) fn run(self, home: Option<Home<'_>>, moved: bool) -> Option<Self> {
        // SAFETY: `self` is the run right of a live task.
        let header = unsafe { self.0.as_ref() };
        let seen = header.begin(home, moved);
        // SAFETY: as above.
        let polled = unsafe {
            match seen.is_aborted() {
                true => ending::cancelled(self.0),
                false => (header.vtable().run)(self.0),
            }
        };
        match polled {
            Polled::Pending => header.lean.end(&header.state, home, seen).then_some(self),
            Polled::Over { put } => {
                // SAFETY: as above; the run right ends here.
                unsafe { ending::end(self.0, put) };
                None
            }
        }
    }

    /// Drops the future unpolled; whoever joins hears that it was cancelled.
    pub(crate) fn cancel(self) {
        // SAFETY: `self` is the run right of a live task.
        let header = unsafe { self.0.as_ref() };
        header.begin(None, true);
        // SAFETY: as above.
        if let Polled::Over { put } = unsafe { ending::cancelled(self.0) } {
            // SAFETY: as above; the run right ends here.
            unsafe { ending::end(self.0, put) };
        }
    }

    /// It goes to a queue from which others take: where this thread is its home, it has none from here on.
    #[inline(always)]
    pub(crate) fn let_go(&self, home: At) {
        // SAFETY: `self` is the run right of a live task.
        let header = unsafe { self.0.as_ref() };
        header.state.let_go(home);
    }

    /// The runtime that runs this task, or its set.
    #[inline(always)]
    pub(crate) fn shared(&self) -> *const Shared {
        // SAFETY: the task is alive, so its cell is valid.
        unsafe { self.0.as_ref() }.owner()
    }

    /// Notes that `worker` runs it now. `true`: another did before, or nobody.
    #[inline(always)]
    pub(crate) fn set_ran_on(&self, worker: u32) -> bool {
        // SAFETY: the owner of the run right owns the field.
        let before = unsafe { self.0.as_ref() }
            .ran_on
            .with_mut(|ran_on| unsafe { mem::replace(&mut *ran_on, worker) });
        before != worker
    }

    /// The worker that ran it last; under a seam, its number.
    #[inline(always)]
    pub(crate) fn ran_on(&self) -> Option<u32> {
        // SAFETY: the owner of the run right owns the field.
        let ran_on = unsafe { self.0.as_ref() }
            .ran_on
            .with(|ran_on| unsafe { *ran_on });
        (ran_on != NOWHERE).then_some(ran_on)
    }

    /// Was it a worker other than this one that ran it last?
    #[inline(always)]
    pub(crate) fn ran_elsewhere(&self, worker: u32) -> bool {
        self.ran_on().is_some_and(|ran_on| ran_on != worker)
    }

    /// Remembers which task spawned this one.
    #[inline(always)]
    pub(crate) fn set_parent(&self, parent: *mut Header) {
        // SAFETY: the owner of the run right owns the field.
        unsafe { self.0.as_ref() }
            .parent
            .with_mut(|spawned_by| unsafe { *spawned_by = parent });
    }

    /// Has `parent`, or who was in its slot before, spawned this task?
    #[inline(always)]
    pub(crate) fn is_child_of(&self, parent: &Self) -> bool {
        // SAFETY: the owner of the run right owns the field.
        let spawned_by = unsafe { self.0.as_ref() }
            .parent
            .with(|spawned_by| unsafe { *spawned_by });
        spawned_by == parent.0.as_ptr()
    }

    /// Where the task in this slot, which is or was alive, was spawned; `None` for no slot.
    pub(crate) fn polled(header: *mut Header) -> Option<(usize, &'static Location<'static>)> {
        let header = NonNull::new(header)?;
        Some((header.addr().get(), location(header)))
    }

    pub(crate) fn as_ptr(&self) -> *mut Header {
        self.0.as_ptr()
    }
}

/// # Safety
/// The task is complete, the caller is its join handle, and `T` is its output.
pub(super) unsafe fn take_output<T>(header: NonNull<Header>) -> Result<T, JoinError> {
    if cfg!(loom) {
        unreachable!("a cell of loom's does not begin with what it holds");
    }
    // SAFETY: the handle keeps the slot.
    let this = unsafe { header.as_ref() };
    this.see_out();
    // SAFETY: the join handle owns the stage of a complete task.
    let held = this
        .holds
        .with_mut(|holds| unsafe { mem::replace(&mut *holds, Holds::Nothing) });
    assert!(held == Holds::Output, "a join handle is polled once");
    // SAFETY: it is there, where the table says, of the type that the handle has; and it is not looked at again.
    unsafe {
        header
            .byte_add(this.vtable().output)
            .cast::<Result<T, JoinError>>()
            .read()
    }
}

/// Where the task in this slot, which is or was alive, was spawned.
pub(super) fn location(header: NonNull<Header>) -> &'static Location<'static> {
    // SAFETY: type-stable memory, and the field is atomic in every slot that was ever used.
    unsafe { header.as_ref() }.location()
}
