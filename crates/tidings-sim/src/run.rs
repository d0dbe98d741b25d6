//! One run: the loop that picks who runs next, and moves time on when nobody can.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidings::Runtime;
use tidings::sched::{self, Ledger, keep_books};

use crate::chart::{Chart, Drawing};
use crate::decisions::{About, Asked, Decisions, Diverged};
use crate::failure::{Kind, Trouble};
use crate::lives::{Life, Lives, Root};
use crate::nodes::{Order, part_of};
use crate::panics::{self, Panicked};
use crate::socket::NodeNetwork;
use crate::world::{Moment, NodeSeam, World};

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
    /// Tasks may let others run before a communication.
    pub(crate) interrupts: bool,
    /// Nothing may be left at the end.
    pub(crate) settles: bool,
    /// Somebody must hear of each panic.
    pub(crate) panics: bool,
}

/// How a run went.
pub(crate) struct Ran {
    pub(crate) trouble: Option<Trouble>,
    pub(crate) trace: Vec<u8>,
    pub(crate) asked: Vec<Asked>,
    /// At which question it was another run than the one before, and who ran then.
    pub(crate) diverged: Option<(usize, String)>,
    pub(crate) panics: Vec<Panicked>,
    pub(crate) steps: usize,
    pub(crate) time: Duration,
    pub(crate) messages: Ledger,
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
    let inside = || {
        world.enter(|| {
            let mut run = Run {
                world: &world,
                rules,
                lives: Lives::default(),
                started: 0,
                tasks: Vec::new(),
                last: Last::default(),
                steps: 0,
                unheard: None,
                diverged: None,
                drawing: watched.then(Drawing::default),
            };
            // Some are kept outside of all runs, perhaps.
            let waited = sched::waits();
            if watched {
                world.lock().net.sights.watch();
            }
            let driven = panics::caught(|| {
                run.start((0, 1), "", program());
                run.drive(&waited)
            });
            let trouble = driven.unwrap_or_else(Some);
            let who = run.diverged.take().unwrap_or_else(|| run.who_ran());
            let (steps, drawing) = (run.steps, run.drawing.take());
            let left = [
                panics::caught(|| run.end()),
                panics::caught(|| {
                    world.clear();
                    None
                }),
            ];
            let mut left = left.map(|left| left.unwrap_or_else(Some)).into_iter();
            let mut trouble = trouble.or_else(|| left.find_map(|trouble| trouble));
            if let (Some(trouble), Some(drawing)) = (&mut trouble, &drawing) {
                trouble.text = drawing.name_in(&trouble.text);
            }
            let (decisions, time) = world.end();
            (trouble, steps, who, drawing, decisions, time)
        })
    };
    let ((ended, messages, wrong), panics) = panics::catching(|| keep_books(inside));
    let (mut trouble, steps, who, drawing, decisions, time) = ended;
    if trouble.is_none() {
        trouble = wrong.map(|wrong| {
            let text = format!("what went into a channel is not what came out or died: {wrong}");
            Trouble::new(Kind::Lost, text)
        });
    }
    let (trace, asked, diverged) = decisions.end();
    let diverged = diverged.map(|Diverged(question)| (question, who));
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
        messages,
    }
}

/// What is waited for on this thread.
type Waits = BTreeMap<usize, String>;

/// Starts a program, and says where.
#[track_caller]
fn spawn(runtime: &Runtime, body: Body) -> (Root, &'static Location<'static>) {
    (runtime.spawn(body), Location::caller())
}

/// Who ran last.
#[derive(Default)]
struct Last {
    /// Where its life was among the others: they move up when one ends.
    place: usize,
    /// The number of its life.
    life: u32,
    task: u32,
}

struct Run<'a> {
    world: &'a World,
    rules: &'a Rules,
    /// The program itself, and the nodes it has started.
    lives: Lives,
    started: u32,
    /// Those that could run, while somebody wants to know.
    tasks: Vec<u64>,
    last: Last,
    steps: usize,
    /// The first panic of a life that has ended of which nobody has heard.
    unheard: Option<Trouble>,
    /// Who ran when it became another run than was expected.
    diverged: Option<String>,
    drawing: Option<Drawing>,
}

