//! References, replies and observers inside of messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use tidings::actor::{self, ActorRef, CallError, Exit, Mailbox, Recipient, Reference, Reply};
use tidings::{Event, JoinSet, Remote, Schema};
use tidings_link::Exports;

use crate::nodes::{LONG, pair};

#[tidings::interface(remote)]
trait Listener {
    async fn heard(&mut self, line: String);
}

#[tidings::interface(remote)]
trait Room {
    async fn join(&mut self, listener: ListenerRef) -> RoomRef;
    async fn say(&mut self, line: String) -> usize;
    async fn is_here(&self, listener: ListenerRef) -> bool;
    async fn leave(&mut self, listener: ListenerRef);
    async fn later(&mut self, asks: Vec<Ask>);
    async fn plain(&mut self, to: ActorRef<Line>, also: Recipient<ListenerMessage>);
}

/// A reply that is no last argument.
#[derive(Serialize, Deserialize, Schema)]
struct Ask {
    n: u32,
    reply: Reply<u32>,
}

/// A message without an interface.
#[derive(Serialize, Deserialize, Schema, Remote)]
enum Line {
    Text(String),
    Count(Reply<u32>),
}

#[derive(Default)]
struct Hall {
    listeners: Vec<ListenerRef>,
    this: Option<RoomRef>,
    asks: Vec<Ask>,
}

impl Room for Hall {
    async fn join(&mut self, listener: ListenerRef) -> RoomRef {
        self.listeners.push(listener);
        self.this.clone().expect("it knows itself")
    }
    async fn say(&mut self, line: String) -> usize {
        for listener in &self.listeners {
            listener.heard(line.clone()).await.unwrap();
        }
        self.listeners.len()
    }
    async fn is_here(&self, listener: ListenerRef) -> bool {
        self.listeners.contains(&listener)
    }
    async fn leave(&mut self, listener: ListenerRef) {
        self.listeners.retain(|other| *other != listener);
    }
    async fn later(&mut self, asks: Vec<Ask>) {
        for ask in asks {
            match ask.n {
                0 => self.asks.push(ask),
                1 => drop(ask),
                n => ask.reply.send(10 * n).unwrap(),
            }
        }
    }
    async fn plain(&mut self, to: ActorRef<Line>, also: Recipient<ListenerMessage>) {
        to.send(Line::Text("hello".to_owned())).await.unwrap();
        let count = to.call(Line::Count).await.unwrap();
        ListenerRef::from(also)
            .heard(count.to_string())
            .await
            .unwrap();
    }
}

struct Ear(tidings::Sender<String>);

impl Listener for Ear {
    async fn heard(&mut self, line: String) {
        self.0.send(line).await.unwrap();
    }
}

fn ear() -> (ListenerRef, tidings::Receiver<String>) {
    let (to, heard) = tidings::unbounded();
    (actor::start(Ear(to)), heard)
}

/// A hall that knows its own reference.
fn hall() -> RoomRef {
    let hall = actor::spawn(|mut mailbox: Mailbox<RoomMessage>| async move {
        let this = mailbox.this().upgrade().map(|this| RoomRef::from(&this));
        let state = Hall {
            this,
            ..Hall::default()
        };
        actor::serve(state, &mut mailbox).await;
    });
    RoomRef::from(&hall)
}

#[tidings::test]
async fn an_observer_that_travels_hears_what_is_said_there() {
    let hall = hall();
    let (_server, client) = pair(Exports::new().add("hall", &hall));
    let room: RoomRef = client.get("hall").await.unwrap();
    let (listener, heard) = ear();
    let again = room.join(listener.clone()).await.unwrap();
    // The hall's own reference has come again: it is the same.
    assert_eq!(again, room);
    assert_eq!(room.say("hello".to_owned()).await.unwrap(), 1);
    assert_eq!(heard.recv().await.unwrap(), "hello");
    // And so is the listener's, there.
    assert!(room.is_here(listener.clone()).await.unwrap());
    let (other, _) = ear();
    assert!(!room.is_here(other).await.unwrap());
}

