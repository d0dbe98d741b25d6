//! One run of one program: made, watched, and judged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Once};

use tidings::channel::dead_letters;

use crate::dice::Dice;
use crate::history::{History, Log, lock};
use crate::letter::Ledger;
use crate::party::Party;
use crate::plan::Row;
use crate::programs::{End, Program, Setup, Size};
use crate::waits::Powers;

/// What runs, for whoever has to tell that it went wrong.
#[derive(Clone, Debug)]
struct Now {
    engine: &'static str,
    primitive: &'static str,
    seed: u64,
    log: Log,
}

static NOW: Mutex<Option<Now>> = Mutex::new(None);
/// One engine at a time: dead letters are counted for the whole process.
static ONE: Mutex<()> = Mutex::new(());

/// How often each law of each primitive was held: programs, and runs of them.
pub(crate) type Counts = Arc<Mutex<BTreeMap<&'static str, Count>>>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) programs: u64,
    pub(crate) runs: u64,
    last: Option<u64>,
}

/// Enters alone, with a hook that tells what ran when something panics.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static HOOK: Once = Once::new();
    let guard = lock(&ONE);
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            usual(info);
            tell();
        }));
    });
    guard
}

/// Prints what runs, what has happened so far, and how to run it again.
pub(crate) fn tell() {
    let Some(Now {
        engine,
        primitive,
        seed,
        log,
    }) = lock(&NOW).clone()
    else {
        return;
    };
    let mut so_far = String::new();
    for record in log.records() {
        so_far += &format!("  {record:?}\n");
    }
    eprintln!(
        "engine {engine}, primitive {primitive}, seed {seed}; its history:\n{so_far}\
         again: cargo x laws {engine}/{primitive} --seed {seed}"
    );
}

/// What is unmistakable about the program that runs: the watchdog compares it.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn now() -> Option<(&'static str, u64, usize)> {
    lock(&NOW)
        .as_ref()
        .map(|now| (now.primitive, now.seed, now.log.records().len()))
}

/// The history of what runs, though it has not come to an end.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn unfinished() -> History {
    let records = lock(&NOW)
        .as_ref()
        .map_or_else(Vec::new, |now| now.log.records());
    History {
        records,
        ..History::default()
    }
}

/// One run.
pub(crate) struct Trial {
    finish: Box<dyn FnOnce(&mut End) + Send>,
    capacity: Option<u64>,
    end: End,
    log: Log,
    ledger: Ledger,
    seed: u64,
    dead_before: u64,
    /// Parties may be aborted.
    #[cfg_attr(
        any(loom, shuttle),
        expect(dead_code, reason = "their threads cannot be aborted")
    )]
    pub(crate) mortal: bool,
}

/// What an engine gives a program.
pub(crate) struct Given {
    pub(crate) engine: &'static str,
    pub(crate) seed: u64,
    pub(crate) size: Size,
    pub(crate) powers: Powers,
    #[cfg(not(loom))]
    pub(crate) homes: Vec<tidings::sched::Handle>,
}

impl Trial {
    /// Makes the program of this seed; the engine runs its parties, and then calls `end`.
    pub(crate) fn start(row: &Row, given: Given) -> (Self, Vec<Party>) {
        let (log, ledger) = (Log::default(), Ledger::default());
        let Given { engine, seed, .. } = given;
        let primitive = row.primitive.name;
        *lock(&NOW) = Some(Now {
            engine,
            primitive,
            seed,
            log: log.clone(),
        });
        let mut setup = Setup {
            dice: Dice(seed),
            size: given.size,
            powers: given.powers,
            log: log.clone(),
            ledger: ledger.clone(),
            #[cfg(not(loom))]
            homes: given.homes,
        };
        let dead_before = dead_letters();
        let Program {
            parties,
            finish,
            capacity,
            mortal,
        } = (row.primitive.program)(&mut setup);
        let end = End {
            diary: log.diary(),
            gauges: Vec::new(),
        };
        (
            Self {
                finish,
                capacity,
                end,
                log,
                ledger,
                seed,
                dead_before,
                mortal,
            },
            parties,
        )
    }

    /// All parties are gone: judges. Panics if a law is broken.
    pub(crate) fn end(mut self, row: &Row, counts: &Counts) {
        (self.finish)(&mut self.end);
        self.end.gauge(
            "no-leak",
            "values that are left",
            0,
            self.ledger.alive() as u64,
        );
        let history = History {
            records: self.log.records(),
            gauges: self.end.gauges,
            capacity: self.capacity,
            dead: dead_letters() - self.dead_before,
        };
        let mut counts = lock(counts);
        for law in &row.laws {
            match (law.check)(&history) {
                Ok(held) => {
                    let count = counts.entry(law.name).or_default();
                    count.runs += u64::from(held);
                    if held && count.last.replace(self.seed) != Some(self.seed) {
                        count.programs += 1;
                    }
                }
                Err(why) => panic!("the law `{}` is broken: {why}\n{history}", law.name),
            }
        }
        drop(counts);
        *lock(&NOW) = None;
    }
}
