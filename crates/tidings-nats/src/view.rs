//! What a node sees of its cluster, made of what the engine's watch tells: without tasks and I/O.
//!
//! A member is down when that is *written*: by itself when it leaves, by another that has not heard of
//! it for a lease, by a process that takes its place. Each of these is a compare-and-set of its one
//! record; so no two nodes are of two minds about it, and a node that the engine cannot be seen from
//! declares nobody down.
//!
//! To hear of a member is to be told that its record was written, or to be answered by it. The second is
//! asked for when two of its writes have not come: an engine whose keys cannot be written for a while, or
//! not by all, carries messages meanwhile, and a node is not to pay for that with its life.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tidings::time::Instant;

use crate::engine::Entry;
use crate::member::{Change, Down, Ended, Member};
use crate::record::{Owner, Record, Registered};

/// So many lives that are over are known to be.
const DEAD: usize = 1 << 10;

/// What follows from a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Tell(Change),
    /// That name is another's, or nobody's.
    Named(String),
    /// This life is over, and its record is to say so.
    Condemn(Condemned),
    Ended(Ended),
}

/// A record that is to say that its node is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condemned {
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    pub(crate) revision: u64,
}

#[derive(Debug)]
struct Known {
    member: Member,
    revision: u64,
    heard: Instant,
}

/// The cluster, as one node sees it.
#[derive(Debug)]
pub(crate) struct View {
    me: Owner,
    lease: Duration,
    members: BTreeMap<String, Known>,
    /// The last lives that were over.
    dead: VecDeque<(String, u64)>,
    names: BTreeMap<String, Registered>,
    /// Names whose owners are no members, and since when we know.
    orphans: BTreeMap<String, (Owner, Instant)>,
    /// Names that the watch has not told yet, and the revision after which it has told all.
    stale: (BTreeSet<String>, u64),
    /// When the watch was asked for.
    asked: Option<Instant>,
    /// Which write of our own record was the last to come back.
    told: u64,
    /// When that was; `None`: not by this watch.
    seen: Option<Instant>,
}

impl View {
    pub(crate) fn new(me: Owner, lease: Duration) -> Self {
        Self {
            me,
            lease,
            members: BTreeMap::new(),
            dead: VecDeque::new(),
            names: BTreeMap::new(),
            orphans: BTreeMap::new(),
            stale: (BTreeSet::new(), 0),
            asked: None,
            told: 0,
            seen: None,
        }
    }

    /// Records are written anew this often.
    pub(crate) fn beat(&self) -> Duration {
        self.lease / 3
    }

    /// Another watch is asked for.
    pub(crate) fn ask(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// Is another watch to be asked for? This one tells nothing of us, though it has had its time: who
    /// asks again too soon never hears a server that is slow.
    pub(crate) fn is_stuck(&self, now: Instant) -> bool {
        let recent = |asked| now - asked <= 2 * self.beat();
        self.is_blind(now) && !self.asked.is_some_and(recent)
    }

    /// Everything comes anew: another watch has begun. Names count until it has told all, which takes the
    /// engine long where it has lost a server: that is when our record comes and is another than the one
    /// of this revision, which was the last; or one of the first after the engine has lost its keys.
    pub(crate) fn begin(&mut self, written: u64) {
        self.stale = (self.names.keys().cloned().collect(), written);
        self.seen = None;
    }

    pub(crate) fn member(&self, node: &str) -> Option<&Member> {
        self.members.get(node).map(|known| &known.member)
    }

    /// The members, ourselves among them, by their names.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values().map(|known| &known.member)
    }

    pub(crate) fn registered(&self, name: &str) -> Option<&Registered> {
        self.names.get(name)
    }

