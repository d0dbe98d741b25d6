//! Users' own I/O: the runtime of tokio's that the threads of ours are inside of.
//!
//! Entered once per thread, not per poll: entering costs 31 ns, and async-compat's way 49 ns a poll.

use std::marker::PhantomData;

/// Without the feature `tokio`: nothing.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    #[cfg(feature = "tokio")]
    pub(super) handle: Option<tokio::runtime::Handle>,
}

/// What this thread does is inside.
pub(super) struct Inside<'a> {
    #[cfg(feature = "tokio")]
    _entered: Option<tokio::runtime::EnterGuard<'a>>,
    _of: PhantomData<&'a Foreign>,
}

impl Foreign {
    /// Until what it gives is dropped.
    pub(super) fn enter(&self) -> Inside<'_> {
        Inside {
            #[cfg(feature = "tokio")]
            _entered: self.handle.as_ref().map(tokio::runtime::Handle::enter),
            _of: PhantomData,
        }
    }
}
