//! What binds an actor to others, and its lives to one another: its supervisor, its children, its
//! links, and the count of its lives. Most actors have none of it.
//!
//! A *turn* is a beginning or an end of a life: a supervised actor is at turn 0 before its first
//! life, at an odd turn while it lives, at an even one between lives. Any other actor has one life,
//! which begins with it. The end that no life follows is no turn: it is announced (`Life`).

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use super::any::{AnyRef, Kin};
use super::child::Guardian;
use super::driver::Switch;
use super::exit::Exit;
use super::life::{Life, State};
use super::link::LinkExit;
use crate::Sender;
use crate::channel::source::{Side, Source};
use crate::channel::wait::{Ticket, Tickets, Wait, wait_event};
use crate::event::offer::Judge;
use crate::event::waits::Waits;
use crate::primitive::Arc;
use crate::task::{here, quietly};

pub(crate) struct Ties {
    /// Lives begun and ended.
    turn: u64,
    /// Those who wait for a turn.
    pub(super) turns: Tickets,
    /// How the last life ended.
    pub(super) last: Option<Exit>,
    /// Who is told of the end of each life, and decides whether another follows.
    pub(super) guardian: Option<Guardian>,
    /// Actors whose fate the present life shares, by id.
    pub(super) links: BTreeMap<u64, AnyRef>,
    /// Where the ends of linked actors go, if they are not to end this one.
    pub(super) trap: Option<Sender<LinkExit>>,
    /// Actors that end before the present life does, by id: in the order in which they came.
    children: BTreeMap<u64, Box<dyn Kin>>,
    /// Whose child it is.
    parent: Option<AnyRef>,
    /// What is done with messages that nobody is left to take: an `end::Undelivered<M>`.
    pub(super) undelivered: Option<Box<dyn Any + Send>>,
    /// Who runs the present life, if that is another executor.
    pub(super) switch: Option<Arc<Switch>>,
}

impl Default for Ties {
    fn default() -> Self {
        Self {
            turn: 1,
            turns: Tickets::new(),
            last: None,
            guardian: None,
            links: BTreeMap::new(),
            trap: None,
            children: BTreeMap::new(),
            parent: None,
            undelivered: None,
            switch: None,
        }
    }
}

impl fmt::Debug for Ties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ties")
            .field("turn", &self.turn)
            .field("links", &self.links.len())
            .field("children", &self.children.len())
            .finish_non_exhaustive()
    }
}

impl Ties {
    pub(super) fn is_alive(&self) -> bool {
        self.turn % 2 == 1
    }

    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    fn incarnation(&self) -> u64 {
        self.turn.div_ceil(2)
    }
}

/// What a life leaves behind when it ends.
pub(super) struct Over {
    /// If there were some: most have none, and the drop of an empty tree is 50 instructions.
    pub(super) links: Option<BTreeMap<u64, AnyRef>>,
    /// `None`: no life follows.
    pub(super) guardian: Option<Guardian>,
}

impl Life {
    /// It is a supervisor's child: its first life has not begun.
    pub(super) fn unborn(&self) {
        self.chan().locked(|state| state.ties().turn = 0);
    }

    /// A life begins, of whose end `guardian` is told.
    pub(super) fn begin(&self, guardian: Guardian) {
        self.forget();
        // The supervisor that begins it runs here.
        self.comes_from(here::actor());
        let old = self.chan().locked(|state| {
            let task = state.task.take();
            state.run = state.run.wrapping_add(1);
            state.closing = false;
            let ties = state.ties();
            ties.turn += 1;
            (task, ties.guardian.replace(guardian))
        });
        drop(old);
        // A foreign waker may panic, which must not hinder the life.
        quietly(|| self.turned());
    }

    /// The present life is over; if no other follows, so is the actor, and this is why.
    pub(super) fn over(&self, exit: &Exit) -> Over {
        let (over, old) = self.chan().locked(|state| {
            let task = state.task.take();
            let rare = state.rare();
            let doom = (rare.doom.take(), rare.verdict.take(), rare.link.take());
            let mut over = Over {
                links: None,
                guardian: None,
            };
            let (mut trap, mut last, mut switch) = (None, None, None);
            if let Some(ties) = &mut rare.ties {
                if !ties.links.is_empty() {
                    over.links = Some(std::mem::take(&mut ties.links));
                }
                over.guardian.clone_from(&ties.guardian);
                trap = ties.trap.take();
                switch = ties.switch.take();
                last = ties.last.replace(exit.clone());
                if over.guardian.is_some() {
                    ties.turn += 1;
                }
            }
            if over.guardian.is_none() {
                rare.exit = Some(exit.clone());
            }
            (over, (task, doom, trap, last, switch))
        });
        // There may be users' errors among them, whose panic must not hinder what comes next.
        quietly(|| drop(old));
        over
    }

    /// Nobody will begin another life. `Some`: none is being lived, and this is how the actor has
    /// ended; otherwise the present life is ended, if there is one, and the actor with it.
    pub(super) fn abandon(&self) -> Option<Exit> {
        let (last, guardian) = self.chan().locked(|state| {
            let ended = state.rare().exit.is_some() || state.is_alive();
            let ties = state.ties();
            let last = (!ended).then(|| ties.last.clone().unwrap_or(Exit::Killed));
            (last, ties.guardian.take())
        });
        drop(guardian);
        if last.is_none() {
            self.doom(Exit::Killed);
        }
        last
    }

