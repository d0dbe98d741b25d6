//! The workers poll the sockets of their runtime: here the scheduler meets `net`.
//!
//! A worker with nothing to do waits in the poller, if nobody does, and at its parker otherwise.
//! So in a runtime that sleeps one worker waits in the poller, or was about to when it found
//! another there, who is awake then. A worker at work looks in now and then, and so does one that
//! searches, unless somebody lingers; a poller that stands empty because its worker is in a long
//! poll is taken by the next worker that keeps watch (sched/watch.rs). Who waits where the next
//! message has come soon of late looks on for a while before it sleeps (sched/linger.rs).
//!
//! A runtime has no poller until it has its first socket, and its workers go to their parkers.

use std::fmt;
use std::io;
use std::time::Duration;

use super::Shared;
use super::brisk::STUCK;
use super::linger;
use super::search::Found;
use super::worker::Worker;
use crate::net::{Driver, Network};
use crate::primitive::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::primitive::{Arc, OnceLock, thread};
use crate::task::wake_quietly;
use crate::time::{self, Instant};

/// What a runtime has for its sockets.
pub(super) struct Sockets {
    /// `None` inside: the runtime has ended, and had none.
    driver: OnceLock<Option<Arc<Driver>>>,
    /// How often somebody has looked at them.
    looked: AtomicU32,
    /// A worker lingers: who searches or sleeps leaves them to it.
    attended: AtomicBool,
    /// For so long at most.
    pub(super) idle_poll: Duration,
    pub(super) network: Option<Arc<dyn Network>>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self {
            driver: OnceLock::new(),
            looked: AtomicU32::new(0),
            attended: AtomicBool::new(false),
            idle_poll: linger::IDLE_POLL,
            network: None,
        }
    }
}

impl Sockets {
    /// How often somebody has looked at them: whoever keeps watch sees whether those who work do.
    pub(super) fn looked(&self) -> u32 {
        // RELAXED: a hint.
        self.looked.load(Ordering::Relaxed)
    }

    /// Does a worker look at them again and again, while it has nothing to do?
    pub(super) fn are_attended(&self) -> bool {
        // RELAXED: a hint.
        self.attended.load(Ordering::Relaxed)
    }

    fn driver(&self) -> Option<&Arc<Driver>> {
        self.driver.get()?.as_ref()
    }
}

impl Shared {
    /// The poller of this runtime; there is one from here on.
    pub(crate) fn driver(&self) -> io::Result<Arc<Driver>> {
        if let Some(driver) = self.sockets.driver() {
            return Ok(Arc::clone(driver));
        }
        self.may_ask_the_system()?;
        let made = Arc::new(Driver::new()?);
        let Some(driver) = self.sockets.driver.get_or_init(|| Some(made)) else {
            return Err(io::Error::other("the runtime has ended"));
        };
        // All may sleep at their parkers, where no socket wakes them. Whoever falls asleep from
        // here on sees the driver: it gets on the list of sleepers first, as we look at it last.
        if let Some(sleeper) = self.idle.wake_one() {
            self.unpark(sleeper);
        }
        Ok(Arc::clone(driver))
    }

    /// Is the system's network open to it?
    ///
    /// # Errors
    /// Under a seam it is not: what a run sees is a function of its seed.
    pub(crate) fn may_ask_the_system(&self) -> io::Result<()> {
        if self.has_seam {
            let why = "a runtime under a seam has the sockets and names of its network alone";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(())
    }

    /// Where its TCP sockets come from, if not from the system.
    pub(crate) fn network(&self) -> Option<&Arc<dyn Network>> {
        self.sockets.network.as_ref()
    }

    /// A worker that was unparked waits in the poller.
    pub(super) fn wake_poller(&self) {
        if let Some(driver) = self.sockets.driver() {
            driver.wake();
        }
    }

    /// All workers have stopped, and all tasks have ended: nobody polls what is made from here on.
    pub(super) fn close_sockets(&self) {
        if let Some(driver) = self.sockets.driver.get_or_init(|| None) {
            driver.close();
        }
    }
}

impl Worker {
    /// Wakes whoever's sockets have become ready. `true`: somebody was woken.
    pub(super) fn look_at_sockets(&self) -> bool {
        self.look().unwrap_or(false)
    }

    /// `None`: somebody else does, or there are none.
    fn look(&self) -> Option<bool> {
        let driver = self.shared.sockets.driver()?;
        self.note_pace(time::system());
        self.poll(driver, Some(Duration::ZERO))
    }

