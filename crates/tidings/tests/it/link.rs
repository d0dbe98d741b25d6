//! Links: OTP's `erts/emulator/test/process_SUITE.erl` (`trap_exit_badarg`, `exit_and_timeout`, `exit_twice`)
//! and `signal_SUITE.erl` are about signals; what programs see of them is here.

use crate::both::{on_all, pool, run, watchdog};
use tidings::actor::{self, ActorRef, Child, Exit, LinkExit, Mailbox, Strategy, Supervisor};
use tidings::{Event, Receiver, always, oneshot, select, unbounded, yield_now};

async fn idle(mut mailbox: Mailbox<bool>) -> Result<(), &'static str> {
    match mailbox.recv().await {
        Ok(true) => std::panic::resume_unwind(Box::new("told to")),
        Ok(false) => Err("an error"),
        Err(_) => Ok(()),
    }
}

/// Ends an actor.
type End = fn(&ActorRef<bool>);

fn start(name: &str) -> ActorRef<bool> {
    actor::Builder::new().name(name).spawn(idle)
}

/// An actor that traps exits and hands them on.
async fn trapping() -> (ActorRef<()>, Receiver<LinkExit>) {
    let (told, exits) = oneshot();
    let actor = actor::spawn(move |mut mailbox: Mailbox<()>| async move {
        told.send(mailbox.trap_exits()).unwrap();
        while mailbox.recv().await.is_ok() {}
    });
    (actor, exits.await.unwrap())
}

#[test]
fn an_end_that_is_not_in_order_ends_those_that_are_linked() {
    on_all(|| async {
        let ends: [(End, &str); 3] = [
            (|actor| actor.try_send(true).unwrap(), "panicked: told to"),
            (|actor| actor.try_send(false).unwrap(), "failed: an error"),
            (ActorRef::kill, "was killed"),
        ];
        for (end, why) in ends {
            let (one, two, three) = (start("one"), start("two"), start("three"));
            one.link(&two.any());
            three.link(&two.any());
            // A second link is the same link.
            two.link(&one.any());
            end(&one);
            assert_eq!(one.down().await.to_string(), why);
            let exit = two.down().await;
            assert_eq!(exit.to_string(), format!("was linked to one, which {why}"));
            let exit = three.down().await;
            assert_eq!(
                exit.to_string(),
                format!("was linked to two, which was linked to one, which {why}")
            );
        }
    });
}

#[test]
fn an_exit_names_the_first_links_of_a_chain_of_any_length() {
    let _watchdog = watchdog();
    run(&pool(2), async {
        let mut chain = vec![start("first")];
        chain.extend((0..20_000).map(|_| start("next")));
        for pair in chain.windows(2) {
            pair[0].link(&pair[1].any());
        }
        chain[0].kill();
        let exit = chain[20_000].down().await.to_string();
        let (of_first, others) = (" first, which was killed", "was linked to next, which ");
        let expected = format!("{}was linked to{of_first}", others.repeat(15));
        assert_eq!(exit, expected);
    });
}

#[test]
fn an_orderly_end_unties() {
    on_all(|| async {
        for stop in [ActorRef::stop, ActorRef::stop_now] {
            let (one, two) = (start("one"), start("two"));
            one.link(&two.any());
            stop(&one);
            assert!(matches!(one.down().await, Exit::Stopped));
            yield_now().await;
            assert!(two.exit().is_none());
            two.stop();
            assert!(matches!(two.down().await, Exit::Stopped));
        }
    });
}

#[test]
fn who_traps_exits_hears_of_every_end_and_lives() {
    on_all(|| async {
        let (watcher, exits) = trapping().await;
        let (orderly, killed) = (start("orderly"), start("killed"));
        for other in [&orderly, &killed] {
            other.link(&watcher.any());
        }
        orderly.stop();
        let LinkExit { actor, exit, .. } = exits.recv().await.unwrap();
        assert_eq!(actor, orderly.any());
        assert!(matches!(exit, Exit::Stopped));
        killed.kill();
        let LinkExit { actor, exit, .. } = exits.recv().await.unwrap();
        assert_eq!(actor, killed.any());
        assert!(matches!(exit, Exit::Killed));
        assert!(watcher.exit().is_none());
        // The other way it is a link as any; and a kill is not trapped.
        let last = start("last");
        watcher.link(&last.any());
        watcher.kill();
        assert!(matches!(last.down().await, Exit::Linked { .. }));
        assert!(exits.recv().await.is_err());
    });
}

#[test]
fn who_has_dropped_its_trap_is_ended() {
    on_all(|| async {
        let (watcher, exits) = trapping().await;
        let other = start("other");
        watcher.link(&other.any());
        drop(exits);
        other.kill();
        assert!(matches!(watcher.down().await, Exit::Linked { .. }));
    });
}

#[test]
fn a_link_to_the_dead_is_as_if_it_died_now() {
    on_all(|| async {
        let (stopped, killed) = (start("stopped"), start("killed"));
        stopped.stop();
        stopped.down().await;
        killed.kill();
        killed.down().await;
        let actor = start("actor");
        actor.link(&stopped.any());
        stopped.link(&actor.any());
        yield_now().await;
        assert!(actor.exit().is_none());
        actor.link(&killed.any());
        assert_eq!(
            actor.down().await.to_string(),
            "was linked to killed, which was killed"
        );
        let other = start("other");
        killed.link(&other.any());
        assert!(matches!(other.down().await, Exit::Linked { .. }));
        // The dead do not care.
        stopped.link(&killed.any());
        assert!(matches!(stopped.exit(), Some(Exit::Stopped)));
        let (watcher, exits) = trapping().await;
        watcher.link(&stopped.any());
        assert!(matches!(exits.recv().await.unwrap().exit, Exit::Stopped));
    });
}

#[test]
fn what_is_unlinked_does_not_share_its_fate() {
    on_all(|| async {
        let (one, two) = (start("one"), start("two"));
        one.link(&two.any());
        two.unlink(&one.any());
        one.kill();
        one.down().await;
        yield_now().await;
        assert!(two.exit().is_none());
        // To oneself: nothing.
        two.link(&two.any());
        two.stop();
        assert!(matches!(two.down().await, Exit::Stopped));
    });
}

#[test]
fn a_link_is_for_one_life() {
    on_all(|| async {
        let child = Child::new(idle);
        let actor = child.actor_ref();
        let other = start("other");
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        supervisor.started().await.unwrap().unwrap();
        actor.link(&other.any());
        actor.kill();
        // It goes on, the other does not.
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        assert!(matches!(other.down().await, Exit::Linked { .. }));
        let other = start("another");
        actor.kill();
        assert_eq!(actor.restarted(2).await.unwrap(), 3);
        // The other way: a life ends by its link, and is answered as any failure.
        actor.link(&other.any());
        other.kill();
        assert_eq!(actor.restarted(3).await.unwrap(), 4);
    });
}

#[test]
fn an_exit_can_stand_in_a_choice() {
    on_all(|| async {
        let (watcher, exits) = trapping().await;
        let other = start("other");
        watcher.link(&other.any());
        let (tx, rx) = unbounded();
        let heard = exits.recv().map(|_| 1).or(always(2)).biased().await;
        assert_eq!(heard, 2);
        tx.send(()).await.unwrap();
        other.kill();
        other.down().await;
        let mut heard = [0, 0];
        for _ in 0..2 {
            select! {
                exit = exits.recv() => { exit.unwrap(); heard[0] += 1 },
                got = rx.recv() => { got.unwrap(); heard[1] += 1 },
            }
        }
        assert_eq!(heard, [1, 1]);
    });
}
