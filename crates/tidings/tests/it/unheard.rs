//! Panics that nobody hears of: `Builder::watch_panics` finds them, and no others.

use std::any::Any;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::both::watchdog;
use futures::poll;
use tidings::actor::{self, ActorRef, Child, Mailbox, Reply, Strategy, Supervisor};
use tidings::sched::{Builder, Runtime, Seeded};
use tidings::task::named;
use tidings::{
    AbortHandle, Event, JoinHandle, JoinSet, Receiver, after, oneshot, scope, select, spawn,
    spawn_blocking, spawn_local, unbounded, yield_now,
};

fn boom() -> ! {
    resume_unwind(Box::new("boom"))
}

/// Panics as it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        boom();
    }
}

/// On threads, one and several, and under a seam.
fn builders() -> [Builder; 3] {
    [
        Runtime::builder().workers(1),
        Runtime::builder().workers(4),
        Runtime::builder().seam(Seeded::new(7)),
    ]
}

fn watching(builder: Builder) -> Runtime {
    builder.watch_panics().build().unwrap()
}

/// Ends a runtime; gives who has panicked without being heard.
fn end(runtime: Runtime) -> Vec<String> {
    let Err(unheard) = runtime.end() else {
        return Vec::new();
    };
    let text = unheard.to_string();
    let lines = unheard.iter().map(|(who, message)| {
        let line = format!("{who} panicked: {message}");
        assert!(text.contains(&line), "{line:?} is not in {text:?}");
        line
    });
    lines.collect()
}

/// In each of the runtimes so many panics are unheard, in these words.
fn is_unheard<F: Future<Output = ()>>(times: usize, words: &[&str], body: impl Fn() -> F) {
    let _watchdog = watchdog();
    for builder in builders() {
        let runtime = watching(builder);
        runtime.block_on(body());
        let told = end(runtime);
        assert_eq!(told.len(), times, "{told:?}");
        for one in told {
            for word in words {
                assert!(one.contains(word), "{word:?} is not in {one:?}");
            }
        }
    }
}

fn is_heard<F: Future<Output = ()>>(body: impl Fn() -> F) {
    is_unheard(0, &[], body);
}

/// What a task has that is to panic.
type Guard = Box<dyn Any + Send>;

/// Waits until what `start` has started has dropped the guard.
async fn gone(start: impl FnOnce(Guard)) {
    let (guard, gone) = oneshot::<()>();
    start(Box::new(guard));
    assert!(gone.await.is_err());
}

async fn panics(guard: Guard) {
    let _guard = guard;
    boom();
}

/// Waits until the task has ended, and does not look.
async fn ended<T>(task: &JoinHandle<T>) {
    while !task.is_finished() {
        yield_now().await;
    }
}

type Frail = ActorRef<Option<Reply<u32>>>;

/// Panics at its first message.
async fn first(mut mailbox: Mailbox<Option<Reply<u32>>>, guard: Guard) {
    let _guard = guard;
    let _message = mailbox.recv().await;
    boom();
}

fn frail(guard: Guard) -> Frail {
    let builder = actor::Builder::new().name("frail");
    builder.spawn(|mailbox| first(mailbox, guard))
}

#[test]
fn a_panic_of_a_task_that_was_let_go_is_told_with_its_name_and_line() {
    let words = [
        "the task \"tea\" started at ",
        "unheard.rs:",
        " panicked: boom",
    ];
    is_unheard(1, &words, || {
        gone(|guard| drop(spawn(named("tea", panics(guard)))))
    });
    let words = ["the task started at ", "unheard.rs:", " panicked: boom"];
    is_unheard(1, &words, || gone(|guard| drop(spawn(panics(guard)))));
    is_unheard(1, &words, || gone(|guard| drop(spawn_local(panics(guard)))));
    is_unheard(1, &words, || {
        gone(|guard| {
            drop(spawn_blocking(move || {
                let _guard = guard;
                boom();
            }));
        })
    });
}

