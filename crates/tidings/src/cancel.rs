//! Cancellation as a signal: asked for, not forced.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Weak;
use std::task::Poll;

use crate::channel::source::{Lists, Side, Source};
use crate::channel::wait::{Ticket, Tickets, Wait, wait_event};
use crate::event::offer::{Judge, Waiters};
use crate::primitive::Arc;
use crate::primitive::atomic::{AtomicBool, Ordering};
use crate::task::{Woken, first, go_on};

/// Tells tasks that what they do is no longer wanted; clones are the same token.
///
/// Cancelling is for ever. It ends nothing by itself: whoever holds the token looks
/// ([`is_cancelled`](Self::is_cancelled)) or waits ([`cancelled`](Self::cancelled)) and ends in
/// order, or is a future that is dropped then ([`run_until_cancelled`](Self::run_until_cancelled)). To end a task without its help there is [`abort`](crate::JoinHandle::abort). Dropping
/// a token cancels nothing ([`drop_guard`](Self::drop_guard) does).
///
/// ```
/// use tidings::{CancellationToken, bounded, select};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let token = CancellationToken::new();
/// let (_tx, rx) = bounded::<u32>(1);
/// let task = tidings::spawn({
///     let token = token.clone();
///     async move {
///         select! {
///             () = token.cancelled() => "cancelled",
///             _ = rx.recv() => "received",
///         }
///     }
/// });
/// token.cancel();
/// assert_eq!(task.await.unwrap(), "cancelled");
/// # });
/// ```
#[derive(Clone)]
pub struct CancellationToken {
    node: Arc<Node>,
}

struct Node {
    /// Set once, under the lock; read without it.
    cancelled: AtomicBool,
    source: Source<State>,
    /// The parent, and our key in its children.
    parent: Option<(Arc<Self>, u64)>,
}

pub(crate) struct State {
    children: BTreeMap<u64, Weak<Node>>,
    /// The key of the next child.
    next: u64,
    waiting: Tickets,
}

impl Lists for State {
    fn waiters(&mut self, _: Side) -> &mut Waiters {
        self.waiting.list()
    }
}

impl Node {
    fn new(parent: Option<(Arc<Self>, u64)>) -> Arc<Self> {
        let state = State {
            children: BTreeMap::new(),
            next: 0,
            waiting: Tickets::new(),
        };
        Arc::new(Self {
            cancelled: AtomicBool::new(false),
            source: Source::new(state),
            parent,
        })
    }

    fn is_cancelled(&self) -> bool {
        // ORD cancel.cancelled: acquire; pairs with cancel.
        self.cancelled.load(Ordering::Acquire)
    }

    /// Cancels it alone; gives its children, which must be cancelled too, before a waker's panic
    /// goes on.
    fn cancel(&self) -> (BTreeMap<u64, Weak<Self>>, Woken) {
        let children = self.source.locked(|state| {
            // ORD cancel.cancelled: release (what the canceller did before).
            self.cancelled.store(true, Ordering::Release);
            std::mem::take(&mut state.children)
        });
        let woken = self
            .source
            .commit_quietly(false, |state| state.waiting.claim(|_| Judge::Take));
        (children, woken)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Up a line of parents that nobody else has, step by step: it may be longer than the stack.
        let mut next = self.parent.take();
        while let Some((parent, key)) = next {
            let gone = parent.source.locked(|state| state.children.remove(&key));
            drop(gone);
            next = Arc::into_inner(parent).and_then(|mut parent| parent.parent.take());
        }
    }
}

