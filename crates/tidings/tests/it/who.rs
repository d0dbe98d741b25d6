//! Who waits, asked of a program that runs, and by which names.

use std::time::Duration;

use crate::both::watchdog;
use crate::deadlock::says;
use tidings::actor::{Builder, Mailbox};
use tidings::sched::Runtime;
use tidings::{channel, yield_now};

#[test]
fn a_running_program_can_ask_who_waits() {
    let _watchdog = watchdog();
    let builder = Runtime::builder().workers(2);
    let runtime = builder.watch_deadlocks(Duration::MAX).build().unwrap();
    let handle = runtime.handle();
    runtime.block_on(async {
        let (open, gate) = channel::<u32>();
        let idle = |mut mailbox: Mailbox<()>| async move { while mailbox.recv().await.is_ok() {} };
        let actor = Builder::new().spawn(idle);
        let waits = tidings::spawn(async move { gate.recv().await });
        let asks = tidings::spawn(async move {
            loop {
                let said = tidings::Handle::current().who_waits();
                if said.contains("waits for Recv<u32>") && said.contains("1 wait for messages") {
                    return said;
                }
                yield_now().await;
            }
        });
        let said = asks.await.unwrap();
        // Who asks is no one who waits.
        let task = "the task started at crates/tidings/tests/it/who.rs:";
        assert_eq!(said.matches(task).count(), 2, "{said}");
        says(&said, &["runs, or waits for something that is no event"]);
        open.send(1).await.unwrap();
        waits.await.unwrap().unwrap();
        actor.stop();
        actor.down().await;
    });
    // From anywhere, and when all is over.
    drop(runtime);
    assert_eq!(handle.who_waits(), "");
}
