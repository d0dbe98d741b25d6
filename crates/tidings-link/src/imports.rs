//! Proxies of the peer's actors, and which of them are polled when: each once for what it waits for, so
//! that many that wait cost nothing while nothing has changed.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

use tidings::remote::{Imported, prefetch};

use crate::credit::Level;
use crate::shared::Due;

/// So many references to one actor are counted before they are given up, but for one.
const COUNTED: u32 = 1 << 30;

/// A proxy of an actor of the peer's.
pub(crate) struct Proxy {
    /// Not there while it is polled.
    pub(crate) imported: Option<Imported>,
    pub(crate) turn: u64,
    /// How often the reference has come.
    pub(crate) received: u32,
    /// How many messages it had been given when the link was told to drain: no others are sent.
    pub(crate) until: u64,
    /// Some of these may be to go out yet.
    pub(crate) owes: bool,
    /// Not there while it is polled, either.
    pub(crate) waker: Option<Waker>,
}

/// The proxies of one actor for one type of reference. There is one, and more while the last messages of
/// it are sent and nobody refers to it any more. The first is polled, so that messages keep their order.
struct Line {
    kind: TypeId,
    first: Proxy,
    behind: VecDeque<Proxy>,
}

impl Line {
    fn last(&mut self) -> &mut Proxy {
        self.behind.back_mut().unwrap_or(&mut self.first)
    }

    fn proxies_mut(&mut self) -> impl Iterator<Item = &mut Proxy> {
        std::iter::once(&mut self.first).chain(&mut self.behind)
    }

    fn into_proxies(self) -> impl Iterator<Item = Proxy> {
        std::iter::once(self.first).chain(self.behind)
    }
}

/// An actor of the peer's: its proxies. A program has few types of reference to one actor, and mostly one, which lies
/// here: of a thousand actors each in turn that is two looks into memory less for a message.
#[derive(Default)]
pub(crate) struct In {
    /// `None`: there is none.
    line: Option<Line>,
    others: Vec<Line>,
    /// It waits for credit.
    pub(crate) blocked: bool,
}

impl In {
    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.line.iter().chain(&self.others)
    }

    fn lines_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        self.line.iter_mut().chain(&mut self.others)
    }

    /// Another reference of this type, which has come, if there is a proxy that lives; and how many are to
    /// be given up, as no more can be counted.
    pub(crate) fn again(&mut self, kind: TypeId) -> Option<(Box<dyn Any>, u32)> {
        let last = self.lines_mut().find(|line| line.kind == kind)?.last();
        let again = last.imported.as_ref()?.again()?;
        last.received += 1;
        // One is left, for when it ends.
        let too_many = match last.received {
            COUNTED.. => std::mem::replace(&mut last.received, 1) - 1,
            _ => 0,
        };
        Some((again, too_many))
    }

    /// Puts a proxy behind those of its type. `true`: it is the first.
    pub(crate) fn put(&mut self, kind: TypeId, proxy: Proxy) -> bool {
        if let Some(line) = self.lines_mut().find(|line| line.kind == kind) {
            line.behind.push_back(proxy);
            return false;
        }
        let line = Line {
            kind,
            first: proxy,
            behind: VecDeque::new(),
        };
        match &self.line {
            None => self.line = Some(line),
            Some(_) => self.others.push(line),
        }
        true
    }

    /// The proxy of this turn, if it is the first of its type.
    #[inline]
    pub(crate) fn first(&mut self, turn: u64) -> Option<&mut Proxy> {
        let mut firsts = self.lines_mut().map(|line| &mut line.first);
        firsts.find(|proxy| proxy.turn == turn)
    }

    /// The proxy of this turn, which was the first of its type, and the turn of the next.
    pub(crate) fn end(&mut self, turn: u64) -> Option<(Proxy, Option<u64>)> {
        let line = self.lines_mut().find(|line| line.first.turn == turn)?;
        if let Some(next) = line.behind.pop_front() {
            let next_turn = next.turn;
            return Some((std::mem::replace(&mut line.first, next), Some(next_turn)));
        }
        let ended = |line: &mut Line| line.first.turn == turn;
        let line = match self.line.take_if(ended) {
            Some(line) => {
                self.line = self.others.pop();
                line
            }
            None => self.others.extract_if(.., ended).next()?,
        };
        Some((line.first, None))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_none()
    }

    /// There is credit: the proxies that wait for it go on.
    pub(crate) fn unblock(&mut self, target: u32, due: &mut VecDeque<Due>) {
        if std::mem::take(&mut self.blocked) {
            due.extend(self.firsts().map(|proxy| Due::Proxy(target, proxy.turn)));
        }
    }

    pub(crate) fn firsts(&self) -> impl Iterator<Item = &Proxy> {
        self.lines().map(|line| &line.first)
    }

    pub(crate) fn proxies_mut(&mut self) -> impl Iterator<Item = &mut Proxy> {
        self.lines_mut().flat_map(Line::proxies_mut)
    }

    pub(crate) fn into_proxies(self) -> impl Iterator<Item = Proxy> {
        let lines = self.line.into_iter().chain(self.others);
        lines.flat_map(Line::into_proxies)
    }

    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        if let Some(line) = &self.line {
            prefetch(&line.first);
        }
    }
}

