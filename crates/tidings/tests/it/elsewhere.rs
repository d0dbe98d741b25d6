//! Actors that other executors run can what any actor can. How they end: `driver.rs`.

use std::future::pending;
use std::pin::Pin;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use futures::executor::block_on;

use crate::both::{on_all, pool, run, watchdog};
use crate::driver::{
    CounterRef, Tally, crash, everywhere, holds, hops, on, on_threads, to_a_hand, tokio,
};
use crate::hands::{pinned, poll};
use crate::letter::Ledger;
use tidings::actor::{
    ActorRef, Builder, CallError, Exit, Group, Mailbox, Registry, Reply, Shared, Strategy,
    Supervisor, Timers,
};
use tidings::{Activity, Event, oneshot, select, unbounded};

/// More than a poll takes.
const MANY: usize = 10_000;

#[tidings::interface]
trait Watch {
    async fn start(this: Shared<Self>);
    async fn ticks(&self) -> u64;
    /// Waits until `leave` is called, while other handlers run.
    async fn enter(this: Shared<Self>) -> u64;
    async fn leave(&mut self);
}

#[derive(Default)]
struct Clock {
    ticks: u64,
    inside: Vec<oneshot::Sender<()>>,
}

impl Watch for Clock {
    async fn start(this: Shared<Self>) {
        this.after("once", Duration::from_millis(1), |clock| clock.ticks += 1);
        this.every("often", Duration::from_millis(1), |clock| clock.ticks += 1);
    }
    async fn ticks(&self) -> u64 {
        self.ticks
    }
    async fn enter(this: Shared<Self>) -> u64 {
        let (leave, gate) = oneshot();
        this.with(|clock| clock.inside.push(leave));
        gate.await.unwrap();
        this.with(|clock| clock.ticks)
    }
    async fn leave(&mut self) {
        for inside in self.inside.drain(..) {
            inside.send(()).unwrap();
        }
    }
}

#[test]
fn it_takes_messages_and_calls_streams_its_answers_and_stops_after_what_has_come() {
    everywhere(|builder| async move {
        let counter: CounterRef = builder.name("counter").start(Tally(0));
        for _ in 0..1000 {
            counter.add(1).await.unwrap();
        }
        assert_eq!(counter.get().await.unwrap(), 1000);
        let mut stream = counter.down_from(5).await.unwrap();
        for n in (0..5).rev() {
            assert_eq!(stream.recv().await.unwrap().unwrap(), n);
        }
        assert!(stream.recv().await.is_none());
        counter.add(1).await.unwrap();
        counter.any().stop();
        assert!(matches!(counter.any().down().await, Exit::Stopped));
        assert!(matches!(
            counter.get().await,
            Err(CallError::NotExecuted(Exit::Stopped))
        ));
        assert_eq!(counter.any().name().as_deref(), Some("counter"));
    });
}

#[test]
fn its_timers_fire_and_its_reentrant_handlers_run_beside_each_other() {
    everywhere(|builder| async move {
        let watch: WatchRef = builder.clone().start(Clock::default());
        watch.start().await.unwrap();
        while watch.ticks().await.unwrap() < 3 {}
        let (one, other, ()) = futures::join!(
            async { watch.enter().await },
            async { watch.enter().await },
            async { watch.leave().await.unwrap() }
        );
        assert!(one.unwrap() >= 3 && other.unwrap() >= 3);
        // A kill drops those that wait.
        let mut inside = pinned(watch.enter());
        assert!(futures::poll!(inside.as_mut()).is_pending());
        watch.any().kill();
        assert!(inside.await.is_err());

        let (tell, told) = unbounded();
        let looped = builder.spawn(move |mut mailbox: Mailbox<u32>| async move {
            let mut timers = Timers::new();
            loop {
                select! {
                    message = mailbox.recv() => match message {
                        Ok(n) => timers.after(n, Duration::from_millis(1), n),
                        Err(_) => return,
                    },
                    n = timers.recv() => tell.send(n).await.unwrap(),
                }
            }
        });
        looped.send(5).await.unwrap();
        assert_eq!(told.recv().await, Ok(5));
    });
}

