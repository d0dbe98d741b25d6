//! Actors whose handlers run beside each other: [`Shared`], and what serves such an actor.
//!
//! A handler that takes `this: Shared<Self>` is reentrant: while it waits, others run. It has no
//! reference to the state across an await, so it touches the state in [`Shared::with`] only. All of
//! it runs on the actor's task, one piece after the other; `crowd.rs` polls the pieces.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::Dispatch;
use super::any::AnyRef;
use super::crowd::Crowd;
use super::exit::refuse;
use super::interface::in_span;
use super::mailbox::{Ended, Mailbox};
use crate::primitive::{Arc, Mutex, lock};
use crate::sync::{self, MutexGuard};
use crate::task::{first, go_on, yield_now};
use crate::time::{Instant, MissedTicks, at, interval_at};

/// How many reentrant handlers of an actor run at once if it does not say otherwise.
const LIMIT: usize = 256;

crate::task_local! {
    /// Which actor's handlers run here.
    static CURRENT: usize
}

/// An actor's state, shared by handlers that run beside each other (Orleans' and Akka.Interfaced's
/// reentrant handlers). Clones are the same state.
///
/// A method of an interface that takes `this: Shared<Self>` in the place of `self` is *reentrant*:
/// while it waits, the actor handles other messages, up to [`limit`](Self::limit) at once. Between
/// two awaits nothing else of the actor runs. A method that takes `&mut self` has the state to
/// itself until it returns; reentrant ones go on afterwards.
///
/// What is started here (futures, timers) runs on the actor's task too, and is dropped when the
/// actor ends. Reentrant handlers come to their end before an actor stops; a kill or a panic drops
/// them, and their callers hear why.
///
/// ```
/// use std::{collections::HashMap, time::Duration};
/// use tidings::actor::{self, Shared};
///
/// #[tidings::interface]
/// trait Cache {
///     async fn get(this: Shared<Self>, key: u32) -> String;
/// }
///
/// #[derive(Default)]
/// struct Pages(HashMap<u32, String>);
///
/// impl Cache for Pages {
///     async fn get(this: Shared<Self>, key: u32) -> String {
///         if let Some(page) = this.with(|pages| pages.0.get(&key).cloned()) {
///             return page;
///         }
///         // Others are served meanwhile.
///         tidings::time::sleep(Duration::from_millis(1)).await;
///         let page = format!("page {key}");
///         this.with(|pages| pages.0.insert(key, page.clone()));
///         page
///     }
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let cache: CacheRef = actor::start(Pages::default());
/// assert_eq!(cache.get(7).await.unwrap(), "page 7");
/// # });
/// ```
pub struct Shared<A> {
    inner: Arc<Inner<A>>,
}

struct Inner<A> {
    /// `None` before the state is made, and after the end. Only the actor's task locks it, so it is
    /// never waited for.
    state: sync::Mutex<Option<A>>,
    crowd: Arc<Crowd>,
    timers: Mutex<Timers>,
    any: AnyRef,
}

struct Timers {
    /// Those that will fire.
    named: BTreeMap<Cow<'static, str>, Timer>,
    /// How many there have been.
    number: u64,
    limit: usize,
}

struct Timer {
    /// No other timer of the actor has it.
    number: u64,
    /// The member of the crowd, once it is one.
    member: Option<u64>,
}

impl Timers {
    /// The timer of this name, if it is the one with this number and not another that has replaced it.
    fn named(&mut self, name: &str, number: u64) -> Option<&mut Timer> {
        let timer = self.named.get_mut(name);
        timer.filter(|timer| timer.number == number)
    }
}

