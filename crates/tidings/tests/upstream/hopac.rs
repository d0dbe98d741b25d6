//! Hopac's `Tests/AdHocTests/{AltTests,IVarTests,MVarTests,JobTests,TaskTests,StreamTests}.fs`.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;

use crate::both::on_all;
use crate::turns;
use tidings::channel::ivar::IVar;
use tidings::channel::mvar::MVar;
use tidings::event::Nack;
use tidings::{
    Event, Receiver, Sender, after, always, channel, guard, never, try_scope, unbounded, with_nack,
    yield_now,
};

/// A request: the number, where the answer goes, and the nack.
type Request = (u32, Sender<u32>, Nack);

/// Asks a server to add one: an event that withdraws the request if it loses.
fn ask(server: &Sender<Request>, n: u32) -> impl Event<Output = u32> {
    let server = server.clone();
    with_nack(move |nack| {
        let (reply, answer) = channel();
        server.post((n, reply, nack)).ok();
        Answer(answer).recv()
    })
}

/// Keeps the receiving end inside of the event.
struct Answer(Receiver<u32>);

impl Answer {
    fn recv(self) -> impl Event<Output = u32> {
        let (tx, rx) = tidings::oneshot();
        drop(tidings::spawn(async move {
            if let Ok(n) = self.0.recv().await {
                tx.send(n).ok();
            }
        }));
        rx.into_recv().map(|got| got.unwrap_or(0))
    }
}

/// Answers each request, or hears that nobody wants the answer; counts both.
fn serve(requests: Receiver<Request>) -> tidings::JoinHandle<(u32, u32)> {
    tidings::spawn(async move {
        let (mut answered, mut withdrawn) = (0, 0);
        while let Ok((n, reply, nack)) = requests.recv().await {
            let given = reply.send(n + 1).map(|_| true);
            if nack.lost().map(|()| false).or(given).biased().await {
                answered += 1;
            } else {
                withdrawn += 1;
            }
        }
        (answered, withdrawn)
    })
}

/// `AltTests.fs`: a server chooses between the nack and the reply; a client's question gets its
/// answer.
#[test]
fn a_server_answers_or_hears_that_nobody_waits() {
    on_all(|| async {
        let (requests, queue) = unbounded();
        let server = serve(queue);
        assert_eq!(ask(&requests, 2).await, 3);
        for n in 0..20 {
            if n % 2 == 0 {
                assert_eq!(ask(&requests, n).or(never()).await, n + 1);
            } else {
                // Withdrawn at once: another branch is ready.
                assert_eq!(always(0).or(ask(&requests, n)).biased().await, 0);
            }
        }
        drop(requests);
        let (answered, withdrawn) = server.await.unwrap();
        assert_eq!(answered + withdrawn, 21);
        assert!(answered >= 11, "{answered} answered, {withdrawn} withdrawn");
    });
}

/// `IVarTests.fs`: filled twice is an error and changes nothing.
#[test]
fn a_cell_that_is_full_refuses_and_keeps_its_value() {
    on_all(|| async {
        let cell = IVar::new();
        cell.fill(1).unwrap();
        assert_eq!(cell.fill(2), Err(2));
        assert_eq!(*cell.read().await, 1);
        let read = cell.read().map(|n: &i32| i64::from(*n));
        assert_eq!(read.or(always(2)).biased().try_now(), Ok(1));
        // A failure is a value of its own (`IVar.fillFailure`).
        let failed = IVar::<Result<u8, &str>>::new();
        failed.fill(Err("a")).unwrap();
        assert_eq!(failed.fill(Err("b")), Err(Err("b")));
        assert_eq!(*failed.read().await, Err("a"));
    });
}

/// `MVarTests.fs`: read, take and modify in choices; a modification that fails puts the value back.
#[test]
fn an_mvar_is_read_taken_and_modified_in_choices() {
    on_all(|| async {
        let cell = MVar::full(1);
        let read = |cell: &MVar<i32>| {
            let cell = cell.clone();
            async move {
                let n = cell.take().await;
                cell.try_put(n).unwrap();
                n
            }
        };
        assert_eq!(read(&cell).await, 1);
        assert_eq!(cell.take().or(always(2)).biased().await, 1);
        // Empty now: the other branch happens, the modification does not.
        let modified = cell
            .take()
            .map(|n| cell.try_put(n - 1).map(|()| n))
            .or(always(Ok(-2)));
        assert_eq!(modified.await, Ok(-2));
        cell.put(7).await;
        assert_eq!(cell.try_put(8), Err(8), "it is full");
        assert_eq!(cell.put(8).or(always(())).biased().await, ());
        let failed: Result<(), &str> = {
            let n = cell.take().await;
            cell.try_put(n).unwrap();
            Err("known")
        };
        assert_eq!((failed, read(&cell).await), (Err("known"), 7));
    });
}

