//! What runs a life, and how it is ended from outside: at its next turn, whatever it waits for.
//!
//! The reason is stored first, and what runs the life is aborted afterwards; if that is not known yet it is when it is.

use std::task::Waker;

use super::driver::Switch;
use super::exit::Exit;
use super::life::{Life, State};
use crate::primitive::Arc;
use crate::task::AbortHandle;

/// What runs a life, for those who end it.
pub(super) enum Hand {
    Task(AbortHandle),
    Driver(Arc<Switch>),
    /// What moves a link: the life is that of a proxy of an actor elsewhere.
    Link(Waker),
}

impl Hand {
    fn abort(&self) {
        match self {
            Self::Task(task) => task.abort(),
            Self::Driver(switch) => switch.kill(),
            Self::Link(link) => link.wake_by_ref(),
        }
    }
}

impl State {
    /// What runs the present life, once it is known.
    fn hand(&mut self) -> Option<Hand> {
        if let Some(task) = &self.task {
            return Some(Hand::Task(task.clone()));
        }
        if let Some(switch) = self.switch() {
            return Some(Hand::Driver(Arc::clone(switch)));
        }
        self.rare.as_ref()?.link.clone().map(Hand::Link)
    }
}

impl Life {
    /// The number of what will run the present life from here on: taken before that can begin.
    pub(super) fn next_run(&self) -> u32 {
        self.chan().locked(|state| {
            state.run = state.run.wrapping_add(1);
            state.run
        })
    }

    /// What runs the present life, by its number; aborted at once if it was doomed before that was known. It may have
    /// ended meanwhile, and something else run the life, or the next.
    pub(super) fn runs_as(&self, run: u32, hand: Hand) {
        let (doomed, before) = self.chan().locked(|state| {
            let mut before = None;
            match &hand {
                _ if run != state.run || !state.is_alive() => return (false, None),
                Hand::Task(task) => state.task = Some(task.clone()),
                Hand::Driver(switch) => before = state.ties().switch.replace(Arc::clone(switch)),
                Hand::Link(link) => state.rare().link = Some(link.clone()),
            }
            let rare = state.rare.as_ref();
            (rare.is_some_and(|rare| rare.doom.is_some()), before)
        });
        drop(before);
        if doomed {
            hand.abort();
        } else if self.is_waiting() {
            // Who was to have it polled again did not know it yet.
            self.poll_again();
        }
    }

    /// Has it polled once more, for the call that it waits for, if it is a task.
    #[cold]
    pub(super) fn poll_again(&self) {
        let task = self.chan().locked(|state| state.task.clone());
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Ends the present life at its next turn, for this reason; the first that is given counts.
    /// Between lives there is nothing to end.
    pub(super) fn doom(&self, exit: Exit) {
        // Not under the lock: it wakes the task. One that is not known yet is aborted when it is.
        if let Some(hand) = self.dooms(exit) {
            hand.abort();
        }
    }

    /// The same, and gives what runs the life, which is to be aborted.
    pub(super) fn dooms(&self, exit: Exit) -> Option<Hand> {
        // What is not stored is dropped without the lock: it may hold a user's error.
        let mut exit = Some(exit);
        self.chan().locked(|state| {
            if !state.is_alive() {
                return None;
            }
            let doom = &mut state.rare().doom;
            if doom.is_none() {
                *doom = exit.take();
            }
            state.hand()
        })
    }

    /// Why the present life is to end, if it is; once.
    pub(super) fn doomed(&self) -> Option<Exit> {
        self.chan()
            .locked(|state| state.rare.as_mut().and_then(|rare| rare.doom.take()))
    }

    /// Why the present life was aborted.
    pub(super) fn take_doom(&self) -> Exit {
        self.doomed().unwrap_or(Exit::Killed)
    }
}
