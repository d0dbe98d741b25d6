//! `Send`, `Sync` and `Unpin` of every public type, for values that are both, that may only move
//! and that must stay. The list is complete: it is compared with the snapshot of the public API.

use std::cell::Cell;
use std::marker::{PhantomData, PhantomPinned};
use std::rc::Rc;

use tidings::channel::{broadcast, ivar, mvar, oneshot, watch};
use tidings::{actor, channel, event, net, sched, sync, task, time};

/// What a type has that does not have the trait in question.
trait No {
    const IS: bool = false;
}

/// Does a type have a trait? An inherent constant comes before a trait's.
macro_rules! is {
    ($type:ty, $trait:ident) => {{
        #[allow(dead_code, reason = "it stands for the type, and is never made")]
        struct Of<T: ?Sized>(PhantomData<T>);
        impl<T: ?Sized> No for Of<T> {}
        #[allow(dead_code, reason = "not used for a type without the trait")]
        impl<T: ?Sized + $trait> Of<T> {
            const IS: bool = true;
        }
        <Of<$type>>::IS
    }};
}

/// `S` for `Send`, `Y` for `Sync`, `U` for `Unpin`, `-` for what it is not.
macro_rules! traits {
    ($type:ty) => {{
        let mut found = String::new();
        found.push(if is!($type, Send) { 'S' } else { '-' });
        found.push(if is!($type, Sync) { 'Y' } else { '-' });
        found.push(if is!($type, Unpin) { 'U' } else { '-' });
        found
    }};
}

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

/// The same for types without a `T`.
macro_rules! plain {
    ($($path:literal: $type:ty => $traits:literal;)*) => {
        [$(($path, traits!($type), $traits)),*]
    };
}

type Row = (&'static str, String, &'static str);

