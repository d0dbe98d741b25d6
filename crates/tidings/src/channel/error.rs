//! Every error of channels and cells, on one page. A failed send gives its value back.

use std::fmt;

/// No receiver is left, or the channel was closed; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The value could not be sent now; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel is full, or nobody is waiting to receive from a rendezvous channel.
    Full(T),
    /// No receiver is left, or the channel was closed.
    Closed(T),
}

/// The value could not be sent in time; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The time is over.
    Timeout(T),
    /// No receiver is left, or the channel was closed.
    Closed(T),
}

/// Nothing is left to receive and no sender is left, or the channel was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

/// Nothing could be received now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing is there yet.
    Empty,
    /// Nothing is left and no sender is left, or the channel was closed.
    Closed,
}

/// Nothing was received in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The time is over.
    Timeout,
    /// Nothing is left and no sender is left, or the channel was closed.
    Closed,
}

impl<T> SendError<T> {
    /// The value that was not sent.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// The value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }
}

impl<T> SendTimeoutError<T> {
    /// The value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(value) | Self::Closed(value) => value,
        }
    }
}

/// `Debug` without `T: Debug`, `Display`, `Error`: `type { variant => (debug, message) }`.
macro_rules! errors {
    ($($name:ident $(<$t:ident>)? { $($pat:pat => ($debug:literal, $text:literal)),+ $(,)? })+) => { $(
        errors!(@debug $name $(<$t>)? { $($pat => $debug),+ });
        impl$(<$t>)? fmt::Display for $name$(<$t>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($pat => $text),+ })
            }
        }
        impl$(<$t>)? std::error::Error for $name$(<$t>)? {}
    )+ };
    (@debug $name:ident <$t:ident> { $($pat:pat => $debug:literal),+ }) => {
        impl<$t> fmt::Debug for $name<$t> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($pat => $debug),+ })
            }
        }
    };
    (@debug $name:ident { $($pat:pat => $debug:literal),+ }) => {};
}

errors! {
    SendError<T> { Self(_) => ("SendError(..)", "sending on a closed channel") }
    TrySendError<T> {
        Self::Full(_) => ("Full(..)", "sending on a full channel"),
        Self::Closed(_) => ("Closed(..)", "sending on a closed channel"),
    }
    SendTimeoutError<T> {
        Self::Timeout(_) => ("Timeout(..)", "timed out waiting to send"),
        Self::Closed(_) => ("Closed(..)", "sending on a closed channel"),
    }
    RecvError { Self => ("RecvError", "receiving on a closed channel") }
    TryRecvError {
        Self::Empty => ("Empty", "receiving on an empty channel"),
        Self::Closed => ("Closed", "receiving on a closed channel"),
    }
    RecvTimeoutError {
        Self::Timeout => ("Timeout", "timed out waiting to receive"),
        Self::Closed => ("Closed", "receiving on a closed channel"),
    }
}
