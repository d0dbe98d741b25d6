//! `Send`, `Sync` and `Unpin` of every public type, for values that are both, that may only move
//! and that must stay. The list is complete: it is compared with the snapshot of the public API.

use std::cell::Cell;
use std::rc::Rc;

use tidings::channel::{broadcast, ivar, mvar, oneshot, watch};
use tidings::{actor, channel, event, net, sched, signal, sync, task, time};

use crate::probe::{self, No, Row};

/// A path, its type for a `T`, and its traits: with a `T` that is `Send` and `Sync`, with one that
/// is `Send`, and with one that is neither.
macro_rules! generic {
    ($($path:literal: $type:ty => $traits:literal;)*) => {
        [$({
            type A<T> = $type;
            let found = [traits!(A<u8>), traits!(A<Cell<u8>>), traits!(A<Rc<u8>>)];
            ($path, found.join(" "), $traits)
        }),*]
    };
}

fn generic() -> Vec<Row> {
    let rows = generic! {
        "net::Accepting": net::Accepting<'static, T> => "SYU S-U --U";
        "net::ReadHalf": net::ReadHalf<T> => "SYU --U --U";
        "net::WriteHalf": net::WriteHalf<T> => "SYU --U --U";
        "actor::ActorRef": actor::ActorRef<T> => "SYU SYU --U";
        "actor::Recipient": actor::Recipient<T> => "SYU SYU --U";
        "actor::WeakActorRef": actor::WeakActorRef<T> => "SYU SYU --U";
        "actor::WeakRecipient": actor::WeakRecipient<T> => "SYU SYU --U";
        "actor::Mailbox": actor::Mailbox<T> => "SYU S-U --U";
        "actor::Recv": actor::Recv<'static, T> => "S-- S-- ---";
        "actor::Tell": actor::Tell<'static, T> => "S-- S-- ---";
        "actor::Call": actor::Call<'static, T, T> => "S-- S-- ---";
        "actor::Child": actor::Child<T> => "S-U S-U --U";
        "actor::Reply": actor::Reply<T> => "SYU SYU --U";
        "actor::Replies": actor::Replies<T> => "SYU SYU --U";
        "actor::Streaming": actor::Streaming<T> => "SYU SYU --U";
        "actor::Shared": actor::Shared<T> => "SYU SYU --U";
        "actor::Timers": actor::Timers<T, T> => "SYU S-U --U";
        "actor::SendError": actor::SendError<T> => "SYU S-U --U";
        "channel::Sender": channel::Sender<T> => "SYU SYU --U";
        "channel::Receiver": channel::Receiver<T> => "SYU SYU --U";
        "channel::WeakSender": channel::WeakSender<T> => "SYU SYU --U";
        "channel::WeakReceiver": channel::WeakReceiver<T> => "SYU SYU --U";
        "channel::Send": channel::Send<'static, T> => "S-- S-- ---";
        "channel::SendFrom": channel::SendFrom<'static, T> => "S-- S-- ---";
        "channel::Recv": channel::Recv<'static, T> => "S-- S-- ---";
        "channel::RecvMany": channel::RecvMany<'static, T> => "S-- S-- ---";
        "channel::Reserve": channel::Reserve<&'static channel::Sender<T>> => "S-- S-- ---";
        "channel::Reserve": channel::Reserve<channel::Sender<T>> => "S-- S-- ---";
        "channel::Permit": channel::Permit<&'static channel::Sender<T>> => "SYU SYU --U";
        "channel::Permit": channel::Permit<channel::Sender<T>> => "SYU SYU --U";
        "channel::Closed": channel::Closed<'static, T> => "S-- S-- ---";
        "channel::Stream": channel::Stream<T> => "SYU SYU --U";
        "channel::Sink": channel::Sink<T> => "SYU SYU --U";
        "channel::SendError": channel::SendError<T> => "SYU S-U --U";
        "channel::TrySendError": channel::TrySendError<T> => "SYU S-U --U";
        "channel::SendTimeoutError": channel::SendTimeoutError<T> => "SYU S-U --U";
        "channel::oneshot::Sender": oneshot::Sender<T> => "SYU SYU --U";
        "channel::oneshot::Receiver": oneshot::Receiver<T> => "SYU SYU --U";
        "channel::oneshot::Recv": oneshot::Recv<oneshot::Receiver<T>, T> => "S-- S-- ---";
        "channel::oneshot::Closed": oneshot::Closed<'static, T> => "S-- S-- ---";
        "channel::ivar::IVar": ivar::IVar<T> => "SYU --U --U";
        "channel::IVar": channel::IVar<T> => "SYU --U --U";
        "channel::ivar::Read": ivar::Read<'static, T> => "S-- --- ---";
        "channel::mvar::MVar": mvar::MVar<T> => "SYU SYU --U";
        "channel::MVar": channel::MVar<T> => "SYU SYU --U";
        "channel::broadcast::Sender": broadcast::Sender<T> => "SYU --U --U";
        "channel::broadcast::Receiver": broadcast::Receiver<T> => "SYU --U --U";
        "channel::broadcast::Recv": broadcast::Recv<'static, T> => "S-- --- ---";
        "channel::broadcast::Closed": broadcast::Closed<'static, T> => "S-- --- ---";
        "channel::watch::Sender": watch::Sender<T> => "SYU --U --U";
        "channel::watch::Receiver": watch::Receiver<T> => "SYU --U --U";
        "channel::watch::Changed": watch::Changed<'static, T> => "S-- --- ---";
        "channel::watch::Closed": watch::Closed<'static, T> => "S-- --- ---";
        "event::Always": event::Always<T> => "SYU S-U --U";
        "event::Never": event::Never<T> => "SYU SYU SYU";
        "event::Boxed": event::Boxed<'static, T> => "S-U S-U S-U";
        "event::Choose": event::Choose<event::Always<T>> => "SYU S-U --U";
        "event::Either": event::Either<T, T, T, T> => "SYU S-U --U";
        "event::EitherOf": event::EitherOf<event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "event::Guard": event::Guard<fn() -> event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "event::WithNack": event::WithNack<fn(event::Nack) -> event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "event::Map": event::Map<event::Always<T>, fn(T) -> T> => "SYU S-U --U";
        "event::Or": event::Or<event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "event::Biased": event::Biased<event::Always<T>> => "SYU S-U --U";
        "event::Timeout": event::Timeout<event::Always<T>> => "SYU S-U --U";
        "event::EventFuture": event::EventFuture<event::Always<T>> => "SY- SY- ---";
        "event::EventFuture": event::EventFuture<channel::Recv<'static, T>> => "SY- SY- ---";
        "sync::Mutex": sync::Mutex<T> => "SYU SYU --U";
        "sync::MutexGuard": sync::MutexGuard<'static, T> => "SYU S-U --U";
        "sync::OwnedMutexGuard": sync::OwnedMutexGuard<T> => "SYU S-U --U";
        "sync::Lock": sync::Lock<&'static sync::Mutex<T>> => "S-- S-- ---";
        "sync::Lock": sync::Lock<std::sync::Arc<sync::Mutex<T>>> => "S-- S-- ---";
        "sync::RwLock": sync::RwLock<T> => "SYU S-U --U";
        "sync::RwLockReadGuard": sync::RwLockReadGuard<'static, T> => "SYU --U --U";
        "sync::OwnedRwLockReadGuard": sync::OwnedRwLockReadGuard<T> => "SYU --U --U";
        "sync::RwLockWriteGuard": sync::RwLockWriteGuard<'static, T> => "SYU --U --U";
        "sync::OwnedRwLockWriteGuard": sync::OwnedRwLockWriteGuard<T> => "SYU --U --U";
        "sync::Read": sync::Read<&'static sync::RwLock<T>> => "S-- --- ---";
        "sync::Read": sync::Read<std::sync::Arc<sync::RwLock<T>>> => "S-- --- ---";
        "sync::Write": sync::Write<&'static sync::RwLock<T>> => "S-- --- ---";
        "sync::Write": sync::Write<std::sync::Arc<sync::RwLock<T>>> => "S-- --- ---";
        "sync::OnceCell": sync::OnceCell<T> => "SYU S-U --U";
        "task::JoinHandle": task::JoinHandle<T> => "SYU SYU --U";
        "task::Join": task::Join<'static, T> => "SYU SYU --U";
        "task::JoinSet": task::JoinSet<T> => "SYU S-U --U";
        "task::JoinNext": task::JoinNext<'static, T> => "S-- S-- ---";
        "task::LocalKey": task::LocalKey<T> => "SYU SYU SYU";
        "task::Named": task::Named<T> => "SYU S-U --U";
        "task::Scoped": task::Scoped<T, std::future::Ready<T>> => "SYU S-U --U";
        "time::Elapsed": time::Elapsed<T> => "SYU S-U --U";
        "Scope": tidings::Scope<T> => "SYU SYU --U";
    };
    rows.to_vec()
}

