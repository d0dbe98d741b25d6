//! What actors and messages take: bytes of the slab and of the allocator, exactly.
//!
//! Everything runs in one task of a runtime with one worker, so that the allocations of its thread
//! are all there are, and `trim` finds every slot. A million of them, with what the system says of
//! it: `cargo bench -p tidings --bench actor -- memory 1000000`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tidings::actor::{self, ActorRef, Ended, Group, Mailbox, Recipient, Registry, Reply};
use tidings::task::AbortHandle;
use tidings::{Event, JoinHandle, Runtime, after, always, select, task};

/// What one thread has allocated.
#[derive(Clone, Copy, Default)]
struct Allocated {
    times: u64,
    /// Those that are alive, less what it freed of others.
    bytes: i64,
}

thread_local! {
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { times: 0, bytes: 0 }) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(times: u64, bytes: i64) {
    let known = ALLOCATED.get();
    ALLOCATED.set(Allocated {
        times: known.times + times,
        bytes: known.bytes + bytes,
    });
}

// SAFETY: every call goes to `System` unchanged, and counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        note(0, -(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Alone in the process: the slab is for all. On a thread that has ended before the next test begins: what it has in
/// its cache would come back, and be counted, at any time until then.
fn alone<R: Send + 'static>(f: impl Future<Output = R> + Send + 'static) -> R {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let of_its_own = thread::spawn(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        runtime.block_on(runtime.spawn(f)).unwrap()
    });
    of_its_own.join().unwrap()
}

enum Count {
    Add(u64),
    Get(Reply<u64>),
}

async fn count(mut mailbox: Mailbox<Count>) {
    let mut sum = 0;
    while let Ok(message) = mailbox.recv().await {
        match message {
            Count::Add(n) => sum += n,
            Count::Get(reply) => reply.send(sum).unwrap(),
        }
    }
}

async fn count_beside_a_timer(mut mailbox: Mailbox<Count>) {
    let mut sum = 0;
    loop {
        select! {
            message = mailbox.recv() => match message {
                Ok(Count::Add(n)) => sum += n,
                Ok(Count::Get(reply)) => reply.send(sum).unwrap(),
                Err(Ended) => return,
            },
            () = after(Duration::from_secs(3600)) => unreachable!("nobody waits that long"),
        }
    }
}

/// Answers first, whatever came before.
async fn count_selectively(mut mailbox: Mailbox<Count>) {
    let mut sum = 0;
    let a_question = |message| match message {
        Count::Get(reply) => Ok(reply),
        other @ Count::Add(_) => Err(other),
    };
    while let Ok(reply) = mailbox.scan(a_question).await {
        while let Ok(message) = mailbox.try_recv() {
            match message {
                Count::Add(n) => sum += n,
                Count::Get(_) => unreachable!("one question at a time"),
            }
        }
        reply.send(sum).unwrap();
    }
}

#[tidings::interface]
trait Counter {
    async fn add(&mut self, n: u64);
    async fn get(&mut self) -> u64;
}

#[tidings::interface]
trait Admin {
    async fn reset(&mut self);
}

#[derive(Default)]
struct Tally(u64);

impl Counter for Tally {
    async fn add(&mut self, n: u64) {
        self.0 += n;
    }
    async fn get(&mut self) -> u64 {
        self.0
    }
}

#[derive(Default)]
#[tidings::actor(Counter, Admin)]
struct Both(u64);

impl Counter for Both {
    async fn add(&mut self, n: u64) {
        self.0 += n;
    }
    async fn get(&mut self) -> u64 {
        self.0
    }
}

impl Admin for Both {
    async fn reset(&mut self) {
        self.0 = 0;
    }
}

/// A reference to a counter that is an actor.
trait Form: Send + Sync + 'static {
    fn start() -> Self;
    fn add(&self) -> impl Future<Output = ()> + Send;
    fn get(&self) -> impl Future<Output = u64> + Send;
    /// Ends the actor, and waits for that.
    fn end(self) -> impl Future<Output = ()> + Send;
}

/// The forms, by what starts them and what their methods are.
macro_rules! forms {
    ($($form:ident($reference:ty): $start:expr, |$it:ident| $add:expr, $get:expr;)*) => {$(
        struct $form($reference);
        impl Form for $form {
            fn start() -> Self {
                Self($start)
            }
            async fn add(&self) {
                let $it = &self.0;
                $add.await.unwrap();
            }
            async fn get(&self) -> u64 {
                let $it = &self.0;
                $get.await.unwrap()
            }
            async fn end(self) {
                self.0.stop();
                self.0.down().await;
            }
        }
    )*};
}

