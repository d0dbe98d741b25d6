//! Messages that flow: there are always more, so a mailbox and the handlers of an interface take short ways. On one
//! worker, so that the mailbox's lock leans towards it: the ways are those of a lock that does.

use crate::both::{pool, run, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tidings::actor::{self, Exit, Mailbox, SendError, WeakActorRef};
use tidings::yield_now;

/// More than it takes before a lock leans, and less than a mailbox holds.
const MANY: u32 = 100;

#[tidings::interface]
trait Log {
    async fn one(&mut self, n: u32);
    /// It waits in between.
    async fn slowly(&mut self, n: u32);
    async fn last(&mut self) -> Vec<u32>;
    async fn three(&mut self, n: u32, text: String);
}

#[tidings::interface]
trait Other {
    async fn two(&mut self, n: u32);
}

#[tidings::interface]
trait Third {
    async fn ask(&mut self, n: u32) -> u32;
    async fn four(&mut self, text: String, n: u32);
}

#[tidings::actor(Log, Other, Third)]
#[derive(Default)]
struct Book(Vec<u32>);

impl Log for Book {
    async fn one(&mut self, n: u32) {
        self.0.push(n);
    }
    async fn slowly(&mut self, n: u32) {
        yield_now().await;
        self.0.push(n);
        yield_now().await;
    }
    async fn last(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.0)
    }
    async fn three(&mut self, n: u32, text: String) {
        assert_eq!(text, n.to_string());
        self.0.push(n);
    }
}

impl Other for Book {
    async fn two(&mut self, n: u32) {
        self.0.push(n);
    }
}

impl Third for Book {
    async fn ask(&mut self, n: u32) -> u32 {
        self.0.push(n);
        n
    }
    async fn four(&mut self, text: String, n: u32) {
        assert_eq!(text, n.to_string());
        self.0.push(n);
    }
}

#[test]
fn messages_of_several_interfaces_are_handled_in_order_whichever_way_they_go() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let book: BookRef = actor::start(Book::default());
        let (log, other) = (LogRef::from(&book), OtherRef::from(&book));
        let third = ThirdRef::from(&book);
        for round in 0..5 {
            for n in 0..MANY {
                match n % (5 + round) {
                    0 => log.one(n).await.unwrap(),
                    1 => other.two(n).await.unwrap(),
                    2 => log.three(n, n.to_string()).await.unwrap(),
                    3 => third.four(n.to_string(), n).await.unwrap(),
                    4 => log.slowly(n).await.unwrap(),
                    _ => assert_eq!(third.ask(n).await.unwrap(), n),
                }
            }
            assert!(log.last().await.unwrap().into_iter().eq(0..MANY));
        }
    });
}

/// Stops itself at the message with this number.
struct Stops {
    at: u32,
    this: WeakActorRef<OtherMessage>,
    handled: Arc<AtomicU32>,
}

impl Other for Stops {
    async fn two(&mut self, n: u32) {
        self.handled.fetch_add(1, Ordering::Relaxed);
        if n == self.at {
            self.this.upgrade().expect("it is kept").stop_now();
        }
    }
}

#[test]
fn messages_that_flow_end_at_a_stop_without_delay() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let handled = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&handled);
        let actor = actor::spawn(async move |mut mailbox: Mailbox<OtherMessage>| {
            let (at, this, handled) = (MANY / 2, mailbox.this(), counts);
            actor::serve(Stops { at, this, handled }, &mut mailbox).await;
        });
        let other = OtherRef::from(&actor);
        for n in 0..MANY {
            other.two(n).await.unwrap();
        }
        actor.down().await;
        assert_eq!(handled.load(Ordering::Relaxed), MANY / 2 + 1);
        assert_eq!(actor.dead_letters(), u64::from(MANY / 2 - 1));
    });
}

#[test]
fn a_mailbox_that_is_closed_takes_no_message_behind_those_that_are_left() {
    let _watchdog = watchdog();
    run(&pool(1), async {
        let (arrives, arrived) = tidings::unbounded();
        let (opens, gate) = tidings::unbounded();
        let actor = actor::spawn(async move |mut mailbox: Mailbox<u32>| {
            while let Ok(n) = mailbox.recv().await {
                if n == MANY / 2 {
                    arrives.send(()).await.unwrap();
                    gate.recv().await.unwrap();
                }
            }
        });
        for n in 0..MANY {
            actor.send(n).await.unwrap();
        }
        actor.stop();
        arrived.recv().await.unwrap();
        assert_eq!(actor.queued(), (MANY / 2 - 1) as usize);
        let late = actor.send(MANY).await;
        assert!(matches!(late, Err(SendError::Ended(MANY, Exit::Stopped))));
        opens.send(()).await.unwrap();
        assert!(matches!(actor.down().await, Exit::Stopped));
    });
}
