//! A message as it lies in a mailbox: with the feature `tracing` beside what it is a part of.
//!
//! Without the feature a [`Part`] is nothing, and takes no room.

use std::any::type_name;
use std::fmt;

use super::address::Carries;
#[cfg(any(feature = "remote", feature = "tracing"))]
use crate::trace::Trace;

/// What a message was sent as a part of, if that is known.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    #[cfg(feature = "tracing")]
    trace: Option<Trace>,
}

impl Part {
    /// That of what runs now.
    #[inline(always)]
    fn now() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            trace: Trace::current(),
        }
    }

    /// The future, as this part.
    #[inline(always)]
    pub(crate) fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> + use<F> {
        #[cfg(feature = "tracing")]
        let future = crate::trace::Scope::new(self.trace, future);
        future
    }

    /// Does something now, as this part.
    #[cfg(feature = "remote")]
    pub(crate) fn within<R>(self, f: impl FnOnce() -> R) -> R {
        #[cfg(feature = "tracing")]
        let _within = crate::trace::enter(self.trace);
        f()
    }

    #[cfg(any(feature = "remote", feature = "tracing"))]
    pub(crate) fn trace(self) -> Option<Trace> {
        #[cfg(feature = "tracing")]
        let trace = self.trace;
        #[cfg(not(feature = "tracing"))]
        let trace = None;
        trace
    }
}

#[cfg(feature = "remote")]
impl From<Option<Trace>> for Part {
    #[cfg_attr(
        not(feature = "tracing"),
        expect(unused_variables, reason = "it is not kept")
    )]
    fn from(trace: Option<Trace>) -> Self {
        Self {
            #[cfg(feature = "tracing")]
            trace,
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Part")
    }
}

/// The name of a message's type, from that of the type as which it lies in a mailbox, or from its own.
pub(crate) fn message_name(name: &'static str) -> &'static str {
    let wrapped = type_name::<Parcel<()>>().strip_suffix("()>");
    let inner = wrapped.and_then(|wrapped| name.strip_prefix(wrapped)?.strip_suffix('>'));
    inner.unwrap_or(name)
}

/// A message, and what it is a part of.
#[derive(Debug)]
pub(super) struct Parcel<M> {
    pub(super) message: M,
    pub(super) part: Part,
}

impl<M> Parcel<M> {
    /// Of a message that is sent now.
    #[inline(always)]
    pub(super) fn wrap<I>(inner: I) -> Self
    where
        M: Carries<I>,
    {
        Self {
            message: M::wrap(inner),
            part: Part::now(),
        }
    }
}
