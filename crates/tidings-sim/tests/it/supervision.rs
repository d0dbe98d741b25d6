//! Supervisors: whatever ends their children, how often and when.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidings::actor::{
    ActorRef, Child, Exit, Mailbox, Reply, Strategy, Supervisor, SupervisorError,
};
use tidings::sched::random;
use tidings::time::sleep;
use tidings_sim::{Sim, world};

const CHILDREN: usize = 3;
/// Restarts that the supervisor allows.
const RESTARTS: usize = 3;

enum Tell {
    /// Say which life this is, and the how manieth of all that began.
    Ping(Reply<(u64, u64)>),
    Quit,
    Fail,
    Crash,
}

async fn work(mut mailbox: Mailbox<Tell>, begun: u64) -> Result<(), &'static str> {
    while let Ok(told) = mailbox.recv().await {
        match told {
            Tell::Ping(reply) => drop(reply.send((mailbox.incarnation(), begun))),
            Tell::Quit => return Ok(()),
            Tell::Fail => return Err("told to"),
            // A panic that prints nothing.
            Tell::Crash => std::panic::resume_unwind(Box::new("crash")),
        }
    }
    Ok(())
}

/// Ways to end a life; a child that is between two of them hears nothing.
const ENDS: [fn(&ActorRef<Tell>); 5] = [
    |child| drop(child.try_send(Tell::Quit)),
    |child| drop(child.try_send(Tell::Fail)),
    |child| drop(child.try_send(Tell::Crash)),
    ActorRef::stop,
    ActorRef::kill,
];

/// Asks this one and that. Each call has an outcome, and no life is seen after a later one.
async fn client(children: Vec<ActorRef<Tell>>) {
    let mut seen = [0; CHILDREN];
    for _ in 0..8 {
        let n = random(CHILDREN);
        if let Ok((life, _)) = children[n].call(Tell::Ping).await {
            assert!(life >= seen[n], "life {life} after {}", seen[n]);
            seen[n] = life;
        }
        sleep(Duration::from_millis(random(3) as u64)).await;
    }
}

async fn family() {
    let strategies = [
        Strategy::OneForOne,
        Strategy::OneForAll,
        Strategy::RestForOne,
    ];
    let strategy = strategies[world().choose(strategies.len())];
    let ends = world().swarm(&ENDS);
    let mut supervisor = Supervisor::new(strategy).intensity(RESTARTS, Duration::from_secs(3600));
    let (mut children, begun) = (Vec::new(), Arc::new(AtomicU64::new(0)));
    for _ in 0..CHILDREN {
        let begun = Arc::clone(&begun);
        let child = Child::new(move |mailbox| work(mailbox, begun.fetch_add(1, Ordering::SeqCst)));
        children.push(child.actor_ref());
        supervisor = supervisor.child(child);
    }
    let supervisor = supervisor.start();
    let watches: Vec<_> = children
        .iter()
        .cloned()
        .map(|child| tidings::spawn(async move { child.down().await }))
        .collect();
    // The end of one that has not taken a message is another matter: then the supervisor does not start.
    for child in &children {
        child.call(Tell::Ping).await.unwrap();
    }
    let clients = [(); 2].map(|()| tidings::spawn(client(children.clone())));
    let mut ended = 0;
    for _ in 0..random(7) {
        sleep(Duration::from_millis(random(4) as u64)).await;
        if !ends.is_empty() {
            ends[random(ends.len())](&children[random(CHILDREN)]);
            ended += 1;
        }
    }
    for client in clients {
        client.await.unwrap();
    }
    // All is quiet.
    sleep(Duration::from_secs(60)).await;
    let mut lives = Vec::new();
    for child in &children {
        lives.extend(child.call(Tell::Ping).await);
    }
    if lives.is_empty() {
        let Exit::Failed(why) = supervisor.down().await else {
            panic!("nobody told it to end");
        };
        let why = why.downcast_ref();
        assert!(matches!(why, Some(SupervisorError::Intensity { .. })));
        assert!(ended > RESTARTS);
    } else {
        assert_eq!(lives.len(), CHILDREN, "all live, or none");
        let restarts: u64 = lives.iter().map(|(life, _)| life - 1).sum();
        match strategy {
            Strategy::OneForOne => assert!(restarts <= RESTARTS as u64),
            // Nobody lives who began before somebody else has ended.
            Strategy::OneForAll => {
                let first = lives[0].1;
                assert!(lives.iter().map(|life| life.1).eq(first..first + 3));
            }
            // Nobody whom another, who was started before him, does not precede.
            _ => assert!(lives.is_sorted_by_key(|life| life.1)),
        }
        supervisor.stop();
        assert!(matches!(supervisor.down().await, Exit::Stopped));
    }
    // Each watch hears of one end, of the last life.
    for watch in watches {
        watch.await.unwrap();
    }
}

#[test]
fn what_supervisors_promise_holds_whatever_ends_their_children() {
    let summary = Sim::new(0).seeds(400).settles().run(family);
    assert!(summary.dead > 0, "some messages come to a life that ends");
}
