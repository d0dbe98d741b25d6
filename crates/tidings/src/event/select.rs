//! `select!`: sugar over choice.

use std::pin::Pin;
use std::task::Waker;

use pin_project_lite::pin_project;

use super::or::{choice_methods, pair};
use super::{Attempt, Enrol, Event, Lock, Locks, Protocol, event};

/// Waits for the first of several events and runs its arm.
///
/// Each arm is `pattern = event => expression`. Of any two that can happen, each has the same chance;
/// with `biased;` first, the order written decides. The losing events had no effect. Patterns must be
/// irrefutable: an event that has happened is not looked away from. Arms run after the commit,
/// in the surrounding function: `?`, `break`, `return` and `.await` work in them. Some sixty arms fit the
/// compiler's limit of recursion; for more a crate raises it (`#![recursion_limit = "256"]`), or asks for one of
/// many by [`choose`](crate::choose()).
///
/// An event that is built from a value (a send) takes the value; to keep it when the send
/// loses, use [`Sender::send_from`](crate::Sender::send_from). A future is no event, as it may have had
/// an effect where it loses; the end of a task is one ([`JoinHandle::join`](crate::JoinHandle::join)).
///
/// ```
/// use std::time::Duration;
/// use tidings::{after, select, unbounded};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = unbounded::<u32>();
/// tx.send(1).await.unwrap();
/// let got = select! {
///     got = rx.recv() => got.unwrap(),
///     () = after(Duration::from_secs(5)) => 0,
/// };
/// assert_eq!(got, 1);
/// # });
/// ```
///
/// An arm that is there only under a condition, and one that happens if no other can at once:
///
/// ```
/// use tidings::{Event, always, never, select, unbounded};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let (_work, jobs) = unbounded::<u32>();
/// let (tx, news) = unbounded::<u32>();
/// tx.send(1).await.unwrap();
/// let curious = false;
/// let got = select! {
///     biased; // the order written, so the last arm is the last resort
///     job = jobs.recv() => job.unwrap(),
///     heard = if curious { news.recv().boxed() } else { never().boxed() } => heard.unwrap(),
///     () = always(()) => 0,
/// };
/// assert_eq!(got, 0);
/// # });
/// ```
#[macro_export]
macro_rules! select {
    (biased; $($arms:tt)+) => { $crate::__select!([biased] [] $($arms)+) };
    ($($arms:tt)+) => { $crate::__select!([] [] $($arms)+) };
}

/// The arms of [`select!`], one at a time; then nested choices and one match.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // What tokio's has, and this one not.
    ([$($mode:ident)?] [$($done:tt)*] else $($rest:tt)*) => {
        ::core::compile_error!("`select!` has no `else`: an event that can always happen is `always(..)`, last and with `biased;`")
    };
    ([$($mode:ident)?] [$($done:tt)*] $pat:pat = $event:expr, if $($rest:tt)*) => {
        ::core::compile_error!("`select!` has no preconditions: the event of an arm that shall not happen is `never()`")
    };
    // An arm with a block may leave out its comma.
    ([$($mode:ident)?] [$($done:tt)*] $pat:pat = $event:expr => $body:block, $($rest:tt)*) => {
        $crate::__select!([$($mode)?] [$($done)* ($pat, $event, $body)] $($rest)*)
    };
    ([$($mode:ident)?] [$($done:tt)*] $pat:pat = $event:expr => $body:block $($rest:tt)*) => {
        $crate::__select!([$($mode)?] [$($done)* ($pat, $event, $body)] $($rest)*)
    };
    ([$($mode:ident)?] [$($done:tt)*] $pat:pat = $event:expr => $body:expr, $($rest:tt)*) => {
        $crate::__select!([$($mode)?] [$($done)* ($pat, $event, $body)] $($rest)*)
    };
    ([$($mode:ident)?] [$($done:tt)*] $pat:pat = $event:expr => $body:expr) => {
        $crate::__select!([$($mode)?] [$($done)* ($pat, $event, $body)])
    };
    ([$($mode:ident)?] [$($arm:tt)+]) => {
        $crate::__select_match!(
            $crate::__select_mode!([$($mode)?] $crate::__select_event!($($arm)+)).await;
            $($arm)+
        )
    };
}

/// `Arms(e0, Arms(e1, e2))`.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_event {
    (($pat:pat, $event:expr, $body:expr)) => {
        $crate::__private::only_arm($event)
    };
    (($pat:pat, $event:expr, $body:expr) $($rest:tt)+) => {
        $crate::__private::arms($event, $crate::__select_event!($($rest)+))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select_mode {
    ([] $event:expr) => {
        $event
    };
    ([$mode:ident] $event:expr) => {
        $crate::Event::$mode($event)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select_match {
    // A match all the same: what the event borrows lives as long as the arm.
    ($out:expr; ($pat:pat, $event:expr, $body:expr)) => {
        match $out {
            out => {
                let $pat = out;
                $body
            }
        }
    };
    ($out:expr; ($pat:pat, $event:expr, $body:expr) $($rest:tt)+) => {
        match $out {
            // By itself, so that what is refutable is said of the user's own pattern.
            $crate::__private::Arm::Here(out) => {
                let $pat = out;
                $body
            }
            $crate::__private::Arm::Later(later) => $crate::__select_match!(later; $($rest)+),
        }
    };
}

/// Which arm of a `select!`: this one, or a later one.
#[doc(hidden)]
#[derive(Debug)]
pub enum Arm<A, B> {
    /// This one.
    Here(A),
    /// One of those behind.
    Later(B),
}

/// The last arm's event.
#[doc(hidden)]
#[must_use = "events do nothing unless awaited"]
pub fn only_arm<E: Event>(event: E) -> E {
    event
}

pin_project! {
    /// The choice of an arm and those behind it: which one happened is in its output.
    ///
    /// Not `or` of two `map`s: those say that two outputs are one type, which the compiler cannot
    /// show for types with lifetimes when it asks whether a task is `Send`.
    #[doc(hidden)]
    #[derive(Debug)]
    #[must_use = "events do nothing unless awaited"]
    pub struct Arms<A, B> {
        #[pin]
        a: A,
        #[pin]
        b: B,
    }
}

/// The event of an arm, and of those behind it. A function, so that what is no event is said of the
/// user's own expression.
#[doc(hidden)]
#[must_use = "events do nothing unless awaited"]
pub fn arms<A: Event, B: Event>(a: A, b: B) -> Arms<A, B> {
    Arms { a, b }
}

pair!(impl[A: Event, B: Event] Arms<A, B>: A, B);

impl<A: Event, B: Event> Protocol for Arms<A, B> {
    const TRACELESS: bool = A::TRACELESS && B::TRACELESS;

    choice_methods!();

    #[inline]
    fn finish(self: Pin<&mut Self>, branch: u32) -> Self::Output {
        let pair = self.pair();
        match branch.checked_sub(pair.a.leaves()) {
            None => Arm::Here(pair.a.finish(branch)),
            Some(branch) => Arm::Later(pair.b.finish(branch)),
        }
    }
}

event!(impl[A: Event, B: Event] Arms<A, B> => Arm<A::Output, B::Output>);
