//! The children of a supervisor: what each is to do, and what is done next.
//!
//! Nothing here waits for one child: each note, command or deadline changes what some children are
//! to do, and `settle` does what can be done now. Of an ordered strategy these are: first the lives
//! that are to end, the last first, one after the other; then those that are to begin, the first
//! first, one after the other, each when the one before takes messages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::backoff::Window;
use super::entry::{Entry, Goal, Phase, Slot, Spec};
use super::{
    AutoShutdown, ChildCount, ChildInfo, Command, Rules, Strategy, SupervisorError,
    SupervisorMessage,
};
use crate::actor::any::{AnyRef, Kin};
use crate::actor::child::{Guardian, Note, Restart, Shutdown};
use crate::actor::exit::Exit;
use crate::actor::life::{Signal, Stop};
use crate::actor::{Mailbox, Reply};
use crate::event::Event;
use crate::primitive::Arc;
use crate::time::{Instant, at};
use crate::{Receiver, Sender};

/// What a supervisor hears.
enum Heard {
    Note(Note),
    Command(Command),
    /// It is to end.
    Stop,
    /// It is late enough for something.
    Time,
}

/// A supervisor's life.
pub(super) async fn supervise(
    mut mailbox: Mailbox<SupervisorMessage>,
    rules: Arc<Rules>,
    children: Vec<Spec>,
    slot: Option<Arc<Slot>>,
) -> Exit {
    let (sender, notes) = crate::unbounded();
    let mut table = Table {
        rules,
        this: mailbox.this().any(),
        slot,
        sender,
        children: BTreeMap::new(),
        keys: BTreeMap::new(),
        last_key: 0,
        awaited: 0,
        waiting: Vec::new(),
        comes_back: false,
        timers: BTreeSet::new(),
        window: Window::default(),
        ending: None,
    };
    for spec in children {
        table.add(spec, true);
        table.awaited += 1;
    }
    table.settle_all();
    loop {
        if table.awaited == 0 && table.ending.is_none() {
            mailbox.is_up();
            table.has_started(&Ok(()));
        }
        if let Some(exit) = table.ended() {
            return exit;
        }
        let commands = table.ending.is_none().then_some(&mut mailbox);
        match hear(&notes, commands, table.timers.first()).await {
            Heard::Note(Note::Up(key)) => table.is_up(key),
            Heard::Note(Note::Over(key, exit)) => table.is_over(key, &exit),
            Heard::Command(command) => table.obey(command),
            Heard::Stop => {
                table.comes_back = mailbox.is_open();
                table.end(Exit::Normal);
            }
            Heard::Time => table.is_late(),
        }
    }
}

/// What happens next; without a mailbox, no command.
async fn hear(
    notes: &Receiver<Note>,
    mailbox: Option<&mut Mailbox<SupervisorMessage>>,
    timer: Option<&(Instant, u64)>,
) -> Heard {
    let note = notes.recv().map(|note| match note {
        Ok(note) => Heard::Note(note),
        Err(_) => unreachable!("the table has a sender"),
    });
    let time = timer.map(|&(time, _)| at(time).map(|()| Heard::Time));
    let command = mailbox.map(|mailbox| {
        mailbox.fresh().map(|command| match command {
            Ok(SupervisorMessage(command)) => Heard::Command(command),
            Err(_) => Heard::Stop,
        })
    });
    match (command, time) {
        (None, None) => note.await,
        (None, Some(time)) => note.or(time).await,
        (Some(command), None) => note.or(command).await,
        (Some(command), Some(time)) => note.or(command).or(time).await,
    }
}

struct Table {
    rules: Arc<Rules>,
    /// The supervisor itself.
    this: AnyRef,
    slot: Option<Arc<Slot>>,
    sender: Sender<Note>,
    /// In the order of their start.
    children: BTreeMap<u64, Entry>,
    /// By the ids of the actors.
    keys: BTreeMap<u64, u64>,
    last_key: u64,
    /// How many children have not started with which the supervisor starts.
    awaited: usize,
    /// Who waits for them.
    waiting: Vec<Reply<Result<(), Exit>>>,
    /// When to look at which child, to kill it or to start it.
    timers: BTreeSet<(Instant, u64)>,
    window: Window,
    /// It ends, for this reason.
    ending: Option<Exit>,
    /// Its own supervisor ends it only to start it anew.
    comes_back: bool,
}

