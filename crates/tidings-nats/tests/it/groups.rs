//! What is sent to all of a group, in a simulation.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidings::actor::{ActorRef, Builder, Mailbox};
use tidings::channel::ivar::IVar;
use tidings::time::sleep;
use tidings::{Event, Receiver};
use tidings_nats::Down;

use crate::cluster::{LEASE, node, server};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, tidings::Schema, tidings::Remote)]
struct News(u32);

/// An actor that tells what it hears once it may.
fn listener(may: &Arc<IVar<()>>) -> (ActorRef<News>, Receiver<News>) {
    let (tell, heard) = tidings::unbounded();
    let may = Arc::clone(may);
    let body = move |mut mailbox: Mailbox<News>| async move {
        may.read().await;
        while let Ok(news) = mailbox.recv().await {
            let _ = tell.send(news).await;
        }
    };
    (Builder::new().capacity(1).spawn(body), heard)
}

fn open() -> Arc<IVar<()>> {
    let may = Arc::new(IVar::new());
    may.fill(()).unwrap();
    may
}

#[tidings::test(sim, seeds = 20)]
async fn a_member_whose_mailbox_is_full_keeps_nothing_from_those_behind_it() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (_, two) = node(&server, "two").await;
    let may = Arc::new(IVar::new());
    let (full, late) = listener(&may);
    let (free, heard) = listener(&open());
    let _full = one.join_group("press", &full).await.unwrap();
    let _free = one.join_group("press", &free).await.unwrap();
    let (there, far) = listener(&open());
    let _there = two.join_group("press", &there).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    full.send(News(0)).await.unwrap();
    let press = one.clone();
    let sending =
        tidings::spawn(async move { press.broadcast::<ActorRef<News>>("press", News(1)).await });
    assert_eq!(heard.recv().timeout(LEASE).await, Ok(Ok(News(1))));
    assert_eq!(far.recv().timeout(LEASE).await, Ok(Ok(News(1))));
    assert!(!sending.is_finished());
    may.fill(()).unwrap();
    assert_eq!(sending.await.unwrap(), 3);
    assert_eq!(late.recv().await, Ok(News(0)));
    assert_eq!(late.recv().await, Ok(News(1)));
}

#[tidings::test(sim, seeds = 20)]
async fn a_member_that_cannot_be_reached_keeps_nothing_from_those_behind_it() {
    let server = server();
    let (line, cut) = node(&server, "a").await;
    let (_, two) = node(&server, "b").await;
    let (_, one) = node(&server, "one").await;
    let ((a, _), (b, heard)) = (listener(&open()), listener(&open()));
    let _a = cut.join_group("press", &a).await.unwrap();
    let _b = two.join_group("press", &b).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    let gone = one.members().remove(0);
    line.cut();
    let press = one.clone();
    let sending =
        tidings::spawn(async move { press.broadcast::<ActorRef<News>>("press", News(1)).await });
    assert_eq!(heard.recv().timeout(LEASE / 3).await, Ok(Ok(News(1))));
    assert!(gone.exit().is_none() && !sending.is_finished());
    assert_eq!(gone.down().await, Down::Expired);
    assert_eq!(sending.await.unwrap(), 1);
}
