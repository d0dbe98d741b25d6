//! What is known of a socket: in each direction, whether it may be used without waiting, and who
//! waits. Set by the driver or by a simulated network, asked by the sockets.
//!
//! The poller tells of edges, and only once. So a direction counts as ready until a call has said
//! otherwise, and each edge has a number: a call that found nothing, or less than it asked for,
//! makes the direction wait only if no edge has come since the call began.

use std::io::{self, ErrorKind};
use std::task::{Poll, Wake, Waker, ready};

use crate::primitive::{Arc, SpinLock};
use crate::task::wake_all;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards us: reads, and accepts.
    Read,
    /// Away from us: writes, and connects.
    Write,
}

/// Who waits, by number. `poll_read` and its like cannot say when nobody waits in them any more,
/// so they are one place, in which the last one counts. An event's place is its address.
pub(super) const POLLED: usize = 0;

/// The number of the last edge before a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge(u32);

/// See the module.
#[derive(Debug)]
pub(crate) struct Readiness {
    sides: [SpinLock<Side>; 2],
}

#[derive(Debug)]
struct Side {
    /// No call has found that it would wait, since the last edge.
    ready: bool,
    /// The peer is done, or the socket broken: there may be no further edge.
    closed: bool,
    /// Nobody polls any more.
    orphan: bool,
    edge: u32,
    waiting: Vec<(usize, Waker)>,
}

impl Readiness {
    pub(super) fn new() -> Self {
        let side = || {
            SpinLock::new(Side {
                ready: true,
                closed: false,
                orphan: false,
                edge: 0,
                waiting: Vec::new(),
            })
        };
        Self {
            sides: [side(), side()],
        }
    }

    fn side(&self, direction: Direction) -> &SpinLock<Side> {
        &self.sides[direction as usize]
    }

    /// An edge has come. The caller wakes `wakers`.
    pub(super) fn set(&self, direction: Direction, closed: bool, wakers: &mut Vec<Waker>) {
        let mut side = self.side(direction).lock();
        side.edge = side.edge.wrapping_add(1);
        side.ready = true;
        side.closed |= closed;
        while let Some((_, waker)) = side.waiting.pop() {
            wakers.push(waker);
        }
    }

    /// As `set`, and wakes them.
    pub(super) fn set_and_wake(&self, direction: Direction) {
        let mut wakers = Vec::new();
        self.set(direction, false, &mut wakers);
        wake_all(wakers);
    }

    /// The runtime has ended. The caller wakes `wakers`.
    pub(super) fn abandon(&self, wakers: &mut Vec<Waker>) {
        for side in &self.sides {
            let mut side = side.lock();
            side.orphan = true;
            wakers.extend(side.waiting.drain(..).map(|(_, waker)| waker));
        }
    }

    /// May a call in this direction be tried?
    pub(super) fn look(&self, direction: Direction) -> Option<Edge> {
        self.side(direction).lock().is_open()
    }

    /// As `look`; if not, `waker` is woken when that has changed, in the place of the one that
    /// waited at this `place` before.
    pub(super) fn poll(&self, direction: Direction, place: usize, waker: &Waker) -> Poll<Edge> {
        let side = self.side(direction).lock();
        if let Some(edge) = side.is_open() {
            return Poll::Ready(edge);
        }
        let mut waiting = side.waiting.iter();
        if waiting.any(|(at, old)| *at == place && old.will_wake(waker)) {
            return Poll::Pending;
        }
        drop(side);
        // Also for one of ours, this tells those who look for deadlocks that somebody else may
        // wake the task. A foreign waker is cloned and dropped outside of the lock.
        let waker = waker.clone();
        let mut side = self.side(direction).lock();
        if let Some(edge) = side.is_open() {
            return Poll::Ready(edge);
        }
        let old = side.at(place);
        side.waiting.push((place, waker));
        drop(side);
        drop(old);
        Poll::Pending
    }

    /// Nobody waits at this place any more.
    pub(super) fn forget(&self, direction: Direction, place: usize) {
        let mut side = self.side(direction).lock();
        let old = side.at(place);
        drop(side);
        drop(old);
    }

    /// Tries `call`, unless it is known that it would wait.
    pub(super) fn try_call<R>(
        &self,
        direction: Direction,
        mut call: impl FnMut() -> io::Result<R>,
    ) -> io::Result<(R, Edge)> {
        while let Some(edge) = self.look(direction) {
            match call() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.blocked(direction, edge)?;
                    return Err(error);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done.map(|done| (done, edge)),
            }
        }
        Err(ErrorKind::WouldBlock.into())
    }

    /// Tries `call` until it does not wait, and waits at `place` meanwhile.
    pub(super) fn poll_call<R>(
        &self,
        direction: Direction,
        place: usize,
        waker: &Waker,
        mut call: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<(R, Edge)>> {
        loop {
            let edge = ready!(self.poll(direction, place, waker));
            match call() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if let Err(error) = self.blocked(direction, edge) {
                        return Poll::Ready(Err(error));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return Poll::Ready(done.map(|done| (done, edge))),
            }
        }
    }

    /// A call that began after `edge` would have waited: there will be another edge.
    ///
    /// # Errors
    /// If nobody polls any more: the wait would have no end.
    fn blocked(&self, direction: Direction, edge: Edge) -> io::Result<()> {
        let mut side = self.side(direction).lock();
        if side.edge == edge.0 {
            side.ready = false;
        }
        match side.orphan {
            true => Err(io::Error::other("the runtime of this socket has ended")),
            false => Ok(()),
        }
    }

    /// A call that began after `edge` got less than it asked for: another would wait. Only if the
    /// peer is done it would not, and no edge may tell.
    pub(super) fn drained(&self, direction: Direction, edge: Edge) {
        let mut side = self.side(direction).lock();
        if side.edge == edge.0 && !side.closed {
            side.ready = false;
        }
    }
}

impl Side {
    fn is_open(&self) -> Option<Edge> {
        (self.ready || self.orphan).then_some(Edge(self.edge))
    }

    /// Takes out who waits at this place.
    fn at(&mut self, place: usize) -> Option<(usize, Waker)> {
        let known = self.waiting.iter().position(|(known, _)| *known == place)?;
        Some(self.waiting.swap_remove(known))
    }
}

/// The waker that a simulated socket is polled with: whoever waits in one direction.
pub(super) struct Waiting(pub(super) Arc<Readiness>, pub(super) Direction);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.set_and_wake(self.1);
    }
}
