//! Actors that are fed from a queue: what is fetched, handled, acknowledged, tried again, and set aside.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::future::{self, Either};
use serde::de::DeserializeOwned;
use tidings::actor::{Exit, Reference};
use tidings::channel::ivar::IVar;
use tidings::sync::{Permit, Semaphore};
use tidings::time::timeout;
use tidings::{CancellationToken, Event};

use crate::aside::{set_aside, unpacked};
use crate::cluster::Inner;
use crate::engine::{Delivery, EngineError, Settle};
use crate::handled::Handled;
use crate::lock::lock;
use crate::queue::Queue;

/// So long one fetch waits.
const WAIT: Duration = Duration::from_secs(5);

/// How an actor is fed: [`Queue::feed`].
///
/// ```
/// use std::time::Duration;
/// use tidings_nats::FeedOptions;
///
/// // One after the other, and each for as long as it takes.
/// let options = FeedOptions::new().in_flight(1).tries(u64::MAX).pause(Duration::from_secs(1)..=Duration::from_secs(600));
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedOptions {
    in_flight: usize,
    tries: u64,
    pause: RangeInclusive<Duration>,
    remember: usize,
}

impl Default for FeedOptions {
    fn default() -> Self {
        Self {
            in_flight: 64,
            tries: 5,
            pause: Duration::from_secs(1)..=Duration::from_secs(60),
            remember: 1 << 12,
        }
    }
}

impl FeedOptions {
    /// 64 messages in flight, 5 tries with pauses of 1 s to 60 s between them, 4,096 ids remembered.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// So many messages are fetched and not done, at most: at least one. They wait in the actor's
    /// mailbox; with no more than it has room for (256, if nobody has said otherwise) others can
    /// still send to it.
    #[must_use]
    pub fn in_flight(mut self, messages: usize) -> Self {
        self.in_flight = messages.clamp(1, u32::MAX as usize);
        self
    }

    /// A message is set aside when it has failed so often: at least once.
    #[must_use]
    pub fn tries(mut self, tries: u64) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// What failed is tried again after the first of these, and then after twice the time before, up to
    /// the last.
    #[must_use]
    pub fn pause(mut self, pause: RangeInclusive<Duration>) -> Self {
        self.pause = pause;
        self
    }

    /// The ids of so many messages that were done last are remembered: those are not handled again here.
    #[must_use]
    pub fn remember(mut self, ids: usize) -> Self {
        self.remember = ids;
        self
    }

    fn pause_after(&self, tries: u64) -> Duration {
        let doublings = u32::try_from(tries.saturating_sub(1)).unwrap_or(u32::MAX);
        let factor = 2_u32.saturating_pow(doublings);
        self.pause
            .start()
            .saturating_mul(factor)
            .min(*self.pause.end())
    }
}

/// What has happened to the messages of a feed: counted, never sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedStats {
    /// Given out to us.
    pub delivered: u64,
    /// Handled with success.
    pub done: u64,
    /// Handled without.
    pub failed: u64,
    /// Not handled, because they were done before, or are being handled.
    pub duplicates: u64,
    /// Set aside.
    pub aside: u64,
    /// In flight now.
    pub in_flight: u64,
}

/// Why a feed has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FeedEnd {
    /// It was stopped, or our membership has ended.
    Stopped,
    /// The actor has ended.
    Actor(Exit),
}

/// An actor is being fed: [`Queue::feed`]. Dropped, it fetches no more; what is in flight is handled to its end.
pub struct Feed {
    work: Arc<Work>,
}

impl Feed {
    /// What has happened so far.
    #[must_use]
    pub fn stats(&self) -> FeedStats {
        self.work.stats()
    }