fn generic() -> Vec<Row> {
    let rows = generic! {
        "tidings::net::Accepting": net::Accepting<'static, T> => "SYU S-U --U";
        "tidings::net::ReadHalf": net::ReadHalf<T> => "SYU --U --U";
        "tidings::net::WriteHalf": net::WriteHalf<T> => "SYU --U --U";
        "tidings::actor::ActorRef": actor::ActorRef<T> => "SYU SYU --U";
        "tidings::actor::Recipient": actor::Recipient<T> => "SYU SYU --U";
        "tidings::actor::WeakActorRef": actor::WeakActorRef<T> => "SYU SYU --U";
        "tidings::actor::WeakRecipient": actor::WeakRecipient<T> => "SYU SYU --U";
        "tidings::actor::Mailbox": actor::Mailbox<T> => "SYU S-U --U";
        "tidings::actor::Recv": actor::Recv<'static, T> => "S-- S-- ---";
        "tidings::actor::Tell": actor::Tell<'static, T> => "S-- S-- ---";
        "tidings::actor::Call": actor::Call<'static, T, T> => "S-- S-- ---";
        "tidings::actor::Child": actor::Child<T> => "S-U S-U --U";
        "tidings::actor::Reply": actor::Reply<T> => "SYU SYU --U";
        "tidings::actor::Replies": actor::Replies<T> => "SYU SYU --U";
        "tidings::actor::Streaming": actor::Streaming<T> => "SYU SYU --U";
        "tidings::actor::Shared": actor::Shared<T> => "SYU SYU --U";
        "tidings::actor::Timers": actor::Timers<T, T> => "SYU S-U --U";
        "tidings::actor::SendError": actor::SendError<T> => "SYU S-U --U";
        "tidings::channel::Sender": channel::Sender<T> => "SYU SYU --U";
        "tidings::channel::Receiver": channel::Receiver<T> => "SYU SYU --U";
        "tidings::channel::WeakSender": channel::WeakSender<T> => "SYU SYU --U";
        "tidings::channel::WeakReceiver": channel::WeakReceiver<T> => "SYU SYU --U";
        "tidings::channel::Send": channel::Send<'static, T> => "S-- S-- ---";
        "tidings::channel::SendFrom": channel::SendFrom<'static, T> => "S-- S-- ---";
        "tidings::channel::Recv": channel::Recv<'static, T> => "S-- S-- ---";
        "tidings::channel::RecvMany": channel::RecvMany<'static, T> => "S-- S-- ---";
        "tidings::channel::Reserve": channel::Reserve<'static, T> => "S-- S-- ---";
        "tidings::channel::Permit": channel::Permit<'static, T> => "SYU SYU --U";
        "tidings::channel::Closed": channel::Closed<'static, T> => "S-- S-- ---";
        "tidings::channel::Stream": channel::Stream<T> => "SYU SYU --U";
        "tidings::channel::Sink": channel::Sink<T> => "SYU SYU --U";
        "tidings::channel::SendError": channel::SendError<T> => "SYU S-U --U";
        "tidings::channel::TrySendError": channel::TrySendError<T> => "SYU S-U --U";
        "tidings::channel::SendTimeoutError": channel::SendTimeoutError<T> => "SYU S-U --U";
        "tidings::channel::oneshot::Sender": oneshot::Sender<T> => "SYU SYU --U";
        "tidings::channel::oneshot::Receiver": oneshot::Receiver<T> => "SYU SYU --U";
        "tidings::channel::oneshot::Recv": oneshot::Recv<oneshot::Receiver<T>, T> => "S-- S-- ---";
        "tidings::channel::oneshot::Closed": oneshot::Closed<'static, T> => "S-- S-- ---";
        "tidings::channel::ivar::IVar": ivar::IVar<T> => "SYU --U --U";
        "tidings::channel::ivar::Read": ivar::Read<'static, T> => "S-- --- ---";
        "tidings::channel::mvar::MVar": mvar::MVar<T> => "SYU SYU --U";
        "tidings::channel::broadcast::Sender": broadcast::Sender<T> => "SYU --U --U";
        "tidings::channel::broadcast::Receiver": broadcast::Receiver<T> => "SYU --U --U";
        "tidings::channel::broadcast::Recv": broadcast::Recv<'static, T> => "S-- --- ---";
        "tidings::channel::broadcast::Closed": broadcast::Closed<'static, T> => "S-- --- ---";
        "tidings::channel::watch::Sender": watch::Sender<T> => "SYU --U --U";
        "tidings::channel::watch::Receiver": watch::Receiver<T> => "SYU --U --U";
        "tidings::channel::watch::Changed": watch::Changed<'static, T> => "S-- --- ---";
        "tidings::channel::watch::Closed": watch::Closed<'static, T> => "S-- --- ---";
        "tidings::event::Always": event::Always<T> => "SYU S-U --U";
        "tidings::event::Never": event::Never<T> => "SYU SYU SYU";
        "tidings::event::Boxed": event::Boxed<'static, T> => "S-U S-U S-U";
        "tidings::event::Choose": event::Choose<event::Always<T>> => "SYU S-U --U";
        "tidings::event::Either": event::Either<T, T, T, T> => "SYU S-U --U";
        "tidings::event::EitherOf": event::EitherOf<event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "tidings::event::Guard": event::Guard<fn() -> event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "tidings::event::WithNack": event::WithNack<fn(event::Nack) -> event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "tidings::event::Map": event::Map<event::Always<T>, fn(T) -> T> => "SYU S-U --U";
        "tidings::event::Or": event::Or<event::Always<T>, event::Always<T>> => "SYU S-U --U";
        "tidings::event::Biased": event::Biased<event::Always<T>> => "SYU S-U --U";
        "tidings::event::Timeout": event::Timeout<event::Always<T>> => "SYU S-U --U";
        "tidings::event::Sync": event::Sync<event::Always<T>> => "SY- SY- ---";
        "tidings::event::Sync": event::Sync<channel::Recv<'static, T>> => "SY- SY- ---";
        "tidings::sync::Mutex": sync::Mutex<T> => "SYU SYU --U";
        "tidings::sync::MutexGuard": sync::MutexGuard<'static, T> => "SYU S-U --U";
        "tidings::sync::Lock": sync::Lock<'static, T> => "S-- S-- ---";
        "tidings::task::JoinHandle": task::JoinHandle<T> => "SYU SYU --U";
        "tidings::task::Join": task::Join<'static, T> => "SYU SYU --U";
        "tidings::task::JoinSet": task::JoinSet<T> => "SYU S-U --U";
        "tidings::task::JoinNext": task::JoinNext<'static, T> => "S-- S-- ---";
        "tidings::task::LocalKey": task::LocalKey<T> => "SYU SYU SYU";
        "tidings::task::Scoped": task::Scoped<T, std::future::Ready<T>> => "SYU S-U --U";
        "tidings::time::Elapsed": time::Elapsed<T> => "SYU S-U --U";
        "tidings::Scope": tidings::Scope<T> => "SYU SYU --U";
    };
    rows.to_vec()
}

