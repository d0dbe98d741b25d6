//! The scheduler: fairness, rescue, threads outside, start and stop, quiet when idle.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::both::{on_all, on_pools, pool, run, seeded, watchdog};
#[cfg(target_os = "linux")]
use crate::threads;
use tidings::sched::{Handle, Seeded};
use tidings::{Event, Runtime, after, channel, oneshot, unbounded, yield_now};

/// Long enough for anything that is not stuck.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_task_that_is_always_ready_starves_nobody() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let rt = pool(workers);
        let hogs: Vec<_> = (0..4)
            .map(|_| {
                rt.spawn(async {
                    loop {
                        yield_now().await;
                    }
                })
            })
            .collect();
        run(&rt, async {
            after(Duration::from_millis(1)).await;
            tidings::spawn(async {}).await.unwrap();
        });
        hogs.iter().for_each(tidings::JoinHandle::abort);
    }
}

#[test]
fn a_task_whose_channel_is_always_ready_starves_nobody() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let rt = pool(workers);
        let (tx, rx) = unbounded();
        // It never waits: the budget alone makes it yield.
        let hog = rt.spawn(async move {
            loop {
                tx.send(1).await.unwrap();
                rx.recv().await.unwrap();
            }
        });
        run(&rt, async { tidings::spawn(async {}).await.unwrap() });
        hog.abort();
    }
}

#[test]
fn two_tasks_that_wake_each_other_starve_nobody() {
    let _watchdog = watchdog();
    for workers in [1, 2] {
        let rt = pool(workers);
        for _ in 0..workers {
            let ((a, b), (c, d)) = (channel(), channel());
            drop(rt.spawn(async move {
                while let Ok(n) = b.recv().await {
                    if c.send(n).await.is_err() {
                        break;
                    }
                }
            }));
            drop(rt.spawn(async move {
                loop {
                    a.send(1).await.unwrap();
                    d.recv().await.unwrap();
                }
            }));
        }
        run(&rt, async {
            after(Duration::from_millis(1)).await;
            tidings::spawn(async {}).await.unwrap();
        });
    }
}

#[test]
fn what_busy_tasks_spawn_does_not_pile_up() {
    let _watchdog = watchdog();
    let rt = pool(1);
    let (alive, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let busy: Vec<_> = (0..4)
        .map(|_| {
            let (alive, most) = (Arc::clone(&alive), Arc::clone(&most));
            rt.spawn(async move {
                for _ in 0..5_000 {
                    most.fetch_max(alive.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
                    let alive = Arc::clone(&alive);
                    drop(tidings::spawn(async move {
                        alive.fetch_sub(1, Ordering::Relaxed);
                    }));
                    yield_now().await;
                }
            })
        })
        .collect();
    run(&rt, async {
        for busy in busy {
            busy.await.unwrap();
        }
    });
    let most = most.load(Ordering::Relaxed);
    assert!(most < 5_000, "{most} of 20,000 waited for their first turn");
}

/// Blocks the worker until `done` hears of the others: if they are stuck behind it, it fails.
fn block_until(done: &mpsc::Receiver<()>) {
    done.recv_timeout(PATIENCE)
        .expect("the task behind a long poll gets out");
}

#[test]
fn a_task_spawned_before_a_long_poll_gets_out() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        for _ in 0..20 {
            let (tell, done) = mpsc::channel();
            drop(tidings::spawn(async move { tell.send(()).unwrap() }));
            block_until(&done);
            yield_now().await;
        }
    });
}

#[test]
fn a_task_woken_before_a_long_poll_gets_out() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        for _ in 0..20 {
            let (tell, done) = mpsc::channel();
            let (tx, rx) = unbounded();
            drop(tidings::spawn(async move {
                rx.recv().await.unwrap();
                tell.send(()).unwrap();
            }));
            yield_now().await;
            // Into the slot of the task woken last.
            tx.send(()).await.unwrap();
            block_until(&done);
        }
    });
}

#[test]
fn a_task_woken_before_a_long_poll_gets_out_though_everybody_slept() {
    let _watchdog = watchdog();
    for workers in [2, 4] {
        let rt = pool(workers);
        for _ in 0..5 {
            let (tell, done) = mpsc::channel();
            let (tx, rx) = unbounded();
            drop(rt.spawn(async move {
                rx.recv().await.unwrap();
                tell.send(()).unwrap();
            }));
            // Time passes until all workers sleep.
            std::thread::sleep(Duration::from_millis(30));
            let hog = rt.spawn(async move {
                tx.send(()).await.unwrap();
                block_until(&done);
            });
            rt.block_on(hog).unwrap();
        }
    }
}

