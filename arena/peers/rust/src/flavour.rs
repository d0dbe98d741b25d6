//! The channels of the libraries under one set of names, so that each workload is written once.
//! Everything here is monomorphised and inlined to the library's own calls.

use std::any::Any;
use tokio::sync::mpsc;

/// What can be sent.
pub trait Msg: Send + 'static {}
impl<T: Send + 'static> Msg for T {}

/// A dynamic message.
pub type Obj = Box<dyn Any + Send>;

/// One kind of channel of one library. A send to a channel without a receiver is a bug of the
/// workload and panics; the panic comes back through the task's handle.
pub trait Flavour: Send + Sync + 'static {
    type Tx<T: Msg>: Clone + Send + Sync + 'static;
    type Rx<T: Msg>: Send + 'static;

    /// `room` counts for the bounded kinds only.
    fn channel<T: Msg>(room: usize) -> (Self::Tx<T>, Self::Rx<T>);
    fn send<T: Msg>(tx: &Self::Tx<T>, value: T) -> impl Future<Output = ()> + Send;
    fn recv<T: Msg>(rx: &mut Self::Rx<T>) -> impl Future<Output = Option<T>> + Send;
    fn try_recv<T: Msg>(rx: &mut Self::Rx<T>) -> Option<T>;

    /// Waits for one message and takes what else is there, up to the capacity of `buffer`,
    /// which is empty; leaves it empty when the channel is closed.
    fn recv_many<T: Msg>(
        rx: &mut Self::Rx<T>,
        buffer: &mut Vec<T>,
    ) -> impl Future<Output = ()> + Send {
        async move {
            let Some(first) = Self::recv(rx).await else {
                return;
            };
            buffer.push(first);
            while buffer.len() < buffer.capacity() {
                let Some(next) = Self::try_recv(rx) else {
                    return;
                };
                buffer.push(next);
            }
        }
    }
}

/// A channel into which a thread that is no task can send.
pub trait Unbounded: Flavour {
    fn push<T: Msg>(tx: &Self::Tx<T>, value: T);
}

pub struct TokioUnbounded;
pub struct TokioBounded;
pub struct AsyncUnbounded;
pub struct AsyncBounded;
pub struct FlumeUnbounded;
pub struct FlumeBounded;
pub struct KanalUnbounded;
pub struct KanalBounded;

macro_rules! flavour {
    ($name:ident, $tx:path, $rx:path,
     channel($room:pat) $make:expr,
     send($t:ident, $v:ident) $send:expr,
     recv($r:ident) $recv:expr,
     try_recv($q:ident) $try:expr
     $(, recv_many($m:ident, $buffer:ident) $many:expr)?) => {
        impl Flavour for $name {
            type Tx<T: Msg> = $tx;
            type Rx<T: Msg> = $rx;

            #[inline]
            fn channel<T: Msg>($room: usize) -> (Self::Tx<T>, Self::Rx<T>) {
                $make
            }
            #[inline]
            async fn send<T: Msg>($t: &Self::Tx<T>, $v: T) {
                assert!($send.is_ok(), "nobody receives");
            }
            #[inline]
            async fn recv<T: Msg>($r: &mut Self::Rx<T>) -> Option<T> {
                $recv
            }
            #[inline]
            fn try_recv<T: Msg>($q: &mut Self::Rx<T>) -> Option<T> {
                $try
            }
            $(
            #[inline]
            async fn recv_many<T: Msg>($m: &mut Self::Rx<T>, $buffer: &mut Vec<T>) {
                $many
            }
            )?
        }
    };
}

flavour!(TokioUnbounded, mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>,
    channel(_) mpsc::unbounded_channel(),
    send(tx, value) tx.send(value),
    recv(rx) rx.recv().await,
    try_recv(rx) rx.try_recv().ok(),
    recv_many(rx, buffer) { let most = buffer.capacity(); rx.recv_many(buffer, most).await; });
flavour!(TokioBounded, mpsc::Sender<T>, mpsc::Receiver<T>,
    channel(room) mpsc::channel(room),
    send(tx, value) tx.send(value).await,
    recv(rx) rx.recv().await,
    try_recv(rx) rx.try_recv().ok(),
    recv_many(rx, buffer) { let most = buffer.capacity(); rx.recv_many(buffer, most).await; });
flavour!(AsyncUnbounded, async_channel::Sender<T>, async_channel::Receiver<T>,
    channel(_) async_channel::unbounded(),
    send(tx, value) tx.try_send(value),
    recv(rx) rx.recv().await.ok(),
    try_recv(rx) rx.try_recv().ok());
flavour!(AsyncBounded, async_channel::Sender<T>, async_channel::Receiver<T>,
    channel(room) async_channel::bounded(room),
    send(tx, value) tx.send(value).await,
    recv(rx) rx.recv().await.ok(),
    try_recv(rx) rx.try_recv().ok());
flavour!(FlumeUnbounded, flume::Sender<T>, flume::Receiver<T>,
    channel(_) flume::unbounded(),
    send(tx, value) tx.send(value),
    recv(rx) rx.recv_async().await.ok(),
    try_recv(rx) rx.try_recv().ok(),
    recv_many(rx, buffer) flume_many(rx, buffer).await);
flavour!(FlumeBounded, flume::Sender<T>, flume::Receiver<T>,
    channel(room) flume::bounded(room),
    send(tx, value) tx.send_async(value).await,
    recv(rx) rx.recv_async().await.ok(),
    try_recv(rx) rx.try_recv().ok(),
    recv_many(rx, buffer) flume_many(rx, buffer).await);
flavour!(KanalUnbounded, kanal::AsyncSender<T>, kanal::AsyncReceiver<T>,
    channel(_) kanal::unbounded_async(),
    send(tx, value) tx.try_send(value).map(|is_in| assert!(is_in, "it is unbounded")),
    recv(rx) rx.recv().await.ok(),
    try_recv(rx) rx.try_recv().ok().flatten(),
    recv_many(rx, buffer) kanal_many(rx, buffer).await);
flavour!(KanalBounded, kanal::AsyncSender<T>, kanal::AsyncReceiver<T>,
    channel(room) kanal::bounded_async(room),
    send(tx, value) tx.send(value).await,
    recv(rx) rx.recv().await.ok(),
    try_recv(rx) rx.try_recv().ok().flatten(),
    recv_many(rx, buffer) kanal_many(rx, buffer).await);

/// One message, then all others under one lock.
#[inline]
async fn flume_many<T: Msg>(rx: &flume::Receiver<T>, buffer: &mut Vec<T>) {
    if let Ok(first) = rx.recv_async().await {
        buffer.push(first);
        buffer.extend(rx.drain());
    }
}

/// The same.
#[inline]
async fn kanal_many<T: Msg>(rx: &kanal::AsyncReceiver<T>, buffer: &mut Vec<T>) {
    if let Ok(first) = rx.recv().await {
        buffer.push(first);
        let _ = rx.drain_into(buffer);
    }
}

macro_rules! unbounded {
    ($name:ident, $tx:ident, $value:ident, $push:expr) => {
        impl Unbounded for $name {
            #[inline]
            fn push<T: Msg>($tx: &Self::Tx<T>, $value: T) {
                assert!($push, "nobody receives");
            }
        }
    };
}

unbounded!(TokioUnbounded, tx, value, tx.send(value).is_ok());
unbounded!(AsyncUnbounded, tx, value, tx.try_send(value).is_ok());
unbounded!(FlumeUnbounded, tx, value, tx.send(value).is_ok());
unbounded!(KanalUnbounded, tx, value, tx.as_sync().send(value).is_ok());
