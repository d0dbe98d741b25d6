//! A node whose engine, neighbours or own tasks hinder it, in a simulation.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures_util::future::join_all;
use tidings::Event;
use tidings::actor::{self, ActorRef, Exit, Recipient, Reference, WeakActorRef};
use tidings::time::{Instant, sleep, timeout};
use tidings_nats::memory::{Memory, Server};
use tidings_nats::{Cluster, Engine, EngineError, Expect, NameError, Options};

use crate::cluster::{LEASE, names, next, node, server};
use crate::counter::{CounterRef, Tally};
use crate::wrapped::Wrapped;

fn tally() -> CounterRef {
    actor::start(Tally::default())
}

#[tidings::test(sim, seeds = 20)]
async fn a_name_whose_write_was_given_up_and_done_after_all_is_free_again() {
    let server = server();
    let engine = Wrapped::new(server.connect());
    let options = Options::new("test", "one").lease(LEASE);
    let one = Cluster::join_on(engine.clone(), options).await.unwrap();
    let (_, other) = node(&server, "other").await;
    let counter = tally();
    engine.writes_after(500);
    let limit = Duration::from_millis(100);
    let asked = timeout(limit, one.register("n", &counter)).await;
    assert!(asked.is_err(), "it is given up");
    sleep(Duration::from_secs(1)).await;
    let taken = other.register("n", &counter).await.unwrap_err();
    let written = "the name \"n\" is node \"one\"'s";
    assert_eq!(taken.to_string(), written);
    sleep(3 * LEASE).await;
    let _name = other.register("n", &counter).await.unwrap();
    // What is asked for while it is written so is not taken for given up.
    let mine = one.register("mine", &counter).await.unwrap();
    sleep(3 * LEASE).await;
    assert!(mine.is_held());
    let _there: CounterRef = other.lookup("mine").await.unwrap();
}

/// A reference that does something when it is cloned as its name is written down: when it is exported.
struct Hooked {
    inner: CounterRef,
    hook: Arc<dyn Fn() + Send + Sync>,
}

type Message = <CounterRef as Reference>::Message;

impl Clone for Hooked {
    fn clone(&self) -> Self {
        (self.hook)();
        Self {
            inner: self.inner.clone(),
            hook: Arc::clone(&self.hook),
        }
    }
}

impl Reference for Hooked {
    type Message = Message;
    type Weak = WeakActorRef<Message>;

    fn of(_: ActorRef<Message>) -> Self {
        unreachable!("nobody looks for one")
    }
    fn weak(&self) -> Self::Weak {
        unreachable!("nobody asks for one")
    }
    fn strong(_: &Self::Weak) -> Option<Self> {
        None
    }
    fn recipient(&self) -> Recipient<Message> {
        self.inner.recipient()
    }
}

#[tidings::test(sim, seeds = 5)]
async fn a_membership_that_ends_as_a_name_is_asked_for_keeps_no_actor() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let counter = tally();
    let recipient = counter.any();
    let (ending, clones) = (one.clone(), AtomicUsize::new(0));
    let hooked = Hooked {
        inner: counter,
        hook: Arc::new(move || {
            // The first is for those who ask here.
            if clones.fetch_add(1, Ordering::Relaxed) == 1 {
                let mut leaving = Box::pin(ending.leave(LEASE));
                let polled = leaving
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
            }
        }),
    };
    let asked = one.register("n", &hooked).await;
    assert!(matches!(asked, Err(NameError::Ended { .. })), "{asked:?}");
    drop(hooked);
    let end = recipient.down().timeout(LEASE).await;
    assert!(matches!(end, Ok(Exit::Normal)), "{end:?}");
}

#[tidings::test(sim, seeds = 10)]
async fn messages_of_a_link_through_an_engine_are_no_larger_than_it_takes() {
    let server = server();
    let engine = || Wrapped::new(server.connect()).largest(2_000);
    let options = |name| Options::new("test", name).lease(LEASE);
    let one = Cluster::join_on(engine(), options("one")).await.unwrap();
    let other = Cluster::join_on(engine(), options("other")).await.unwrap();
    let counter = tally();
    let _name = one.register("n", &counter).await.unwrap();
    let there: CounterRef = other.lookup("n").await.unwrap();
    // Those that wait for each other go together.
    let calls = join_all((0..500).map(|_| there.inc().into_future())).await;
    assert!(calls.iter().all(Result::is_ok));
    assert_eq!(counter.get().await.unwrap(), 500);
}

