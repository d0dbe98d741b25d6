//! The nodes that are up: which of them have tasks that could run, and when the next of their timers is due.
//!
//! Of a thousand nodes a step concerns a few, and no other is asked: the one that ran, those whose tasks were woken
//! meanwhile, which ring ([`Seam::bell`](tidings::sched::Seam::bell)), and those of whose timers one is due.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use tidings::{JoinHandle, Runtime};

use crate::failure::{Kind, Trouble};
use crate::panics;
use crate::world::World;

/// What a node's program comes to.
pub(crate) type Root = JoinHandle<Result<(), String>>;

/// A node that is up.
pub(crate) struct Life {
    pub(crate) node: usize,
    /// Among its own.
    pub(crate) incarnation: u64,
    /// Among all lives of all nodes.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) runtime: Runtime,
    pub(crate) root: Root,
    /// Where its program was started.
    pub(crate) at: &'static Location<'static>,
}

impl Life {
    /// The first panic in it that nobody has heard of.
    pub(crate) fn end(self) -> Option<Trouble> {
        let unheard = self.runtime.end().err()?;
        let (_, message) = unheard.iter().next()?;
        let trouble = Trouble::new(Kind::Panic, unheard.to_string()).at(panics::line_of(message));
        Some(match self.node {
            0 => trouble,
            _ => trouble.of_node(&self.name),
        })
    }
}

/// See the module. Lives are told apart by their numbers.
#[derive(Default)]
pub(crate) struct Lives {
    /// In the order of their numbers.
    all: Vec<Life>,
    /// Of those that have any: how many tasks could run.
    ready: BTreeMap<u32, usize>,
    /// All of these.
    total: usize,
    /// Of those that have any: when the earliest timer is due, by the world's clock.
    timers: BTreeSet<(Duration, u32)>,
    due: BTreeMap<u32, Duration>,
    /// Those that may have other timers than these.
    ran: BTreeSet<u32>,
    rung: Arc<Rung>,
}

/// Those that may have other tasks to run than they had.
#[derive(Default)]
struct Rung(Mutex<BTreeSet<u32>>);

impl Rung {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Bell {
    life: u32,
    rung: Arc<Rung>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.lock().insert(self.life);
    }
}

impl Lives {
    /// Rings for the life of this number.
    pub(crate) fn bell(&self, life: u32) -> Waker {
        let rung = Arc::clone(&self.rung);
        Arc::new(Bell { life, rung }).into()
    }

    /// One begins, after all others.
    pub(crate) fn push(&mut self, life: Life) {
        self.touch(life.number);
        self.all.push(life);
    }

