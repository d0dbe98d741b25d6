//! Failures that an actor is told of (`fail`) when it does not listen any more.

use crate::both::on_all;
use tidings::actor::{
    self, AnyRef, Child, Mailbox, Restart, Shared, Strategy, Supervisor, WeakActorRef,
};
use tidings::channel::{Receiver, Sender};
use tidings::yield_now;

#[tidings::interface]
trait Writer {
    /// Fails when it may go on.
    async fn write(this: Shared<Self>);
    async fn ask(&self) -> ();
}

struct File {
    begun: Sender<()>,
    go: Receiver<()>,
}

impl Writer for File {
    async fn write(this: Shared<Self>) {
        let (begun, go) = this.with(|file| (file.begun.clone(), file.go.clone()));
        begun.send(()).await.unwrap();
        go.recv().await.unwrap();
        this.any().fail("no disk");
    }
    async fn ask(&self) {}
}

/// An actor whose handler waits, and what lets that go on.
async fn at_work() -> (WriterRef, Sender<()>) {
    let (begun, has_begun) = tidings::unbounded();
    let (open, go) = tidings::unbounded();
    let writer: WriterRef = actor::start(File { begun, go });
    writer.write().await.unwrap();
    has_begun.recv().await.unwrap();
    (writer, open)
}

/// It has failed.
async fn fails(actor: &AnyRef) {
    assert_eq!(actor.down().await.to_string(), "failed: no disk");
}

#[test]
fn a_handler_that_a_stop_waits_for_can_still_fail() {
    on_all(|| async {
        let (writer, open) = at_work().await;
        writer.stop();
        // Until it has heard that, and takes no more messages.
        while writer.ask().await.is_ok() {}
        open.send(()).await.unwrap();
        fails(&writer.any()).await;
    });
}

#[test]
fn a_handler_that_is_left_when_nobody_sends_any_more_can_still_fail() {
    on_all(|| async {
        let (writer, open) = at_work().await;
        let actor = writer.any();
        drop(writer);
        for _ in 0..20 {
            yield_now().await;
        }
        open.send(()).await.unwrap();
        fails(&actor).await;
    });
}

#[test]
fn who_fails_and_returns_without_asking_for_a_message_has_failed() {
    on_all(|| async {
        let fail = |this: WeakActorRef<()>| this.any().fail("no disk");
        let actor = actor::spawn(move |mailbox: Mailbox<()>| async move { fail(mailbox.this()) });
        fails(&actor.any()).await;
        let actor = actor::spawn(move |mut mailbox: Mailbox<()>| async move {
            while mailbox.recv().await.is_ok() {}
            fail(mailbox.this());
        });
        actor.stop();
        fails(&actor.any()).await;
    });
}

#[test]
fn who_fails_after_it_has_heard_a_stop_is_started_anew_as_after_any_failure() {
    on_all(|| async {
        let child = Child::new(|mut mailbox: Mailbox<()>| async move {
            while mailbox.recv().await.is_ok() {}
            if mailbox.incarnation() == 1 {
                mailbox.this().any().fail("no disk");
            }
        });
        let actor = child.actor_ref();
        let child = child.restart(Restart::Transient);
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        supervisor.started().await.unwrap().unwrap();
        actor.stop_now();
        assert_eq!(actor.restarted(1).await.unwrap(), 2);
        // What was told of the first life is not told of the next.
        actor.stop();
        assert!(actor.down().await.is_orderly());
    });
}