forms! {
    Loop(ActorRef<Count>): actor::spawn(count), |a| a.send(Count::Add(1)), a.call(Count::Get);
    Timed(ActorRef<Count>): actor::spawn(count_beside_a_timer),
        |a| a.send(Count::Add(1)), a.call(Count::Get);
    Selective(ActorRef<Count>): actor::spawn(count_selectively),
        |a| a.send(Count::Add(1)), a.call(Count::Get);
    Narrow(Recipient<Count>): actor::spawn(count).narrow(),
        |a| a.send(Count::Add(1)), a.call(Count::Get);
    Interface(CounterRef): actor::start(Tally::default()), |a| a.add(1), a.get();
    OneOfTwo(CounterRef): CounterRef::from(&actor::start::<_, BothRef>(Both::default())),
        |a| a.add(1), a.get();
}

/// Bytes of each of `n` actors that have had `burst` messages at once, and wait for the next.
async fn bytes<F: Form>(n: usize, burst: u64) -> usize {
    task::trim();
    let mut all = Vec::with_capacity(n);
    let before = ALLOCATED.get().bytes;
    for _ in 0..n {
        let actor = F::start();
        for _ in 0..burst {
            actor.add().await;
        }
        assert_eq!(actor.get().await, burst);
        all.push(actor);
    }
    let allocated = ALLOCATED.get().bytes - before;
    for actor in all {
        actor.end().await;
    }
    let slots = task::trim();
    (slots + usize::try_from(allocated).unwrap()) / n
}

/// Pages come in chunks of 256 KiB, some of which are only begun: so much is not exact.
const CHUNK: usize = 256 * 1024;
const ACTORS: usize = 64 * 1024;

#[test]
fn an_idle_actor_takes_at_most_512_bytes() {
    alone(async {
        // Gives back what another test has left in chunks, which would be counted for these.
        bytes::<Loop>(1, 0).await;
        for (form, bytes) in [
            ("a loop", bytes::<Loop>(ACTORS, 0).await),
            ("an interface", bytes::<Interface>(ACTORS, 0).await),
            ("two interfaces", bytes::<OneOfTwo>(ACTORS, 0).await),
        ] {
            println!("{form}: {bytes} bytes");
            assert!(bytes <= 512, "{form} takes {bytes} bytes");
        }
    });
}

/// Tasks that wait for a message of one channel: the task, its future and its place in the channel's list.
#[test]
fn a_task_that_waits_takes_at_most_256_bytes() {
    static WAITING: AtomicUsize = AtomicUsize::new(0);
    async fn waiting(n: usize) -> usize {
        // On one worker: who has counted itself waits.
        let until = async |n| {
            while WAITING.load(Relaxed) != n {
                tidings::yield_now().await;
            }
        };
        task::trim();
        let before = ALLOCATED.get().bytes;
        let (tx, rx) = tidings::unbounded::<u64>();
        for _ in 0..n {
            let rx = rx.clone();
            tidings::spawn(async move {
                WAITING.fetch_add(1, Relaxed);
                let _ = rx.recv().await;
                WAITING.fetch_sub(1, Relaxed);
            });
        }
        until(n).await;
        let allocated = ALLOCATED.get().bytes - before;
        drop(tx);
        until(0).await;
        let slots = task::trim();
        (slots + usize::try_from(allocated).unwrap()) / n
    }
    alone(async {
        let bytes = waiting(ACTORS).await;
        println!("a task that waits: {bytes} bytes");
        assert!((128..=256).contains(&bytes), "{bytes} bytes");
    });
}

#[test]
fn a_burst_leaves_nothing_in_a_mailbox() {
    alone(async {
        let n = ACTORS / 8;
        let inexact = 2 * CHUNK / n;
        let idle = bytes::<Loop>(n, 0).await;
        let after = bytes::<Loop>(n, 100).await;
        assert!(after <= idle + inexact, "{idle} bytes, then {after}");
        let idle = bytes::<Selective>(n, 0).await;
        let after = bytes::<Selective>(n, 100).await;
        assert!(after <= idle + inexact, "{idle} bytes, then {after}");
    });
}

/// Allocations of a thousand messages one by one, of thousands that queue up, and of a call each.
async fn allocations<F: Form>() -> u64 {
    let actor = F::start();
    let mut before = 0;
    for round in 0..2 {
        if round == 1 {
            before = ALLOCATED.get().times;
        }
        for _ in 0..1000 {
            actor.add().await;
            actor.get().await;
        }
        for _ in 0..10_000 {
            actor.add().await;
        }
        actor.get().await;
    }
    let times = ALLOCATED.get().times - before;
    actor.end().await;
    times
}

#[test]
fn messages_and_calls_allocate_nothing() {
    alone(async {
        for (form, times) in [
            ("a loop", allocations::<Loop>().await),
            ("a loop beside a timer", allocations::<Timed>().await),
            ("a recipient", allocations::<Narrow>().await),
            ("an interface", allocations::<Interface>().await),
            ("one of two interfaces", allocations::<OneOfTwo>().await),
        ] {
            assert_eq!(times, 0, "{form}");
        }
    });
}

