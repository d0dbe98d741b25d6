//! What an actor is beside its mailbox: its name, its control lane, its end, and who wants to hear
//! of it. It lies in the same allocation as the mailbox. What binds it to others is in `ties.rs`.
//!
//! The control lane is apart from the messages, so that a stop never waits behind them. Whoever
//! signals stores the signal first and nudges the mailbox afterwards, under the mailbox's lock; the
//! actor looks for a signal under that lock before it waits. So none is missed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hint::cold_path;
use std::mem::discriminant;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::task::Waker;

use super::cycle::Note;
use super::driver::Switch;
use super::exit::Exit;
pub(super) use super::hand::Hand;
use super::roll::{self, Place};
use super::ties::Ties;
use crate::channel::source::{Lists, Side, Source};
use crate::event::offer::{Judge, Waiters};
use crate::primitive::Arc;
use crate::primitive::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::task::{AbortHandle, first, go_on, here, quietly};

/// What to do when a mailbox is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The sender waits for a place.
    #[default]
    Wait,
    /// The send fails and gives the message back, which is counted.
    Reject,
    /// The oldest message in the mailbox is dropped, and counted.
    DropOldest,
    /// The message that is sent is dropped, and counted.
    DropNewest,
}

/// How an actor is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// After the messages that are in the mailbox.
    Drain,
    /// After the message it handles; the others are dropped, and whoever waits for their replies hears of it.
    Now,
}

/// What goes by the control lane.
#[derive(Debug)]
pub(super) enum Signal {
    Stop(Stop),
    /// The same, by its supervisor, which ends it if it does not heed that: not for another life.
    End(Stop),
    /// A stop without delay, for this reason.
    Fail(Exit),
    /// The present life is to end without delay; the mailbox stays open for the next.
    EndLife,
}

impl Signal {
    fn is_of_the_kind_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stop(this), Self::Stop(other)) | (Self::End(this), Self::End(other)) => {
                this == other
            }
            _ => discriminant(self) == discriminant(other),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Life {
    pub(super) id: u64,
    pub(super) overflow: Overflow,
    /// There is something in the control lane.
    signalled: AtomicBool,
    /// It was asked to stop. The actor's own.
    stopped: AtomicBool,
    /// The mailbox was dropped, or the life is over.
    deaf: AtomicBool,
    /// The mailbox is received from by another task than the actor's. For ever.
    away: AtomicBool,
    /// See `hands`.
    hands: AtomicU8,
    /// See `is_waiting`.
    waiting: AtomicBool,
    /// See `is_busy`.
    busy: AtomicBool,
    /// See `kept`.
    kept: AtomicU32,
    /// See `handlers`.
    handlers: AtomicU32,
    pub(super) roll: Place,
    /// See `parent`.
    parent: AtomicU64,
    source: Source<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// Those who wait for the end.
    pub(super) observers: Waiters,
    /// The present life waits for its children, or is over: it takes no more of them.
    pub(super) closing: bool,
    /// It has ended, and what was to be done then has been done (`at_end`).
    left: bool,
    /// It has ended, and all that it held has been dropped.
    pub(super) announced: bool,
    /// What is known by the last number that was given runs the present life, or will.
    pub(super) run: u32,
    /// The task of the present life, once it is known; but for one that another executor runs
    /// (`Ties::switch`).
    pub(super) task: Option<AbortHandle>,
    /// What most actors have none of while they live.
    pub(super) rare: Option<Box<Rare>>,
}

#[derive(Default)]
pub(crate) struct Rare {
    pub(super) exit: Option<Exit>,
    signals: VecDeque<Signal>,
    name: Option<Arc<str>>,
    /// The present life is to end at its next turn, for this reason.
    pub(super) doom: Option<Exit>,
    /// The reason it gives if it stops in order.
    pub(super) verdict: Option<Exit>,
    /// What moves the life of a proxy.
    pub(super) link: Option<Waker>,
    /// Messages that were in the mailbox when nobody was left to take them.
    dead: u64,
    /// Messages that the overflow policy dropped or rejected.
    dropped: u64,
    /// What is to be done at its end, by the keys of those who want it.
    leaving: BTreeMap<u64, Leave>,
    pub(super) ties: Option<Box<Ties>>,
    note: Note,
}