impl CancellationToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self {
            node: Node::new(None),
        }
    }

    /// Cancels the token, its children and theirs, and wakes all who wait for it. Does not wait
    /// for what they do then. Cancelling again does nothing.
    ///
    /// ```
    /// let token = tidings::CancellationToken::new();
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        let (children, mut woken) = self.node.cancel();
        let mut todo = vec![children];
        while let Some(children) = todo.pop() {
            for child in children.into_values() {
                if let Some(child) = child.upgrade() {
                    let (children, theirs) = child.cancel();
                    todo.push(children);
                    woken = first(woken, theirs);
                }
            }
        }
        go_on(woken);
    }

    /// Has it been cancelled?
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.node.is_cancelled()
    }

    /// Waits until it is cancelled: an event. Dropping the wait has no effect.
    ///
    /// ```
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let token = tidings::CancellationToken::new();
    /// let child = token.child_token();
    /// token.cancel();
    /// child.cancelled().await;
    /// # });
    /// ```
    pub fn cancelled(&self) -> Cancelled<'_> {
        Cancelled {
            token: self,
            slot: Ticket::new(None),
        }
    }

    /// Runs a future until it is ready or the token is cancelled: `None` then, and the future is dropped. What a
    /// dropped future has half done is its own affair.
    ///
    /// If the token is cancelled before the first poll the future is not polled at all; if both are so later at
    /// one poll, the future's output comes.
    ///
    /// ```
    /// use std::future::pending;
    /// use tidings::CancellationToken;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let token = CancellationToken::new();
    /// assert_eq!(token.run_until_cancelled(async { 1 }).await, Some(1));
    /// let task = tidings::spawn({
    ///     let token = token.clone();
    ///     async move { token.run_until_cancelled(pending::<()>()).await }
    /// });
    /// token.cancel();
    /// assert_eq!(task.await.unwrap(), None);
    /// # });
    /// ```
    pub async fn run_until_cancelled<F: IntoFuture>(&self, future: F) -> Option<F::Output> {
        if self.is_cancelled() {
            return None;
        }
        let mut future = pin!(future.into_future());
        let mut cancelled = pin!(self.cancelled().into_future());
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => cancelled.as_mut().poll(cx).map(|()| None),
        })
        .await
    }

    /// A token that is cancelled when this one is, or by itself, without effect on this one.
    ///
    /// ```
    /// let token = tidings::CancellationToken::new();
    /// let child = token.child_token();
    /// child.cancel();
    /// assert!(!token.is_cancelled());
    /// token.cancel();
    /// assert!(token.child_token().is_cancelled());
    /// ```
    #[must_use]
    pub fn child_token(&self) -> Self {
        let key = self.node.source.locked(|state| {
            state.next += 1;
            state.next
        });
        let child = Node::new(Some((Arc::clone(&self.node), key)));
        let known = Arc::downgrade(&child);
        let late = self.node.source.locked(|state| {
            // Under the lock: a cancellation comes wholly before or wholly after.
            let late = self.node.is_cancelled();
            if !late {
                state.children.insert(key, known);
            }
            late
        });
        if late {
            drop(child.cancel());
        }
        Self { node: child }
    }

    /// A guard that cancels the token when it is dropped.
    ///
    /// ```
    /// let token = tidings::CancellationToken::new();
    /// drop(token.clone().drop_guard());
    /// assert!(token.is_cancelled());
    /// ```
    #[must_use = "dropping the guard cancels the token"]
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { token: Some(self) }
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (children, waiting) = self
            .node
            .source
            .locked(|state| (state.children.len(), state.waiting.len()));
        f.debug_struct("CancellationToken")
            .field("cancelled", &self.is_cancelled())
            .field("children", &children)
            .field("waiting", &waiting)
            .finish()
    }
}

/// Cancels a token when dropped, from [`CancellationToken::drop_guard`].
#[derive(Debug)]
#[must_use = "dropping the guard cancels the token"]
pub struct DropGuard {
    token: Option<CancellationToken>,
}

impl DropGuard {
    /// The token, which is not cancelled then.
    ///
    /// ```
    /// let guard = tidings::CancellationToken::new().drop_guard();
    /// assert!(!guard.disarm().is_cancelled());
    /// ```
    #[must_use]
    pub fn disarm(mut self) -> CancellationToken {
        self.token
            .take()
            .expect("only a drop takes the token, and it comes last")
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

/// The event of [`CancellationToken::cancelled`].
#[derive(Debug)]
#[must_use = "events do nothing unless awaited"]
pub struct Cancelled<'a> {
    token: &'a CancellationToken,
    slot: Ticket,
}

impl Wait for Cancelled<'_> {
    type State = State;
    type Output = ();
    const SIDE: Side = Side::Receiver;

    fn source(&self) -> &Source<State> {
        &self.token.node.source
    }
    fn ready(&mut self, _: &mut State) -> bool {
        self.token.is_cancelled()
    }
    fn done(&mut self) {}
}

wait_event!(impl['a] Cancelled<'a> => ());
