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
    /// The peer is done, or the socket broken, and there may be no further edge; or a byte was urgent, and a read ends
    /// before it: that one gave less than it was asked for says nothing.
    closed: bool,
    /// Nobody polls any more.
    orphan: bool,
    edge: u32,
    /// Who waits at [`POLLED`].
    polled: Option<Waker>,
    /// Who waits at other places.
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
                polled: None,
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
    #[inline]
    pub(super) fn set(&self, direction: Direction, closed: bool, wakers: &mut Vec<Waker>) {
        let mut side = self.side(direction).lock();
        side.edge = side.edge.wrapping_add(1);
        side.ready = true;
        side.closed |= closed;
        side.all(wakers);
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
            side.all(wakers);
        }
    }

    /// May a call in this direction be tried?
    #[inline]
    pub(super) fn look(&self, direction: Direction) -> Option<Edge> {
        self.side(direction).lock().is_open()
    }

    /// As `look`; if not, `waker` is woken when that has changed, in the place of the one that
    /// waited at this `place` before.
    #[inline]
    pub(super) fn poll(&self, direction: Direction, place: usize, waker: &Waker) -> Poll<Edge> {
        let edge = self.look(direction);
        match edge.or_else(|| self.wait(direction, place, waker)) {
            Some(edge) => Poll::Ready(edge),
            None => Poll::Pending,
        }
    }

    /// As `poll`, of who has looked.
    #[inline(never)]
    fn wait(&self, direction: Direction, place: usize, waker: &Waker) -> Option<Edge> {
        // Also for one of ours, this tells those who look for deadlocks that somebody else may
        // wake the task. A foreign waker is cloned and dropped outside of the lock.
        let waker = waker.clone();
        let mut side = self.side(direction).lock();
        if let Some(edge) = side.is_open() {
            return Some(edge);
        }
        if side.known(place).is_some_and(|old| old.will_wake(&waker)) {
            return None;
        }
        let old = side.at(place);
        match place {
            POLLED => side.polled = Some(waker),
            _ => side.waiting.push((place, waker)),
        }
        drop(side);
        drop(old);
        None
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
    #[inline]
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
    /// peer is done, or a byte was urgent, it would not, and no edge may tell.
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

    /// Who waits at this place.
    fn known(&self, place: usize) -> Option<&Waker> {
        if place == POLLED {
            return self.polled.as_ref();
        }
        let mut waiting = self.waiting.iter();
        waiting
            .find(|(known, _)| *known == place)
            .map(|(_, waker)| waker)
    }

    /// Takes out who waits at this place.
    fn at(&mut self, place: usize) -> Option<Waker> {
        if place == POLLED {
            return self.polled.take();
        }
        let known = self.waiting.iter().position(|(known, _)| *known == place)?;
        Some(self.waiting.swap_remove(known).1)
    }

    /// Takes out all.
    fn all(&mut self, wakers: &mut Vec<Waker>) {
        if let Some(waker) = self.polled.take() {
            wakers.push(waker);
        }
        if !self.waiting.is_empty() {
            wakers.extend(self.waiting.drain(..).map(|(_, waker)| waker));
        }
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::io::{self, ErrorKind};
    use std::task::{Poll, Wake, Waker};

    use super::{Direction, POLLED, Readiness, Waiting};
    use crate::primitive::Arc;
    use crate::primitive::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn waker() -> (Arc<Wakes>, Waker) {
        let wakes = Arc::new(Wakes::default());
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    /// A call has found that it would wait.
    fn waiting() -> Readiness {
        let readiness = Readiness::new();
        let nothing = readiness.try_call(Direction::Read, || {
            Err::<(), _>(ErrorKind::WouldBlock.into())
        });
        assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(readiness.look(Direction::Read).is_none());
        readiness
    }

    fn waits(readiness: &Readiness, place: usize, waker: &Waker) -> bool {
        readiness.poll(Direction::Read, place, waker).is_pending()
    }

    #[test]
    fn an_edge_wakes_once_who_waits_in_its_direction() {
        let readiness = Arc::new(waiting());
        let (wakes, waker) = waker();
        let edge = Waker::from(Arc::new(Waiting(Arc::clone(&readiness), Direction::Read)));
        assert!(waits(&readiness, 1, &waker));
        readiness.set_and_wake(Direction::Write);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        edge.wake_by_ref();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        let edge_seen = readiness.look(Direction::Read).unwrap();
        readiness.drained(Direction::Read, edge_seen);
        assert!(waits(&readiness, 1, &waker));
        edge.wake();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 2);
        assert!(!waits(&readiness, 1, &waker));
    }

    #[test]
    fn a_place_has_its_last_waker_and_who_leaves_his_place_leaves_the_others() {
        let count = |of: &Wakes| of.0.load(Ordering::Relaxed);
        let ((first, old), (second, new)) = (waker(), waker());
        let readiness = waiting();
        // Each is asked again, too.
        assert!([&old, &old, &new, &new].map(|of| waits(&readiness, 1, of)) == [true; 4]);
        readiness.set_and_wake(Direction::Read);
        assert_eq!((count(&first), count(&second)), (0, 1));
        let readiness = waiting();
        assert!(waits(&readiness, 1, &old) && waits(&readiness, 2, &new));
        readiness.forget(Direction::Read, 1);
        readiness.set_and_wake(Direction::Read);
        assert_eq!((count(&first), count(&second)), (0, 2));
        // The same waker waits at two places: it is still there when one of them is left.
        let readiness = waiting();
        assert!(waits(&readiness, 1, &old) && waits(&readiness, 2, &old));
        readiness.forget(Direction::Read, 1);
        readiness.set_and_wake(Direction::Read);
        assert_eq!((count(&first), count(&second)), (1, 2));
    }

    #[test]
    fn a_call_that_was_interrupted_is_made_again_and_another_error_is_told() {
        let readiness = Readiness::new();
        let noop = Waker::noop();
        let answers = |error: ErrorKind| {
            let mut answers = vec![Ok(5), Err(io::Error::from(error))];
            move || answers.pop().unwrap()
        };
        let tried = |error| readiness.try_call(Direction::Read, answers(error));
        let polled = |error| readiness.poll_call(Direction::Read, 0, noop, answers(error));
        assert_eq!(tried(ErrorKind::Interrupted).unwrap().0, 5);
        let Poll::Ready(Ok((5, _))) = polled(ErrorKind::Interrupted) else {
            panic!("it was not made again");
        };
        let denied = tried(ErrorKind::PermissionDenied).unwrap_err();
        assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
        assert!(matches!(
            polled(ErrorKind::PermissionDenied),
            Poll::Ready(Err(_))
        ));
        assert!(readiness.look(Direction::Read).is_some());
    }

    #[test]
    fn who_got_less_than_he_asked_for_waits_unless_an_edge_has_come_or_the_peer_is_done() {
        let readiness = Readiness::new();
        let look = || readiness.look(Direction::Read);
        let edge = look().unwrap();
        readiness.set_and_wake(Direction::Read);
        readiness.drained(Direction::Read, edge);
        let edge = look().unwrap();
        readiness.drained(Direction::Read, edge);
        assert!(look().is_none());
        readiness.set(Direction::Read, true, &mut Vec::new());
        let edge = look().unwrap();
        readiness.drained(Direction::Read, edge);
        assert!(look().is_some());
    }

    #[test]
    fn when_nobody_polls_any_more_who_would_wait_is_told() {
        let readiness = waiting();
        let (_, waker) = waker();
        assert!(waits(&readiness, 1, &waker));
        let mut wakers = Vec::new();
        readiness.abandon(&mut wakers);
        assert_eq!(wakers.len(), 1);
        let call = || Err::<(), _>(ErrorKind::WouldBlock.into());
        let ended = readiness.try_call(Direction::Read, call).unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::Other);
    }

    #[test]
    fn of_those_who_poll_the_last_is_woken_beside_those_who_wait_at_a_place() {
        let count = |of: &Wakes| of.0.load(Ordering::Relaxed);
        let ((first, old), (second, new)) = (waker(), waker());
        let readiness = waiting();
        assert!(waits(&readiness, POLLED, &old) && waits(&readiness, POLLED, &new));
        readiness.set_and_wake(Direction::Read);
        assert_eq!((count(&first), count(&second)), (0, 1));
        // One waker, in both ways.
        let readiness = waiting();
        assert!(waits(&readiness, POLLED, &old) && waits(&readiness, 1, &old));
        readiness.forget(Direction::Read, POLLED);
        readiness.set_and_wake(Direction::Read);
        assert_eq!((count(&first), count(&second)), (1, 1));
    }

    #[test]
    fn a_call_that_would_wait_is_made_again_after_an_edge() {
        let readiness = Readiness::new();
        let (wakes, waker) = waker();
        let mut calls = 0;
        let mut poll = || {
            readiness.poll_call(Direction::Read, POLLED, &waker, || {
                calls += 1;
                match calls {
                    1 => Err(ErrorKind::WouldBlock.into()),
                    _ => Ok(calls),
                }
            })
        };
        assert!(poll().is_pending());
        readiness.set_and_wake(Direction::Read);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert!(matches!(poll(), Poll::Ready(Ok((2, _)))));
    }
}
