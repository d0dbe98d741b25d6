//! What may cross threads, and what must not.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
use std::time::Duration;

use tidings::channel::{broadcast, watch};
use tidings::{Event, channel, oneshot};

/// Asks in a constant whether a type has a trait.
macro_rules! is {
    ($trait:ident, $type:ty) => {{
        trait No {
            const IS: bool = false;
        }
        impl<T> No for T {}
        struct Probe<T>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "only the one that applies is used")]
        impl<T: $trait> Probe<T> {
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
    crosses::<tidings::Sender<Cell<u8>>>(None);
    crosses::<tidings::Receiver<Cell<u8>>>(None);
    let (tx, rx) = channel::<Cell<u8>>();
    let mut place = Some(Cell::new(1));
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
    assert!(!is!(Send, tidings::Sender<Rc>) && !is!(Send, tidings::Receiver<Rc>));
    assert!(!is!(Send, oneshot::Sender<Rc>));
    assert!(!is!(Send, oneshot::Receiver<Rc>));
    assert!(!is!(Send, tidings::JoinHandle<Rc>));
    assert!(!is!(Send, channel::ivar::IVar<Rc>));
    assert!(!is!(Send, channel::ivar::IVar<Cell<u8>>));
    assert!(!is!(Send, channel::mvar::MVar<Rc>));
    assert!(!is!(Send, channel::Recv<'static, Rc>));
    assert!(!is!(
        Send,
        tidings::event::EventFuture<channel::Recv<'static, Rc>>
    ));
    assert!(!is!(Send, tidings::event::Always<Rc>));
}

/// RUSTSEC-2025-0023 (tokio broadcast): receivers on many threads clone one value, which need not
/// be `Sync`.
#[test]
fn tokio_rustsec_2025_0023_values_looked_at_by_many_must_be_sync() {
    fn crosses<T: Send + Sync>(_: Option<T>) {}
    crosses::<(broadcast::Sender<u8>, broadcast::Receiver<u8>)>(None);
    crosses::<(watch::Sender<u8>, watch::Receiver<u8>)>(None);
    assert!(!is!(Send, broadcast::Sender<Cell<u8>>));
    assert!(!is!(Send, broadcast::Receiver<Cell<u8>>));
    assert!(!is!(Send, broadcast::Recv<'static, Cell<u8>>));
    assert!(!is!(Send, watch::Sender<Cell<u8>>) && !is!(Send, watch::Receiver<Cell<u8>>));
    assert!(!is!(Send, watch::Changed<'static, Cell<u8>>));
}

/// tokio-rs/tokio#4657, zesterer/flume#166: what survives panics anyway has to be said to, before it may be used where one
/// is caught.
#[test]
fn tokio_4657_handles_are_used_where_panics_are_caught() {
    use tidings::{JoinHandle, Runtime, sync};
    fn survives<T: UnwindSafe + RefUnwindSafe>(_: Option<T>) {}
    survives::<(tidings::Sender<Cell<u8>>, tidings::Receiver<Cell<u8>>)>(None);
    survives::<(channel::WeakSender<u8>, channel::WeakReceiver<u8>)>(None);
    survives::<(oneshot::Sender<u8>, oneshot::Receiver<u8>)>(None);
    survives::<(broadcast::Sender<u8>, broadcast::Receiver<u8>)>(None);
    survives::<(watch::Sender<u8>, watch::Receiver<u8>)>(None);
    survives::<(tidings::IVar<u8>, tidings::MVar<u8>)>(None);
    survives::<(JoinHandle<u8>, tidings::AbortHandle, tidings::JoinSet<u8>)>(None);
    survives::<(Runtime, tidings::Handle, tidings::CancellationToken)>(None);
    survives::<(sync::Semaphore, sync::Notify, sync::Barrier)>(None);
    // As everywhere, a lock's value may be found half changed.
    assert!(!is!(RefUnwindSafe, sync::Mutex<u8>));

    let (tx, rx) = tidings::bounded(1);
    let rt = Runtime::new().unwrap();
    let panics = catch_unwind(|| {
        tx.try_send(1).unwrap();
        rt.block_on(async { tidings::spawn(async { panic!("in a task") }).await.unwrap() });
    });
    assert!(panics.is_err());
    assert_eq!(rt.block_on(rx.recv().into_future()), Ok(1));
}
