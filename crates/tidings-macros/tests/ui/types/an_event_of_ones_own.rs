//! Nobody outside can make an event, which could keep another one for longer than it lives.

use std::pin::Pin;

use tidings::Event;
use tidings::event::EventFuture;

struct Mine;

impl IntoFuture for Mine {
    type Output = ();
    type IntoFuture = EventFuture<Mine>;

    fn into_future(self) -> EventFuture<Mine> {
        unreachable!()
    }
}

impl Event for Mine {
    type Lost = ();

    fn lost(self: Pin<&mut Self>) {}
}

fn main() {}
