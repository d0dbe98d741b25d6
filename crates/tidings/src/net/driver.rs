//! A runtime's poller: the system tells it which descriptors have become ready, and it tells who
//! waits for them.
//!
//! There is no thread for it. A worker with nothing to do waits in the poller, one at a time; the
//! others wait at their parkers. A busy one looks in now and then (sched/sockets.rs). Whom an
//! event concerns is woken by the worker that saw it, on that worker.

use std::io;
#[cfg(unix)]
use std::os::fd::RawFd;
use std::sync::TryLockError;
use std::task::Waker;
use std::time::Duration;

use mio::event::{Event, Source};
#[cfg(unix)]
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};

use super::readiness::{Direction, Readiness};
use crate::primitive::prefetch::{lines, prefetch};
use crate::primitive::{Arc, Mutex, MutexGuard, lock};
use crate::task::wake_quietly;

/// The poller's own: somebody wakes the worker that waits in it, and its alarm.
const WAKE: Token = Token(0);
#[cfg(target_os = "linux")]
const ALARM: Token = Token(1);
/// Places have the numbers from here on.
const FIRST: usize = 2;
/// A token has the place in its lower half, and in the upper how many have had the place before: an
/// event that was fetched before its descriptor was closed is not its successor's.
const HALF: u32 = usize::BITS / 2;
/// Events taken at once.
const BATCH: usize = 256;
/// So much of a task that is woken is asked for: its header, and what its poll begins with.
const TASK: usize = 192;

/// See the module.
#[derive(Debug)]
pub(crate) struct Driver {
    registry: Registry,
    waker: mio::Waker,
    turn: Mutex<Turn>,
    sources: Mutex<Sources>,
}

/// What the one who polls has for himself.
#[derive(Debug)]
pub(crate) struct Turn {
    poll: Poll,
    events: Events,
    #[cfg(target_os = "linux")]
    alarm: crate::primitive::Alarm,
}

/// The descriptors, each at a place of its own.
#[derive(Debug, Default)]
struct Sources {
    places: Vec<Place>,
    free: Vec<usize>,
    closed: bool,
}

#[derive(Debug)]
struct Place {
    token: Token,
    source: Option<Arc<Readiness>>,
}

impl Sources {
    fn insert(&mut self, source: Arc<Readiness>) -> Token {
        if let Some(index) = self.free.pop() {
            let place = &mut self.places[index];
            place.source = Some(source);
            return place.token;
        }
        let token = Token(FIRST + self.places.len());
        self.places.push(Place {
            token,
            source: Some(source),
        });
        token
    }

    fn get(&self, token: Token) -> Option<&Arc<Readiness>> {
        let place = self.places.get(index(token)?)?;
        place.source.as_ref().filter(|_| place.token == token)
    }

    fn remove(&mut self, token: Token) -> Option<Arc<Readiness>> {
        let index = index(token)?;
        let place = &mut self.places[index];
        place.token = Token(token.0.wrapping_add(1 << HALF));
        self.free.push(index);
        place.source.take()
    }
}

/// The place of a descriptor, which the poller's own have not.
fn index(token: Token) -> Option<usize> {
    (token.0 & ((1 << HALF) - 1)).checked_sub(FIRST)
}

