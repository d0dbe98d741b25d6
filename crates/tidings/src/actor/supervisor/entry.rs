//! One child of a supervisor: how it is started, what it does, and what it is to do.

use std::fmt;

use crate::actor::Reply;
use crate::actor::child::{Child, Lives, Policy};
use crate::actor::exit::Exit;
use crate::primitive::{Mutex, lock};
use crate::time::Instant;

/// A child, whatever it takes.
pub(super) struct Spec {
    pub(super) lives: Box<dyn Lives>,
    pub(super) policy: Policy,
}

impl Spec {
    pub(super) fn of<M: Send + 'static>(child: Child<M>) -> Self {
        Self {
            lives: child.lives,
            policy: child.policy,
        }
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spec").field(&self.lives.any()).finish()
    }
}

/// Where the children of a supervisor are that is itself a child, between its lives.
pub(super) struct Slot(Mutex<Vec<Spec>>);

impl Slot {
    pub(super) fn new(children: Vec<Spec>) -> Self {
        Self(Mutex::new(children))
    }

    pub(super) fn take(&self) -> Vec<Spec> {
        std::mem::take(&mut *lock(&self.0))
    }

    pub(super) fn put(&self, child: Spec) {
        lock(&self.0).push(child);
    }
}

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing; not to be started before this time.
    Off(Option<Instant>),
    /// It has been started and takes no messages yet.
    Starting,
    Running,
    /// It has been asked to end.
    Stopping,
}

/// What a child is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Run,
    /// End its life, then run.
    RunAgain,
    /// End, for good.
    End,
}

pub(super) struct Entry {
    pub(super) spec: Spec,
    pub(super) phase: Phase,
    pub(super) goal: Goal,
    /// It is started again if the supervisor is.
    pub(super) kept: bool,
    /// It has never taken messages in this life of its supervisor.
    pub(super) fresh: bool,
    /// The supervisor is not up before it is.
    pub(super) awaited: bool,
    /// Failures in a row.
    pub(super) failures: u32,
    pub(super) since: Instant,
    /// When to look at it.
    pub(super) timer: Option<Instant>,
    /// Who waits for its start.
    pub(super) starter: Option<Reply<Result<(), Exit>>>,
    /// Who waits for the end of its life.
    pub(super) enders: Vec<Reply<bool>>,
}

/// An event about a life, with more fields. Only if it is wanted the macro asks for them.
#[cfg(feature = "tracing")]
macro_rules! tell {
    ($level:ident, $life:expr, { $($more:tt)* }, $($text:tt)+) => {
        tracing::$level!(
            target: "tidings",
            {
                actor.id = $life.id,
                actor.name = $life.name().as_deref(),
                incarnation = $life.incarnation(),
                $($more)*
            },
            $($text)+
        )
    };
}

impl Entry {
    pub(super) fn new(spec: Spec, kept: bool) -> Self {
        Self {
            spec,
            phase: Phase::Off(None),
            goal: Goal::Run,
            kept,
            fresh: true,
            awaited: kept,
            failures: 0,
            since: Instant::now(),
            timer: None,
            starter: None,
            enders: Vec::new(),
        }
    }

    /// An event of `tracing`: it takes messages.
    #[cfg(feature = "tracing")]
    pub(super) fn tell_start(&self) {
        let life = self.spec.lives.kin().life();
        tell!(
            info,
            life,
            {},
            "{}",
            if life.incarnation() > 1 {
                "started anew"
            } else {
                "started"
            }
        );
    }

    /// An event of `tracing`: its life is over, for this reason.
    #[cfg(feature = "tracing")]
    pub(super) fn tell_end(&self, exit: &Exit) {
        let life = self.spec.lives.kin().life();
        match exit.is_orderly() {
            true => tell!(info, life, { %exit }, "ended"),
            false => tell!(warn, life, { %exit }, "ended"),
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.phase, Phase::Off(_))
    }

    pub(super) fn is_to_end(&self) -> bool {
        self.goal != Goal::Run && matches!(self.phase, Phase::Starting | Phase::Running)
    }
}