#[test]
fn a_panic_is_unheard_though_its_handle_is_kept_and_not_looked_at() {
    is_unheard(1, &["unheard.rs:"], || async {
        let task = spawn(async { boom() });
        ended(&task).await;
    });
    // Others look, wait for something else, or have stopped waiting.
    static KEPT: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
    is_unheard(3, &["unheard.rs:"], || async {
        let abort = spawn(async { boom() }).abort_handle();
        while !abort.is_finished() {
            yield_now().await;
        }
        let (go, wait) = oneshot::<()>();
        let mut task = spawn(async move {
            wait.await.unwrap();
            boom();
        });
        assert!(poll!(&mut task).is_pending());
        assert!(task.join().timeout(Duration::ZERO).await.is_err());
        go.send(()).unwrap();
        ended(&task).await;
        let kept = spawn(async { boom() });
        ended(&kept).await;
        KEPT.lock().unwrap().push(kept);
    });
    KEPT.lock().unwrap().clear();
    is_unheard(1, &["unheard.rs:"], || async {
        let mut set = JoinSet::new();
        let aborts = [(); 2].map(|()| set.spawn(async { boom() }));
        while !aborts.iter().all(AbortHandle::is_finished) {
            yield_now().await;
        }
        assert!(set.join_next().await.unwrap().is_err());
    });
    is_unheard(1, &["unheard.rs:"], || {
        gone(|guard| {
            let mut set = JoinSet::new();
            set.spawn(panics(guard));
            set.detach_all();
        })
    });
}

#[test]
fn a_panic_that_somebody_hears_is_his_affair() {
    is_heard(|| async {
        assert!(spawn(async { boom() }).await.unwrap_err().is_panic());
        assert!(spawn_local(async { boom() }).await.is_err());
        assert!(spawn_blocking(|| boom()).await.is_err());
        let mut task = spawn(async { boom() });
        assert!(task.join().await.is_err());
        let mut task = spawn(async { boom() });
        let error = select! {
            end = task.join() => end.unwrap_err(),
            () = after(Duration::from_secs(3600)) => unreachable!(),
        };
        assert_eq!(error.panic_message(), Some("boom"));
        let payload = error.try_into_panic().unwrap();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"boom"));
        let mut set = JoinSet::new();
        set.spawn(async { boom() });
        set.spawn_local(async { boom() });
        while let Some(end) = set.join_next().await {
            assert_eq!(end.unwrap_err().panic_message(), Some("boom"));
        }
        // Of several in a scope, which its task goes on with.
        let scoped = scope(|scope| async move {
            for _ in 0..3 {
                scope.spawn(async { boom() });
            }
        });
        let error = spawn(scoped).await.unwrap_err();
        let payload = error.try_into_panic().unwrap();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"boom"));
    });
}

#[test]
fn a_panic_that_is_heard_of_elsewhere_is_heard() {
    let _watchdog = watchdog();
    for builder in builders() {
        let runtime = watching(builder);
        let task = runtime.spawn(async { boom() });
        runtime.block_on(ended(&task));
        let other = Runtime::builder().workers(1).build().unwrap();
        assert!(other.block_on(task).is_err());
        assert_eq!(end(runtime), [""; 0]);
    }
}

#[test]
fn who_goes_on_with_the_panic_of_a_scope_may_be_unheard_himself() {
    is_unheard(1, &["task \"outer\""], || {
        gone(|guard| {
            drop(spawn(named("outer", async move {
                let _guard = guard;
                scope(|scope| async move {
                    scope.spawn(named("inner", async { boom() }));
                })
                .await;
            })));
        })
    });
}

#[test]
fn a_scope_that_is_gone_hears_nothing() {
    let _watchdog = watchdog();
    let runtime = watching(Runtime::builder().workers(1));
    let (entered, dropped) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
    let is = |flag: &AtomicBool| flag.load(Ordering::Acquire);
    runtime.block_on(async {
        let (enters, drops) = (Arc::clone(&entered), Arc::clone(&dropped));
        let mut scoped = Box::pin(scope(|scope| async move {
            scope.spawn(named("late", async move {
                enters.store(true, Ordering::Release);
                // In the poll in which it panics its scope goes.
                while !is(&drops) {
                    std::thread::yield_now();
                }
                boom();
            }));
            std::future::pending::<()>().await;
        }));
        assert!(poll!(&mut scoped).is_pending());
        while !is(&entered) {
            yield_now().await;
        }
        drop(scoped);
        dropped.store(true, Ordering::Release);
    });
    let told = end(runtime);
    assert!(
        told.len() == 1 && told[0].contains("task \"late\""),
        "{told:?}"
    );
}

