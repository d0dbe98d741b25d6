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
    proxies: VecDeque<Proxy>,
}

/// An actor of the peer's: its proxies. A program has few types of reference to one actor.
#[derive(Default)]
pub(crate) struct In {
    lines: Vec<Line>,
    /// It waits for credit.
    pub(crate) blocked: bool,
}

impl In {
    /// Another reference of this type, which has come, if there is a proxy that lives; and how many are to
    /// be given up, as no more can be counted.
    pub(crate) fn again(&mut self, kind: TypeId) -> Option<(Box<dyn Any>, u32)> {
        let line = self.lines.iter_mut().find(|line| line.kind == kind)?;
        let last = line.proxies.back_mut()?;
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
        if let Some(line) = self.lines.iter_mut().find(|line| line.kind == kind) {
            line.proxies.push_back(proxy);
            return false;
        }
        let proxies = VecDeque::from([proxy]);
        self.lines.push(Line { kind, proxies });
        true
    }

    fn place(&self, turn: u64) -> Option<usize> {
        let first = |line: &Line| line.proxies.front().is_some_and(|proxy| proxy.turn == turn);
        self.lines.iter().position(first)
    }

    /// The proxy of this turn, if it is the first of its type.
    pub(crate) fn first(&mut self, turn: u64) -> Option<&mut Proxy> {
        let place = self.place(turn)?;
        self.lines[place].proxies.front_mut()
    }

    /// The proxy of this turn, which was the first of its type, and the turn of the next.
    pub(crate) fn end(&mut self, turn: u64) -> Option<(Proxy, Option<u64>)> {
        let place = self.place(turn)?;
        let proxies = &mut self.lines[place].proxies;
        let ended = proxies.pop_front()?;
        let next = proxies.front().map(|proxy| proxy.turn);
        if next.is_none() {
            self.lines.remove(place);
        }
        Some((ended, next))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// There is credit: the proxies that wait for it go on.
    pub(crate) fn unblock(&mut self, target: u32, due: &mut VecDeque<Due>) {
        if std::mem::take(&mut self.blocked) {
            due.extend(self.firsts().map(|proxy| Due::Proxy(target, proxy.turn)));
        }
    }

    pub(crate) fn firsts(&self) -> impl Iterator<Item = &Proxy> {
        self.lines.iter().filter_map(|line| line.proxies.front())
    }

    pub(crate) fn proxies_mut(&mut self) -> impl Iterator<Item = &mut Proxy> {
        self.lines.iter_mut().flat_map(|line| &mut line.proxies)
    }

    pub(crate) fn into_proxies(self) -> impl Iterator<Item = Proxy> {
        self.lines.into_iter().flat_map(|line| line.proxies)
    }

    /// As [`Hub::prefetch`](crate::hub::Hub::prefetch).
    pub(crate) fn prefetch(&self) {
        if let Some(proxy) = self.lines.first().and_then(|line| line.proxies.front()) {
            prefetch(proxy);
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
