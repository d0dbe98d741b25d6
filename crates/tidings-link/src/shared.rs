//! What the tasks of a program and its link tell each other: that an answer is there, that a caller
//! has gone, that an actor has ended, that a proxy has messages, and what the link is asked to do.
//!
//! Who leaves something while the link has little to do does it there and then, and writes it: no other
//! task has to run before it goes out. Otherwise the driver does it at its next turn, with all else.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tidings::remote::Door;

use crate::hub::Command;
use crate::limits::Broken;

/// What a door's key stands for: in its highest bit, and, of a call, in the one below. A long life
/// numbers more actors than there are ever calls at once.
const ENDED: u32 = 0x8000_0000;
const ANSWER: u32 = 0x4000_0000;

/// Numbers of actors are less.
pub(crate) const NUMBERS: u32 = ENDED;

/// A caller of ours may have gone.
pub(crate) fn caller(call: u32) -> u32 {
    call
}

/// An answer to the peer's call may be there.
pub(crate) fn answer(call: u32) -> u32 {
    call | ANSWER
}

/// An actor that is exported may have ended.
pub(crate) fn ended(target: u32) -> u32 {
    target | ENDED
}

/// What is to be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A proxy: its target, and which of those for it.
    Proxy(u32, u64),
    /// As above: one that somebody here has ended.
    Killed(u32, u64),
    /// A message that waits for a place in the mailbox of this actor.
    Place(u32),
}

/// What somebody leaves for the link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// See [`caller`], [`answer`] and [`ended`].
    Caller(u32),
    Answer(u32),
    Ended(u32),
    Due(Due),
    /// Begin nothing more.
    Drain,
}

impl Note {
    /// What a door's key stands for.
    fn of(key: u32) -> Self {
        match key {
            ended if ended & ENDED != 0 => Self::Ended(ended & !ENDED),
            answer if answer & ANSWER != 0 => Self::Answer(answer & !ANSWER),
            caller => Self::Caller(caller),
        }
    }
}

/// What was left.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) notes: Vec<Note>,
    pub(crate) commands: Vec<Command>,
}

impl Left {
    pub(crate) fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.commands.is_empty()
    }

    /// Behind what is here yet comes this.
    fn take(&mut self, more: &mut Self) {
        if self.is_empty() {
            return std::mem::swap(self, more);
        }
        self.notes.append(&mut more.notes);
        self.commands.append(&mut more.commands);
    }
}

/// What moves a link. Whoever has its station does it.
pub(crate) trait Moves: Send {
    /// A turn of the driver.
    fn turn(&mut self, left: &mut Left, cx: &mut Context<'_>) -> Turned;

    /// Does this, and writes what comes of it. `false`: there is something that the driver is to do.
    fn at_once(&mut self, note: Note) -> bool;

    /// Is so much under way that what is left is to wait for what else comes?
    fn is_crowded(&self) -> bool;
}

/// A link, and what was left for it.
pub(crate) struct Station<M: ?Sized = dyn Moves> {
    left: Left,
    moves: M,
}

/// How a turn has ended.
pub(crate) enum Turned {
    /// All was done that there was, but for what it has not taken of what others had left.
    Done,
    /// There is more: others have their turn, and then it goes on.
    More,
    /// The link has ended.
    Ended(Broken),
}

/// What the driver finds.
pub(crate) enum Found {
    Station(Box<Station>),
    /// Somebody has it, who wakes the driver.
    Busy,
    /// Others are about to leave something, too: they have their turn before.
    Crowd,
    /// The link has ended.
    Closed,
}

#[derive(Default)]
pub(crate) struct Letters {
    left: Left,
    /// Not there while somebody has it.
    station: Option<Box<Station>>,
    /// As it was when it was put back.
    crowded: bool,
    /// How many handles there are.
    pub(crate) handles: usize,
    driver: Option<Waker>,
    /// The driver has been woken since it looked.
    rung: bool,
    /// The driver has looked while somebody else had the station.
    missed: bool,
    /// Others have had their turn since the driver was woken.
    yielded: bool,
    /// The link has ended: nobody looks any more.
    closed: bool,
}

#[derive(Default)]
pub(crate) struct Shared {
    letters: Mutex<Letters>,
}

thread_local! {
    /// A link is moved on this thread: what it wakes moves no other meanwhile.
    static MOVING: Cell<bool> = const { Cell::new(false) };
}

/// A link is moved on this thread.
struct Moving;

impl Moving {
    /// `None`: one is.
    fn begin() -> Option<Self> {
        (!MOVING.replace(true)).then_some(Self)
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        MOVING.set(false);
    }
}

impl Shared {
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a question for the driver.
    pub(crate) fn ask(&self, command: Command) {
        self.leave_to_driver(|letters| letters.left.commands.push(command));
    }