#[tidings::test]
async fn a_reference_that_comes_home_is_the_actors_own() {
    #[tidings::interface(remote)]
    trait Keeper {
        async fn keep(&mut self, it: ListenerRef);
        async fn give(&self) -> ListenerRef;
    }
    struct Drawer(Option<ListenerRef>);
    impl Keeper for Drawer {
        async fn keep(&mut self, it: ListenerRef) {
            self.0 = Some(it);
        }
        async fn give(&self) -> ListenerRef {
            self.0.clone().unwrap()
        }
    }
    let keeper: KeeperRef = actor::start(Drawer(None));
    let (_server, client) = pair(Exports::new().add("keeper", &keeper));
    let there: KeeperRef = client.get("keeper").await.unwrap();
    let (listener, _heard) = ear();
    there.keep(listener.clone()).await.unwrap();
    assert_eq!(there.give().await.unwrap(), listener);
}

#[tidings::test]
async fn a_reference_that_comes_home_as_another_type_of_the_same_interface_is_the_actors_own() {
    #[tidings::interface(remote)]
    trait Door {
        async fn names(&self, it: ListenerRef) -> u64;
        async fn narrows(&self, it: Recipient<ListenerMessage>) -> u64;
        async fn knows(&self, it: ActorRef<ListenerMessage>) -> u64;
    }
    struct Porter;
    impl Door for Porter {
        async fn names(&self, it: ListenerRef) -> u64 {
            it.any().id()
        }
        async fn narrows(&self, it: Recipient<ListenerMessage>) -> u64 {
            it.id()
        }
        async fn knows(&self, it: ActorRef<ListenerMessage>) -> u64 {
            it.id()
        }
    }
    let door: DoorRef = actor::start(Porter);
    let (listener, _heard) = ear();
    let exports = Exports::new()
        .add("door", &door)
        .add("ear", &listener)
        .add("narrow", &listener.recipient());
    let (_server, client) = pair(exports);
    let there: DoorRef = client.get("door").await.unwrap();
    let own = listener.any().id();
    let narrowed: Recipient<ListenerMessage> = client.get("ear").await.unwrap();
    assert_eq!(there.narrows(narrowed).await.unwrap(), own);
    let named: ListenerRef = client.get("narrow").await.unwrap();
    assert_eq!(there.names(named).await.unwrap(), own);
    // As another type than that as which it came here, too.
    let ear: ListenerRef = client.get("ear").await.unwrap();
    assert_eq!(there.narrows(ear.recipient()).await.unwrap(), own);
    let narrow: Recipient<ListenerMessage> = client.get("narrow").await.unwrap();
    assert_eq!(there.names(narrow.into()).await.unwrap(), own);
    // What knows its actor's whole mailbox cannot be made of one that does not.
    let whole: ActorRef<ListenerMessage> = client.get("ear").await.unwrap();
    assert!(there.knows(whole).await.is_err());
}

#[tidings::test]
async fn an_actor_that_comes_by_its_interface_and_narrowed_is_the_same_reference() {
    #[tidings::interface(remote)]
    trait Desk {
        async fn both(&self) -> (ListenerRef, Recipient<ListenerMessage>);
        async fn are_one(&self, named: ListenerRef, narrow: Recipient<ListenerMessage>) -> bool;
    }
    struct Clerk(ListenerRef);
    impl Desk for Clerk {
        async fn both(&self) -> (ListenerRef, Recipient<ListenerMessage>) {
            (self.0.clone(), self.0.recipient())
        }
        async fn are_one(&self, named: ListenerRef, narrow: Recipient<ListenerMessage>) -> bool {
            named == ListenerRef::from(narrow)
        }
    }
    let (listener, heard) = ear();
    let desk: DeskRef = actor::start(Clerk(listener));
    let (_server, client) = pair(Exports::new().add("desk", &desk));
    let desk: DeskRef = client.get("desk").await.unwrap();
    let (ours, _) = ear();
    assert!(desk.are_one(ours.clone(), ours.recipient()).await.unwrap());
    let (named, narrow) = desk.both().await.unwrap();
    let narrow = ListenerRef::from(narrow);
    assert_eq!(named, narrow);
    // So what is said to the one and to the other comes in order.
    for (n, it) in [&named, &narrow].into_iter().cycle().take(100).enumerate() {
        it.heard(n.to_string()).await.unwrap();
    }
    for n in 0..100 {
        assert_eq!(heard.recv().await.unwrap(), n.to_string());
    }
}

