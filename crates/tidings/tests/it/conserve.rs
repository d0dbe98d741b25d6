//! The law of every actor (`books.rs`), whatever its mailbox and its handlers do with messages.

use std::sync::Arc;

use crate::books::{Books, Entry};
use crate::both::on_all_unheard;
use crate::storm::{beside, storm};
use tidings::actor::{
    self, ActorRef, Builder, Exit, Mailbox, Overflow, Pool, Routing, Shared, WeakActorRef,
};
use tidings::channel::oneshot;
use tidings::{JoinHandle, yield_now};

/// Sends entries from another task, wherever `to` says.
fn sender(
    books: &Books,
    n: u64,
    to: impl Fn(u64) -> ActorRef<Entry> + Send + 'static,
) -> JoinHandle<()> {
    let books = books.clone();
    beside(async move {
        for n in 0..n {
            books.send(&to(n), |entry| entry, |entry| entry).await;
        }
    })
}

/// Ends an actor that some may still send to, in one way or another.
fn end<M: Send + 'static>(actor: &ActorRef<M>, round: u64) {
    match round % 3 {
        0 => actor.stop(),
        1 => actor.stop_now(),
        _ => actor.kill(),
    }
}

async fn handle(mut mailbox: Mailbox<Entry>) {
    while let Ok(entry) = mailbox.recv().await {
        entry.handle();
        yield_now().await;
    }
}

#[test]
fn what_an_overflow_policy_drops_is_counted_and_all_else_is_handled_returned_or_dead() {
    storm(|round| async move {
        let policies = [
            Overflow::Wait,
            Overflow::Reject,
            Overflow::DropOldest,
            Overflow::DropNewest,
        ];
        let policy = policies[(round % 4) as usize];
        let books = Books::default();
        let builder = Builder::new().capacity(2).overflow(policy);
        let actor = builder.spawn(handle);
        let senders = [0; 3].map(|_| {
            let to = actor.clone();
            sender(&books, 8, move |_| to.clone())
        });
        for _ in 0..round % 11 {
            yield_now().await;
        }
        end(&actor, round / 4);
        actor.down().await;
        for sending in senders {
            sending.await.unwrap();
        }
        // What was rejected has come back.
        let dropped = match policy {
            Overflow::DropOldest | Overflow::DropNewest => actor.overflowed(),
            _ => 0,
        };
        books.balance(actor.dead_letters() + dropped);
    });
}

#[test]
fn a_pool_that_is_resized_at_work_conserves() {
    storm(|round| async move {
        let books = Books::default();
        let pool = Pool::start(Routing::LeastLoaded, 3, || {
            Builder::new().capacity(2).spawn(handle)
        });
        let workers: Vec<WeakActorRef<Entry>> =
            pool.workers().iter().map(ActorRef::downgrade).collect();
        let one = pool.workers()[0].clone();
        let senders = [0; 3].map(|_| {
            let pool = pool.clone();
            sender(&books, 8, move |_| pool.pick().unwrap())
        });
        for _ in 0..round % 11 {
            yield_now().await;
        }
        pool.resize(1);
        for sending in senders {
            sending.await.unwrap();
        }
        end(&one, round);
        drop(pool);
        let mut dead = 0;
        for worker in workers {
            worker.any().down().await;
            dead += worker.any().dead_letters();
        }
        books.balance(dead);
    });
}

#[tidings::interface]
trait Take {
    async fn beside(this: Shared<Self>, entry: Entry);
    async fn alone(&mut self, entry: Entry);
    /// Panics when this comes.
    async fn crash(this: Shared<Self>, told: oneshot::Receiver<()>);
}

struct Takes;

impl Take for Takes {
    async fn crash(_this: Shared<Self>, told: oneshot::Receiver<()>) {
        told.await.unwrap();
        std::panic::resume_unwind(Box::new("crash"));
    }
    async fn beside(this: Shared<Self>, entry: Entry) {
        entry.handle();
        yield_now().await;
        this.with(|_| ());
    }
    async fn alone(&mut self, entry: Entry) {
        entry.handle();
        yield_now().await;
    }
}

fn entry_of(message: TakeMessage) -> Entry {
    match message {
        TakeMessage::Alone(entry) | TakeMessage::Beside(entry) => entry,
        TakeMessage::Crash(_) => unreachable!("it has none"),
    }
}

/// The panic is due when the message has been taken, and its handler has not begun.
#[test]
fn a_reentrant_handler_whose_message_was_taken_begins_though_another_panics() {
    on_all_unheard(|| async {
        let books = Books::default();
        let (tell, told) = oneshot();
        let mut tell = Some(tell);
        let actor = actor::spawn(|mut mailbox: Mailbox<TakeMessage>| async move {
            let before = move |message: &TakeMessage| {
                if let TakeMessage::Beside(_) = message {
                    let _ = tell.take().map(|tell| tell.send(()));
                }
                Ok(())
            };
            actor::serve_with(|_| Takes, &mut mailbox, before).await;
        });
        actor.send(TakeMessage::Crash(told)).await.unwrap();
        books.send(&actor, TakeMessage::Beside, entry_of).await;
        assert!(matches!(actor.down().await, Exit::Panicked(_)));
        assert_eq!(books.handled(), 1);
        books.balance(actor.dead_letters());
    });
}

#[test]
fn an_actor_with_reentrant_handlers_conserves() {
    storm(|round| async move {
        let books = Books::default();
        let actor: ActorRef<TakeMessage> = actor::start_with(move |this: &Shared<Takes>| {
            this.limit(2);
            Takes
        });
        let senders = [false, true, true].map(|alone| {
            let (books, to) = (books.clone(), actor.clone());
            beside(async move {
                for _ in 0..8 {
                    let wrap = |entry| match alone {
                        true => TakeMessage::Alone(entry),
                        false => TakeMessage::Beside(entry),
                    };
                    books.send(&to, wrap, entry_of).await;
                }
            })
        });
        for _ in 0..round % 11 {
            yield_now().await;
        }
        end(&actor, round);
        actor.down().await;
        for sending in senders {
            sending.await.unwrap();
        }
        books.balance(actor.dead_letters());
    });
}

#[test]
fn what_is_stashed_or_passed_over_is_handled_or_dead() {
    storm(|round| async move {
        let books = Books::default();
        let dice = Arc::new(std::sync::atomic::AtomicU64::new(round));
        let draw =
            move |n: u64| dice.fetch_add(1, std::sync::atomic::Ordering::Relaxed) * 7 % 13 % n;
        let builder = Builder::new().capacity(4);
        let actor = builder.spawn(move |mut mailbox: Mailbox<Entry>| async move {
            loop {
                let taken = match draw(3) {
                    0 => {
                        mailbox
                            .scan(|entry| if draw(3) == 0 { Ok(entry) } else { Err(entry) })
                            .await
                    }
                    _ => mailbox.recv().await,
                };
                match taken {
                    Ok(entry) if draw(2) == 0 => {
                        if let Err(entry) = mailbox.stash(entry) {
                            entry.handle();
                            mailbox.unstash();
                        }
                    }
                    Ok(entry) => entry.handle(),
                    Err(_) => return,
                }
            }
        });
        let senders = [0; 3].map(|_| {
            let to = actor.clone();
            sender(&books, 8, move |_| to.clone())
        });
        for _ in 0..round % 11 {
            yield_now().await;
        }
        end(&actor, round);
        actor.down().await;
        for sending in senders {
            sending.await.unwrap();
        }
        books.balance(actor.dead_letters());
        assert_eq!(actor.queued(), 0);
    });
}
