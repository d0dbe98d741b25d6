//! What an actor is beside its mailbox: its name, its control lane, its end, and who wants to hear
//! of it. It lies in the same allocation as the mailbox.
//!
//! The control lane is apart from the messages, so that a stop never waits behind them. Whoever
//! signals stores the signal first and nudges the mailbox afterwards, under the mailbox's lock; the
//! actor looks for a signal under that lock before it waits. So none is missed.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;

use super::cycle::Edge;
use super::exit::Exit;
use super::roll;
use crate::channel::source::{Lists, Side, Slot, Source, slot_methods};
use crate::event::offer::Waiters;
use crate::event::waits::Waits;
use crate::event::{Attempt, Event, into_future};
use crate::primitive::Arc;
use crate::primitive::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::task::{AbortHandle, here};

/// What to do when a mailbox is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The sender waits for a place.
    #[default]
    Wait,
    /// The send fails and gives the message back.
    Reject,
    /// The oldest message in the mailbox is dropped, and counted.
    DropOldest,
    /// The message that is sent is dropped, and counted.
    DropNewest,
}

/// How an actor is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// After the messages that are in the mailbox.
    Drain,
    /// After the message it handles; the others are dropped, and whoever waits for their replies hears of it.
    Now,
}

/// What goes by the control lane.
#[derive(Debug)]
pub(super) enum Signal {
    Stop(Stop),
}

#[derive(Debug)]
pub(crate) struct Life {
    pub(super) id: u64,
    pub(super) overflow: Overflow,
    /// There is something in the control lane.
    signalled: AtomicBool,
    /// It was asked to stop. The actor's own.
    stopped: AtomicBool,
    /// The mailbox was dropped. The actor's own.
    deaf: AtomicBool,
    /// Messages that the overflow policy dropped.
    dropped: AtomicU64,
    /// Whom it waits for.
    pub(super) edge: Edge,
    /// Its place in the roll.
    place: AtomicU32,
    /// The number of the actor that started it, or 0.
    pub(super) parent: u64,
    source: Source<State>,
}

#[derive(Debug)]
struct State {
    /// Those who wait for the end.
    observers: Waiters,
    /// It has ended, and what was to be done then has been done (`at_end`).
    left: bool,
    /// It has ended, and all that it held has been dropped.
    announced: bool,
    task: Option<AbortHandle>,
    /// What most actors have none of while they live.
    rare: Option<Box<Rare>>,
}

#[derive(Default)]
struct Rare {
    exit: Option<Exit>,
    signals: VecDeque<Signal>,
    name: Option<Arc<str>>,
    /// What is to be done at its end, by the keys of those who want it.
    leaving: Vec<(u64, Leave)>,
}

/// Something to be done at an actor's end: ours, not a user's.
type Leave = Box<dyn FnOnce() + Send>;

impl fmt::Debug for Rare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rare")
            .field("name", &self.name)
            .field("exit", &self.exit)
            .field("leaving", &self.leaving.len())
            .finish_non_exhaustive()
    }
}

impl Lists for State {
    fn waiters(&mut self, _: Side) -> &mut Waiters {
        &mut self.observers
    }
}

impl Life {
    pub(super) fn new(overflow: Overflow, name: Option<Arc<str>>) -> Self {
        let rare = name.map(|name| {
            Box::new(Rare {
                name: Some(name),
                ..Rare::default()
            })
        });
        Self {
            id: super::next_id(),
            overflow,
            signalled: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            edge: Edge::new(),
            place: AtomicU32::new(0),
            parent: here::actor(),
            source: Source::new(State {
                observers: Waiters::new(),
                left: false,
                announced: false,
                task: None,
                rare,
            }),
        }
    }

    /// Where it stands in the roll, from its start on.
    pub(super) fn place(&self) -> u32 {
        // RELAXED: written before anybody else knows of the actor.
        self.place.load(Ordering::Relaxed)
    }

    pub(super) fn stands_at(&self, place: u32) {
        // RELAXED: as above.
        self.place.store(place, Ordering::Relaxed);
    }

    fn chan(&self) -> &Source<State> {
        &self.source
    }

    /// The task that runs the actor; aborted at once if it has been killed before it was known.
    pub(super) fn runs_as(&self, task: AbortHandle) {
        self.chan().locked(|state| state.task = Some(task));
    }

    pub(super) fn name(&self) -> Option<Arc<str>> {
        self.chan()
            .locked(|state| state.rare.as_ref().and_then(|rare| rare.name.clone()))
    }

    /// Its name, or its number, for people.
    pub(super) fn title(&self) -> String {
        match self.name() {
            Some(name) => format!("{name} (#{})", self.id),
            None => format!("#{}", self.id),
        }
    }