/// `JobTests.fs`: two jobs that both fail: the error of one comes out, and both have run or ended.
#[test]
fn of_two_that_fail_one_error_comes_out() {
    on_all(|| async {
        let failed: Result<(), u32> = try_scope(async |s| {
            s.try_spawn(async { Err::<(), u32>(1) });
            s.try_spawn(async { Err::<(), u32>(2) });
            Ok(())
        })
        .await;
        assert!(matches!(failed, Err(1 | 2)));
    });
}

/// `TaskTests.fs`: of two tasks in a choice the faster wins, and the slower, told by its nack, has no
/// effect; one that fails at once fails the choice.
#[test]
fn the_faster_of_two_tasks_wins_and_the_other_is_told() {
    fn delayed(
        place: &Arc<AtomicUsize>,
        millis: u64,
    ) -> impl Event<Output = Result<usize, String>> + use<> {
        let place = Arc::clone(place);
        with_nack(move |nack| {
            let (tx, rx) = tidings::oneshot();
            drop(tidings::spawn(async move {
                let time = after(Duration::from_millis(millis)).map(|()| true);
                if nack.lost().map(|()| false).or(time).await {
                    let won = place.compare_exchange(
                        0,
                        millis as usize,
                        Ordering::SeqCst,
                        Ordering::SeqCst,
                    );
                    tx.send(
                        won.map(|_| millis as usize)
                            .map_err(|n| format!("{n} was first")),
                    )
                    .ok();
                }
            }));
            rx.into_recv()
                .map(|got| got.unwrap_or_else(|_| Err("gone".into())))
        })
    }
    on_all(|| async {
        for (a, b) in [(3_600_000, 1), (1, 3_600_000)] {
            let place = Arc::new(AtomicUsize::new(0));
            assert_eq!(delayed(&place, a).or(delayed(&place, b)).await, Ok(1));
            turns(2).await;
            assert_eq!(place.load(Ordering::SeqCst), 1);
        }
        let place = Arc::new(AtomicUsize::new(0));
        let fails = guard(|| always(Err("at once".to_owned())));
        assert_eq!(
            delayed(&place, 3_600_000).or(fails).await,
            Err("at once".into())
        );
        assert_eq!(place.load(Ordering::SeqCst), 0);
        let mut task = tidings::spawn(async { resume_unwind(Box::new("quiet")) });
        let end = task
            .join()
            .map(|end: Result<(), _>| end.is_err())
            .or(never());
        assert!(end.await);
    });
}

/// `StreamTests.fs`: a source that many write to, and fail, ends for its readers with the failure; a
/// part of an endless stream is made, and no more than was asked for.
#[test]
fn a_stream_is_made_as_far_as_it_is_asked_for() {
    on_all(|| async {
        let (tx, rx) = channel();
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let tx = tx.clone();
                tidings::spawn(async move {
                    for _ in 0..50 {
                        tx.send(Ok(0)).await.unwrap();
                    }
                    tx.send(Err("failed")).await.ok();
                })
            })
            .collect();
        drop(tx);
        let mut stream = rx.into_stream();
        let mut values = 0;
        let error = loop {
            match stream.next().await {
                Some(Ok(n)) => values += 1 + n,
                Some(Err(error)) => break error,
                None => unreachable!("it fails first"),
            }
        };
        drop(stream);
        assert!((50..=100).contains(&values) && error == "failed");
        // Who still writes hears that nobody reads.
        for writer in writers {
            drop(writer.await);
        }
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let (tx, rx) = channel();
        let fibs = tidings::spawn(async move {
            let (mut a, mut b) = (0u64, 1);
            loop {
                count.fetch_add(1, Ordering::SeqCst);
                if tx.send(a).await.is_err() {
                    break;
                }
                (a, b) = (b, a + b);
            }
        });
        let first: Vec<_> = rx.into_stream().take(8).collect().await;
        assert_eq!(first, [0, 1, 1, 2, 3, 5, 8, 13]);
        fibs.await.unwrap();
        assert_eq!(made.load(Ordering::SeqCst), 9, "the ninth was on its way");
    });
}

/// `StreamTests.fs: mapPipelinedJob`: so many at once, and the results in the order of the input.
#[test]
fn a_pipeline_works_on_so_many_at_once_in_order() {
    on_all(|| async {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (tx, rx) = unbounded();
        (0..40u64).for_each(|n| tx.try_send(n).unwrap());
        drop(tx);
        let jobs = rx.into_stream().map(|n| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                let job = tidings::spawn(async move {
                    let inside = now.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(inside, Ordering::SeqCst);
                    (0..n % 4).for_each(|_| std::hint::spin_loop());
                    yield_now().await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    n
                });
                job.await.unwrap()
            }
        });
        let all: Vec<_> = jobs.buffered(10).collect().await;
        assert_eq!(all, (0..40).collect::<Vec<_>>());
        assert!((1..=10).contains(&most.load(Ordering::SeqCst)));
    });
}