    /// Looks at the sockets for a while, if what came last came soon and nobody else does. A searcher: what others push
    /// meanwhile is left to it, so it looks there, too; and at what stands behind a long poll, as nobody else may keep
    /// watch.
    pub(super) fn linger(&self) -> Found {
        let sockets = &self.shared.sockets;
        // Who is to send it needs the one core that there is.
        if sockets.idle_poll.is_zero() || self.shared.cores == 1 {
            return Found::Nothing;
        }
        let mut linger = self.linger.get();
        let begins = linger.begins();
        self.linger.set(linger);
        // RELAXED: of a swap, so one alone begins, and what it does orders nothing.
        if !begins || sockets.attended.swap(true, Ordering::Relaxed) {
            return Found::Nothing;
        }
        let found = self.look_on(sockets.idle_poll);
        sockets.attended.store(false, Ordering::Relaxed);
        found
    }

    /// Until something is there, a timer is due, or that time is over.
    fn look_on(&self, time: Duration) -> Found {
        let next = self.refresh_timers();
        if !self.local(|local| local.is_empty()) {
            return Found::Own;
        }
        let mut linger = self.linger.get();
        let mut last = time::system();
        let until = last.saturating_add(time);
        let mut watch = last.saturating_add(STUCK);
        let found = loop {
            match self.look() {
                None => break Found::Nothing,
                Some(true) => {
                    linger.heard();
                    break Found::Own;
                }
                Some(false) => {}
            }
            if let Some(task) = self.steal() {
                break Found::Task(task);
            }
            let due = next.is_some_and(|next| next <= Instant::now());
            if due || self.shared.is_closing() || !self.remote().sent.is_empty() {
                break Found::Nothing;
            }
            let now = time::system();
            if now >= watch {
                watch = now.saturating_add(STUCK);
                if self.rescue().work {
                    break Found::Own;
                }
            }
            if linger.gives_up(last, now, until) {
                break Found::Nothing;
            }
            last = now;
            // Who is to send what we wait for may need the core.
            thread::yield_now();
        };
        self.linger.set(linger);
        found
    }

    /// Waits to be unparked, or for sockets, for at most `timeout`. `true`: it has woken somebody.
    pub(super) fn rest(&self, timeout: Option<Duration>) -> bool {
        if let Some(driver) = self.shared.sockets.driver() {
            let began = time::system();
            if let Some(woken) = self.poll(driver, timeout) {
                let mut linger = self.linger.get();
                linger.slept(time::system().saturating_since(began), woken);
                self.linger.set(linger);
                return woken;
            }
        }
        self.park(timeout);
        false
    }

    /// `None`: somebody else is in the poller.
    fn poll(&self, driver: &Driver, timeout: Option<Duration>) -> Option<bool> {
        let turn = driver.try_enter()?;
        // RELAXED: a hint, written by who is in the poller.
        let looked = &self.shared.sockets.looked;
        looked.store(
            looked.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
        let mut due = self.due.take();
        let wakers = &mut due.0;
        // From here on an unpark wakes the poller, and it is we who are in it.
        if timeout == Some(Duration::ZERO) {
            driver.poll(turn, timeout, wakers);
        } else if self.parker.leave() {
            driver.poll(turn, timeout, wakers);
            self.parker.come_back();
        }
        let woken = !wakers.is_empty();
        if woken {
            self.hear();
        }
        wake_quietly(wakers.drain(..));
        self.due.replace(due);
        Some(woken)
    }
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets")
            .field("driver", &self.driver)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::IntoFuture;
    use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
    use std::pin::pin;
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    use super::super::linger::Linger;
    use super::super::worker::tests::on_both;
    use super::{Arc, Duration, Found, Network, Ordering, io};
    use crate::Runtime;
    use crate::net::{Accept, Connecting, TcpListener};
    use crate::primitive::thread;

    const HERE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

    #[test]
    fn who_waits_for_a_socket_of_a_runtime_that_has_ended_hears_of_it() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let listener = runtime.block_on(async { TcpListener::bind(HERE).unwrap() });
        let mut accept = pin!(listener.accept().into_future());
        let mut context = Context::from_waker(Waker::noop());
        assert!(accept.as_mut().poll(&mut context).is_pending());
        drop(runtime);
        let accepted = accept.poll(&mut context);
        let ended = |error: &io::Error| error.kind() == io::ErrorKind::Other;
        assert!(matches!(accepted, Poll::Ready(Err(error)) if ended(&error)));
    }

    #[test]
    fn the_first_socket_that_blocking_work_makes_after_the_runtimes_end_is_an_error() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let ((go, wait), (begins, begun)) = (mpsc::channel(), mpsc::channel());
        let work = runtime.spawn_blocking(move || {
            begins.send(()).unwrap();
            wait.recv().unwrap();
            TcpListener::bind(HERE).map(drop)
        });
        begun.recv().unwrap();
        let shared = Arc::clone(&runtime.shared);
        runtime.shutdown_timeout(Duration::ZERO);
        while shared.working.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        go.send(()).unwrap();
        let bound = crate::sched::block_on(work).unwrap();
        assert_eq!(bound.unwrap_err().kind(), io::ErrorKind::Other);
    }