/// Waits for a stop, and tells then.
fn tells(builder: Builder, n: u32, tell: &tidings::Sender<u32>) -> ActorRef<()> {
    let tell = tell.clone();
    builder.spawn(move |mut mailbox: Mailbox<()>| async move {
        while mailbox.recv().await.is_ok() {}
        tell.send(n).await.unwrap();
    })
}

#[test]
fn its_children_end_before_it_does() {
    everywhere(|builder| async move {
        for way in 0..3 {
            let (tell, told) = unbounded();
            let parent = tells(builder.clone(), 1, &tell);
            let under = |parent: &ActorRef<()>| builder.clone().parent(&parent.any());
            let child = tells(under(&parent), 2, &tell);
            let grandchild = tells(under(&child), 3, &tell);
            match way {
                0 => parent.stop(),
                1 => parent.kill(),
                _ => {}
            }
            let any = parent.any();
            // A kill that comes within a poll counts at its end: until then it must not find that nobody can send.
            let kept = (way == 1).then_some(parent);
            drop(tell);
            let exit = any.down().await;
            drop(kept);
            assert_eq!(matches!(exit, Exit::Killed), way == 1, "{exit:?}");
            for below in [child, grandchild] {
                let exit = below.exit().expect("it ended before its parent");
                assert_eq!(matches!(exit, Exit::Killed), way == 1, "{exit:?}");
            }
            let mut heard = Vec::new();
            while let Ok(n) = told.recv().await {
                heard.push(n);
            }
            assert_eq!(heard, if way == 1 { vec![] } else { vec![1, 2, 3] });
        }
    });
}

#[test]
fn a_kill_reaches_a_parent_that_waits_for_its_children_and_them() {
    let _watchdog = watchdog();
    let (builder, lives) = to_a_hand();
    let parent = builder.clone().spawn(|_: Mailbox<()>| async {});
    let life = lives.recv().unwrap();
    // It does not heed its parent's end.
    let under = on_threads().parent(&parent.any());
    let child = under.spawn(|_mailbox: Mailbox<()>| pending::<()>());
    block_on(life);
    let mut waits = lives.recv().unwrap();
    assert!(poll(Pin::new(&mut waits)).is_pending());
    assert!(parent.exit().is_none() && child.exit().is_none());
    parent.kill();
    block_on(waits);
    // The children are to be killed now, for which it waits, too.
    block_on(lives.recv().unwrap());
    assert!(matches!(child.exit(), Some(Exit::Killed)));
    assert!(matches!(parent.exit(), Some(Exit::Killed)));

    // Where nobody waits for them they are killed, and it ends without.
    let panics = Builder::new().executor({
        let lives = Mutex::new(0);
        move |life| {
            let mut lives = lives.lock().unwrap();
            *lives += 1;
            let first = *lives == 1;
            drop(lives);
            match first {
                true => drop(thread::spawn(|| block_on(life))),
                false => crash("no more"),
            }
        }
    });
    let parent = panics
        .spawn(|mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} });
    let child = on_threads().parent(&parent.any());
    let child = child.spawn(|_mailbox: Mailbox<()>| pending::<()>());
    parent.stop();
    assert!(matches!(parent.down().wait(), Exit::Stopped));
    assert!(matches!(child.down().wait(), Exit::Killed));
}

#[test]
fn it_has_names_and_memberships_until_it_ends() {
    everywhere(|builder| async move {
        let (names, group) = (Registry::new(), Group::new());
        let counter: CounterRef = builder.start(Tally(3));
        names.register("counter", &counter).unwrap();
        let found: CounterRef = names.whereis("counter").unwrap();
        assert_eq!(found.get().await.unwrap(), 3);
        assert!(group.join(&counter) && group.members().len() == 1);
        counter.any().stop();
        counter.any().down().await;
        assert!(names.whereis::<CounterRef>("counter").is_none());
        assert!(group.members().is_empty());
    });
}

