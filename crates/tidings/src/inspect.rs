//! A look at what lives: the runtime, its tasks and actors, what they wait for, and polls that took
//! long. For people ([`Inspection`] prints as a tree) and for programs (its fields; with the feature
//! `serde` it can be serialised).
//!
//! A look costs those who are looked at a lock of each mailbox, and nothing when nobody looks: what
//! is counted is counted by who has the mailbox's lock anyway.

use std::collections::HashMap;
use std::fmt;

use crate::actor;
use crate::sched::{self, LongPoll, TaskView};

/// What lives on the runtime of this thread, and the actors of the whole process. On a thread without a runtime there are
/// no workers and no tasks.
///
/// Not one moment's picture: every actor is looked at in turn.
///
/// ```
/// use tidings::actor::{Builder, Mailbox};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let printer = Builder::new().name("printer").spawn(|mut mailbox: Mailbox<u32>| async move {
///     while mailbox.recv().await.is_ok() {}
/// });
/// printer.send(1).await.unwrap();
/// let found = tidings::inspect();
/// let printer = found.actors.iter().find(|actor| actor.name.as_deref() == Some("printer")).unwrap();
/// assert_eq!(printer.queued as u64 + printer.handled, 1);
/// println!("{found}");
/// # });
/// ```
#[must_use]
pub fn inspect() -> Inspection {
    let (workers, tasks, long_polls) = sched::inspect();
    let mut actors = actor::views();
    actors.sort_by_key(|actor| actor.id);
    Inspection {
        workers,
        tasks,
        long_polls,
        named_tasks: sched::named_tasks(),
        actors: tree(actors),
    }
}

/// An actor this far below the first is shown beside that: a chain of any length can be dropped and printed
/// without as much stack.
const DEEPEST: usize = 100;

/// Puts the actors, which are sorted by their numbers, below those that started them.
fn tree(actors: Vec<ActorView>) -> Vec<ActorView> {
    let depths = depths(&actors);
    let mut deepest_first = actors;
    deepest_first.sort_by_key(|actor| (depths[&actor.id], actor.id));
    deepest_first.reverse();
    let mut below: HashMap<u64, Vec<ActorView>> = HashMap::new();
    for mut actor in deepest_first {
        // All of them have come, the youngest first.
        actor.children = below.remove(&actor.id).unwrap_or_default();
        actor.children.reverse();
        let is_first = depths[&actor.id].is_multiple_of(DEEPEST);
        let parent = if is_first { 0 } else { actor.started_by };
        below.entry(parent).or_default().push(actor);
    }
    let mut first = below.remove(&0).unwrap_or_default();
    first.sort_by_key(|actor| actor.id);
    first
}

/// How many are above each actor. A child may be older than its supervisor, so all must be known first.
fn depths(actors: &[ActorView]) -> HashMap<u64, usize> {
    let above: HashMap<u64, u64> = actors.iter().map(|it| (it.id, it.started_by)).collect();
    let mut depths = HashMap::new();
    for actor in actors {
        let (mut at, mut path) = (actor.id, Vec::new());
        while above.contains_key(&at) && !depths.contains_key(&at) {
            path.push(at);
            at = above[&at];
        }
        let known = depths.get(&at).map_or(0, |depth| depth + 1);
        depths.extend(path.into_iter().rev().zip(known..));
    }
    depths
}

/// What [`inspect`] found.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Inspection {
    /// Workers of the runtime; 0 without one.
    pub workers: usize,
    /// Its tasks that have not ended, those of actors included.
    pub tasks: usize,
    /// The last polls that were seen to take long, the latest last.
    pub long_polls: Vec<LongPoll>,
    /// Its tasks that have [names](crate::task::named), in the order of these.
    pub named_tasks: Vec<TaskView>,
    /// Actors that no other live actor has started, by their age; each with those it has started. Of a long
    /// chain every hundredth stands here, too.
    pub actors: Vec<ActorView>,
}

/// An actor, as [`inspect`] found it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ActorView {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: Option<String>,
    /// The number of the actor that has started it (for a child its supervisor or parent), which
    /// may have ended; 0: no actor has.
    pub started_by: u64,
    /// How many lives it has begun: more than 1 if a supervisor has started it anew.
    pub incarnation: u64,
    /// Messages in its mailbox, the stash among them.
    pub queued: usize,
    /// How many its mailbox holds.
    pub capacity: usize,
    /// Messages that it has received, and not put back: the stash, and what a scan passed over, are queued.
    pub handled: u64,
    /// Messages that its overflow policy has dropped, or rejected.
    pub dropped: u64,
    /// What it does.
    pub activity: Activity,
    /// Actors it has started.
    pub children: Vec<Self>,
}

/// What an actor does at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Activity {
    /// It waits for a message.
    Idle,
    /// It waits for the answer of another actor: its number and name.
    Calls(u64, Option<String>),
    /// It waits for something else. What that is, and where, is known while a runtime of the process
    /// [watches for deadlocks](crate::sched::Builder::watch_deadlocks).
    Waits(Option<String>),
    /// It runs, or could.
    Runs,
    /// Its supervisor has not started it, or not anew.
    Unstarted,
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("waits for a message"),
            Self::Calls(id, Some(name)) => write!(f, "calls {name} (#{id})"),
            Self::Calls(id, None) => write!(f, "calls #{id}"),
            Self::Waits(Some(what)) => write!(f, "waits for {what}"),
            Self::Waits(None) => f.write_str("waits"),
            Self::Runs => f.write_str("runs"),
            Self::Unstarted => f.write_str("is not started"),
        }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (workers, tasks) = (self.workers, self.tasks);
        writeln!(f, "runtime: {workers} workers, {tasks} tasks")?;
        for poll in &self.long_polls {
            writeln!(f, "long poll: {poll}")?;
        }
        for task in &self.named_tasks {
            writeln!(f, "task {task}")?;
        }
        branches(f, &self.actors, "")
    }
}

fn branches(f: &mut fmt::Formatter<'_>, actors: &[ActorView], before: &str) -> fmt::Result {
    for (index, actor) in actors.iter().enumerate() {
        let last = index + 1 == actors.len();
        writeln!(f, "{before}{} {actor}", if last { "└─" } else { "├─" })?;
        let below = format!("{before}{}", if last { "   " } else { "│  " });
        branches(f, &actor.children, &below)?;
    }
    Ok(())
}

/// One line, without its children.
impl fmt::Display for ActorView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name} ")?;
        }
        let Self {
            id,
            incarnation,
            queued,
            handled,
            dropped,
            activity,
            ..
        } = self;
        write!(f, "#{id}: ")?;
        if *incarnation > 1 {
            write!(f, "life {incarnation}, ")?;
        }
        write!(f, "{queued} queued, {handled} handled")?;
        if *dropped > 0 {
            write!(f, ", {dropped} dropped")?;
        }
        write!(f, ", {activity}")
    }
}

impl fmt::Display for TaskView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, started, .. } = self;
        write!(f, "{name:?} started at {started}")?;
        match &self.waits {
            Some(waits) => write!(f, ", waits for {waits}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for LongPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            who, worker, took, ..
        } = self;
        write!(f, "{who} held worker {worker} for {took:.1?} or longer")
    }
}
