//! Tasks: join, panic, abort, detach, and what is dropped when.

use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};

use crate::both::{on_all, on_all_unheard, pool, run, seeded, watchdog};
use crate::hands::{Bomb, Wakes, poll, poll_with};
use crate::letter::{Ledger, Letter};
use crate::process::child;
use tidings::sched::Seeded;
use tidings::{Event, Runtime, oneshot, unbounded, yield_now};

#[test]
fn a_join_gives_the_output() {
    on_all(|| async {
        let tasks: Vec<_> = (0..100)
            .map(|n| tidings::spawn(async move { n * 2 }))
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), n * 2);
        }
    });
}

#[test]
fn a_panic_ends_one_task_and_its_joiner_hears() {
    on_all(|| async {
        let error = tidings::spawn(async { panic!("boom {}", std::hint::black_box(1)) })
            .await
            .unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(error.panic_message(), Some("boom 1"));
        assert_eq!(
            *error
                .try_into_panic()
                .unwrap()
                .downcast::<String>()
                .unwrap(),
            "boom 1"
        );
        assert_eq!(tidings::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn a_task_without_an_output_is_told_with_the_place_where_it_was_started() {
    on_all(|| async {
        // What starts it stands in the line above.
        let says = |error: tidings::JoinError, line: u32, how: &str| {
            let (start, text) = (
                format!("the task started at {}:{}:", file!(), line - 1),
                error.to_string(),
            );
            assert!(text.starts_with(&start), "{text}");
            assert!(text.ends_with(how), "{text}");
        };
        let panics = || async { std::panic::resume_unwind(Box::new("boom")) };
        let error = tidings::spawn(panics()).await;
        says(error.unwrap_err(), line!(), " panicked: boom");
        let task = tidings::spawn(pending::<()>());
        let line = line!();
        task.abort();
        says(task.await.unwrap_err(), line, " was cancelled");
        let mut set = tidings::JoinSet::new();
        set.spawn(panics());
        let line = line!();
        let error = set.join_next().await.unwrap();
        says(error.unwrap_err(), line, " panicked: boom");
        set.spawn(pending()).abort();
        let line = line!();
        let error: Result<(), _> = set.join_next().await.unwrap();
        says(error.unwrap_err(), line, " was cancelled");
    });
}

#[test]
fn a_hundred_panics_leave_every_worker_alive() {
    let _watchdog = watchdog();
    let rt = pool(2);
    for _ in 0..100 {
        drop(rt.spawn(async { std::panic::resume_unwind(Box::new(())) }));
    }
    // Both workers are needed for this.
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let meet = |barrier: Arc<std::sync::Barrier>| async move { barrier.wait().is_leader() };
    let tasks = [
        rt.spawn(meet(Arc::clone(&barrier))),
        rt.spawn(meet(barrier)),
    ];
    rt.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn an_abort_before_the_first_poll_drops_the_future_unpolled() {
    let ledger = Ledger::default();
    let rt = seeded(1);
    rt.block_on(async {
        let letter = ledger.letter(0);
        let task = tidings::spawn(async move {
            drop(letter);
            panic!("polled");
        });
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn an_abort_of_a_waiting_task_drops_its_future() {
    on_all(|| async {
        let ledger = Ledger::default();
        let letter = ledger.letter(0);
        let (tx, rx) = oneshot();
        let task = tidings::spawn(async move {
            let _letter = letter;
            tx.send(()).unwrap();
            pending::<()>().await;
        });
        rx.await.unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn an_abort_of_a_running_task_ends_it_after_its_poll() {
    on_all(|| async {
        let (tx, rx) = unbounded::<tidings::AbortHandle>();
        let task = tidings::spawn(async move {
            rx.recv().await.unwrap().abort();
            // The poll goes on to its end; only then the future is dropped.
            rx.close();
            yield_now().await;
            unreachable!("aborted");
        });
        tx.send(task.abort_handle()).await.unwrap();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(tx.is_closed());
    });
}

#[test]
fn an_abort_of_a_task_that_completes_in_the_same_poll_has_no_effect() {
    on_all(|| async {
        let (tx, rx) = unbounded::<tidings::AbortHandle>();
        let task = tidings::spawn(async move {
            rx.recv().await.unwrap().abort();
            7
        });
        tx.send(task.abort_handle()).await.unwrap();
        assert_eq!(task.await.unwrap(), 7);
    });
}

#[test]
fn an_abort_of_a_finished_task_leaves_its_output() {
    on_all(|| async {
        let task = tidings::spawn(async { 5 });
        while !task.is_finished() {
            yield_now().await;
        }
        let abort = task.abort_handle();
        abort.abort();
        task.abort();
        assert_eq!(task.await.unwrap(), 5);
        assert!(abort.is_finished());
        abort.abort();
    });
}

#[test]
fn aborts_from_many_threads_race_with_completion_and_lose_nothing() {
    let _watchdog = watchdog();
    let rt = pool(2);
    let ledger = Ledger::default();
    for n in 0..2_000 {
        let letter = ledger.letter(n);
        let task = rt.spawn(async move {
            yield_now().await;
            letter
        });
        let abort = task.abort_handle();
        let other = rt.spawn(async move { abort.abort() });
        match rt.block_on(task) {
            Ok(letter) => assert_eq!(letter.n, n),
            Err(error) => assert!(error.is_cancelled()),
        }
        rt.block_on(other).unwrap();
    }
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn join_handles_that_go_while_another_worker_ends_their_tasks_leave_no_output() {
    let _watchdog = watchdog();
    let rt = pool(2);
    let ledger = Ledger::default();
    let letters = ledger.clone();
    let spawner = rt.spawn(async move {
        for n in 0..30_000 {
            let letter = letters.letter(n);
            let task = tidings::spawn(async move { letter });
            (0..n % 256).for_each(|_| std::hint::spin_loop());
            drop(task);
            if n % 32 == 0 {
                yield_now().await;
            }
        }
    });
    rt.block_on(spawner).unwrap();
    drop(rt);
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn a_detached_task_goes_on() {
    on_all(|| async {
        let (tx, rx) = unbounded();
        drop(tidings::spawn(async move {
            yield_now().await;
            tx.send(3).await.unwrap();
        }));
        assert_eq!(rx.recv().await, Ok(3));
    });
}

#[test]
fn an_output_is_dropped_once_whoever_is_left() {
    on_all_unheard(|| async {
        let ledger = Ledger::default();
        for order in 0..6 {
            let letter = ledger.letter(order);
            let (go, wait) = oneshot::<()>();
            let task = tidings::spawn(async move {
                wait.await.unwrap();
                letter
            });
            let abort = task.abort_handle();
            match order {
                0 => {
                    go.send(()).unwrap();
                    assert_eq!(task.await.unwrap().n, 0);
                }
                1 => {
                    drop(task);
                    go.send(()).unwrap();
                    while !abort.is_finished() {
                        yield_now().await;
                    }
                }
                2 => {
                    go.send(()).unwrap();
                    while !task.is_finished() {
                        yield_now().await;
                    }
                    drop(task);
                }
                3 => {
                    drop(abort);
                    go.send(()).unwrap();
                    drop(task);
                }
                4 => {
                    task.abort();
                    drop(abort);
                    drop(task.await);
                }
                _ => {
                    drop((task, go));
                }
            }
        }
        while ledger.alive() > 0 {
            yield_now().await;
        }
    });
}

#[test]
fn an_output_goes_with_the_join_handle_though_an_abort_handle_stays() {
    on_all(|| async {
        let ledger = Ledger::default();
        let letter = ledger.letter(0);
        let task = tidings::spawn(async move { letter });
        let abort = task.abort_handle();
        while !task.is_finished() {
            yield_now().await;
        }
        assert_eq!(ledger.alive(), 1);
        drop(task);
        assert_eq!(ledger.alive(), 0);
        drop(abort);
    });
}

/// Ready at the first poll; its drop panics.
struct BadEnd;

impl Future for BadEnd {
    type Output = u32;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        Poll::Ready(1)
    }
}

impl Drop for BadEnd {
    fn drop(&mut self) {
        panic!("bad end");
    }
}

#[test]
fn a_panic_in_the_drop_of_a_future_is_the_tasks_panic() {
    on_all_unheard(|| async {
        let error = tidings::spawn(BadEnd).await.unwrap_err();
        assert_eq!(error.panic_message(), Some("bad end"));
        let waiting = tidings::spawn(async {
            let _bad = BadEnd;
            pending::<()>().await;
        });
        yield_now().await;
        waiting.abort();
        assert!(waiting.await.is_err());
    });
}

#[expect(
    clippy::async_yields_async,
    reason = "the output is a future only so that its drop can panic"
)]
#[test]
fn a_panic_in_the_drop_of_an_output_harms_nobody() {
    on_all(|| async {
        drop(tidings::spawn(async { BadEnd }));
        let task = tidings::spawn(async { BadEnd });
        while !task.is_finished() {
            yield_now().await;
        }
        drop(task);
        assert_eq!(tidings::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn a_joiners_waker_that_panics_harms_no_worker() {
    let _watchdog = watchdog();
    let rt = pool(1);
    let (go, wait) = oneshot::<()>();
    let mut task = rt.spawn(async move { wait.await.unwrap() });
    let bomb = Waker::from(Arc::new(Bomb));
    assert!(poll_with(Pin::new(&mut task), &bomb).is_pending());
    go.send(()).unwrap();
    assert_eq!(
        rt.block_on(async { tidings::spawn(async { 2 }).await.unwrap() }),
        2
    );
    assert!(task.is_finished());
}

#[test]
fn a_partner_whose_waker_panics_costs_the_one_who_wakes_it_at_most() {
    let _watchdog = watchdog();
    let rt = pool(1);
    let (tx, rx) = unbounded();
    let mut recv = Box::pin(rx.recv().into_future());
    let bomb = Waker::from(Arc::new(Bomb));
    assert!(poll_with(recv.as_mut(), &bomb).is_pending());
    let sender = rt.spawn(async move { tx.send(1).await });
    drop(rt.block_on(sender));
    assert_eq!(poll(recv.as_mut()), Poll::Ready(Ok(1)));
    assert_eq!(
        rt.block_on(async { tidings::spawn(async { 2 }).await.unwrap() }),
        2
    );
}

#[test]
fn a_join_that_loses_a_choice_leaves_the_handle() {
    on_all(|| async {
        let (go, wait) = oneshot::<()>();
        let mut task = tidings::spawn(async move {
            wait.await.unwrap();
            4
        });
        let none = task.join().map(Some).or(tidings::always(None)).biased();
        assert!(none.await.is_none());
        go.send(()).unwrap();
        let some = task.join().map(Some).or(tidings::never());
        assert_eq!(some.await.unwrap().unwrap(), 4);
    });
}

#[test]
#[should_panic(expected = "a join handle gives its output once")]
fn a_join_handle_gives_its_output_once() {
    let rt = seeded(0);
    rt.block_on(async {
        let mut task = tidings::spawn(async {});
        (&mut task).await.unwrap();
        let _ = task.await;
    });
}

#[test]
fn the_last_joiner_to_poll_is_woken() {
    on_all(|| async {
        let (go, wait) = oneshot::<()>();
        let mut task = tidings::spawn(async move { wait.await.unwrap() });
        assert!(poll(Pin::new(&mut task)).is_pending());
        let joiner = tidings::spawn(async move { task.await.unwrap() });
        yield_now().await;
        go.send(()).unwrap();
        joiner.await.unwrap();
    });
}

#[test]
fn a_join_in_a_choice_wakes_the_last_who_polled_it() {
    on_all(|| async {
        let (go, wait) = oneshot::<()>();
        let mut task = tidings::spawn(async move { wait.await.unwrap() });
        let mut join = crate::hands::pinned(task.join().or(tidings::never()));
        assert!(poll(join.as_mut()).is_pending());
        drop(tidings::spawn(async move {
            yield_now().await;
            go.send(()).unwrap();
        }));
        join.await.unwrap();
    });
}

#[test]
fn futures_of_any_size_and_alignment_are_tasks() {
    #[derive(Clone, Copy)]
    #[repr(align(256))]
    struct Wide(u8);
    let rt = pool(2);
    run(&rt, async {
        let big = [7u8; 100_000];
        let task = tidings::spawn(async move {
            yield_now().await;
            big.iter().map(|&n| u64::from(n)).sum::<u64>()
        });
        assert_eq!(task.await.unwrap(), 700_000);
        for _ in 0..10 {
            let wide = Wide(3);
            let task = tidings::spawn(async move {
                yield_now().await;
                assert_eq!((&raw const wide).addr() % 256, 0);
                wide.0
            });
            assert_eq!(task.await.unwrap(), 3);
        }
        tidings::spawn(async {}).await.unwrap();
    });
}

#[test]
fn a_task_that_panics_drops_what_it_held() {
    on_all(|| async {
        let ledger = Ledger::default();
        let letters: Vec<Letter> = (0..3).map(|n| ledger.letter(n)).collect();
        let task = tidings::spawn(async move {
            let _held = letters;
            yield_now().await;
            std::panic::resume_unwind(Box::new("gone"));
        });
        assert_eq!(task.await.unwrap_err().panic_message(), Some("gone"));
        assert_eq!(ledger.alive(), 0);
    });
}

#[test]
fn a_joiner_that_goes_takes_its_waker_with_it() {
    on_all(|| async {
        let (wakes, waker) = Wakes::new();
        let (tx, rx) = oneshot::<()>();
        let mut task = tidings::spawn(async move {
            let _ = rx.await;
        });
        assert!(poll_with(Pin::new(&mut task), &waker).is_pending());
        drop((task, waker));
        tx.send(()).unwrap();
        while Arc::strong_count(&wakes) > 1 {
            yield_now().await;
        }
        assert_eq!(wakes.count(), 0);
    });
}

/// Of a size that tasks of no other test have: the memory of its class is this test's alone.
async fn roomy(told: mpsc::Sender<usize>) {
    let room = [0_u8; 70_000];
    told.send(room.as_ptr().addr()).unwrap();
    yield_now().await;
    std::hint::black_box(&room);
}

#[test]
fn the_memory_of_a_task_is_used_again_when_its_last_handle_is_gone_and_given_back_when_asked() {
    let rt = Runtime::builder().seam(Seeded::new(1)).build().unwrap();
    let (told, places) = mpsc::channel();
    let ended = || {
        let task = rt.spawn(roomy(told.clone()));
        while rt.ready() > 0 {
            rt.step(0);
        }
        (places.recv().unwrap(), task.abort_handle())
    };
    let (first, handle) = ended();
    drop(handle);
    let (second, handle) = ended();
    assert_eq!(second, first);
    let (third, _) = ended();
    assert_ne!(third, second, "the handle keeps the place");
    drop(handle);
    let bytes = tidings::task::trim();
    assert_eq!(bytes % 4096, 0);
    // Both places, which lie in one chunk.
    assert!(bytes >= 140_000 || !cfg!(target_os = "linux"), "{bytes}");
}

/// A trim put empty lists of free slots where others look for slots: a spawn that came just then panicked.
#[test]
fn a_spawn_beside_a_trim_finds_memory() {
    let rt = pool(2);
    let over = Arc::new(AtomicBool::new(false));
    let trims = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                tidings::task::trim();
            }
        })
    };
    run(&rt, async {
        for _ in 0..200 {
            // Of a size that few others have, and more than a thread keeps.
            let tasks = (0..40).map(|_| {
                let large = [1u8; 3000];
                tidings::spawn(async move {
                    yield_now().await;
                    large.iter().map(|&n| u32::from(n)).sum::<u32>()
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                assert_eq!(task.await.unwrap(), 3000);
            }
        }
    });
    over.store(true, Ordering::Relaxed);
    trims.join().unwrap();
}

#[test]
fn a_spawn_outside_of_a_runtime_panics_where_it_is_written() {
    let Some(mut child) = child() else {
        drop(tidings::spawn(async {}));
        return;
    };
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains(&format!("panicked at {}:", file!())),
        "{said}"
    );
}
