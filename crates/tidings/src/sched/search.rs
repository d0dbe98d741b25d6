//! A worker without work: looks into the inboxes of its neighbours, spins for a moment, sleeps.

use std::time::Duration;

use super::brisk::STUCK;
use super::seam::Choice;
use super::worker::Worker;
use crate::primitive::atomic::Ordering;
use crate::task::Task;
use crate::time::{self, Instant};

/// Looks around before a worker sleeps: some 20 us. Waking a sleeper costs 12 us and more.
const SPINS: u32 = 200;
/// As many as take three times as long as a neighbour is left its work where a search looks at that.
const KEEN_SPINS: u32 = 600;
/// The longest sleep of the worker that keeps watch while others are busy: it is their rescuer, and takes two looks.
const WATCH_MAX: Duration = Duration::from_millis(2);
/// Looks around, for each of which a searcher looks at the sockets once.
const LOOK_SPINS: u32 = 16;

/// What a search has found.
pub(super) enum Found {
    Nothing,
    /// Sockets were ready: who waited for them was woken, and is likely here now.
    Own,
    Task(Task),
}

/// How a sleep has ended.
struct Slept {
    /// It has woken who waits for sockets or for the time.
    heard: bool,
    /// Nobody else had anything to do.
    quiet: bool,
}

impl Slept {
    /// There was something to do.
    fn not(heard: bool) -> Self {
        let quiet = false;
        Self { heard, quiet }
    }
}

impl Worker {
    /// Looks into every neighbour's inbox, from a random one on.
    pub(super) fn steal(&self) -> Option<Task> {
        let n = self.shared.remotes.len();
        let start = self.choose(Choice::Random, n);
        (0..n).find_map(|offset| self.take_from((start + offset) % n))
    }

    /// Nothing to do here: search, then sleep. Returns when there may be work.
    #[cold]
    pub(super) fn idle(&self) {
        let idle = &self.shared.idle;
        // The turn goes on, however long this takes, and nobody is to blame for it.
        self.runs_no_task();
        let sated = self.is_sated();
        let found = match sated {
            Some(_) => Found::Nothing,
            None => {
                idle.start_search();
                self.search()
            }
        };
        let (found, Slept { heard, quiet }) = match found {
            Found::Nothing => {
                let slept = self.sleep(sated);
                (self.steal(), slept)
            }
            Found::Own => (None, Slept::not(true)),
            Found::Task(task) => (Some(task), Slept::not(false)),
        };
        idle.found();
        let now = time::system();
        self.shared.set_alarm(quiet.then_some(now));
        // While we are busy with what came from outside, another takes half, and our place there: if that is long.
        let worth = self.begins(now);
        if heard && worth && idle.has_sleepers() {
            self.local(|local| local.share_batch(&self.remote().inbox, self.at));
        }
        // That, and what was pushed while we searched and was left to us, may need one more.
        if self.shared.has_public_work() {
            self.shared.notify();
        }
        if let Some(task) = found {
            self.begin_turn();
            self.run_task(task);
        }
    }

    /// There is nothing to do here: until when that of others is to be left to them.
    fn is_sated(&self) -> Option<Instant> {
        let now = time::system();
        self.note_pace(now);
        // RELAXED: of the clock; what it decides is no more than a guess.
        self.remote()
            .ran_dry
            .store(now.as_nanos(), Ordering::Relaxed);
        let pause = self.appetite.borrow_mut().pause(now, |from| {
            let ran_dry = &self.shared.remotes[from].ran_dry;
            Instant::from_nanos(ran_dry.load(Ordering::Relaxed))
        });
        (!pause.is_zero() && self.others_have_short_turns()).then(|| now.saturating_add(pause))
    }

