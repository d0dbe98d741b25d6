//! An actor's function that gives the state back, which nobody takes.

use tidings::actor::{self, Mailbox};

#[tidings::interface]
trait Counter {
    async fn add(&mut self, n: u32);
}

struct Tally(u32);

impl Counter for Tally {
    async fn add(&mut self, n: u32) {
        self.0 += n;
    }
}

fn main() {
    let _ = actor::spawn(|mut mailbox: Mailbox<CounterMessage>| async move {
        actor::serve(Tally(0), &mut mailbox).await
    });
}
