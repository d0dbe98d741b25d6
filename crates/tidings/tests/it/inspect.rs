//! What `tidings::inspect` finds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::both::{on_all, pool, run, watchdog};
use tidings::actor::{ActorRef, Builder, Mailbox, Overflow, Reply, Strategy, Supervisor};
use tidings::sched::{Runtime, Seeded};
use tidings::task::named;
use tidings::{Activity, ActorView, Inspection, oneshot, unbounded, yield_now};

fn find<'a>(actors: &'a [ActorView], name: &str) -> Option<&'a ActorView> {
    actors.iter().find_map(|actor| {
        let is_it = actor.name.as_deref() == Some(name);
        if is_it {
            Some(actor)
        } else {
            find(&actor.children, name)
        }
    })
}

/// Looks until what is found is as `seen` wants it.
pub(crate) async fn look(name: &str, seen: impl Fn(&ActorView) -> bool) -> ActorView {
    loop {
        let found = tidings::inspect();
        if let Some(actor) = find(&found.actors, name).filter(|actor| seen(actor)) {
            return actor.clone();
        }
        yield_now().await;
    }
}

/// No actor of another test, or of another run of this one, has a name with this in it.
pub(crate) fn unique() -> String {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    format!("#{}", LAST.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn a_message_that_comes_back_has_not_been_handled() {
    on_all(|| async {
        let name = format!("gives back {}", unique());
        let [(ready, waits), (sent, gate), (back, came_back), (go, on)] = [0; 4].map(|_| oneshot());
        let actor =
            Builder::new()
                .name(name.clone())
                .spawn(move |mut mailbox: Mailbox<u32>| async move {
                    let mut wait = Box::pin(mailbox.recv().into_future());
                    assert!(futures::poll!(wait.as_mut()).is_pending());
                    ready.send(()).unwrap();
                    gate.await.unwrap();
                    drop(wait);
                    back.send(()).unwrap();
                    on.await.unwrap();
                    while mailbox.recv().await.is_ok() {}
                });
        waits.await.unwrap();
        actor.send(7).await.unwrap();
        sent.send(()).unwrap();
        came_back.await.unwrap();
        let view = look(&name, |_| true).await;
        assert_eq!((view.queued, view.handled), (1, 0));
        go.send(()).unwrap();
        let idle = look(&name, |actor| actor.activity == Activity::Idle).await;
        assert_eq!((idle.queued, idle.handled), (0, 1));
    });
}

#[test]
fn an_actor_is_found_with_its_counts_and_what_it_does() {
    on_all(|| async {
        let unique = unique();
        let named = |name: &str| format!("{name} {unique}");
        let (open, gate) = oneshot::<()>();
        let slow = Builder::new()
            .name(named("slow"))
            .capacity(2)
            .overflow(Overflow::DropOldest)
            .spawn(move |mut mailbox: Mailbox<Reply<u32>>| async move {
                let first = mailbox.recv().await.unwrap();
                gate.await.unwrap();
                first.send(1).unwrap();
                while mailbox.recv().await.is_ok() {}
            });
        let to = slow.clone();
        let caller = Builder::new()
            .name(named("caller"))
            .spawn(|_: Mailbox<()>| async move {
                to.call(|reply| reply).await.unwrap();
                std::future::pending::<()>().await;
            });
        let waits = look(&named("caller"), |actor| actor.activity != Activity::Runs).await;
        assert_eq!(
            waits.activity,
            Activity::Calls(slow.id(), Some(named("slow")))
        );
        assert_eq!(waits.id, caller.id());
        let busy = look(&named("slow"), |actor| actor.handled == 1).await;
        assert_eq!((busy.queued, busy.capacity, busy.dropped), (0, 2, 0));
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let slow = slow.clone();
                tidings::spawn(async move { slow.call(|reply| reply).await })
            })
            .collect();
        // It may not have gone on since the first came.
        let full = look(&named("slow"), |actor| {
            actor.dropped == 1 && actor.activity != Activity::Runs
        })
        .await;
        assert_eq!((full.queued, full.handled), (2, 1));
        assert!(matches!(full.activity, Activity::Waits(_)), "{full}");
        open.send(()).unwrap();
        for call in calls {
            let _ = call.await.unwrap();
        }
        let idle = look(&named("slow"), |actor| actor.activity == Activity::Idle).await;
        assert_eq!((idle.queued, idle.handled, idle.dropped), (0, 3, 1));
        look(&named("caller"), |actor| {
            matches!(actor.activity, Activity::Waits(_))
        })
        .await;
        slow.kill();
        slow.down().await;
        let gone = tidings::inspect();
        assert!(find(&gone.actors, &named("slow")).is_none());
    });
}

