//! Trace context: which request of a distributed system a message belongs to (W3C Trace Context). With
//! the feature `tracing` it has that of its sender, also over a link.

use std::fmt;
use std::str::FromStr;

#[cfg(all(feature = "remote", feature = "tracing"))]
pub(crate) use scope::enter;
#[cfg(feature = "tracing")]
pub(crate) use scope::{Scope, handles};

/// A place in a trace, as the header `traceparent` of the W3C has it: the trace, the span in it that
/// something was asked from, and flags.
///
/// With the feature `tracing`: within `Trace::scope`, and in the handler of a message that has one,
/// `Trace::current` gives it, messages to actors have it, and the span `message` in which one is handled has it as its
/// field `trace`, beside `interface`, `method`, `actor.id` and `actor.name`. What makes spans of it, and sends them somewhere, is a
/// library of your choice (`opentelemetry`).
///
/// ```
/// use tidings::trace::Trace;
/// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let trace: Trace = header.parse().unwrap();
/// assert!(trace.is_sampled());
/// assert_eq!(trace.to_string(), header);
/// assert!("00-0-0-01".parse::<Trace>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "remote", derive(serde::Serialize, serde::Deserialize))]
pub struct Trace {
    id: [u8; 16],
    parent: [u8; 8],
    flags: u8,
}

impl Trace {
    /// The trace and the span with these numbers, and the flags of the header.
    #[must_use]
    pub const fn new(id: u128, parent: u64, flags: u8) -> Self {
        Self {
            id: id.to_be_bytes(),
            parent: parent.to_be_bytes(),
            flags,
        }
    }

    /// The number of the trace.
    #[must_use]
    pub const fn id(self) -> u128 {
        u128::from_be_bytes(self.id)
    }

    /// The number of the span that asks.
    #[must_use]
    pub const fn parent(self) -> u64 {
        u64::from_be_bytes(self.parent)
    }

    /// Whether the flag "sampled" is set: who asks may have recorded the trace.
    #[must_use]
    pub const fn is_sampled(self) -> bool {
        self.flags & 1 != 0
    }

    /// The same trace, seen from another span of it: what a handler's own calls should have.
    #[must_use]
    pub const fn with_parent(self, parent: u64) -> Self {
        Self::new(self.id(), parent, self.flags)
    }

    /// `false` if one of its numbers is 0, which stands for none.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.id() != 0 && self.parent() != 0
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, parent, flags) = (self.id(), self.parent(), self.flags);
        write!(f, "00-{id:032x}-{parent:016x}-{flags:02x}")
    }
}

/// A text that is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceError;

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no traceparent")
    }
}

impl std::error::Error for TraceError {}

impl FromStr for Trace {
    type Err = TraceError;

    /// Also of later versions, which may have more behind.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut parts = text.splitn(5, '-');
        let mut part = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits);
            let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            let part = part.filter(|part| part.bytes().all(lower));
            part.and_then(|part| u128::from_str_radix(part, 16).ok())
        };
        let (version, id, parent, flags) = (part(2), part(32), part(16), part(2));
        let more = parts.next().is_some();
        let parsed = match (version, id, parent, flags) {
            (Some(version), Some(id), Some(parent), Some(flags))
                if version != 0xff && (version > 0 || !more) =>
            {
                // As many digits as they have.
                Self::new(id, parent as u64, flags as u8)
            }
            _ => return Err(TraceError),
        };
        if parsed.is_valid() {
            Ok(parsed)
        } else {
            Err(TraceError)
        }
    }
}

#[cfg(feature = "tracing")]
mod scope {
    //! What the trace of this moment is.

    use std::cell::Cell;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use pin_project_lite::pin_project;

    use super::Trace;
    use crate::primitive::thread_local;

    thread_local! {
        static CURRENT: Cell<Option<Trace>> = const { Cell::new(None) };
    }