impl Table {
    fn add(&mut self, spec: Spec, kept: bool) -> u64 {
        self.last_key += 1;
        self.keys.insert(spec.lives.kin().life().id, self.last_key);
        self.children.insert(self.last_key, Entry::new(spec, kept));
        self.last_key
    }

    /// The child takes messages.
    fn is_up(&mut self, key: u64) {
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        if entry.phase == Phase::Starting {
            entry.phase = Phase::Running;
            entry.since = Instant::now();
            #[cfg(feature = "tracing")]
            entry.tell_start();
            self.started(key);
        }
        self.settle(key);
    }

    /// It has started for the first time, or has ended in order before it did.
    fn started(&mut self, key: u64) {
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        entry.fresh = false;
        if std::mem::take(&mut entry.awaited) {
            self.awaited -= 1;
        }
        if let Some(reply) = entry.starter.take() {
            let _ = reply.send(Ok(()));
        }
    }

    /// Looks at it at this time; `None`: at no time.
    fn set_timer(&mut self, key: u64, time: Option<Instant>) {
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        let before = std::mem::replace(&mut entry.timer, time);
        if let Some(before) = before {
            self.timers.remove(&(before, key));
        }
        self.timers.extend(time.map(|time| (time, key)));
    }

    /// A child's life is over.
    fn is_over(&mut self, key: u64, exit: &Exit) {
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        let asked = entry.goal != Goal::Run;
        let failed = !exit.is_orderly();
        #[cfg(feature = "tracing")]
        entry.tell_end(exit);
        entry.phase = Phase::Off(None);
        let enders = std::mem::take(&mut entry.enders);
        let mut starter = None;
        if asked {
            match entry.goal {
                Goal::RunAgain => entry.goal = Goal::Run,
                _ => starter = entry.starter.take(),
            }
        } else if entry.fresh && failed {
            starter = entry.starter.take();
            self.has_not_started(key, exit);
        } else {
            self.started(key);
            self.judge(key, exit);
        }
        self.settle(key);
        // Who hears of its end finds that it has ended.
        for reply in enders {
            let _ = reply.send(true);
        }
        if let Some(reply) = starter {
            let _ = reply.send(Err(exit.clone()));
        }
    }

    fn has_not_started(&mut self, key: u64, exit: &Exit) {
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        entry.goal = Goal::End;
        if entry.awaited {
            let child = entry.spec.lives.kin().life().label();
            let exit = exit.clone();
            self.end(Exit::failed(SupervisorError::Start { child, exit }));
        }
    }

    /// A child has ended by itself.
    fn judge(&mut self, key: u64, exit: &Exit) {
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        let again = match entry.spec.policy.restart {
            Restart::Permanent => true,
            Restart::Transient => !exit.is_orderly(),
            Restart::Temporary => false,
        };
        if !again {
            entry.goal = Goal::End;
            entry.kept = false;
            if entry.spec.policy.significant {
                self.significant_end(key);
            }
            return;
        }
        let now = Instant::now();
        if now.saturating_since(entry.since) >= self.rules.backoff.limit {
            entry.failures = 0;
        }
        entry.failures += 1;
        let delay = self.rules.backoff.delay(entry.failures);
        if !self.window.restart(now, self.rules.intensity()) {
            let child = entry.spec.lives.kin().life().label();
            let exit = exit.clone();
            self.end(Exit::failed(SupervisorError::Intensity { child, exit }));
            return;
        }
        let due = (!delay.is_zero()).then(|| now + delay);
        let concerned = match self.rules.strategy {
            Strategy::OneForOne | Strategy::Dynamic => key..=key,
            Strategy::OneForAll => 0..=u64::MAX,
            Strategy::RestForOne => key..=u64::MAX,
        };
        let mut late = Vec::new();
        for (&key, entry) in self.children.range_mut(concerned) {
            if let Phase::Off(not_before) = &mut entry.phase {
                *not_before = due.max(*not_before);
                late.push((key, *not_before));
            } else if entry.spec.policy.restart == Restart::Temporary {
                entry.goal = Goal::End;
                entry.kept = false;
            } else if entry.goal == Goal::Run {
                entry.goal = Goal::RunAgain;
            }
        }
        for (key, time) in late {
            self.set_timer(key, time);
        }
    }

