//! What may cross threads, and what must not.

use std::time::Duration;

use tidings::channel::{broadcast, watch};
use tidings::{Event, channel, oneshot};

/// Asks in a constant whether a type is `Send`.
macro_rules! is_send {
    ($type:ty) => {{
        trait No {
            const IS: bool = false;
        }
        impl<T> No for T {}
        struct Probe<T>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "only the one that applies is used")]
        impl<T: Send> Probe<T> {
            const IS: bool = true;
        }
        <Probe<$type>>::IS
    }};
}

/// RUSTSEC-2026-0221 (event-listener): a type is `Send` that must not be; and ours that must be.
#[test]
fn event_listener_rustsec_2026_0221_what_may_cross_threads() {
    fn crosses<T: Send + Sync>(_: Option<T>) {}
    fn moves<T: Send>(_: &T) {}
    crosses::<tidings::Runtime>(None);
    crosses::<tidings::sched::Handle>(None);
    crosses::<tidings::JoinHandle<u8>>(None);
    crosses::<tidings::AbortHandle>(None);
    crosses::<tidings::JoinError>(None);
    crosses::<(tidings::Sender<u8>, tidings::Receiver<u8>)>(None);
    // A value that may only be moved makes handles that may be shared.
    crosses::<tidings::Sender<std::cell::Cell<u8>>>(None);
    crosses::<tidings::Receiver<std::cell::Cell<u8>>>(None);
    let (tx, rx) = channel::<std::cell::Cell<u8>>();
    let mut place = Some(std::cell::Cell::new(1));
    moves(&rx.recv().into_future());
    moves(&tx.reserve().into_future());
    moves(&tx.send_from(&mut place).into_future());
    moves(
        &rx.recv()
            .or(rx.recv())
            .timeout(Duration::ZERO)
            .into_future(),
    );

    type Rc = std::rc::Rc<u8>;
    assert!(!is_send!(tidings::Sender<Rc>) && !is_send!(tidings::Receiver<Rc>));
    assert!(!is_send!(oneshot::Sender<Rc>));
    assert!(!is_send!(oneshot::Receiver<Rc>));
    assert!(!is_send!(tidings::JoinHandle<Rc>));
    assert!(!is_send!(channel::ivar::IVar<Rc>));
    assert!(!is_send!(channel::ivar::IVar<std::cell::Cell<u8>>));
    assert!(!is_send!(channel::mvar::MVar<Rc>));
    assert!(!is_send!(channel::Recv<'static, Rc>));
    assert!(!is_send!(
        tidings::event::EventFuture<channel::Recv<'static, Rc>>
    ));
    assert!(!is_send!(tidings::event::Always<Rc>));
}

/// RUSTSEC-2025-0023 (tokio broadcast): receivers on many threads clone one value, which need not
/// be `Sync`.
#[test]
fn tokio_rustsec_2025_0023_values_looked_at_by_many_must_be_sync() {
    fn crosses<T: Send + Sync>(_: Option<T>) {}
    type Cell = std::cell::Cell<u8>;
    crosses::<(broadcast::Sender<u8>, broadcast::Receiver<u8>)>(None);
    crosses::<(watch::Sender<u8>, watch::Receiver<u8>)>(None);
    assert!(!is_send!(broadcast::Sender<Cell>));
    assert!(!is_send!(broadcast::Receiver<Cell>));
    assert!(!is_send!(broadcast::Recv<'static, Cell>));
    assert!(!is_send!(watch::Sender<Cell>) && !is_send!(watch::Receiver<Cell>));
    assert!(!is_send!(watch::Changed<'static, Cell>));
}
