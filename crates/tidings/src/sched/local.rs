//! The private queues of a worker: no atomics, one owner.
//!
//! | queue | who comes in | order |
//! |---|---|---|
//! | `next` | the task woken last | runs first: its data is hot, and so is its partner |
//! | `woken` | tasks that `next` displaced, tasks that yielded or were woken while they ran | first in, first out |
//! | `spawned` | new tasks | last in, first out: a tree of tasks runs depth first, in little memory |
//!
//! A task that is woken while its new children have not run waits for their first turn: it
//! likely waits for what they send, and gets it in one poll instead of one poll each.
//!
//! Fairness: `next` runs at most 3 times in a row ([`STREAK`]), and every [`OLDEST`] turns the
//! inbox, or the oldest spawned task, goes first. If woken tasks had most of these turns, an eighth of the spawned
//! ones, the oldest, go before them: else what a busy program starts piled up for as long as it is busy. If
//! spawned ones had, and there are more of them each time, the oldest goes first once in [`OLDEST_PAUSE`] at most:
//! else a tree unfolds in breadth.
//!
//! Sharing: a neighbour takes from the inbox only, so private work costs no atomics. The worker
//! moves the older half of its work to the inbox when somebody is hungry: new tasks at once
//! (they are likely independent), woken ones only when some have been left over for [`PATIENCE`]
//! turns in a row, because a lone woken task is likely the hot partner of the one that runs, and
//! taking it to another core costs both 3 to 10 times what it brings. Who took what was not worth
//! that is not hungry for a while (`appetite.rs`). New tasks are new to who takes them, too: as woken ones all of
//! them had their turn before any of their children, and each that went to the other side made ten.
//! Of a batch that sockets or timers have woken half is shared at once: its tasks are likely independent.
//! What is stuck here behind a long poll is taken by `rescue.rs`.

use std::collections::VecDeque;
use std::ptr;
use std::time::Duration;

use crate::sched::inbox::{Are, Inbox};
use crate::task::{At, Header, Task};
use crate::time::{self, Instant, Timers};

/// Turns in a row that the new children of `next` may go first.
const STREAK: u32 = 64;
/// What a turn of its own counts among these: it has 3 (tokio's number, too), enough for a question,
/// its answer and what follows. With 64, Savina's philosophers, who ask an arbitrator until he says
/// yes, took 2.9 times the instructions: who held what they wanted stood still meanwhile.
const OWN_TURN: u32 = 22;
/// Every so many turns the oldest go first. A prime, so that it falls in step with nothing.
const OLDEST: u32 = 61;
/// If new tasks had fewer of those turns, some of them go before the woken ones. They have more while a tree of
/// tasks unfolds, which is to run depth first.
const NEW: u32 = OLDEST / 2;
/// While they have and become more, the oldest of them goes first no more often than that: in a tree it is a large
/// part, and all of it would be begun before any of it is done.
const OLDEST_PAUSE: Duration = Duration::from_micros(100);
/// One of so many, and not so many: however many each turn starts, they run as fast as they come.
const PART: usize = 8;
/// Turns with woken tasks left over before some are shared.
const PATIENCE: u32 = 64;
/// So many tasks, woken from outside at one moment, are a batch: two workers are faster with it than one.
const BATCH: usize = 4;
/// Tasks taken from a neighbour at once, at most.
const STEAL_MAX: usize = 256;
/// An empty queue keeps at most this capacity.
const CAPACITY_KEPT: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Local {
    next: Option<Task>,
    streak: u32,
    woken: VecDeque<Task>,
    spawned: VecDeque<Task>,
    turn: u32,
    /// Turns of new tasks since the oldest went first.
    begun: u32,
    /// So many of the oldest of `spawned` go before `woken`.
    aged: usize,
    /// When the oldest new task went first although new ones had turns, and more of them had come.
    oldest_at: Option<Instant>,
    /// How many new tasks there were when the oldest went first although new ones had turns.
    grown: usize,
    left_over: u32,
    pub(crate) timers: Timers,
}

impl Local {
    /// A task was woken by the one that runs.
    #[inline(always)]
    pub(crate) fn push_woken(&mut self, task: Task) {
        if let Some(displaced) = self.next.replace(task) {
            self.woken.push_back(displaced);
        }
    }

    /// A task yielded, or was woken while it ran: all others go first.
    #[inline(always)]
    pub(crate) fn push_yielded(&mut self, task: Task) {
        self.woken.push_back(task);
    }