    /// Tells those who wait for this turn.
    pub(super) fn turned(&self) {
        self.chan().commit_each(false, |state| {
            let ties = state.known_ties()?;
            let turn = ties.turn;
            ties.turns.claim(|wanted| match wanted <= turn {
                true => Judge::Take,
                false => Judge::Skip,
            })
        });
    }

    pub(super) fn guardian(&self) -> Option<Guardian> {
        self.chan()
            .locked(|state| state.known_ties().and_then(|ties| ties.guardian.clone()))
    }

    /// A child that ends before the present life does; it comes back if that is ending or over.
    pub(super) fn adopt(&self, child: Box<dyn Kin>) -> Result<(), Box<dyn Kin>> {
        let id = child.life().id;
        let mut child = Some(child);
        self.chan().locked(|state| {
            if state.is_alive() && !state.closing {
                state
                    .ties()
                    .children
                    .extend(child.take().map(|child| (id, child)));
            }
        });
        child.map_or(Ok(()), Err)
    }

    /// This actor is `parent`'s child.
    pub(super) fn belongs_to(&self, parent: AnyRef) {
        self.comes_from(parent.life().id);
        let before = self
            .chan()
            .locked(|state| state.ties().parent.replace(parent));
        drop(before);
    }

    /// A child has ended: its parent need not end it.
    pub(super) fn leave_parent(&self) {
        let parent = self
            .chan()
            .locked(|state| state.known_ties().and_then(|ties| ties.parent.take()));
        if let Some(parent) = parent {
            let this = parent.life().chan().locked(|state| {
                let ties = state.known_ties();
                ties.and_then(|ties| ties.children.remove(&self.id))
            });
            drop(this);
        }
    }

    /// The children that are to end now; there will be no more.
    pub(super) fn take_children(&self) -> BTreeMap<u64, Box<dyn Kin>> {
        self.chan().locked(|state| {
            state.closing = true;
            let ties = state.known_ties();
            ties.map_or_else(BTreeMap::new, |ties| std::mem::take(&mut ties.children))
        })
    }

    pub(super) fn incarnation(&self) -> u64 {
        self.chan()
            .locked(|state| state.known_ties().map_or(1, |ties| ties.incarnation()))
    }

    /// How the actor has ended, or the last life that is over, if any is.
    pub(super) fn last(&self) -> Option<Exit> {
        self.chan().locked(|state| {
            let ended = state.rare.as_ref().and_then(|rare| rare.exit.clone());
            ended.or_else(|| state.known_ties()?.last.clone())
        })
    }

    /// Is a life being lived?
    pub(super) fn is_lived(&self) -> bool {
        self.chan().locked(|state| state.is_alive())
    }

    fn turn(&self) -> u64 {
        self.chan()
            .locked(|state| state.known_ties().map_or(1, |ties| ties.turn))
    }

    /// Says where the ends of linked actors go while the present life lasts.
    pub(super) fn set_trap(&self, ends: Sender<LinkExit>) {
        let before = self.chan().locked(|state| state.ties().trap.replace(ends));
        drop(before);
    }

    /// Where the ends of linked actors go.
    pub(super) fn trap(&self) -> Option<Sender<LinkExit>> {
        self.chan()
            .locked(|state| state.known_ties().and_then(|ties| ties.trap.clone()))
    }

    /// The beginning of a life after this many, as an event.
    pub(super) fn restarted(&self, since: u64) -> Restarted<'_> {
        self.reached(since.saturating_mul(2).saturating_add(1))
    }

    /// The end of the present life, or of the actor, as an event.
    pub(super) fn life_over(&self) -> Restarted<'_> {
        self.reached(self.turn().next_multiple_of(2))
    }

    fn reached(&self, turn: u64) -> Restarted<'_> {
        Restarted {
            life: self,
            turn,
            slot: Ticket::new(None),
        }
    }
}

/// The event of a restart, from [`ActorRef::restarted`](super::ActorRef::restarted).
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Restarted<'a> {
    life: &'a Life,
    turn: u64,
    slot: Ticket,
}

impl Wait for Restarted<'_> {
    type State = State;
    type Output = Result<u64, Exit>;
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        self.life.chan()
    }
    fn waits_for(&self, waits: &mut Waits) {
        let what = ["end", "beginning"][(self.turn % 2) as usize];
        waits.of(format_args!(
            "the {what} of a life of {}",
            self.life.label()
        ));
    }
    fn ready(&mut self, state: &mut State) -> bool {
        if state.announced || state.ties().turn >= self.turn {
            return true;
        }
        self.slot.write(self.turn);
        false
    }
    fn done(&mut self) -> Self::Output {
        match self.life.tell_exit() {
            None => Ok(self.life.incarnation()),
            Some(exit) => Err(exit),
        }
    }
}

wait_event!(impl['a] Restarted<'a> => Result<u64, Exit>);