    /// Who has something to do outside of the runtime, while one of its workers does nothing but look at the sockets.
    #[test]
    fn while_a_worker_lingers_tasks_timers_and_sockets_have_their_turn_and_the_runtime_ends() {
        let hour = Duration::from_secs(3600);
        let runtime = Runtime::builder().workers(2).idle_poll(hour).build();
        let runtime = runtime.unwrap();
        if runtime.shared.cores == 1 {
            return; // there nobody lingers
        }
        let listener = runtime.block_on(async { TcpListener::bind(HERE).unwrap() });
        // One that is sated, or slept for long before, does not linger: then they are asked again.
        let lingers = || 'asked: loop {
            on_both(&runtime, |worker, both| {
                let mut linger = Linger::default();
                linger.slept(Duration::ZERO, true);
                worker.linger.set(linger);
                worker.hear();
                both.wait();
                None::<()>
            });
            for _ in 0..1000 {
                if runtime.shared.sockets.are_attended() {
                    break 'asked;
                }
                thread::yield_now();
            }
        };
        lingers();
        let answer = runtime.spawn(async { 6 * 7 });
        assert_eq!(runtime.block_on(answer).unwrap(), 42);
        lingers();
        let timer = runtime.spawn(async { crate::time::sleep(Duration::from_millis(1)).await });
        runtime.block_on(timer).unwrap();
        lingers();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap());
        let accepted = runtime.spawn(async move { listener.accept().await.map(drop) });
        runtime.block_on(accepted).unwrap().unwrap();
        drop(client);
        lingers();
        drop(runtime);
    }

    #[test]
    fn who_lingers_hears_at_once_that_the_runtime_ends() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let _listener = runtime.block_on(async { TcpListener::bind(HERE).unwrap() });
        let found = on_both(&runtime, |worker, both| {
            if worker.index() == 0 {
                // In this poll until the other has looked on.
                both.wait();
                return None;
            }
            worker.linger.set(Linger::default());
            let closing = &worker.shared().closing;
            closing.store(true, Ordering::SeqCst);
            let found = worker.look_on(Duration::from_secs(3600));
            closing.store(false, Ordering::SeqCst);
            both.wait();
            Some((matches!(found, Found::Nothing), worker.linger.get().misses))
        });
        // It has not given up because its core was away.
        assert_eq!(found, Some((true, 0)));
    }

    #[test]
    fn who_lingers_takes_what_waits_behind_a_long_poll() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let _listener = runtime.block_on(async { TcpListener::bind(HERE).unwrap() });
        let found = on_both(&runtime, |worker, both| {
            if worker.index() == 0 {
                drop(crate::spawn(async {}));
                both.wait();
                // In this poll until the other has looked on.
                both.wait();
                return None;
            }
            both.wait();
            let long = Duration::from_secs(10);
            let until = crate::time::system().saturating_add(long);
            let found = loop {
                match worker.look_on(long) {
                    Found::Task(task) => {
                        task.cancel();
                        break true;
                    }
                    Found::Own => break true,
                    // Its core was away for long.
                    Found::Nothing if crate::time::system() < until => {}
                    Found::Nothing => break false,
                }
            };
            both.wait();
            Some(found)
        });
        assert_eq!(found, Some(true));
    }

    #[test]
    fn who_searches_keeps_away_from_sockets_that_are_attended() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let found = on_both(&runtime, |worker, both| {
            if worker.index() == 0 {
                both.wait();
                return None;
            }
            let listener = TcpListener::bind(HERE).unwrap();
            let mut accept = pin!(listener.accept().into_future());
            let mut context = Context::from_waker(Waker::noop());
            assert!(accept.as_mut().poll(&mut context).is_pending());
            // What was heard before this ends the search, too.
            let mut found = [(); 3].map(|()| false);
            let sockets = &worker.shared().sockets;
            worker.search();
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap());
            for (found, attended) in found.iter_mut().zip([true, false, false]) {
                sockets.attended.store(attended, Ordering::Relaxed);
                *found = matches!(worker.search(), Found::Own);
            }
            drop(client);
            both.wait();
            Some(found)
        });
        assert_eq!(found, Some([false, true, false]));
    }

    struct Nothing;

    impl Network for Nothing {
        fn connect(&self, _: SocketAddr) -> Connecting {
            Box::pin(async { Err(io::ErrorKind::NotConnected.into()) })
        }
        fn bind(&self, _: SocketAddr) -> io::Result<Box<dyn Accept>> {
            Err(io::ErrorKind::AddrInUse.into())
        }
    }

    #[test]
    fn a_runtime_with_a_network_has_its_sockets() {
        let network = Arc::new(Nothing);
        let runtime = Runtime::builder().workers(1).network(network);
        let runtime = runtime.build().unwrap();
        let bound = runtime.block_on(async { TcpListener::bind(HERE) });
        assert_eq!(bound.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
