//! An answer of many parts: what a method that returns a [`Streaming`] gives its caller.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::call::CallError;
use super::exit::{Answer, Unanswered};
use crate::channel::{self, Receiver, Sender, bounded};
use crate::event::Event;
use crate::primitive::{Arc, Mutex, lock};

/// The two ends of a stream of items that holds at most `capacity` of them: a method of an actor
/// keeps the first, and returns the second to its caller.
///
/// The caller hears how the stream ends: `None` if the actor says that it is complete
/// ([`Replies::finish`]), and the cause if the actor ends or panics, or drops its end. The actor
/// hears when the caller has gone.
///
/// # Panics
/// If `capacity` is 0.
///
/// ```
/// use tidings::actor::{self, Streaming};
///
/// #[tidings::interface]
/// trait Numbers {
///     async fn up_to(&self, n: u32) -> Streaming<u32>;
/// }
/// struct Count;
/// impl Numbers for Count {
///     async fn up_to(&self, n: u32) -> Streaming<u32> {
///         let (replies, numbers) = actor::streaming(8);
///         tidings::spawn(async move {
///             for i in 0..n {
///                 if replies.send(i).await.is_err() {
///                     return; // the caller has gone
///                 }
///             }
///             replies.finish();
///         });
///         numbers
///     }
/// }
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let numbers: NumbersRef = actor::start(Count);
/// let mut three = numbers.up_to(3).await.unwrap();
/// let mut seen = Vec::new();
/// while let Some(n) = three.recv().await {
///     seen.push(n.unwrap());
/// }
/// assert_eq!(seen, [0, 1, 2]);
/// # });
/// ```
#[must_use]
pub fn streaming<T: 'static>(capacity: usize) -> (Replies<T>, Streaming<T>) {
    let (sender, receiver) = bounded(capacity);
    let end = Arc::new(Mutex::new(End::Open));
    let replies = Replies {
        inner: Unanswered::new(Inner {
            sender,
            end: Arc::clone(&end),
        }),
    };
    (replies, Streaming { receiver, end })
}

/// How a stream has ended.
#[derive(Debug)]
enum End {
    Open,
    Finished,
    Failed(CallError),
}

/// Answers one request many times: the actor's end of a [`streaming`].
///
/// Dropping it without [`finish`](Self::finish) tells the caller that items are missing:
/// [`CallError::NoReply`], or the exit if the actor panicked or ended.
pub struct Replies<T> {
    inner: Unanswered<Inner<T>>,
}

struct Inner<T> {
    sender: Sender<T>,
    end: Arc<Mutex<End>>,
}

impl<T> Replies<T> {
    fn sender(&self) -> &Sender<T> {
        &self.inner.get().sender
    }

    /// Sends an item: an event, which waits while the stream is full. What becomes of the item if it
    /// loses a choice or times out is said of [`Sender::send`](crate::Sender::send).
    ///
    /// It fails, and gives the item back, once the caller has gone.
    pub fn send(&self, item: T) -> channel::Send<'_, T> {
        self.sender().send(item)
    }

    /// Waits until the caller has gone: an event.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (replies, items) = tidings::actor::streaming::<u8>(1);
    /// drop(items);
    /// replies.closed().await;
    /// # });
    /// ```
    pub fn closed(&self) -> channel::Closed<'_, T> {
        self.sender().closed()
    }

    /// Has the caller gone?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender().is_closed()
    }

    /// The stream is complete.
    pub fn finish(self) {
        let inner = self.inner.take();
        *lock(&inner.end) = End::Finished;
    }

    /// The stream breaks off, for this reason.
    #[cfg(feature = "remote")]
    pub(crate) fn fail(self, why: CallError) {
        self.inner.take().answer(why);
    }
}

impl<T> Answer for Inner<T> {
    fn answer(self, why: CallError) {
        if !self.sender.is_closed() {
            why.heard();
        }
        *lock(&self.end) = End::Failed(why);
    }
}

impl<T> fmt::Debug for Replies<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies")
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// The items of an answer of many parts: the caller's end of a [`streaming`].
///
/// Dropping it tells the actor that nobody wants more; items that are in it are dropped.
pub struct Streaming<T> {
    receiver: Receiver<T>,
    end: Arc<Mutex<End>>,
}

impl<T> Streaming<T> {
    /// The next item: an event. `None` when the stream is complete.
    ///
    /// A wait that is dropped, or loses a choice, leaves the item for the next.
    ///
    /// # Errors
    /// The last item is an error if the actor ended, panicked, or dropped its end before the stream
    /// was complete.
    pub fn recv(
        &mut self,
    ) -> impl Event<Output = Option<Result<T, CallError>>, Lost = ()> + Send + '_
    where
        T: Send,
    {
        let Self { receiver, end } = self;
        receiver.recv().map(|got| match got {
            Ok(item) => Some(Ok(item)),
            Err(_) => last(end).map(Err),
        })
    }

    /// The items as a [`futures_core::Stream`].
    ///
    /// ```
    /// use futures::StreamExt;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let (replies, items) = tidings::actor::streaming(2);
    /// replies.send('a').await.unwrap();
    /// replies.send('b').await.unwrap();
    /// replies.finish();
    /// let all: Vec<char> = items.into_stream().map(Result::unwrap).collect().await;
    /// assert_eq!(all, ['a', 'b']);
    /// # });
    /// ```
    pub fn into_stream(self) -> impl futures_core::Stream<Item = Result<T, CallError>> + Send
    where
        T: Send + 'static,
    {
        Items {
            items: self.receiver.into_stream(),
            end: self.end,
        }
    }

    /// A second end of the same stream, which is to take its place.
    #[cfg(feature = "remote")]
    pub(crate) fn twin(&self) -> Self {
        Self {
            receiver: self.receiver.clone(),
            end: Arc::clone(&self.end),
        }
    }

    /// An item that is there.
    #[cfg(feature = "remote")]
    pub(crate) fn try_recv(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

/// What comes after the items. Once: afterwards the stream is at its end.
fn last(end: &Mutex<End>) -> Option<CallError> {
    match std::mem::replace(&mut *lock(end), End::Finished) {
        End::Open => Some(CallError::NoReply),
        End::Finished => None,
        End::Failed(why) => Some(why),
    }
}

impl<T> fmt::Debug for Streaming<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming")
            .field("waiting", &self.receiver.len())
            .field("end", &*lock(&self.end))
            .finish()
    }
}

/// The stream of [`Streaming::into_stream`].
struct Items<T: 'static> {
    items: channel::Stream<T>,
    end: Arc<Mutex<End>>,
}

impl<T> futures_core::Stream for Items<T> {
    type Item = Result<T, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.items).poll_next(cx);
        polled.map(|item| item.map(Ok).or_else(|| last(&self.end).map(Err)))
    }
}