    fn leave_to_driver(&self, f: impl FnOnce(&mut Letters)) {
        let mut letters = self.lock();
        if !letters.closed {
            f(&mut letters);
            Self::ring(letters);
        }
    }

    /// A handle is given up: the driver looks whether another is left.
    pub(crate) fn give_up_handle(&self) {
        self.leave_to_driver(|letters| letters.handles -= 1);
    }

    /// Wakes the driver, once for all that is left until it looks.
    fn ring(mut letters: MutexGuard<'_, Letters>) {
        let waker = match std::mem::replace(&mut letters.rung, true) {
            true => None,
            false => letters.driver.take(),
        };
        drop(letters);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The link is to begin nothing more, but what has been given to its proxies by now.
    pub(crate) fn drain(&self) {
        self.leave(Note::Drain);
    }

    /// Leaves something that the link has to do. It is done here if there is nothing else to do.
    #[inline]
    fn leave(&self, note: Note) {
        let mut letters = self.lock();
        if letters.closed {
            return;
        }
        // What is given to proxies behind a wish to drain is to be known from what was before.
        let now = !letters.rung && !letters.crowded || matches!(note, Note::Drain);
        let here = now && letters.station.is_some();
        let moving = if here { Moving::begin() } else { None };
        let Some(moving) = moving else {
            letters.left.notes.push(note);
            return Self::ring(letters);
        };
        let mut station = letters.station.take().expect("it is there");
        drop(letters);
        let done = station.moves.at_once(note);
        drop(moving);
        let mut letters = self.put(station);
        if std::mem::take(&mut letters.missed) || !done {
            // It may have been rung for before it missed the station.
            letters.rung = false;
            Self::ring(letters);
        }
    }

    /// Puts the station back.
    #[inline]
    fn put(&self, station: Box<Station>) -> MutexGuard<'_, Letters> {
        let crowded = station.moves.is_crowded();
        let mut letters = self.lock();
        if letters.closed {
            // The driver was dropped meanwhile: so is the link.
            drop(letters);
            drop(station);
            return self.lock();
        }
        letters.station = Some(station);
        letters.crowded = crowded;
        letters
    }

    /// What the driver finds as it looks. From here on `waker` is woken.
    #[inline]
    pub(crate) fn look(&self, waker: &Waker) -> Found {
        let mut letters = self.lock();
        if letters.closed {
            return Found::Closed;
        }
        if letters.rung && letters.crowded && !letters.yielded {
            letters.yielded = true;
            return Found::Crowd;
        }
        let known = letters.driver.as_ref();
        let mut before = None;
        if !known.is_some_and(|known| known.will_wake(waker)) {
            // A foreign waker is cloned and dropped outside of the lock.
            drop(letters);
            let waker = waker.clone();
            letters = self.lock();
            before = letters.driver.replace(waker);
        }
        let found = Self::find(&mut letters);
        drop(letters);
        drop(before);
        found
    }

    #[inline]
    fn find(letters: &mut Letters) -> Found {
        if letters.closed {
            return Found::Closed;
        }
        let Some(mut station) = letters.station.take() else {
            letters.missed = true;
            return Found::Busy;
        };
        if std::mem::take(&mut letters.rung) {
            station.left.take(&mut letters.left);
        }
        letters.yielded = false;
        Found::Station(station)
    }