    impl Trace {
        /// That of what runs now (feature `tracing`).
        #[must_use]
        pub fn current() -> Option<Self> {
            CURRENT.with(Cell::get)
        }

        /// Runs a future as a part of it (feature `tracing`). Tasks that it spawns are none.
        ///
        /// ```
        /// use tidings::{actor, trace::Trace};
        ///
        /// #[tidings::interface]
        /// trait Shop {
        ///     async fn order(&mut self) -> Option<Trace>;
        /// }
        /// struct Baker;
        /// impl Shop for Baker {
        ///     async fn order(&mut self) -> Option<Trace> {
        ///         Trace::current()
        ///     }
        /// }
        /// # tidings::Runtime::new().unwrap().block_on(async {
        /// let shop: ShopRef = actor::start(Baker);
        /// let trace = Trace::new(7, 1, 1);
        /// let seen = trace.scope(async { shop.order().await.unwrap() }).await;
        /// assert_eq!(seen, Some(trace));
        /// assert_eq!(shop.order().await.unwrap(), None);
        /// # });
        /// ```
        pub fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> + use<F> {
            Scope::new(Some(self), future)
        }
    }

    /// This is the trace of what runs now, until what it gives is dropped.
    #[cfg(feature = "remote")]
    pub(crate) fn enter(trace: Option<Trace>) -> impl Sized {
        struct Outer(Option<Trace>);
        impl Drop for Outer {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        Outer(CURRENT.with(|current| current.replace(trace)))
    }

    /// A call is handled from here on, in its own span, that has this trace.
    pub(crate) fn handles(trace: Option<Trace>) {
        let known = CURRENT.with(|current| current.replace(trace));
        // That which it was sent with, or none if it was held back.
        if let Some(trace) = trace
            && known != Some(trace)
        {
            tracing::Span::current().record("trace", tracing::field::display(trace));
        }
    }

    pin_project! {
        /// A future with a trace of its own.
        pub(crate) struct Scope<F> {
            #[pin]
            future: F,
            trace: Option<Trace>,
        }
    }

    impl<F> Scope<F> {
        pub(crate) fn new(trace: Option<Trace>, future: F) -> Self {
            Self { future, trace }
        }
    }

    impl<F: Future> Future for Scope<F> {
        type Output = F::Output;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            struct Restore<'a>(&'a mut Option<Trace>, Option<Trace>);
            impl Drop for Restore<'_> {
                fn drop(&mut self) {
                    *self.0 = CURRENT.with(|current| current.replace(self.1));
                }
            }
            let this = self.project();
            let outer = CURRENT.with(|current| current.replace(*this.trace));
            let _restore = Restore(this.trace, outer);
            this.future.poll(cx)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_the_w3c_says_and_written_as_it_was() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        let trace: Trace = text.parse().unwrap();
        assert_eq!(trace.to_string(), text);
        assert_eq!(trace.id(), 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!(trace.parent(), 0x00f0_67aa_0ba9_02b7);
        assert!(trace.is_sampled());
        assert_eq!(trace.with_parent(5).parent(), 5);
        assert_eq!(trace.with_parent(5).id(), trace.id());
        // A later version may have more behind, this one not.
        let later = text.replacen("00", "01", 1);
        assert_eq!(format!("{later}-more").parse(), Ok(trace));
        let wrong = [
            format!("{text}-more"),
            text.replacen("00", "ff", 1),
            text.to_uppercase(),
            text.replace("-01", ""),
            text.replace("-01", "-1"),
            text.replace("0af7", "+af7"),
            text.replace("00f067aa0ba902b7", "0000000000000000"),
            text.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            String::new(),
        ];
        for wrong in wrong {
            assert_eq!(wrong.parse::<Trace>(), Err(TraceError), "{wrong}");
        }
        let unsampled: Trace = text.replace("-01", "-00").parse().unwrap();
        assert!(!unsampled.is_sampled());
    }
}
