//! A value on cache lines of its own.

/// Keeps what one thread writes often away from what another reads often.
///
/// 128 bytes: x86 prefetches lines in pairs, and some arm64 cores have 128-byte lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

impl<T> std::ops::Deref for CachePadded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
