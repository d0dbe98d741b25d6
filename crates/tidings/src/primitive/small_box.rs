//! A trait object that takes no memory of its own if what it is made of is small: two words lie in place, what is
//! larger in a box. A link has one for each call under way, at either end (`remote/`), made of a half of the cell of
//! its answer.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

/// Where the value lies, or the pointer to it.
type Place = [MaybeUninit<*mut ()>; 2];

/// See the module.
pub struct SmallBox<D: ?Sized> {
    /// A cell, as the value may have cells, which change while it is only looked at.
    place: UnsafeCell<Place>,
    /// The value, by where its place is.
    value: fn(*mut Place) -> *mut D,
}

// SAFETY: it is a `D`. Its types are made by `small_box!` alone, of types that are as `D` says.
unsafe impl<D: ?Sized + Send> Send for SmallBox<D> {}

impl<D: ?Sized> SmallBox<D> {
    /// # Safety
    /// `in_place` and `boxed` do nothing but make a `D` of it.
    #[inline(always)]
    pub(crate) unsafe fn of<T>(
        value: T,
        in_place: fn(*mut Place) -> *mut D,
        boxed: fn(*mut Place) -> *mut D,
    ) -> Self {
        let mut place = [MaybeUninit::uninit(); 2];
        if size_of::<T>() <= size_of::<Place>() && align_of::<T>() <= align_of::<Place>() {
            // SAFETY: it fits.
            unsafe { place.as_mut_ptr().cast::<T>().write(value) };
            return Self::at(place, in_place);
        }
        place[0].write(Box::into_raw(Box::new(value)).cast());
        Self::at(place, boxed)
    }

    #[inline(always)]
    fn at(place: Place, value: fn(*mut Place) -> *mut D) -> Self {
        let place = UnsafeCell::new(place);
        Self { place, value }
    }
}

impl<D: ?Sized> Deref for SmallBox<D> {
    type Target = D;
    #[inline(always)]
    fn deref(&self) -> &D {
        // SAFETY: the value lives as long as this, and is only looked at.
        unsafe { &*(self.value)(self.place.get()) }
    }
}

impl<D: ?Sized> DerefMut for SmallBox<D> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut D {
        // SAFETY: the value lives as long as this, which is borrowed for as long as it.
        unsafe { &mut *(self.value)(self.place.get()) }
    }
}

impl<D: ?Sized> Drop for SmallBox<D> {
    #[inline]
    fn drop(&mut self) {
        let place = self.place.get();
        let value = (self.value)(place);
        if value.addr() == place.addr() {
            // SAFETY: it lies in place, and nobody uses it any more.
            unsafe { value.drop_in_place() };
        } else {
            // SAFETY: it came out of a box, and nobody uses it any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

impl<D: ?Sized + fmt::Debug> fmt::Debug for SmallBox<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        D::fmt(self, f)
    }
}

/// Makes `SmallBox<dyn $trait>` of whatever implements it.
macro_rules! small_box {
    ($trait:ident) => {
        impl $crate::primitive::small_box::SmallBox<dyn $trait> {
            /// Of what does it.
            #[inline(always)]
            pub fn new<T: $trait + 'static>(value: T) -> Self {
                // SAFETY: what is made of the place is the value in it, and the value that the pointer there points to.
                unsafe {
                    Self::of(
                        value,
                        |place| place.cast::<T>(),
                        |place| place.cast::<*mut T>().read(),
                    )
                }
            }
        }
    };
}
pub(crate) use small_box;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::fmt;

    use super::SmallBox;
    use crate::primitive::Arc;

    trait Counts: Send {
        fn count(&mut self) -> usize;
        fn last(&self) -> usize;
    }

    small_box!(Counts);

    impl fmt::Debug for dyn Counts {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "Counts({})", self.last())
        }
    }

    /// As large as what it has beside.
    #[expect(
        dead_code,
        reason = "the rest is there to be dropped, and to take room"
    )]
    struct Counter<T>(u32, Arc<()>, T);

    impl<T: Send> Counts for Counter<T> {
        fn count(&mut self) -> usize {
            self.0 += 1;
            self.last()
        }
        fn last(&self) -> usize {
            self.0 as usize
        }
    }

    fn lives_once<T: Send + 'static>(beside: T, words: usize) {
        assert_eq!(size_of::<Counter<T>>(), words * size_of::<usize>());
        let alive = Arc::new(());
        let mut counter = SmallBox::<dyn Counts>::new(Counter(0, alive.clone(), beside));
        assert_eq!(counter.count(), 1);
        // It is moved.
        let mut counter = Box::new(counter);
        assert_eq!(counter.count(), 2);
        assert_eq!(
            (counter.last(), format!("{counter:?}")),
            (2, "Counts(2)".to_owned())
        );
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(counter);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn what_is_small_and_what_is_large_lives_until_it_is_dropped_and_is_dropped_once() {
        lives_once((), 2);
        lives_once([7_usize; 2], 4);
    }

    #[test]
    fn what_has_no_size_and_what_has_a_wide_alignment_has_its_place() {
        #[repr(align(64))]
        struct Wide;
        struct Nothing;
        impl Counts for Wide {
            fn count(&mut self) -> usize {
                self.last()
            }
            fn last(&self) -> usize {
                std::ptr::from_ref(self).addr() % 64
            }
        }
        impl Counts for Nothing {
            fn count(&mut self) -> usize {
                3
            }
            fn last(&self) -> usize {
                4
            }
        }
        let mut wide = SmallBox::<dyn Counts>::new(Wide);
        assert_eq!((wide.count(), wide.last()), (0, 0));
        let mut nothing = SmallBox::<dyn Counts>::new(Nothing);
        assert_eq!((nothing.count(), nothing.last()), (3, 4));
        assert_eq!(
            size_of::<Option<SmallBox<dyn Counts>>>(),
            3 * size_of::<usize>()
        );
    }
}