fn plain() -> Vec<Row> {
    let rows = plain! {
        "tidings::actor::AnyRef": actor::AnyRef => "SYU";
        "tidings::actor::AutoShutdown": actor::AutoShutdown => "SYU";
        "tidings::actor::Backoff": actor::Backoff => "SYU";
        "tidings::actor::ChildCount": actor::ChildCount => "SYU";
        "tidings::actor::ChildInfo": actor::ChildInfo => "SYU";
        "tidings::actor::LinkExit": actor::LinkExit => "SYU";
        "tidings::actor::Restart": actor::Restart => "SYU";
        "tidings::actor::Restarted": actor::Restarted<'static> => "S--";
        "tidings::actor::Shutdown": actor::Shutdown => "SYU";
        "tidings::actor::Strategy": actor::Strategy => "SYU";
        "tidings::actor::Supervisor": actor::Supervisor => "S-U";
        "tidings::actor::SupervisorError": actor::SupervisorError => "SYU";
        "tidings::actor::SupervisorMessage": actor::SupervisorMessage => "S-U";
        "tidings::actor::SupervisorRef": actor::SupervisorRef => "SYU";
        "tidings::actor::Changes": actor::Changes<actor::ActorRef<u8>> => "SYU";
        "tidings::actor::Cycle": actor::Cycle => "SYU";
        "tidings::actor::Group": actor::Group<actor::ActorRef<u8>> => "SYU";
        "tidings::actor::NoSuchName": actor::NoSuchName => "SYU";
        "tidings::actor::Pool": actor::Pool<actor::ActorRef<u8>> => "SYU";
        "tidings::actor::RegisterError": actor::RegisterError => "SYU";
        "tidings::actor::Registry": actor::Registry => "SYU";
        "tidings::actor::Routing": actor::Routing => "SYU";
        "tidings::actor::Via": actor::Via<actor::ActorRef<u8>> => "SYU";
        "tidings::Activity": tidings::Activity => "SYU";
        "tidings::ActorView": tidings::ActorView => "SYU";
        "tidings::Inspection": tidings::Inspection => "SYU";
        "tidings::sched::LongPoll": sched::LongPoll => "SYU";
        "tidings::actor::Builder": actor::Builder => "SYU";
        "tidings::actor::CallError": actor::CallError => "SYU";
        "tidings::actor::Down": actor::Down<'static> => "S--";
        "tidings::actor::Ended": actor::Ended => "SYU";
        "tidings::actor::Exit": actor::Exit => "SYU";
        "tidings::actor::Overflow": actor::Overflow => "SYU";
        "tidings::actor::Stop": actor::Stop => "SYU";
        "tidings::channel::ChannelCounts": channel::ChannelCounts => "SYU";
        "tidings::channel::RecvError": channel::RecvError => "SYU";
        "tidings::channel::TryRecvError": channel::TryRecvError => "SYU";
        "tidings::channel::RecvTimeoutError": channel::RecvTimeoutError => "SYU";
        "tidings::channel::broadcast::RecvError": broadcast::RecvError => "SYU";
        "tidings::channel::broadcast::TryRecvError": broadcast::TryRecvError => "SYU";
        "tidings::event::Nack": event::Nack => "SYU";
        "tidings::event::Lock": event::Lock => "SYU";
        "tidings::event::Locks": event::Locks<'static> => "SYU";
        "tidings::event::Attempt": event::Attempt => "SYU";
        "tidings::event::Enrol": event::Enrol<'static> => "--U";
        "tidings::sched::Runtime": sched::Runtime => "SYU";
        "tidings::sched::Handle": sched::Handle => "SYU";
        "tidings::sched::Builder": sched::Builder => "S-U";
        "tidings::sched::Choice": sched::Choice => "SYU";
        "tidings::sched::Communication": sched::Communication => "SYU";
        "tidings::sched::Happened": sched::Happened => "SYU";
        "tidings::sched::Ledger": sched::Ledger => "SYU";
        "tidings::sched::Party": sched::Party => "SYU";
        "tidings::sched::Seeded": sched::Seeded => "SYU";
        "tidings::net::TcpListener": net::TcpListener => "SYU";
        "tidings::net::TcpStream": net::TcpStream => "SYU";
        "tidings::net::UnixListener": net::UnixListener => "SYU";
        "tidings::net::UnixStream": net::UnixStream => "SYU";
        "tidings::net::Io": net::Io<std::fs::File> => "SYU";
        "tidings::net::Ready": net::Ready<'static> => "SYU";
        "tidings::net::Direction": net::Direction => "SYU";
        "tidings::sync::Barrier": sync::Barrier => "SYU";
        "tidings::sync::BarrierWait": sync::BarrierWait<'static> => "SY-";
        "tidings::sync::BarrierWaitResult": sync::BarrierWaitResult => "SYU";
        "tidings::sync::Notify": sync::Notify => "SYU";
        "tidings::sync::Notified": sync::Notified<'static> => "S--";
        "tidings::sync::Semaphore": sync::Semaphore => "SYU";
        "tidings::sync::Permit": sync::Permit<'static> => "SYU";
        "tidings::sync::Acquire": sync::Acquire<'static> => "S--";
        "tidings::sync::AcquireError": sync::AcquireError => "SYU";
        "tidings::sync::TryAcquireError": sync::TryAcquireError => "SYU";
        "tidings::task::AbortHandle": task::AbortHandle => "SYU";
        "tidings::task::JoinError": task::JoinError => "SYU";
        "tidings::task::NoTaskLocal": task::NoTaskLocal => "SYU";
        "tidings::task::YieldNow": task::YieldNow => "SYU";
        "tidings::time::Instant": time::Instant => "SYU";
        "tidings::time::After": time::After => "SYU";
        "tidings::time::Interval": time::Interval => "SYU";
        "tidings::time::MissedTicks": time::MissedTicks => "SYU";
        "tidings::CancellationToken": tidings::CancellationToken => "SYU";
        "tidings::Cancelled": tidings::Cancelled<'static> => "S--";
        "tidings::DropGuard": tidings::DropGuard => "SYU";
    };
    rows.to_vec()
}

