//! Futures that one task runs beside each other, each polled only when it was woken: the reentrant
//! handlers of an actor, and what they started.
//!
//! The task polls them one after the other, so what they do between two awaits is serial. A future
//! is taken out of its place while it is polled, and everything else happens under one lock: a wake
//! is either seen by the task before it waits, or finds its waker; and a member that is removed is
//! not polled again.
//!
//! A member may be woken by anybody, but the task's own waker stays here. While the task waits beside members that is on
//! record as a wait for what comes from outside (`event/waits.rs`), so that no deadlock is reported; what the task waits
//! for without them, and in a method that has it to itself, is known.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use crate::event::waits::{self, Waits};
use crate::primitive::Arc;
use crate::primitive::explored::{Mutex, lock};
use crate::task::clone_waker;
use crate::task::here;

pub(crate) type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) struct Crowd {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    members: BTreeMap<u64, Member>,
    woken: VecDeque<u64>,
    /// The task's, while it waits.
    waker: Option<Waker>,
    /// It waits beside members, and that is on record.
    on_record: bool,
    /// The key of the next member.
    next: u64,
    /// How many members are handlers.
    handlers: usize,
    /// It takes no more members.
    closed: bool,
    /// The task is to look once more before it waits.
    roused: bool,
}

struct Member {
    /// Not here while it is polled.
    future: Option<Boxed>,
    waker: Waker,
    /// It is among the woken.
    woken: bool,
    handler: bool,
}

/// Wakes one member.
struct Alarm {
    crowd: Arc<Crowd>,
    key: u64,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = {
            let mut state = lock(&self.crowd.state);
            let State { members, woken, .. } = &mut *state;
            match members.get_mut(&self.key) {
                Some(member) if !member.woken => {
                    member.woken = true;
                    woken.push_back(self.key);
                    state.waker.take()
                }
                _ => None,
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Crowd {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::default()),
        })
    }

    /// Adds a future, which is polled at the task's next turn; gives its key. A handler is polled first: it begins,
    /// whatever another does, so that no message is taken and not handled.
    pub(crate) fn add(self: &Arc<Self>, future: Boxed, handler: bool) -> u64 {
        // There may be a reply in it.
        here::note(here::GAVE);
        let mut future = Some(future);
        let (key, waker) = {
            let mut state = lock(&self.state);
            state.next += 1;
            let key = state.next;
            if state.closed {
                (key, None)
            } else {
                let alarm = Alarm {
                    crowd: Arc::clone(self),
                    key,
                };
                let member = Member {
                    future: future.take(),
                    waker: Waker::from(Arc::new(alarm)),
                    woken: true,
                    handler,
                };
                state.members.insert(key, member);
                match handler {
                    true => state.woken.push_front(key),
                    false => state.woken.push_back(key),
                }
                state.handlers += usize::from(handler);
                (key, state.waker.take())
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        key
    }

    /// What the task looks at has changed: it is polled once more.
    pub(crate) fn rouse(&self) {
        let waker = {
            let mut state = lock(&self.state);
            state.roused = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Removes a member; says if it was there. Nothing of it runs afterwards, but for what the
    /// member does that calls this for itself, until its next await.
    pub(crate) fn remove(&self, key: u64) -> bool {
        let member = lock(&self.state).remove(key);
        // Its drop is user code, without the lock.
        member.is_some()
    }

    /// How many handlers have not ended.
    pub(crate) fn handlers(&self) -> usize {
        lock(&self.state).handlers
    }

    /// Polls those that have been woken, each once.
    pub(crate) fn poll(&self) {
        let (woken, on_record) = {
            let mut state = lock(&self.state);
            state.roused = false;
            (state.woken.len(), std::mem::take(&mut state.on_record))
        };
        if on_record {
            self.off_record();
        }
        for _ in 0..woken {
            let Some((key, mut future, waker)) = lock(&self.state).take_woken() else {
                continue;
            };
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            let over = {
                let mut state = lock(&self.state);
                match (polled, state.members.get_mut(&key)) {
                    (Poll::Pending, Some(member)) => {
                        member.future = Some(future);
                        continue;
                    }
                    _ => (state.remove(key), future),
                }
            };
            drop(over);
        }
    }

    /// The task waits: it is woken with this waker, at once if that is due.
    pub(crate) fn park(&self, waker: &Waker) {
        if waits::watched() {
            self.go_on_record(waker);
        }
        // Cloned and dropped without the lock: a waker may be foreign.
        let mut waker = Some(clone_waker(waker));
        let due = {
            let mut state = lock(&self.state);
            if state.woken.is_empty() && !state.roused {
                std::mem::swap(&mut state.waker, &mut waker);
                None
            } else {
                waker.take()
            }
        };
        if let Some(waker) = due {
            waker.wake();
        }
    }

    /// The task waits beside its members, if it has some.
    #[cold]
    fn go_on_record(&self, waker: &Waker) {
        let mut state = lock(&self.state);
        if state.members.is_empty() {
            return;
        }
        state.on_record = true;
        drop(state);
        let mut of = Waits::default();
        of.of(format_args!("what runs beside its handlers"));
        (of.outside, of.wakers) = (true, 1);
        waits::begin(std::ptr::from_ref(self).addr(), waker, None, of);
    }

    #[cold]
    fn off_record(&self) {
        waits::end(std::ptr::from_ref(self).addr());
    }

    /// Waits until all handlers have ended; polls all members meanwhile.
    pub(crate) async fn quiet(&self) {
        poll_fn(|cx| {
            self.poll();
            if self.handlers() == 0 {
                return Poll::Ready(());
            }
            self.park(cx.waker());
            Poll::Pending
        })
        .await;
    }

    /// Drops all members, and takes no more.
    pub(crate) fn close(&self) {
        let (members, waker, on_record) = {
            let mut state = lock(&self.state);
            state.closed = true;
            state.woken.clear();
            state.handlers = 0;
            let members = std::mem::take(&mut state.members);
            let on_record = std::mem::take(&mut state.on_record);
            (members, state.waker.take(), on_record)
        };
        if on_record {
            self.off_record();
        }
        drop((members, waker));
    }
}

impl State {
    fn remove(&mut self, key: u64) -> Option<Member> {
        let member = self.members.remove(&key)?;
        self.handlers -= usize::from(member.handler);
        Some(member)
    }

    /// The member that was woken first, unless it has been removed.
    fn take_woken(&mut self) -> Option<(u64, Boxed, Waker)> {
        let key = self.woken.pop_front()?;
        let member = self.members.get_mut(&key)?;
        member.woken = false;
        Some((key, member.future.take()?, member.waker.clone()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc;
    use std::task::Poll;

    use super::Crowd;

    #[test]
    fn a_member_that_is_woken_several_times_is_polled_once() {
        let (crowd, (polled, polls)) = (Crowd::new(), mpsc::channel());
        let mut wakes = 3;
        let member = poll_fn(move |cx| {
            polled.send(()).unwrap();
            (0..std::mem::take(&mut wakes)).for_each(|_| cx.waker().wake_by_ref());
            Poll::Pending
        });
        crowd.add(Box::pin(member), false);
        for times in [1, 1, 0] {
            crowd.poll();
            assert_eq!(polls.try_iter().count(), times);
        }
        // Its members' wakers know the crowd.
        crowd.close();
    }
}
