//! Races of actors that other executors run: a task of another runtime polls them.

use std::sync::Mutex;

use super::{handle, pause, sender};
use crate::books::{Books, Entry};
use crate::letter::Ledger;
use crate::storm::{beside, storm};
use tidings::actor::{Builder, Exit, Mailbox};
use tidings::oneshot;

#[test]
fn a_kill_ends_an_actor_that_another_executor_runs_whatever_it_does() {
    storm(|round| async move {
        let books = Books::default();
        let elsewhere = Builder::new().executor(|life| drop(beside(life)));
        let actor = elsewhere.spawn(move |mailbox: Mailbox<Entry>| async move {
            pause(round / 7).await;
            handle(mailbox).await;
        });
        let sending = sender(&books, &actor, 5);
        let killing = beside({
            let actor = actor.any();
            async move {
                pause(round).await;
                actor.kill();
            }
        });
        assert!(matches!(actor.down().await, Exit::Killed));
        sending.await.unwrap();
        killing.await.unwrap();
        books.balance(actor.dead_letters());
    });
}

#[test]
fn an_actor_ends_once_though_its_driver_is_dropped_while_it_is_stopped_and_killed() {
    storm(|round| async move {
        let books = Books::default();
        let (give, driver) = oneshot();
        let give = Mutex::new(Some(give));
        let elsewhere = Builder::new().executor(move |life| {
            let give = give.lock().unwrap().take().expect("it has one life");
            give.send(beside(life)).unwrap();
        });
        let actor = elsewhere.spawn(handle);
        let driver = driver.await.unwrap();
        let sending = sender(&books, &actor, 5);
        let acts = (0..3).map(|act| {
            let (actor, driver) = (actor.any(), driver.abort_handle());
            beside(async move {
                pause(round / (act + 1)).await;
                match act {
                    0 => driver.abort(),
                    1 => actor.stop(),
                    _ => actor.kill(),
                }
            })
        });
        let acts: Vec<_> = acts.collect();
        let exit = actor.down().await;
        assert!(matches!(exit, Exit::Killed | Exit::Stopped), "{exit:?}");
        for act in acts {
            act.await.unwrap();
        }
        sending.await.unwrap();
        // Killed, or over of itself.
        drop(driver.await);
        books.balance(actor.dead_letters());
    });
}

#[test]
fn the_children_of_one_that_another_executor_runs_end_before_it_does() {
    storm(|round| async move {
        let ledger = Ledger::default();
        let idle = |letter| {
            move |mut mailbox: Mailbox<()>| async move {
                let _letter = letter;
                while mailbox.recv().await.is_ok() {}
            }
        };
        let elsewhere = Builder::new().executor(|life| drop(beside(life)));
        let parent = elsewhere.clone().spawn(idle(ledger.letter(0)));
        let under = elsewhere.parent(&parent.any());
        let children = [1, 2].map(|n| under.clone().spawn(idle(ledger.letter(n))).any());
        let killing = beside({
            let parent = parent.any();
            async move {
                pause(round).await;
                parent.kill();
            }
        });
        pause(round / 7).await;
        parent.stop();
        let exit = parent.down().await;
        assert!(matches!(exit, Exit::Killed | Exit::Stopped), "{exit:?}");
        assert_eq!(ledger.alive(), 0);
        for child in children {
            assert!(child.exit().is_some(), "{child:?}");
        }
        killing.await.unwrap();
    });
}