fn plain() -> Vec<Row> {
    let rows = plain! {
        "actor::AnyRef": actor::AnyRef => "SYU";
        "actor::AutoShutdown": actor::AutoShutdown => "SYU";
        "actor::Backoff": actor::Backoff => "SYU";
        "actor::ChildCount": actor::ChildCount => "SYU";
        "actor::ChildInfo": actor::ChildInfo => "SYU";
        "actor::LinkExit": actor::LinkExit => "SYU";
        "actor::Restart": actor::Restart => "SYU";
        "actor::Restarted": actor::Restarted<'static> => "S--";
        "actor::Shutdown": actor::Shutdown => "SYU";
        "actor::Strategy": actor::Strategy => "SYU";
        "actor::Supervisor": actor::Supervisor => "S-U";
        "actor::SupervisorError": actor::SupervisorError => "SYU";
        "actor::SupervisorMessage": actor::SupervisorMessage => "S-U";
        "actor::SupervisorRef": actor::SupervisorRef => "SYU";
        "actor::Changes": actor::Changes<actor::ActorRef<u8>> => "SYU";
        "actor::Cycle": actor::Cycle => "SYU";
        "actor::Group": actor::Group<actor::ActorRef<u8>> => "SYU";
        "actor::NoSuchName": actor::NoSuchName => "SYU";
        "actor::Pool": actor::Pool<actor::ActorRef<u8>> => "SYU";
        "actor::RegisterError": actor::RegisterError => "SYU";
        "actor::Registry": actor::Registry => "SYU";
        "actor::Routing": actor::Routing => "SYU";
        "actor::Via": actor::Via<actor::ActorRef<u8>> => "SYU";
        "Activity": tidings::Activity => "SYU";
        "ActorView": tidings::ActorView => "SYU";
        "Inspection": tidings::Inspection => "SYU";
        "sched::LongPoll": sched::LongPoll => "SYU";
        "sched::TaskView": sched::TaskView => "SYU";
        "actor::Builder": actor::Builder => "SYU";
        "actor::CallError": actor::CallError => "SYU";
        "actor::Driver": actor::Driver => "S-U";
        "actor::Down": actor::Down<'static> => "S--";
        "actor::Ended": actor::Ended => "SYU";
        "actor::Exit": actor::Exit => "SYU";
        "actor::Overflow": actor::Overflow => "SYU";
        "channel::ChannelCounts": channel::ChannelCounts => "SYU";
        "channel::RecvError": channel::RecvError => "SYU";
        "channel::TryRecvError": channel::TryRecvError => "SYU";
        "channel::RecvTimeoutError": channel::RecvTimeoutError => "SYU";
        "channel::broadcast::RecvError": broadcast::RecvError => "SYU";
        "channel::broadcast::TryRecvError": broadcast::TryRecvError => "SYU";
        "event::Nack": event::Nack => "SYU";
        "sched::Runtime": sched::Runtime => "SYU";
        "sched::Handle": sched::Handle => "SYU";
        "sched::Builder": sched::Builder => "S-U";
        "sched::EnterGuard": sched::EnterGuard => "--U";
        "sched::Choice": sched::Choice => "SYU";
        "sched::Communication": sched::Communication => "SYU";
        "sched::Happened": sched::Happened => "SYU";
        "sched::Ledger": sched::Ledger => "SYU";
        "sched::Party": sched::Party => "SYU";
        "sched::Seeded": sched::Seeded => "SYU";
        "sched::UnheardPanics": sched::UnheardPanics => "SYU";
        "net::TcpListener": net::TcpListener => "SYU";
        "net::TcpStream": net::TcpStream => "SYU";
        "net::UnixListener": net::UnixListener => "SYU";
        "net::UnixStream": net::UnixStream => "SYU";
        "net::Io": net::Io<std::fs::File> => "SYU";
        "net::Ready": net::Ready<'static> => "SYU";
        "net::Direction": net::Direction => "SYU";
        "signal::Signal": signal::Signal => "SYU";
        "signal::SignalKind": signal::SignalKind => "SYU";
        "sync::Barrier": sync::Barrier => "SYU";
        "sync::BarrierWait": sync::BarrierWait<'static> => "SY-";
        "sync::BarrierWaitResult": sync::BarrierWaitResult => "SYU";
        "sync::Notify": sync::Notify => "SYU";
        "sync::Notified": sync::Notified<'static> => "S--";
        "sync::Semaphore": sync::Semaphore => "SYU";
        "sync::Permit": sync::Permit<&'static sync::Semaphore> => "SYU";
        "sync::Permit": sync::Permit<std::sync::Arc<sync::Semaphore>> => "SYU";
        "sync::Acquire": sync::Acquire<&'static sync::Semaphore> => "S--";
        "sync::Acquire": sync::Acquire<std::sync::Arc<sync::Semaphore>> => "S--";
        "sync::AcquireError": sync::AcquireError => "SYU";
        "sync::TryAcquireError": sync::TryAcquireError => "SYU";
        "task::AbortHandle": task::AbortHandle => "SYU";
        "task::JoinError": task::JoinError => "SYU";
        "task::NoTaskLocal": task::NoTaskLocal => "SYU";
        "task::YieldNow": task::YieldNow => "SYU";
        "time::Instant": time::Instant => "SYU";
        "time::After": time::After => "SYU";
        "time::Interval": time::Interval => "SYU";
        "time::MissedTicks": time::MissedTicks => "SYU";
        "CancellationToken": tidings::CancellationToken => "SYU";
        "Cancelled": tidings::Cancelled<'static> => "S--";
        "DropGuard": tidings::DropGuard => "SYU";
    };
    rows.to_vec()
}