/// Under a seam, of tasks that `start` starts one panics when it is let go, and nobody runs afterwards.
fn as_it_ends(start: impl FnOnce(&Runtime, Receiver<()>)) -> usize {
    let runtime = watching(Runtime::builder().seam(Seeded::new(7)));
    let (go, wait) = unbounded::<()>();
    start(&runtime, wait);
    while runtime.ready() > 0 {
        runtime.step(0);
    }
    go.post(()).unwrap();
    assert_eq!(runtime.ready(), 1);
    runtime.step(0);
    end(runtime).len()
}

#[test]
fn who_still_waits_to_hear_of_a_panic_as_the_runtime_ends_counts_as_one_who_has() {
    let late = |wait: Receiver<()>| async move {
        wait.recv().await.unwrap();
        boom();
    };
    for (waits, times) in [(true, 0), (false, 1)] {
        let unheard = as_it_ends(|runtime, wait| {
            let task = runtime.spawn(late(wait));
            drop(runtime.spawn(async move {
                if waits {
                    task.await.unwrap();
                    unreachable!();
                }
                std::future::pending::<()>().await;
                drop(task);
            }));
        });
        assert_eq!(unheard, times);
    }
    let unheard = as_it_ends(|runtime, wait| {
        drop(runtime.spawn(async move {
            let mut set = JoinSet::new();
            set.spawn(late(wait));
            set.join_next().await.unwrap().unwrap();
        }));
    });
    assert_eq!(unheard, 0);
    let unheard = as_it_ends(|runtime, wait| {
        drop(runtime.spawn(async move {
            let actor = actor::spawn(|_: Mailbox<()>| late(wait));
            actor.down().await;
        }));
    });
    assert_eq!(unheard, 0);
}

#[test]
fn a_local_task_that_waits_as_block_on_ends_counts_as_one_who_has_heard() {
    let _watchdog = watchdog();
    let runtime = watching(Runtime::builder().workers(1));
    runtime.block_on(async {
        let ((go, wait), (waits, is_waited)) = (oneshot::<()>(), oneshot());
        let task = spawn(async move {
            wait.await.unwrap();
            boom();
        });
        let panicked = task.abort_handle();
        drop(spawn_local(async {
            // It waits in this poll, too.
            waits.send(()).unwrap();
            task.await.unwrap();
        }));
        is_waited.await.unwrap();
        go.send(()).unwrap();
        // In this poll, so that the local task has no other one.
        while !panicked.is_finished() {
            std::thread::yield_now();
        }
    });
    assert_eq!(end(runtime), [""; 0]);
}

#[test]
fn a_panic_of_a_future_that_is_dropped_is_unheard() {
    let waits = |started: tidings::Sender<()>| async move {
        let _bomb = Bomb;
        started.post(()).unwrap();
        std::future::pending::<()>().await;
    };
    // By an abort, and by the end of the runtime.
    is_unheard(2, &["unheard.rs:"], || async {
        let (started, starts) = unbounded();
        let task = spawn(waits(started.clone()));
        starts.recv().await.unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        drop(spawn(waits(started)));
        starts.recv().await.unwrap();
    });
    // Of one that has ended its joiner hears.
    is_heard(|| async {
        struct Late;
        impl Future for Late {
            type Output = ();
            fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
                Poll::Ready(())
            }
        }
        impl Drop for Late {
            fn drop(&mut self) {
                boom();
            }
        }
        assert!(spawn(Late).await.unwrap_err().is_panic());
        let mut set = JoinSet::new();
        set.spawn(Late);
        assert!(set.join_next().await.unwrap().unwrap_err().is_panic());
    });
}