impl<A: Send + 'static> Shared<A> {
    fn new<M: Send + 'static>(mailbox: &Mailbox<M>) -> Self {
        let timers = Timers {
            named: BTreeMap::new(),
            number: 0,
            limit: LIMIT,
        };
        Self {
            inner: Arc::new(Inner {
                state: sync::Mutex::new(None),
                crowd: Crowd::new(),
                timers: Mutex::new(timers),
                any: mailbox.this().any(),
            }),
        }
    }

    /// Gives `f` the state. `f` cannot wait, so nobody else sees the state meanwhile.
    ///
    /// # Panics
    /// Outside of the actor's handlers and of what they started with [`spawn`](Self::spawn); inside
    /// of another `with`, or of a method with `&mut self`; and before the state is made ([`start_with`](super::start_with)).
    pub fn with<R>(&self, f: impl FnOnce(&mut A) -> R) -> R {
        let inside = CURRENT.try_with(|&current| current == self.number());
        assert!(
            inside == Ok(true),
            "Shared::with works in its actor's handlers, and in what they have spawned there, only: not before \
             the state is made, and from elsewhere send the actor a message"
        );
        let mut state =
            self.lock("Shared::with while another `with`, or `&mut self`, has the state");
        f(state.as_mut().expect("the state of the actor is made"))
    }

    fn lock(&self, otherwise: &str) -> MutexGuard<'_, Option<A>> {
        self.inner.state.try_lock().expect(otherwise)
    }

    /// What no other actor has at the same time.
    fn number(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }

    /// Runs a future beside the handlers, on the actor's task: Akka's `pipeToSelf`, when it ends
    /// with a [`with`](Self::with).
    ///
    /// It is dropped when the actor ends. Its panic is the actor's. Work that needs a core for long
    /// belongs to a task of its own, whose handle the future awaits.
    ///
    /// ```
    /// use tidings::actor::{self, Shared};
    ///
    /// #[tidings::interface]
    /// trait Sum {
    ///     async fn load(this: Shared<Self>);
    ///     async fn get(&self) -> u64;
    /// }
    /// struct Total(u64);
    /// impl Sum for Total {
    ///     async fn load(this: Shared<Self>) {
    ///         let work = tidings::spawn(async { (1..=10).sum::<u64>() });
    ///         this.spawn({
    ///             let this = this.clone();
    ///             async move {
    ///                 let sum = work.await.unwrap();
    ///                 this.with(|total| total.0 = sum);
    ///             }
    ///         });
    ///     }
    ///     async fn get(&self) -> u64 {
    ///         self.0
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let sum: SumRef = actor::start(Total(0));
    /// sum.load().await.unwrap();
    /// while sum.get().await.unwrap() != 55 {}
    /// # });
    /// ```
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.inner.crowd.add(Box::pin(future), false);
    }

    /// Gives `f` the state after `duration` from now. A timer of the same name that has not fired is
    /// replaced.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::actor::{self, Shared};
    ///
    /// #[tidings::interface]
    /// trait Log {
    ///     async fn line(this: Shared<Self>, line: String);
    ///     async fn written(&self) -> usize;
    /// }
    /// #[derive(Default)]
    /// struct Buffer { lines: Vec<String>, written: usize }
    /// impl Log for Buffer {
    ///     async fn line(this: Shared<Self>, line: String) {
    ///         this.with(|buffer| buffer.lines.push(line));
    ///         // Written when no line has come for a millisecond.
    ///         this.after("write", Duration::from_millis(1), |buffer| {
    ///             buffer.written += buffer.lines.drain(..).count();
    ///         });
    ///     }
    ///     async fn written(&self) -> usize {
    ///         self.written
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let log: LogRef = actor::start(Buffer::default());
    /// log.line("hello".to_owned()).await.unwrap();
    /// while log.written().await.unwrap() == 0 {}
    /// # });
    /// ```
    pub fn after(
        &self,
        name: impl Into<Cow<'static, str>>,
        duration: Duration,
        f: impl FnOnce(&mut A) + Send + 'static,
    ) {
        let due = Instant::now() + duration;
        let this = self.clone();
        self.set(name.into(), async move |name, number| {
            at(due).await;
            // It is no timer any more, and may be set anew.
            let fires = {
                let mut timers = lock(&this.inner.timers);
                let fires = timers.named(&name, number).is_some();
                fires.then(|| timers.named.remove(&name))
            };
            if fires.is_some() {
                this.with(f);
            }
        });
    }

    /// Gives `f` the state every `period`, first after one; ticks that come while the actor is busy
    /// are left out. A timer of the same name is replaced. [`start_with`](super::start_with) has an
    /// example.
    ///
    /// # Panics
    /// If `period` is zero.
    pub fn every(
        &self,
        name: impl Into<Cow<'static, str>>,
        period: Duration,
        mut f: impl FnMut(&mut A) + Send + 'static,
    ) {
        let start = Instant::now() + period;
        let mut ticks = interval_at(start, period).missed_ticks(MissedTicks::Skip);
        let this = self.clone();
        self.set(name.into(), async move |name, number| {
            loop {
                ticks.tick().await;
                if lock(&this.inner.timers).named(&name, number).is_none() {
                    return;
                }
                this.with(&mut f);
                // Who has cancelled or replaced it is heard before the next tick, which may be due.
                yield_now().await;
            }
        });
    }

    /// Starts a timer, which is given its name and its number. It is known by them before it can fire, and the
    /// one that it replaces is not from then on: tasks may set timers while the actor runs.
    fn set<F>(&self, name: Cow<'static, str>, timer: impl FnOnce(Cow<'static, str>, u64) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (number, old) = {
            let mut timers = lock(&self.inner.timers);
            timers.number += 1;
            let number = timers.number;
            let timer = Timer {
                number,
                member: None,
            };
            (number, timers.named.insert(name.clone(), timer))
        };
        if let Some(old) = old.and_then(|old| old.member) {
            self.inner.crowd.remove(old);
        }
        let member = self
            .inner
            .crowd
            .add(Box::pin(timer(name.clone(), number)), false);
        let known = match lock(&self.inner.timers).named(&name, number) {
            Some(timer) => timer.member.replace(member).is_none(),
            None => false,
        };
        if !known {
            // Cancelled or replaced meanwhile, or it has fired.
            self.inner.crowd.remove(member);
        }
    }

    /// Cancels a timer: it does not fire any more, also if its time had come. `false`: there is none
    /// of this name, or it has fired.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidings::actor::{self, Shared};
    ///
    /// #[tidings::interface]
    /// trait Fuse {
    ///     async fn light(this: Shared<Self>) -> ();
    ///     async fn cut(this: Shared<Self>) -> bool;
    /// }
    /// struct Bomb;
    /// impl Fuse for Bomb {
    ///     async fn light(this: Shared<Self>) {
    ///         this.after("fuse", Duration::from_secs(60), |_| panic!("too late"));
    ///     }
    ///     async fn cut(this: Shared<Self>) -> bool {
    ///         this.cancel("fuse")
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let fuse: FuseRef = actor::start(Bomb);
    /// fuse.light().await.unwrap();
    /// assert!(fuse.cut().await.unwrap() && !fuse.cut().await.unwrap());
    /// # });
    /// ```
    pub fn cancel(&self, name: &str) -> bool {
        let timer = lock(&self.inner.timers).named.remove(name);
        let crowd = &self.inner.crowd;
        timer.is_some_and(|timer| timer.member.is_none_or(|member| crowd.remove(member)))
    }

    /// At most `n` reentrant handlers run at once; all messages after them wait in the mailbox. 256 if
    /// nobody says. For [`start_with`](super::start_with): `|this| { this.limit(8); .. }`. Said later, by whomever, it counts
    /// from then on; those that run beyond it end by themselves.
    ///
    /// # Panics
    /// If it is 0.
    pub fn limit(&self, n: usize) {
        assert!(n > 0, "an actor runs at least 1 handler");
        lock(&self.inner.timers).limit = n;
        self.inner.crowd.rouse();
    }

    /// A reference to the actor itself, which does not keep it alive: to link it, to let it fail, to be the
    /// [parent](super::Builder::parent) of others.
    ///
    /// ```
    /// use tidings::actor::{self, AnyRef, Builder, Mailbox, Shared};
    ///
    /// #[tidings::interface]
    /// trait Boss {
    ///     async fn hire(this: Shared<Self>) -> AnyRef;
    /// }
    /// struct Office;
    /// impl Boss for Office {
    ///     async fn hire(this: Shared<Self>) -> AnyRef {
    ///         let worker = |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} };
    ///         Builder::new().parent(&this.any()).spawn(worker).any()
    ///     }
    /// }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let boss: BossRef = actor::start(Office);
    /// let worker = boss.hire().await.unwrap();
    /// assert!(worker.exit().is_none());
    /// // It ends before its parent does.
    /// boss.stop();
    /// boss.down().await;
    /// assert!(worker.exit().is_some());
    /// # });
    /// ```
    #[must_use]
    pub fn any(&self) -> AnyRef {
        self.inner.any.clone()
    }

    /// Asks the actor to end, as [`ActorRef::stop`](super::ActorRef::stop) does: after the messages
    /// that are in its mailbox.
    pub fn stop(&self) {
        self.inner.any.stop();
    }

    /// As [`ActorRef::stop_now`](super::ActorRef::stop_now).
    pub fn stop_now(&self) {
        self.inner.any.stop_now();
    }

    /// How many handlers run. Who chooses among actors knows it from here on.
    fn handlers(&self) -> usize {
        let handlers = self.inner.crowd.handlers();
        self.inner.any.life().handles(handlers);
        handlers
    }

    /// The next message, once there is room for another handler; what was woken runs meanwhile.
    async fn next<M>(&self, mailbox: &mut Mailbox<M>) -> Result<M, Ended> {
        let crowd = &self.inner.crowd;
        let mut next = pin!(mailbox.recv().into_future());
        poll_fn(|cx| {
            crowd.poll();
            let limit = lock(&self.inner.timers).limit;
            if self.handlers() < limit
                && let Poll::Ready(message) = next.as_mut().poll(cx)
            {
                return Poll::Ready(message);
            }
            crowd.park(cx.waker());
            Poll::Pending
        })
        .await
    }
}

