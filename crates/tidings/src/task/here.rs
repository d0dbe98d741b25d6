//! What every operation asks of the thread that it is on, in one thread-local, so that its address is looked
//! up once: as whom it locks, what is left of the budget, and what the poll that runs here has done: how many
//! waits it has left pending, and what it has given away. The detection of call cycles (actor/cycle.rs) asks for
//! the last two at the end of an actor's poll.
//!
//! Each note is an instruction or two in a thread-local without a destructor, so it can be made
//! where waits begin and values leave. For tasks that are no actors nobody looks at the notes.

use std::cell::Cell;

use crate::primitive::{Me, thread_local};

/// The actor's dispatch keeps the reply of the message that is handled until its method is done.
pub(crate) const HELD: u8 = 1;
/// Since the message that is handled was taken, something has left the actor that may have had a
/// reply in it, or a reply was used.
pub(crate) const GAVE: u8 = 2;
/// Foreign code has kept the task's waker: it may be woken by who knows whom. For ever.
pub(crate) const FOREIGN: u8 = 4;
/// The message that is handled has left the mailbox before others: it was stashed or passed over.
pub(crate) const PASSED: u8 = 8;
/// The actor's own poll has taken a message.
pub(crate) const TOOK: u8 = 16;
/// The mailbox has said that the actor is to end.
pub(crate) const ENDS: u8 = 32;

pub(crate) struct Here {
    /// As whom it locks a channel.
    me: Cell<Me>,
    /// Operations left in this poll; none, if a seam is asked before each. Of a thread that runs no tasks there is
    /// no end of them.
    budget: Cell<u32>,
    /// The number of the actor that is polled, or 0.
    pub(crate) actor: Cell<u64>,
    pub(crate) hands: Cell<u8>,
    pub(crate) waits: Cell<u32>,
    /// The call that it waits for: the callee's number, or 0 (so between two polls), and the request's ticket.
    pub(crate) callee: Cell<u64>,
    pub(crate) ticket: Cell<u64>,
    /// See the function.
    placed: Cell<u64>,
    /// The request is held back.
    pub(crate) held_back: Cell<bool>,
    /// What the call that was held back, or is stuck, is to do.
    pub(crate) verdict: Cell<Verdict>,
    /// A panic in an actor's poll, or its end perhaps, has dropped replies, which are kept until that is known
    /// (actor/exit.rs).
    pub(crate) kept: Cell<bool>,
}

/// What a call is to do that waits at the end of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Wait,
    /// Send the request that was held back.
    Send,
    /// Fail: it closes a cycle.
    Refuse,
}

thread_local! {
    static HERE: Here = const {
        Here {
            me: Cell::new(Me::ANYBODY),
            budget: Cell::new(u32::MAX),
            actor: Cell::new(0),
            hands: Cell::new(0),
            waits: Cell::new(0),
            callee: Cell::new(0),
            ticket: Cell::new(0),
            placed: Cell::new(0),
            held_back: Cell::new(false),
            verdict: Cell::new(Verdict::Wait),
            kept: Cell::new(false),
        }
    };
}

#[inline(always)]
pub(crate) fn here<R>(f: impl FnOnce(&Here) -> R) -> R {
    HERE.with(f)
}

/// As whom this thread locks.
#[inline(always)]
pub(crate) fn me() -> Me {
    here(|here| here.me.get())
}

/// This thread is `me` from here on. Gives who it was.
pub(crate) fn comes(me: Me) -> Me {
    here(|here| here.me.replace(me))
}

/// One more operation in this poll? `false`: the budget is spent, and the caller gives the thread another
/// (`refill`) or its operation back (`unspend`): this has begun one of 2^32.
#[inline(always)]
pub(crate) fn spend() -> bool {
    here(|here| {
        let left = here.budget.get();
        here.budget.set(left.wrapping_sub(1));
        left != 0
    })
}

/// What `spend` has taken is back.
#[inline(always)]
pub(crate) fn unspend() {
    here(|here| here.budget.set(here.budget.get().wrapping_add(1)));
}

/// So many operations from here on. Gives how many were left.
#[inline(always)]
pub(crate) fn refill(budget: u32) -> u32 {
    here(|here| here.budget.replace(budget))
}

