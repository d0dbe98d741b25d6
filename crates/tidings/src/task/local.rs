//! Values that belong to a task: [`task_local!`](crate::task_local).

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use pin_project_lite::pin_project;

use super::waker::finally;

/// Declares task-local values, as [`thread_local!`] does thread-local ones.
///
/// A value exists while a future runs inside [`LocalKey::scope`], on whatever thread the future
/// is polled, and on any executor. A spawned task does not inherit it: give it a scope of its own.
///
/// ```
/// tidings::task_local! {
///     static REQUEST: u64;
/// }
///
/// async fn log(line: &str) -> String {
///     REQUEST.with(|id| format!("[{id}] {line}"))
/// }
///
/// # tidings::Runtime::new().unwrap().block_on(async {
/// assert_eq!(REQUEST.scope(7, log("hello")).await, "[7] hello");
/// assert!(REQUEST.try_with(|_| ()).is_err());
/// # });
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $vis static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static PLACE: ::std::cell::RefCell<::std::option::Option<$type>> =
                    const { ::std::cell::RefCell::new(::std::option::Option::None) };
            }
            $crate::task::LocalKey::__new(PLACE)
        };
        $($crate::task_local!($($rest)*);)?
    };
}

/// A task-local value, declared by [`task_local!`](crate::task_local).
pub struct LocalKey<T: 'static> {
    /// Holds the value while a scope is being polled on this thread.
    place: thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(place: thread::LocalKey<RefCell<Option<T>>>) -> Self {
        Self { place }
    }

    /// Runs `future` with `value` in place; inside, the value of an outer scope is hidden.
    ///
    /// Dropping the future drops it with the value still in place, then the value.
    ///
    /// ```
    /// tidings::task_local! { static DEPTH: u8; }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// DEPTH.scope(1, async {
    ///     assert_eq!(DEPTH.scope(2, async { DEPTH.get() }).await, 2);
    ///     assert_eq!(DEPTH.get(), 1);
    /// }).await;
    /// # });
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> Scoped<T, F> {
        Scoped {
            key: self,
            value: Some(value),
            future: Some(future),
        }
    }

    /// Runs `f` with `value` in place.
    ///
    /// ```
    /// tidings::task_local! { static DEPTH: u8; }
    /// assert_eq!(DEPTH.sync_scope(3, || DEPTH.get()), 3);
    /// ```
    pub fn sync_scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        self.enter(&mut Some(value), f)
    }

    /// Gives `f` the value. `f` must not enter a scope of the same key.
    ///
    /// # Panics
    /// Outside of every scope of this key.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Gives `f` the value, if there is one.
    ///
    /// # Errors
    /// Outside of every scope of this key.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, NoTaskLocal> {
        let shown = self.place.try_with(|place| {
            let value = place.borrow();
            value.as_ref().map(f)
        });
        shown.ok().flatten().ok_or(NoTaskLocal(()))
    }

    /// A copy of the value.
    ///
    /// # Panics
    /// Outside of every scope of this key.
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Runs `f` with the value exchanged for what is in `value`, and exchanges it back, also if
    /// `f` panics.
    fn enter<R>(&'static self, value: &mut Option<T>, f: impl FnOnce() -> R) -> R {
        self.exchange(value);
        finally(f, || self.exchange(value))
    }

    fn exchange(&'static self, value: &mut Option<T>) {
        // The place is gone only while its thread ends; then nobody can look into it.
        let _ = self
            .place
            .try_with(|place| std::mem::swap(&mut *place.borrow_mut(), value));
    }
}

impl<T> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// There is no value: nobody has entered a scope of the key here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTaskLocal(());

impl fmt::Display for NoTaskLocal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a task-local value is read outside of its scope")
    }
}

impl std::error::Error for NoTaskLocal {}

pin_project! {
    /// The future of [`LocalKey::scope`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct Scoped<T: 'static, F> {
        key: &'static LocalKey<T>,
        // Here while the future is not being polled.
        value: Option<T>,
        // `None` once it has ended, so that it can be dropped inside its scope.
        #[pin]
        future: Option<F>,
    }

    impl<T: 'static, F> PinnedDrop for Scoped<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                this.key.enter(this.value, || this.future.set(None));
            }
        }
    }
}

impl<T: 'static, F: Future> Future for Scoped<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        this.key.enter(this.value, || {
            let Some(future) = this.future.as_mut().as_pin_mut() else {
                panic!("a scope is polled after it was ready");
            };
            let polled = future.poll(cx);
            if polled.is_ready() {
                this.future.set(None);
            }
            polled
        })
    }
}

impl<T: fmt::Debug, F> fmt::Debug for Scoped<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped")
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}