/// A member that keeps its lease, has a name, and answers nobody who wants a link.
async fn silent(engine: Memory) {
    let record = r#"{"incarnation":5,"address":null,"down":null}"#;
    let mut asked = engine
        .subscribe("tidings.test.node.silent.5")
        .await
        .unwrap();
    let named = r#"{"node":"silent","incarnation":5,"interface":"Counter","methods":{}}"#;
    let named = engine
        .write("name.n", named.into(), Expect::Absent, None)
        .await;
    named.unwrap();
    drop(tidings::spawn(async move {
        while asked.next().await.is_some() {}
    }));
    let mut expect = Expect::Absent;
    loop {
        let written = engine
            .write("node.silent", record.into(), expect, Some(LEASE))
            .await;
        expect = Expect::Revision(written.unwrap());
        sleep(LEASE / 3).await;
    }
}

#[tidings::test(sim, seeds = 10)]
async fn those_who_wait_for_a_link_that_is_not_made_hear_of_it_together() {
    let server = server();
    let patience = Duration::from_secs(4);
    let options = Options::new("test", "one").lease(LEASE).patience(patience);
    let one = Cluster::join_on(server.connect(), options).await.unwrap();
    drop(tidings::spawn(silent(server.connect())));
    while names(&one).len() < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    for _ in 0..2 {
        let since = Instant::now();
        let found = join_all((0..10).map(|_| one.lookup::<CounterRef>("n"))).await;
        assert!(found.iter().all(Result::is_err));
        // Who comes later makes an attempt of his own.
        let took = since.elapsed();
        assert!(
            took >= patience && took < patience + patience / 2,
            "{took:?}"
        );
    }
}

/// A waker of somebody else's, which panics once it is on.
#[derive(Default)]
struct Panics {
    on: AtomicBool,
    woken: AtomicBool,
}

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        assert!(!self.on.load(Ordering::Relaxed), "a foreign waker");
    }
}

#[tidings::test(sim, seeds = 20)]
async fn a_waker_that_panics_at_the_end_of_a_member_keeps_nobody_from_hearing() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    while names(&one).len() < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    let member = one.members().remove(1);
    let mut down = pin!(member.down().into_future());
    let panics = Arc::new(Panics::default());
    let waker = Waker::from(Arc::clone(&panics));
    // Who is woken at once has not begun to wait.
    loop {
        let polled = down.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        if !panics.woken.swap(false, Ordering::Relaxed) {
            break;
        }
        tidings::yield_now().await;
    }
    panics.on.store(true, Ordering::Relaxed);
    let changes = one.changes();
    two.leave(LEASE).await;
    let (_, _three) = node(&server, "three").await;
    for change in ["one up", "two up", "two down: Left", "three up"] {
        let told = timeout(2 * LEASE, next(&changes)).await;
        assert_eq!(told.as_deref(), Ok(change));
    }
    assert!(panics.woken.load(Ordering::Relaxed));
}

#[tidings::test(sim, seeds = 5)]
async fn who_joins_tries_for_as_long_as_was_said_and_no_longer() {
    let server = server();
    let engine = server.connect();
    let patience = Duration::from_secs(10);
    let options = || Options::new("test", "one").patience(patience);
    engine.cut();
    let since = Instant::now();
    let error = Cluster::join_on(engine.clone(), options())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    let took = since.elapsed();
    // The last attempt takes its time, too.
    assert!(
        took >= patience && took < patience + Duration::from_secs(4),
        "{took:?}"
    );
    let healed = engine.clone();
    drop(tidings::spawn(async move {
        sleep(patience * 9 / 10).await;
        healed.heal();
    }));
    Cluster::join_on(engine, options()).await.unwrap();
}

#[tidings::test(sim, seeds = 5)]
async fn what_is_put_is_tried_for_as_long_as_was_said() {
    let server = Server::new();
    let line = server.connect();
    let patience = Duration::from_secs(20);
    let options = Options::new("test", "one").lease(LEASE).patience(patience);
    let one = Cluster::join_on(line.clone(), options).await.unwrap();
    let orders = one.queue::<u32>("orders").await.unwrap();
    line.cut();
    let since = Instant::now();
    let error = orders.put("one", &1).await.unwrap_err();
    assert!(matches!(error, EngineError::Unreachable(_)), "{error}");
    assert!(since.elapsed() >= patience, "{:?}", since.elapsed());
}
