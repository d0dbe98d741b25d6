//! One run: the loop that picks who runs next, and moves time on when nobody can.

use std::future::Future;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidings::{JoinHandle, Runtime};

use crate::chart::{Chart, Drawing};
use crate::decisions::{About, Asked, Decisions, Diverged};
use crate::failure::{Kind, Trouble};
use crate::panics::{self, Panicked};
use crate::world::World;

/// The program under test, made anew for each run.
pub(crate) type Program<'a> = dyn Fn() -> Body + 'a;
pub(crate) type Body = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// What a run is to be like.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) seed: u64,
    /// The most polls.
    pub(crate) steps: usize,
    /// The longest time a poll takes.
    pub(crate) busy: Duration,
    /// Nothing may be left at the end.
    pub(crate) settles: bool,
}

/// How a run went.
pub(crate) struct Ran {
    pub(crate) trouble: Option<Trouble>,
    pub(crate) trace: Vec<u8>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) diverged: Option<Diverged>,
    pub(crate) panics: Vec<Panicked>,
    pub(crate) steps: usize,
    pub(crate) time: Duration,
    /// If it was watched.
    pub(crate) chart: Chart,
}

/// So many communications a step may have, for the chart.
const RECORDED: usize = 10_000;

/// Runs the program once. `watched`: with a record of who waits for what, for a report.
pub(crate) fn run(
    program: &Program<'_>,
    rules: &Rules,
    decisions: Decisions,
    watched: bool,
) -> Ran {
    let world = World::new(rules.seed, decisions);
    let ((trouble, steps, drawing), panics) = panics::catching(|| {
        world.enter(|| {
            let mut builder = Runtime::builder().seam(world.seam());
            if watched {
                builder = builder
                    .watch_deadlocks(Duration::MAX)
                    .flight_recorder(RECORDED);
            }
            let runtime = builder
                .build()
                .expect("a runtime with a seam starts no threads");
            let (root, at) = start(&runtime, program());
            let mut run = Run {
                world: &world,
                rules,
                root,
                runtime,
                tasks: Vec::new(),
                last: 0,
                steps: 0,
                drawing: watched.then(|| Drawing::of_program(at)),
            };
            let mut trouble = run.drive();
            if let (Some(trouble), Some(drawing)) = (&mut trouble, &run.drawing) {
                trouble.text = drawing.name_in(&trouble.text);
            }
            let (steps, drawing) = (run.steps, run.drawing.take());
            drop(run);
            (trouble, steps, drawing)
        })
    });
    let mut engine = world.lock();
    let decisions = std::mem::replace(&mut engine.decisions, Decisions::new(Vec::new(), None));
    let time = engine.now;
    let checks = std::mem::take(&mut engine.checks);
    drop(engine);
    drop(checks);
    let (trace, asked, diverged) = decisions.end();
    let end = trouble.as_ref().map_or(String::new(), Trouble::to_string);
    Ran {
        chart: drawing.map_or_else(Chart::default, |drawing| drawing.finish(end)),
        trouble,
        trace,
        asked,
        diverged,
        panics,
        steps,
        time,
    }
}

/// Starts the program, and says where.
#[track_caller]
fn start(runtime: &Runtime, body: Body) -> (Root, &'static Location<'static>) {
    (runtime.spawn(body), Location::caller())
}

type Root = JoinHandle<Result<(), String>>;

struct Run<'a> {
    world: &'a World,
    rules: &'a Rules,
    runtime: Runtime,
    root: Root,
    /// Those that could run, while somebody wants to know.
    tasks: Vec<u64>,
    /// Who ran last.
    last: u32,
    steps: usize,
    drawing: Option<Drawing>,
}

impl Run<'_> {
    fn drive(&mut self) -> Option<Trouble> {
        loop {
            if self.root.is_finished() {
                return self.ended();
            }
            match self.turn() {
                Ok(true) => {}
                Ok(false) => {
                    let waits = self.runtime.who_waits();
                    return Some(Trouble::new(
                        Kind::Deadlock,
                        format!("nothing can run, and no time is waited for{waits}"),
                    ));
                }
                Err(trouble) => return Some(trouble),
            }
        }
    }

    /// Runs one task, or moves time on. `false`: there is nothing to do either way.
    fn turn(&mut self) -> Result<bool, Trouble> {
        let ready = self.runtime.ready();
        if ready == 0 {
            let Some(next) = self.runtime.wake_timers() else {
                // A timer that was due may have woken somebody.
                return Ok(self.runtime.ready() > 0);
            };
            if self.runtime.ready() == 0 {
                self.pass_to(next);
            }
            return Ok(true);
        }
        if self.steps == self.rules.steps {
            let steps = self.steps;
            return Err(Trouble::new(
                Kind::Endless,
                format!("has not ended after {steps} polls"),
            ));
        }
        self.steps += 1;
        let pick = self.pick(ready);
        if let Some(task) = self.runtime.step(pick) {
            self.last = task;
        }
        if let Some(drawing) = &mut self.drawing {
            for communication in self.runtime.flight_record() {
                drawing.add(0, &communication);
            }
        }
        if !self.rules.busy.is_zero() {
            self.take_time();
        }
        self.world.look(false).map_or(Ok(true), Err)
    }

    fn pick(&mut self, ready: usize) -> usize {
        let mut engine = self.world.lock();
        if !engine.decisions.wants_tasks() {
            return engine.decisions.choose_task(ready, self.last, &[]);
        }
        let mut numbers = Vec::with_capacity(ready);
        self.runtime.ready_numbers(&mut numbers);
        self.tasks.clear();
        self.tasks.extend(numbers.into_iter().map(u64::from));
        engine.decisions.choose_task(ready, self.last, &self.tasks)
    }

    fn pass_to(&mut self, time: Duration) {
        let mut engine = self.world.lock();
        engine.now = engine.now.max(time);
        drop(engine);
        self.runtime.wake_timers();
    }

    /// The poll took a while.
    fn take_time(&mut self) {
        /// So finely it is decided.
        const PARTS: usize = 8;
        // New timers count from before.
        self.runtime.wake_timers();
        let mut engine = self.world.lock();
        let parts = engine.decisions.choose(About::Time, PARTS);
        let now = engine.now + self.rules.busy * parts as u32 / (PARTS as u32 - 1);
        drop(engine);
        self.pass_to(now);
    }

    /// The program has ended: how, and what is left.
    fn ended(&mut self) -> Option<Trouble> {
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(output) = pin!(&mut self.root).poll(&mut context) else {
            unreachable!("a finished task has an output");
        };
        match output {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Some(Trouble::new(Kind::Error, error)),
            Err(error) => {
                let Some(payload) = error.try_into_panic().ok() else {
                    return Some(Trouble::new(Kind::Error, "it was aborted".to_owned()));
                };
                let at = panics::last().map(|last| last.at);
                let trouble = Trouble::new(Kind::Panic, panics::message(&*payload));
                return Some(Trouble { at, ..trouble });
            }
        }
        if self.rules.settles {
            loop {
                match self.turn() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(trouble) => return Some(trouble),
                }
            }
            let left = self.runtime.tasks();
            if left > 0 {
                let waits = self.runtime.who_waits();
                return Some(Trouble::new(
                    Kind::Left,
                    format!("the program has ended, and {left} tasks are left{waits}"),
                ));
            }
        }
        self.world.look(true)
    }
}
