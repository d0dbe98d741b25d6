//! The list of members that groups and pools are made of.
//!
//! Who sends takes a snapshot, so no lock is held while they do. It is made when somebody asks for the first time since
//! a change: one who comes or goes costs a search, however many there are.

use std::collections::BTreeMap;

use super::actor_ref::Reference;
use super::any::AtEnd;
use crate::channel::watch::{self, watch};
use crate::primitive::{Arc, Mutex, lock};

/// Members with their turns, in the order in which they came.
pub(super) type Listed<T> = Vec<(u64, T)>;

/// The list of members: `T` is what it keeps of each.
///
/// One that ends leaves by itself, before those who wait for its end hear of it. Of a list that is dropped its members
/// keep nothing.
pub(super) struct Members<T> {
    state: Mutex<State<T>>,
    /// How often the list has changed: told after the change.
    changes: watch::Sender<u64>,
}

struct State<T> {
    /// By their turns: how many had come with each. What is made of that is the same in each run of a simulation, as
    /// no id of an actor is.
    members: BTreeMap<u64, T>,
    /// The turn at which each came, by its id.
    turns: BTreeMap<u64, (u64, AtEnd)>,
    next_turn: u64,
    /// Since the last change.
    snapshot: Option<Arc<Listed<T>>>,
}

/// What goes out of the list, to be dropped without the lock: the drop of a reference may end an actor.
type Gone<T> = (Option<(T, AtEnd)>, Option<Arc<Listed<T>>>);

impl<T: Clone + Send + Sync + 'static> Members<T> {
    pub(super) fn new() -> Arc<Self> {
        let state = State {
            members: BTreeMap::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
            snapshot: None,
        };
        let (changes, _) = watch(0);
        Arc::new(Self {
            state: Mutex::new(state),
            changes,
        })
    }

    /// The members of this moment.
    pub(super) fn get(&self) -> Arc<Listed<T>> {
        let mut state = lock(&self.state);
        let State {
            members, snapshot, ..
        } = &mut *state;
        let listed = || members.iter().map(|(&turn, it)| (turn, it.clone()));
        let list = snapshot.get_or_insert_with(|| Arc::new(listed().collect()));
        Arc::clone(list)
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.state).members.len()
    }

    /// Who came last.
    pub(super) fn youngest(&self) -> Option<T> {
        let state = lock(&self.state);
        let (_, member) = state.members.last_key_value()?;
        Some(member.clone())
    }

    /// Hears of changes from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Takes somebody in if there are fewer than `most`, and keeps `member` of it. `false`: not taken in, a member
    /// already, or ended.
    pub(super) fn join<R: Reference>(self: &Arc<Self>, actor: &R, member: T, most: usize) -> bool {
        let recipient = actor.recipient();
        let end = AtEnd::of(&recipient.any());
        let (id, key) = (end.id(), end.key());
        let added = lock(&self.state).add(end, member, most);
        if added.is_err() {
            return false;
        }
        self.changed();
        let members = Arc::downgrade(self);
        let lives = recipient.life().at_end(key, move || {
            if let Some(members) = members.upgrade() {
                members.remove(id);
            }
        });
        if !lives {
            self.remove(id);
        } else if !lock(&self.state).knows(id, key) {
            // It was taken out meanwhile, and had nothing to take back.
            recipient.life().not_at_end(key);
        }
        lives
    }

    /// Takes a member out, whose end is no concern of the list any more.
    pub(super) fn leave<R: Reference>(&self, actor: &R) -> bool {
        self.remove(actor.recipient().id())
    }

    fn remove(&self, id: u64) -> bool {
        let gone = lock(&self.state).remove(id);
        let was_there = gone.0.is_some();
        if was_there {
            self.changed();
        }
        was_there
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

impl<T> State<T> {
    /// An error if it is not taken in.
    fn add(&mut self, end: AtEnd, member: T, most: usize) -> Result<Gone<T>, (T, AtEnd)> {
        let id = end.id();
        if self.members.len() >= most || self.turns.contains_key(&id) {
            return Err((member, end));
        }
        self.next_turn += 1;
        self.turns.insert(id, (self.next_turn, end));
        self.members.insert(self.next_turn, member);
        Ok((None, self.snapshot.take()))
    }

    /// Is it a member, by this key?
    fn knows(&self, id: u64, key: u64) -> bool {
        let turn = self.turns.get(&id);
        turn.is_some_and(|(_, end)| end.key() == key)
    }

    fn remove(&mut self, id: u64) -> Gone<T> {
        let Some((turn, end)) = self.turns.remove(&id) else {
            return (None, None);
        };
        let member = self.members.remove(&turn);
        let gone = member.map(|member| (member, end));
        (gone, self.snapshot.take())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::{Future, IntoFuture};
    use std::pin::pin;
    use std::task::{Context, Wake, Waker};

    use super::super::{ActorRef, Builder};
    use super::Members;
    use crate::primitive::Arc;

    /// Takes the actor out when it hears of a change.
    struct Bouncer(Arc<Members<()>>, ActorRef<u8>);

    impl Wake for Bouncer {
        fn wake(self: Arc<Self>) {
            assert!(self.0.leave(&self.1));
        }
    }

    #[test]
    fn who_is_taken_out_as_it_comes_keeps_nothing_of_the_list() {
        let members = Members::new();
        let (sender, _unlived) = Builder::new().unlived::<u8>();
        let actor = ActorRef::new(sender);
        let bouncer = Arc::new(Bouncer(Arc::clone(&members), actor.clone()));
        let waker = Waker::from(Arc::clone(&bouncer));
        let mut changes = members.changes();
        {
            let changed = pin!(changes.changed().into_future());
            assert!(changed.poll(&mut Context::from_waker(&waker)).is_pending());
            assert!(members.join(&actor, (), usize::MAX));
        }
        assert_eq!(members.len(), 0);
        assert_eq!(Arc::weak_count(&members), 0);
    }
}
