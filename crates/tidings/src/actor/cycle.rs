//! Call cycles: actor `a` waits for `b`, `b` for `c`, and `c` calls `a`. The last call is refused,
//! with the cycle by name, where nothing but that could end the wait of all.
//!
//! When the poll of an actor ends and its only wait is a call, the actor notes whom it waits for (its
//! [`Edge`]). Who calls an actor that has such a note walks along the notes; if they lead back to the
//! caller the request is held back until the caller's poll has ended, and then decided: sent, or
//! refused. A call to an actor that waits for nobody costs a look at its note.
//!
//! What counts, so that nothing is refused that could go on:
//! 1. The note is made at the end of a poll, if the call is all that the task waits for: no choice,
//!    no deadline, no other future beside it (`task/here.rs` counts the waits), and no foreign code
//!    that has the task's waker.
//! 2. The callee alone can answer. The request is in its mailbox; or it handles it, and its dispatch
//!    keeps the reply (`HELD`: methods of interfaces); or it is the message that a mailbox loop took
//!    last, and nothing has left any actor of the cycle since that could have carried the reply away
//!    (`GAVE`: no spawn, no send of a value that needs a drop, no other call that was answered).
//!    It is not so if the callee's mailbox is not in its own hands, or if what left the mailbox last
//!    need not be what the callee handles (`PASSED`, messages dropped as the oldest).
//! 3. All notes were there at one moment: each has a number, and a second walk finds the same ones.
//!
//! Two calls that close a cycle at the same time find nobody waiting, and send. Then the notes are
//! there when the last poll ends, whose call is refused, its request being in a mailbox already.
//!
//! An actor that has ever waited for reentrant handlers makes no note: its task's waker is in the
//! hands of `crowd.rs`, as good as foreign. A note ends with the life of its actor.

use std::cell::RefCell;
use std::fmt;

use super::life::{Life, Overflow};
use super::roll::{self, Peer};
use crate::primitive::Arc;
use crate::primitive::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use crate::task::here::{FOREIGN, GAVE, HELD, PASSED, TOOK, Verdict, here};

/// Whom an actor waits for: written by its own task, read by who walks.
#[derive(Debug)]
pub(super) struct Edge {
    /// Odd while the rest holds; never the same twice.
    number: AtomicU64,
    callee: AtomicU64,
    place: AtomicU32,
    /// How many messages had come to the callee before the request.
    ticket: AtomicU64,
    /// What the actor has done with the message it handles: bits of `task::here`.
    hands: AtomicU8,
}

impl Edge {
    pub(super) fn new() -> Self {
        Self {
            number: AtomicU64::new(0),
            callee: AtomicU64::new(0),
            place: AtomicU32::new(0),
            ticket: AtomicU64::new(0),
            hands: AtomicU8::new(0),
        }
    }

    /// Owner: the note is made.
    fn publish(&self) {
        here(|here| {
            self.callee.store(here.callee.get(), Ordering::Relaxed);
            self.place.store(here.callee_place.get(), Ordering::Relaxed);
            self.ticket.store(here.ticket.get(), Ordering::Relaxed);
        });
        let number = self.number.load(Ordering::Relaxed);
        // ORD cycle.number: sequentially consistent, as the load in `read`: of those who make their
        // notes at the same time, the last one sees all.
        self.number.swap(number | 1, Ordering::SeqCst);
    }

    /// Owner: it does not hold any more.
    #[inline(always)]
    fn clear(&self) {
        let number = self.number.load(Ordering::Relaxed);
        if number & 1 != 0 {
            // RELAXED: who reads it beside fields that are written later sees so by the number.
            self.number.store(number + 1, Ordering::Relaxed);
            fence(Ordering::Release);
        }
    }

    /// Owner: its life is over. What it held it holds no more.
    pub(super) fn life_over(&self) {
        self.clear();
        self.hands.store(GAVE, Ordering::Relaxed);
    }

    #[inline(always)]
    fn is_set(&self) -> bool {
        // RELAXED: a note that is made at this moment is found at the end of the poll.
        self.number.load(Ordering::Relaxed) & 1 != 0
    }

    /// Anybody: whom it waits for.
    pub(super) fn callee(&self) -> Option<u64> {
        self.read().map(|note| note.callee)
    }

