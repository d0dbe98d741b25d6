//! What one party of a program has at hand: chance, a diary, values, and ways to wait.

use std::time::Duration;

use tidings::Event;

use crate::dice::Dice;
use crate::history::{Act, Asked, Diary, Got};
use crate::letter::{Ledger, Letter};
use crate::waits::{Powers, Way, wait};

/// A party, to be run by an engine.
pub(crate) type Party = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a party panics with that was told to.
pub(crate) struct Dies;

/// What a party acts with.
pub(crate) struct Hand {
    pub(crate) dice: Dice,
    pub(crate) diary: Diary,
    /// How many acts it does.
    pub(crate) acts: u64,
    pub(crate) powers: Powers,
    ledger: Ledger,
    letters: u64,
}

impl Hand {
    pub(crate) fn new(dice: Dice, diary: Diary, acts: u64, powers: Powers, ledger: Ledger) -> Self {
        Self {
            dice,
            diary,
            acts,
            powers,
            ledger,
            letters: 0,
        }
    }

    /// A new value, with a number that no other has.
    pub(crate) fn letter(&mut self) -> Letter {
        self.letters += 1;
        self.ledger
            .letter(u64::from(self.diary.party) * 1_000 + self.letters)
    }

    /// A new value that is about to be given to one.
    pub(crate) fn offer(&mut self, source: u32) -> Offer {
        self.offer_in(source, 0)
    }

    /// The same, as a branch of a choice.
    pub(crate) fn offer_in(&mut self, source: u32, choice: u64) -> Offer {
        self.asked(source, Act::Put, choice)
    }

    /// A new value that is about to be given to all.
    pub(crate) fn share(&mut self, source: u32) -> Offer {
        self.asked(source, Act::Share, 0)
    }

    fn asked(&mut self, source: u32, act: fn(u64) -> Act, choice: u64) -> Offer {
        let letter = self.letter();
        let asked = self.diary.ask_in(source, act(letter.n), choice);
        Offer {
            letter: Some(letter),
            given: false,
            asked: Some(asked),
        }
    }

    /// Performs an event in some way; `None` if it was given up.
    pub(crate) async fn perform<E>(&mut self, event: E) -> Option<E::Output>
    where
        E: Event + Send,
        E::Output: Send,
    {
        let way = self.way(true);
        wait(way, event).await
    }

    /// Performs an event in some way; not `may_last`: waits only a little.
    pub(crate) async fn perform_or_try<E>(&mut self, may_last: bool, event: E) -> Option<E::Output>
    where
        E: Event + Send,
        E::Output: Send,
    {
        if may_last {
            self.perform(event).await
        } else {
            wait(Way::GiveUp(self.dice.below(3)), event).await
        }
    }

    /// Performs an event in some way, to its end.
    pub(crate) async fn certainly<E>(&mut self, event: E) -> E::Output
    where
        E: Event + Send,
        E::Output: Send,
    {
        let way = self.way(false);
        wait(way, event)
            .await
            .expect("a wait that was not given up")
    }

    fn way(&mut self, may_give_up: bool) -> Way {
        if self.powers.strange == 0 {
            return Way::Plain;
        }
        let Powers {
            timers,
            blocks,
            threads,
            ..
        } = self.powers;
        let way = match self.dice.below(10) {
            0..3 if may_give_up => Way::GiveUp(self.dice.below(3)),
            3 if may_give_up && timers => {
                Way::Timeout(Duration::from_micros(self.dice.below(4) * 30))
            }
            4 => Way::Wakers {
                slow: threads && self.dice.below(4) == 0,
            },
            5 => Way::Moved {
                thread: threads && self.dice.below(8) == 0,
            },
            6 if blocks => Way::Block,
            _ => return Way::Plain,
        };
        self.powers.strange -= 1;
        way
    }

    /// Panics, now and then.
    pub(crate) fn may_die(&mut self) {
        if self.powers.dies && self.dice.below(60) == 0 {
            // Not by `panic!`, whose message nobody wants to see.
            std::panic::resume_unwind(Box::new(Dies));
        }
    }
}

/// A value that is given away, or comes back: what came of it is written down when this is dropped.
pub(crate) struct Offer {
    pub(crate) letter: Option<Letter>,
    /// It went with a wait that has not told yet.
    given: bool,
    asked: Option<Asked>,
}

impl Offer {
    /// The value, to go with its wait. What came of it is not known until [`back`](Self::back).
    pub(crate) fn give(&mut self) -> Letter {
        self.given = true;
        self.letter.take().expect("a value is given once")
    }

    /// It went with a request that will not be executed.
    #[cfg_attr(
        loom,
        allow(dead_code, reason = "for actors, of which loom has no program")
    )]
    pub(crate) fn refused(mut self) {
        if let Some(asked) = self.asked.take() {
            asked.got(Got::Refused);
        }
    }

    /// The wait has told: what it gives back, if anything.
    pub(crate) fn back(&mut self, letter: Option<Letter>) {
        self.given = false;
        self.letter = letter;
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let got = match self.letter {
            Some(_) => Got::Back,
            None if self.given => Got::Dropped,
            None => Got::Done,
        };
        if let Some(asked) = self.asked.take() {
            asked.got(got);
        }
    }
}

/// Permits or a lock, until dropped.
pub(crate) struct Hold<'a> {
    pub(crate) diary: &'a Diary,
    pub(crate) source: u32,
    pub(crate) permits: u64,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.diary
            .ask(self.source, Act::Release(self.permits))
            .got(Got::Done);
    }
}