#[test]
fn a_timer_behind_a_long_poll_fires_elsewhere() {
    let _watchdog = watchdog();
    let rt = pool(2);
    run(&rt, async {
        let (tell, done) = mpsc::channel();
        let (tx, rx) = oneshot();
        drop(tidings::spawn(async move {
            rx.await.unwrap();
            after(Duration::from_millis(5)).await;
            tell.send(()).unwrap();
        }));
        tx.send(()).unwrap();
        yield_now().await;
        block_until(&done);
    });
}

#[test]
fn a_timer_of_the_worker_that_is_in_a_long_poll_fires() {
    struct Tell(mpsc::Sender<()>);
    impl Wake for Tell {
        fn wake(self: Arc<Self>) {
            self.0.send(()).unwrap();
        }
    }
    let _watchdog = watchdog();
    run(&pool(2), async {
        let (tell, done) = mpsc::channel();
        let waker = Waker::from(Arc::new(Tell(tell)));
        // Enrolled with this worker, which then stays in this poll.
        let mut timer = pin!(after(Duration::from_millis(5)).into_future());
        let mut context = Context::from_waker(&waker);
        assert!(timer.as_mut().poll(&mut context).is_pending());
        block_until(&done);
    });
}

#[test]
fn blocking_work_that_waits_for_each_other_gets_a_thread_each() {
    let _watchdog = watchdog();
    for _ in 0..50 {
        let rt = pool(1);
        // Leaves one thread free, sooner or later.
        rt.spawn_blocking(|| ()).join().wait().unwrap();
        for _ in 0..1_000 {
            std::hint::spin_loop();
        }
        let both = Arc::new(Barrier::new(2));
        let [mut one, mut two] = [(); 2].map(|()| {
            let both = Arc::clone(&both);
            rt.spawn_blocking(move || both.wait().is_leader())
        });
        one.join().wait().unwrap();
        two.join().wait().unwrap();
    }
}

#[test]
fn threads_outside_spawn_and_wake() {
    let _watchdog = watchdog();
    for workers in [1, 2, 8] {
        let rt = pool(workers);
        let threads: Vec<_> = (0..4)
            .map(|n: u64| {
                let handle = rt.handle();
                std::thread::spawn(move || {
                    let mut sum = 0;
                    for round in 0..200 {
                        let (tx, rx) = channel();
                        let task = handle.spawn(async move { rx.recv().await.unwrap() + n });
                        tx.send_blocking(round).unwrap();
                        sum += task.into_future_blocking();
                    }
                    sum
                })
            })
            .collect();
        for (n, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().unwrap(), 199 * 200 / 2 + 200 * n as u64);
        }
    }
}

trait JoinBlocking<T> {
    fn into_future_blocking(self) -> T;
}

impl<T> JoinBlocking<T> for tidings::JoinHandle<T> {
    fn into_future_blocking(mut self) -> T {
        self.join().wait().unwrap()
    }
}

#[test]
fn a_seeded_runtime_hears_threads_outside_wherever_it_runs() {
    let _watchdog = watchdog();
    let rt = seeded(3);
    // Built here, run there: the wake must find the thread that waits.
    std::thread::spawn(move || {
        let (tx, rx) = unbounded();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            tx.send_blocking(5).unwrap();
        });
        assert_eq!(rt.block_on(async move { rx.recv().await }), Ok(5));
        other.join().unwrap();
        let (tx, rx) = unbounded();
        let task = rt.spawn(async move { rx.recv().await.unwrap() });
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            tx.send_blocking(6).unwrap();
        });
        assert_eq!(rt.block_on(task).unwrap(), 6);
        other.join().unwrap();
    })
    .join()
    .unwrap();
}

#[test]
fn work_that_blocks_runs_beside_the_workers() {
    let _watchdog = watchdog();
    let rt = Runtime::builder()
        .workers(1)
        .blocking_threads(3)
        .build()
        .unwrap();
    run(&rt, async {
        let (tx, rx) = unbounded();
        let jobs: Vec<_> = (0..10)
            .map(|n| {
                let rx = rx.clone();
                tidings::spawn_blocking(move || rx.recv_blocking().unwrap() + n)
            })
            .collect();
        for n in 0..10 {
            tx.send(n * 100).await.unwrap();
        }
        let mut sum = 0;
        for job in jobs {
            sum += job.await.unwrap();
        }
        assert_eq!(sum, 45 * 101);
        let failed = tidings::spawn_blocking(|| std::panic::resume_unwind(Box::new("no")));
        assert_eq!(failed.await.unwrap_err().panic_message(), Some("no"));
    });
}