/// The operations of a poll that were refused for want of budget.
#[derive(Clone, Copy)]
pub(crate) struct Refused {
    times: u32,
    /// After so many of them others have some again.
    from: u32,
}

impl Refused {
    pub(crate) const NONE: Self = Self { times: 0, from: 0 };

    pub(crate) fn times(self) -> u32 {
        self.times
    }

    /// One more is refused. How many operations others of the poll have now.
    ///
    /// The first ones: half as many each time, and at least one, for each of a few that are always ready. Those are
    /// the same in each poll, as mostly futures are polled in one order. So what else there is, one operation each,
    /// goes to a row of those behind, which begins elsewhere in each poll, as `below` draws it: sooner or later all
    /// have some. The rest have none, for who is refused may be asked again and again, beside another who is always
    /// ready (a loop around a `select!`): a poll does less than three times its budget.
    pub(crate) fn beside(&mut self, budget: u32, below: impl Fn(usize) -> usize) -> u32 {
        /// Before the row is less than two to the power of that of its length: there are no more futures.
        const FAR: usize = 31;
        let (first, row) = (budget / 2, budget - budget / 2);
        let times = self.times;
        self.times = times.saturating_add(1);
        if times < first {
            return (budget >> (times + 1).min(31)).max(1);
        }
        if times == first {
            // Mostly none; else less than 2, 4, 8 and so on, each as likely.
            let rows = below(1 << below(2 * FAR).saturating_sub(FAR)) as u32;
            self.from = first.saturating_add(row.saturating_mul(rows));
        }
        let row = self.from..self.from.saturating_add(row);
        u32::from(row.contains(&times))
    }
}

/// The number of the actor that is polled on this thread, or 0.
#[inline(always)]
pub(crate) fn actor() -> u64 {
    here(|here| here.actor.get())
}

/// The poll leaves a wait pending.
#[inline(always)]
pub(crate) fn waits() {
    here(|here| here.waits.set(here.waits.get() + 1));
}

/// The task will be polled again: nothing of this poll lasts.
#[inline(always)]
pub(crate) fn again() {
    here(|here| here.waits.set(here.waits.get() + 2));
}

#[inline(always)]
pub(crate) fn hands() -> u8 {
    here(|here| here.hands.get())
}

/// They are again what [`hands`] gave.
pub(crate) fn set_hands(hands: u8) {
    here(|here| here.hands.set(hands));
}

/// How many waits this poll leaves pending.
pub(crate) fn waited() -> u32 {
    here(|here| here.waits.get())
}

pub(crate) fn set_waited(waits: u32) {
    here(|here| here.waits.set(waits));
}

/// A message has come, with this ticket: see [`placed`].
#[inline(always)]
pub(crate) fn place(ticket: u64) {
    here(|here| here.placed.set(ticket));
}

/// The ticket of the message that went last into a place that it had waited for, or that another left for it.
pub(crate) fn placed() -> u64 {
    here(|here| here.placed.get())
}

#[inline(always)]
pub(crate) fn note(hands: u8) {
    here(|here| here.hands.set(here.hands.get() | hands));
}

/// Has the mailbox said that the actor is to end?
pub(crate) fn ends() -> bool {
    hands() & ENDS != 0
}

/// A value leaves. One that needs no drop has no reply in it.
#[inline(always)]
pub(crate) fn gave<T>() {
    if const { std::mem::needs_drop::<T>() } {
        // Mostly it is noted already: a store is dearer than a look.
        if hands() & GAVE == 0 {
            note(GAVE);
        }
    }
}

/// An actor takes a message: what it did with the one before is over. `false`: this is not its poll.
#[inline(always)]
pub(crate) fn takes(actor: u64) -> bool {
    let hands = hands();
    // Mostly the message before has left nothing.
    if hands & !FOREIGN != TOOK {
        here(|here| here.hands.set(hands & FOREIGN | TOOK));
    }
    self::actor() == actor
}

/// The dispatch answers: whose the reply is then, nobody knows.
#[inline(always)]
pub(crate) fn answers() {
    here(|here| here.hands.set(here.hands.get() & !HELD | GAVE));
}