#[cfg(feature = "remote")]
fn remote() -> Vec<Row> {
    use tidings::remote;
    let rows = plain! {
        "channel::oneshot::Gone": oneshot::Gone => "SYU";
        "channel::oneshot::Wanted": oneshot::Wanted => "SYU";
        "remote::Bytes": remote::Bytes => "SYU";
        "remote::Describe": remote::Describe => "SYU";
        "remote::Format": remote::Format => "SYU";
        "remote::Incoming": remote::Incoming<'static> => "S-U";
        "remote::Interface": remote::Interface => "SYU";
        "remote::Limits": remote::Limits => "SYU";
        "remote::Malformed": remote::Malformed => "SYU";
        "remote::Method": remote::Method => "SYU";
        "remote::Methods": remote::Methods => "SYU";
        "remote::Outgoing": remote::Outgoing => "SYU";
        "remote::Slot": remote::Slot<'static> => "--U";
        "remote::Value": remote::Value<'static> => "--U";
    };
    rows.to_vec()
}

#[cfg(feature = "tracing")]
fn trace() -> Vec<Row> {
    use tidings::trace;
    let rows = plain! {
        "trace::Trace": trace::Trace => "SYU";
        "trace::TraceError": trace::TraceError => "SYU";
    };
    rows.to_vec()
}

fn all() -> Vec<Row> {
    let mut all = generic();
    all.extend(plain());
    #[cfg(feature = "remote")]
    all.extend(remote());
    #[cfg(feature = "tracing")]
    all.extend(trace());
    all
}

/// What is not there without their features.
const ABSENT: &[&str] = &[
    #[cfg(not(feature = "remote"))]
    "remote::",
    #[cfg(not(feature = "remote"))]
    "oneshot::Gone",
    #[cfg(not(feature = "remote"))]
    "oneshot::Wanted",
    #[cfg(not(feature = "tracing"))]
    "trace::",
];

#[test]
fn types_move_between_threads_as_listed() {
    probe::agree(&all());
}

#[test]
fn every_public_type_is_listed() {
    let api = include_str!("../../public-api.txt");
    probe::are_complete(&all(), api, "tidings", 80, ABSENT);
}
