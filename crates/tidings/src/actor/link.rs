//! Links: two actors that share their fate, as in OTP.
//!
//! Each of the two has the other in its list. Whoever takes an entry out of a list delivers the
//! exit it stands for, so each end is heard once: the end of a life takes its own list, then itself
//! out of each list of the others. A link is made in two steps; between them one of the two may
//! end, which the one who makes it finds out by looking again.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::any::AnyRef;
use super::exit::Exit;
use super::life::Life;
use crate::task::{Woken, first};

/// The end of a linked actor, as one that traps exits gets it
/// ([`Mailbox::trap_exits`](super::Mailbox::trap_exits)).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkExit {
    /// Who has ended.
    pub actor: AnyRef,
    /// Why.
    pub exit: Exit,
}

/// Makes a link.
pub(super) fn link(one: &AnyRef, other: &AnyRef) {
    if one == other {
        return;
    }
    let Ok(turn) = one.life().add_link(other) else {
        return deliver(one, &one.life().last_exit(), other);
    };
    if other.life().add_link(one).is_err() {
        if one.life().remove_link(other) {
            deliver(other, &other.life().last_exit(), one);
        }
        return;
    }
    // It has ended between the two steps, or somebody has unlinked them.
    if !one.life().has_link(other) && other.life().remove_link(one) && !one.life().lives(turn) {
        deliver(one, &one.life().last_exit(), other);
    }
}

/// Undoes a link.
pub(super) fn unlink(one: &AnyRef, other: &AnyRef) {
    one.life().remove_link(other);
    other.life().remove_link(one);
}

/// A life of `ended` is over, in whose list these were.
pub(super) fn tell(ended: &AnyRef, exit: &Exit, links: &BTreeMap<u64, AnyRef>) -> Woken {
    let mut told = Ok(());
    for other in links.values() {
        if other.life().remove_link(ended) {
            // Who traps exits may have a waker that panics, which must not hinder the rest.
            let heard = catch_unwind(AssertUnwindSafe(|| deliver(ended, exit, other)));
            told = first(told, heard);
        }
    }
    told
}

fn deliver(ended: &AnyRef, exit: &Exit, to: &AnyRef) {
    exit.heard();
    if let Some(trap) = to.life().trap() {
        let actor = ended.clone();
        let exit = exit.clone();
        if trap.try_send(LinkExit { actor, exit }).is_ok() {
            return;
        }
    }
    if !exit.is_orderly() {
        to.life().doom(exit.of_linked(ended.life().label()));
    }
}

impl Life {
    /// The turn at which it was added; an error if the actor has ended.
    fn add_link(&self, other: &AnyRef) -> Result<u64, ()> {
        self.chan().locked(|state| {
            if state.rare().exit.is_some() {
                return Err(());
            }
            let ties = state.ties();
            let id = other.life().id;
            ties.links.entry(id).or_insert_with(|| other.clone());
            Ok(ties.turn())
        })
    }

    /// Is the life not over that was lived at this turn?
    fn lives(&self, turn: u64) -> bool {
        self.chan()
            .locked(|state| state.rare().exit.is_none() && state.ties().turn() == turn)
    }

    pub(super) fn has_link(&self, other: &AnyRef) -> bool {
        self.chan().locked(|state| {
            let ties = state.known_ties();
            ties.is_some_and(|ties| ties.links.contains_key(&other.life().id))
        })
    }

    fn remove_link(&self, other: &AnyRef) -> bool {
        let removed = self.chan().locked(|state| {
            let ties = state.known_ties()?;
            ties.links.remove(&other.life().id)
        });
        removed.is_some()
    }

    /// Those of its links that are with these.
    pub(super) fn links_with<T>(&self, others: &BTreeMap<u64, T>) -> BTreeMap<u64, AnyRef> {
        self.chan().locked(|state| {
            let links = state.known_ties().into_iter().flat_map(|ties| &ties.links);
            let with = links.filter(|(id, _)| others.contains_key(id));
            with.map(|(&id, actor)| (id, actor.clone())).collect()
        })
    }

    fn last_exit(&self) -> Exit {
        self.last().unwrap_or(Exit::Normal)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::child::Guardian;
    use super::super::{ActorRef, Builder, Exit};

    #[test]
    fn a_link_is_with_the_life_at_whose_turn_it_was_made() {
        let (sender, _receiver) = Builder::new().unlived::<u8>();
        let (another, _mailbox) = Builder::new().unlived::<u8>();
        let (actor, other) = (ActorRef::new(sender).any(), ActorRef::new(another).any());
        let (notes, _heard) = crate::unbounded();
        let life = actor.life();
        let begin = || {
            let notes = notes.clone();
            life.begin(Guardian { notes, key: 1 });
        };
        life.unborn();
        begin();
        let first = life.add_link(&other).unwrap();
        assert!(life.has_link(&other) && !other.life().has_link(&actor));
        assert!(life.lives(first) && !life.lives(first + 1));
        life.over(&Exit::Killed);
        assert!(!life.lives(first) && !life.has_link(&other));
        begin();
        let second = life.add_link(&other).unwrap();
        assert!(life.lives(second) && !life.lives(first));
        // Of an actor that has one life it is not lived once that is over.
        let only = other.life().add_link(&actor).unwrap();
        other.life().over(&Exit::Killed);
        assert!(!other.life().lives(only));
    }
}
