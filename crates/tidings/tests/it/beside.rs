//! What is known of the waits of actors beside whose handlers something else runs, and of those on threads of their own:
//! deadlocks are reported and cycles of calls refused though they are there.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::both::{on_all, watchdog};
use crate::deadlock::{PATIENCE, goes_on, reports, says};
use tidings::actor::{
    ActorRef, Builder, CallError, Mailbox, Pool, Reply, Routing, Shared, start, start_with,
};
use tidings::sched::Runtime;
use tidings::{Event, Receiver, Sender, after, oneshot, unbounded};

#[tidings::interface]
trait Ask {
    /// Asks the rest of the way, from its first: was a call refused?
    async fn ask(&mut self, way: Vec<AskRef>) -> bool;
}

struct Asked;

impl Ask for Asked {
    async fn ask(&mut self, mut way: Vec<AskRef>) -> bool {
        if way.is_empty() {
            return false;
        }
        let next = way.remove(0);
        match next.ask(way).await {
            Ok(refused) => refused,
            Err(error) => matches!(error, CallError::Cycle(_)),
        }
    }
}

/// Waits for ever, in a way that is known.
async fn is_stuck() {
    let (_tx, rx) = unbounded::<u8>();
    let _ = rx.recv().await;
}

#[test]
fn an_idle_actor_with_shared_hides_no_deadlock() {
    let found = reports(|| async {
        let idle: AskRef = start_with(|_| Asked);
        assert!(!idle.ask(Vec::new()).await.unwrap());
        is_stuck().await;
    });
    for report in found {
        says(&report, &["Recv<u8> of 0x", "1 wait for messages"]);
    }
}

#[test]
fn what_runs_beside_handlers_may_be_woken_by_foreign_code_as_long_as_it_runs() {
    goes_on(|| async {
        let (tx, rx) = futures::channel::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(3 * PATIENCE);
            tx.send(7).unwrap();
        });
        let (done, ended) = oneshot();
        let _actor: AskRef = start_with(|this: &Shared<Asked>| {
            this.spawn(async move { done.send(rx.await.unwrap()).unwrap() });
            Asked
        });
        ended.await.unwrap()
    });
    let found = reports(|| async {
        let (tx, rx) = futures::channel::oneshot::channel();
        let (done, ended) = oneshot();
        let actor: AskRef = start_with(|this: &Shared<Asked>| {
            this.spawn(async move { done.send(rx.await.unwrap()).unwrap() });
            Asked
        });
        assert!(!actor.ask(Vec::new()).await.unwrap());
        tx.send(7).unwrap();
        assert_eq!(ended.await, Ok(7));
        is_stuck().await;
    });
    for report in found {
        says(&report, &["Recv<u8> of 0x"]);
    }
}

#[test]
fn a_cycle_through_actors_with_shared_is_refused_in_methods_that_have_the_state_to_themselves() {
    on_all(|| async {
        let asked = |timer: bool| -> AskRef {
            start_with(move |this| {
                if timer {
                    this.every("tick", Duration::from_secs(3600), |_| {});
                }
                Asked
            })
        };
        for timers in [[false, false], [false, true], [true, true]] {
            let [a, b] = timers.map(asked);
            for actor in [&a, &b] {
                assert!(!actor.ask(Vec::new()).await.unwrap());
            }
            assert!(a.ask(vec![b.clone(), a.clone()]).await.unwrap());
            assert!(a.ask(vec![a.clone()]).await.unwrap());
            assert!(!b.ask(vec![a.clone()]).await.unwrap());
        }
    });
}

/// On threads, watched: what it gives, or the report.
fn watched<F: Future<Output = u32>>(body: F) -> Result<u32, String> {
    let _watchdog = watchdog();
    let builder = Runtime::builder().workers(2).watch_deadlocks(PATIENCE);
    let runtime = builder.build().unwrap();
    let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(body)));
    ended.map_err(|panic| *panic.downcast::<String>().expect("a report"))
}

/// Who is called next, and the answer.
type Call = (Option<ActorRef<Reply<u32>>>, Reply<u32>);