    pub(crate) fn all(&self) -> &[Life] {
        &self.all
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.all
            .binary_search_by_key(&number, |life| life.number)
            .ok()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Life> {
        self.place(number).map(|place| &self.all[place])
    }

    /// The program's own.
    pub(crate) fn program(&mut self) -> &mut Life {
        &mut self.all[0]
    }

    /// It has run.
    pub(crate) fn touch(&mut self, number: u32) {
        self.rung.lock().insert(number);
        self.ran.insert(number);
    }

    /// Takes it out, if its program has ended.
    pub(crate) fn take_ended(&mut self, number: u32) -> Option<Life> {
        let place = self.place(number)?;
        let ended = self.all[place].root.is_finished();
        ended.then(|| {
            self.forget(number);
            self.all.remove(place)
        })
    }

    /// Takes those out, in their order.
    pub(crate) fn take(&mut self, which: impl Fn(&Life) -> bool) -> Vec<Life> {
        let taken: Vec<Life> = self.all.extract_if(.., |life| which(life)).collect();
        for life in &taken {
            self.forget(life.number);
        }
        taken
    }

    fn forget(&mut self, number: u32) {
        self.total -= self.ready.remove(&number).unwrap_or(0);
        self.is_due(number, None);
    }

    /// How many tasks could run.
    pub(crate) fn ready(&mut self) -> usize {
        let rung = take(&mut *self.rung.lock());
        for number in rung {
            let now = self.get(number).map_or(0, |life| life.runtime.ready());
            let before = match now {
                0 => self.ready.remove(&number),
                _ => self.ready.insert(number, now),
            };
            self.total = self.total - before.unwrap_or(0) + now;
        }
        self.total
    }

    /// Those that have tasks that could run, with how many, in turn: the one at this place comes first.
    pub(crate) fn in_turn(&self, first: usize) -> impl Iterator<Item = (&Life, usize)> {
        let first = self.all[first % self.all.len()].number;
        let turn = self.ready.range(first..).chain(self.ready.range(..first));
        turn.filter_map(|(&number, &ready)| Some((self.get(number)?, ready)))
    }

    /// Where it is among those that are up.
    pub(crate) fn place_of(&self, life: &Life) -> usize {
        self.all.partition_point(|each| each.number < life.number)
    }

    /// Wakes who waits for a time that has come.
    pub(crate) fn wake_timers(&mut self, world: &World) {
        let (now, are_set) = world.time();
        let mut due = take(&mut self.ran);
        if are_set {
            due.extend(self.all.iter().map(|life| life.number));
        }
        let timers = self.timers.iter().take_while(|(time, _)| *time <= now);
        due.extend(timers.map(|(_, number)| *number));
        for number in due {
            self.look_at_timers(number, world);
        }
    }

    /// The next time that somebody waits for.
    pub(crate) fn next_timer(&mut self, world: &World) -> Option<Duration> {
        loop {
            let first = *self.timers.first()?;
            // What another node has cancelled, its own does not know yet.
            self.look_at_timers(first.1, world);
            if self.timers.first() == Some(&first) {
                return Some(first.0);
            }
        }
    }

    fn look_at_timers(&mut self, number: u32, world: &World) {
        let Some(life) = self.get(number) else {
            return;
        };
        let next = life.runtime.wake_timers();
        let node = life.node;
        self.rung.lock().insert(number);
        self.is_due(number, next.map(|next| world.global(node, next)));
    }

    fn is_due(&mut self, number: u32, next: Option<Duration>) {
        let before = match next {
            Some(next) => self.due.insert(number, next),
            None => self.due.remove(&number),
        };
        if let Some(before) = before {
            self.timers.remove(&(before, number));
        }
        self.timers.extend(next.map(|next| (next, number)));
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::time::Duration;

    use tidings::Event;
    use tidings::sched::{Runtime, Seam, Seeded};

    use super::{Life, Lives, Location};
    use crate::decisions::Decisions;
    use crate::world::World;

    /// The first alternative, at a time that stands still, with a bell.
    struct Still(Seeded, Waker);

    impl Seam for Still {
        fn choose(&mut self, _: tidings::sched::Choice, _: usize) -> usize {
            0
        }
        fn now(&mut self) -> Duration {
            self.0.now()
        }
        fn idle(&mut self, _: Option<Duration>) -> bool {
            false
        }
        fn bell(&self) -> Option<Waker> {
            Some(self.1.clone())
        }
    }

    #[test]
    fn of_many_those_are_asked_that_ran_or_were_woken() {
        let world = World::new(0, Decisions::new(Vec::new(), None));
        let mut lives = Lives::default();
        let (wakes, woken) = tidings::unbounded::<()>();
        for number in 0..50 {
            let seam = Still(Seeded::new(0), lives.bell(number));
            let runtime = Runtime::builder().seam(seam).build().unwrap();
            let woken = woken.clone();
            let root = runtime.spawn(async move {
                tidings::time::sleep(Duration::from_secs(1))
                    .or(woken.recv().map(drop))
                    .await;
                Ok(())
            });
            lives.push(Life {
                node: 0,
                incarnation: 1,
                number,
                name: String::new(),
                runtime,
                root,
                at: Location::caller(),
            });
        }
        assert_eq!(lives.ready(), 50);
        for number in 0..50 {
            lives.get(number).unwrap().runtime.step(0);
            lives.touch(number);
            let asked = lives.rung.lock().clone();
            assert_eq!(asked, [number].into());
            assert_eq!(lives.ready(), 49 - number as usize);
        }
        lives.wake_timers(&world);
        assert_eq!((lives.ready(), lives.timers.len()), (0, 50));
        assert!(lives.ran.is_empty());
        // It is the first who waits.
        wakes.send_blocking(()).unwrap();
        assert_eq!(*lives.rung.lock(), [0].into());
        let turn: Vec<u32> = (lives.ready() == 1)
            .then(|| lives.in_turn(7).map(|(life, _)| life.number).collect())
            .unwrap();
        assert_eq!(turn, [0]);
        let left = lives.take(|life| life.number > 0);
        assert_eq!((left.len(), lives.ready(), lives.timers.len()), (49, 1, 1));
    }
}
