//! `Send`, `Sync` and `Unpin` of every public type, for values that are both, that may only move
//! and that must stay. The list is complete: it is compared with the snapshot of the public API.

use std::cell::Cell;
use std::marker::{PhantomData, PhantomPinned};
use std::rc::Rc;

use tidings::channel::{broadcast, ivar, mvar, oneshot, watch};
use tidings::{channel, event, sched, sync, task, time};

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
        "tidings::channel::Sender": channel::Sender<T> => "?";
        "tidings::channel::Receiver": channel::Receiver<T> => "?";
        "tidings::channel::WeakSender": channel::WeakSender<T> => "?";
        "tidings::channel::WeakReceiver": channel::WeakReceiver<T> => "?";
        "tidings::channel::Send": channel::Send<'static, T> => "?";
        "tidings::channel::SendFrom": channel::SendFrom<'static, T> => "?";
        "tidings::channel::Recv": channel::Recv<'static, T> => "?";
        "tidings::channel::RecvMany": channel::RecvMany<'static, T> => "?";
        "tidings::channel::Reserve": channel::Reserve<'static, T> => "?";
        "tidings::channel::Permit": channel::Permit<'static, T> => "?";
        "tidings::channel::Closed": channel::Closed<'static, T> => "?";
        "tidings::channel::Stream": channel::Stream<T> => "?";
        "tidings::channel::Sink": channel::Sink<T> => "?";
        "tidings::channel::SendError": channel::SendError<T> => "?";
        "tidings::channel::TrySendError": channel::TrySendError<T> => "?";
        "tidings::channel::SendTimeoutError": channel::SendTimeoutError<T> => "?";
        "tidings::channel::oneshot::Sender": oneshot::Sender<T> => "?";
        "tidings::channel::oneshot::Receiver": oneshot::Receiver<T> => "?";
        "tidings::channel::oneshot::Recv": oneshot::Recv<oneshot::Receiver<T>, T> => "?";
        "tidings::channel::oneshot::Closed": oneshot::Closed<'static, T> => "?";
        "tidings::channel::ivar::IVar": ivar::IVar<T> => "?";
        "tidings::channel::ivar::Read": ivar::Read<'static, T> => "?";
        "tidings::channel::mvar::MVar": mvar::MVar<T> => "?";
        "tidings::channel::broadcast::Sender": broadcast::Sender<T> => "?";
        "tidings::channel::broadcast::Receiver": broadcast::Receiver<T> => "?";
        "tidings::channel::broadcast::Recv": broadcast::Recv<'static, T> => "?";
        "tidings::channel::broadcast::Closed": broadcast::Closed<'static, T> => "?";
        "tidings::channel::watch::Sender": watch::Sender<T> => "?";
        "tidings::channel::watch::Receiver": watch::Receiver<T> => "?";
        "tidings::channel::watch::Changed": watch::Changed<'static, T> => "?";
        "tidings::channel::watch::Closed": watch::Closed<'static, T> => "?";
        "tidings::event::Always": event::Always<T> => "?";
        "tidings::event::Never": event::Never<T> => "?";
        "tidings::event::Boxed": event::Boxed<'static, T> => "?";
        "tidings::event::Choose": event::Choose<event::Always<T>> => "?";
        "tidings::event::Either": event::Either<T, T, T, T> => "?";
        "tidings::event::EitherOf": event::EitherOf<event::Always<T>, event::Always<T>> => "?";
        "tidings::event::Guard": event::Guard<fn() -> event::Always<T>, event::Always<T>> => "?";
        "tidings::event::WithNack": event::WithNack<fn(event::Nack) -> event::Always<T>, event::Always<T>> => "?";
        "tidings::event::Map": event::Map<event::Always<T>, fn(T) -> T> => "?";
        "tidings::event::Or": event::Or<event::Always<T>, event::Always<T>> => "?";
        "tidings::event::Biased": event::Biased<event::Always<T>> => "?";
        "tidings::event::Timeout": event::Timeout<event::Always<T>> => "?";
        "tidings::event::Sync": event::Sync<event::Always<T>> => "?";
        "tidings::event::Sync": event::Sync<channel::Recv<'static, T>> => "?";
        "tidings::sync::Mutex": sync::Mutex<T> => "?";
        "tidings::sync::MutexGuard": sync::MutexGuard<'static, T> => "?";
        "tidings::sync::Lock": sync::Lock<'static, T> => "?";
        "tidings::task::JoinHandle": task::JoinHandle<T> => "?";
        "tidings::task::Join": task::Join<'static, T> => "?";
        "tidings::task::JoinSet": task::JoinSet<T> => "?";
        "tidings::task::JoinNext": task::JoinNext<'static, T> => "?";
        "tidings::task::LocalKey": task::LocalKey<T> => "?";
        "tidings::task::Scoped": task::Scoped<T, std::future::Ready<T>> => "?";
        "tidings::time::Elapsed": time::Elapsed<T> => "?";
        "tidings::Scope": tidings::Scope<T> => "?";
    };
    rows.to_vec()
}

fn plain() -> Vec<Row> {
    let rows = plain! {
        "tidings::channel::RecvError": channel::RecvError => "?";
        "tidings::channel::TryRecvError": channel::TryRecvError => "?";
        "tidings::channel::RecvTimeoutError": channel::RecvTimeoutError => "?";
        "tidings::channel::broadcast::RecvError": broadcast::RecvError => "?";
        "tidings::channel::broadcast::TryRecvError": broadcast::TryRecvError => "?";
        "tidings::event::Nack": event::Nack => "?";
        "tidings::event::Lock": event::Lock => "?";
        "tidings::event::Locks": event::Locks<'static> => "?";
        "tidings::event::Attempt": event::Attempt => "?";
        "tidings::event::Enrol": event::Enrol<'static> => "?";
        "tidings::sched::Runtime": sched::Runtime => "?";
        "tidings::sched::Handle": sched::Handle => "?";
        "tidings::sched::Builder": sched::Builder => "?";
        "tidings::sched::Choice": sched::Choice => "?";
        "tidings::sched::Seeded": sched::Seeded => "?";
        "tidings::sync::Barrier": sync::Barrier => "?";
        "tidings::sync::BarrierWait": sync::BarrierWait<'static> => "?";
        "tidings::sync::BarrierWaitResult": sync::BarrierWaitResult => "?";
        "tidings::sync::Notify": sync::Notify => "?";
        "tidings::sync::Notified": sync::Notified<'static> => "?";
        "tidings::sync::Semaphore": sync::Semaphore => "?";
        "tidings::sync::Permit": sync::Permit<'static> => "?";
        "tidings::sync::Acquire": sync::Acquire<'static> => "?";
        "tidings::sync::AcquireError": sync::AcquireError => "?";
        "tidings::sync::TryAcquireError": sync::TryAcquireError => "?";
        "tidings::task::AbortHandle": task::AbortHandle => "?";
        "tidings::task::JoinError": task::JoinError => "?";
        "tidings::task::NoTaskLocal": task::NoTaskLocal => "?";
        "tidings::task::YieldNow": task::YieldNow => "?";
        "tidings::time::Instant": time::Instant => "?";
        "tidings::time::After": time::After => "?";
        "tidings::time::Interval": time::Interval => "?";
        "tidings::time::MissedTicks": time::MissedTicks => "?";
        "tidings::CancellationToken": tidings::CancellationToken => "?";
        "tidings::Cancelled": tidings::Cancelled<'static> => "?";
        "tidings::DropGuard": tidings::DropGuard => "?";
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
        assert!(
            listed.iter().any(|row| known(&row)),
            "{path} is not in the list"
        );
    }
}