impl Driver {
    pub(crate) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = mio::Waker::new(&registry, WAKE)?;
        #[cfg(target_os = "linux")]
        let alarm = {
            use std::os::fd::AsRawFd;
            let alarm = crate::primitive::Alarm::new()?;
            registry.register(&mut SourceFd(&alarm.as_raw_fd()), ALARM, Interest::READABLE)?;
            alarm
        };
        let turn = Turn {
            poll,
            events: Events::with_capacity(BATCH),
            #[cfg(target_os = "linux")]
            alarm,
        };
        Ok(Self {
            registry,
            waker,
            turn: Mutex::new(turn),
            sources: Mutex::default(),
        })
    }

    /// Wakes the worker that waits in the poller, or the next one that does.
    pub(crate) fn wake(&self) {
        // It fails only if the poller is not there any more.
        let _ = self.waker.wake();
    }

    /// The poller, if nobody is there.
    pub(crate) fn try_enter(&self) -> Option<MutexGuard<'_, Turn>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Waits in the poller for events, for at most `timeout`, and leaves it; who is to be woken
    /// for them is added to `wakers`.
    #[inline]
    pub(crate) fn poll(
        &self,
        mut turn: MutexGuard<'_, Turn>,
        timeout: Option<Duration>,
        wakers: &mut Vec<Waker>,
    ) {
        turn.wait(timeout);
        if turn.events.is_empty() {
            return;
        }
        let sources = lock(&self.sources);
        // Of a batch all are asked for before the first is looked at.
        for event in &turn.events {
            if let Some(readiness) = sources.get(event.token()) {
                prefetch(&**readiness);
            }
        }
        for event in &turn.events {
            if let Some(readiness) = sources.get(event.token()) {
                note(event, readiness, wakers);
            }
        }
        // And so are the tasks.
        for waker in wakers.iter() {
            lines(waker.data().cast(), TASK);
        }
    }

    /// Tells `readiness` from here on what becomes of `watched`; gives its token.
    pub(super) fn register(
        &self,
        watched: &mut impl Source,
        readiness: &Arc<Readiness>,
    ) -> io::Result<Token> {
        let mut sources = lock(&self.sources);
        if sources.closed {
            return Err(io::Error::other("the runtime has ended"));
        }
        let token = sources.insert(Arc::clone(readiness));
        drop(sources);
        let both = Interest::READABLE | Interest::WRITABLE;
        // That a byte is urgent: a read ends before it, though more has come.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let both = both | Interest::PRIORITY;
        let registered = self.registry.register(watched, token, both);
        if let Err(error) = registered {
            self.forget(token);
            return Err(error);
        }
        Ok(token)
    }

    /// What has this token concerns nobody any more.
    pub(super) fn forget(&self, token: Token) {
        let gone = lock(&self.sources).remove(token);
        drop(gone);
    }

    /// The system tells nothing more of the descriptor, which is still open.
    #[cfg(unix)]
    pub(super) fn deregister(&self, descriptor: RawFd) {
        // It fails if the descriptor was closed: then it is deregistered.
        let _ = self.registry.deregister(&mut SourceFd(&descriptor));
    }

    /// The runtime has ended: nobody polls from here on.
    pub(crate) fn close(&self) {
        let mut wakers = Vec::new();
        let mut sources = lock(&self.sources);
        sources.closed = true;
        for readiness in sources
            .places
            .iter()
            .filter_map(|place| place.source.as_ref())
        {
            readiness.abandon(&mut wakers);
        }
        drop(sources);
        wake_quietly(wakers);
    }
}

#[inline]
fn note(event: &Event, readiness: &Readiness, wakers: &mut Vec<Waker>) {
    let failed = event.is_error();
    let (closed, deaf) = (event.is_read_closed(), event.is_write_closed());
    // As if the peer were done: from here on a short read does not say that there is no more.
    let over = closed || event.is_priority();
    if event.is_readable() || over || failed {
        readiness.set(Direction::Read, over, wakers);
    }
    if event.is_writable() || deaf || failed {
        readiness.set(Direction::Write, deaf, wakers);
    }
}

impl Turn {
    fn wait(&mut self, timeout: Option<Duration>) {
        let timeout = self.exact(timeout);
        if let Err(error) = self.poll.poll(&mut self.events, timeout) {
            self.events.clear();
            let _interrupted = error;
        }
    }

    /// The poller counts in milliseconds: the alarm rings at the end of what is shorter.
    #[cfg(target_os = "linux")]
    fn exact(&self, timeout: Option<Duration>) -> Option<Duration> {
        let timeout = timeout?;
        if timeout.is_zero() {
            return Some(timeout);
        }
        let whole = Duration::from_millis(timeout.as_millis().try_into().unwrap_or(u64::MAX));
        if whole.is_zero() {
            self.alarm.set(timeout);
            return None;
        }
        Some(whole)
    }

    #[cfg(not(target_os = "linux"))]
    fn exact(&self, timeout: Option<Duration>) -> Option<Duration> {
        timeout
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Readiness, Sources};
    use crate::primitive::Arc;

    #[test]
    fn a_place_is_used_again_and_what_is_told_of_the_one_before_is_not_its_successors() {
        let mut sources = Sources::default();
        let [first, other, second] = [(); 3].map(|()| Arc::new(Readiness::new()));
        let (old, beside) = (
            sources.insert(Arc::clone(&first)),
            sources.insert(Arc::clone(&other)),
        );
        assert!(Arc::ptr_eq(&sources.remove(old).unwrap(), &first));
        let new = sources.insert(Arc::clone(&second));
        assert_eq!(sources.places.len(), 2);
        assert!(sources.get(old).is_none());
        assert!(Arc::ptr_eq(sources.get(new).unwrap(), &second));
        assert!(Arc::ptr_eq(sources.get(beside).unwrap(), &other));
    }
}
