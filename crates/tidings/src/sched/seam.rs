//! The one seam through which every choice of a scheduler passes.
//!
//! An ordinary runtime has no seam installed: its choices are made in place (queue order, a
//! worker's xorshift, the system's clock), at the cost of one test of a pointer. A runtime built
//! with [`Builder::seam`](super::Builder::seam) has one thread and asks the seam for everything,
//! so that a run is a function of the seam's answers: `sched/solo.rs` is that scheduler, and the
//! simulator owns the seam.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::panic::Location;
use std::sync::OnceLock;
use std::task::Waker;
use std::time::Duration;

/// What a choice is about, for traces and for exploration strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Which of the runnable tasks runs next.
    Task,
    /// In which order the branches of a choice are tried: 0 is the order written. Of two branches there are
    /// two orders, of more some of all.
    Branch,
    /// Anything else that needs a random number.
    Random,
    /// Whether a task lets others run before its next communication: 1, it does. Asked once before
    /// each, if the seam [`interrupts`](Seam::interrupts).
    Yield,
}

/// Decides what an ordinary scheduler leaves to chance and to the clock.
///
/// Where it panics, so does whoever asked. A choice asks with the locks of its sources taken: a seam uses no channel
/// of the program.
pub trait Seam: Send {
    /// Picks one of `n` (at least 1) alternatives: a number below `n`.
    fn choose(&mut self, choice: Choice, n: usize) -> usize;

    /// The time since the start of the run.
    fn now(&mut self) -> Duration;

    /// Nothing can run. `next` is the time of the earliest timer, if there is one.
    ///
    /// `true`: time has moved on (to `next`, say), go on. `false`: wait for a thread outside.
    fn idle(&mut self, next: Option<Duration>) -> bool;

    /// Is it asked before every communication whether the task goes on? On real threads another may
    /// always come between; otherwise a task runs on until it waits. Asked once, at the start.
    fn interrupts(&self) -> bool {
        false
    }

    /// The [`incarnation`] of the node that this runtime is; `None`: that of the process.
    fn incarnation(&self) -> Option<u64> {
        None
    }

    /// Woken, from any thread, when a task of this runtime was woken or spawned by who is not one of them: more could
    /// run than was [`ready`](super::Runtime::ready). So who drives many runtimes need not ask all of them. Asked once,
    /// at the start.
    fn bell(&self) -> Option<Waker> {
        None
    }

    /// Is the fault at this line of the program to happen now ([`buggify`])? By default none does.
    fn fault(&mut self, at: &'static Location<'static>) -> bool {
        let _ = at;
        false
    }
}

/// The tasks that have let others run before an operation, and have not come back to it.
#[derive(Default)]
pub(super) struct Yielded(Vec<Yields>);

/// A task's, poll after poll.
struct Yields {
    task: u32,
    times: u32,
    /// It is back, in the poll that goes on.
    back: bool,
}

impl Yielded {
    /// A poll begins. Who was back in the last one, and has not yielded again, waits for something.
    pub(super) fn begin(&mut self) {
        self.0.retain(|yields| !yields.back);
    }

    /// May the operation, of those in this poll the one after `before`, go on unasked? It may if it was
    /// asked already and the task is back. What that was is not known: it is taken for the first of the
    /// poll, and, if the task yields in poll after poll, perhaps because it tries several anew in each,
    /// for more and more of them.
    pub(super) fn may_pass(&mut self, task: u32, before: u32) -> bool {
        const PATIENCE: u32 = 16;
        let Some(at) = self.0.iter().position(|yields| yields.task == task) else {
            return false;
        };
        let yields = &mut self.0[at];
        yields.back = true;
        before <= yields.times / PATIENCE
    }

    /// The operation goes on, or lets others run first.
    pub(super) fn note(&mut self, task: u32, goes_on: bool) {
        let at = self.0.iter().position(|yields| yields.task == task);
        match (at, goes_on) {
            (Some(at), true) => drop(self.0.swap_remove(at)),
            (Some(at), false) => {
                let yields = &mut self.0[at];
                (yields.times, yields.back) = (yields.times + 1, false);
            }
            (None, true) => {}
            (None, false) => self.0.push(Yields {
                task,
                times: 0,
                back: false,
            }),
        }
    }
}

