//! Local tasks in a simulation: picked and replayed as all others, and at home on its one thread.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidings::time::sleep;
use tidings::{JoinSet, bounded, spawn_local, yield_now};
use tidings_sim::{Kind, Sim, Strategy, world};

/// The orders in which local tasks and others were seen to run.
fn orders(sim: &Sim) -> HashSet<String> {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let all = Arc::clone(&seen);
    sim.run(move || {
        let all = Arc::clone(&all);
        async move {
            let noted = Arc::new(Mutex::new(String::new()));
            let mut set = JoinSet::new();
            for (local, name) in [(true, "a"), (false, "b"), (true, "c")] {
                let noted = Arc::clone(&noted);
                let part = async move {
                    for _ in 0..2 {
                        noted.lock().unwrap().push_str(name);
                        yield_now().await;
                    }
                };
                match local {
                    true => {
                        let stays = Rc::new(part);
                        set.spawn_local(async { Rc::into_inner(stays).unwrap().await })
                    }
                    false => set.spawn(part),
                };
            }
            while let Some(end) = set.join_next().await {
                end.unwrap();
            }
            let noted = noted.lock().unwrap().clone();
            all.lock().unwrap().insert(noted);
        }
    });
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

#[test]
fn local_tasks_are_picked_and_replayed_as_all_others() {
    for strategy in [
        Strategy::Mixed,
        Strategy::Random,
        Strategy::Pct { depth: 3 },
    ] {
        let seen = orders(&Sim::new(0).seeds(200).strategy(strategy));
        assert!(seen.len() > 10, "{strategy:?}: {seen:?}");
    }
}

#[test]
fn a_program_of_local_tasks_finds_what_is_wrong_in_it() {
    // Each reads, lets others run, and writes.
    let lost = Sim::new(0).seeds(100).check(|| async {
        spawn_local(async {
            let count = Rc::new(Cell::new(0));
            let tasks = [(); 2].map(|()| {
                let count = Rc::clone(&count);
                spawn_local(async move {
                    let read = count.get();
                    yield_now().await;
                    count.set(read + 1);
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(count.get(), 2, "an update was lost");
        })
        .await
        .unwrap();
    });
    assert!(lost.unwrap_err().to_string().contains("an update was lost"));
    // One that waits for ever is named.
    let stuck = Sim::new(0).check(|| async {
        let (_tx, rx) = bounded::<u16>(1);
        let waits = async move { rx.recv().await.map(Rc::new).is_ok() };
        spawn_local(waits).await.unwrap();
    });
    let stuck = stuck.unwrap_err();
    assert_eq!(stuck.kind, Kind::Deadlock);
    let said = stuck.to_string();
    for words in ["the local task started at", "waits for Recv<u16>"] {
        assert!(said.contains(words), "{words:?} is not in:\n{said}");
    }
}

/// Says that it is dropped.
struct Told {
    drops: Arc<AtomicUsize>,
    _stays: Rc<()>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn local_tasks_end_with_their_node_whether_it_ends_or_crashes() {
    let (started, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = |of: &Arc<AtomicUsize>| of.load(Ordering::SeqCst);
    for crashes in [false, true] {
        Sim::new(0).seeds(20).run(|| {
            let (started, dropped) = (Arc::clone(&started), Arc::clone(&dropped));
            async move {
                let node = world().node("node", move || {
                    let told = (Arc::clone(&started), Arc::clone(&dropped));
                    async move {
                        for _ in 0..3 {
                            let told = told.clone();
                            told.0.fetch_add(1, Ordering::SeqCst);
                            let stays = Told {
                                drops: told.1,
                                _stays: Rc::default(),
                            };
                            drop(spawn_local(async move {
                                sleep(Duration::from_secs(3600)).await;
                                drop(stays);
                            }));
                        }
                        sleep(Duration::from_secs(if crashes { 60 } else { 1 })).await;
                    }
                });
                sleep(Duration::from_secs(5)).await;
                if crashes {
                    node.crash();
                }
                sleep(Duration::from_secs(1)).await;
            }
        });
    }
    assert_eq!(count(&started), count(&dropped));
    assert!(count(&started) >= 120);
}

#[test]
fn a_local_task_that_is_left_is_told_if_asked_for() {
    let left = Sim::new(0).settles().check(|| async {
        drop(spawn_local(async {
            let stays = Rc::new(());
            std::future::pending::<()>().await;
            drop(stays);
        }));
    });
    assert!(left.is_err());
    Sim::new(0).settles().run(|| async {
        drop(spawn_local(async {
            let stays = Rc::new(());
            yield_now().await;
            drop(stays);
        }));
    });
}