#[test]
fn a_panic_of_an_actor_that_is_left_to_itself_is_told_with_its_name() {
    let words = [
        "the actor \"frail\" started at ",
        "unheard.rs:",
        " panicked: boom",
    ];
    is_unheard(1, &words, || {
        gone(|guard| frail(guard).try_send(None).unwrap())
    });
    let words = ["the actor ", "unheard.rs:", " panicked: boom"];
    is_unheard(1, &words, || {
        gone(|guard| {
            let actor = actor::spawn(|mailbox| first(mailbox, guard));
            actor.try_send(None).unwrap();
        })
    });
    // As its state is dropped.
    is_unheard(1, &["the actor \"bomb\""], || async {
        let (started, starts) = oneshot();
        let actor: Frail = actor::Builder::new().name("bomb").spawn(|_| async move {
            let _bomb = Bomb;
            started.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        starts.await.unwrap();
        actor.kill();
    });
    // On a thread of its own.
    let _watchdog = watchdog();
    let runtime = watching(Runtime::builder().workers(1));
    runtime.block_on(gone(|guard| {
        let builder = actor::Builder::new().name("blocks").blocking();
        let actor = builder.spawn(|mailbox| first(mailbox, guard));
        actor.try_send(None).unwrap();
    }));
    let told = end(runtime);
    assert!(
        told.len() == 1 && told[0].starts_with("the actor \"blocks\""),
        "{told:?}"
    );
}

#[test]
fn a_panic_of_an_actor_is_heard_by_all_who_have_to_do_with_it() {
    let idle = || actor::spawn(|mut mailbox: Mailbox<()>| async move { _ = mailbox.recv().await });
    let guard = || Box::new(()) as Guard;
    is_heard(|| async {
        // Who waits for its end, or asks.
        let actor = frail(guard());
        actor.try_send(None).unwrap();
        assert_eq!(actor.down().await.to_string(), "panicked: boom");
        let actor = frail(guard());
        actor.try_send(None).unwrap();
        while actor.exit().is_none() {
            yield_now().await;
        }
        // A caller, and one whose request is not taken any more.
        let error = frail(guard()).call(Some).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer: the actor panicked: boom");
        let actor = frail(guard());
        actor.try_send(None).unwrap();
        assert!(actor.call(Some).await.is_err());
        // Who sends.
        let actor = frail(guard());
        while actor
            .try_send(None)
            .err()
            .is_none_or(|error| error.is_full())
        {
            yield_now().await;
        }
        // Who is linked to it.
        let (one, two) = (frail(guard()), idle());
        one.link(&two.any());
        one.try_send(None).unwrap();
        assert!(two.down().await.to_string().contains("panicked: boom"));
        // Its supervisor.
        let child = Child::new(|mailbox| first(mailbox, Box::new(())));
        let actor = child.actor_ref();
        let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        actor.try_send(None).unwrap();
        while actor.incarnation() < 2 {
            yield_now().await;
        }
    });
}

#[test]
fn a_panic_is_unheard_in_its_own_runtime_only_and_where_that_watches() {
    let _watchdog = watchdog();
    let watched = watching(Runtime::builder().workers(1));
    for builder in builders() {
        let runtime = builder.build().unwrap();
        watched.block_on(async {
            let handle = runtime.handle();
            drop(handle.spawn(async { boom() }));
        });
        runtime.block_on(gone(|guard| drop(spawn(panics(guard)))));
        assert_eq!(end(runtime), [""; 0]);
    }
    assert_eq!(end(watched), [""; 0]);
}

#[tidings::test]
#[should_panic(expected = "panics that nobody has heard of:\n  the task started at ")]
async fn a_test_fails_of_a_panic_that_nobody_hears() {
    gone(|guard| drop(spawn(panics(guard)))).await;
}

#[tidings::test(panics = false)]
async fn a_test_that_says_so_does_not_fail_of_a_panic_that_nobody_hears() {
    gone(|guard| drop(spawn(panics(guard)))).await;
}

#[tidings::test]
async fn a_test_does_not_fail_of_a_panic_that_is_heard() -> Result<(), String> {
    assert!(spawn(async { boom() }).await.is_err());
    Ok(())
}
