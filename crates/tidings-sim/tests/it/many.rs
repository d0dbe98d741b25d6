//! Of many nodes a step asks those that it concerns: that none is forgotten which another wakes, whose clock is set, or
//! whose timer another drops.

use std::future::{Future, IntoFuture, pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tidings::time::sleep;
use tidings::{spawn_local, unbounded};
use tidings_sim::{Kind, Sim, world};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn who_is_woken_by_another_node_runs_be_he_a_local_task_or_not() {
    Sim::new(0).seeds(20).run(|| async {
        let (asks, asked) = unbounded();
        let (answers, answered) = unbounded();
        let (to, from) = (answers.clone(), asked.clone());
        let _plain = world().node("plain", move || {
            let (to, from) = (to.clone(), from.clone());
            async move {
                let asked: u32 = from.recv().await.unwrap();
                to.send(asked).await.unwrap();
            }
        });
        let _local = world().node("local", move || {
            let (to, from) = (answers.clone(), asked.clone());
            async move {
                let task = spawn_local(async move {
                    let asked: u32 = from.recv().await.unwrap();
                    to.send(asked).await.unwrap();
                });
                task.await.unwrap();
            }
        });
        // Both wait, and nothing else will wake them.
        sleep(SECOND).await;
        for n in [1, 2] {
            asks.send(n).await.unwrap();
        }
        let both = [(); 2].map(|()| answered.recv());
        let mut sum = 0;
        for answer in both {
            sum += answer.await.unwrap();
        }
        assert_eq!(sum, 3);
    });
}

#[test]
fn who_waits_for_a_time_hears_when_his_clock_is_set_beyond_it() {
    Sim::new(0).seeds(5).run(|| async {
        let (late, times) = unbounded();
        let node = world().node("late", move || {
            let late = late.clone();
            async move {
                sleep(100 * SECOND).await;
                late.send(world().elapsed()).await.unwrap();
            }
        });
        sleep(SECOND).await;
        node.skew(1000 * SECOND, 0);
        sleep(SECOND).await;
        assert!(times.try_recv().unwrap() < 2 * SECOND);
    });
}

#[test]
fn no_time_is_waited_for_whose_timer_another_node_has_dropped() {
    let program = || async {
        let left = Arc::new(Mutex::new(None));
        let leaves = Arc::clone(&left);
        let _node = world().node("sleeper", move || {
            let leaves = Arc::clone(&leaves);
            async move {
                let mut timer = Box::pin(sleep(3 * SECOND).into_future());
                let waits = poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx).is_pending())).await;
                assert!(waits);
                *leaves.lock().unwrap() = Some(timer);
                pending::<()>().await;
            }
        });
        world().not_hot_for("time passes", SECOND * 3 / 2, || true);
        sleep(SECOND).await;
        drop(left.lock().unwrap().take().unwrap());
        pending::<()>().await;
    };
    for seed in 0..10 {
        let failure = Sim::new(seed).check(program).unwrap_err();
        assert_eq!(failure.kind, Kind::Deadlock, "{failure}");
    }
}
