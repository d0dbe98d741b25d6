//! Nobody outside can make an event, which could keep another one for longer than it lives.

use std::pin::Pin;

use tidings::Event;
use tidings::event::Sync;

struct Mine;

impl IntoFuture for Mine {
    type Output = ();
    type IntoFuture = Sync<Mine>;

    fn into_future(self) -> Sync<Mine> {
        unreachable!()
    }
}

impl Event for Mine {
    type Lost = ();

    fn lost(self: Pin<&mut Self>) {}
}

fn main() {}