impl<A> Clone for Shared<A> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<A> fmt::Debug for Shared<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("handlers", &self.inner.crowd.handlers())
            .finish_non_exhaustive()
    }
}

/// The end of an actor: what runs beside its handlers is dropped, then its state, also if clones of
/// `Shared` are left somewhere, in the state itself perhaps.
struct End<A>(Shared<A>);

impl<A> Drop for End<A> {
    fn drop(&mut self) {
        let Inner {
            state, crowd, any, ..
        } = &*self.0.inner;
        let closed = catch_unwind(AssertUnwindSafe(|| crowd.close()));
        any.life().handles(0);
        let state = state.try_lock().and_then(|mut state| state.take());
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(state)));
        go_on(first(closed, dropped));
    }
}

/// Handles messages of a mailbox with the methods of a state that `make` gives, as
/// [`start_with`](super::start_with) does, and gives the state back; `before` sees each message
/// first: an interceptor.
///
/// What `before` gives is kept while the message is handled, and dropped when that is done, also by
/// a panic or a kill: what is to happen afterwards goes into its `Drop`. If it gives an error the
/// message is refused: it is dropped, and whoever called hears
/// [`CallError::Refused`](super::CallError::Refused). For an interceptor that waits, or changes
/// messages, write the loop: [`Dispatch::dispatch`] handles one message.
///
/// ```
/// use tidings::actor::{self, CallError};
///
/// #[tidings::interface]
/// trait Safe {
///     async fn open(&mut self, code: u32) -> &'static str;
/// }
/// struct Gold;
/// impl Safe for Gold {
///     async fn open(&mut self, _: u32) -> &'static str {
///         "gold"
///     }
/// }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let check = |SafeMessage::Open(code, _): &SafeMessage| match code {
///     1234 => Ok(()),
///     _ => Err("wrong code".into()),
/// };
/// let actor = actor::spawn(|mut mailbox| async move {
///     actor::serve_with(|_| Gold, &mut mailbox, check).await;
/// });
/// let safe = SafeRef::from(&actor);
/// assert_eq!(safe.open(1234).await.unwrap(), "gold");
/// assert!(matches!(safe.open(1).await, Err(CallError::Refused(_))));
/// # });
/// ```
pub fn serve_with<A, M, G>(
    make: impl FnOnce(&Shared<A>) -> A + Send,
    mailbox: &mut Mailbox<M>,
    mut before: impl FnMut(&M) -> Result<G, Box<dyn Error + Send + Sync>> + Send,
) -> impl Future<Output = A> + Send
where
    A: Send + 'static,
    M: Dispatch<A>,
    G: Send + 'static,
{
    let this = Shared::new(mailbox);
    CURRENT.scope(this.number(), async move {
        let End(this) = &End(this);
        let actor = make(this);
        *this.lock("nobody has a state that is not made") = Some(actor);
        while let Ok(message) = this.next(mailbox).await {
            let guard = match before(&message) {
                Ok(guard) => guard,
                Err(why) => {
                    refuse(message, why);
                    continue;
                }
            };
            if message.is_reentrant() {
                let it = this.clone();
                let handler = in_span!(mailbox, message.reenter(it));
                let handler = async move {
                    handler.await;
                    drop(guard);
                };
                this.inner.crowd.add(Box::pin(handler), true);
                this.handlers();
            } else {
                let mut state = this.lock("no handler has the state across an await");
                let actor = state.as_mut().expect("it is made");
                in_span!(mailbox, message.dispatch(actor)).await;
                drop((state, guard));
            }
        }
        this.inner.crowd.quiet().await;
        // While the state is there: what runs beside may want it as it is dropped.
        this.inner.crowd.close();
        let actor = this.lock("all handlers have ended").take();
        actor.expect("it is made")
    })
}