#[test]
fn an_inspection_finds_it_and_says_what_it_does() {
    everywhere(|builder| async move {
        let name = format!("guest {:?}", thread::current().id());
        let (go, gate) = oneshot::<()>();
        let actor = builder
            .name(name.clone())
            .spawn(|mut mailbox: Mailbox<()>| async move {
                gate.await.unwrap();
                while mailbox.recv().await.is_ok() {}
            });
        let look = async |wanted: fn(&Activity) -> bool| loop {
            let found = tidings::inspect().actors;
            let named = found.iter().filter(|it| it.name.as_deref() == Some(&name));
            let its: Vec<_> = named.filter(|it| it.id == actor.id()).collect();
            if its.iter().any(|it| wanted(&it.activity)) {
                return its[0].queued;
            }
            thread::yield_now();
            tokio::task::yield_now().await;
        };
        actor.send(()).await.unwrap();
        assert_eq!(look(|does| matches!(does, Activity::Waits(_))).await, 1);
        go.send(()).unwrap();
        assert_eq!(look(|does| *does == Activity::Idle).await, 0);
        actor.stop();
        actor.down().await;
        let found = tidings::inspect().actors;
        assert!(found.iter().all(|it| it.id != actor.id()));
    });
}

#[test]
fn it_lets_others_of_its_executor_run_while_it_has_messages_all_the_time() {
    let _watchdog = watchdog();
    let tokio = tokio(1);
    tokio.block_on(async {
        // It sends to itself, and there is always a message.
        let busy = on(&tokio)
            .unbounded()
            .spawn(|mut mailbox: Mailbox<()>| async move {
                let this = mailbox.this();
                while mailbox.recv().await.is_ok() {
                    if let Some(this) = this.upgrade() {
                        this.send(()).await.unwrap();
                    }
                }
            });
        busy.send(()).await.unwrap();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        busy.stop_now();
        assert!(matches!(busy.down().await, Exit::Stopped));
    });
}

#[test]
fn in_one_poll_it_does_its_share_whatever_else_is_always_ready_and_all_in_it_have_some() {
    let _watchdog = watchdog();
    let (builder, lives) = to_a_hand();
    let channels = [(); 2].map(|()| unbounded::<()>());
    for (tx, _) in &channels {
        (0..MANY).for_each(|_| tx.try_send(()).unwrap());
    }
    let [(_tx, from_one), (_other_tx, from_other)] = channels;
    let (tell, told) = unbounded();
    let actor = builder
        .unbounded()
        .spawn(move |mut mailbox: Mailbox<()>| async move {
            let say = |what: &str| tell.try_send(what.to_owned()).unwrap();
            loop {
                ::tokio::select! {
                    message = mailbox.recv() => match message {
                        Ok(()) => say("message"),
                        Err(_) => break,
                    },
                    value = from_one.recv().into_future() => {
                        value.unwrap();
                        say("value");
                    }
                }
            }
            let takes = async |what| {
                while from_other.recv().await.is_ok() {
                    say(what);
                }
            };
            futures::join!(takes("one"), takes("other"));
        });
    (0..MANY).for_each(|_| drop(actor.try_send(())));
    let mut life = lives.recv().unwrap();
    // What a poll has done.
    let mut does = || {
        let ended = poll(Pin::new(&mut life)).is_ready();
        let done: Vec<String> = std::iter::from_fn(|| told.try_recv().ok()).collect();
        assert!(done.len() < 1000, "{} in one poll", done.len());
        (ended, done)
    };
    assert!(does().1.len() >= 100);
    actor.stop();
    while !does().1.iter().any(|done| done == "other") {}
    let (_, done) = does();
    let count = |what| done.iter().filter(|done| *done == what).count();
    assert!(count("one") > 10 && count("other") > 10, "{done:?}");
}

