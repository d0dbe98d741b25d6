//! How many reentrant handlers of an actor run at once, where others say so while it runs.

use std::sync::Arc;

use crate::both::on_all;
use tidings::actor::{self, Shared};
use tidings::channel::Sender;
use tidings::sync::Barrier;
use tidings::{unbounded, yield_now};

/// By who is none of its handlers, while it waits: a handler that waits for another to come goes on.
#[test]
fn a_limit_that_is_raised_from_elsewhere_counts_at_once() {
    #[tidings::interface]
    trait Meeting {
        async fn meet(this: Shared<Self>) -> ();
    }
    struct Room(Sender<Shared<Self>>, Arc<Barrier>);
    impl Meeting for Room {
        async fn meet(this: Shared<Self>) {
            let (here, both) = this.with(|room| (room.0.clone(), Arc::clone(&room.1)));
            here.send(this).await.unwrap();
            both.wait().await;
        }
    }
    on_all(|| async {
        let (here, come) = unbounded();
        let room: MeetingRef = actor::start_with(|this| {
            this.limit(1);
            Room(here, Arc::new(Barrier::new(2)))
        });
        let calls = [0; 2].map(|_| {
            let room = room.clone();
            tidings::spawn(async move { room.meet().await.unwrap() })
        });
        let first = come.recv().await.unwrap();
        while room.queued() == 0 {
            yield_now().await;
        }
        for _ in 0..5 {
            yield_now().await;
        }
        first.limit(2);
        for call in calls {
            call.await.unwrap();
        }
    });
}