#[test]
fn actors_lie_below_those_that_started_them() {
    let runtime = pool(2);
    run(&runtime, async {
        let (told, children) = oneshot::<(ActorRef<u8>, ActorRef<u8>)>();
        let idle = |mut mailbox: Mailbox<u8>| async move { while mailbox.recv().await.is_ok() {} };
        let parent =
            Builder::new()
                .name("the parent")
                .spawn(move |mut mailbox: Mailbox<u8>| async move {
                    let first = Builder::new().name("first child").spawn(idle);
                    let second = Builder::new().name("second child").spawn(idle);
                    told.send((first, second)).unwrap();
                    while mailbox.recv().await.is_ok() {}
                });
        let kept = children.await.unwrap();
        let parent_view = look("the parent", |actor| actor.children.len() == 2).await;
        let names: Vec<_> = parent_view
            .children
            .iter()
            .map(|child| child.name.as_deref())
            .collect();
        assert_eq!(names, [Some("first child"), Some("second child")]);
        assert_eq!(parent_view.children[0].started_by, parent.id());
        let printed = tidings::inspect().to_string();
        assert!(printed.contains("the parent #"), "{printed}");
        assert!(
            printed.contains("├─ first child #") && printed.contains("└─ second child #"),
            "{printed}"
        );
        assert!(printed.starts_with("runtime: 2 workers, "), "{printed}");
        drop(kept);
    });
}

#[test]
fn children_lie_below_their_supervisor_with_the_count_of_their_lives() {
    let runtime = pool(2);
    run(&runtime, async {
        // Made before its supervisor, and seen from then on.
        let child = Builder::new()
            .name("lives twice")
            .child(|mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} });
        let actor = child.actor_ref();
        let seen = look("lives twice", |_| true).await;
        assert_eq!((seen.activity, seen.incarnation), (Activity::Unstarted, 0));
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        look("lives twice", |actor| actor.activity == Activity::Idle).await;
        actor.kill();
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        let seen = look("lives twice", |actor| actor.activity == Activity::Idle).await;
        assert_eq!((seen.incarnation, seen.started_by), (2, supervisor.id()));
        let found = tidings::inspect();
        let above = found.actors.iter().find(|it| it.id == supervisor.id());
        assert_eq!(above.unwrap().children[0].id, actor.id());
        assert!(seen.to_string().contains(": life 2, 0 queued"), "{seen}");
        supervisor.stop();
        actor.down().await;
        assert!(find(&tidings::inspect().actors, "lives twice").is_none());
    });
}

#[test]
fn an_actor_whose_function_panics_before_it_runs_is_not_found() {
    let runtime = pool(2);
    run(&runtime, async {
        let (told, this) = oneshot();
        let spawned = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let panics = move |mailbox: Mailbox<()>| {
                told.send(mailbox.this().any()).unwrap();
                std::panic::resume_unwind(Box::new("not today"));
                #[expect(unreachable_code, reason = "it says what the function returns")]
                std::future::ready(())
            };
            Builder::new().name("never runs").spawn(panics)
        }));
        assert!(spawned.is_err());
        assert_eq!(
            this.await.unwrap().down().await.to_string(),
            "panicked: not today"
        );
        assert!(find(&tidings::inspect().actors, "never runs").is_none());
    });
}

#[test]
fn with_a_watcher_it_says_what_an_actor_waits_for_and_where() {
    let builder = Runtime::builder()
        .workers(2)
        .watch_deadlocks(Duration::from_secs(60));
    run(&builder.build().unwrap(), async {
        let (open, gate) = oneshot::<u16>();
        let actor = Builder::new()
            .name("waits at the gate")
            .spawn(|_: Mailbox<()>| async move {
                let _ = gate.await;
            });
        let seen = look("waits at the gate", |actor| {
            matches!(actor.activity, Activity::Waits(Some(_)))
        })
        .await;
        let said = seen.activity.to_string();
        assert!(
            said.starts_with("waits for Recv<Receiver<u16>, u16> of 0x"),
            "{said}"
        );
        if cfg!(debug_assertions) {
            assert!(said.contains("tests/it/inspect.rs:"), "{said}");
        }
        open.send(1).unwrap();
        actor.down().await;
    });
}

#[test]
fn an_actor_on_a_thread_of_its_own_runs_while_it_blocks_and_waits_while_it_awaits() {
    let _watchdog = watchdog();
    let runtime = pool(2);
    run(&runtime, async {
        let (go, goes) = std::sync::mpsc::channel::<()>();
        let (open, gate) = oneshot::<()>();
        let blocks = move |_: Mailbox<()>| async move {
            gate.await.unwrap();
            goes.recv().unwrap();
            std::future::pending::<()>().await;
        };
        let builder = Builder::new().name("blocks its thread").blocking();
        let actor = builder.spawn(blocks);
        let runs = |actor: &ActorView| actor.activity == Activity::Runs;
        let waits = |actor: &ActorView| matches!(actor.activity, Activity::Waits(_));
        look("blocks its thread", waits).await;
        open.send(()).unwrap();
        look("blocks its thread", runs).await;
        go.send(()).unwrap();
        look("blocks its thread", waits).await;
        actor.kill();
        actor.down().await;
    });
}

