//! Local tasks: on the thread of a `block_on` and nowhere else, woken and aborted from anywhere.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::both::{pool, run, seeded, watchdog};
use tidings::task::AbortHandle;
use tidings::{Event, JoinSet, after, channel, scope, select, spawn_local, unbounded, yield_now};

fn here() -> ThreadId {
    thread::current().id()
}

/// Says on which thread it is dropped, and may do so only where it was made.
pub(crate) struct Stays {
    made: ThreadId,
    pub(crate) dropped: Arc<AtomicUsize>,
    /// It must not be sent.
    _rc: Rc<()>,
}

impl Drop for Stays {
    fn drop(&mut self) {
        if self.made != here() {
            eprintln!("dropped on another thread");
            std::process::abort();
        }
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// How many of its values were dropped.
#[derive(Clone, Default)]
pub(crate) struct Drops(pub(crate) Arc<AtomicUsize>);

impl Drops {
    pub(crate) fn value(&self) -> Stays {
        Stays {
            made: here(),
            dropped: Arc::clone(&self.0),
            _rc: Rc::default(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// In the `block_on` of a runtime, and of a handle on a thread of its own.
fn on_threads<F: Future<Output = ()>>(body: impl Fn() -> F + Sync) {
    let _watchdog = watchdog();
    let runtime = pool(2);
    runtime.block_on(body());
    let handle = runtime.handle();
    thread::scope(|scope| scope.spawn(|| handle.block_on(body())).join().unwrap());
}

/// There, and under a seam, with some seeds.
fn everywhere<F: Future<Output = ()>>(body: impl Fn() -> F + Sync) {
    on_threads(&body);
    let _watchdog = watchdog();
    (0..20).for_each(|seed| seeded(seed).block_on(body()));
}

#[test]
fn a_local_task_keeps_what_must_stay_across_its_awaits() {
    everywhere(|| async {
        let (at, sum) = (here(), Rc::new(Cell::new(0)));
        let tasks: Vec<_> = (0..100)
            .map(|n| {
                let sum = Rc::clone(&sum);
                spawn_local(async move {
                    for _ in 0..n % 5 {
                        yield_now().await;
                        assert_eq!(here(), at);
                    }
                    sum.set(sum.get() + n);
                    Rc::clone(&sum)
                })
            })
            .collect();
        for task in tasks {
            assert!(Rc::ptr_eq(&task.await.unwrap(), &sum));
        }
        assert_eq!(sum.get(), 99 * 50);
    });
}

#[test]
fn whatever_a_program_uses_works_in_a_local_task() {
    tidings::task_local! {
        static NUMBER: u32;
    }
    everywhere(|| async {
        let at = here();
        let task = spawn_local(NUMBER.scope(7, async move {
            let on_a_worker = tidings::spawn(async { here() }).await.unwrap();
            let blocking = tidings::spawn_blocking(here).await.unwrap();
            // Under a seam there is one thread.
            assert_eq!(on_a_worker == at, blocking == at);
            let (tx, rx) = channel();
            let nested = spawn_local(async move { tx.send(Rc::new(1)).await.is_ok() });
            let got = select! {
                got = rx.recv() => *got.unwrap(),
                () = after(Duration::from_secs(3600)) => 0,
            };
            assert!(nested.await.unwrap());
            after(Duration::from_millis(1)).await;
            let (_keeps, never) = channel::<u8>();
            let late = never.recv().timeout(Duration::from_millis(1));
            assert!(late.await.is_err());
            let number = scope(|s| async move { s.spawn(async { 2 }).await.unwrap() }).await;
            let mut set = JoinSet::new();
            set.spawn_local(async { Rc::new(3) });
            let of_set = set.join_next().await.unwrap().unwrap();
            assert_eq!(here(), at);
            got + number + *of_set + NUMBER.get()
        }));
        assert_eq!(task.await.unwrap(), 13);
        assert!(tidings::Handle::try_current().is_some());
    });
}

#[test]
fn a_local_task_is_woken_by_any_thread() {
    on_threads(|| async {
        let (ask, asked) = unbounded();
        let (answer, answered) = channel();
        let local = spawn_local(async move {
            let mut sum = Rc::new(0);
            while let Ok(n) = asked.recv().await {
                *Rc::make_mut(&mut sum) += n;
                answer.send(*sum).await.unwrap();
            }
            *sum
        });
        let other = answered.clone();
        let from_thread = ask.clone();
        let thread = thread::spawn(move || {
            for _ in 0..100 {
                from_thread.try_send(1).unwrap();
                other.recv().wait().unwrap();
            }
        });
        let tasks = [(); 3].map(|()| {
            let (ask, answered) = (ask.clone(), answered.clone());
            tidings::spawn(async move {
                for _ in 0..100 {
                    ask.send(1).await.unwrap();
                    answered.recv().await.unwrap();
                }
            })
        });
        drop((ask, answered));
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(local.await.unwrap(), 400);
        thread.join().unwrap();
    });
}

#[test]
fn only_who_was_woken_is_polled() {
    on_threads(|| async {
        const WAKES: usize = 50;
        let (polls, waker) = (Rc::new(Cell::new(0)), Arc::new(Mutex::new(None::<Waker>)));
        let (seen, sees) = mpsc::channel();
        let mine = Rc::clone(&polls);
        let woken = Arc::clone(&waker);
        let mut local = spawn_local(poll_fn(move |cx| {
            mine.set(mine.get() + 1);
            *woken.lock().unwrap() = Some(cx.waker().clone());
            seen.send(()).unwrap();
            match mine.get() > WAKES {
                true => Poll::Ready(mine.get()),
                false => Poll::Pending,
            }
        }));
        thread::spawn(move || {
            // The next when the one before was heard.
            while let Ok(()) = sees.recv() {
                waker.lock().unwrap().take().unwrap().wake();
            }
        });
        let mut roots = 0;
        let mut join = Box::pin(local.join().into_future());
        let polled = poll_fn(|cx| {
            roots += 1;
            join.as_mut().poll(cx)
        });
        assert_eq!(polled.await.unwrap(), WAKES + 1);
        assert_eq!(roots, 2, "before the local task ran, and when it had ended");
    });
}

#[test]
fn a_local_task_and_the_future_of_block_on_starve_nobody() {
    everywhere(|| async {
        let (stop, alive) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
        let greedy = [(); 3].map(|()| {
            let (stop, alive) = (Rc::clone(&stop), Rc::clone(&alive));
            spawn_local(async move {
                while !stop.get() {
                    alive.set(alive.get() + 1);
                    yield_now().await;
                }
            })
        });
        for _ in 0..100 {
            yield_now().await;
        }
        while alive.get() < 300 {
            yield_now().await;
        }
        // From the outside, too.
        tidings::spawn(yield_now()).await.unwrap();
        stop.set(true);
        for task in greedy {
            task.await.unwrap();
        }
    });
}

#[test]
fn the_future_of_block_on_that_always_finds_something_lets_local_tasks_run() {
    everywhere(|| async {
        let stop = Rc::new(Cell::new(false));
        let stops = Rc::clone(&stop);
        let task = spawn_local(async move { stops.set(true) });
        let (tx, rx) = unbounded();
        while !stop.get() {
            tx.send(1).await.unwrap();
            rx.recv().await.unwrap();
        }
        task.await.unwrap();
    });
}

/// Not where time is virtual: there it passes only while nothing can be done.
#[test]
fn the_future_of_block_on_that_always_finds_something_has_its_time() {
    on_threads(|| async {
        let (tx, rx) = unbounded();
        let busy = async {
            loop {
                tx.send(1).await.unwrap();
                rx.recv().await.unwrap();
            }
        };
        let over: Result<(), _> = tidings::time::timeout(Duration::from_millis(1), busy).await;
        assert!(over.is_err());
    });
}

#[test]
fn a_local_task_whose_channel_is_always_ready_lets_others_run() {
    everywhere(|| async {
        let stop = Rc::new(Cell::new(false));
        let busy = Rc::clone(&stop);
        let task = spawn_local(async move {
            let (tx, rx) = unbounded();
            while !busy.get() {
                tx.send(1).await.unwrap();
                rx.recv().await.unwrap();
            }
        });
        yield_now().await;
        let other = spawn_local(async move { stop.set(true) });
        other.await.unwrap();
        task.await.unwrap();
    });
}

#[test]
fn what_runs_in_a_local_task_leaves_the_budget_of_who_waits_for_it_alone() {
    let (runtime, inner) = (pool(1), pool(1));
    let _watchdog = watchdog();
    // How many polls that many operations take.
    async fn polls() -> u32 {
        let mut polls = 0;
        let mut many = Box::pin(async {
            for _ in 0..1_000 {
                tidings::always(()).await;
            }
        });
        poll_fn(|cx| {
            polls += 1;
            many.as_mut().poll(cx)
        })
        .await;
        polls
    }
    let alone = runtime.block_on(polls());
    runtime.block_on(async {
        let local = spawn_local(async move {
            assert_eq!(inner.block_on(polls()), alone, "inside of a local task");
            yield_now().await;
        });
        local.await.unwrap();
        // So that the poll begins with it, as above.
        yield_now().await;
        assert_eq!(polls().await, alone);
    });
}

#[test]
fn a_panic_ends_one_local_task_and_its_joiner_hears() {
    everywhere(|| async {
        let other = spawn_local(async {
            yield_now().await;
            Rc::new(7)
        });
        let kept = Rc::new(());
        let has = Rc::clone(&kept);
        let task = spawn_local(async move {
            let _has = has;
            yield_now().await;
            resume_unwind(Box::new("on purpose"))
        });
        let ended: Result<(), _> = task.await;
        assert_eq!(ended.unwrap_err().panic_message(), Some("on purpose"));
        assert_eq!(Rc::strong_count(&kept), 1);
        assert_eq!(*other.await.unwrap(), 7);
    });
}

/// A local task in a state, and what aborts it.
async fn aborted(polls: usize, by: impl FnOnce(AbortHandle)) {
    let drops = Drops::default();
    let (has, ready) = (drops.value(), Rc::new(Cell::new(0)));
    let polled = Rc::clone(&ready);
    let task = spawn_local(async move {
        let _has = has;
        poll_fn(|_| {
            polled.set(polled.get() + 1);
            Poll::<()>::Pending
        })
        .await;
    });
    while ready.get() < polls {
        yield_now().await;
    }
    by(task.abort_handle());
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(drops.count(), 1);
}

#[test]
fn an_abort_from_any_thread_drops_the_future_on_its_own() {
    everywhere(|| async {
        for polls in [0, 1] {
            aborted(polls, |handle| handle.abort()).await;
            let by_thread = |handle: AbortHandle| {
                thread::spawn(move || handle.abort()).join().unwrap();
            };
            aborted(polls, by_thread).await;
            let by_task = |handle: AbortHandle| drop(tidings::spawn(async move { handle.abort() }));
            aborted(polls, by_task).await;
            let by_local = |handle: AbortHandle| drop(spawn_local(async move { handle.abort() }));
            aborted(polls, by_local).await;
        }
    });
}

#[test]
fn an_output_is_dropped_on_its_thread_whoever_is_left() {
    everywhere(|| async {
        // The handle goes first, or last, or takes it; and an abort handle is dropped elsewhere at the end.
        for way in 0..3 {
            let drops = Drops::default();
            let (has, gives) = (drops.value(), drops.value());
            let task = spawn_local(async move {
                let _has = has;
                yield_now().await;
                gives
            });
            let abort = task.abort_handle();
            match way {
                0 => drop(task),
                1 => {
                    while !task.is_finished() {
                        yield_now().await;
                    }
                    assert_eq!(drops.count(), 1);
                    drop(task);
                }
                _ => drop(task.await.unwrap()),
            }
            while !abort.is_finished() {
                yield_now().await;
            }
            assert_eq!(drops.count(), 2);
            thread::spawn(move || drop(abort)).join().unwrap();
        }
        // Of a task that has not ended it drops nothing.
        let drops = Drops::default();
        let has = drops.value();
        let task = spawn_local(async move {
            let _has = has;
            pending::<()>().await;
        });
        yield_now().await;
        let abort = task.abort_handle();
        drop(task);
        thread::spawn(move || drop(abort)).join().unwrap();
        assert_eq!(drops.count(), 0);
    });
}

#[test]
fn a_block_on_inside_of_another_has_local_tasks_of_its_own() {
    let _watchdog = watchdog();
    let (outer, inner) = (pool(1), pool(1));
    let drops = Drops::default();
    outer.block_on(async {
        let ran = Rc::new(Cell::new(0));
        let count = Rc::clone(&ran);
        let waits = spawn_local(async move {
            count.set(count.get() + 1);
            yield_now().await;
            count.set(count.get() + 1);
        });
        for handle in [outer.handle(), inner.handle()] {
            handle.block_on(async {
                let has = drops.value();
                drop(spawn_local(async move {
                    let _has = has;
                    pending::<()>().await;
                }));
                assert_eq!(*spawn_local(async { Rc::new(1) }).await.unwrap(), 1);
                yield_now().await;
            });
        }
        // Those of the outer one wait for that, as its future does.
        assert_eq!((drops.count(), ran.get()), (2, 0));
        waits.await.unwrap();
        assert_eq!(ran.get(), 2);
        // A local task may wait for one, too.
        let handle = inner.handle();
        let waits = spawn_local(async move {
            handle.block_on(async { spawn_local(async { Rc::new(3) }).await.unwrap() })
        });
        assert_eq!(*waits.await.unwrap(), 3);
    });
}

/// What it panics with.
pub(crate) fn said<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(f()))).unwrap_err();
    match panic.downcast::<&str>() {
        Ok(said) => (*said).to_owned(),
        Err(panic) => *panic.downcast::<String>().unwrap(),
    }
}

#[test]
fn a_local_task_is_refused_where_no_thread_is_sure_to_stay() {
    let _watchdog = watchdog();
    let outside = "spawn_local needs a block_on";
    assert!(said(|| spawn_local(async {})).contains(outside));
    let runtime = pool(1);
    run(&runtime, async {
        assert!(said(|| spawn_local(async {})).contains("in a task that workers run"));
        let blocking = tidings::spawn_blocking(|| said(|| spawn_local(async {})));
        assert!(
            blocking
                .await
                .unwrap()
                .contains("spawn_local needs a block_on")
        );
    });
    // But in blocking work a block_on may be.
    let blocking = runtime.spawn_blocking(|| {
        let handle = tidings::Handle::current();
        handle.block_on(async { *spawn_local(async { Rc::new(5) }).await.unwrap() })
    });
    assert_eq!(runtime.block_on(blocking).unwrap(), 5);
    // Not on a worker.
    let nested = runtime.handle();
    run(&runtime, async move {
        assert!(said(|| nested.block_on(async {})).contains("must not wait"));
    });
}

#[test]
fn local_tasks_are_counted() {
    for runtime in [pool(2), seeded(1)] {
        let _watchdog = watchdog();
        let waits = runtime.spawn(pending::<()>());
        runtime.block_on(async {
            let locals = [(); 3].map(|()| spawn_local(pending::<()>()));
            assert_eq!(tidings::inspect().tasks, 4);
            locals[0].abort();
            while tidings::inspect().tasks > 3 {
                yield_now().await;
            }
        });
        runtime.block_on(async { assert_eq!(tidings::inspect().tasks, 1) });
        drop(waits);
    }
}

#[test]
fn many_threads_have_local_tasks_that_wake_each_other() {
    let _watchdog = watchdog();
    let runtime = pool(2);
    let handle = runtime.handle();
    let rings = [(); 2].map(|()| [(); 4].map(|()| unbounded::<usize>()));
    thread::scope(|scope| {
        for at in 0..4 {
            let (handle, rings) = (&handle, &rings);
            scope.spawn(move || {
                handle.block_on(async {
                    let mine = here();
                    // One in each ring.
                    let tasks = rings.each_ref().map(|ring| {
                        let (to, from) = (ring[(at + 1) % 4].0.clone(), ring[at].1.clone());
                        if at == 0 {
                            to.try_send(1_000).unwrap();
                        }
                        spawn_local(async move {
                            let stays = Rc::new(mine);
                            loop {
                                let n = from.recv().await.unwrap();
                                assert_eq!(here(), *stays);
                                to.send(n.saturating_sub(1)).await.unwrap();
                                if n == 0 {
                                    break;
                                }
                            }
                        })
                    });
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
            });
        }
    });
}

#[test]
fn inside_of_a_block_on_nobody_waits_for_an_event_for_the_threads_sake() {
    let _watchdog = watchdog();
    let rt = pool(1);
    let waits = || catch_unwind(|| tidings::always(1).wait()).is_err();
    assert!(rt.block_on(async { waits() }), "its future");
    assert!(rt.block_on(async { spawn_local(async move { waits() }).await.unwrap() }));
    assert!(rt.handle().block_on(async { waits() }));
    // Blocking work may, and so may the thread afterwards.
    let work = rt.spawn_blocking(|| tidings::always(1).wait());
    assert_eq!(rt.block_on(work).unwrap(), 1);
    assert_eq!(tidings::always(1).wait(), 1);
}
