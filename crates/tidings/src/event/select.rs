//! `select!`: sugar over choice.

/// Waits for the first of several events and runs its arm.
///
/// Each arm is `pattern = event => expression`. If several can happen, a fair coin decides;
/// with `biased;` first, the order written. The losing events had no effect. Patterns must be
/// irrefutable: an event that has happened is not looked away from. Arms run after the commit,
/// in the surrounding function: `?`, `break`, `return` and `.await` work in them.
///
/// An event that is built from a value (a send) takes the value; to keep it when the send
/// loses, use [`Sender::send_from`](crate::Sender::send_from).
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
#[macro_export]
macro_rules! select {
    (biased; $($arms:tt)+) => { $crate::__select!([biased] [] $($arms)+) };
    ($($arms:tt)+) => { $crate::__select!([] [] $($arms)+) };
}

/// The arms of [`select!`], one at a time; then nested choices and one match.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
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
            ($crate::Event::map($crate::__select_event!($($arm)+), |out| out)
                $(.$mode())?).await;
            $($arm)+
        )
    };
}

/// `e0.map(Here).or(e1.map(Here).map(Later).or(..).map(Later))`.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_event {
    (($pat:pat, $event:expr, $body:expr)) => {
        $crate::Event::map($event, $crate::__private::Arm::<_, ::core::convert::Infallible>::Here)
    };
    (($pat:pat, $event:expr, $body:expr) $($rest:tt)+) => {
        $crate::Event::or(
            $crate::Event::map($event, $crate::__private::Arm::Here),
            $crate::Event::map($crate::__select_event!($($rest)+), $crate::__private::Arm::Later),
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select_match {
    ($out:expr; ($pat:pat, $event:expr, $body:expr)) => {
        match $out {
            $crate::__private::Arm::Here($pat) => $body,
            $crate::__private::Arm::Later(never) => match never {},
        }
    };
    ($out:expr; ($pat:pat, $event:expr, $body:expr) $($rest:tt)+) => {
        match $out {
            $crate::__private::Arm::Here($pat) => $body,
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
