//! Actors that other executors run, tokio's, threads, a hand; and how they end. What else they can: `elsewhere.rs`. No
//! runtime of ours is there, unless a test says so.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{self, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;

use futures::executor::block_on;

use crate::both::{pool, run, seeded, watchdog};
use crate::hands::{Bomb, Wakes, pinned, poll, poll_with};
use crate::letter::{Ledger, Letter};
use tidings::actor::{
    self, ActorRef, Builder, CallError, Driver, Exit, Mailbox, Reply, Strategy, Streaming,
    Supervisor,
};
use tidings::{Event, oneshot, unbounded, yield_now};

/// Polls a driver on another thread each time.
struct Hops {
    driver: Mutex<Option<Driver>>,
    again: mpsc::Sender<Arc<Self>>,
}

impl Wake for Hops {
    fn wake(self: Arc<Self>) {
        let again = self.again.clone();
        let _ = again.send(self);
    }
}

impl Hops {
    fn poll(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut driver = self.driver.lock().unwrap();
        if let Some(life) = &mut *driver
            && poll_with(Pin::new(life), &waker).is_ready()
        {
            *driver = None;
        }
    }
}

pub(crate) fn hops(driver: Driver) {
    let (again, turns) = channel();
    let hops = Hops {
        driver: Mutex::new(Some(driver)),
        again,
    };
    Arc::new(hops).wake();
    thread::spawn(move || {
        for hops in turns {
            thread::spawn(|| hops.poll()).join().unwrap();
        }
    });
}

/// Gives lives to tokio.
pub(crate) fn on(tokio: &tokio::runtime::Runtime) -> Builder {
    let handle = tokio.handle().clone();
    Builder::new().executor(move |life| drop(handle.spawn(life)))
}

pub(crate) fn on_threads() -> Builder {
    Builder::new().executor(|life| drop(thread::spawn(|| block_on(life))))
}

/// Gives lives to who takes them.
pub(crate) fn to_a_hand() -> (Builder, mpsc::Receiver<Driver>) {
    let (give, lives) = channel();
    let give = move |life| drop(give.send(life));
    (Builder::new().executor(give), lives)
}

pub(crate) fn tokio(threads: usize) -> tokio::runtime::Runtime {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap()
}

/// Runs `body` with each executor for the actors that it starts; itself on this thread, and as a task of tokio's.
pub(crate) fn everywhere<F: Future<Output = ()>>(body: impl Fn(Builder) -> F) {
    let _watchdog = watchdog();
    block_on(body(on_threads()));
    block_on(body(Builder::new().executor(hops)));
    for threads in [1, 2] {
        let tokio = tokio(threads);
        tokio.block_on(body(on(&tokio)));
    }
}

pub(crate) fn crash(why: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(why))
}

#[tidings::interface]
pub(crate) trait Counter {
    async fn add(&mut self, n: u64);
    async fn get(&self) -> u64;
    /// Takes the items of a stream as they come.
    async fn down_from(&self, n: u64) -> Streaming<u64>;
    async fn fails(&mut self) -> u64;
}

pub(crate) struct Tally(pub(crate) u64);

impl Counter for Tally {
    async fn add(&mut self, n: u64) {
        self.0 += n;
    }
    async fn get(&self) -> u64 {
        self.0
    }
    async fn down_from(&self, n: u64) -> Streaming<u64> {
        let (replies, stream) = actor::streaming(2);
        thread::spawn(move || {
            for n in (0..n).rev() {
                replies.send(n).wait().unwrap();
            }
            replies.finish();
        });
        stream
    }
    async fn fails(&mut self) -> u64 {
        crash("told to")
    }
}