    /// Somebody was woken from outside of the runtime: by a socket, or by the time.
    pub(super) fn hear(&self) {
        // RELAXED: a hint.
        self.shared.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// Was somebody woken from outside since we asked last?
    fn has_heard(&self) -> bool {
        // RELAXED: a hint.
        let heard = self.shared.heard.load(Ordering::Relaxed);
        heard != self.heard.replace(heard)
    }

    /// Looks around for a while. If the runtime waits for what is outside, at the sockets, or not at all: who is to
    /// send it may need the core. Ends a searcher.
    pub(super) fn search(&self) -> Found {
        for spin in 0..KEEN_SPINS {
            let keen = self.is_keen();
            if spin >= SPINS && !keen {
                break;
            }
            if let Some(task) = self.steal() {
                return Found::Task(task);
            }
            if spin.is_multiple_of(LOOK_SPINS) {
                if !self.shared.sockets.are_attended() && self.look_at_sockets() {
                    return Found::Own;
                }
                if keen && self.rescue_awake() {
                    return Found::Own;
                }
            }
            if self.has_heard() {
                return self.linger();
            }
            if self.shared.is_closing() {
                return Found::Nothing;
            }
            for _ in 0..16 {
                std::hint::spin_loop();
            }
        }
        Found::Nothing
    }

    /// Sleeps until woken, or until a timer or a look at busy neighbours is due. `sated`: until then what
    /// others have shared is left to them.
    fn sleep(&self, sated: Option<Instant>) -> Slept {
        let next = self.refresh_timers();
        let idle = &self.shared.idle;
        if !self.local(|local| local.is_empty()) {
            if sated.is_some() {
                // As who stands up.
                idle.start_search();
            }
            return Slept::not(true);
        }
        // From when it keeps watch: how long until the next look, and when to look again at who stood still.
        let mut watch = None;
        let mut again: Option<Instant> = None;
        let (mut due, mut heard) = (false, false);
        // How often somebody had looked at the sockets. At first: somebody just has.
        let mut looked = self.shared.sockets.looked().wrapping_sub(1);
        match sated {
            Some(_) => idle.fall_asleep_sated(self.index()),
            None => idle.fall_asleep(self.index()),
        }
        loop {
            let sent = !self.remote().sent.is_empty();
            let public = match sated {
                Some(_) => !self.remote().inbox.is_empty(),
                None => self.shared.has_public_work(),
            };
            if sent || public || self.shared.is_closing() {
                break;
            }
            // Who lingers at the sockets has them to itself, and may be busy at any moment.
            let attended = self.shared.sockets.are_attended();
            let others_busy = attended || !idle.all(self.shared.remotes.len());
            let until_timer = next.map(|next| next.saturating_since(Instant::now()));
            let until_hungry = sated.map(|until| match self.others_have_short_turns() {
                true => until.saturating_since(time::system()),
                false => Duration::ZERO,
            });
            due = until_timer.is_some_and(|left| left.is_zero());
            if due || until_hungry.is_some_and(|left| left.is_zero()) {
                break;
            }
            // One is enough: with many workers they would wake as often each.
            let keeps = others_busy && idle.keeper() == Some(self.index());
            let pause = keeps.then(|| *watch.get_or_insert_with(|| self.begin_watch()));
            let look = pause.map(|pause| pause.max(self.patience()));
            let until_again = look.and(again);
            let until_again = until_again.map(|again| again.saturating_since(time::system()));
            let wait = [until_timer, until_hungry, look, until_again];
            let wait = wait.into_iter().flatten().min();
            // Who works looks at the sockets, too. While somebody does, and has short turns, what has come there is
            // left to them: two that take it from each other have twice the wake-ups, and each the tasks of the other.
            let before = std::mem::replace(&mut looked, self.shared.sockets.looked());
            let left =
                attended || others_busy && looked != before && self.others_have_short_turns();
            if keeps {
                idle.begin_watch();
            }
            heard = if left {
                self.park(wait);
                false
            } else {
                self.rest(wait)
            };
            if keeps {
                idle.end_watch();
            }
            if heard || !idle.is_sleeping(self.index()) {
                break;
            }
            if let Some(pause) = pause {
                watch = Some((pause * 2).min(WATCH_MAX.max(self.grace() / 2)));
                let rescued = self.rescue();
                if rescued.work {
                    break;
                }
                again = rescued.again;
                if pause >= STUCK && again.is_none() {
                    self.shared.brisk.ends();
                }
            }
        }
        let quiet = idle.all(self.shared.remotes.len());
        idle.stand_up(self.index());
        if due {
            // At once, and not after a search.
            self.refresh_timers();
        }
        let heard = heard || due;
        Slept { heard, quiet }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::mpsc;

    use super::super::worker::tests::on_both;
    use super::{Duration, Ordering, time};
    use crate::Runtime;
    use crate::primitive::{Arc, Mutex, lock, thread};

    #[test]
    fn who_is_sated_is_so_while_the_others_turns_are_short() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let sated = on_both(&runtime, |worker, both| {
            let sated = (worker.index() == 1).then(|| {
                let other = &worker.shared.remotes[0];
                let micros = |n: u64| u32::try_from(Duration::from_micros(n).as_nanos()).unwrap();
                // So much in vain that the pause is the longest.
                (0..20).for_each(|_| {
                    let now = time::system();
                    let mut appetite = worker.appetite.borrow_mut();
                    appetite.take(usize::MAX, 0, now);
                    appetite.pause(now, |_| now);
                });
                [micros(1), micros(20)].map(|takes| {
                    other.turn_takes.store(takes, Ordering::Relaxed);
                    worker.is_sated().is_some()
                })
            });
            // The first is in its poll until the other has seen enough.
            both.wait();
            sated
        });
        assert_eq!(sated, Some([true, false]));
    }

    #[test]
    fn who_falls_asleep_looks_once_more_for_what_was_left_to_it_while_it_searched() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let handle = runtime.handle();
        let (tell, told) = mpsc::channel();
        let told = Arc::new(Mutex::new(told));
        let stood_up = on_both(&runtime, move |worker, both| {
            let shared = worker.shared();
            // Both, so that who sleeps has nobody to keep watch over.
            shared.idle.start_search();
            both.wait();
            if worker.index() == 0 {
                let stood_up = lock(&told).recv_timeout(Duration::from_secs(10));
                if stood_up.is_err() && shared.idle.wake_this(1) {
                    shared.unpark(1);
                }
                shared.idle.found();
                return Some(stood_up);
            }
            let handle = handle.clone();
            let push = thread::spawn(move || drop(handle.spawn(async {})));
            push.join().unwrap();
            worker.sleep(None);
            tell.send(()).unwrap();
            shared.idle.found();
            None
        });
        assert_eq!(stood_up, Some(Ok(())), "it sleeps");
    }
}
