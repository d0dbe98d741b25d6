//! One reference to a channel, counted on its side: what the handles are made of.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use super::chan::Chan;
use super::source::Side;

/// One reference to a channel, counted on the side `SIDE`.
pub(crate) struct Ref<T, const SIDE: u8, X = ()> {
    chan: NonNull<Chan<T, X>>,
}

pub(crate) type SenderRef<T, X = ()> = Ref<T, { Side::Sender as u8 }, X>;
pub(crate) type ReceiverRef<T, X = ()> = Ref<T, { Side::Receiver as u8 }, X>;
pub(crate) type WeakRef<T, X = ()> = Ref<T, { Side::Other as u8 }, X>;

// SAFETY: a reference moves `T`s between threads, and the channel is locked.
unsafe impl<T: Send, X: Send + Sync, const SIDE: u8> Send for Ref<T, SIDE, X> {}
// SAFETY: as above.
unsafe impl<T: Send, X: Send + Sync, const SIDE: u8> Sync for Ref<T, SIDE, X> {}

impl<T, X, const SIDE: u8> Ref<T, SIDE, X> {
    const SIDE: Side = match SIDE {
        0 => Side::Sender,
        1 => Side::Receiver,
        _ => Side::Other,
    };

    /// # Safety
    /// The pointer stands for one reference of this side.
    pub(super) unsafe fn from_raw(chan: NonNull<Chan<T, X>>) -> Self {
        Self { chan }
    }

    /// The pointer, which from here on stands for the reference.
    pub(crate) fn into_raw(self) -> NonNull<Chan<T, X>> {
        ManuallyDrop::new(self).chan
    }

    /// A reference that does not keep the channel open.
    pub(crate) fn downgrade(&self) -> WeakRef<T, X> {
        self.add_ref(Side::Other);
        Ref { chan: self.chan }
    }
}

impl<T, X> WeakRef<T, X> {
    /// A reference of a side, if one is left.
    pub(crate) fn upgrade<const SIDE: u8>(&self) -> Option<Ref<T, SIDE, X>> {
        // Lazily: a reference that is made is also dropped.
        self.try_add_ref(Ref::<T, SIDE, X>::SIDE)
            .then(|| Ref { chan: self.chan })
    }
}

impl<T, X, const SIDE: u8> Deref for Ref<T, SIDE, X> {
    type Target = Chan<T, X>;
    #[inline(always)]
    fn deref(&self) -> &Chan<T, X> {
        // SAFETY: the reference is counted, which keeps it alive.
        unsafe { self.chan.as_ref() }
    }
}

impl<T, X, const SIDE: u8> Clone for Ref<T, SIDE, X> {
    #[inline]
    fn clone(&self) -> Self {
        self.add_ref(Self::SIDE);
        Self { chan: self.chan }
    }
}

impl<T, X, const SIDE: u8> Drop for Ref<T, SIDE, X> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is one reference of its side, and its end.
        unsafe { Chan::release(self.chan.as_ptr(), Self::SIDE) };
    }
}

impl<T, X, const SIDE: u8> PartialEq for Ref<T, SIDE, X> {
    /// The same channel?
    fn eq(&self, other: &Self) -> bool {
        self.chan == other.chan
    }
}

impl<T, X, const SIDE: u8> fmt::Debug for Ref<T, SIDE, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:p})", Self::SIDE, self.chan)
    }
}