#[test]
fn it_ends_when_nobody_is_left_who_could_send() {
    everywhere(|builder| async move {
        let (tell, told) = unbounded();
        let actor = builder.spawn(|mut mailbox: Mailbox<u32>| async move {
            while let Ok(n) = mailbox.recv().await {
                tell.send(n).await.unwrap();
            }
        });
        actor.send(7).await.unwrap();
        let any = actor.any();
        drop(actor);
        assert_eq!(told.recv().await, Ok(7));
        assert!(told.recv().await.is_err());
        assert!(matches!(any.down().await, Exit::Normal));
    });
}

#[test]
fn it_ends_with_the_error_of_its_function_or_the_one_that_it_is_given() {
    everywhere(|builder| async move {
        let tell = |mut mailbox: Mailbox<&'static str>| async move {
            match mailbox.recv().await {
                Ok(why) => Err(why),
                Err(_) => Ok(()),
            }
        };
        let actor = builder.clone().spawn(tell);
        actor.send("no disk").await.unwrap();
        assert_eq!(actor.down().await.to_string(), "failed: no disk");
        let actor = builder.spawn(tell);
        actor.fail("no net");
        assert_eq!(actor.down().await.to_string(), "failed: no net");
    });
}

#[test]
fn who_called_hears_of_a_panic_and_so_do_those_that_are_linked_to_it() {
    everywhere(|builder| async move {
        let counter: CounterRef = builder.clone().start(Tally(0));
        let linked = builder
            .spawn(|mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} });
        linked.link(&counter.any());
        let hears = |why: CallError| match why {
            CallError::Ended(Exit::Panicked(why)) => assert_eq!(&*why, "told to"),
            CallError::NotExecuted(Exit::Panicked(why)) => assert_eq!(&*why, "told to"),
            other => panic!("{other:?}"),
        };
        let (one, other) = futures::join!(async { counter.fails().await }, async {
            counter.get().await
        });
        hears(one.unwrap_err());
        // It may have come before.
        if let Err(why) = other {
            hears(why);
        }
        assert!(matches!(counter.any().down().await, Exit::Panicked(_)));
        assert!(matches!(linked.down().await, Exit::Linked { .. }));
    });
}

/// An actor that holds `state`; told to, it waits for ever in its handler.
pub(crate) fn holds(builder: Builder, state: Letter) -> ActorRef<(Letter, Reply<()>)> {
    builder.spawn(|mut mailbox: Mailbox<(Letter, Reply<()>)>| async move {
        let _state = state;
        while let Ok((letter, reply)) = mailbox.recv().await {
            if letter.n == 0 {
                let _request = (letter, reply);
                pending::<()>().await;
            } else {
                reply.send(()).unwrap();
            }
        }
    })
}

