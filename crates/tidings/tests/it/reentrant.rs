//! Handlers that run beside each other: serial between awaits, bounded, and ended before the actor.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::both::{on_all, on_pools};
use crate::hands::pinned;
use crate::letter::{Ledger, Letter};
use tidings::actor::{self, ActorRef, CallError, Exit, Reply, Shared};
use tidings::channel::{Sender, oneshot};
use tidings::yield_now;

#[tidings::interface]
trait Room {
    /// Waits for `open`.
    async fn wait(this: Shared<Self>) -> usize;
    async fn open(&mut self) -> ();
    /// Adds one, `times` times, each as a read and a write with nothing in between.
    async fn add(this: Shared<Self>, times: usize) -> ();
    async fn add_one_way(this: Shared<Self>, times: usize);
    /// Has the state to itself, over some awaits.
    async fn alone(&mut self) -> ();
    async fn sum(&self) -> usize;
    async fn fail(this: Shared<Self>);
    async fn most(&self) -> usize;
    async fn with_inside(&mut self) -> ();
    async fn background(this: Shared<Self>, letter: Letter) -> ();
    async fn leave(this: Shared<Self>) -> ();
    async fn leave_now(&mut self) -> ();
}

#[derive(Default)]
struct Hall {
    waiting: Vec<oneshot::Sender<()>>,
    sum: usize,
    running: usize,
    most: usize,
    alone: bool,
    kept: Option<Shared<Self>>,
}

impl Room for Hall {
    async fn wait(this: Shared<Self>) -> usize {
        let opened = this.with(|hall| {
            hall.running += 1;
            hall.most = hall.most.max(hall.running);
            let (open, opened) = oneshot();
            hall.waiting.push(open);
            opened
        });
        let _ = opened.await;
        this.with(|hall| {
            hall.running -= 1;
            hall.running
        })
    }
    async fn open(&mut self) {
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(());
        }
    }
    async fn add(this: Shared<Self>, times: usize) {
        for _ in 0..times {
            let sum = this.with(|hall| {
                assert!(!hall.alone, "another has the state to itself");
                hall.sum
            });
            this.with(|hall| hall.sum = sum + 1);
            yield_now().await;
        }
    }
    async fn add_one_way(this: Shared<Self>, times: usize) {
        Self::add(this, times).await;
    }
    async fn alone(&mut self) {
        self.alone = true;
        for _ in 0..5 {
            yield_now().await;
        }
        self.alone = false;
    }
    async fn sum(&self) -> usize {
        self.sum
    }
    async fn fail(_this: Shared<Self>) {
        panic!("one of many");
    }
    async fn most(&self) -> usize {
        self.most
    }
    async fn with_inside(&mut self) {
        let this = self.kept.clone().unwrap();
        this.with(|_| ());
    }
    async fn background(this: Shared<Self>, letter: Letter) {
        this.spawn(async move {
            let _letter = letter;
            std::future::pending::<()>().await;
        });
    }
    async fn leave_now(&mut self) {
        // Until the next message is there.
        for _ in 0..20 {
            yield_now().await;
        }
        self.kept.take().unwrap().stop_now();
    }
    async fn leave(this: Shared<Self>) {
        this.stop();
    }
}

fn hall() -> RoomRef {
    actor::start(Hall::default())
}

/// A call in a task of its own, which has been made when this is over.
async fn waits(room: &RoomRef) -> tidings::JoinHandle<Result<usize, CallError>> {
    let call = room.clone();
    let before = room.most().await.unwrap();
    let task = tidings::spawn(async move { call.wait().await });
    while room.most().await.unwrap() == before {
        yield_now().await;
    }
    task
}

#[test]
fn others_are_handled_while_one_waits() {
    on_all(|| async {
        let room = hall();
        let waiting = waits(&room).await;
        let other = waits(&room).await;
        room.add_one_way(3).await.unwrap();
        room.add(4).await.unwrap();
        assert_eq!(room.sum().await.unwrap(), 7);
        room.open().await.unwrap();
        assert_eq!(
            waiting.await.unwrap().unwrap() + other.await.unwrap().unwrap(),
            1
        );
    });
}

