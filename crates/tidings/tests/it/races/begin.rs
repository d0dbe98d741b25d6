//! Kills at the moment when it becomes known what runs a life.

use std::future::pending;

use crate::storm::storm;
use tidings::actor::{self, Builder, Child, Exit, Mailbox, Strategy, Supervisor};
use tidings::spawn_blocking;

#[test]
fn a_kill_reaches_an_actor_that_returns_while_it_is_started() {
    storm(|_| async {
        // On a thread of its own: the actor may run before that goes on.
        let started = spawn_blocking(|| {
            actor::spawn(|mailbox: Mailbox<()>| async move {
                let deaf = |mailbox: Mailbox<()>| async move {
                    pending::<()>().await;
                    drop(mailbox);
                };
                drop(Builder::new().parent(&mailbox.this().any()).spawn(deaf));
            })
        });
        // It waits for its child, or is about to begin.
        let parent = started.await.unwrap();
        parent.kill();
        assert!(matches!(parent.down().await, Exit::Killed));
    });
}

#[test]
fn a_kill_reaches_a_life_that_begins_while_the_one_before_waits_for_its_children() {
    storm(|_| async {
        let child = Child::new(|mailbox: Mailbox<()>| async move {
            if mailbox.incarnation() > 1 {
                return pending().await;
            }
            let heeds = |mut mailbox: Mailbox<()>| async move { mailbox.recv().await.map(drop) };
            drop(Builder::new().parent(&mailbox.this().any()).spawn(heeds));
        });
        let actor = child.actor_ref();
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        actor.kill();
        assert_eq!(actor.restarted(2).await.unwrap(), 3);
        supervisor.kill();
        supervisor.down().await;
    });
}