    /// The names that begin so and are members', in their order.
    pub(crate) fn living_names<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let from = self.names.range(prefix.to_owned()..);
        let from = from.take_while(move |(name, _)| name.starts_with(prefix));
        let living = from.filter(|(_, registered)| self.living(&registered.owner).is_some());
        living.map(|(name, _)| name.as_str())
    }

    /// The names that are written down as this life's.
    pub(crate) fn names_of<'a>(&'a self, owner: &'a Owner) -> impl Iterator<Item = &'a str> {
        let its = self.names.iter();
        let its = its.filter(move |(_, registered)| registered.owner == *owner);
        its.map(|(name, _)| name.as_str())
    }

    /// The owner of a name, if it is a member.
    pub(crate) fn living(&self, owner: &Owner) -> Option<&Member> {
        let member = self.member(&owner.node)?;
        (member.incarnation == owner.incarnation).then_some(member)
    }

    pub(crate) fn is_dead(&self, owner: &Owner) -> bool {
        self.dead.contains(&(owner.node.clone(), owner.incarnation))
    }

    /// Does our own record come back? If not, the engine cannot be reached, or has forgotten us.
    pub(crate) fn is_blind(&self, now: Instant) -> bool {
        self.seen.is_none_or(|seen| now - seen > 2 * self.beat())
    }

    /// Takes in what the watch tells, where `written` is the revision of our own record as we wrote it
    /// last.
    pub(crate) fn apply(&mut self, entry: &Entry, written: u64, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(node) = entry.key.strip_prefix("node.") {
            // What expires says nothing: who has heard nothing for a lease knows by then.
            let record = entry
                .value
                .as_ref()
                .map(|value| serde_json::from_slice(value));
            if let Some(Ok(record)) = record {
                let revisions = (entry.revision, written);
                self.node(node, &record, revisions, now, &mut effects);
            }
        } else if let Some(name) = entry.key.strip_prefix("name.") {
            let registered = entry
                .value
                .as_ref()
                .map(|value| serde_json::from_slice(value));
            self.stale.0.remove(name);
            let before = match registered {
                Some(Ok(registered)) => self.names.insert(name.to_owned(), registered),
                _ => self.names.remove(name),
            };
            if before.as_ref() != self.names.get(name) {
                effects.push(Effect::Named(name.to_owned()));
            }
        }
        effects
    }

    fn node(
        &mut self,
        node: &str,
        record: &Record,
        (revision, written): (u64, u64),
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        if node == self.me.node {
            match (record.incarnation == self.me.incarnation, record.down) {
                // A server that lags behind tells of the life before ours.
                (false, None) if revision < written => return,
                (false, None) => return effects.push(Effect::Ended(Ended::Replaced)),
                (true, Some(Down::Left)) => return effects.push(Effect::Ended(Ended::Left)),
                (true, Some(_)) => return effects.push(Effect::Ended(Ended::Expired)),
                // The end of a life before ours.
                (false, Some(_)) => return,
                // A server that lags behind tells what was: we are not to take that for what is. Nor what
                // another watch tells again: perhaps nothing can be written any more.
                (true, None) if revision < written || revision == self.told => {}
                (true, None) => {
                    if revision < self.told {
                        self.forget_revisions();
                    }
                    self.told = revision;
                    self.see(now);
                    if revision != self.stale.1 {
                        for name in std::mem::take(&mut self.stale.0) {
                            self.names.remove(&name);
                            effects.push(Effect::Named(name));
                        }
                    }
                }
            }
        }
        let known = self.members.get(node);
        if known.is_some_and(|known| revision < known.revision) {
            // A server that lags behind tells what was.
            return;
        }
        let life = (node.to_owned(), record.incarnation);
        if let Some(down) = record.down {
            self.bury(&life, down, effects);
            // One that has taken its place, of which only the end was told.
            if let Some(known) = self.members.get(node) {
                let before = known.member.id();
                self.bury(&before, Down::Replaced, effects);
            }
            return;
        }
        if self.dead.contains(&life) {
            let (node, incarnation) = life;
            return effects.push(Effect::Condemn(Condemned {
                node,
                incarnation,
                revision,
            }));
        }
        match self.members.get_mut(node) {
            Some(known) if known.member.incarnation == record.incarnation => {
                known.heard = now;
                known.revision = revision;
                return;
            }
            Some(known) => {
                let before = known.member.id();
                self.bury(&before, Down::Replaced, effects);
            }
            None => {}
        }
        let member = Member {
            node: node.into(),
            incarnation: record.incarnation,
            address: record.address.as_deref().map(Into::into),
            down: Arc::default(),
        };
        effects.push(Effect::Tell(Change::Up(member.clone())));
        let known = Known {
            member,
            revision,
            heard: now,
        };
        self.members.insert(node.to_owned(), known);
    }

    /// The engine has lost its keys, and revisions have begun anew: what it tells from now on is new,
    /// however low it is numbered.
    pub(crate) fn forget_revisions(&mut self) {
        for known in self.members.values_mut() {
            known.revision = 0;
        }
    }

    /// Our own record came back. After a time in which we saw nothing, the others have one lease to be
    /// heard.
    fn see(&mut self, now: Instant) {
        if self.is_blind(now) {
            for known in self.members.values_mut() {
                known.heard = now;
            }
        }
        self.seen = Some(now);
    }

    fn bury(&mut self, life: &(String, u64), down: Down, effects: &mut Vec<Effect>) {
        if !self.dead.contains(life) {
            self.dead.push_back(life.clone());
            if self.dead.len() > DEAD {
                self.dead.pop_front();
            }
        }
        let is_it = |known: &Known| known.member.incarnation == life.1;
        if self.members.get(&life.0).is_some_and(is_it) {
            let known = self.members.remove(&life.0).expect("it was found");
            effects.push(Effect::Tell(Change::Down(known.member, down)));
        }
    }

    /// A life has answered. One that is over is not heard.
    pub(crate) fn answered(&mut self, life: &Owner, now: Instant) {
        let known = self.members.get_mut(&life.node);
        if let Some(known) = known.filter(|known| known.member.incarnation == life.incarnation) {
            known.heard = now;
        }
    }

    /// Who are to be asked whether they live: two of their writes have not come.
    pub(crate) fn suspects(&self, now: Instant) -> Vec<Owner> {
        let suspects = self.unheard(2 * self.beat(), now);
        let life = |known: &Known| Owner {
            node: known.member.node.to_string(),
            incarnation: known.member.incarnation,
        };
        suspects.map(life).collect()
    }

    /// Of whom nothing has been heard for a lease.
    pub(crate) fn silent(&self, now: Instant) -> Vec<Condemned> {
        let silent = self.unheard(self.lease, now);
        let condemned = silent.map(|known| Condemned {
            node: known.member.node.to_string(),
            incarnation: known.member.incarnation,
            revision: known.revision,
        });
        condemned.collect()
    }

    /// The others of whom nothing has been heard for so long. Who is blind himself knows of none.
    fn unheard(&self, time: Duration, now: Instant) -> impl Iterator<Item = &Known> {
        let others = self
            .members
            .values()
            .filter(move |known| now - known.heard > time && *known.member.node != *self.me.node);
        others.filter(move |_| !self.is_blind(now))
    }

    /// Names that have been no member's for a lease (of a watch that has begun anew, names may come
    /// before their owners): they are to be removed, by the first of the members.
    pub(crate) fn orphans(&mut self, now: Instant) -> Vec<(String, Owner)> {
        let first = self.members.keys().next();
        if self.is_blind(now) || first != Some(&self.me.node) {
            self.orphans.clear();
            return Vec::new();
        }
        let before = std::mem::take(&mut self.orphans);
        let orphans = self.names.iter().filter_map(|(name, registered)| {
            let owner = &registered.owner;
            if self.living(owner).is_some() {
                return None;
            }
            let since = before.get(name).filter(|(before, _)| before == owner);
            let since = since.map_or(now, |(_, since)| *since);
            Some((name.clone(), (owner.clone(), since)))
        });
        let orphans: BTreeMap<_, _> = orphans.collect();
        self.orphans = orphans;
        let old = self.orphans.iter();
        let old = old.filter(|(_, (_, since))| now - *since > self.lease);
        old.map(|(name, (owner, _))| (name.clone(), owner.clone()))
            .collect()
    }

    /// We are no member any more.
    pub(crate) fn end(&mut self) -> Vec<Effect> {
        self.names.clear();
        let members = std::mem::take(&mut self.members);
        let down = |known: Known| Effect::Tell(Change::Down(known.member, Down::Unseen));
        members.into_values().map(down).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{json, name_key, node_key};

    fn ourselves() -> (Owner, Record) {
        let me = Owner {
            node: "me".to_owned(),
            incarnation: 1,
        };
        let record = Record {
            incarnation: 1,
            address: None,
            down: None,
        };
        (me, record)
    }

    fn of_node(node: &str, revision: u64, record: &Record) -> Entry {
        Entry {
            key: node_key(node),
            revision,
            value: Some(json(record)),
        }
    }

    #[test]
    fn names_count_while_a_watch_begins_anew_and_those_that_it_does_not_tell_are_gone_after_it() {
        let (me, record) = ourselves();
        let entry = |key: String, revision, value| Entry {
            key,
            revision,
            value: Some(value),
        };
        let ours = json(&Registered {
            owner: me.clone(),
            interface: String::new(),
            number: 1,
            methods: BTreeMap::new(),
        });
        let mut view = View::new(me, Duration::from_secs(3));
        let now = Instant::now();
        view.apply(&entry(name_key("kept"), 1, ours.clone()), 0, now);
        view.apply(&entry(name_key("lost"), 2, ours.clone()), 0, now);
        view.apply(&entry(node_key("me"), 3, json(&record)), 3, now);
        view.begin(3);
        // It tells what is there; our last record is of that.
        view.apply(&entry(name_key("kept"), 1, ours), 0, now);
        view.apply(&entry(node_key("me"), 3, json(&record)), 3, now);
        assert!(view.names.keys().eq(["kept", "lost"]));
        let effects = view.apply(&entry(node_key("me"), 4, json(&record)), 3, now);
        assert_eq!(effects, [Effect::Named("lost".to_owned())]);
        assert!(view.names.keys().eq(["kept"]));
    }

    #[test]
    fn a_life_that_is_over_does_not_come_back_and_who_is_blind_misses_nobody() {
        let (me, record) = ourselves();
        let lease = Duration::from_secs(3);
        let mut view = View::new(me, lease);
        let now = Instant::now();
        view.apply(&of_node("me", 1, &record), 0, now);
        view.apply(&of_node("other", 2, &record), 0, now);
        let later = now + 2 * lease;
        assert!(view.suspects(later).is_empty() && view.silent(later).is_empty());
        view.apply(&of_node("me", 3, &record), 0, now + lease / 2);
        view.apply(&of_node("me", 4, &record), 0, now + lease);
        let soon = now + lease + lease / 5;
        assert_eq!((view.suspects(soon).len(), view.silent(soon).len()), (1, 1));
        let over = Record {
            down: Some(Down::Expired),
            ..record.clone()
        };
        view.apply(&of_node("other", 5, &over), 0, soon);
        // A server that lags behind tells of it.
        let effects = view.apply(&of_node("other", 2, &record), 0, soon);
        assert!(matches!(effects[..], [Effect::Condemn(_)]));
        assert!(view.member("other").is_none());
    }

    #[test]
    fn another_watch_that_tells_the_same_again_does_not_make_us_see() {
        let (me, record) = ourselves();
        let entry = |revision| of_node("me", revision, &record);
        let mut view = View::new(me, Duration::from_secs(3));
        let now = Instant::now();
        view.apply(&entry(5), 5, now);
        assert!(!view.is_blind(now));
        view.begin(5);
        view.apply(&entry(5), 5, now);
        assert!(view.is_blind(now));
        view.apply(&entry(6), 5, now);
        assert!(!view.is_blind(now));
    }

    #[test]
    fn a_server_that_lags_behind_does_not_bring_a_life_before_back() {
        let (me, record) = ourselves();
        let life = |incarnation| Record {
            incarnation,
            ..record.clone()
        };
        let mut view = View::new(me, Duration::from_secs(3));
        let now = Instant::now();
        // Ours is written, and the server does not know it yet.
        assert_eq!(view.apply(&of_node("me", 4, &life(0)), 5, now), []);
        view.apply(&of_node("me", 5, &record), 5, now);
        let effects = view.apply(&of_node("me", 9, &life(2)), 5, now);
        assert_eq!(effects, [Effect::Ended(Ended::Replaced)]);

        view.apply(&of_node("other", 7, &life(2)), 5, now);
        assert_eq!(view.apply(&of_node("other", 6, &life(1)), 5, now), []);
        assert_eq!(view.member("other").unwrap().incarnation, 2);
        view.apply(&of_node("other", 8, &life(3)), 5, now);
        assert_eq!(view.member("other").unwrap().incarnation, 3);
    }

    #[test]
    fn a_life_whose_place_was_taken_by_one_that_left_at_once_is_over() {
        let (me, record) = ourselves();
        let mut view = View::new(me, Duration::from_secs(3));
        let now = Instant::now();
        view.apply(&of_node("me", 1, &record), 1, now);
        view.apply(&of_node("other", 2, &record), 1, now);
        // Of writes that come fast one after the other only the last is told for sure.
        let left = Record {
            incarnation: 2,
            down: Some(Down::Left),
            ..record.clone()
        };
        let effects = view.apply(&of_node("other", 4, &left), 1, now);
        let [Effect::Tell(Change::Down(member, Down::Replaced))] = &effects[..] else {
            panic!("it is over: {effects:?}");
        };
        assert_eq!(member.id(), ("other".to_owned(), 1));
        assert!(view.member("other").is_none());
        // Neither comes back.
        for life in [1, 2] {
            let owner = Owner {
                node: "other".to_owned(),
                incarnation: life,
            };
            assert!(view.is_dead(&owner));
        }
    }

    #[test]
    fn a_server_that_lags_behind_does_not_make_us_see() {
        let (me, record) = ourselves();
        let entry = |revision| of_node("me", revision, &record);
        let mut view = View::new(me, Duration::from_secs(3));
        let now = Instant::now();
        view.ask(now);
        view.apply(&entry(3), 5, now);
        assert!(view.is_blind(now) && !view.is_stuck(now));
        assert!(view.is_stuck(now + Duration::from_secs(3)));
        view.apply(&entry(5), 5, now);
        assert!(!view.is_blind(now));
    }
}
