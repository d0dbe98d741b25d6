//! What all guards of locks do, borrowed and owned: they hand out the value for as long as they are there.

/// Makes guards of structs whose field `$lock` has a lock with a `value`; with `mut`, of one that nobody shares.
macro_rules! guard {
    (mut $lock:ident: $([$($generics:tt)*] $type:ty),+) => {
        crate::sync::guard::guard!($lock: $([$($generics)*] $type),+);
        $(
            impl<$($generics)*> std::ops::DerefMut for $type {
                fn deref_mut(&mut self) -> &mut T {
                    // SAFETY: who may write has all permits, so there is no other guard.
                    self.$lock.value.with_mut(|value| unsafe { &mut *value })
                }
            }
        )+
    };
    ($lock:ident: $([$($generics:tt)*] $type:ty),+) => {$(
        impl<$($generics)*> std::ops::Deref for $type {
            type Target = T;
            fn deref(&self) -> &T {
                // SAFETY: the guard has a permit, so nobody else has all of them and may write.
                self.$lock.value.with(|value| unsafe { &*value })
            }
        }

        impl<$($generics)*> std::fmt::Debug for $type
        where
            T: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    )+};
}
pub(super) use guard;