    /// Its task, as waits know it, and whether it neither runs nor is queued; `None` before it has
    /// one.
    pub(super) fn task(&self) -> Option<(usize, bool)> {
        self.chan().locked(|state| {
            let task = state.task.as_ref()?;
            Some((task.address(), task.is_idle()))
        })
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.chan()
            .locked(|state| state.rare.as_ref().and_then(|rare| rare.exit.clone()))
    }

    /// Counts a message that the overflow policy drops.
    pub(super) fn overflow(&self) {
        // RELAXED: a count.
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn overflowed(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The actor has heard that it is to stop.
    pub(super) fn stop(&self) {
        // RELAXED: the actor's own task writes and reads it.
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The mailbox has been dropped.
    pub(super) fn deafen(&self) {
        // RELAXED: as above.
        self.deaf.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    pub(super) fn kill(&self) {
        // Not under the lock: it wakes the task.
        let task = self.chan().locked(|state| state.task.clone());
        if let Some(task) = task {
            task.abort();
        }
    }

    /// Stores a signal; the caller nudges the mailbox afterwards.
    pub(super) fn signal(&self, signal: Signal) {
        self.chan().locked(|state| {
            state.rare.get_or_insert_default().signals.push_back(signal);
            // ORD life.signalled: relaxed; the mailbox's lock, which the nudge takes, publishes it.
            self.signalled.store(true, Ordering::Relaxed);
        });
    }

    /// Mailbox locked: is there a signal?
    #[inline(always)]
    pub(super) fn is_signalled(&self) -> bool {
        // RELAXED: whoever stored it took the mailbox's lock afterwards.
        self.signalled.load(Ordering::Relaxed)
    }

    pub(super) fn next_signal(&self) -> Option<Signal> {
        self.chan().locked(|state| {
            let rare = state.rare.as_mut()?;
            let signal = rare.signals.pop_front();
            if rare.signals.is_empty() {
                self.signalled.store(false, Ordering::Relaxed);
            }
            signal
        })
    }

    /// Records why it ends.
    pub(super) fn record(&self, exit: &Exit) {
        self.chan()
            .locked(|state| state.rare.get_or_insert_default().exit = Some(exit.clone()));
    }

    /// Has `f` done when the actor has ended, before anybody who waits for the end hears of it.
    /// `false`: it has ended, and `f` is not done.
    pub(super) fn at_end(&self, key: u64, f: impl FnOnce() + Send + 'static) -> bool {
        let mut f: Option<Leave> = Some(Box::new(f));
        self.chan().locked(|state| {
            if !state.left
                && let Some(f) = f.take()
            {
                let rare = state.rare.get_or_insert_default();
                rare.leaving.push((key, f));
            }
        });
        f.is_none()
    }

    /// Takes back what `key` wanted to be done.
    pub(super) fn not_at_end(&self, key: u64) {
        let forgotten = self.chan().locked(|state| {
            let leaving = &mut state.rare.as_mut()?.leaving;
            let index = leaving.iter().position(|&(of, _)| of == key)?;
            Some(leaving.swap_remove(index))
        });
        drop(forgotten);
    }

    /// Does what is to be done at the end.
    pub(super) fn leave(&self) {
        roll::leave(self.id, self.place());
        let leaving = self.chan().locked(|state| {
            state.left = true;
            let rare = state.rare.as_mut();
            rare.map(|rare| std::mem::take(&mut rare.leaving))
        });
        for (_, leave) in leaving.into_iter().flatten() {
            leave();
        }
    }

    /// Tells everyone who waits for the end.
    pub(super) fn announce(&self) {
        self.chan().locked(|state| state.announced = true);
        self.chan()
            .commit_each(false, |state| state.observers.claim());
    }

    /// The end of this actor, as an event.
    pub(super) fn down(&self) -> Down<'_> {
        Down {
            life: self,
            slot: Slot::new(None),
        }
    }
}

/// The event of an actor's end, from [`ActorRef::down`](super::ActorRef::down): OTP's monitor.
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Down<'a> {
    life: &'a Life,
    slot: Slot<()>,
}

impl Event for Down<'_> {
    type Lost = ();

    fn waits_for(&self, waits: &mut Waits) {
        waits.of(format_args!("the end of actor {}", self.life.title()));
    }

    slot_methods!(Side::Other, life);

    fn attempt(self: Pin<&mut Self>, attempt: &mut Attempt) -> Option<u32> {
        let source = self.life.chan();
        source
            .attempt(attempt, |state, _| state.announced)
            .then_some(0)
    }
    fn finish(self: Pin<&mut Self>, _: u32) -> Exit {
        self.life.exit().expect("the actor has ended")
    }
    fn abandon(self: Pin<&mut Self>, _: u32) {}
    fn lost(self: Pin<&mut Self>) {}
}

into_future!(impl['a] Down<'a> => Exit);