/// A random number below `n`: the seam's choice, so that a simulation of the program replays it.
///
/// # Panics
/// If `n` is 0 or over 2^32.
///
/// ```
/// assert!(tidings::sched::random(6) < 6);
/// ```
#[must_use]
#[track_caller]
pub fn random(n: usize) -> usize {
    assert!(
        n > 0 && n as u64 <= 1 << 32,
        "a random number is below 1 to 2^32, not {n}"
    );
    super::random_below(n)
}

/// The number of this life of the program: drawn at random, once in a process; in a simulation each
/// start of a node has its own. By it others tell a node that has come back from the one they knew
/// (Erlang's creation).
///
/// ```
/// assert_eq!(tidings::sched::incarnation(), tidings::sched::incarnation());
/// ```
#[must_use]
pub fn incarnation() -> u64 {
    static DRAWN: OnceLock<u64> = OnceLock::new();
    let simulated = super::current::worker().and_then(super::worker::Worker::seam_incarnation);
    simulated
        .unwrap_or_else(|| *DRAWN.get_or_init(|| RandomState::new().hash_one(std::process::id())))
}

/// Is something unlikely to happen here? `false`, but in a simulation, which tries it now and then:
/// `FoundationDB`'s `BUGGIFY`.
///
/// Stands in the program itself, where the rare case is: a buffer that is full at once, a retry, a
/// timeout that is far too short. Outside a simulation it costs a look at a thread-local.
///
/// ```
/// let capacity = if tidings::sched::buggify() { 1 } else { 1024 };
/// assert_eq!(capacity, 1024);
/// ```
#[must_use]
#[inline]
#[track_caller]
pub fn buggify() -> bool {
    super::current::worker().is_some_and(|worker| worker.seam_fault(Location::caller()))
}

/// A seam that draws every choice from one seeded generator, and whose time jumps.
///
/// The same program under the same seed makes the same run.
///
/// ```
/// use tidings::sched::{Runtime, Seeded};
/// let rt = Runtime::builder().seam(Seeded::new(7)).build().unwrap();
/// let start = tidings::time::Instant::now();
/// rt.block_on(async { tidings::time::sleep(std::time::Duration::from_secs(3600)).await });
/// assert!(start.elapsed().as_secs() < 60, "an hour of virtual time");
/// ```
pub struct Seeded {
    state: u64,
    now: Duration,
}

impl Seeded {
    /// A run for this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed,
            now: Duration::ZERO,
        }
    }
}

impl Seam for Seeded {
    fn choose(&mut self, _: Choice, n: usize) -> usize {
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // The product's high half is below n.
        ((u128::from(z) * n as u128) >> 64) as usize
    }

    fn now(&mut self) -> Duration {
        self.now
    }

    fn idle(&mut self, next: Option<Duration>) -> bool {
        let Some(next) = next else { return false };
        self.now = self.now.max(next);
        true
    }
}

impl fmt::Debug for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seeded")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Yielded;

    #[test]
    fn who_comes_back_passes_the_first_operation_and_after_many_yields_more_of_them() {
        let mut yielded = Yielded::default();
        assert!(!yielded.may_pass(1, 0), "it has not let anybody run");
        yielded.note(1, false);
        assert!(yielded.may_pass(1, 0) && !yielded.may_pass(2, 0));
        for times in 1..32 {
            yielded.note(1, false);
            assert!(yielded.may_pass(1, times / 16));
            assert!(!yielded.may_pass(1, times / 16 + 1), "{times}");
        }
        yielded.note(1, true);
        assert!(!yielded.may_pass(1, 0), "it has passed");
    }

    #[test]
    fn who_has_come_back_and_waits_for_something_is_asked_anew() {
        let mut yielded = Yielded::default();
        yielded.note(1, false);
        yielded.note(2, false);
        assert!(yielded.may_pass(1, 0));
        yielded.begin();
        assert!(!yielded.may_pass(1, 0));
        assert!(yielded.may_pass(2, 0), "it was not back yet");
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_seeds_generator_is_the_published_one() {
        use super::{Choice, Seam, Seeded};

        // The first numbers that its authors' program prints for this seed.
        let published: [u64; 5] = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let mut seeded = Seeded::new(1_234_567);
        for number in published {
            let all_but_one_bit = seeded.choose(Choice::Random, 1 << 63);
            assert_eq!(all_but_one_bit as u64, number >> 1);
        }
    }
}