#[test]
fn its_code_may_block_a_thread_of_its_own_for_as_many_operations_as_it_likes() {
    let _watchdog = watchdog();
    let (tx, rx) = unbounded::<u64>();
    let tokio = tokio(1);
    let sums = on_threads().spawn(|mut mailbox: Mailbox<Reply<u64>>| async move {
        while let Ok(reply) = mailbox.recv().await {
            // In one poll, by our way and by another.
            let waited: u64 = (0..1000).map(|_| rx.recv().wait().unwrap()).sum();
            let blocked: u64 = (0..1000)
                .map(|_| tokio.block_on(rx.recv().into_future()).unwrap())
                .sum();
            reply.send(waited + blocked).unwrap();
        }
    });
    let mut call = pinned(sums.call(|reply| reply));
    assert!(poll(call.as_mut()).is_pending());
    for _ in 0..2000 {
        tx.send(1).wait().unwrap();
    }
    assert_eq!(block_on(call).unwrap(), 2000);
}

#[test]
fn a_call_of_it_that_closes_a_cycle_has_its_timeout() {
    everywhere(|builder| async move {
        let asks = builder.spawn(|mut mailbox: Mailbox<Reply<bool>>| async move {
            let this = mailbox.this().upgrade().unwrap();
            while let Ok(reply) = mailbox.recv().await {
                let call = this.call(|reply| reply);
                let late = call.timeout(Duration::from_millis(1)).await.is_err();
                let _ = reply.send(late);
                // What it has asked itself.
                let _ = mailbox.try_recv();
            }
        });
        assert!(asks.call(|reply| reply).await.unwrap());
        asks.kill();
    });
}

#[test]
fn its_code_is_outside_of_a_runtime_unless_it_has_an_executor_for_what_it_starts() {
    everywhere(|builder| async move {
        let other = builder.clone();
        let starts = builder.spawn(|mut mailbox: Mailbox<Reply<u64>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                let counter: CounterRef = other.clone().start(Tally(5));
                let _ = reply.send(counter.get().await.unwrap());
                tidings::spawn(pending::<()>());
            }
        });
        assert_eq!(starts.call(|reply| reply).await.unwrap(), 5);
        match starts.down().await {
            Exit::Panicked(why) => assert!(why.contains("needs a runtime"), "{why}"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_supervisor_starts_its_life_anew_by_its_executor() {
    let _watchdog = watchdog();
    let rt = pool(2);
    for executor in [on_threads(), Builder::new().executor(hops)] {
        run(&rt, async move {
            let child = executor.interface_child(|| Tally(0));
            let counter: CounterRef = child.reference();
            let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
            counter.add(1).await.unwrap();
            assert!(counter.fails().await.is_err());
            assert_eq!(counter.get().await.unwrap(), 0);
            counter.any().kill();
            counter.any().restarted(2).await.unwrap();
            assert_eq!(counter.get().await.unwrap(), 0);
            assert_eq!(counter.any().incarnation(), 3);
            supervisor.stop();
            supervisor.down().await;
            assert!(counter.any().exit().is_some());
        });
    }
}

#[test]
fn in_a_runtime_a_task_may_be_its_executor() {
    on_all(|| async {
        let builder = Builder::new().executor(|life| drop(tidings::spawn(life)));
        let counter: CounterRef = builder.clone().start(Tally(0));
        counter.add(1).await.unwrap();
        assert_eq!(counter.get().await.unwrap(), 1);
        let parent = builder
            .clone()
            .spawn(|mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} });
        let ledger = Ledger::default();
        let child = holds(builder.parent(&parent.any()), ledger.letter(9));
        let letter = ledger.letter(0);
        let mut call = pinned(child.call(|reply| (letter, reply)));
        assert!(futures::poll!(call.as_mut()).is_pending());
        parent.kill();
        assert!(call.await.is_err());
        parent.down().await;
        assert_eq!(ledger.alive(), 0);
    });
}