#[test]
fn a_kill_ends_it_whatever_it_waits_for_and_drops_what_it_has() {
    everywhere(|builder| async move {
        let ledger = Ledger::default();
        // Idle, and perhaps not polled yet.
        for messages in [0, 1] {
            let idle = holds(builder.clone(), ledger.letter(9));
            for _ in 0..messages {
                let letter = ledger.letter(1);
                idle.call(|reply| (letter, reply)).await.unwrap();
            }
            idle.kill();
            assert!(matches!(idle.down().await, Exit::Killed));
            assert_eq!(ledger.alive(), 0);
        }
        // In a handler that waits.
        let (tell, begun) = oneshot();
        let state = ledger.letter(9);
        let busy = builder.spawn(|mut mailbox: Mailbox<Reply<()>>| async move {
            let _state = state;
            let _request = mailbox.recv().await;
            tell.send(()).unwrap();
            pending::<()>().await;
            drop(mailbox);
        });
        let mut held = pinned(busy.call(|reply| reply));
        assert!(futures::poll!(held.as_mut()).is_pending());
        begun.await.unwrap();
        let mut queued = pinned(busy.call(|reply| reply));
        assert!(futures::poll!(queued.as_mut()).is_pending());
        busy.kill();
        let held = held.await.unwrap_err();
        assert!(matches!(held, CallError::Ended(Exit::Killed)), "{held:?}");
        let queued = queued.await.unwrap_err();
        assert!(
            matches!(queued, CallError::NotExecuted(Exit::Killed)),
            "{queued:?}"
        );
        assert!(matches!(busy.down().await, Exit::Killed));
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn an_actor_that_kills_itself_is_polled_no_more() {
    everywhere(|builder| async move {
        let actor = builder.spawn(|mailbox: Mailbox<()>| async move {
            mailbox.this().any().kill();
            pending::<()>().await;
        });
        assert!(matches!(actor.down().await, Exit::Killed));
    });
}

#[test]
fn a_kill_wakes_the_waker_of_the_last_poll_and_the_poll_that_follows_ends_it() {
    let _watchdog = watchdog();
    let ledger = Ledger::default();
    let (builder, lives) = to_a_hand();
    let actor = holds(builder, ledger.letter(9));
    let mut life = lives.recv().unwrap();
    let ((early, one), (late, other)) = (Wakes::new(), Wakes::new());
    assert!(poll_with(Pin::new(&mut life), &one).is_pending());
    assert!(poll_with(Pin::new(&mut life), &other).is_pending());
    actor.kill();
    actor.kill();
    assert_eq!((early.count(), late.count()), (0, 1));
    assert!(actor.exit().is_none());
    assert!(poll(Pin::new(&mut life)).is_ready());
    assert!(matches!(actor.exit(), Some(Exit::Killed)));
    assert_eq!(ledger.alive(), 0);
    // It stays over.
    assert!(poll(Pin::new(&mut life)).is_ready());
}

#[test]
fn a_kill_before_the_first_poll_ends_it_at_that() {
    let _watchdog = watchdog();
    let ledger = Ledger::default();
    let (builder, lives) = to_a_hand();
    let actor = holds(builder, ledger.letter(9));
    actor.kill();
    let life = lives.recv().unwrap();
    block_on(life);
    assert!(matches!(actor.exit(), Some(Exit::Killed)));
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn a_waker_that_panics_at_a_kill_keeps_nobody_from_ending() {
    let _watchdog = watchdog();
    let (builder, lives) = to_a_hand();
    let actor = holds(builder.clone(), Ledger::default().letter(9));
    let mut life = lives.recv().unwrap();
    let bomb = Waker::from(Arc::new(Bomb));
    assert!(poll_with(Pin::new(&mut life), &bomb).is_pending());
    // Nobody hears of the panic, of a stop neither.
    actor.stop();
    assert!(poll_with(Pin::new(&mut life), &bomb).is_ready());
    assert!(matches!(actor.exit(), Some(Exit::Stopped)));
    let actor = holds(builder, Ledger::default().letter(9));
    let mut life = lives.recv().unwrap();
    assert!(poll_with(Pin::new(&mut life), &bomb).is_pending());
    actor.kill();
    assert!(poll(Pin::new(&mut life)).is_ready());
    assert!(matches!(actor.exit(), Some(Exit::Killed)));
}

/// An actor that waits, and was polled with this waker.
fn waits(
    (builder, lives): &(Builder, mpsc::Receiver<Driver>),
    waker: &Waker,
) -> (ActorRef<(Letter, Reply<()>)>, Driver) {
    let actor = holds(builder.clone(), Ledger::default().letter(9));
    let mut life = lives.recv().unwrap();
    assert!(poll_with(Pin::new(&mut life), waker).is_pending());
    (actor, life)
}

#[test]
fn a_waker_that_panics_keeps_no_sibling_from_ending_nor_the_parent_from_waiting_for_them() {
    let _watchdog = watchdog();
    for killed in [true, false] {
        let mut hand = to_a_hand();
        let (parent, mut life) = waits(&hand, Waker::noop());
        hand.0 = hand.0.parent(&parent.any());
        let (wakes, waker) = Wakes::new();
        let bomb = Waker::from(Arc::new(Bomb));
        let mut children = [&waker, &bomb, &waker].map(|waker| waits(&hand, waker));
        match killed {
            true => parent.kill(),
            false => parent.stop(),
        }
        assert!(poll(Pin::new(&mut life)).is_ready());
        let mut end = hand.1.recv().unwrap();
        // The last is asked to stop first, and waited for.
        for (child, life) in children.iter_mut().rev() {
            assert!(poll(Pin::new(&mut end)).is_pending());
            assert!(child.exit().is_none() && parent.exit().is_none());
            assert!(poll(Pin::new(life)).is_ready());
            let exit = child.exit().unwrap();
            assert_eq!(matches!(exit, Exit::Killed), killed, "{exit:?}");
        }
        assert_eq!(wakes.count(), 2);
        assert!(poll(Pin::new(&mut end)).is_ready());
        assert_eq!(matches!(parent.exit().unwrap(), Exit::Killed), killed);
    }
}

#[test]
fn a_waker_that_panics_keeps_no_linked_actor_from_hearing() {
    let _watchdog = watchdog();
    let hand = to_a_hand();
    let (ends, mut life) = waits(&hand, Waker::noop());
    let (wakes, waker) = Wakes::new();
    let bomb = Waker::from(Arc::new(Bomb));
    let mut linked = [&waker, &bomb, &waker].map(|waker| waits(&hand, waker));
    // One that traps exits hears by a channel: the panic goes on when the others have heard.
    let traps = hand.0.clone().spawn(|mut mailbox: Mailbox<()>| async move {
        let exits = mailbox.trap_exits();
        exits.recv().await.map(drop)
    });
    let mut trap = hand.1.recv().unwrap();
    assert!(poll_with(Pin::new(&mut trap), &bomb).is_pending());
    let (last, mut last_life) = waits(&hand, &waker);
    traps.link(&ends.any());
    for (actor, _) in &linked {
        actor.link(&ends.any());
    }
    last.link(&ends.any());
    ends.kill();
    let ended = catch_unwind(AssertUnwindSafe(|| poll(Pin::new(&mut life)).is_ready()));
    assert!(ended.is_err(), "by the trap's waker");
    assert!(matches!(ends.exit(), Some(Exit::Killed)));
    assert_eq!(wakes.count(), 3);
    for (actor, life) in &mut linked {
        assert!(poll(Pin::new(life)).is_ready());
        assert!(matches!(actor.exit(), Some(Exit::Linked { .. })));
    }
    assert!(poll(Pin::new(&mut last_life)).is_ready());
    assert!(poll(Pin::new(&mut trap)).is_ready());
    assert!(matches!(traps.exit(), Some(Exit::Normal)));
}

#[test]
fn a_waker_that_panics_keeps_a_killed_supervisor_from_no_child() {
    let _watchdog = watchdog();
    seeded(1).block_on(async {
        let (builder, lives) = to_a_hand();
        let (wakes, waker) = Wakes::new();
        let bomb = Waker::from(Arc::new(Bomb));
        let wait = |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} };
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .child(builder.clone().child(wait))
            .child(builder.clone().child(wait))
            .child(builder.child(wait))
            .start();
        let mut begun = Vec::new();
        for waker in [&bomb, &waker, &waker] {
            let mut life = loop {
                match lives.try_recv() {
                    Ok(life) => break life,
                    Err(_) => yield_now().await,
                }
            };
            assert!(poll_with(Pin::new(&mut life), waker).is_pending());
            begun.push(life);
        }
        supervisor.kill();
        while wakes.count() < 2 {
            yield_now().await;
        }
        for mut life in begun {
            for _ in 0..10 {
                yield_now().await;
            }
            assert!(supervisor.exit().is_none(), "it is over when they are");
            assert!(poll(Pin::new(&mut life)).is_ready());
        }
        assert!(matches!(supervisor.down().await, Exit::Killed));
    });
}

#[test]
fn a_driver_that_is_dropped_has_killed_its_actor() {
    let _watchdog = watchdog();
    let ledger = Ledger::default();
    let (builder, lives) = to_a_hand();
    for polled in [false, true] {
        let actor = holds(builder.clone(), ledger.letter(9));
        let mut call = pinned(actor.call(|reply| (ledger.letter(0), reply)));
        assert!(poll(call.as_mut()).is_pending());
        let mut life = lives.recv().unwrap();
        if polled {
            assert!(poll(Pin::new(&mut life)).is_pending());
        }
        drop(life);
        assert!(matches!(actor.exit(), Some(Exit::Killed)));
        assert!(block_on(call).is_err());
        assert_eq!(ledger.alive(), 0);
    }
    // By an executor that takes nothing.
    let actor = holds(Builder::new().executor(drop), ledger.letter(9));
    assert!(matches!(actor.exit(), Some(Exit::Killed)));
    // With its executor.
    let tokio = tokio(2);
    let actor = holds(on(&tokio), ledger.letter(9));
    actor
        .call(|reply| (ledger.letter(1), reply))
        .wait()
        .unwrap();
    let builder = on(&tokio);
    drop(tokio);
    assert!(matches!(actor.exit(), Some(Exit::Killed)));
    assert_eq!(ledger.alive(), 0);
    let late = holds(builder, ledger.letter(9));
    assert!(matches!(late.exit(), Some(Exit::Killed)));
}

#[test]
fn an_executor_that_panics_has_killed_the_actor_and_the_panic_is_the_starters() {
    let _watchdog = watchdog();
    let (tell, told) = channel();
    let builder = Builder::new().executor(|_| crash("no thread"));
    let started = catch_unwind(AssertUnwindSafe(|| {
        builder.spawn(|mailbox: Mailbox<()>| {
            tell.send(mailbox.this().any()).unwrap();
            async move { drop(mailbox) }
        })
    }));
    assert_eq!(
        started.unwrap_err().downcast_ref::<&str>(),
        Some(&"no thread")
    );
    assert!(matches!(told.recv().unwrap().exit(), Some(Exit::Killed)));
}

#[test]
fn where_it_runs_is_what_was_said_last() {
    let _watchdog = watchdog();
    let here = |mut mailbox: Mailbox<Reply<thread::ThreadId>>| async move {
        while let Ok(reply) = mailbox.recv().await {
            let _ = reply.send(thread::current().id());
        }
    };
    let given = Builder::new().blocking().executor(hops).spawn(here);
    given.call(|reply| reply).wait().unwrap();
    let (builder, lives) = to_a_hand();
    let builder = builder.blocking();
    let tried = catch_unwind(AssertUnwindSafe(|| builder.clone().spawn(here)));
    assert!(tried.is_err(), "no runtime has a thread for it");
    run(&pool(1), async move {
        let blocking = builder.spawn(here);
        blocking.call(|reply| reply).await.unwrap();
    });
    assert!(lives.try_recv().is_err());
}

#[test]
fn one_that_is_polled_inside_of_another_takes_its_messages_and_ends() {
    let _watchdog = watchdog();
    let (builder, lives) = to_a_hand();
    let outer = builder
        .clone()
        .spawn(|mut mailbox: Mailbox<Driver>| async move {
            while let Ok(mut inner) = mailbox.recv().await {
                poll_fn(|cx: &mut Context<'_>| Pin::new(&mut inner).poll(cx)).await;
            }
        });
    let life = lives.recv().unwrap();
    let counter: CounterRef = builder.start(Tally(0));
    outer.send(lives.recv().unwrap()).wait().unwrap();
    let thread = thread::spawn(|| block_on(life));
    block_on(async {
        assert_eq!(counter.get().await.unwrap(), 0);
        counter.any().kill();
        counter.any().down().await;
    });
    drop(outer);
    thread.join().unwrap();
}