#[test]
fn types_move_between_threads_as_listed() {
    let wrong: Vec<String> = generic()
        .into_iter()
        .chain(plain())
        .filter(|(_, found, listed)| found != listed)
        .map(|(path, found, listed)| format!("{path}: {found}, not {listed}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_probe_tells_traits_apart() {
    assert_eq!(traits!(u8), "SYU");
    assert_eq!(traits!(Cell<u8>), "S-U");
    assert_eq!(traits!(Rc<u8>), "--U");
    assert_eq!(traits!(PhantomPinned), "SY-");
}

#[test]
fn every_public_type_is_listed() {
    let api = include_str!("../../public-api.txt");
    let types: Vec<&str> = api
        .lines()
        .filter_map(|line| {
            let (_, after) = line
                .split_once("pub struct ")
                .or(line.split_once("pub enum "))?;
            after.split(['<', '(', ' ']).next()
        })
        .collect();
    assert!(
        types.len() > 80,
        "the snapshot lists {} types only",
        types.len()
    );
    let listed: Vec<&str> = generic()
        .into_iter()
        .chain(plain())
        .map(|row| row.0)
        .collect();
    for path in types {
        // The root names again what the modules have.
        let name = path.strip_prefix("tidings::").unwrap_or(path);
        let known = |row: &&str| **row == *path || row.ends_with(&format!("::{name}"));
        assert!(listed.iter().any(known), "{path} is not in the list");
    }
}
