//! Actors whose messages are the methods of traits.

use std::collections::HashMap;
use std::error::Error;
use std::hash::Hash;
use std::time::Duration;

use crate::both::on_all;
use tidings::actor::{self, ActorRef, Builder, CallError, Dispatch, Exit, Mailbox, Reply, WeakOf};

#[tidings::interface]
trait Counter {
    /// One-way.
    async fn add(&mut self, n: i64);
    async fn get_and_reset(&mut self) -> i64;
    /// A call that answers nothing but that it was handled.
    async fn sync(&self) -> ();
    /// A method with a body of its own.
    async fn add_twice(&mut self, n: i64) -> i64 {
        self.add(n).await;
        self.add(n).await;
        2 * n
    }
}

#[tidings::interface]
trait Admin {
    async fn fail(&mut self, why: &'static str);
    async fn check(&self, limit: i64) -> Result<i64, String>;
}

#[derive(Default)]
#[tidings::actor(Counter, Admin)]
struct Tally(i64);

impl Counter for Tally {
    async fn add(&mut self, n: i64) {
        self.0 += n;
    }
    async fn get_and_reset(&mut self) -> i64 {
        std::mem::take(&mut self.0)
    }
    async fn sync(&self) {}
}

impl Admin for Tally {
    async fn fail(&mut self, why: &'static str) {
        panic!("{why}");
    }
    async fn check(&self, limit: i64) -> Result<i64, String> {
        if self.0 > limit {
            Err(format!("{} is more than {limit}", self.0))
        } else {
            Ok(self.0)
        }
    }
}

#[test]
fn one_way_methods_and_calls_run_in_the_order_sent() {
    on_all(|| async {
        let counter: CounterRef = actor::start(Tally::default());
        for n in 0..100 {
            counter.add(n).await.unwrap();
        }
        counter.sync().await.unwrap();
        assert_eq!(counter.add_twice(5).await.unwrap(), 10);
        assert_eq!(counter.get_and_reset().await.unwrap(), 4960);
        assert_eq!(counter, counter.clone());
    });
}

#[test]
fn one_actor_has_several_interfaces() {
    on_all(|| async {
        let tally: TallyRef = Builder::new().name("tally").start(Tally::default());
        let (counter, admin) = (CounterRef::from(&tally), AdminRef::from(&tally));
        counter.add(7).await.unwrap();
        assert_eq!(admin.check(7).await.unwrap(), Ok(7));
        let refused = admin.check(6).await.unwrap();
        assert_eq!(refused, Err("7 is more than 6".to_owned()));
        assert_eq!(admin.name().as_deref(), Some("tally"));
        admin.fail("enough").await.unwrap();
        match counter.get_and_reset().await {
            Err(CallError::NotExecuted(Exit::Panicked(why))) => assert_eq!(&*why, "enough"),
            other => panic!("{other:?}"),
        }
        assert!(matches!(tally.down().await, Exit::Panicked(_)));
    });
}

#[tidings::interface]
trait Store<K: Eq + Hash, V>
where
    V: Clone,
{
    async fn put(&mut self, key: K, value: V) -> Option<V>;
    async fn get(&self, key: K) -> Option<V>;
    /// One that is made of others.
    async fn put_all(&mut self, all: Vec<(K, V)>) -> usize {
        let mut new = 0;
        for (key, value) in all {
            new += usize::from(self.put(key, value).await.is_none());
        }
        new
    }
}

#[tidings::actor(Store<K, V>, Length)]
struct Map<K: Eq + Hash + Sync, V: Clone + Sync>(HashMap<K, V>);

#[tidings::interface]
trait Length {
    async fn len(&self) -> usize;
    #[cfg(any())]
    async fn not_here(&self, what: NoSuchType) -> NoSuchType;
    #[deprecated = "use `len`"]
    async fn length(&self) -> usize;
}

impl<K: Eq + Hash + Send + Sync + 'static, V: Clone + Send + Sync + 'static> Length for Map<K, V> {
    async fn len(&self) -> usize {
        self.0.len()
    }
    async fn length(&self) -> usize {
        self.0.len()
    }
}

impl<K: Eq + Hash + Send + Sync + 'static, V: Clone + Send + Sync + 'static> Store<K, V>
    for Map<K, V>
{
    async fn put(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }
    async fn get(&self, key: K) -> Option<V> {
        self.0.get(&key).cloned()
    }
}

#[test]
fn interfaces_may_be_generic() {
    on_all(|| async {
        let store: StoreRef<String, u32> = actor::start(Map(HashMap::new()));
        assert_eq!(store.put("a".to_owned(), 1).await.unwrap(), None);
        assert_eq!(store.put("a".to_owned(), 2).await.unwrap(), Some(1));
        assert_eq!(store.get("a".to_owned()).await.unwrap(), Some(2));
        let all = vec![("a".to_owned(), 3), ("b".to_owned(), 4)];
        assert_eq!(store.put_all(all).await.unwrap(), 1);
    });
}

#[test]
fn a_generic_actor_has_several_interfaces() {
    on_all(|| async {
        let map: MapRef<u8, char> = actor::start(Map(HashMap::new()));
        let (store, sized) = (StoreRef::from(&map), LengthRef::from(&map));
        assert_eq!(store.put(1, 'a').await.unwrap(), None);
        assert_eq!(sized.len().await.unwrap(), 1);
        #[expect(
            deprecated,
            reason = "what the trait says of a method, its reference says"
        )]
        let length = sized.length().await.unwrap();
        assert_eq!(length, 1);
    });
}

#[tidings::interface]
trait Line {
    /// Answered when there is an answer.
    async fn next(&mut self, least: u32, reply: Reply<u32>);
    async fn push(&mut self, n: u32);
}

