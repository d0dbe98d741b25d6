//! What other threads tell a link: that an answer is there, that a caller has gone, that an actor has
//! ended, that a proxy has messages, and what the link is asked to do. The driver takes all of it at
//! its next turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use tidings::remote::Door;

use crate::hub::Command;

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

#[derive(Default)]
pub(crate) struct Letters {
    pub(crate) keys: Vec<u32>,
    pub(crate) due: Vec<Due>,
    pub(crate) commands: Vec<Command>,
    /// How many handles there are.
    pub(crate) handles: usize,
    driver: Option<Waker>,
    /// The driver has been woken since it looked.
    rung: bool,
    /// The link has ended: nobody looks any more.
    closed: bool,
}

impl Letters {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.due.is_empty() && self.commands.is_empty()
    }
}

#[derive(Default)]
pub(crate) struct Shared {
    letters: Mutex<Letters>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves something for the driver. It wakes it once for all that is left until it looks.
    pub(crate) fn leave(&self, f: impl FnOnce(&mut Letters)) {
        let waker = {
            let mut letters = self.lock();
            if letters.closed {
                return;
            }
            f(&mut letters);
            match std::mem::replace(&mut letters.rung, true) {
                true => None,
                false => letters.driver.take(),
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes what is there, in exchange for room; from here on `waker` is woken.
    pub(crate) fn take(&self, room: &mut Letters, waker: &Waker) {
        let mut letters = self.lock();
        if std::mem::take(&mut letters.rung) {
            std::mem::swap(&mut letters.keys, &mut room.keys);
            std::mem::swap(&mut letters.due, &mut room.due);
            std::mem::swap(&mut letters.commands, &mut room.commands);
        }
        if !letters
            .driver
            .as_ref()
            .is_some_and(|old| old.will_wake(waker))
        {
            letters.driver = Some(waker.clone());
        }
    }

    /// Has something been left?
    pub(crate) fn is_rung(&self) -> bool {
        self.lock().rung
    }

    /// Nobody looks any more. Gives what was left.
    pub(crate) fn close(&self) -> Vec<Command> {
        let mut letters = self.lock();
        letters.closed = true;
        letters.driver = None;
        letters.keys = Vec::new();
        letters.due = Vec::new();
        std::mem::take(&mut letters.commands)
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