    /// A significant child has ended for good.
    fn significant_end(&mut self, key: u64) {
        let mut others = self.children.iter().filter(|&(&other, entry)| {
            let policy = entry.spec.policy;
            let ends = policy.significant && policy.restart != Restart::Permanent;
            other != key && ends && entry.goal != Goal::End
        });
        let enough = match self.rules.auto_shutdown {
            AutoShutdown::Never => false,
            AutoShutdown::AnySignificant => true,
            AutoShutdown::AllSignificant => others.next().is_none(),
        };
        if enough {
            self.end(Exit::Normal);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Started(reply) => self.waiting.push(reply),
            Command::Start(spec, reply) => {
                let key = self.add(spec, false);
                if let Some(entry) = self.children.get_mut(&key) {
                    entry.starter = Some(reply);
                }
                self.settle(key);
            }
            Command::Terminate(id, reply) => self.end_child(id, Goal::End, reply),
            Command::Restart(id, reply) => self.end_child(id, Goal::RunAgain, reply),
            Command::Which(reply) => {
                let infos = self.children.values().map(|entry| ChildInfo {
                    actor: entry.spec.lives.any(),
                    restart: entry.spec.policy.restart,
                    active: entry.is_alive(),
                    supervisor: entry.spec.policy.supervises,
                });
                let _ = reply.send(infos.collect());
            }
            Command::Count(reply) => {
                let mut count = ChildCount::default();
                for entry in self.children.values() {
                    count.specs += 1;
                    count.active += usize::from(entry.is_alive());
                    count.supervisors += usize::from(entry.spec.policy.supervises);
                }
                count.workers = count.specs - count.supervisors;
                let _ = reply.send(count);
            }
        }
    }

    fn end_child(&mut self, id: u64, goal: Goal, reply: Reply<bool>) {
        let key = self.keys.get(&id).copied();
        let entry = key.and_then(|key| self.children.get_mut(&key));
        let (Some(key), Some(entry)) = (key, entry) else {
            let _ = reply.send(false);
            return;
        };
        if entry.goal == Goal::End && goal == Goal::RunAgain {
            // It ends for good: no life follows.
            let _ = reply.send(false);
            return;
        }
        entry.goal = goal;
        entry.kept &= goal != Goal::End;
        if entry.is_alive() {
            entry.enders.push(reply);
            return self.settle(key);
        }
        // A restart need not wait any longer.
        entry.phase = Phase::Off(None);
        if entry.goal == Goal::RunAgain {
            entry.goal = Goal::Run;
        }
        self.settle(key);
        let _ = reply.send(true);
    }

    /// Tells those who wait for the supervisor's start.
    fn has_started(&mut self, how: &Result<(), Exit>) {
        for reply in self.waiting.drain(..) {
            let _ = reply.send(how.clone());
        }
    }

    /// The supervisor ends: all children do. The first reason counts.
    fn end(&mut self, exit: Exit) {
        if self.ending.is_some() {
            return;
        }
        self.has_started(&Err(exit.clone()));
        self.ending = Some(exit);
        for entry in self.children.values_mut() {
            entry.goal = Goal::End;
        }
        self.settle_all();
    }

    fn ended(&mut self) -> Option<Exit> {
        let all = self.ending.is_some() && !self.children.values().any(Entry::is_alive);
        self.ending.take_if(|_| all)
    }

    fn is_late(&mut self) {
        let now = Instant::now();
        while let Some(&(time, key)) = self.timers.first() {
            if time > now {
                return;
            }
            self.set_timer(key, None);
            let entry = self.children.get_mut(&key);
            if let Some(entry) = entry.filter(|entry| entry.phase == Phase::Stopping) {
                entry.spec.lives.kin().life().doom(Exit::Killed);
            }
            self.settle(key);
        }
    }

    /// Something has changed that concerns this child.
    fn settle(&mut self, key: u64) {
        if self.rules.strategy != Strategy::Dynamic {
            return self.settle_in_order();
        }
        let Some(entry) = self.children.get(&key) else {
            return;
        };
        match entry.phase {
            Phase::Off(_) if entry.goal == Goal::End => self.remove(key),
            Phase::Off(due) if due.is_none_or(|due| due <= Instant::now()) => self.start(key),
            _ if entry.is_to_end() => self.stop(key),
            _ => {}
        }
    }