impl Run<'_> {
    /// A life of a node, of this number among its own.
    fn start(&mut self, (node, incarnation): (usize, u64), name: &str, body: Body) {
        let network = NodeNetwork {
            world: self.world.clone(),
            node,
        };
        let mut builder = Runtime::builder()
            .seam(NodeSeam {
                world: self.world.clone(),
                node,
                life: self.started,
                bell: self.lives.bell(self.started),
                interrupts: self.rules.interrupts,
            })
            .network(Arc::new(network));
        if self.drawing.is_some() {
            builder = builder.flight_recorder(RECORDED);
        }
        if self.rules.panics {
            builder = builder.watch_panics();
        }
        if self.drawing.is_some() || self.rules.settles {
            builder = builder.watch_deadlocks(Duration::MAX);
        }
        let runtime = builder.build();
        let runtime = runtime.expect("a runtime with a seam starts no threads");
        let (root, at) = spawn(&runtime, body);
        let number = self.started;
        self.started += 1;
        if let Some(drawing) = &mut self.drawing {
            drawing.name_node(number as usize, name, at);
        }
        self.lives.push(Life {
            node,
            incarnation,
            number,
            name: name.to_owned(),
            runtime,
            root,
            at,
        });
    }

    /// `waited`: what was waited for before.
    fn drive(&mut self, waited: &Waits) -> Option<Trouble> {
        loop {
            if self.lives.program().root.is_finished() {
                return self.ended(waited);
            }
            match self.turn() {
                Ok(true) => {}
                Ok(false) => {
                    let waits = self.who_waits();
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
        self.obey();
        let ready = self.lives.ready();
        if ready == 0 {
            let goes_on = self.pass();
            self.look(Moment::Passed)?;
            return Ok(goes_on);
        }
        if self.steps == self.rules.steps {
            let (steps, who) = (self.steps, self.who_ran());
            return Err(Trouble::new(
                Kind::Endless,
                format!("has not ended after {steps} polls, the last of them of {who}"),
            ));
        }
        self.steps += 1;
        self.step(ready);
        self.sweep()?;
        self.look(Moment::Step)?;
        if !self.rules.busy.is_zero() {
            self.take_time();
            self.look(Moment::Passed)?;
        }
        Ok(true)
    }

    /// Ends those lives. The first panic that nobody in them has heard of counts.
    fn end_lives(&mut self, which: impl Fn(&Life) -> bool) {
        for life in self.lives.take(which) {
            let unheard = life.end();
            self.unheard = self.unheard.take().or(unheard);
        }
    }

    /// Ends all that is left.
    fn end(mut self) -> Option<Trouble> {
        self.end_lives(|_| true);
        self.unheard
    }

    /// Does all hold that must?
    fn look(&self, at: Moment) -> Result<(), Trouble> {
        self.world.look(at).map_or(Ok(()), Err)
    }

    /// Does what the program wants of its nodes.
    fn obey(&mut self) {
        loop {
            let mut engine = self.world.lock();
            let Some(order) = engine.nodes.next_order() else {
                return;
            };
            match order {
                Order::Start(node, life) => {
                    let begun = engine.nodes.begin(node, life);
                    drop(engine);
                    if let Some((name, program)) = begun {
                        self.start((node, life), &name, program());
                    }
                }
                Order::Crash(node) => {
                    drop(engine);
                    self.end_lives(|life| life.node == node);
                }
            }
        }
    }

    /// Runs one of those that can.
    fn step(&mut self, ready: usize) {
        let mut pick = self.pick(ready);
        let mut lives = self.lives.in_turn(self.last.place + 1);
        let found = lives.find(|(_, here)| {
            let found = pick < *here;
            pick -= if found { 0 } else { *here };
            found
        });
        drop(lives);
        let Some(number) = found.map(|(life, _)| life.number) else {
            return;
        };
        // What has arrived before, and what the task does to the network.
        self.draw_network();
        let Some(life) = self.lives.get(number) else {
            return;
        };
        let who = self.drawing.as_ref().and(life.runtime.ready_party(pick));
        if let Some(task) = life.runtime.step(pick) {
            self.last = Last {
                place: self.lives.place_of(life),
                life: number,
                task,
            };
        }
        if let (Some(drawing), Some(who)) = (&mut self.drawing, who) {
            let (record, time) = (life.runtime.handle().flight_record(), self.world.elapsed());
            drawing.add_poll(number as usize, who, &record, time);
        }
        self.lives.touch(number);
        self.draw_network();
    }

    fn draw_network(&mut self) {
        let Some(drawing) = &mut self.drawing else {
            return;
        };
        let mut engine = self.world.lock();
        for seen in engine.net.sights.take() {
            drawing.add_passage(&seen, |node| engine.nodes.name(node));
        }
    }

    fn pick(&mut self, ready: usize) -> usize {
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.clear();
        let mut engine = self.world.lock();
        if engine.decisions.wants_tasks() {
            let mut numbers = Vec::with_capacity(ready);
            for (life, _) in self.lives.in_turn(self.last.place + 1) {
                life.runtime.ready_numbers(&mut numbers);
                let number = u64::from(life.number) << 32;
                tasks.extend(numbers.drain(..).map(|task| number | u64::from(task)));
            }
        }
        let pick = engine.decisions.choose_task(ready, self.last.task, &tasks);
        let diverged = engine.decisions.has_diverged();
        drop(engine);
        self.tasks = tasks;
        if diverged && self.diverged.is_none() {
            self.diverged = Some(self.who_ran());
        }
        pick
    }

    /// The task that ran last.
    fn who_ran(&self) -> String {
        let Some(life) = self.lives.get(self.last.life) else {
            return "a node that has ended".to_owned();
        };
        let last = life.runtime.last_party();
        let who = match last.and_then(|last| Some((life.at, last.started?))) {
            None => return "a node".to_owned(),
            Some((program, at)) if program == at => "the program".to_owned(),
            Some((_, at)) => format!("the task started at {at}"),
        };
        match life.node {
            0 => who,
            _ => format!("{who} on node {}", life.name),
        }
    }

    /// Nobody can run: moves time on to when somebody can. `false`: nobody ever will.
    fn pass(&mut self) -> bool {
        self.lives.wake_timers(self.world);
        if self.lives.ready() > 0 {
            return true;
        }
        let mut next = self.lives.next_timer(self.world);
        let engine = self.world.lock();
        if let Some(happens) = engine.net.next() {
            next = Some(next.map_or(happens, |next| next.min(happens)));
        }
        drop(engine);
        if let Some(next) = next {
            self.pass_to(next);
        }
        next.is_some()
    }

    fn pass_to(&mut self, time: Duration) {
        let mut engine = self.world.lock();
        engine.now = engine.now.max(time);
        drop(engine);
        self.world.with_net(|net, context| net.go_on(context));
        self.lives.wake_timers(self.world);
    }

    /// The poll took a while.
    fn take_time(&mut self) {
        /// So finely it is decided.
        const PARTS: usize = 8;
        // New timers count from before.
        self.lives.wake_timers(self.world);
        let mut engine = self.world.lock();
        let part = engine.decisions.choose(About::Time, PARTS);
        let took = part_of(self.rules.busy, part, PARTS);
        let now = engine.now.saturating_add(took);
        drop(engine);
        self.pass_to(now);
    }

    /// A node whose program has ended is gone, and has run last; one that failed fails the run.
    fn sweep(&mut self) -> Result<(), Trouble> {
        if self.last.life > 0
            && let Some(mut life) = self.lives.take_ended(self.last.life)
        {
            let name = life.name.clone();
            let end = end_of(&mut life.root);
            self.world.lock().nodes.ended(life.node, life.incarnation);
            // Its sockets are closed as a process's are that ends.
            let unheard = life.end();
            self.unheard = self.unheard.take().or(unheard);
            end.map_err(|trouble| trouble.of_node(&name))?;
        }
        Ok(())
    }

    fn who_waits(&self) -> String {
        let mut text = String::new();
        for life in self.lives.all() {
            let waits = life.runtime.handle().who_waits();
            if life.node > 0 && !waits.is_empty() {
                text.push_str(&format!("\n  on node {}:", life.name));
            }
            text.push_str(&waits);
        }
        text
    }

    /// The program has ended: how, and what is left.
    fn ended(&mut self, waited: &Waits) -> Option<Trouble> {
        if let Err(trouble) = end_of(&mut self.lives.program().root) {
            return Some(trouble);
        }
        if self.rules.settles {
            // Servers on other nodes may go on.
            self.end_lives(|life| life.number > 0);
            while self.lives.program().runtime.tasks() > 0 {
                match self.turn() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(trouble) => return Some(trouble),
                }
            }
            let left = self.lives.program().runtime.tasks();
            if left > 0 {
                let waits = self.who_waits();
                return Some(Trouble::new(
                    Kind::Left,
                    format!("the program has ended, and {left} tasks are left{waits}"),
                ));
            }
            // Time has not passed since: what is due one day is still there.
            let timed = self.lives.program().runtime.wake_timers().is_some();
            let mut waits = sched::waits();
            waits.retain(|at, _| !waited.contains_key(at));
            if timed || !waits.is_empty() {
                let what = if timed { "timer" } else { "wait" };
                let mut text = format!("no task is left, and a {what} is");
                let kept = waits.values().map(|wait| format!("\n  kept: {wait}"));
                text.extend(kept);
                return Some(Trouble::new(Kind::Left, text));
            }
        }
        self.world.look(Moment::End)
    }
}

/// How a program ended that has.
fn end_of(root: &mut Root) -> Result<(), Trouble> {
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(output) = pin!(root).poll(&mut context) else {
        unreachable!("a finished task has an output");
    };
    match output {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Trouble::new(Kind::Error, error)),
        Err(error) => Err(match error.try_into_panic() {
            Ok(payload) => panics::trouble(&*payload),
            Err(_) => Trouble::new(Kind::Error, "it was aborted".to_owned()),
        }),
    }
}