    /// A task is new.
    #[inline(always)]
    pub(crate) fn push_spawned(&mut self, task: Task) {
        self.spawned.push_back(task);
    }

    /// Is it the one that was spawned last, and is it still here?
    #[inline(always)]
    pub(crate) fn is_newest(&self, task: *const Header) -> bool {
        let newest = self.spawned.back();
        newest.is_some_and(|newest| ptr::eq(task, newest.as_ptr()))
    }

    /// The next task to run. `inbox`: it is the inbox's turn, and it has something.
    #[inline(always)]
    pub(crate) fn pop(&mut self, inbox: &Inbox) -> Option<Task> {
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(OLDEST)
            && let Some(task) = self.pop_oldest(inbox)
        {
            return Some(task);
        }
        if let Some(task) = self.next.take() {
            if self.streak < STREAK {
                if self
                    .spawned
                    .back()
                    .is_some_and(|child| child.is_child_of(&task))
                {
                    self.streak += 1;
                    self.next = Some(task);
                    return self.pop_newest();
                }
                self.streak += OWN_TURN;
                return Some(task);
            }
            self.woken.push_back(task);
        }
        self.streak = 0;
        if self.aged > 0 {
            return self.pop_aged();
        }
        self.woken.pop_front().or_else(|| self.pop_newest())
    }

    #[cold]
    fn pop_aged(&mut self) -> Option<Task> {
        self.begun += 1;
        self.aged -= 1;
        let oldest = self.spawned.pop_front();
        oldest.or_else(|| self.woken.pop_front())
    }

    #[inline(always)]
    fn pop_newest(&mut self) -> Option<Task> {
        self.begun += 1;
        self.spawned.pop_back()
    }

    /// Takes the older half of an inbox, and how many that was. The first is to run now. What is new is so here, too,
    /// the oldest before the others, and their children before all of them.
    pub(crate) fn take_from(&mut self, inbox: &Inbox) -> (Option<Task>, usize) {
        let (mut first, mut taken) = (None, 0);
        inbox.take_half(STEAL_MAX, |are, task| {
            taken += 1;
            match are {
                Are::New => self.spawned.push_front(task),
                Are::Woken if first.is_none() => first = Some(task),
                Are::Woken => self.push_yielded(task),
            }
        });
        (first.or_else(|| self.pop_newest()), taken)
    }

    #[cold]
    fn pop_oldest(&mut self, inbox: &Inbox) -> Option<Task> {
        for queue in [&mut self.woken, &mut self.spawned] {
            if queue.is_empty() && queue.capacity() > CAPACITY_KEPT {
                *queue = VecDeque::new();
            }
        }
        let few = std::mem::take(&mut self.begun) < NEW && !self.spawned.is_empty();
        let oldest = inbox.take_oldest(Are::Woken).or_else(|| {
            let none = self.spawned.is_empty() && inbox.is_empty();
            if none || !few && !self.is_new_ones_time() {
                return None;
            }
            let shared = inbox.take_oldest(Are::New);
            shared.or_else(|| self.spawned.pop_front())
        });
        if few {
            self.aged = self.spawned.len().div_ceil(PART);
        }
        oldest
    }

    /// While new tasks have their turns anyway, the oldest of them goes first if there are no more than when it last
    /// did, and when some time has passed.
    fn is_new_ones_time(&mut self) -> bool {
        let new = self.spawned.len();
        if new > self.grown {
            let now = time::system();
            let due = |last| now.saturating_since(last) >= OLDEST_PAUSE;
            if !self.oldest_at.is_none_or(due) {
                return false;
            }
            self.oldest_at = Some(now);
        }
        self.grown = new;
        true
    }

    /// Moves work to the inbox for a hungry neighbour; `true` if it did. `at`: of our worker.
    #[inline]
    pub(crate) fn share(&mut self, inbox: &Inbox, at: At) -> bool {
        if self.share_spawned(inbox) {
            return true;
        }
        if self.woken.is_empty() && self.spawned.is_empty() {
            self.left_over = 0;
            return false;
        }
        self.left_over += 1;
        if self.left_over < PATIENCE {
            return false;
        }
        self.left_over = 0;
        let n = self.woken.len().div_ceil(2);
        let woken = self.woken.drain(..n).inspect(|task| task.let_go(at));
        hand_over(inbox, Are::Woken, self.spawned.drain(..).chain(woken))
    }

