//! Pinned slices, which std cannot take apart yet.

use std::pin::Pin;

/// The elements of a pinned slice.
#[inline]
pub(super) fn each<T>(slice: Pin<&mut [T]>) -> impl DoubleEndedIterator<Item = Pin<&mut T>> {
    // SAFETY: the elements are given out pinned only, so nobody moves them.
    let elements = unsafe { slice.get_unchecked_mut() };
    elements
        .iter_mut()
        // SAFETY: an element of a pinned slice stays where it is as long as the slice does.
        .map(|element| unsafe { Pin::new_unchecked(element) })
}

/// One element of a pinned slice.
#[inline]
pub(super) fn at<T>(slice: Pin<&mut [T]>, index: usize) -> Pin<&mut T> {
    // SAFETY: an element of a pinned slice stays where it is as long as the slice does.
    unsafe { slice.map_unchecked_mut(|all| &mut all[index]) }
}