    /// A turn of the driver, as often as it is polled. `None`: the link had ended before.
    #[inline]
    pub(crate) fn turn(&self, cx: &mut Context<'_>) -> Poll<Option<Broken>> {
        let mut station = match self.look(cx.waker()) {
            Found::Station(station) => station,
            Found::Busy => return Poll::Pending,
            Found::Crowd => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Found::Closed => return Poll::Ready(None),
        };
        let moving = Moving::begin();
        let Station { left, moves } = &mut *station;
        let turned = moves.turn(left, cx);
        drop(moving);
        let more = match turned {
            Turned::Done => !left.is_empty(),
            Turned::More => true,
            Turned::Ended(broken) => return Poll::Ready(Some(broken)),
        };
        self.put(station).yielded = more;
        if more {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// The link begins.
    pub(crate) fn open(&self, moves: impl Moves + 'static) {
        let left = Left::default();
        self.lock().station = Some(Box::new(Station { left, moves }));
    }

    /// The driver is not there any more. Gives the station, if nobody has it.
    pub(crate) fn shut(&self) -> Option<Box<Station>> {
        let mut letters = self.lock();
        letters.closed = true;
        letters.station.take()
    }

    /// Nobody looks any more. Gives what was asked.
    pub(crate) fn close(&self) -> Vec<Command> {
        let mut letters = self.lock();
        letters.closed = true;
        let driver = letters.driver.take();
        let left = std::mem::take(&mut letters.left);
        drop(letters);
        // It ends, if it is not the driver that has closed the link.
        if let Some(driver) = driver {
            driver.wake();
        }
        left.commands
    }
}

impl Door for Shared {
    fn gone(&self, key: u32) {
        match Note::of(key) {
            // If it is the runtime that ends, the driver ends with it: then it is the link that ends.
            note @ Note::Ended(_) => self.leave_to_driver(|letters| letters.left.notes.push(note)),
            note => self.leave(note),
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

/// The waker of one thing that the driver polls.
#[derive(Debug)]
pub(crate) struct Bell {
    pub(crate) shared: Arc<Shared>,
    pub(crate) due: Due,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.shared.leave(Note::Due(self.due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_key_stands_for_one_thing_whatever_its_number() {
        for number in [0, 1, (1 << 30) - 1] {
            assert!(matches!(Note::of(caller(number)), Note::Caller(n) if n == number));
            assert!(matches!(Note::of(answer(number)), Note::Answer(n) if n == number));
        }
        for number in [0, 1, 1 << 30, NUMBERS - 1] {
            assert!(matches!(Note::of(ended(number)), Note::Ended(n) if n == number));
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    type Act = Box<dyn FnMut() -> bool + Send>;

    /// A link that does what the test says.
    struct Acts {
        at_once: Act,
        crowded: bool,
        turns: Arc<AtomicUsize>,
        /// The test sees by it when the link is dropped.
        #[expect(dead_code, reason = "it is there to be dropped")]
        alive: Arc<()>,
    }

    impl Moves for Acts {
        fn turn(&mut self, left: &mut Left, _: &mut Context<'_>) -> Turned {
            self.turns.fetch_add(left.notes.len(), Ordering::Relaxed);
            left.notes.clear();
            Turned::Done
        }
        fn at_once(&mut self, _: Note) -> bool {
            (self.at_once)()
        }
        fn is_crowded(&self) -> bool {
            self.crowded
        }
    }

    struct Stage {
        shared: Arc<Shared>,
        woken: Arc<Woken>,
        turns: Arc<AtomicUsize>,
        alive: Arc<()>,
    }

    impl Stage {
        /// A link whose driver has looked once.
        fn new(crowded: bool, at_once: impl FnOnce(&Arc<Shared>) -> Act) -> Self {
            let shared = Arc::<Shared>::default();
            let stage = Self {
                woken: Arc::default(),
                turns: Arc::default(),
                alive: Arc::default(),
                shared,
            };
            stage.shared.open(Acts {
                at_once: at_once(&stage.shared),
                crowded,
                turns: Arc::clone(&stage.turns),
                alive: Arc::clone(&stage.alive),
            });
            stage.turn();
            stage
        }

        fn turn(&self) {
            let waker = Waker::from(Arc::clone(&self.woken));
            let mut cx = Context::from_waker(&waker);
            assert!(self.shared.turn(&mut cx).is_pending());
        }

        fn woken(&self) -> usize {
            self.woken.0.load(Ordering::Relaxed)
        }

        fn turns(&self) -> usize {
            self.turns.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_is_left_for_an_idle_link_is_done_there_and_the_driver_sleeps() {
        let done = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&done);
        let stage = Stage::new(false, |_| {
            Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
                true
            })
        });
        stage.shared.gone(1);
        stage.shared.gone(2);
        assert_eq!(done.load(Ordering::Relaxed), 2);
        assert_eq!(stage.woken(), 0);
    }

    #[test]
    fn the_end_of_an_actor_is_left_to_the_driver() {
        let stage = Stage::new(false, |_| Box::new(|| panic!("it waits for the driver")));
        stage.shared.gone(ended(1));
        assert_eq!((stage.woken(), stage.turns()), (1, 0));
        stage.turn();
        assert_eq!(stage.turns(), 1);
    }

    #[test]
    fn what_is_left_for_a_crowded_link_wakes_the_driver_once_and_waits_for_it() {
        let stage = Stage::new(true, |_| Box::new(|| panic!("it waits for the driver")));
        stage.shared.gone(1);
        stage.shared.gone(2);
        assert_eq!((stage.woken(), stage.turns()), (1, 0));
        // Others have their turn first: the driver wakes itself.
        stage.turn();
        assert_eq!((stage.woken(), stage.turns()), (2, 0));
        stage.turn();
        assert_eq!(stage.turns(), 2);
    }

    #[test]
    fn what_the_driver_is_to_do_wakes_it() {
        let stage = Stage::new(false, |_| Box::new(|| false));
        stage.shared.gone(1);
        assert_eq!(stage.woken(), 1);
    }

    #[test]
    fn a_driver_that_looks_while_another_moves_the_link_is_woken_after_that() {
        let woken = Arc::<Woken>::default();
        let (shared, waker) = (Arc::<Shared>::default(), Waker::from(Arc::clone(&woken)));
        let (of_it, turns) = (Arc::downgrade(&shared), Arc::default());
        shared.open(Acts {
            at_once: Box::new(move || {
                let shared = of_it.upgrade().unwrap();
                // Somebody else leaves something, and the driver is polled for it.
                shared.gone(7);
                let mut cx = Context::from_waker(&waker);
                assert!(shared.turn(&mut cx).is_pending());
                true
            }),
            crowded: false,
            turns: Arc::clone(&turns),
            alive: Arc::default(),
        });
        shared.gone(1);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        let waker = Waker::from(woken);
        assert!(shared.turn(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(turns.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_is_left_while_this_thread_moves_another_link_waits_for_the_driver() {
        let inner = Arc::new(Stage::new(false, |_| Box::new(|| panic!("one is moved"))));
        let left = Arc::clone(&inner);
        let outer = Stage::new(false, |_| {
            Box::new(move || {
                left.shared.gone(1);
                true
            })
        });
        outer.shared.gone(1);
        assert_eq!((outer.woken(), inner.woken()), (0, 1));
        // What comes later does not overtake it.
        inner.shared.gone(2);
        assert_eq!(inner.woken(), 1);
        inner.turn();
        assert_eq!(inner.turns(), 2);
    }

    #[test]
    fn a_link_whose_driver_is_dropped_while_another_moves_it_is_dropped_by_that() {
        let stage = Stage::new(false, |shared| {
            let shared = Arc::downgrade(shared);
            Box::new(move || {
                assert!(shared.upgrade().unwrap().shut().is_none());
                true
            })
        });
        assert_eq!(Arc::strong_count(&stage.alive), 2);
        stage.shared.gone(1);
        assert_eq!(Arc::strong_count(&stage.alive), 1);
    }
}
