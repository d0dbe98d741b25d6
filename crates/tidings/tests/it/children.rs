//! An actor whose life is over waits for its children: none of them may wait for it in its turn.

use std::future::pending;
use std::time::Duration;

use tidings::Event;
use tidings::actor::{
    self, ActorRef, Builder, CallError, Child, Exit, Mailbox, Reply, SendError, SupervisorRef,
};
use tidings::channel::oneshot::{Receiver, Sender};
use tidings::{oneshot, unbounded, yield_now};

use crate::both::{on_all, on_all_unheard};
use crate::driver::crash;
use crate::lifecycle::one_for_one;

/// Long enough never to pass.
const LONG: Duration = Duration::from_secs(20);

/// What a parent gets.
enum Word {
    Ask(Reply<u64>),
    /// It waits for this, and ends.
    End(Receiver<Ends>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    Returns,
    Panics,
    Stops,
}

/// Calls this actor for each word, and tells what came of it.
type Caller = ActorRef<ActorRef<Word>>;
type Told = tidings::Receiver<Result<u64, CallError>>;

async fn answers(mailbox: &mut Mailbox<Word>) {
    while let Ok(word) = mailbox.recv().await {
        match word {
            Word::Ask(reply) => drop(reply.send(mailbox.incarnation())),
            Word::End(how) => match how.await.unwrap() {
                Ends::Returns => return,
                Ends::Panics => crash("told to"),
                Ends::Stops => {}
            },
        }
    }
}

/// A child of `parent` that calls whom it is told to.
fn caller(builder: Builder, parent: &ActorRef<Word>) -> (Caller, Told) {
    let (tell, told) = unbounded();
    let builder = builder.parent(&parent.any());
    let child = builder.spawn(move |mut mailbox: Mailbox<ActorRef<Word>>| async move {
        while let Ok(actor) = mailbox.recv().await {
            let heard = actor.call(Word::Ask).await;
            tell.send(heard).await.unwrap();
        }
    });
    (child, told)
}

/// A parent of one life, which ends when it is told how.
async fn parent() -> (ActorRef<Word>, Sender<Ends>) {
    let parent =
        actor::spawn(|mut mailbox: Mailbox<Word>| async move { answers(&mut mailbox).await });
    let end = told_to_end(&parent).await;
    (parent, end)
}

async fn told_to_end(parent: &ActorRef<Word>) -> Sender<Ends> {
    let (end, ended) = oneshot();
    parent.send(Word::End(ended)).await.ok().unwrap();
    end
}

async fn turns() {
    for _ in 0..20 {
        yield_now().await;
    }
}

#[test]
fn who_calls_its_parent_that_ends_hears_at_once() {
    on_all_unheard(|| async {
        for ends in [Ends::Returns, Ends::Panics, Ends::Stops] {
            for late in [false, true] {
                let (parent, end) = parent().await;
                let (child, told) = caller(Builder::new(), &parent);
                if !late {
                    child.send(parent.clone()).await.unwrap();
                    turns().await;
                }
                if ends == Ends::Stops {
                    parent.stop_now();
                }
                end.send(ends).unwrap();
                if late {
                    turns().await;
                    // One that has ended is asked for nothing any more.
                    let _ = child.send(parent.clone()).await;
                }
                let exit = parent.down().timeout(LONG).await.expect("it ends");
                assert_eq!(exit.is_orderly(), ends != Ends::Panics, "{exit:?}");
                if let Ok(heard) = told.recv().await {
                    assert!(
                        matches!(heard, Err(CallError::NotExecuted(_))),
                        "{ends:?} {late}: {heard:?}"
                    );
                } else {
                    assert!(late);
                }
            }
        }
    });
}

#[test]
fn who_sends_to_an_actor_that_waits_for_its_children_hears_why() {
    on_all(|| async {
        let (parent, end) = parent().await;
        let (let_go, gate) = oneshot::<()>();
        let child = Builder::new().parent(&parent.any());
        let child = child.spawn(|_mailbox: Mailbox<()>| async move { gate.await.unwrap() });
        let queued = tidings::spawn({
            let parent = parent.clone();
            async move { parent.call(Word::Ask).await }
        });
        turns().await;
        end.send(Ends::Panics).unwrap();
        let heard = queued.await.unwrap();
        assert!(
            matches!(&heard, Err(CallError::NotExecuted(Exit::Panicked(_)))),
            "{heard:?}"
        );
        let heard = parent.call(Word::Ask).await;
        assert!(
            matches!(&heard, Err(CallError::NotExecuted(Exit::Panicked(_)))),
            "{heard:?}"
        );
        let (_end, ended) = oneshot();
        let sent = parent.send(Word::End(ended)).await;
        assert!(
            matches!(&sent, Err(SendError::Ended(_, Exit::Panicked(_)))),
            "{sent:?}"
        );
        assert!(parent.exit().is_none() && child.exit().is_none());
        let_go.send(()).unwrap();
        assert!(matches!(parent.down().await, Exit::Panicked(_)));
        assert!(child.exit().is_some());
    });
}

/// A parent of several lives, the first of which ends when it is told how.
async fn supervised() -> (ActorRef<Word>, Sender<Ends>, SupervisorRef) {
    let builder = Builder::new().name("parent");
    let child =
        builder.child(|mut mailbox: Mailbox<Word>| async move { answers(&mut mailbox).await });
    let actor = child.actor_ref();
    let supervisor = one_for_one().child(child).start();
    supervisor.started().await.unwrap().unwrap();
    let end = told_to_end(&actor).await;
    (actor, end, supervisor)
}

fn assert_refused(heard: &Result<u64, CallError>, names: &[&str]) {
    let cycle = match heard {
        Err(CallError::Cycle(cycle)) => cycle,
        heard => panic!("{heard:?}"),
    };
    let mut told: Vec<_> = cycle.actors().map(|(_, name)| name.unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, names);
}

#[test]
fn an_actor_whose_child_calls_it_lives_again() {
    on_all_unheard(|| async {
        let (parent, end, _supervisor) = supervised().await;
        let (child, told) = caller(Builder::new().name("child"), &parent);
        let (let_go, gate) = oneshot::<()>();
        let slow = Builder::new().parent(&parent.any());
        let slow = slow.spawn(|_mailbox: Mailbox<()>| async move { gate.await.unwrap() });
        let queued = tidings::spawn({
            let parent = parent.clone();
            async move { parent.call(Word::Ask).await }
        });
        for _ in 0..2 {
            child.send(parent.clone()).await.unwrap();
        }
        turns().await;
        end.send(Ends::Panics).unwrap();
        turns().await;
        // It waits for the last child first, and for the other when that has ended.
        let_go.send(()).unwrap();
        let life = parent.restarted(1).timeout(LONG).await.expect("it lives");
        assert_eq!(life.unwrap(), 2);
        assert!(slow.exit().is_some() && child.exit().is_some());
        for _ in 0..2 {
            assert_refused(&told.recv().await.unwrap(), &["child", "parent"]);
        }
        assert!(told.recv().await.is_err());
        // What others have sent is the next life's.
        assert_eq!(queued.await.unwrap().unwrap(), 2);
    });
}

/// Passes each call on to the next.
fn passes(builder: Builder, next: ActorRef<Word>) -> ActorRef<Word> {
    builder.spawn(move |mut mailbox: Mailbox<Word>| async move {
        while let Ok(word) = mailbox.recv().await {
            if let Word::Ask(reply) = word {
                match next.call(Word::Ask).await {
                    Ok(answer) => drop(reply.send(answer)),
                    Err(error) => actor::refuse(reply, error),
                }
            }
        }
    })
}

#[test]
fn whoever_stands_between_an_actor_and_its_children_hinders_it_no_more() {
    on_all_unheard(|| async {
        let (parent, end, _supervisor) = supervised().await;
        let between = passes(Builder::new(), parent.clone());
        let child = passes(Builder::new().parent(&parent.any()), between.clone());
        let (grandchild, told) = caller(Builder::new().parent(&child.any()), &child);
        // It calls one that calls its parent's parent; its parent does the same by itself.
        grandchild.send(between).await.unwrap();
        let asked = tidings::spawn(async move { child.call(Word::Ask).await });
        turns().await;
        end.send(Ends::Panics).unwrap();
        let life = parent.restarted(1).timeout(LONG).await.expect("it lives");
        assert_eq!(life.unwrap(), 2);
        assert!(told.recv().await.unwrap().is_err());
        assert!(asked.await.unwrap().is_err());
    });
}

#[test]
fn a_child_that_is_linked_hears_of_its_parents_end_before_it_is_waited_for() {
    on_all(|| async {
        let (parent, end) = parent().await;
        let child = Builder::new().parent(&parent.any());
        let child = child.spawn(|mailbox: Mailbox<()>| async move {
            pending::<()>().await;
            drop(mailbox);
        });
        child.link(&parent.any());
        end.send(Ends::Panics).unwrap();
        let exit = parent.down().timeout(LONG).await.expect("it ends");
        assert!(matches!(exit, Exit::Panicked(_)), "{exit:?}");
        let exit = child.down().await;
        assert!(matches!(exit, Exit::Linked { .. }), "{exit:?}");
    });
}

#[test]
fn a_childs_call_is_not_refused_that_another_than_its_parent_answers() {
    on_all_unheard(|| async {
        let (give, given) = unbounded::<Reply<u64>>();
        let child = Child::new(move |mut mailbox: Mailbox<Word>| {
            let give = give.clone();
            async move {
                // The first word of a life goes elsewhere, and ends it.
                if let Ok(Word::Ask(reply)) = mailbox.recv().await {
                    give.send(reply).await.unwrap();
                    crash("told to");
                }
            }
        });
        let parent = child.actor_ref();
        let _supervisor = one_for_one().child(child).start();
        parent.restarted(0).await.unwrap();
        let (child, told) = caller(Builder::new(), &parent);
        child.send(parent.clone()).await.unwrap();
        let reply = given.recv().await.unwrap();
        turns().await;
        reply.send(7).unwrap();
        let life = parent.restarted(1).timeout(LONG).await.expect("it lives");
        assert_eq!(life.unwrap(), 2);
        assert_eq!(told.recv().await.unwrap().unwrap(), 7);
    });
}
