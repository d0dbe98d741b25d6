//! Small programs: a few parties that use one primitive, drawn from a seed.

#[cfg(not(loom))]
mod actors;
mod cells;
mod channels;
mod choices;
mod listeners;
mod locks;
#[cfg(not(loom))]
mod tasks;

use std::fmt::Debug;

use crate::dice::Dice;
use crate::history::{Act, Diary, Gauge, Got, Log};
use crate::letter::Ledger;
use crate::party::{Hand, Party};
use crate::waits::Powers;

/// Programs that use one primitive.
pub(crate) struct Primitive {
    /// As SEMANTICS.md calls it.
    pub(crate) name: &'static str,
    pub(crate) program: fn(&mut Setup) -> Program,
}

pub(crate) const PRIMITIVES: &[Primitive] = &[
    Primitive {
        name: "channel",
        program: channels::rendezvous,
    },
    Primitive {
        name: "bounded",
        program: channels::bounded,
    },
    Primitive {
        name: "unbounded",
        program: channels::unbounded,
    },
    Primitive {
        name: "oneshot",
        program: cells::oneshot,
    },
    Primitive {
        name: "broadcast",
        program: listeners::broadcast,
    },
    Primitive {
        name: "watch",
        program: listeners::watch,
    },
    Primitive {
        name: "IVar",
        program: cells::ivar,
    },
    Primitive {
        name: "MVar",
        program: cells::mvar,
    },
    Primitive {
        name: "Mutex",
        program: locks::mutex,
    },
    Primitive {
        name: "RwLock",
        program: locks::rw_lock,
    },
    Primitive {
        name: "Semaphore",
        program: locks::semaphore,
    },
    Primitive {
        name: "Notify",
        program: locks::notify,
    },
    Primitive {
        name: "Barrier",
        program: locks::barrier,
    },
    Primitive {
        name: "choice",
        program: choices::choice,
    },
    Primitive {
        name: "swap",
        program: choices::swap,
    },
    Primitive {
        name: "timer",
        program: scheduled::timer,
    },
    Primitive {
        name: "task",
        program: scheduled::task,
    },
    Primitive {
        name: "actor",
        program: scheduled::actor,
    },
    Primitive {
        name: "calls",
        program: scheduled::calls,
    },
];

impl Primitive {
    /// Does a runtime of ours run the program, or a part of it?
    #[cfg(shuttle)]
    pub(crate) fn needs_a_home(&self) -> bool {
        ["actor", "calls"].contains(&self.name)
    }
}

/// What needs our scheduler.
#[cfg(not(loom))]
mod scheduled {
    pub(crate) use super::actors::{actor, calls};
    pub(crate) use super::tasks::{task, timer};
}

/// loom has neither a clock nor our scheduler.
#[cfg(loom)]
mod scheduled {
    use super::{Program, Setup};

    pub(crate) fn actor(_: &mut Setup) -> Program {
        unreachable!("SEMANTICS.md does not ask loom for actors")
    }
    pub(crate) fn calls(_: &mut Setup) -> Program {
        unreachable!("SEMANTICS.md does not ask loom for actors")
    }

    pub(crate) fn timer(_: &mut Setup) -> Program {
        unreachable!("SEMANTICS.md does not ask loom for timers")
    }
    pub(crate) fn task(_: &mut Setup) -> Program {
        unreachable!("SEMANTICS.md does not ask loom for tasks")
    }
}

/// How large programs are at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Parties in all.
    pub(crate) parties: u64,
    /// Acts of each.
    pub(crate) acts: u64,
}

/// What a program is made with.
pub(crate) struct Setup {
    pub(crate) dice: Dice,
    pub(crate) size: Size,
    pub(crate) powers: Powers,
    pub(crate) log: Log,
    pub(crate) ledger: Ledger,
    /// Where tasks and actors are started.
    #[cfg(not(loom))]
    pub(crate) homes: Vec<tidings::sched::Handle>,
}

impl Setup {
    /// A new party's.
    pub(crate) fn hand(&mut self) -> Hand {
        let dice = Dice(self.dice.below(u64::MAX));
        let acts = 1 + self.dice.below(self.size.acts);
        Hand::new(
            dice,
            self.log.diary(),
            acts,
            self.powers,
            self.ledger.clone(),
        )
    }

    /// One of the runtimes.
    #[cfg(not(loom))]
    pub(crate) fn home(&mut self) -> tidings::sched::Handle {
        let index = self.dice.below(self.homes.len() as u64);
        self.homes[usize::try_from(index).unwrap()].clone()
    }

    /// How many parties there are on each of two sides: at least one.
    pub(crate) fn sides(&mut self) -> (u64, u64) {
        let left = 1 + self.dice.below(self.size.parties - 1);
        (left, 1 + self.dice.below(self.size.parties - left))
    }

    /// How many parties there are, where all are alike: at least two.
    pub(crate) fn crowd(&mut self) -> u64 {
        2 + self.dice.below(self.size.parties - 1)
    }

    /// One time out of `n`.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.dice.below(n) == 0
    }
}

/// What an engine runs.
pub(crate) struct Program {
    pub(crate) parties: Vec<Party>,
    /// Called when all parties are gone: what is left is measured, and goes too.
    pub(crate) finish: Box<dyn FnOnce(&mut End) + Send>,
    pub(crate) capacity: Option<u64>,
    /// Parties may be aborted.
    pub(crate) mortal: bool,
}

/// The end of a program.
pub(crate) struct End {
    pub(crate) diary: Diary,
    pub(crate) gauges: Vec<Gauge>,
}

impl End {
    pub(crate) fn gauge(
        &mut self,
        law: &'static str,
        what: &'static str,
        expected: u64,
        found: u64,
    ) {
        self.gauges.push(Gauge {
            law,
            what,
            expected,
            found,
        });
    }

    /// A number that `Debug` shows, which must be 0: waits that were left.
    pub(crate) fn none_waits(&mut self, of: &impl Debug, key: &'static str) {
        self.gauge("no-wait-left", key, 0, number(of, key));
    }

    /// A value that was left over.
    pub(crate) fn left(&self, source: u32, value: u64) {
        self.diary.ask(source, Act::Take).got(Got::Value(value));
    }
}

/// The number behind `key: ` in what `Debug` shows.
pub(crate) fn number(of: &impl Debug, key: &str) -> u64 {
    let text = format!("{of:?}");
    let rest = text.split(&format!("{key}: ")).nth(1);
    let rest = rest.unwrap_or_else(|| panic!("{text} has no {key}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits
        .parse()
        .unwrap_or_else(|_| panic!("{key} of {text} is no number"))
}
