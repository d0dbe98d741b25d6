//! Call cycles: actor `a` waits for `b`, `b` for `c`, and `c` calls `a`. The last call is refused,
//! with the cycle by name, where nothing but that could end the wait of all.
//!
//! When the poll of an actor ends and its only wait is a call, the actor notes whom it waits for (a
//! [`Note`]). Who calls an actor that has such a note walks along the notes; if they lead back to the
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
//! A life that is over waits for the ends of its children, one after the other, and has a note of that,
//! too: nobody else can bring an end, and what lies in its mailbox stays there. Whoever waits for it then
//! by calls is polled again, and finds that its call is one to be refused.
//!
//! Reentrant handlers, and what runs beside them, wait with wakers of `crowd.rs`, which are not the task's: their calls
//! make no note. They do not go on while a method has its actor to itself, whose call makes one. A note ends with the
//! life of its actor.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use rustc_hash::FxBuildHasher;

use super::exit::tell_dropped;
use super::life::{Life, Overflow};
use super::parcel::Parcel;
use super::roll::{Entry, Peer};
use crate::channel::refs::ReceiverRef;
use crate::primitive::explored::{Mutex, MutexGuard, lock};
use crate::primitive::{Arc, thread_local};
use crate::task::here::{self, FOREIGN, GAVE, HELD, PASSED, TOOK, Verdict, here};

/// Whom an actor waits for, from the end of one poll to the beginning of the next. It lies in the
/// actor's `Life`, under its lock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Note {
    /// No other wait of the actor has it.
    number: u64,
    wait: Option<Wait>,
    /// What the actor has done with the message it handles: bits of `task::here`.
    hands: u8,
    /// It is among the `CALLERS`.
    listed: bool,
}

/// A part of the actors that have waited for a call in their present life, by their numbers: how a
/// walk finds the next note.
type Callers = Mutex<HashMap<u64, Entry, FxBuildHasher>>;

#[cfg(not(loom))]
static CALLERS: [Callers; 64] = [const { Mutex::new(HashMap::with_hasher(FxBuildHasher)) }; 64];
#[cfg(loom)]
loom::lazy_static! {
    static ref CALLERS: [Callers; 1] = [Mutex::new(HashMap::default())];
}

/// The part in which an actor is. Of two who make their notes, and then look for the other's, at
/// least one finds it: each locks what both have locked, this list or the note.
fn callers(id: u64) -> MutexGuard<'static, HashMap<u64, Entry, FxBuildHasher>> {
    // The remainder is an index.
    lock(&CALLERS[(id % CALLERS.len() as u64) as usize])
}

/// The call that an actor waits for, or the end of a child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) callee: u64,
    /// Of the request: how many messages had come before it; that of one which is held back is higher than any.
    /// `None`: it waits for the end.
    pub(super) ticket: Option<u64>,
}

/// The actor has a note from here on.
fn publish(me: &dyn Peer, entry: &dyn Fn() -> Entry, wait: Wait) {
    let life = me.life();
    let hands = life.hands();
    life.set_waiting(true);
    let listed = life.with_note(|note| {
        note.number += 1;
        note.wait = Some(wait);
        note.hands = hands;
        std::mem::replace(&mut note.listed, true)
    });
    if !listed {
        let entry = entry();
        callers(life.id).insert(life.id, entry);
    }
}

/// Its note does not hold any more.
fn clear(life: &Life) {
    life.set_waiting(false);
    life.with_note(|note| note.wait = None);
}

/// A life is over: it waits for nobody, and what it held it holds no more.
pub(super) fn life_over(life: &Life) {
    if life.is_waiting() {
        clear(life);
    }
    life.set_hands(GAVE);
    if life.note().is_some_and(|note| note.listed) {
        life.with_note(|note| note.listed = false);
        let entry = callers(life.id).remove(&life.id);
        // Not under the lock: its mailbox may end with it.
        drop(entry);
    }
}

/// The life of `me` is over but for the end of this child. `true`: that waits for `me`, by calls, which are looked at
/// again.
pub(super) fn waits_for_end(me: &dyn Peer, entry: &dyn Fn() -> Entry, child: u64) -> bool {
    let wait = Wait {
        callee: child,
        ticket: None,
    };
    publish(me, entry, wait);
    let mut steps = Vec::new();
    if !follow(child, me.life().id, |step| steps.push(step)) {
        return false;
    }
    for step in steps.iter().filter(|step| step.ticket.is_some()) {
        let caller = callers(step.id).get(&step.id).cloned();
        if let Some(caller) = caller {
            caller.peer().life().poll_again();
        }
    }
    true
}

/// Whom an actor calls.
pub(super) fn callee(life: &Life) -> Option<u64> {
    let wait = life.note()?.wait?;
    wait.ticket.map(|_| wait.callee)
}

