//! What is sent to all of a group, in a simulation.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidings::actor::{ActorRef, Builder, Mailbox};
use tidings::channel::ivar::IVar;
use tidings::channel::watch;
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

async fn told(names: &mut watch::Receiver<Vec<String>>) -> Vec<String> {
    names.changed().await.unwrap();
    names.get().to_vec()
}

#[tidings::test(sim, seeds = 20)]
async fn who_watches_a_group_sees_its_members_come_and_go_until_its_own_membership_ends() {
    let server = server();
    let (_, one) = node(&server, "one").await;
    let (line, two) = node(&server, "two").await;
    let (a, _) = listener(&open());
    let mut press = one.watch_group("press");
    assert_eq!(press.get().len(), 0);
    let ours = one.join_group("press", &a).await.unwrap();
    assert_eq!(told(&mut press).await, [ours.as_str()]);
    let theirs = two.join_group("press", &a).await.unwrap();
    let both = [ours.as_str(), theirs.as_str()];
    assert_eq!(told(&mut press).await, both);
    // What is of no concern to it is not told.
    let _other = two.join_group("pressure", &a).await.unwrap();
    let place = two.join_group("press", &a).await.unwrap();
    assert_eq!(told(&mut press).await.len(), 3);
    drop(place);
    assert_eq!(told(&mut press).await, both);
    assert_eq!(*one.watch_group("press").get(), both);
    line.cut();
    assert_eq!(told(&mut press).await, [ours.as_str()]);
    let mut own = one.watch_group("press");
    drop(ours);
    assert_eq!(told(&mut press).await, [""; 0]);
    assert_eq!(told(&mut own).await, [""; 0]);
    let _back = one.join_group("press", &a).await.unwrap();
    assert_eq!(told(&mut press).await.len(), 1);
    one.leave(LEASE).await;
    assert_eq!(told(&mut press).await, [""; 0]);
    assert!(press.changed().await.is_err());
    assert!(one.watch_group("press").changed().await.is_err());
}
