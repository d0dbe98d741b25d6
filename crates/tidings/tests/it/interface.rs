//! Actors whose messages are the methods of traits.

use std::collections::HashMap;
use std::hash::Hash;

use crate::both::on_all;
use tidings::actor::{self, ActorRef, Builder, CallError, Exit};

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
}

struct Map<K, V>(HashMap<K, V>);

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
