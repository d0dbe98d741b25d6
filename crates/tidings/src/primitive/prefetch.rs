//! Memory that is needed soon is asked for while there is something else to do: of what a thousand
//! sockets need, little is still in the cache when their turn comes, and one miss after the other is
//! waited for where several at once would take no longer. Used by the poller, and by links.

use std::mem::size_of_val;

/// Asks for the memory of a value. It changes nothing but the time that the next look takes.
#[cfg_attr(
    not(feature = "remote"),
    expect(unreachable_pub, reason = "it is re-exported for links alone")
)]
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    lines(std::ptr::from_ref(value).cast(), size_of_val(value));
}

/// As `prefetch`, of where a list begins, also if nothing is there yet.
#[cfg(feature = "remote")]
#[inline(always)]
pub fn prefetch_first<T>(of: &[T]) {
    line(of.as_ptr().cast());
}

/// As `prefetch`, of whatever lies there, if anything does.
#[inline(always)]
pub(crate) fn lines(from: *const u8, bytes: usize) {
    const LINE: usize = 64;
    // A step within each line but perhaps the last.
    for at in (0..bytes).step_by(LINE) {
        line(from.wrapping_add(at));
    }
    if bytes > 0 {
        line(from.wrapping_add(bytes - 1));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, of any address: what is not there is not asked for. SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn line(_: *const u8) {}