/// An actor on a walk, with its note.
struct Step {
    id: u64,
    name: Option<Arc<str>>,
    number: u64,
    callee: u64,
    ticket: Option<u64>,
    hands: u8,
    mailbox: Seen,
}

fn step(id: u64) -> Option<Step> {
    let (actor, note, wait) = {
        let callers = callers(id);
        let actor = callers.get(&id)?;
        let note = actor.peer().life().note()?;
        let wait = note.wait?;
        (actor.clone(), note, wait)
    };
    // Its mailbox is looked at later than its note: that the note was there all the time is what a
    // walk makes sure of at its end (`is_certain`).
    let peer = actor.peer();
    Some(Step {
        id,
        name: peer.life().name(),
        number: note.number,
        callee: wait.callee,
        ticket: wait.ticket,
        hands: note.hands,
        mailbox: Seen::of(peer, note.hands, wait.ticket.is_none()),
    })
}

/// Does `each` with the steps from `id` to `me`. `false`: the notes do not lead there.
fn follow(mut id: u64, me: u64, mut each: impl FnMut(Step)) -> bool {
    // Brent's: notes that lead around a cycle without `me` come by this one again.
    let (mut seen, mut steps) = (id, 0_usize);
    while id != me {
        let Some(next) = step(id) else {
            return false;
        };
        id = next.callee;
        each(next);
        steps += 1;
        if id == seen {
            return false;
        }
        if steps.is_power_of_two() {
            seen = id;
        }
    }
    true
}

/// What a walk sees of a mailbox.
struct Seen {
    /// How many messages had left it.
    left: u64,
    /// It is not, or not for sure, in the hands of the actor's own task.
    away: bool,
    /// Some leave without being received.
    drops: bool,
    /// It waits for another life.
    over: bool,
}

impl Seen {
    fn of(peer: &dyn Peer, hands: u8, over: bool) -> Self {
        let life = peer.life();
        Self {
            left: peer.counts().left,
            away: match over {
                // Closed, if no life follows: whoever calls hears that.
                true => life.is_away() || life.guardian().is_none(),
                false => is_away(life, hands),
            },
            drops: life.overflow == Overflow::DropOldest,
            over,
        }
    }
}

/// May another than the actor's own task have its mailbox, or nobody?
fn is_away(life: &Life, hands: u8) -> bool {
    life.is_deaf() || life.is_away() || hands & (TOOK | GAVE) == GAVE
}

thread_local! {
    /// The cycle that the call was refused for; there with `Verdict::Refuse`.
    static REFUSED: RefCell<Option<Cycle>> = const { RefCell::new(None) };
}

/// Walks from the callee of `me` along the notes: the cycle, if they lead back to `me`, and nothing
/// but a refusal can end it.
fn walk(me: &dyn Peer, Wait { callee, ticket }: Wait) -> Option<Cycle> {
    let mut steps: Vec<Step> = Vec::new();
    let leads_back = follow(callee, me.life().id, |step| steps.push(step));
    (leads_back && is_certain(&steps, me, ticket)).then(|| Cycle::new(me.life(), &steps))
}

/// Could nobody outside of the cycle answer, and are all notes there at one moment?
fn is_certain(steps: &[Step], me: &dyn Peer, ticket: Option<u64>) -> bool {
    let my_hands = me.life().hands();
    let my_mailbox = Seen::of(me, my_hands, false);
    // Of those who wait, this actor first, and of those who are waited for, it last. What it has
    // held back has no ticket yet.
    let tickets = std::iter::once(ticket).chain(steps.iter().map(|step| step.ticket));
    let callees = steps.iter().map(|step| (&step.mailbox, step.hands));
    let mine = (&my_mailbox, my_hands);
    let (mut gave, mut in_hands) = (false, false);
    for (ticket, (mailbox, hands)) in tickets.zip(callees.chain([mine])) {
        // What a life that is over has given away is not what lies in its mailbox.
        gave |= hands & GAVE != 0 && !mailbox.over;
        let Some(ticket) = ticket else {
            continue;
        };
        if mailbox.away {
            return false;
        }
        if mailbox.left <= ticket {
            continue;
        }
        if mailbox.left != ticket + 1 || mailbox.drops || hands & PASSED != 0 {
            return false;
        }
        // It is in the state of a life that is over no more.
        if mailbox.over {
            return false;
        }
        in_hands |= hands & HELD == 0;
    }
    if in_hands && gave {
        return false;
    }
    let same = |known: &Step| step(known.id).is_some_and(|now| now.number == known.number);
    steps.iter().all(same)
}

/// Does a call of the actor that runs here, to `callee`, close a cycle, as things are?
#[inline]
pub(super) fn closes(callee: &Life) -> bool {
    let me = here(|here| here.actor.get());
    me != 0 && (callee.id == me || (callee.is_waiting() && leads_to(me, callee)))
}

#[cold]
fn leads_to(me: u64, callee: &Life) -> bool {
    follow(callee.id, me, |_| {})
}

