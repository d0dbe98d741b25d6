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

/// What a door's key stands for: in its two highest bits.
const KIND: u32 = 0xc000_0000;
const CALLER: u32 = 0;
const ANSWER: u32 = 0x4000_0000;
const ENDED: u32 = 0x8000_0000;

/// A caller of ours may have gone.
pub(crate) fn caller(call: u32) -> u32 {
    call | CALLER
}

/// An answer to the peer's call may be there.
pub(crate) fn answer(call: u32) -> u32 {
    call | ANSWER
}

/// An actor that is exported may have ended.
pub(crate) fn ended(target: u32) -> u32 {
    target | ENDED
}

/// What a key stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Caller(u32),
    Answer(u32),
    Ended(u32),
}

impl Key {
    pub(crate) fn of(key: u32) -> Self {
        let number = key & !KIND;
        match key & KIND {
            CALLER => Self::Caller(number),
            ANSWER => Self::Answer(number),
            _ => Self::Ended(number),
        }
    }
}

/// What is to be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A proxy: its target, and which of those for it.
    Proxy(u32, u64),
    /// A message that waits for a place in the mailbox of this actor.
    Place(u32),
}

/// What was left.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) keys: Vec<u32>,
    pub(crate) due: Vec<Due>,
    pub(crate) commands: Vec<Command>,
}

impl Left {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.due.is_empty() && self.commands.is_empty()
    }
}

/// The link's own end: whoever has it moves the link.
pub(crate) trait Desk: Send {
    /// A turn of the driver.
    fn turn(&mut self, left: &mut Left, cx: &mut Context<'_>) -> Turned;

    /// Does what was left, and writes it. `false`: there is something that the driver is to do.
    fn at_once(&mut self, left: &mut Left) -> bool;

    /// Is so much under way that what is left is to wait for what else comes?
    fn is_crowded(&self) -> bool;
}

/// How a turn has ended.
pub(crate) enum Turned {
    /// All was done that there was.
    Done,
    /// There is more: others have their turn, and then it goes on.
    More,
    /// The link has ended.
    Ended(Broken),
}

/// What the driver finds.
pub(crate) enum Found {
    Desk(Box<dyn Desk>, Left),
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
    desk: Option<Box<dyn Desk>>,
    /// As it was when it was put back.
    crowded: bool,
    /// How many handles there are.
    pub(crate) handles: usize,
    driver: Option<Waker>,
    /// The driver has been woken since it looked.
    rung: bool,
    /// The driver has looked while somebody else had the desk.
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
    pub(crate) fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a question for the driver.
    pub(crate) fn ask(&self, command: Command) {
        let mut letters = self.lock();
        if !letters.closed {
            letters.left.commands.push(command);
            Self::ring(letters);
        }
    }

    /// A handle is given up: the driver looks whether another is left.
    pub(crate) fn give_up_handle(&self) {
        let mut letters = self.lock();
        letters.handles -= 1;
        if !letters.closed {
            Self::ring(letters);
        }
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

    /// Leaves something that the link has to do. It is done here if there is nothing else to do.
    fn leave(&self, f: impl FnOnce(&mut Left)) {
        let mut letters = self.lock();
        if letters.closed {
            return;
        }
        f(&mut letters.left);
        if letters.rung || letters.crowded {
            return Self::ring(letters);
        }
        let Some(moving) = Moving::begin() else {
            return Self::ring(letters);
        };
        let Some(mut desk) = letters.desk.take() else {
            return Self::ring(letters);
        };
        let mut left = std::mem::take(&mut letters.left);
        drop(letters);
        let done = desk.at_once(&mut left);
        drop(moving);
        let mut letters = self.put(desk, left);
        if std::mem::take(&mut letters.missed) || !done {
            // It may have been rung for before it missed the desk.
            letters.rung = false;
            Self::ring(letters);
        }
    }

    /// Puts the desk back, and the room of what was done.
    fn put(&self, desk: Box<dyn Desk>, left: Left) -> MutexGuard<'_, Letters> {
        let crowded = desk.is_crowded();
        let mut letters = self.lock();
        if letters.closed {
            // The driver was dropped meanwhile: so is the desk.
            drop(letters);
            drop(desk);
            return self.lock();
        }
        letters.desk = Some(desk);
        letters.crowded = crowded;
        if letters.left.is_empty() {
            letters.left = left;
        }
        letters
    }

    /// What the driver finds as it looks. From here on `waker` is woken.
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
        if !known.is_some_and(|known| known.will_wake(waker)) {
            letters.driver = Some(waker.clone());
        }
        let Some(desk) = letters.desk.take() else {
            letters.missed = true;
            return Found::Busy;
        };
        letters.rung = false;
        letters.yielded = false;
        Found::Desk(desk, std::mem::take(&mut letters.left))
    }

    /// A turn of the driver, as often as it is polled. `None`: the link had ended before.
    pub(crate) fn turn(&self, cx: &mut Context<'_>) -> Poll<Option<Broken>> {
        let (mut desk, mut left) = match self.look(cx.waker()) {
            Found::Desk(desk, left) => (desk, left),
            Found::Busy => return Poll::Pending,
            Found::Crowd => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Found::Closed => return Poll::Ready(None),
        };
        let moving = Moving::begin();
        let turned = desk.turn(&mut left, cx);
        drop(moving);
        let more = match turned {
            Turned::Done => false,
            Turned::More => true,
            Turned::Ended(broken) => return Poll::Ready(Some(broken)),
        };
        self.put(desk, left).yielded = more;
        if more {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// The link begins.
    pub(crate) fn open(&self, desk: Box<dyn Desk>) {
        self.lock().desk = Some(desk);
    }

    /// The driver is not there any more. Gives the desk, if nobody has it.
    pub(crate) fn shut(&self) -> Option<Box<dyn Desk>> {
        let mut letters = self.lock();
        letters.closed = true;
        letters.desk.take()
    }

    /// Nobody looks any more. Gives what was asked.
    pub(crate) fn close(&self) -> Vec<Command> {
        let mut letters = self.lock();
        letters.closed = true;
        letters.driver = None;
        std::mem::take(&mut letters.left).commands
    }
}

impl Door for Shared {
    fn gone(&self, key: u32) {
        self.leave(|letters| letters.keys.push(key));
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
        self.shared.leave(|letters| letters.due.push(self.due));
    }
}
