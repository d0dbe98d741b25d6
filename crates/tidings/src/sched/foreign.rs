//! Users' own I/O: the runtime of tokio's that the threads of ours are inside of.
//!
//! Entered once per thread, not per poll: entering costs 31 ns, and async-compat's way 49 ns a poll.

/// Without the feature `tokio`: nothing.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    #[cfg(feature = "tokio")]
    pub(super) handle: Option<tokio::runtime::Handle>,
}

impl Foreign {
    /// What this thread does is inside, until what it gives is dropped.
    pub(super) fn enter(&self) -> impl Sized + '_ {
        #[cfg(feature = "tokio")]
        {
            self.handle.as_ref().map(tokio::runtime::Handle::enter)
        }
    }
}