#[test]
fn an_actor_on_its_own_thread_hides_no_deadlock() {
    let report = watched(async {
        let idle = |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} };
        let _idle = Builder::new().blocking().spawn(idle);
        is_stuck().await;
        0
    });
    says(&report.unwrap_err(), &["Recv<u8> of 0x"]);
    // Nor does one that is in a cycle of calls, which nobody refuses.
    let report = watched(async {
        let threaded = Builder::new().name("threaded").blocking();
        let threaded = threaded.spawn(|mut mailbox: Mailbox<Call>| async move {
            while let Ok((next, reply)) = mailbox.recv().await {
                let answer = match next {
                    Some(next) => next.call(|reply| reply).await.unwrap(),
                    None => 7,
                };
                let _ = reply.send(answer);
            }
        });
        let back = threaded.clone();
        let other = Builder::new().name("other");
        let other = other.spawn(|mut mailbox: Mailbox<Reply<u32>>| async move {
            while let Ok(reply) = mailbox.recv().await {
                let answer = back.call(|reply| (None, reply)).await.unwrap();
                let _ = reply.send(answer);
            }
        });
        threaded.call(|reply| (Some(other), reply)).await.unwrap()
    });
    let words = [
        "a thread for blocking work waits for the answer of other, which has taken the request",
        "other waits for the answer of threaded, with 1 in its mailbox",
    ];
    says(&report.unwrap_err(), &words);
}

#[test]
fn blocking_work_that_waits_for_a_time_or_for_foreign_code_is_no_deadlock() {
    let timed = watched(async {
        let work = tidings::spawn_blocking(|| after(3 * PATIENCE).map(|()| 7).wait());
        work.await.unwrap()
    });
    assert_eq!(timed, Ok(7));
    let foreign = watched(async {
        let (tx, rx) = futures::channel::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(3 * PATIENCE);
            tx.send(7).unwrap();
        });
        let (done, ended) = oneshot();
        let _actor = Builder::new()
            .blocking()
            .spawn(|mut mailbox: Mailbox<()>| async move {
                done.send(rx.await.unwrap()).unwrap();
                while mailbox.recv().await.is_ok() {}
            });
        ended.await.unwrap()
    });
    assert_eq!(foreign, Ok(7));
    let stuck = watched(async {
        let (_tx, rx) = unbounded::<u16>();
        tidings::spawn_blocking(move || rx.recv().wait())
            .await
            .unwrap()
            .unwrap()
            .into()
    });
    let words = ["a thread for blocking work waits for Recv<u16> of 0x"];
    says(&stuck.unwrap_err(), &words);
}

#[test]
fn blocking_work_that_waits_for_what_is_queued_behind_it_hides_no_deadlock() {
    let _watchdog = watchdog();
    let builder = Runtime::builder().blocking_threads(1);
    let runtime = builder.watch_deadlocks(PATIENCE).build().unwrap();
    // What is before it goes on after a time.
    let queued = runtime.block_on(async {
        tidings::spawn_blocking(|| after(3 * PATIENCE).wait());
        tidings::spawn_blocking(|| 7).await.unwrap()
    });
    assert_eq!(queued, 7);
    let stuck = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let waits = || tidings::spawn_blocking(|| 7).join().wait().unwrap_or(0);
            tidings::spawn_blocking(waits).await.unwrap()
        })
    }));
    let report = *stuck.unwrap_err().downcast::<String>().expect("a report");
    let words = [
        "a thread for blocking work waits for the end of the task started at",
        "1 wait for a thread for blocking work",
    ];
    says(&report, &words);
}

#[tidings::interface]
trait Gate {
    async fn pass(this: Shared<Self>, begun: Sender<()>, opens: Receiver<()>) -> ();
}

struct Open;

impl Gate for Open {
    async fn pass(_: Shared<Self>, begun: Sender<()>, opens: Receiver<()>) {
        begun.send(()).await.unwrap();
        let _ = opens.recv().await;
    }
}

#[test]
fn handlers_that_run_beside_each_other_are_the_load_of_their_worker() {
    on_all(|| async {
        let workers: Pool<GateRef> = Pool::start(Routing::LeastLoaded, 3, || start(Open));
        let ((begin, begun), (_shut, opens)) = (unbounded(), unbounded());
        let mut picked: HashMap<u64, usize> = HashMap::new();
        for _ in 0..6 {
            let (worker, begin, opens) = (workers.pick().unwrap(), begin.clone(), opens.clone());
            *picked.entry(worker.id()).or_default() += 1;
            drop(tidings::spawn(
                async move { worker.pass(begin, opens).await },
            ));
            begun.recv().await.unwrap();
        }
        assert_eq!(picked.into_values().collect::<Vec<_>>(), [2, 2, 2]);
    });
}