/// Proxies that wait for the link as a whole, each for as much of its window as it needs.
#[derive(Default)]
pub(crate) struct Blocked([Ring; 2]);

impl Blocked {
    pub(crate) fn put(&mut self, target: u32, turn: u64, needs: Level) {
        self.remove(turn);
        self.0[needs as usize].targets.insert(turn, target);
    }

    /// It waits no more.
    pub(crate) fn remove(&mut self, turn: u64) {
        for ring in &mut self.0 {
            ring.targets.remove(&turn);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|ring| ring.targets.is_empty())
    }

    /// Does one of them go on when there is so much?
    pub(crate) fn goes_on(&self, level: Level) -> bool {
        let mut rings = self.0[..=level as usize].iter();
        rings.any(|ring| !ring.targets.is_empty())
    }

    /// The one that goes on next when there is so much.
    pub(crate) fn pop(&mut self, level: Level) -> Option<Due> {
        self.0[..=level as usize].iter_mut().find_map(Ring::pop)
    }
}

/// Proxies that wait for the same, by their turns. They go on one after the other.
#[derive(Default)]
struct Ring {
    targets: BTreeMap<u64, u32>,
    /// Those before it have gone on.
    next: u64,
}

impl Ring {
    fn pop(&mut self) -> Option<Due> {
        let next = self.targets.range(self.next..).next();
        let (&turn, &target) = next.or_else(|| self.targets.first_key_value())?;
        self.targets.remove(&turn);
        self.next = turn + 1;
        Some(Due::Proxy(target, turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(turn: u64) -> Proxy {
        Proxy {
            imported: None,
            turn,
            received: 1,
            until: 0,
            owes: false,
            waker: None,
        }
    }

    fn turns(known: &In) -> Vec<u64> {
        let mut turns: Vec<u64> = known.firsts().map(|proxy| proxy.turn).collect();
        turns.sort_unstable();
        turns
    }

    #[test]
    fn proxies_of_one_type_follow_each_other_and_those_of_others_stay() {
        let (one, two, three) = (TypeId::of::<u8>(), TypeId::of::<u16>(), TypeId::of::<u32>());
        let mut known = In::default();
        assert!(known.put(one, proxy(1)) && known.put(two, proxy(2)));
        assert!(!known.put(one, proxy(3)) && !known.put(two, proxy(4)));
        assert!(known.put(three, proxy(5)));
        assert_eq!(turns(&known), [1, 2, 5]);
        // Those behind have not their turn.
        assert!(known.first(3).is_none() && known.end(4).is_none());
        let mut end = |turn| known.end(turn).map(|(ended, next)| (ended.turn, next));
        assert_eq!(end(1), Some((1, Some(3))));
        assert_eq!(end(3), Some((3, None)));
        assert_eq!(end(3).map(|(turn, _)| turn), None);
        assert_eq!(turns(&known), [2, 5]);
        assert_eq!(known.proxies_mut().count(), 3);
        let mut end = |turn| known.end(turn).map(|(ended, next)| (ended.turn, next));
        assert_eq!(end(2), Some((2, Some(4))));
        assert_eq!(end(5), Some((5, None)));
        assert!(!known.is_empty());
        assert_eq!(known.end(4).map(|(_, next)| next), Some(None));
        assert!(known.is_empty() && known.into_proxies().next().is_none());
    }
}
