//! The standard library's locks as `ThreadSanitizer` can see them (`cargo x tsan`).
//!
//! The nightly toolchain comes without the sources of std, so std is not built for the sanitizer: of
//! its contended locks it sees neither who unlocks nor who locks next, and calls all that they guard a
//! race. Here each lock has an atomic word of ours beside it, released before std unlocks and acquired
//! after std has locked. A fence, which the sanitizer knows nothing of, is an atomic operation on one
//! word: it orders more than a fence does, so that a race that only a fence would allow is not seen
//! (the models see it).

use std::ops::{Deref, DerefMut};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

use super::atomic::{AtomicU32, Ordering};

pub(crate) fn fence(_: Ordering) {
    static ALL: AtomicU32 = AtomicU32::new(0);
    ALL.fetch_add(1, Ordering::SeqCst);
}

/// What one thread has done before it lets go, the next sees once it holds.
#[derive(Debug, Default)]
struct Edge(AtomicU32);

impl Edge {
    const fn new() -> Self {
        Self(AtomicU32::new(0))
    }
    fn hold(&self) {
        self.0.load(Ordering::Acquire);
    }
    fn let_go(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    edge: Edge,
    inner: sync::Mutex<T>,
}

#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    edge: &'a Edge,
    /// Gone while it waits for a condition.
    inner: Option<sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            edge: Edge::new(),
            inner: sync::Mutex::new(value),
        }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(MutexGuard::new(&self.edge, inner))
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(MutexGuard::new(&self.edge, inner)),
            Err(TryLockError::Poisoned(poisoned)) => {
                Ok(MutexGuard::new(&self.edge, poisoned.into_inner()))
            }
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        self.edge.hold();
        self.inner.into_inner()
    }
}

impl<'a, T> MutexGuard<'a, T> {
    fn new(edge: &'a Edge, inner: sync::MutexGuard<'a, T>) -> Self {
        edge.hold();
        let inner = Some(inner);
        Self { edge, inner }
    }

    fn let_go(&mut self) -> sync::MutexGuard<'a, T> {
        self.edge.let_go();
        self.inner.take().expect("it is held")
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.inner.as_ref().expect("it is held")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("it is held")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.inner.is_some() {
            drop(self.let_go());
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar(sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let inner = self.0.wait(guard.let_go());
        let inner = inner.unwrap_or_else(PoisonError::into_inner);
        Ok(MutexGuard::new(guard.edge, inner))
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, sync::WaitTimeoutResult)> {
        let back = self.0.wait_timeout(guard.let_go(), timeout);
        let (inner, timed_out) = back.unwrap_or_else(PoisonError::into_inner);
        Ok((MutexGuard::new(guard.edge, inner), timed_out))
    }

    pub(crate) fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let end = std::time::Instant::now() + timeout;
        while condition(&mut guard) {
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return Ok((guard, true));
            }
            guard = self
                .wait_timeout(guard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Ok((guard, false))
    }
}

#[derive(Debug, Default)]
pub(crate) struct OnceLock<T> {
    /// 1 once the value is there.
    there: AtomicU32,
    inner: sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub(crate) const fn new() -> Self {
        Self {
            there: AtomicU32::new(0),
            inner: sync::OnceLock::new(),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        let there = self.there.load(Ordering::Acquire) == 1;
        there.then(|| self.inner.get()).flatten()
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("once"));
        value.map_or(Ok(()), Err)
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.inner.get_mut()
    }

    pub(crate) fn into_inner(self) -> Option<T> {
        self.inner.into_inner()
    }

    pub(crate) fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        let value = self.inner.get_or_init(|| {
            let value = f();
            self.there.store(1, Ordering::Release);
            value
        });
        self.there.load(Ordering::Acquire);
        value
    }
}
