//! What an event does for the commit protocol is safe under the locks only: nobody outside can call it.

use std::pin::pin;

use tidings::{Event, oneshot, unbounded};

fn any<E: Event>(event: E) {
    let mut event = pin!(event);
    event.as_mut().withdraw(None, false);
    event.as_mut().finish(0);
    event.abandon(0);
}

fn main() {
    let (tx, rx) = unbounded::<u8>();
    let mut recv = pin!(rx.recv());
    recv.as_mut().quick();
    recv.as_mut().attempt(&mut Default::default());
    recv.finish(0);
    any(tx.send(1));
    let (_tx, mut rx) = oneshot::<u8>();
    rx.is_over();
    tidings::channel::oneshot::Half::is_over(&mut rx);
}
