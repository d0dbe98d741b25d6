//! A value that is made once, by whoever needs it first.

use std::convert::Infallible;
use std::fmt;

use super::mutex::Mutex;
use crate::primitive::OnceLock;
use crate::{Either, Event, IVar};

/// A value that is made when it is first asked for, by a future, and shared from then on.
///
/// Who asks while it is being made waits. If the making fails, panics, or is dropped, the next who waits
/// makes it. For a value that somebody else sends, [`IVar`](crate::IVar) is a cell whose read is an event.
///
/// ```
/// use tidings::sync::OnceCell;
/// static ADDRESS: OnceCell<String> = OnceCell::new();
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let tasks = [(); 3].map(|()| {
///     tidings::spawn(async { ADDRESS.get_or_init(|| async { "found once".to_owned() }).await })
/// });
/// for task in tasks {
///     assert_eq!(task.await.unwrap(), "found once");
/// }
/// # });
/// ```
pub struct OnceCell<T> {
    value: OnceLock<T>,
    making: OnceLock<Making>,
}

struct Making {
    /// Held by who makes the value.
    turn: Mutex<()>,
    /// The value is there: those who wait for their turn need it no more, and keep it from nobody.
    made: IVar<()>,
}

impl<T> OnceCell<T> {
    /// An empty cell.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            value: OnceLock::new(),
            making: OnceLock::new(),
        }
    }

    /// The value, if it is there. Does not wait for one that is being made.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, if it is there, to change it: the borrow says that nobody else reads it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// The value, taken out, if it is there.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Puts a value in, without waiting. What somebody is making for the cell is dropped when it is done.
    ///
    /// # Errors
    /// With the value, if there is one already.
    ///
    /// ```
    /// let cell = tidings::sync::OnceCell::new();
    /// assert_eq!((cell.set(1), cell.set(2)), (Ok(()), Err(2)));
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.tell();
        Ok(())
    }

    /// The value is there.
    fn tell(&self) {
        if let Some(making) = self.making.get() {
            let _ = making.made.fill(());
        }
    }

    /// The value; if there is none, makes it, or waits while somebody else does.
    ///
    /// A wait that is dropped changes nothing; if it was the one that made the value, the next starts anew.
    /// Who asks for the cell's value while making it waits for itself.
    ///
    /// ```
    /// use tidings::sync::OnceCell;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.get_or_init(|| async { 1 }).await, &1);
    /// assert_eq!(cell.get_or_init(|| async { 2 }).await, &1);
    /// # });
    /// ```
    pub async fn get_or_init<F: Future<Output = T>>(&self, init: impl FnOnce() -> F) -> &T {
        let made = self.get_or_try_init(|| async { Ok::<_, Infallible>(init().await) });
        let Ok(value) = made.await;
        value
    }

    /// As [`get_or_init`](Self::get_or_init), of what may fail: the next who asks tries again.
    ///
    /// # Errors
    /// What `init` says.
    ///
    /// ```
    /// use tidings::sync::OnceCell;
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.get_or_try_init(|| async { Err("no network") }).await, Err("no network"));
    /// assert_eq!(cell.get_or_try_init(|| async { Ok::<_, ()>(2) }).await, Ok(&2));
    /// # });
    /// ```
    pub async fn get_or_try_init<E, F: Future<Output = Result<T, E>>>(
        &self,
        init: impl FnOnce() -> F,
    ) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let Making { turn, made } = self.making.get_or_init(|| Making {
            turn: Mutex::new(()),
            made: IVar::new(),
        });
        let turn = match turn.lock().either(made.read()).await {
            Either::Left(turn, _) => Some(turn),
            Either::Right(_, _) => None,
        };
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let value = init().await?;
        let value = self.value.get_or_init(|| value);
        self.tell();
        drop(turn);
        Ok(value)
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        let cell = Self::new();
        cell.value.get_or_init(|| value);
        cell
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceCell").field(&self.get()).finish()
    }
}