/// Answers who waits for such a number; others wait.
#[derive(Default)]
struct Queue(Vec<(u32, Reply<u32>)>);

impl Line for Queue {
    async fn next(&mut self, least: u32, reply: Reply<u32>) {
        assert!(reply.deadline().is_some());
        self.0.push((least, reply));
    }
    async fn push(&mut self, n: u32) {
        self.0.retain(|(_, reply)| !reply.is_closed());
        let place = self.0.iter().position(|(least, _)| *least <= n);
        if let Some(place) = place {
            self.0.remove(place).1.send(n).unwrap();
        }
    }
}

/// Passes everything on to another.
struct Front(LineRef);

impl Line for Front {
    async fn next(&mut self, least: u32, reply: Reply<u32>) {
        self.0.send(LineMessage::Next(least, reply)).await.unwrap();
    }
    async fn push(&mut self, n: u32) {
        self.0.push(n).await.unwrap();
    }
}

#[test]
fn a_method_may_answer_later_or_pass_its_request_on() {
    on_all(|| async {
        let back: LineRef = actor::start(Queue::default());
        let front: LineRef = actor::start(Front(back));
        let hour = Duration::from_secs(3600);
        let ask = |least| {
            let front = front.clone();
            tidings::spawn(async move { front.next(least).timeout(hour).await.unwrap() })
        };
        let high = ask(10);
        let low = ask(0);
        let gone = front.next(5).timeout(Duration::from_millis(1)).await;
        assert!(matches!(gone, Err(CallError::Timeout)));
        while !(high.is_finished() && low.is_finished()) {
            front.push(3).await.unwrap();
            front.push(12).await.unwrap();
        }
        assert_eq!(high.await.unwrap(), 12);
        assert!([3, 12].contains(&low.await.unwrap()));
    });
}

#[test]
fn errors_of_the_call_and_of_the_handler_take_a_question_mark_each() {
    async fn check(admin: &AdminRef, limit: i64) -> Result<i64, Box<dyn Error + Send + Sync>> {
        Ok(admin.check(limit).await??)
    }
    on_all(|| async {
        let tally: TallyRef = actor::start(Tally(7));
        let admin = AdminRef::from(&tally);
        assert_eq!(check(&admin, 7).await.unwrap(), 7);
        let refused = check(&admin, 6).await.unwrap_err();
        assert_eq!(refused.to_string(), "7 is more than 6");
        admin.stop();
        tally.down().await;
        let ended = check(&admin, 7).await.unwrap_err();
        assert!(ended.downcast_ref::<CallError>().is_some());
    });
}

#[test]
fn a_weak_reference_knows_its_interface_and_keeps_nobody_alive() {
    on_all(|| async {
        let counter: CounterRef = actor::start(Tally::default());
        let weak: WeakOf<CounterRef> = counter.downgrade();
        assert_eq!(weak, weak.clone());
        let again = weak.upgrade().unwrap();
        assert_eq!(again, counter);
        again.add(2).await.unwrap();
        drop((counter, again));
        assert!(weak.upgrade().is_none());
    });
}

/// An interface in another state: the loop hands messages to whichever it is in.
#[tidings::interface]
trait Door {
    async fn push(&mut self) -> &'static str;
    async fn lock(&mut self, code: u32);
}

#[derive(Default)]
struct Unlocked(Option<u32>);
struct Locked(u32);

impl Door for Unlocked {
    async fn push(&mut self) -> &'static str {
        "open"
    }
    async fn lock(&mut self, code: u32) {
        self.0 = Some(code);
    }
}

impl Door for Locked {
    async fn push(&mut self) -> &'static str {
        "locked"
    }
    async fn lock(&mut self, code: u32) {
        self.0 = self.0.abs_diff(code);
    }
}

#[test]
fn an_actor_becomes_another() {
    on_all(|| async {
        let actor = actor::spawn(|mut mailbox: Mailbox<DoorMessage>| async move {
            let mut open = Unlocked::default();
            while let Ok(message) = mailbox.recv().await {
                message.dispatch(&mut open).await;
                let Some(code) = open.0 else { continue };
                let mut locked = Locked(code);
                while locked.0 != 0
                    && let Ok(message) = mailbox.recv().await
                {
                    message.dispatch(&mut locked).await;
                }
                open = Unlocked::default();
            }
        });
        let door = DoorRef::from(&actor);
        for (code, pushed) in [
            (5, "locked"),
            (5, "open"),
            (7, "locked"),
            (6, "locked"),
            (1, "open"),
        ] {
            door.lock(code).await.unwrap();
            assert_eq!(door.push().await.unwrap(), pushed);
        }
    });
}

#[tidings::interface]
trait Forward {
    async fn ask(&self, n: u32) -> u32;
}

/// Passes on to the next, whose reference it got as an argument of its state.
struct Link(Option<ForwardRef>);

impl Forward for Link {
    async fn ask(&self, n: u32) -> u32 {
        match &self.0 {
            Some(next) => next.ask(n + 1).await.unwrap(),
            None => n,
        }
    }
}

#[test]
fn actors_call_each_other_through_a_chain() {
    on_all(|| async {
        let mut first: ForwardRef = actor::start(Link(None));
        for _ in 0..10 {
            first = actor::start(Link(Some(first)));
        }
        assert_eq!(first.ask(0).await.unwrap(), 10);
    });
}

#[test]
fn a_reference_to_all_messages_gives_references_to_some() {
    on_all(|| async {
        let tally: ActorRef<TallyMessage> = actor::start(Tally(3));
        let counter: CounterRef = (&tally).into();
        drop(tally);
        // The narrow one keeps the actor alive.
        assert_eq!(counter.get_and_reset().await.unwrap(), 3);
    });
}