    /// As `share`, of tasks that were woken from outside at one moment.
    pub(crate) fn share_batch(&mut self, inbox: &Inbox, at: At) {
        if self.len() >= BATCH {
            let n = self.woken.len().div_ceil(2);
            let woken = self.woken.drain(..n).inspect(|task| task.let_go(at));
            hand_over(inbox, Are::Woken, woken);
        }
    }

    /// As `share`, new tasks only: for a task that spawns many in one long poll.
    #[inline]
    pub(crate) fn share_spawned(&mut self, inbox: &Inbox) -> bool {
        let n = self.spawned.len() / 2;
        n > 0 && hand_over(inbox, Are::New, self.spawned.drain(..n))
    }

    /// Whether any task is here.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_none() && self.woken.is_empty() && self.spawned.is_empty()
    }

    /// Everything, oldest first: for shutdown.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Task> + use<> {
        let (new, woken) = self.take_all();
        new.into_iter().chain(woken)
    }

    /// All new tasks and all others, oldest first: for a rescue.
    pub(crate) fn take_all(&mut self) -> (VecDeque<Task>, Vec<Task>) {
        let woken = self.woken.drain(..).chain(self.next.take()).collect();
        (std::mem::take(&mut self.spawned), woken)
    }

    /// How many tasks could run, for a scheduler that picks among all of them.
    pub(crate) fn len(&self) -> usize {
        self.woken.len() + self.spawned.len() + usize::from(self.next.is_some())
    }

    /// For a scheduler that picks among all of them: they stand in one line, each behind those that came in an earlier
    /// poll. A yield before or after the rest would keep it waiting for ever, where the first is picked each time.
    pub(crate) fn line_up(&mut self) -> &mut VecDeque<Task> {
        self.woken.extend(self.spawned.drain(..));
        self.woken.extend(self.next.take());
        &mut self.woken
    }
}

