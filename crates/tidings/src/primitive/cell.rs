//! `UnsafeCell` with loom's `with` and `with_mut`, so that loom sees every access.

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// To loom freed memory is like any other: here it sees that all other accesses come before.
#[cfg(loom)]
pub(crate) fn freed<T>(cell: &UnsafeCell<T>) {
    if !std::thread::panicking() {
        cell.with_mut(|_| ());
    }
}

/// A cell whose accesses go through closures that get a raw pointer.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// Where the value is of a cell that may not be there yet.
    #[inline(always)]
    pub(crate) const fn raw_get(this: *const Self) -> *mut T {
        // `repr(transparent)`, as the other is.
        this.cast::<T>().cast_mut()
    }
}

#[cfg(not(loom))]
impl<T: ?Sized> UnsafeCell<T> {
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