#[tidings::test]
async fn an_actor_lives_while_a_peer_refers_to_it_and_ends_when_it_does_not() {
    let hall = hall();
    let (_server, client) = pair(Exports::new().add("hall", &hall));
    let room: RoomRef = client.get("hall").await.unwrap();
    let (listener, heard) = ear();
    let any = listener.any();
    room.join(listener.clone()).await.unwrap();
    room.join(listener.clone()).await.unwrap();
    drop(listener);
    room.say("one".to_owned()).await.unwrap();
    assert_eq!(heard.recv().await.unwrap(), "one");
    assert_eq!(heard.recv().await.unwrap(), "one");
    assert!(any.exit().is_none());
    hall.stop();
    hall.down().await;
    assert!(matches!(
        any.down().timeout(LONG).await.unwrap(),
        Exit::Normal
    ));
}

#[tidings::test]
async fn replies_travel_and_are_answered_or_known_to_be_dropped() {
    let hall = hall();
    let (server, client) = pair(Exports::new().add("hall", &hall));
    let room: RoomRef = client.get("hall").await.unwrap();
    let asking = actor::spawn(|mut mailbox: Mailbox<(u32, Reply<u32>)>| async move {
        while let Ok((n, reply)) = mailbox.recv().await {
            room.later(vec![Ask { n, reply }]).await.unwrap();
        }
    });
    assert_eq!(asking.call(|reply| (7, reply)).await.unwrap(), 70);
    let dropped = asking.call(|reply| (1, reply)).await.unwrap_err();
    assert!(matches!(dropped, CallError::NoReply), "{dropped}");
    let kept = tidings::spawn({
        let asking = asking.clone();
        async move { asking.call(|reply| (0, reply)).await }
    });
    while server.stats().await.tells_in < 3 {
        tidings::yield_now().await;
    }
    hall.kill();
    let error = kept.await.unwrap().unwrap_err();
    // It was in the hall's hands, or still in its mailbox.
    assert!(
        matches!(
            error,
            CallError::Ended(Exit::Killed) | CallError::NotExecuted(Exit::Killed)
        ),
        "{error}"
    );
    // To an actor that has ended: the message is not executed, and its reply says so.
    let unheard = asking.call(|reply| (5, reply)).await.unwrap_err();
    assert!(
        matches!(
            unheard,
            CallError::NotExecuted(_) | CallError::NoReply | CallError::Ended(_)
        ),
        "{unheard}"
    );
    drop(client);
}

#[tidings::test]
async fn actors_without_an_interface_travel_too() {
    let hall = hall();
    let (_server, client) = pair(Exports::new().add("hall", &hall));
    let room: RoomRef = client.get("hall").await.unwrap();
    let (listener, heard) = ear();
    let (to, lines) = tidings::unbounded();
    let plain = actor::spawn(|mut mailbox: Mailbox<Line>| async move {
        let mut count = 0;
        while let Ok(line) = mailbox.recv().await {
            match line {
                Line::Text(text) => to.send(text).await.unwrap(),
                Line::Count(reply) => reply.send(count).unwrap(),
            }
            count += 1;
        }
    });
    room.plain(
        plain,
        listener
            .downgrade()
            .upgrade()
            .map(|l| (*l).clone())
            .unwrap(),
    )
    .await
    .unwrap();
    assert_eq!(lines.recv().await.unwrap(), "hello");
    assert_eq!(heard.recv().await.unwrap(), "1");
}

/// Is counted while it lives.
struct Guest(Arc<AtomicUsize>);

impl Listener for Guest {
    async fn heard(&mut self, _: String) {}
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn actors_that_are_sent_over_a_busy_link_do_not_pile_up() {
    let (alive, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let one = tidings::Runtime::builder().workers(1).build().unwrap();
    one.block_on(async {
        let hall = hall();
        let (_server, client) = pair(Exports::new().add("hall", &hall));
        let room: RoomRef = client.get("hall").await.unwrap();
        let mut callers = JoinSet::new();
        for _ in 0..50 {
            let (room, alive, most) = (room.clone(), alive.clone(), most.clone());
            callers.spawn(async move {
                for round in 0..600 {
                    assert_eq!(room.say(String::new()).await.unwrap(), 0);
                    if round % 20 == 0 {
                        most.fetch_max(alive.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
                        let guest: ListenerRef = actor::start(Guest(alive.clone()));
                        assert!(!room.is_here(guest).await.unwrap());
                    }
                }
            });
        }
        while let Some(caller) = callers.join_next().await {
            caller.unwrap();
        }
    });
    let most = most.load(Ordering::Relaxed);
    assert!(most < 200, "{most} of 1,500 were there at once");
}
