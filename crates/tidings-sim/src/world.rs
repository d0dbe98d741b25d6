//! What a program that runs in a simulation can ask of it, and the state that its nodes share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tidings::sched::{Choice, Ledger, Seam};

use crate::decisions::{About, Decisions};
use crate::failure::{Kind, Trouble};
use crate::net::{self, Net};
use crate::nodes::Nodes;

thread_local! {
    static CURRENT: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// The simulation that runs on this thread.
///
/// # Panics
/// Outside of a simulation.
///
/// ```
/// use tidings_sim::{Sim, world};
/// Sim::new(1).run(|| async { assert_eq!(world().seed(), 1) });
/// ```
#[must_use]
#[track_caller]
pub fn world() -> World {
    try_world().expect("there is a world in a simulation only: inside of `Sim::run`")
}

/// As [`world`]; `None` outside of a simulation.
#[must_use]
pub fn try_world() -> Option<World> {
    CURRENT.with_borrow(Clone::clone)
}

/// The simulation that a program runs in: what must hold in it, its time, its nodes.
#[derive(Clone)]
pub struct World {
    seed: u64,
    pub(crate) engine: Arc<Mutex<Engine>>,
}

/// What the nodes of a run share.
pub(crate) struct Engine {
    pub(crate) decisions: Decisions,
    pub(crate) now: Duration,
    /// Lines of faults, and whether this run tries them.
    faults: BTreeMap<(&'static str, u32, u32), bool>,
    pub(crate) checks: Vec<Check>,
    pub(crate) net: Net,
    pub(crate) nodes: Nodes,
}

/// Something that must hold.
pub(crate) struct Check {
    name: String,
    kind: CheckKind,
}

type Condition = Box<dyn FnMut() -> bool + Send>;

/// When all that must hold is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A task has run, and no time has passed since.
    Step,
    /// Time has passed, and nobody has run since.
    Passed,
    /// The program has ended.
    End,
}

enum CheckKind {
    /// After each step.
    Always(Condition),
    /// At some time, and at the latest then.
    Eventually(Condition, Duration),
    /// Not for so long at a stretch; since when it has been so.
    NotHot(Condition, Duration, Option<Duration>),
}

/// One in so many lines of faults is tried in a run, and then one in so many times.
const FAULTY: usize = 4;

impl World {
    pub(crate) fn new(seed: u64, decisions: Decisions) -> Self {
        let engine = Engine {
            decisions,
            now: Duration::ZERO,
            faults: BTreeMap::new(),
            checks: Vec::new(),
            net: Net::default(),
            nodes: Nodes::default(),
        };
        Self {
            seed,
            engine: Arc::new(Mutex::new(engine)),
        }
    }

    /// The run has ended: what was decided, and how late it is.
    pub(crate) fn end(&self) -> (Decisions, Duration) {
        let mut engine = self.lock();
        let decisions = std::mem::replace(&mut engine.decisions, Decisions::new(Vec::new(), None));
        (decisions, engine.now)
    }

    /// Drops what refers to the world, perhaps, and is the program's. Nodes and connections stay: who has kept
    /// one may ask it and drop it later.
    pub(crate) fn clear(&self) {
        let mut engine = self.lock();
        let left = (
            std::mem::take(&mut engine.checks),
            engine.nodes.take_programs(),
            engine.net.take_wakers(),
        );
        drop(engine);
        drop(left);
    }

    /// Runs `f` with this as the world of the thread.
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave(Option<World>);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let leave = Leave(CURRENT.replace(Some(self.clone())));
        let result = f();
        drop(leave);
        result
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time, and whether a clock was set since this was asked.
    pub(crate) fn time(&self) -> (Duration, bool) {
        let mut engine = self.lock();
        (engine.now, engine.nodes.were_clocks_set())
    }

    /// When a node's clock shows this.
    pub(crate) fn global(&self, node: usize, local: Duration) -> Duration {
        self.lock().nodes.clock(node).global(local)
    }

    /// Does something in the network, and wakes whom that concerns.
    pub(crate) fn with_net<R>(&self, f: impl FnOnce(&mut Net, &mut net::Context<'_>) -> R) -> R {
        let mut wakers = Vec::new();
        let mut engine = self.lock();
        let Engine {
            decisions,
            now,
            net,
            ..
        } = &mut *engine;
        let mut context = net::Context {
            now: *now,
            decisions,
            wakers: &mut wakers,
        };
        let result = f(net, &mut context);
        drop(engine);
        wakers.into_iter().for_each(Waker::wake);
        result
    }

    /// The seed of this run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The time since the start of the run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.lock().now
    }

    /// How many values went into channels so far, and what became of them. That none is lost or doubled
    /// inside of a channel is checked in every run; that none should die is for the program to say.
    ///
    /// ```
    /// use tidings_sim::{Sim, world};
    /// Sim::new(0).seeds(20).run(|| async {
    ///     let (tx, rx) = tidings::unbounded();
    ///     tidings::spawn(async move { tx.send("tea").await }).await.unwrap().unwrap();
    ///     assert_eq!(rx.recv().await, Ok("tea"));
    ///     drop(rx);
    ///     let ledger = world().messages();
    ///     assert_eq!((ledger.sent, ledger.received, ledger.dead), (1, 1, 0));
    /// });
    /// ```
    #[must_use]
    pub fn messages(&self) -> Ledger {
        tidings::sched::ledger().unwrap_or_default()
    }

    /// One of `n` alternatives, as the seed decides: 0 is the one that a shrunk run has. So it is of
    /// [`random`](tidings::sched::random), but for numbers below 65,536 and more: those are taken for names, and
    /// stay unlike each other.
    ///
    /// # Panics
    /// If `n` is 0.
    #[must_use]
    pub fn choose(&self, n: usize) -> usize {
        assert!(n > 0, "none of no alternatives can be chosen");
        self.lock().decisions.choose(About::Random, n)
    }

    /// Some of these, as the seed decides, and none in a shrunk run: swarm testing. A run that has only
    /// some kinds of operations or faults goes deeper into those than one that has all (Groce and others,
    /// 2012).
    ///
    /// ```
    /// use tidings_sim::{Sim, world};
    /// Sim::new(0).seeds(20).run(|| async {
    ///     let faults = world().swarm(&["crash", "partition", "slow"]);
    ///     assert!(faults.len() <= 3);
    /// });
    /// ```
    #[must_use]
    pub fn swarm<T: Clone>(&self, all: &[T]) -> Vec<T> {
        let mut some = all.to_vec();
        some.retain(|_| self.choose(2) == 1);
        some
    }

    /// An invariant: the run fails if it does not hold after a step of any task.
    ///
    /// ```should_panic
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    /// use tidings_sim::{Sim, world};
    /// Sim::new(1).run(|| async {
    ///     let inside = Arc::new(AtomicU32::new(0));
    ///     let seen = Arc::clone(&inside);
    ///     world().always("at most one is inside", move || seen.load(Ordering::SeqCst) <= 1);
    ///     for _ in 0..2 {
    ///         let inside = Arc::clone(&inside);
    ///         drop(tidings::spawn(async move { inside.fetch_add(1, Ordering::SeqCst); }));
    ///     }
    ///     tidings::time::sleep(std::time::Duration::from_secs(1)).await;
    /// });
    /// ```
    pub fn always(&self, name: &str, holds: impl FnMut() -> bool + Send + 'static) {
        self.check(name.to_owned(), CheckKind::Always(Box::new(holds)));
    }

    /// Something that must come to hold within this time, or, if the program ends sooner, by its end. It is
    /// asked when a task has run, and whenever time has passed: what comes later comes too late.
    pub fn eventually(
        &self,
        name: &str,
        within: Duration,
        holds: impl FnMut() -> bool + Send + 'static,
    ) {
        let until = self.elapsed().saturating_add(within);
        let name = format!("{name}: not within {within:?}, nor by the end");
        self.check(name, CheckKind::Eventually(Box::new(holds), until));
    }

    /// A state that must not last: the run fails if it is `hot` for longer than this at a stretch
    /// (Coyote's liveness monitors). It is asked when [`eventually`](Self::eventually) is.
    pub fn not_hot_for(
        &self,
        name: &str,
        longest: Duration,
        hot: impl FnMut() -> bool + Send + 'static,
    ) {
        let name = format!("{name}: for longer than {longest:?}");
        self.check(name, CheckKind::NotHot(Box::new(hot), longest, None));
    }

    fn check(&self, name: String, kind: CheckKind) {
        self.lock().checks.push(Check { name, kind });
    }

    /// Asks all that must hold. The closures run without the lock.
    pub(crate) fn look(&self, at: Moment) -> Option<Trouble> {
        let (mut checks, now) = {
            let mut engine = self.lock();
            if engine.checks.is_empty() {
                return None;
            }
            (std::mem::take(&mut engine.checks), engine.now)
        };
        let mut trouble = None;
        checks.retain_mut(|check| {
            let verdict = check.look(now, at);
            if let Some(kind) = verdict.1 {
                trouble.get_or_insert(Trouble::new(kind, check.name.clone()));
            }
            verdict.0
        });
        let mut engine = self.lock();
        checks.append(&mut engine.checks);
        engine.checks = checks;
        trouble
    }
}

impl Check {
    /// Whether it stays, and what is wrong.
    fn look(&mut self, now: Duration, at: Moment) -> (bool, Option<Kind>) {
        match &mut self.kind {
            // Time may have to pass for somebody to see that it has.
            CheckKind::Always(_) if at == Moment::Passed => (true, None),
            CheckKind::Always(holds) => (true, (!holds()).then_some(Kind::Invariant)),
            CheckKind::Eventually(holds, until) => {
                // Since the last look time has passed or somebody has run, not both: it was in time.
                if holds() {
                    return (false, None);
                }
                let late = at == Moment::End || now > *until;
                (true, late.then_some(Kind::Liveness))
            }
            CheckKind::NotHot(hot, longest, since) => {
                if !hot() {
                    *since = None;
                    return (true, None);
                }
                let since = *since.get_or_insert(now);
                (true, (now - since > *longest).then_some(Kind::Liveness))
            }
        }
    }
}

impl Engine {
    fn fault(&mut self, at: &'static Location<'static>) -> bool {
        let place = (at.file(), at.line(), at.column());
        let tried = match self.faults.get(&place) {
            Some(&tried) => tried,
            None => {
                // The first alternative is that nothing unlikely happens.
                let tried = self.decisions.choose(About::Fault, FAULTY) == FAULTY - 1;
                self.faults.insert(place, tried);
                tried
            }
        };
        tried && self.decisions.choose(About::Fault, FAULTY) == FAULTY - 1
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// The seam of a node's runtime.
pub(crate) struct NodeSeam {
    pub(crate) world: World,
    pub(crate) node: usize,
    /// Among all lives of all nodes.
    pub(crate) life: u32,
    pub(crate) bell: Waker,
    pub(crate) interrupts: bool,
}

impl Seam for NodeSeam {
    fn choose(&mut self, choice: Choice, n: usize) -> usize {
        let decisions = &mut self.world.lock().decisions;
        match choice {
            Choice::Random => decisions.random(n),
            choice => decisions.choose(choice.into(), n),
        }
    }

    fn now(&mut self) -> Duration {
        let engine = self.world.lock();
        engine.nodes.clock(self.node).local(engine.now)
    }

    fn idle(&mut self, _: Option<Duration>) -> bool {
        unreachable!("a simulator's runtimes are driven step by step")
    }

    fn interrupts(&self) -> bool {
        self.interrupts
    }

    fn incarnation(&self) -> Option<u64> {
        Some(self.life.into())
    }

    fn bell(&self) -> Option<Waker> {
        Some(self.bell.clone())
    }

    fn fault(&mut self, at: &'static Location<'static>) -> bool {
        self.world.lock().fault(at)
    }
}