#[test]
#[cfg(target_os = "linux")]
fn an_idle_runtime_uses_no_cpu() {
    let _watchdog = watchdog();
    let rt = Runtime::builder().workers(8).name("quiet").build().unwrap();
    let (_tx, rx) = unbounded::<u8>();
    drop(rt.spawn(async move { rx.recv().await }));
    let far = rt.spawn(async { after(Duration::from_secs(3600)).await });
    // One of them sleeps in the poller.
    #[cfg(unix)]
    drop(rt.spawn(async {
        let here = tidings::net::TcpListener::bind(([127, 0, 0, 1], 0));
        here.unwrap().accept().await
    }));
    rt.block_on(async { tidings::spawn(async {}).await.unwrap() });
    std::thread::sleep(Duration::from_millis(100));
    let before = (threads::ticks("quiet"), threads::switches("quiet"));
    std::thread::sleep(Duration::from_millis(300));
    let after = (threads::ticks("quiet"), threads::switches("quiet"));
    assert!(
        after.0 - before.0 <= 1,
        "{} ticks of 10 ms",
        after.0 - before.0
    );
    assert!(
        after.1 - before.1 <= 8,
        "{} wake-ups of 8 idle workers",
        after.1 - before.1
    );
    drop(far);
}

#[test]
fn waiting_inside_a_worker_panics_and_says_why() {
    let _watchdog = watchdog();
    let sentence = "a worker of a tidings runtime must not wait";
    let nested = Arc::new(pool(1));
    let nested_seeded = seeded(2);
    run(&pool(1), async move {
        let waits: [Box<dyn FnOnce() + Send>; 3] = [
            Box::new(move || nested.block_on(async {})),
            Box::new(|| tidings::always(()).wait()),
            Box::new(move || nested_seeded.block_on(async {})),
        ];
        for (n, wait) in waits.into_iter().enumerate() {
            let error = tidings::spawn(async move { wait() }).await.unwrap_err();
            assert!(
                error.panic_message().unwrap_or("").contains(sentence),
                "{n}: {error}"
            );
        }
    });
}

#[test]
fn a_panic_of_the_root_future_leaves_the_runtime_usable() {
    let _watchdog = watchdog();
    for rt in [pool(1), seeded(1)] {
        let root = std::panic::AssertUnwindSafe(|| {
            rt.block_on(async { std::panic::resume_unwind(Box::new("root")) })
        });
        assert!(std::panic::catch_unwind(root).is_err());
        assert_eq!(
            rt.block_on(async { tidings::spawn(async { 1 }).await.unwrap() }),
            1
        );
    }
}

#[test]
#[should_panic(expected = "tidings::spawn needs a runtime")]
fn a_spawn_outside_of_a_runtime_says_so() {
    drop(tidings::spawn(async {}));
}

#[test]
fn a_task_may_spawn_on_another_runtime() {
    async fn worker() -> std::thread::ThreadId {
        std::thread::current().id()
    }
    let _watchdog = watchdog();
    let (a, b) = (pool(2), pool(2));
    let handle = b.handle();
    run(&a, async move {
        for n in 0..200 {
            let (tx, rx) = channel();
            let there = handle.spawn(async move { rx.recv().await.unwrap() + 1 });
            tx.send(n).await.unwrap();
            assert_eq!(there.await.unwrap(), n + 1);
        }
    });
    // There it runs.
    let (a, b) = (pool(1), pool(1));
    let other = run(&b, worker());
    let handle = b.handle();
    let ran = run(&a, async move { handle.spawn(worker()).await.unwrap() });
    assert_eq!(ran, other);
}

#[test]
fn who_is_inside_of_a_runtime_has_its_handle() {
    assert!(Handle::try_current().is_none());
    let rt = pool(3);
    assert_eq!(rt.workers(), 3);
    let inside = run(&rt, async {
        let handle = Handle::try_current().unwrap();
        handle.spawn(async { 7 }).await.unwrap()
    });
    assert_eq!(inside, 7);
}

#[test]
fn a_storm_of_spawns_runs_every_task_once() {
    on_all(|| async {
        let ran = Arc::new(AtomicUsize::new(0));
        let trees: Vec<_> = (0..10)
            .map(|_| {
                let ran = Arc::clone(&ran);
                tidings::spawn(async move {
                    let leaves: Vec<_> = (0..50)
                        .map(|_| {
                            let ran = Arc::clone(&ran);
                            tidings::spawn(async move {
                                yield_now().await;
                                ran.fetch_add(1, Ordering::Relaxed);
                            })
                        })
                        .collect();
                    for leaf in leaves {
                        leaf.await.unwrap();
                    }
                })
            })
            .collect();
        for tree in trees {
            tree.await.unwrap();
        }
        assert_eq!(ran.load(Ordering::Relaxed), 500);
    });
}