#[test]
fn what_was_linked_and_unlinked_leaves_nothing_behind() {
    /// Bytes of an actor that was linked to so many that have ended, and that it outlives.
    async fn links(n: usize) -> i64 {
        let old = actor::spawn(count);
        let before = ALLOCATED.get().bytes;
        for _ in 0..n {
            let young = actor::spawn(count);
            young.link(&old.any());
            young.unlink(&old.any());
            young.stop();
            young.down().await;
        }
        ALLOCATED.get().bytes - before
    }
    alone(async {
        // What the first one makes stays.
        links(1).await;
        assert_eq!(links(1000).await, links(1).await);
    });
}

#[test]
fn names_and_groups_that_were_left_leave_nothing_behind() {
    /// Bytes of so many names, memberships and waits that are over, of an actor that lives.
    async fn left(n: usize) -> i64 {
        let (names, group) = (Registry::new(), Group::new());
        let actor = actor::spawn(count);
        let before = ALLOCATED.get().bytes;
        for _ in 0..n {
            names.register("a", &actor).unwrap();
            assert!(names.unregister("a"));
            assert!(group.join(&actor) && group.leave(&actor));
            let came = names.appears::<ActorRef<Count>>("b").map(|_| true);
            assert!(!came.or(always(false)).await);
        }
        let left = ALLOCATED.get().bytes - before;
        actor.stop();
        actor.down().await;
        left
    }
    alone(async {
        // What the first one makes stays.
        left(1).await;
        let (many, one) = (left(1000).await, left(1).await);
        // Rooms may be larger; there is none for each.
        assert!(many < one + 1000, "{many} and {one} bytes");
    });
}

#[test]
fn names_and_groups_that_are_dropped_leave_nothing_in_actors_that_live() {
    /// Bytes of so many registries and groups that are gone, of an actor that lives.
    async fn dropped(n: usize) -> i64 {
        let actor = actor::spawn(count);
        let before = ALLOCATED.get().bytes;
        for _ in 0..n {
            let (names, group) = (Registry::new(), Group::new());
            names.register("a", &actor).unwrap();
            assert!(group.join(&actor));
        }
        let left = ALLOCATED.get().bytes - before;
        actor.stop();
        actor.down().await;
        left
    }
    alone(async {
        // What the first one makes stays.
        dropped(1).await;
        let (many, one) = (dropped(1000).await, dropped(1).await);
        assert!(many < one + 1000, "{many} and {one} bytes");
    });
}

#[test]
fn callers_that_have_ended_leave_nothing_behind() {
    /// Bytes of so many actors that have waited for an answer, and have ended.
    async fn called(n: usize) -> i64 {
        let callee = actor::spawn(count);
        let before = ALLOCATED.get().bytes;
        for _ in 0..n {
            let callee = callee.clone();
            let caller = actor::spawn(|mailbox: Mailbox<()>| async move {
                callee.call(Count::Get).await.unwrap();
                drop(mailbox);
            });
            caller.down().await;
        }
        ALLOCATED.get().bytes - before
    }
    alone(async {
        // What the first ones make stays.
        called(200).await;
        let (many, few) = (called(1000).await, called(100).await);
        assert!(many < few + 1000, "{many} and {few} bytes");
    });
}

#[test]
fn tasks_leave_no_slot_behind_whichever_handle_goes_last() {
    /// Ends tasks and drops their handles; gives the bytes that are free then.
    async fn ended(n: usize, last: fn(JoinHandle<u64>, AbortHandle)) -> usize {
        task::trim();
        let spawn = |n| tidings::spawn(async move { n });
        let mut tasks: Vec<_> = (0..n as u64).map(spawn).collect();
        while let Some(task) = tasks.iter_mut().find(|task| !task.is_finished()) {
            task.join().await.unwrap();
        }
        for task in tasks {
            let abort = task.abort_handle();
            last(task, abort);
        }
        task::trim()
    }
    alone(async {
        let orders: [fn(JoinHandle<u64>, AbortHandle); 2] = [
            |join, abort| {
                drop(join);
                drop(abort);
            },
            |join, abort| {
                drop(abort);
                drop(join);
            },
        ];
        for last in orders {
            let free = ended(ACTORS, last).await;
            // At least a line of the cache each, less chunks that are only begun.
            assert!(free + 2 * CHUNK > ACTORS * 64, "{free} bytes");
        }
    });
}

#[test]
fn the_allocator_counts() {
    let before = ALLOCATED.get();
    let some = std::hint::black_box(vec![0_u8; 1000]);
    let during = ALLOCATED.get();
    drop(some);
    assert_eq!(during.times, before.times + 1);
    assert_eq!(during.bytes, before.bytes + 1000);
    assert_eq!(ALLOCATED.get().bytes, before.bytes);
}