/// Something to be done at an actor's end: ours, not a user's.
type Leave = Box<dyn FnOnce() + Send>;

impl fmt::Debug for Rare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rare")
            .field("name", &self.name)
            .field("exit", &self.exit)
            .field("leaving", &self.leaving.len())
            .field("ties", &self.ties)
            .finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    pub(super) fn ties(&mut self) -> &mut Ties {
        self.rare().ties.get_or_insert_default()
    }

    /// Its ties, if it has any.
    pub(super) fn known_ties(&mut self) -> Option<&mut Ties> {
        self.rare.as_mut()?.ties.as_deref_mut()
    }

    /// The driver of the present life, if that has one.
    pub(super) fn switch(&mut self) -> Option<&Arc<Switch>> {
        self.known_ties()?.switch.as_ref()
    }

    /// Is a life being lived?
    pub(super) fn is_alive(&mut self) -> bool {
        let Some(rare) = &mut self.rare else {
            return true;
        };
        rare.exit.is_none() && rare.ties.as_ref().is_none_or(|ties| ties.is_alive())
    }
}

impl Lists for State {
    fn waiters(&mut self, side: Side) -> &mut Waiters {
        match side {
            Side::Receiver => self.ties().turns.list(),
            _ => &mut self.observers,
        }
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
            away: AtomicBool::new(false),
            hands: AtomicU8::new(0),
            waiting: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            kept: AtomicU32::new(0),
            handlers: AtomicU32::new(0),
            roll: Place::new(),
            parent: AtomicU64::new(here::actor()),
            source: Source::new(State {
                observers: Waiters::new(),
                closing: false,
                left: false,
                announced: false,
                run: 0,
                task: None,
                rare,
            }),
        }
    }

    /// Bits of `task::here`, from the end of one poll to the beginning of the next.
    #[inline(always)]
    pub(super) fn hands(&self) -> u8 {
        // RELAXED: the actor's own task writes and reads it; others have it from a note.
        self.hands.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set_hands(&self, hands: u8) {
        // RELAXED: as above.
        self.hands.store(hands, Ordering::Relaxed);
    }

    /// Has it a note of whom it waits for (`cycle.rs`)?
    #[inline(always)]
    pub(super) fn is_waiting(&self) -> bool {
        // RELAXED: a note that is made at this moment is found at the end of the poll.
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn set_waiting(&self, waiting: bool) {
        // RELAXED: as above.
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Is it polled at this moment, on a thread of its own? The task that stands for it does not know.
    pub(super) fn is_busy(&self) -> bool {
        // RELAXED: for people.
        self.busy.load(Ordering::Relaxed)
    }

    pub(super) fn set_busy(&self, busy: bool) {
        // RELAXED: as above.
        self.busy.store(busy, Ordering::Relaxed);
    }

    /// Whom it waits for; `None` if it never has.
    pub(super) fn note(&self) -> Option<Note> {
        self.chan()
            .locked(|state| state.rare.as_ref().map(|rare| rare.note))
    }

    pub(super) fn with_note<R>(&self, f: impl FnOnce(&mut Note) -> R) -> R {
        self.chan().locked(|state| f(&mut state.rare().note))
    }

    /// How many messages lie in the mailbox, beside the channel: the stash, and what `scan` passed over.
    pub(super) fn kept(&self) -> usize {
        // RELAXED: for people, and for a pool's choice.
        self.kept.load(Ordering::Relaxed) as usize
    }

    pub(super) fn keeps(&self, kept: usize) {
        let kept = u32::try_from(kept).unwrap_or(u32::MAX);
        // RELAXED: as above; who has the mailbox writes it.
        self.kept.store(kept, Ordering::Relaxed);
    }

    /// How many reentrant handlers it runs.
    pub(super) fn handlers(&self) -> usize {
        // RELAXED: for a pool's choice.
        self.handlers.load(Ordering::Relaxed) as usize
    }

    pub(super) fn handles(&self, handlers: usize) {
        let handlers = u32::try_from(handlers).unwrap_or(u32::MAX);
        // RELAXED: as above; the actor's own task writes it.
        self.handlers.store(handlers, Ordering::Relaxed);
    }

    /// The number of the actor that has started it or whose child it is, or 0.
    pub(super) fn parent(&self) -> u64 {
        // RELAXED: for people.
        self.parent.load(Ordering::Relaxed)
    }

    pub(super) fn comes_from(&self, parent: u64) {
        // RELAXED: as above.
        self.parent.store(parent, Ordering::Relaxed);
    }

    pub(super) fn chan(&self) -> &Source<State> {
        &self.source
    }

    pub(super) fn name(&self) -> Option<Arc<str>> {
        self.chan()
            .locked(|state| state.rare.as_ref().and_then(|rare| rare.name.clone()))
    }

    /// Its name, or its number: for people.
    pub(super) fn label(&self) -> Arc<str> {
        self.name()
            .unwrap_or_else(|| format!("actor {}", self.id).into())
    }

    /// Its task, as waits know it, and whether it neither runs nor is queued, which of another executor's
    /// only that knows ([`Switch::waits`]); `None` before it has one.
    pub(super) fn task(&self) -> Option<(usize, bool)> {
        self.chan().locked(|state| match &state.task {
            Some(task) => Some((task.address(), task.is_idle())),
            None => state.switch()?.waits(),
        })
    }

    /// Where it was started, once its task is known.
    pub(super) fn started(&self) -> Option<&'static Location<'static>> {
        self.chan().locked(|state| match &state.task {
            Some(task) => Some(task.location()),
            None => state.switch().map(|switch| switch.started),
        })
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.chan()
            .locked(|state| state.rare.as_ref().and_then(|rare| rare.exit.clone()))
    }

    /// As `exit`, for somebody who hears of it.
    pub(super) fn tell_exit(&self) -> Option<Exit> {
        self.exit().inspect(Exit::heard)
    }

    /// Counts a message that the overflow policy drops or rejects.
    pub(super) fn overflow(&self) {
        self.chan().locked(|state| state.rare().dropped += 1);
    }

    pub(super) fn overflowed(&self) -> u64 {
        self.chan()
            .locked(|state| state.rare.as_ref().map_or(0, |rare| rare.dropped))
    }

    /// The actor has heard that it is to stop.
    pub(super) fn stop(&self) {
        // RELAXED: the actor's own task writes and reads it.
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The mailbox has been dropped, or is no concern of the life any more, which is over.
    pub(super) fn deafen(&self) {
        // RELAXED: who has the mailbox, or ends the life, writes it; who reads it closes a mailbox that nobody has.
        self.deaf.store(true, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(super) fn goes_away(&self) {
        cold_path();
        // RELAXED: a call cycle that is found nevertheless was there at a moment before.
        self.away.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_away(&self) -> bool {
        self.away.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    /// The reason that a life gives which stops in order.
    pub(super) fn verdict(&self) -> Exit {
        let verdict = self
            .chan()
            .locked(|state| state.rare.as_ref().and_then(|rare| rare.verdict.clone()));
        verdict.unwrap_or(Exit::Stopped)
    }

    /// The exit of a life whose function has returned in order. A failure that it was told of counts, also if it has
    /// not come to hear that.
    pub(super) fn last_word(&self) -> Exit {
        let failure = self.chan().locked(|state| {
            let mut signals = state.rare.as_ref()?.signals.iter();
            signals.find_map(|signal| match signal {
                Signal::Fail(exit) => Some(exit.clone()),
                _ => None,
            })
        });
        match failure {
            Some(exit) => exit,
            None if self.was_stopped() => self.verdict(),
            None => Exit::Normal,
        }
    }

    /// Counts messages that nobody is left to take.
    pub(super) fn bury(&self, n: usize) {
        self.chan().locked(|state| state.rare().dead += n as u64);
    }

    pub(super) fn dead(&self) -> u64 {
        self.chan()
            .locked(|state| state.rare.as_ref().map_or(0, |rare| rare.dead))
    }

    /// Stores a signal; the caller nudges the mailbox afterwards. One of a kind is enough: the last, which may say why.
    /// Who has ended hears nothing any more.
    pub(super) fn signal(&self, signal: Signal) {
        let unheard = self.chan().locked(|state| {
            let rare = state.rare();
            if rare.exit.is_some() {
                return Some(signal);
            }
            // ORD life.signalled: relaxed; the mailbox's lock, which the nudge takes, publishes it.
            self.signalled.store(true, Ordering::Relaxed);
            let mut pending = rare.signals.iter_mut();
            if let Some(before) = pending.find(|pending| pending.is_of_the_kind_of(&signal)) {
                return Some(std::mem::replace(before, signal));
            }
            rare.signals.push_back(signal);
            None
        });
        // Without the lock: it may hold a user's error, whose panic must not hinder the nudge.
        quietly(|| drop(unheard));
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

    /// It fails when it stops: for this reason.
    pub(super) fn fails(&self, exit: Exit) {
        let before = self
            .chan()
            .locked(|state| state.rare().verdict.replace(exit));
        drop(before);
    }

    /// A new life has heard of nothing and has its mailbox. A stop that no life has heard is for
    /// this one; what was to end the last life is not.
    pub(super) fn forget(&self) {
        let old = self.chan().locked(|state| {
            let signals = state.rare.as_mut().map(|rare| &mut rare.signals);
            let (stops, old): (VecDeque<_>, _) = signals.map_or_else(Default::default, |signals| {
                let is_stop = |signal: &Signal| matches!(signal, Signal::Stop(_));
                std::mem::take(signals).into_iter().partition(is_stop)
            });
            // RELAXED: no life is being lived; the spawn of the next publishes these.
            self.signalled.store(!stops.is_empty(), Ordering::Relaxed);
            self.stopped.store(false, Ordering::Relaxed);
            self.deaf.store(false, Ordering::Relaxed);
            if let Some(rare) = &mut state.rare {
                rare.signals = stops;
            }
            old
        });
        // There may be users' errors among them.
        quietly(|| drop(old));
    }

    /// Has `f` done when the actor has ended, before anybody who waits for the end hears of it.
    /// `false`: it has ended, and `f` is not done.
    pub(super) fn at_end(&self, key: u64, f: impl FnOnce() + Send + 'static) -> bool {
        let mut f: Option<Leave> = Some(Box::new(f));
        self.chan().locked(|state| {
            if !state.left {
                state.rare().leaving.extend(f.take().map(|f| (key, f)));
            }
        });
        f.is_none()
    }

    /// Takes back what `key` wanted to be done.
    pub(super) fn not_at_end(&self, key: u64) {
        let forgotten = self
            .chan()
            .locked(|state| state.rare.as_mut()?.leaving.remove(&key));
        drop(forgotten);
    }

    /// Does what is to be done at the end of the last life.
    pub(super) fn leave(&self) {
        roll::leave(self);
        let leaving = self.chan().locked(|state| {
            state.left = true;
            let rare = state.rare.as_mut();
            rare.map(|rare| std::mem::take(&mut rare.leaving))
        });
        let mut done = Ok(());
        for (_, leave) in leaving.into_iter().flatten() {
            // It may wake a waker that panics, which must not hinder the rest.
            done = first(done, catch_unwind(AssertUnwindSafe(leave)));
        }
        go_on(done);
    }

    /// Tells everyone who waits for the end.
    pub(super) fn announce(&self) {
        self.chan().locked(|state| state.announced = true);
        let mut hears = false;
        let woken = self.chan().commit_quietly(false, |state| {
            let turns = |ties: &mut Ties| ties.turns.claim(|_| Judge::Take);
            let claimed = state.observers.claim();
            let claimed = claimed.or_else(|| state.known_ties().and_then(turns));
            hears |= claimed.is_some();
            claimed
        });
        if hears {
            // Also where they do not come to look, because their runtime ends.
            self.tell_exit();
        }
        go_on(woken);
    }
}
