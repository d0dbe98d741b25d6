//! What the state word of a task says. How it changes: `state.rs`.
//!
//! ```text
//! bit 0    ALIVE     the slot holds a future that has not completed
//! bit 1    COMPLETE  the output is there
//! bit 2    JOIN      the join handle exists and wants the output
//! bit 3    ABORT     the next run drops the future
//! bit 4    WAITED    the join handle has left a waker, or had one there
//! bit 5    WAKER     its waker is there: the completer's, once the task is complete
//! 8..31    handles   join handle and abort handles: the last one out frees a complete task
//! 32..55   wakes     how often it was woken since it was last idle; 0 = idle
//! 56..63   home      0, or the worker that the task leans towards (lean.rs), which counts instead
//! ```

pub(super) const ALIVE: u64 = 1;
pub(super) const COMPLETE: u64 = 1 << 1;
pub(super) const JOIN: u64 = 1 << 2;
pub(super) const ABORT: u64 = 1 << 3;
pub(super) const WAITED: u64 = 1 << 4;
pub(super) const WAKER: u64 = 1 << 5;
pub(super) const HANDLE: u64 = 1 << 8;
pub(super) const HANDLES: u64 = (WAKE - 1) & !(HANDLE - 1);
/// So many handles are the end: as many more as there may be threads fit the word, each of which may have made one
/// before it looks.
pub(super) const MOST: u64 = HANDLES - 0x3fff * HANDLE;
pub(super) const WAKE: u64 = 1 << 32;
pub(super) const WAKES: u64 = (HOME - 1) & !(WAKE - 1);
pub(super) const HOME: u64 = 1 << 56;

/// A task that is queued for the first time, with its join handle alone.
pub(super) const NEW: u64 = ALIVE | JOIN | HANDLE | WAKE;

/// The home of a task whose home is being taken from it: nobody's.
pub(super) const REVOKED: u8 = u8::MAX;

/// The word as it was at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(pub(super) u64);

impl Seen {
    pub(crate) fn is_aborted(self) -> bool {
        self.0 & ABORT != 0
    }

    /// Not complete, not free.
    #[inline(always)]
    pub(crate) fn is_alive(self) -> bool {
        self.0 & ALIVE != 0
    }

    /// Alive, and the task leans towards `home`?
    #[inline(always)]
    pub(super) fn is_at(self, home: At) -> bool {
        self.0 & (!(HOME - 1) | ALIVE) == home.0
    }

    /// Nobody has woken it since it last ran; of a word without a home.
    pub(super) fn is_idle(self) -> bool {
        self.0 & WAKES == 0
    }

    /// How many there are.
    pub(super) fn handles(self) -> u64 {
        (self.0 & HANDLES) / HANDLE
    }

    /// Towards whom the task leans, or 0.
    #[inline(always)]
    pub(crate) fn home(self) -> u8 {
        let [home, ..] = self.0.to_be_bytes();
        home
    }

    /// The join handle is gone for which the output was put away, and there are others, which only keep the slot.
    #[inline(always)]
    pub(super) fn is_left(self, put: bool) -> bool {
        put && self.0 & JOIN == 0 && self.0 & HANDLES != 0
    }

    /// The same with another home, and other wakes.
    #[inline(always)]
    pub(super) fn at(self, home: u8, wakes: u64) -> Self {
        Self(self.0 & (WAKE - 1) | (wakes * WAKE) | (u64::from(home) * HOME))
    }

    /// Woken once; for a word with no wakes.
    #[inline(always)]
    pub(super) fn woken(self) -> Self {
        Self(self.0 | WAKE)
    }
}

/// The home of a live task, as the word has it; of a worker that is nobody's home, what no word has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(u64);

impl At {
    pub(crate) const NOBODYS: Self = Self(0);

    pub(crate) fn new(seat: Option<u8>) -> Self {
        seat.map_or(Self::NOBODYS, |seat| Self((u64::from(seat) * HOME) | ALIVE))
    }

    pub(super) fn seat(self) -> u8 {
        Seen(self.0).home()
    }
}