/// Puts tasks into the inbox. It closes only after its worker has stopped, so from that one it takes them.
pub(super) fn hand_over(inbox: &Inbox, are: Are, tasks: impl Iterator<Item = Task>) -> bool {
    match inbox.append(are, tasks) {
        Ok(()) => true,
        Err(tasks) => {
            tasks.into_iter().for_each(Task::cancel);
            false
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::panic::Location;
    use std::ptr;
    use std::time::Duration;

    use super::{BATCH, Local, OLDEST, PART, PATIENCE, STREAK};
    use crate::sched::inbox::Inbox;
    use crate::task::{At, Header, Task};
    use crate::time;

    /// The queues of a worker that does not run: its tasks are of no runtime.
    struct Queues {
        local: Local,
        inbox: Inbox,
    }

    impl Queues {
        fn new() -> Self {
            Self {
                local: Local::default(),
                inbox: Inbox::new(),
            }
        }

        fn task() -> (Task, *mut Header) {
            let (task, _) = Task::new(async {}, ptr::null(), Location::caller());
            let name = task.as_ptr();
            (task, name)
        }

        fn spawn(&mut self, n: usize) -> Vec<*mut Header> {
            let spawned = (0..n).map(|_| {
                let (task, name) = Self::task();
                self.local.push_spawned(task);
                name
            });
            spawned.collect()
        }

        fn yielded(&mut self, n: usize) -> Vec<*mut Header> {
            let woken = (0..n).map(|_| {
                let (task, name) = Self::task();
                self.local.push_yielded(task);
                name
            });
            woken.collect()
        }

        /// Takes what was shared, the oldest first.
        fn shared(&mut self) -> Vec<*mut Header> {
            let mut shared = Vec::new();
            self.inbox.take_all(|task| {
                shared.push(task.as_ptr());
                task.cancel();
            });
            shared
        }

        fn run(&mut self) -> Option<*mut Header> {
            let task = self.local.pop(&self.inbox)?;
            let name = task.as_ptr();
            task.cancel();
            Some(name)
        }

        /// The turn at which woken tasks that are left over are shared, from the last sharing on.
        fn turns_to_share(&mut self) -> u32 {
            self.yielded(2);
            let turns = (1..)
                .find(|_| self.local.share(&self.inbox, At::NOBODYS))
                .unwrap();
            assert_eq!(self.shared().len(), 1);
            self.local.drain().for_each(Task::cancel);
            turns
        }
    }

    impl Drop for Queues {
        fn drop(&mut self) {
            self.local.drain().for_each(Task::cancel);
            self.shared();
        }
    }

    #[test]
    fn of_new_tasks_one_is_the_newest_as_long_as_it_is_here() {
        let mut queues = Queues::new();
        assert!(!queues.local.is_newest(ptr::null()));
        let new = queues.spawn(2);
        queues.yielded(1);
        let is = |queues: &Queues| [0, 1].map(|n: usize| queues.local.is_newest(new[n]));
        assert_eq!(is(&queues), [false, true]);
        queues.run();
        assert_eq!(is(&queues), [false, true]);
        assert_eq!((queues.run(), is(&queues)), (Some(new[1]), [true, false]));
        assert_eq!((queues.run(), is(&queues)), (Some(new[0]), [false; 2]));
    }

    #[test]
    fn of_new_tasks_the_older_half_is_shared_at_once() {
        let share = |local: &mut Local, inbox: &Inbox| local.share(inbox, At::NOBODYS);
        for share in [share, Local::share_spawned] {
            let mut queues = Queues::new();
            for (spawned, shared) in [(0, 0), (1, 0), (2, 1), (5, 2), (7, 3)] {
                let all = queues.spawn(spawned);
                assert_eq!(share(&mut queues.local, &queues.inbox), shared > 0);
                assert_eq!(queues.shared(), all[..shared]);
                queues.local.drain().for_each(Task::cancel);
            }
        }
    }

    #[test]
    fn woken_tasks_are_shared_when_some_have_been_left_over_for_long() {
        let mut queues = Queues::new();
        let woken = queues.yielded(3);
        let new = queues.spawn(1);
        let queues_share = |queues: &mut Queues| queues.local.share(&queues.inbox, At::NOBODYS);
        for _ in 1..PATIENCE {
            assert!(!queues_share(&mut queues));
        }
        assert!(queues_share(&mut queues));
        assert_eq!(queues.shared(), [new[0], woken[0], woken[1]]);
        // Nothing left over begins the count anew.
        assert!((0..PATIENCE - 1).all(|_| !queues_share(&mut queues)));
        assert_eq!(queues.run(), Some(woken[2]));
        assert!(!queues_share(&mut queues));
        assert_eq!(queues.turns_to_share(), PATIENCE);
    }

    #[test]
    fn of_a_batch_half_is_shared() {
        let mut queues = Queues::new();
        for woken in [BATCH - 1, BATCH, BATCH + 1] {
            let all = queues.yielded(woken);
            queues.local.share_batch(&queues.inbox, At::NOBODYS);
            let shared = if woken < BATCH { 0 } else { woken.div_ceil(2) };
            assert_eq!(queues.shared(), all[..shared]);
            queues.local.drain().for_each(Task::cancel);
        }
    }

    #[test]
    fn the_task_woken_last_goes_first_three_times_in_a_row() {
        let mut queues = Queues::new();
        let others = queues.yielded(2);
        let mut ran = Vec::new();
        for _ in 0..8 {
            let (task, name) = Queues::task();
            queues.local.push_woken(task);
            ran.push((queues.run().unwrap(), name));
        }
        let own = |turns: &[(_, _)]| turns.iter().all(|(ran, woken)| ran == woken);
        assert!(own(&ran[..3]) && own(&ran[4..7]));
        assert_eq!(ran[3].0, others[0]);
        assert_eq!(ran[7].0, others[1]);
    }

    #[test]
    fn the_new_children_of_the_task_woken_last_go_before_it_for_a_while() {
        let mut queues = Queues::new();
        let (parent, name) = Queues::task();
        for _ in 0..STREAK + 3 {
            let (child, _) = Queues::task();
            child.set_parent(name);
            queues.local.push_spawned(child);
        }
        // The oldest goes first now and then, and is one of them.
        queues.local.push_woken(parent);
        let before = (0..).find(|_| queues.run() == Some(name)).unwrap();
        assert!((STREAK..STREAK + 2).contains(&before), "{before}");
    }

    #[test]
    fn who_is_picked_from_one_line_stands_there_behind_all_that_came_in_an_earlier_poll() {
        let mut queues = Queues::new();
        let mut came = Vec::new();
        for _ in 0..3 {
            came.extend(queues.spawn(2));
            let (woken, name) = Queues::task();
            queues.local.push_woken(woken);
            came.push(name);
            queues.local.line_up();
            came.extend(queues.yielded(1));
        }
        let line = queues.local.line_up().iter();
        assert_eq!(line.map(Task::as_ptr).collect::<Vec<_>>(), came);
        assert_eq!(queues.local.len(), came.len());
    }

    #[test]
    fn while_new_tasks_have_their_turns_the_oldest_goes_first_by_time() {
        let mut queues = Queues::new();
        let all = queues.spawn(5 * OLDEST as usize);
        let round = |queues: &mut Queues| {
            let ran: Vec<_> = (0..OLDEST).map(|_| queues.run().unwrap()).collect();
            ran.contains(&all[0])
        };
        queues.local.oldest_at = Some(time::system().saturating_add(Duration::from_secs(3600)));
        assert!(!round(&mut queues) && !round(&mut queues));
        queues.local.oldest_at = None;
        assert!(round(&mut queues) && queues.local.aged == 0);
    }

    #[test]
    fn new_tasks_that_each_make_another_take_turns() {
        const CHAINS: usize = 20;
        let mut queues = Queues::new();
        queues.local.oldest_at = Some(time::system().saturating_add(Duration::from_secs(3600)));
        // As when time has passed once.
        queues.local.grown = CHAINS;
        let mut chains: HashMap<_, _> = queues.spawn(CHAINS).into_iter().zip(0..).collect();
        let mut ran = HashSet::new();
        for _ in 0..CHAINS as u32 * OLDEST {
            let chain = chains.remove(&queues.run().unwrap()).unwrap();
            chains.insert(queues.spawn(1)[0], chain);
            ran.insert(chain);
        }
        assert_eq!(ran.len(), CHAINS);
    }

    #[test]
    fn what_was_shared_as_new_is_new_to_who_takes_it() {
        let (mut one, mut other) = (Queues::new(), Queues::new());
        let all = one.spawn(8);
        assert!(one.local.share_spawned(&one.inbox));
        let yielded = other.yielded(1);
        // Two of the four that were shared: one at once, the other behind what is ready and behind a child.
        let (task, taken) = other.local.take_from(&one.inbox);
        let task = task.unwrap();
        assert_eq!((task.as_ptr(), taken), (all[0], 2));
        task.cancel();
        let child = other.spawn(1)[0];
        let ran = [other.run(), other.run(), other.run()];
        assert_eq!(ran, [yielded[0], child, all[1]].map(Some));
        assert_eq!(one.shared(), all[2..4]);
    }

    #[test]
    fn what_was_woken_is_taken_before_what_is_new_and_in_its_order() {
        let (mut one, mut other) = (Queues::new(), Queues::new());
        let new = one.spawn(2);
        assert!(one.local.share_spawned(&one.inbox));
        let woken = [Queues::task(), Queues::task(), Queues::task()];
        let names = woken.each_ref().map(|(_, name)| *name);
        assert!(one.inbox.push(woken.map(|(task, _)| task)).is_ok());
        let (task, taken) = other.local.take_from(&one.inbox);
        let task = task.unwrap();
        assert_eq!((task.as_ptr(), taken), (names[0], 2));
        task.cancel();
        assert_eq!(other.run(), Some(names[1]));
        assert_eq!(one.shared(), [names[2], new[0]]);
    }

    #[test]
    fn what_goes_first_because_it_is_old_counts_as_new() {
        let mut queues = Queues::new();
        let busy = queues.yielded(1);
        let all = queues.spawn(1 + PART * (OLDEST as usize - 1));
        let mut ran = Vec::new();
        for _ in 0..2 * OLDEST {
            let task = queues.local.pop(&queues.inbox).unwrap();
            ran.push(task.as_ptr());
            match task.as_ptr() == busy[0] {
                true => queues.local.push_yielded(task),
                false => task.cancel(),
            }
        }
        // A round of the busy one, a round of the oldest, which begins none like it.
        let round = OLDEST as usize;
        assert!(ran[..round - 1].iter().all(|ran| *ran == busy[0]));
        assert_eq!(
            (&ran[round - 1..], queues.local.aged),
            (&all[..round + 1], 0)
        );
    }

    #[test]
    fn what_tasks_that_are_always_ready_spawn_does_not_pile_up() {
        for each in [1, 3, 20] {
            let mut queues = Queues::new();
            let busy = queues.yielded(4);
            let mut most = 0;
            for _ in 0..100 * OLDEST {
                let task = queues.local.pop(&queues.inbox).unwrap();
                if busy.contains(&task.as_ptr()) {
                    queues.spawn(each);
                    queues.local.push_yielded(task);
                } else {
                    task.cancel();
                }
                most = most.max(queues.local.len());
            }
            let bound = OLDEST as usize * PART * (1 + each);
            assert!(most < bound, "{each} each turn: {most}");
        }
    }
}