    fn settle_all(&mut self) {
        let keys: Vec<u64> = self.children.keys().copied().collect();
        match self.rules.strategy {
            Strategy::Dynamic => keys.into_iter().for_each(|key| self.settle(key)),
            _ => self.settle_in_order(),
        }
    }

    fn settle_in_order(&mut self) {
        let gone = |(&key, entry): (&u64, &Entry)| {
            (!entry.is_alive() && entry.goal == Goal::End).then_some(key)
        };
        let gone: Vec<u64> = self.children.iter().filter_map(gone).collect();
        gone.into_iter().for_each(|key| self.remove(key));
        let busy = |phase| self.children.values().any(|entry| entry.phase == phase);
        if busy(Phase::Stopping) {
            return;
        }
        let mut last_first = self.children.iter().rev();
        if let Some((&key, _)) = last_first.find(|(_, entry)| entry.is_to_end()) {
            return self.stop(key);
        }
        if busy(Phase::Starting) {
            return;
        }
        let now = Instant::now();
        let to_run = |(_, entry): &(&u64, &Entry)| entry.goal == Goal::Run;
        for (&key, entry) in self.children.iter().filter(to_run) {
            match entry.phase {
                Phase::Off(Some(due)) if due > now => match self.rules.strategy {
                    Strategy::OneForOne => {}
                    _ => return,
                },
                Phase::Off(_) => return self.start(key),
                _ => {}
            }
        }
    }

    fn start(&mut self, key: u64) {
        self.set_timer(key, None);
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        entry.phase = Phase::Starting;
        entry.since = Instant::now();
        entry.spec.lives.start(Guardian {
            notes: self.sender.clone(),
            key,
        });
    }

    /// Asks a child to end.
    fn stop(&mut self, key: u64) {
        // A failure is answered with a new life, if somebody is there to answer it.
        let failing = self.ending.as_ref().is_some_and(|exit| !exit.is_orderly());
        let comes_back = self.comes_back || (failing && self.slot.is_some());
        let Some(entry) = self.children.get_mut(&key) else {
            return;
        };
        entry.phase = Phase::Stopping;
        let kin: &dyn Kin = entry.spec.lives.kin();
        // Where another life may follow, the mailbox stays as it is.
        let anew = entry.goal == Goal::RunAgain || (comes_back && entry.kept);
        let (stop, within) = match entry.spec.policy.shutdown {
            Shutdown::Kill => return kin.life().doom(Exit::Killed),
            Shutdown::Now(within) => (Stop::Now, within),
            Shutdown::Drain(within) => (Stop::Drain, within),
        };
        kin.signal(if anew {
            Signal::EndLife
        } else {
            Signal::End(stop)
        });
        let deadline = (within < Duration::MAX).then(|| Instant::now() + within);
        self.set_timer(key, deadline);
    }

    /// Forgets a child that does not live. If the supervisor may be started anew, so may the child.
    fn remove(&mut self, key: u64) {
        let Some(entry) = self.children.get(&key) else {
            return;
        };
        if entry.kept && self.slot.is_some() {
            return;
        }
        self.keys.remove(&entry.spec.lives.kin().life().id);
        self.set_timer(key, None);
        if let Some(mut entry) = self.children.remove(&key) {
            self.awaited -= usize::from(entry.awaited);
            let (child, starter) = (entry.spec.lives.any(), entry.starter.take());
            drop(entry);
            // It was given up before its turn. Who hears so finds that it has ended.
            if let Some(reply) = starter {
                let _ = reply.send(Err(child.exit().unwrap_or(Exit::Killed)));
            }
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // Those that live do so only if the supervisor was killed. It is over when they are.
        for entry in self.children.values().filter(|entry| entry.is_alive()) {
            let child = entry.spec.lives.kin();
            child.life().doom(Exit::Killed);
            let _ = self.this.life().adopt(entry.spec.lives.keep());
        }
        for (_, entry) in std::mem::take(&mut self.children) {
            if let Some(slot) = self.slot.as_ref().filter(|_| entry.kept) {
                slot.put(entry.spec);
            }
        }
    }
}