#[test]
fn what_runs_between_two_awaits_is_serial() {
    on_all(|| async {
        let room = hall();
        let tasks: Vec<_> = (0..20)
            .map(|n| {
                let room = room.clone();
                tidings::spawn(async move {
                    if n % 4 == 0 {
                        room.alone().await.unwrap();
                    }
                    room.add(25).await.unwrap();
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(room.sum().await.unwrap(), 500);
    });
}

#[test]
fn a_handler_beyond_the_limit_starts_when_another_ends() {
    #[tidings::interface]
    trait Gate {
        async fn pass(this: Shared<Self>, gate: oneshot::Receiver<()>) -> ();
    }
    struct Narrow(Sender<()>);
    impl Gate for Narrow {
        async fn pass(this: Shared<Self>, gate: oneshot::Receiver<()>) {
            this.with(|narrow| narrow.0.try_send(()).unwrap());
            gate.await.unwrap();
        }
    }
    on_all(|| async {
        let (enter, entered) = tidings::unbounded();
        let gate: GateRef = actor::start_with(|this| {
            this.limit(2);
            Narrow(enter)
        });
        let (opens, calls): (Vec<_>, Vec<_>) = (0..6)
            .map(|_| {
                let (open, opened) = oneshot();
                let gate = gate.clone();
                let call = tidings::spawn(async move { gate.pass(opened).await.unwrap() });
                (open, call)
            })
            .unzip();
        for _ in 0..2 {
            entered.recv().await.unwrap();
        }
        while gate.queued() < 4 {
            yield_now().await;
        }
        assert!(entered.try_recv().is_err());
        // Those that are in may be any two.
        for open in opens {
            open.send(()).unwrap();
        }
        for call in calls {
            call.await.unwrap();
        }
    });
}

#[test]
fn handlers_come_to_their_end_before_a_stop_and_nothing_else_does() {
    on_all(|| async {
        for now in [false, true] {
            let ledger = Ledger::default();
            let room = hall();
            room.background(ledger.letter(1)).await.unwrap();
            let waiting = waits(&room).await;
            // Its reference is what opens it, when the actor takes no more messages.
            let (open, opened) = oneshot();
            let slow = room.clone();
            let adds = tidings::spawn(async move {
                opened.await.unwrap();
                slow.add(50).await
            });
            open.send(()).unwrap();
            while room.sum().await.unwrap() == 0 {
                yield_now().await;
            }
            room.open().await.unwrap();
            if now {
                room.stop_now();
            } else {
                room.stop();
            }
            assert!(matches!(room.down().await, Exit::Stopped));
            adds.await.unwrap().unwrap();
            waiting.await.unwrap().unwrap();
            assert_eq!(ledger.alive(), 0);
        }
        // By itself.
        let room = hall();
        room.leave().await.unwrap();
        assert!(matches!(room.down().await, Exit::Stopped));
        // What came before a stop without delay, and is not handled yet, is not handled.
        let room: RoomRef = actor::start_with(|this: &Shared<Hall>| Hall {
            kept: Some(this.clone()),
            ..Hall::default()
        });
        let leaves = pinned(room.leave_now());
        let late = pinned(room.sum());
        let (left, late) = futures::join!(leaves, late);
        left.unwrap();
        assert!(
            matches!(late, Err(CallError::NotExecuted(Exit::Stopped))),
            "{late:?}"
        );
    });
}

#[test]
fn a_kill_or_a_panic_drops_all_handlers_and_their_callers_hear_why() {
    on_all(|| async {
        let room = hall();
        let (a, b) = (waits(&room).await, waits(&room).await);
        room.kill();
        for call in [a, b] {
            let ended = call.await.unwrap().unwrap_err();
            assert!(matches!(ended, CallError::Ended(Exit::Killed)), "{ended:?}");
        }
        let room = hall();
        let (a, b) = (waits(&room).await, waits(&room).await);
        room.fail().await.unwrap();
        for call in [a, b] {
            match call.await.unwrap().unwrap_err() {
                CallError::Ended(Exit::Panicked(why)) => assert_eq!(&*why, "one of many"),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn the_state_is_touched_inside_of_its_actor_only() {
    #[tidings::interface]
    trait Lend {
        async fn lend(this: Shared<Self>) -> Shared<Owner>;
    }
    struct Owner(Option<Shared<Self>>, Letter);
    impl Lend for Owner {
        async fn lend(this: Shared<Self>) -> Shared<Self> {
            // A state that keeps the way to itself.
            this.with(|owner| owner.0 = Some(this.clone()));
            assert_eq!(this.with(|owner| owner.1.n), 7);
            this
        }
    }
    on_all(|| async {
        let ledger = Ledger::default();
        let letter = ledger.letter(7);
        let owner: LendRef = actor::start(Owner(None, letter));
        let lent = owner.lend().await.unwrap();
        let outside = tidings::spawn({
            let lent = lent.clone();
            async move { lent.with(|_| ()) }
        });
        let error = outside.await.unwrap_err();
        assert!(
            error.to_string().contains("in its actor's handlers"),
            "{error}"
        );
        assert!(owner.exit().is_none());
        // The end drops the state, whoever keeps a way to it.
        owner.stop();
        owner.down().await;
        assert_eq!(ledger.alive(), 0);
        // What comes too late is dropped.
        let late = ledger.letter(8);
        lent.spawn(async move { drop(late) });
        assert_eq!(ledger.alive(), 0);

        // Not while a method has it.
        let room: RoomRef = actor::start_with(|this: &Shared<Hall>| Hall {
            kept: Some(this.clone()),
            ..Hall::default()
        });
        match room.with_inside().await.unwrap_err() {
            CallError::Ended(Exit::Panicked(why)) => assert!(why.contains("&mut self"), "{why}"),
            other => panic!("{other:?}"),
        }

        // Nor inside of another actor.
        let lent = Arc::new(Mutex::new(None));
        let keeps = Arc::clone(&lent);
        let owner: RoomRef = actor::start_with(move |this: &Shared<Hall>| {
            *keeps.lock().unwrap() = Some(this.clone());
            Hall::default()
        });
        owner.sum().await.unwrap();
        let borrower: RoomRef = actor::start(Hall {
            kept: lent.lock().unwrap().take(),
            ..Hall::default()
        });
        match borrower.with_inside().await.unwrap_err() {
            CallError::Ended(Exit::Panicked(why)) => {
                assert!(why.contains("in its actor's handlers"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    });
}

#[tidings::interface]
trait Plain {
    async fn put(&mut self, n: usize) -> usize;
    async fn wait(this: Shared<Self>, gate: oneshot::Receiver<()>) -> ();
    async fn later(&mut self, reply: Reply<usize>);
}

#[tidings::interface]
trait Quiet {
    async fn get(&self) -> usize;
}

#[tidings::actor(Plain, Quiet)]
struct Both {
    n: usize,
    later: Vec<Reply<usize>>,
}

impl Plain for Both {
    async fn put(&mut self, n: usize) -> usize {
        assert!(n < 100, "too much");
        for reply in self.later.drain(..) {
            let _ = reply.send(n);
        }
        std::mem::replace(&mut self.n, n)
    }
    async fn wait(_this: Shared<Self>, gate: oneshot::Receiver<()>) {
        let _ = gate.await;
    }
    async fn later(&mut self, reply: Reply<usize>) {
        self.later.push(reply);
    }
}

impl Quiet for Both {
    async fn get(&self) -> usize {
        self.n
    }
}

fn both() -> Both {
    Both {
        n: 1,
        later: Vec::new(),
    }
}

#[test]
fn an_actor_of_several_interfaces_may_be_reentrant_in_one() {
    on_all(|| async {
        let actor: BothRef = actor::start(both());
        let (plain, quiet) = (PlainRef::from(&actor), QuietRef::from(&actor));
        let (open, opened) = oneshot();
        let waiting = tidings::spawn({
            let plain = plain.clone();
            async move { plain.wait(opened).await }
        });
        let later = tidings::spawn({
            let plain = plain.clone();
            async move { plain.later().await }
        });
        while plain.queued() > 0 {
            yield_now().await;
        }
        assert_eq!(quiet.get().await.unwrap(), 1);
        open.send(()).unwrap();
        waiting.await.unwrap().unwrap();
        while !later.is_finished() {
            plain.put(9).await.unwrap();
        }
        assert_eq!(later.await.unwrap().unwrap(), 9);
    });
}

/// Notes its drop.
struct After(Arc<Mutex<Vec<String>>>, &'static str);

impl Drop for After {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(format!("after {}", self.1));
    }
}

#[test]
fn an_interceptor_sees_each_message_before_and_after_and_may_refuse() {
    on_all(|| async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let before = move |message: &BothMessage| {
            let name = match message {
                BothMessage::Plain(PlainMessage::Put(13, _)) => return Err("unlucky".into()),
                BothMessage::Plain(PlainMessage::Put(..)) => "put",
                BothMessage::Plain(PlainMessage::Wait(..)) => "wait",
                BothMessage::Plain(_) => "plain",
                BothMessage::Quiet(_) => "get",
            };
            log.lock().unwrap().push(name.to_owned());
            Ok(After(Arc::clone(&log), name))
        };
        let actor: ActorRef<BothMessage> = actor::spawn(|mut mailbox| async move {
            actor::serve_with(|_| both(), &mut mailbox, before).await;
        });
        let (plain, quiet) = (PlainRef::from(&actor), QuietRef::from(&actor));
        plain.put(2).await.unwrap();
        match plain.put(13).await.unwrap_err() {
            CallError::Refused(why) => assert_eq!(why.to_string(), "unlucky"),
            other => panic!("{other:?}"),
        }
        let (open, opened) = oneshot();
        let waiting = tidings::spawn({
            let plain = plain.clone();
            async move { plain.wait(opened).await }
        });
        while !seen.lock().unwrap().contains(&"wait".to_owned()) {
            yield_now().await;
        }
        assert_eq!(quiet.get().await.unwrap(), 2);
        open.send(()).unwrap();
        waiting.await.unwrap().unwrap();
        // A panic is an end of the handling, too.
        assert!(plain.put(100).await.is_err());
        actor.down().await;
        let seen = seen.lock().unwrap();
        let order = |name: &str| -> Vec<usize> {
            let named = |line: &&str| line.ends_with(name);
            let lines = seen.iter().map(String::as_str).enumerate();
            lines
                .filter(|(_, line)| named(line))
                .map(|(n, _)| n)
                .collect()
        };
        assert_eq!(seen.len(), 8, "{seen:?}");
        assert_eq!(order("put"), [0, 1, 6, 7]);
        // It was handled beside another.
        assert_eq!(seen[2..6], ["wait", "get", "after get", "after wait"]);
    });
}

#[test]
fn every_call_ends_in_one_way_whenever_the_actor_is_stopped() {
    #[tidings::interface]
    trait Slow {
        async fn work(this: Shared<Self>, turns: usize) -> usize;
    }
    struct Worker(Arc<AtomicUsize>);
    impl Slow for Worker {
        async fn work(this: Shared<Self>, turns: usize) -> usize {
            for _ in 0..turns {
                yield_now().await;
            }
            this.with(|worker| worker.0.fetch_add(1, Ordering::SeqCst))
        }
    }
    on_pools(|| async {
        for round in 0..100 {
            let done = Arc::new(AtomicUsize::new(0));
            let slow: SlowRef = actor::start(Worker(Arc::clone(&done)));
            let calls: Vec<_> = (0..20)
                .map(|n| {
                    let slow = slow.clone();
                    tidings::spawn(async move {
                        let call = slow.work((n * 7 + round) % 11);
                        if n % 5 == 0 {
                            call.timeout(Duration::from_micros(50)).await
                        } else {
                            call.await
                        }
                    })
                })
                .collect();
            for _ in 0..round % 7 {
                yield_now().await;
            }
            match round % 3 {
                0 => slow.stop(),
                1 => slow.stop_now(),
                _ => slow.kill(),
            }
            let exit = slow.down().await;
            assert!(exit.is_orderly() == (round % 3 != 2), "{exit:?}");
            let mut answered = 0;
            for call in calls {
                match call.await.unwrap() {
                    Ok(_) => answered += 1,
                    Err(CallError::Timeout | CallError::NotExecuted(_)) => {}
                    // Only a kill takes a request out of a handler's hands.
                    Err(CallError::Ended(Exit::Killed)) => assert_eq!(round % 3, 2),
                    Err(other) => panic!("{other:?}"),
                }
            }
            assert!(answered <= done.load(Ordering::SeqCst));
        }
    });
}

#[test]
fn what_a_stop_drops_finds_the_state() {
    #[tidings::interface]
    trait Keep {
        async fn keep(this: Shared<Self>) -> ();
    }
    struct Keeper(Arc<AtomicUsize>);
    struct Kept(Shared<Keeper>);
    impl Drop for Kept {
        fn drop(&mut self) {
            self.0
                .with(|keeper| keeper.0.fetch_add(1, Ordering::SeqCst));
        }
    }
    impl Keep for Keeper {
        async fn keep(this: Shared<Self>) {
            let kept = Kept(this.clone());
            this.spawn(async move {
                let _kept = kept;
                std::future::pending::<()>().await;
            });
        }
    }
    on_all(|| async {
        let dropped = Arc::new(AtomicUsize::new(0));
        let keeper: KeepRef = actor::start(Keeper(Arc::clone(&dropped)));
        keeper.keep().await.unwrap();
        keeper.stop();
        let exit = keeper.down().await;
        assert!(matches!(exit, Exit::Stopped), "{exit:?}");
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    });
}
