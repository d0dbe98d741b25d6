//! Bugs and complaints about other libraries' links: each test says which library had it and where.

use tidings::actor::{self, CallError, Exit, Reply};
use tidings::{Event, Sender};
use tidings_link::Exports;

use crate::nodes::{LONG, pair};

#[tidings::interface(remote)]
trait Desk {
    async fn work(&mut self, reply: Reply<u32>);
    async fn twice(&mut self, by: DeskRef) -> u32;
    async fn number(&self) -> u32;
}

/// Tells when a request has come, and when nobody waits for its answer any more.
struct Clerk {
    number: u32,
    told: Sender<&'static str>,
}

impl Desk for Clerk {
    async fn work(&mut self, reply: Reply<u32>) {
        let told = self.told.clone();
        tidings::spawn(async move {
            told.send("begun").await.unwrap();
            reply.closed().await;
            told.send("left").await.unwrap();
        });
    }
    async fn twice(&mut self, by: DeskRef) -> u32 {
        by.number().await.unwrap() + self.number
    }
    async fn number(&self) -> u32 {
        self.number
    }
}

/// google/tarpc#341: what a handler does goes on though its caller's connection is gone.
#[tidings::test]
async fn tarpc_341_a_handler_hears_that_its_callers_link_is_gone() {
    let (told, heard) = tidings::unbounded();
    let here: DeskRef = actor::start(Clerk { number: 1, told });
    let (_server, client) = pair(Exports::new().add("desk", &here));
    let there: DeskRef = client.get("desk").await.unwrap();
    let asked = tidings::spawn(async move { there.work().await });
    assert_eq!(heard.recv().await, Ok("begun"));
    assert!(heard.try_recv().is_err());
    client.close();
    assert_eq!(heard.recv().timeout(LONG).await.unwrap(), Ok("left"));
    let error = asked.await.unwrap().unwrap_err();
    assert!(
        matches!(error, CallError::Ended(Exit::Disconnected(_))),
        "{error}"
    );
}

/// google/tarpc#300: a server cannot call its client over the connection it was called on.
#[tidings::test]
async fn tarpc_300_a_callee_calls_its_caller_back_over_the_same_link() {
    let (told, _heard) = tidings::unbounded();
    let clerk = |number| Clerk {
        number,
        told: told.clone(),
    };
    let (here, ours): (DeskRef, DeskRef) = (actor::start(clerk(40)), actor::start(clerk(1)));
    let (server, client) = pair(Exports::new().add("desk", &here));
    let there: DeskRef = client.get("desk").await.unwrap();
    assert_eq!(there.twice(ours).await.unwrap(), 41);
    // Both calls have come by this link: its two ends have had one each.
    let calls = (server.stats().await.calls_in, client.stats().await.calls_in);
    assert_eq!(calls, (1, 1));
}