/// The actor that runs here waits for an answer of `callee`. `ticket`: of the request, if it is
/// sent; otherwise it is held back.
#[inline]
pub(super) fn waits_for(callee: &Life, ticket: Option<u64>) {
    here(|here| {
        here.callee.set(callee.id);
        here.ticket.set(ticket.unwrap_or(u64::MAX));
        here.held_back.set(ticket.is_none());
    });
}

/// May the call that asks be all that the poll of its actor waits for?
pub(super) fn may_be_alone() -> bool {
    here(|here| here.waits.get() == 0 && here.hands.get() & FOREIGN == 0)
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
    if life.is_waiting() {
        clear(life);
    }
    here(|here| {
        here.actor.set(life.id);
        here.hands.set(life.hands());
        here.waits.set(0);
    });
}

/// After a poll of the actor. `true`: it is pending, and is to be polled again at once, because the
/// call that it waits for has something to do.
#[inline(always)]
pub(super) fn end<M: Send + 'static>(actor: &ReceiverRef<Parcel<M>, Life>, pending: bool) -> bool {
    let life = actor.beside();
    let waits_for = here(|here| {
        here.actor.set(0);
        // Mostly these say so already: a look is cheaper than a store.
        if here.verdict.get() != Verdict::Wait {
            here.verdict.set(Verdict::Wait);
        }
        let hands = here.hands.get();
        if life.hands() != hands {
            life.set_hands(hands);
        }
        here.callee.get() != 0
    });
    waits_for && ends_waiting(actor, pending)
}

/// As `end`, of a poll in which a call began to wait.
#[inline(never)]
fn ends_waiting<M: Send + 'static>(actor: &ReceiverRef<Parcel<M>, Life>, pending: bool) -> bool {
    let again = pending && look(&**actor, &|| Entry::new(actor.downgrade()));
    here(|here| here.callee.set(0));
    again
}

/// An actor is polled. Inside of the poll of another one nothing is known of that from then on; gives its number, and
/// the callee that it waits for, for [`returns`]. Two looks, and not the poll as a closure, which would be compiled twice
/// for each type of actor.
#[inline(always)]
pub(super) fn nests() -> (u64, u64) {
    let outer = here::actor();
    match outer {
        0 => (0, 0),
        _ => (outer, leave()),
    }
}

/// That poll has ended.
#[inline(always)]
pub(super) fn returns((outer, callee): (u64, u64)) {
    if outer != 0 {
        come_back(outer, callee);
    }
}

#[cold]
fn leave() -> u64 {
    // The end of the poll within is not that of the one around it.
    tell_dropped();
    here(|here| {
        here.actor.set(0);
        here.callee.replace(0)
    })
}

#[cold]
fn come_back(outer: u64, callee: u64) {
    here(|here| {
        here.actor.set(outer);
        here.hands.set(FOREIGN);
        // Of that call nothing is known any more, but that it may be held back.
        here.callee.set(callee);
        here.held_back.set(callee != 0);
    });
}

/// The poll of an actor has left a call waiting. `true`: that has something to do.
fn look(me: &dyn Peer, entry: &dyn Fn() -> Entry) -> bool {
    let (wait, held_back, alone) = here(|here| {
        let wait = Wait {
            callee: here.callee.get(),
            ticket: Some(here.ticket.get()),
        };
        let alone = here.waits.get() == 1 && here.hands.get() & FOREIGN == 0;
        (wait, here.held_back.get(), alone)
    });
    let cycle = alone.then(|| settle(me, entry, wait, held_back)).flatten();
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

/// The actor waits for this call and nothing else: makes its note, if the request is sent, and gives
/// the cycle that the call closes. `entry`: another reference to it.
pub(super) fn settle(
    me: &dyn Peer,
    entry: &dyn Fn() -> Entry,
    wait: Wait,
    held_back: bool,
) -> Option<Cycle> {
    if !held_back {
        publish(me, entry, wait);
    }
    walk(me, wait)
}

/// A cycle of calls, each actor waiting for the next: `a -> b -> a`. One whose life is over, before it ends or
/// lives again, waits for the ends of its [children](super::Builder::parent).
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::Builder;
    use super::{Entry, Wait, callee, callers, life_over, publish};

    #[test]
    fn each_wait_has_a_number_of_its_own_and_none_is_left_of_a_life_that_is_over() {
        let (sender, _receiver) = Builder::new().unlived::<u8>();
        let life = sender.beside();
        let is_listed = || callers(life.id).contains_key(&life.id);
        let mut last = None;
        for callee in 7..10 {
            let wait = Wait {
                callee,
                ticket: Some(0),
            };
            publish(&*sender, &|| Entry::new(sender.downgrade()), wait);
            let number = life.note().map(|note| note.number);
            assert!(number > last && is_listed());
            assert_eq!(super::callee(life), Some(callee));
            last = number;
        }
        life_over(life);
        assert!(callee(life).is_none() && !is_listed());
    }
}