#[test]
fn a_burst_of_tasks_meets_on_all_workers() {
    on_pools(|| async {
        let (tx, rx) = unbounded();
        for n in 0..5_000u64 {
            let tx = tx.clone();
            drop(tidings::spawn(async move {
                yield_now().await;
                tx.send(n).await.unwrap();
            }));
        }
        drop(tx);
        let mut sum = 0;
        while let Ok(n) = rx.recv().await {
            sum += n;
        }
        assert_eq!(sum, 5_000 * 4_999 / 2);
    });
}

#[test]
fn tasks_that_are_always_ready_spread_to_a_worker_that_has_nothing_to_do() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        let (begins, begun) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let stuck = tidings::spawn(async move {
            begins.send(()).unwrap();
            ends.recv().unwrap();
        });
        while begun.try_recv().is_err() {
            yield_now().await;
        }
        // This worker is the only one now: both begin here, and go on here.
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let hogging = Arc::new(AtomicUsize::new(0));
        let hogs = [(); 2].map(|()| {
            let (seen, hogging) = (Arc::clone(&seen), Arc::clone(&hogging));
            tidings::spawn(async move {
                hogging.fetch_add(1, Ordering::Relaxed);
                let is_spread = || {
                    let mut seen = seen.lock().unwrap();
                    seen.insert(format!("{:?}", std::thread::current().id()));
                    seen.len() == 2
                };
                while !is_spread() {
                    yield_now().await;
                }
            })
        });
        while hogging.load(Ordering::Relaxed) < 2 {
            yield_now().await;
        }
        assert_eq!(seen.lock().unwrap().len(), 1);
        end.send(()).unwrap();
        stuck.await.unwrap();
        for hog in hogs {
            hog.await.unwrap();
        }
    });
}

#[test]
fn a_runtime_that_is_run_step_by_step_numbers_its_tasks_and_runs_the_one_that_is_picked() {
    let rt = Runtime::builder().seam(Seeded::new(3)).build().unwrap();
    let numbers = || {
        let mut numbers = Vec::new();
        rt.ready_numbers(&mut numbers);
        numbers
    };
    let twice = || drop(rt.spawn(yield_now()));
    (0..3).for_each(|_| twice());
    assert_eq!(
        (rt.ready(), rt.tasks(), numbers()),
        (3, 3, vec![0, 1, 2]),
        "by their spawns, which they have not begun"
    );
    assert_eq!(rt.step(3), None, "there is no fourth");
    let parties: BTreeSet<_> = (0..3).map(|pick| rt.ready_party(pick)).collect();
    assert!(parties.len() == 3 && !parties.contains(&None));
    let mut polls = [0; 3];
    for pick in [1, 2, 0, 1, 1, 0] {
        let pick = pick % rt.ready();
        let (meant, party) = (numbers()[pick], rt.ready_party(pick));
        assert_eq!(rt.step(pick), Some(meant));
        assert_eq!(rt.last_party(), party);
        polls[meant as usize] += 1;
    }
    assert_eq!(polls, [2; 3], "each keeps its number");
    assert_eq!((rt.ready(), rt.tasks()), (0, 0));
    // The next number, though a task may lie where one of those lay.
    twice();
    assert_eq!(numbers(), [3]);
    assert_eq!((rt.step(0), rt.step(0)), (Some(3), Some(3)));
    let late = rt.spawn(async { after(Duration::from_millis(5)).await });
    assert_eq!((rt.ready(), rt.step(0)), (1, Some(4)));
    assert!(rt.wake_timers().is_some());
    assert!(rt.ready() == 0 && !late.is_finished());
    rt.block_on(async { after(Duration::from_millis(10)).await });
    assert!(late.is_finished());
    assert_eq!(rt.wake_timers(), None);
}

#[test]
fn threads_and_runtimes_draw_numbers_of_their_own() {
    let _watchdog = watchdog();
    let draw = || (0..4).map(|_| tidings::sched::random(1 << 31)).collect();
    let mut drawn: Vec<Vec<usize>> = (0..3)
        .map(|_| std::thread::spawn(draw).join().unwrap())
        .collect();
    // As two processes do: their first workers have the same number.
    drawn.extend((0..3).map(|_| run(&pool(1), async move { draw() })));
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 6);
}

#[test]
fn numbers_below_a_bound_are_as_likely_as_each_other() {
    const EACH: usize = 400;
    let _watchdog = watchdog();
    let draw = || {
        for n in [2, 3, 7, 64] {
            let mut counts = vec![0; n];
            (0..n * EACH).for_each(|_| counts[tidings::sched::random(n)] += 1);
            // Ten times the standard deviation and more.
            let likely = |&count: &usize| (EACH / 2..2 * EACH).contains(&count);
            assert!(counts.iter().all(likely), "{counts:?}");
        }
    };
    draw();
    run(&pool(1), async move { draw() });
}