#[test]
fn a_long_poll_is_seen_with_the_name_of_who_held_the_worker() {
    let runtime = pool(2);
    run(&runtime, async {
        let hog = Builder::new()
            .name("hog")
            .spawn(|mut mailbox: Mailbox<()>| async move {
                while mailbox.recv().await.is_ok() {
                    std::thread::sleep(Duration::from_millis(30));
                }
            });
        let now = tidings::inspect();
        assert_eq!((now.workers, now.tasks), (2, 2), "those of this runtime");
        loop {
            // Its neighbour has to be awake for a moment of it, which is what a wake does.
            hog.send(()).await.unwrap();
            tidings::time::sleep(Duration::from_millis(40)).await;
            let found = tidings::inspect();
            if let Some(poll) = found.long_polls.iter().find(|poll| poll.who == "hog") {
                assert!(poll.took >= Duration::from_millis(1));
                assert!(found.to_string().contains("long poll: hog held worker "));
                return;
            }
        }
    });
}

#[test]
fn a_task_that_has_a_name_is_found_by_it_and_so_is_its_long_poll() {
    let builder = Runtime::builder().workers(2).watch_deadlocks(Duration::MAX);
    run(&builder.build().unwrap(), async {
        let (work, works) = unbounded::<u32>();
        let hog = named("hog of tasks", async move {
            while works.recv().await.is_ok() {
                std::thread::sleep(Duration::from_millis(30));
            }
        });
        let hog = tidings::spawn(hog);
        let has_polled = |found: &Inspection| {
            let mut polls = found.long_polls.iter();
            polls.any(|poll| poll.who.starts_with("the task \"hog of tasks\" started at"))
        };
        let waits = |found: &Inspection| {
            let mut tasks = found.named_tasks.iter();
            tasks.any(|task| task.waits.is_some())
        };
        let mut found = tidings::inspect();
        while !has_polled(&found) || !waits(&found) {
            // Its neighbour has to be awake for a moment of it, which is what a wake does.
            work.send(1).await.unwrap();
            tidings::time::sleep(Duration::from_millis(40)).await;
            found = tidings::inspect();
        }
        let [task] = &found.named_tasks[..] else {
            panic!("{found}")
        };
        assert_eq!(task.name, "hog of tasks");
        assert!(
            task.started
                .starts_with("crates/tidings/tests/it/inspect.rs:")
        );
        let line = "\ntask \"hog of tasks\" started at crates/tidings/tests/it/inspect.rs:";
        assert!(found.to_string().contains(line), "{found}");
        assert!(found.to_string().contains(", waits for Recv<u32> of 0x"));
        drop(work);
        hog.await.unwrap();
        assert!(tidings::inspect().named_tasks.is_empty());
    });
}

#[test]
fn nothing_is_left_of_an_actor_that_has_ended_and_that_nobody_refers_to() {
    let name = std::sync::Arc::<str>::from("of a moment");
    let builder = Builder::new().name(std::sync::Arc::clone(&name));
    let rt = Runtime::builder().seam(Seeded::new(1)).build().unwrap();
    rt.block_on(async {
        let actor = builder.spawn(|mailbox: Mailbox<u8>| async move { drop(mailbox) });
        actor.down().await;
    });
    drop(rt);
    assert_eq!(std::sync::Arc::strong_count(&name), 1);
}

#[test]
fn an_actor_has_one_line_whatever_it_is_called() {
    on_all(|| async {
        let name = format!("a\n├─ b\u{1b}[2J {}", unique());
        let actor = Builder::new().name(name.clone());
        let actor = actor.spawn(|mut mailbox: Mailbox<()>| async move { mailbox.recv().await });
        let escaped = name.replace('\n', r"\n").replace('\u{1b}', r"\u{1b}");
        assert_eq!(actor.name().as_deref(), Some(&*escaped));
        let view = look(&escaped, |actor| actor.activity == Activity::Idle).await;
        let line = format!(
            "{escaped} #{}: 0 queued, 0 handled, waits for a message",
            actor.id()
        );
        assert_eq!(view.to_string(), line);
    });
}

#[test]
fn a_long_chain_of_actors_can_be_looked_at_printed_and_dropped() {
    const LENGTH: usize = 20_000;
    /// Each starts the next, and keeps it.
    fn start(left: usize, name: String, done: tidings::Sender<ActorRef<()>>) -> ActorRef<()> {
        let named = Builder::new().name(name.clone());
        named.spawn(move |mut mailbox: Mailbox<()>| async move {
            let _next = match left {
                0 => done
                    .try_send(mailbox.this().upgrade().unwrap())
                    .map(|()| None)
                    .unwrap(),
                _ => Some(start(left - 1, name, done)),
            };
            while mailbox.recv().await.is_ok() {}
        })
    }
    let name = format!("of a chain {}", unique());
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let (done, last) = unbounded();
    let first = runtime.block_on(async { start(LENGTH, name.clone(), done) });
    let last = runtime.block_on(async { last.recv().await.unwrap() });
    let found = runtime.block_on(async { tidings::inspect() });
    let lines = found.to_string();
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.contains(&format!("─ {name} #")))
            .count(),
        LENGTH + 1
    );
    let shown = find(&found.actors, &name).unwrap();
    assert_eq!(shown.id, first.id());
    drop((found.clone(), found));
    drop((first, last));
}