    /// Its end: an event. It ends by itself when the actor does, and when our membership does.
    pub fn ended(&self) -> impl Event<Output = FeedEnd, Lost = ()> + Send + '_ {
        self.work.ended.read().map(Clone::clone)
    }

    /// Fetches no more, and waits until what is in flight has been handled, for so long; says how
    /// many messages still are. These are handled on; if the process ends before, they are given out
    /// again after the hold.
    pub async fn stop(&self, limit: Duration) -> u64 {
        self.work.stop(limit).await
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.work.over.cancel();
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed")
            .field("queue", &self.work.queue)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// What the tasks of a feed share.
pub(crate) struct Work {
    pub(crate) queue: Arc<str>,
    inner: Arc<Inner>,
    hold: Duration,
    options: FeedOptions,
    /// One for each message that may be in flight. Who is to be alone takes all.
    places: Semaphore,
    state: Arc<Mutex<State>>,
    over: CancellationToken,
    ended: IVar<FeedEnd>,
}

/// A feed, as its membership knows it: also when it is gone, until what it has counted is taken.
pub(crate) struct Fed {
    work: Weak<Work>,
    queue: Arc<str>,
    state: Arc<Mutex<State>>,
}

impl Fed {
    pub(crate) fn new(work: &Arc<Work>) -> Self {
        Self {
            work: Arc::downgrade(work),
            queue: Arc::clone(&work.queue),
            state: Arc::clone(&work.state),
        }
    }

    /// What there is of it; its queue and what it has counted, if it is gone.
    pub(crate) fn work(&self) -> Result<Arc<Work>, (&str, FeedStats)> {
        let gone = || (&*self.queue, lock(&self.state).stats());
        self.work.upgrade().ok_or_else(gone)
    }
}

#[derive(Default)]
struct State {
    stats: FeedStats,
    /// What is being handled, by its id.
    busy: BTreeMap<String, Busy>,
    /// What was done, the last at the end.
    done: VecDeque<String>,
    known: BTreeSet<String>,
}

impl State {
    fn stats(&self) -> FeedStats {
        let in_flight = self.busy.len() as u64;
        FeedStats {
            in_flight,
            ..self.stats
        }
    }
}

/// A message that is being handled.
struct Busy {
    /// Which it is in the queue.
    number: u64,
    ended: Arc<IVar<()>>,
}

/// Is a message to be handled?
enum Begin {
    Yes,
    /// It was done before.
    Done,
    /// It is being handled here.
    Busy,
    /// Another of its id is, whose end this is.
    Twin(Arc<IVar<()>>),
}

impl<T> Queue<T> {
    /// Feeds an actor: its messages are fetched, handled by `handle`, which is given a reference of
    /// the actor, and acknowledged when that says that they are done.
    ///
    /// What fails, or panics, is tried again after a pause that grows ([`FeedOptions::pause`]), here
    /// or on another node; what fails as often as [`FeedOptions::tries`] says, and what cannot be
    /// decoded, is [set aside](Self::aside). For as long as a handler runs, however long, its message
    /// stays ours.
    ///
    /// It keeps the actor alive, and ends when that does. What the actor had not done is tried again;
    /// that counts as a try of all that was in flight, of which one may be why it ended. A message
    /// that was given out more often than it may fail is therefore tried alone, and set aside if it
    /// fails or the actor ends then; and without being tried if it was given out twice as often: so a
    /// message that ends its process each time is set aside, too.
    pub fn feed<R, F, H>(&self, actor: &R, options: FeedOptions, handle: F) -> Feed
    where
        T: DeserializeOwned + Send + 'static,
        R: Reference,
        F: Fn(R, T) -> H + Send + Sync + 'static,
        H: Future<Output: Into<Handled>> + Send + 'static,
    {
        let work = Arc::new(Work {
            queue: Arc::clone(&self.name),
            inner: Arc::clone(&self.inner),
            hold: self.hold,
            places: Semaphore::new(options.in_flight),
            options,
            state: Arc::default(),
            over: CancellationToken::new(),
            ended: IVar::new(),
        });
        drop(self.inner.feeds(Some(&work)));
        if self.inner.lock().leaving {
            // Who leaves has stopped those that were there.
            work.over.cancel();
        }
        let feeding = Arc::clone(&work);
        let actor = actor.clone();
        drop(tidings::spawn(async move {
            let end = feeding.run(&actor, Arc::new(handle)).await;
            // Nobody else fills it.
            let _ = feeding.ended.fill(end);
        }));
        Feed { work }
    }
}

impl Work {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn stats(&self) -> FeedStats {
        self.lock().stats()
    }

    pub(crate) async fn stop(&self, limit: Duration) -> u64 {
        self.over.cancel();
        let all = async {
            self.ended.read().await;
            let all = self.places.acquire(self.options.in_flight).await;
            drop(all);
        };
        let _ = timeout(limit, all).await;
        self.stats().in_flight
    }

    /// Fetches, until it is stopped or the actor ends.
    async fn run<T, R, F, H>(self: &Arc<Self>, actor: &R, handle: Arc<F>) -> FeedEnd
    where
        T: DeserializeOwned + Send + 'static,
        R: Reference,
        F: Fn(R, T) -> H + Send + Sync + 'static,
        H: Future<Output: Into<Handled>> + Send + 'static,
    {
        let recipient = actor.recipient();
        let ends = self.over.cancelled().or(self.inner.over().cancelled());
        let ends = ends.map(|()| FeedEnd::Stopped);
        let ends = ends.or(recipient.down().map(FeedEnd::Actor));
        let mut ends = std::pin::pin!(ends.into_future());
        let mut pause = Duration::from_millis(50);
        loop {
            let fetch = std::pin::pin!(self.fetch());
            let (fetched, mut places) = match future::select(ends.as_mut(), fetch).await {
                Either::Left((end, _)) => return end,
                Either::Right((fetched, _)) => fetched,
            };
            match fetched {
                Ok(deliveries) => {
                    pause = Duration::from_millis(50);
                    for delivery in deliveries {
                        // An engine gives no more than it was asked for.
                        let Some(place) = places.split(1) else { break };
                        place.forget();
                        let (work, actor) = (Arc::clone(self), actor.clone());
                        let handle = Arc::clone(&handle);
                        drop(tidings::spawn(async move {
                            work.one(&delivery, &actor, &handle).await;
                            work.places.add_permits(1);
                        }));
                    }
                }
                Err(error) => {
                    drop(places);
                    if error == EngineError::NoResponders {
                        let _ = self.inner.engine.open(&self.queue, self.hold).await;
                    }
                    if let Ok(end) = timeout(pause, ends.as_mut()).await {
                        return end;
                    }
                    pause = (pause * 2).min(WAIT);
                }
            }
        }
    }

    /// Fetches for the places that are free, when one is.
    async fn fetch(&self) -> (Result<Vec<Delivery>, EngineError>, Permit<&Semaphore>) {
        let places = loop {
            drop(self.places.acquire(1).await);
            let free = self.places.available_permits();
            // Who wants to be alone comes first.
            if free > 0
                && let Ok(places) = self.places.try_acquire(free)
            {
                break places;
            }
        };
        let fetched = self.inner.engine.fetch(&self.queue, places.permits(), WAIT);
        (fetched.await, places)
    }

    /// Sees to one message. It has a place.
    async fn one<T, R, F, H>(&self, delivery: &Delivery, actor: &R, handle: &Arc<F>)
    where
        T: DeserializeOwned + Send + 'static,
        R: Reference,
        F: Fn(R, T) -> H + Send + Sync + 'static,
        H: Future<Output: Into<Handled>> + Send + 'static,
    {
        self.count(|stats| stats.delivered += 1);
        loop {
            match self.begin(delivery) {
                Begin::Yes => break,
                // The acknowledgement was lost; or another of its id was done.
                Begin::Done => return self.settle(delivery, Settle::Done).await,
                // Who handles it sees to it.
                Begin::Busy => return,
                // Then it is known what has become of the other. To give it back would count as a try.
                Begin::Twin(other) if self.outwait(delivery, &other).await => {}
                Begin::Twin(_) => return,
            }
        }
        let suspect = delivery.tries > self.options.tries;
        let handled = if delivery.tries > self.options.tries.saturating_mul(2) {
            let tries = delivery.tries - 1;
            let reason = "times, and nobody has said what became of it";
            Handled::Poison(format!("it was given out {tries} {reason}"))
        } else {
            let work = self.handle(delivery, actor, handle, suspect);
            match self.holding(delivery, work).await {
                Some(handled) => handled,
                None => return self.again(delivery, Duration::ZERO).await,
            }
        };
        let is_over = actor.recipient().exit().is_some();
        match handled {
            Handled::Done => {
                self.count(|stats| stats.done += 1);
                self.remember(&delivery.id);
                self.settle(delivery, Settle::Done).await;
                self.end(delivery);
            }
            // If the actor has ended, it may be innocent.
            Handled::Failed(_) if delivery.tries < self.options.tries || (is_over && !suspect) => {
                self.count(|stats| stats.failed += 1);
                let pause = match is_over {
                    true => Duration::ZERO,
                    false => self.options.pause_after(delivery.tries),
                };
                self.again(delivery, pause).await;
            }
            Handled::Failed(reason) | Handled::Poison(reason) => {
                self.count(|stats| stats.failed += 1);
                let set = set_aside(&self.inner, &self.queue, delivery, reason);
                if self.holding(delivery, set).await.is_ok() {
                    self.count(|stats| stats.aside += 1);
                    self.settle(delivery, Settle::Done).await;
                    self.end(delivery);
                } else {
                    self.again(delivery, *self.options.pause.end()).await;
                }
            }
        }
    }

    /// Has it decoded and handled, by a task of its own: what panics there is the message's. `None`:
    /// the actor has ended before.
    async fn handle<T, R, F, H>(
        &self,
        delivery: &Delivery,
        actor: &R,
        handle: &Arc<F>,
        suspect: bool,
    ) -> Option<Handled>
    where
        T: DeserializeOwned + Send + 'static,
        R: Reference,
        F: Fn(R, T) -> H + Send + Sync + 'static,
        H: Future<Output: Into<Handled>> + Send + 'static,
    {
        let _alone = match suspect {
            true => Some(self.alone().await),
            false => None,
        };
        // Of the end that it has not seen it is innocent.
        actor.recipient().exit().is_none().then_some(())?;
        let (handle, actor) = (Arc::clone(handle), actor.clone());
        let payload = delivery.payload.clone();
        let handled = tidings::spawn(async move {
            match serde_json::from_slice(&unpacked(&payload)) {
                Ok(message) => handle(actor, message).await.into(),
                Err(error) => Handled::Poison(format!("it cannot be decoded: {error}")),
            }
        });
        let panicked = |panic: tidings::JoinError| Handled::Failed(panic.to_string());
        Some(handled.await.unwrap_or_else(panicked))
    }

    /// Holds a message until another has ended. Its place is another's meanwhile. `false`: no more are
    /// to be handled, and it is given back.
    async fn outwait(&self, delivery: &Delivery, other: &IVar<()>) -> bool {
        self.places.add_permits(1);
        let over = self.over.cancelled().or(self.inner.over().cancelled());
        let over = std::pin::pin!(over.into_future());
        let ended = std::pin::pin!(other.read().into_future());
        let first = self.holding(delivery, future::select(ended, over)).await;
        let goes_on = matches!(first, Either::Left(_));
        let place = self.places.acquire(1).into_future();
        let place = if goes_on {
            self.holding(delivery, place).await
        } else {
            self.settle(delivery, Settle::Again(Duration::ZERO)).await;
            place.await
        };
        place.expect("it is never closed").forget();
        goes_on
    }

    /// It is to be given out again: to us, too, and perhaps at once.
    async fn again(&self, delivery: &Delivery, pause: Duration) {
        self.end(delivery);
        self.settle(delivery, Settle::Again(pause)).await;
    }

    /// Waits until nothing else is in flight, and keeps it so. The place of who waits is another's meanwhile.
    async fn alone(&self) -> Alone<'_> {
        self.places.add_permits(1);
        let all = self.places.acquire(self.options.in_flight).await;
        all.expect("it is never closed").forget();
        Alone(self)
    }

    /// Does something, and says meanwhile that the message is being worked on.
    async fn holding<O>(&self, delivery: &Delivery, work: impl Future<Output = O>) -> O {
        let mut work = std::pin::pin!(work);
        loop {
            match timeout(self.hold / 3, work.as_mut()).await {
                Ok(done) => return done,
                Err(_) => {
                    let _ = self.inner.engine.settle(delivery, Settle::Working).await;
                }
            }
        }
    }

    /// Tells the engine. What it does not hear comes again.
    async fn settle(&self, delivery: &Delivery, settle: Settle) {
        for _ in 0..3 {
            if self.inner.engine.settle(delivery, settle).await.is_ok() {
                return;
            }
        }
    }

    fn begin(&self, delivery: &Delivery) -> Begin {
        let mut state = self.lock();
        let begin = match state.busy.get(&delivery.id) {
            _ if state.known.contains(&delivery.id) => Begin::Done,
            None => Begin::Yes,
            Some(busy) if busy.number == delivery.number => Begin::Busy,
            Some(busy) => Begin::Twin(Arc::clone(&busy.ended)),
        };
        match begin {
            Begin::Yes => {
                let busy = Busy {
                    number: delivery.number,
                    ended: Arc::default(),
                };
                state.busy.insert(delivery.id.clone(), busy);
            }
            Begin::Done | Begin::Busy => state.stats.duplicates += 1,
            Begin::Twin(_) => {}
        }
        begin
    }

    fn end(&self, delivery: &Delivery) {
        let busy = self.lock().busy.remove(&delivery.id);
        // Those that have waited for it begin.
        let _ = busy.map(|busy| busy.ended.fill(()));
    }

    fn remember(&self, id: &str) {
        let mut state = self.lock();
        state.done.push_back(id.to_owned());
        state.known.insert(id.to_owned());
        if state.done.len() > self.options.remember
            && let Some(oldest) = state.done.pop_front()
        {
            state.known.remove(&oldest);
        }
    }

    fn count(&self, count: impl FnOnce(&mut FeedStats)) {
        count(&mut self.lock().stats);
    }
}

/// Nothing else is in flight.
struct Alone<'a>(&'a Work);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // Its own place is given back by who gave it.
        self.0.places.add_permits(self.0.options.in_flight - 1);
    }
}