    /// Anybody: the note, if there is one, and it does not change.
    fn read(&self) -> Option<Note> {
        let number = self.number.load(Ordering::SeqCst);
        if number & 1 == 0 {
            return None;
        }
        let note = Note {
            number,
            callee: self.callee.load(Ordering::Relaxed),
            place: self.place.load(Ordering::Relaxed),
            ticket: self.ticket.load(Ordering::Relaxed),
            hands: self.hands.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        (self.number.load(Ordering::Relaxed) == number).then_some(note)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Note {
    number: u64,
    callee: u64,
    place: u32,
    ticket: u64,
    hands: u8,
}

/// An actor on a walk, with its note.
struct Step {
    id: u64,
    place: u32,
    name: Option<Arc<str>>,
    note: Note,
    mailbox: Seen,
}

/// What a walk sees of a mailbox.
struct Seen {
    /// How many messages had left it.
    left: u64,
    /// It is not, or not for sure, in the hands of the actor's own task.
    away: bool,
    /// Some leave without being received.
    drops: bool,
}

impl Seen {
    fn of(peer: &dyn Peer) -> Self {
        let life = peer.life();
        Self {
            left: peer.counts().left,
            away: is_away(life, life.edge.hands.load(Ordering::Relaxed)),
            drops: life.overflow == Overflow::DropOldest,
        }
    }
}

/// May another than the actor's own task have its mailbox, or nobody?
fn is_away(life: &Life, hands: u8) -> bool {
    life.is_deaf() || life.is_away() || hands & (TOOK | GAVE) == GAVE
}

fn step(id: u64, place: u32) -> Option<Step> {
    roll::look(id, place, |peer| {
        let note = peer.life().edge.read()?;
        Some(Step {
            id,
            place,
            name: peer.life().name(),
            note,
            mailbox: Seen::of(peer),
        })
    })?
}

thread_local! {
    /// The cycle that the call was refused for; there with `Verdict::Refuse`.
    static REFUSED: RefCell<Option<Cycle>> = const { RefCell::new(None) };
}

/// Walks from the callee of `me` along the notes: the cycle, if they lead back to `me`, and nothing
/// but a refusal can end it.
fn walk(me: &Life, callee: u64, place: u32) -> Option<Cycle> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut id, mut at) = (callee, place);
    // Brent's: notes that lead around a cycle without `me` come by this one again.
    let mut seen = callee;
    while id != me.id {
        let next = step(id, at)?;
        (id, at) = (next.note.callee, next.note.place);
        steps.push(next);
        if id == seen {
            return None;
        }
        if steps.len().is_power_of_two() {
            seen = id;
        }
    }
    is_certain(&steps, me).then(|| Cycle::new(me, &steps))
}

/// Could nobody outside of the cycle answer, and are all notes there at one moment?
fn is_certain(steps: &[Step], me: &Life) -> bool {
    let Some(my_mailbox) = roll::look(me.id, me.place(), Seen::of) else {
        return false;
    };
    // Of those who wait, this actor first, and of those who are waited for, it last. What it has
    // held back has no ticket yet.
    let tickets = std::iter::once(here(|here| here.ticket.get()))
        .chain(steps.iter().map(|step| step.note.ticket));
    let mine = (&my_mailbox, me.edge.hands.load(Ordering::Relaxed));
    let callees = steps.iter().map(|step| (&step.mailbox, step.note.hands));
    let (mut gave, mut in_hands) = (false, false);
    for (ticket, (mailbox, hands)) in tickets.zip(callees.chain([mine])) {
        gave |= hands & GAVE != 0;
        if mailbox.away {
            return false;
        }
        if mailbox.left <= ticket {
            continue;
        }
        if mailbox.left != ticket + 1 || mailbox.drops || hands & PASSED != 0 {
            return false;
        }
        in_hands |= hands & HELD == 0;
    }
    if in_hands && gave {
        return false;
    }
    let same = |known: &Step| step(known.id, known.place).is_some_and(|now| now.note == known.note);
    steps.iter().all(same)
}

/// Does a call of the actor that runs here, to `callee`, close a cycle, as things are?
#[inline]
pub(super) fn closes(callee: &Life) -> bool {
    let me = here(|here| here.actor.get());
    me != 0 && (callee.id == me || (callee.edge.is_set() && leads_to(me, callee)))
}

#[cold]
fn leads_to(me: u64, callee: &Life) -> bool {
    let (mut id, mut at) = (callee.id, callee.place());
    let (mut seen, mut steps) = (id, 0_usize);
    while let Some(next) = step(id, at) {
        (id, at) = (next.note.callee, next.note.place);
        if id == me {
            return true;
        }
        steps += 1;
        if id == seen {
            return false;
        }
        if steps.is_power_of_two() {
            seen = id;
        }
    }
    false
}

/// The actor that runs here waits for an answer of `callee`. `ticket`: of the request, if it is
/// sent; otherwise it is held back.
#[inline]
pub(super) fn waits_for(callee: &Life, ticket: Option<u64>) {
    here(|here| {
        here.callee.set(callee.id);
        here.callee_place.set(callee.place());
        here.ticket.set(ticket.unwrap_or(u64::MAX));
        here.held_back.set(ticket.is_none());
    });
}

/// What the call that asks is to do; said once.
#[inline]
pub(super) fn verdict() -> Verdict {
    here(|here| here.verdict.replace(Verdict::Wait))
}

/// The cycle of `Verdict::Refuse`.
pub(super) fn refused() -> Cycle {
    let cycle = REFUSED.with(|refused| refused.borrow_mut().take());
    cycle.expect("a refusal has its cycle")
}

/// Before a poll of the actor.
#[inline(always)]
pub(super) fn begin(life: &Life) {
    life.edge.clear();
    here(|here| {
        here.actor.set(life.id);
        here.hands.set(life.edge.hands.load(Ordering::Relaxed));
        here.waits.set(0);
        here.callee.set(0);
    });
}

/// After a poll of the actor. `true`: it is pending, and is to be polled again at once, because the
/// call that it waits for has something to do.
#[inline(always)]
pub(super) fn end(life: &Life, pending: bool) -> bool {
    let waits_for = here(|here| {
        let alone = here.actor.replace(0) == life.id;
        here.verdict.set(Verdict::Wait);
        // If another actor was polled inside of this poll, nothing is known of it.
        let hands = if alone { here.hands.get() } else { FOREIGN };
        life.edge.hands.store(hands, Ordering::Relaxed);
        if alone { here.callee.get() } else { 0 }
    });
    pending && waits_for != 0 && settle(life)
}

/// The poll of an actor has left a call waiting.
fn settle(life: &Life) -> bool {
    let (callee, place, held_back, alone) = here(|here| {
        let alone = here.waits.get() == 1 && here.hands.get() & FOREIGN == 0;
        let held_back = here.held_back.get();
        (here.callee.get(), here.callee_place.get(), held_back, alone)
    });
    if alone && !held_back {
        life.edge.publish();
    }
    let cycle = if alone {
        cycle_of(life, callee, place)
    } else {
        None
    };
    let verdict = match (cycle, held_back) {
        (Some(cycle), _) => {
            REFUSED.with(|refused| *refused.borrow_mut() = Some(cycle));
            Verdict::Refuse
        }
        (None, true) => Verdict::Send,
        (None, false) => return false,
    };
    here(|here| here.verdict.set(verdict));
    true
}

#[inline]
fn cycle_of(life: &Life, callee: u64, place: u32) -> Option<Cycle> {
    // Who is waited for waits for nobody, mostly.
    if callee == life.id {
        let away = is_away(life, here(|here| here.hands.get()));
        return (!away).then(|| Cycle::new(life, &[]));
    }
    roll::look(callee, place, |peer| peer.life().edge.read())??;
    walk(life, callee, place)
}

/// A cycle of calls, each actor waiting for the next: `a -> b -> a`.
///
/// ```
/// use tidings::actor::{ActorRef, Builder, CallError, Mailbox, Reply};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// type Ask = (ActorRef<Reply<String>>, Reply<String>);
/// let asker = Builder::new().name("asker").spawn(|mut mailbox: Mailbox<Reply<String>>| async move {
///     let this = mailbox.this().upgrade().unwrap();
///     while let Ok(reply) = mailbox.recv().await {
///         let refused = this.call(|reply| reply).await.unwrap_err();
///         let _ = reply.send(refused.to_string());
///     }
/// });
/// let why = asker.call(|reply| reply).await.unwrap();
/// assert_eq!(why, "refused: the call closes a cycle: asker -> asker");
/// # });
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Cycle {
    actors: Arc<[(u64, Option<Arc<str>>)]>,
}

impl Cycle {
    #[cold]
    fn new(me: &Life, steps: &[Step]) -> Self {
        let others = steps.iter().map(|step| (step.id, step.name.clone()));
        let actors = others.chain(std::iter::once((me.id, me.name())));
        Self {
            actors: actors.collect(),
        }
    }

    /// The [`id`](super::ActorRef::id)s and names of the actors, each of which waits for the
    /// next; the last is the one whose call was refused: it called the first.
    pub fn actors(&self) -> impl Iterator<Item = (u64, Option<&str>)> {
        self.actors.iter().map(|(id, name)| (*id, name.as_deref()))
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let around = self.actors().chain(self.actors().take(1));
        for (index, (id, name)) in around.enumerate() {
            let arrow = if index == 0 { "" } else { " -> " };
            match name {
                Some(name) => write!(f, "{arrow}{name}")?,
                None => write!(f, "{arrow}#{id}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cycle({self})")
    }
}
