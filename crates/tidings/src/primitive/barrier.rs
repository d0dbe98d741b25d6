//! The pair of barriers of a biased lock: `light` on the owner's side, `heavy` on the other.
//!
//! Where the system has `membarrier(2)` the light one is for the compiler only, and the heavy one makes every
//! thread of the process pass a full barrier (about 3 us); elsewhere, and in models, both are `SeqCst` fences.

pub(super) use imp::{free, heavy, is_asymmetric, light, prepare};

#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
mod imp {
    use super::super::atomic::{AtomicBool, Ordering, fence};
    use std::sync::Once;
    use std::sync::atomic::compiler_fence;

    /// Whether the kernel's barrier is there; if not, both sides use a real fence.
    static ASYMMETRIC: AtomicBool = AtomicBool::new(false);
    static PREPARE: Once = Once::new();

    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    const RETRIES: usize = 100;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes three integers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(in super::super) fn prepare() {
        PREPARE.call_once(|| {
            let there = membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
            ASYMMETRIC.store(there, Ordering::SeqCst);
        });
    }

    #[inline(always)]
    pub(in super::super) fn light() {
        if ASYMMETRIC.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// As `light`, where it is known to be free.
    #[inline(always)]
    pub(in super::super) fn free() {
        compiler_fence(Ordering::SeqCst);
    }

    pub(in super::super) fn heavy() {
        if !ASYMMETRIC.load(Ordering::Relaxed) {
            fence(Ordering::SeqCst);
        } else if !membarrier(PRIVATE_EXPEDITED) {
            is_gone();
        }
    }

    /// It was there and is refused now, to a process that has been confined since, say. Owners have only the
    /// compiler's barrier: without the kernel's nothing would keep two threads out of one place.
    #[cold]
    fn is_gone() {
        // The kernel may have had no memory for it.
        for _ in 0..RETRIES {
            std::thread::yield_now();
            if membarrier(PRIVATE_EXPEDITED) {
                return;
            }
        }
        let error = std::io::Error::last_os_error();
        eprintln!(
            "tidings: membarrier(2), which worked at the start, fails ({error}): the process ends here. \
             A process that gives up system calls must keep this one, or give it up before it uses tidings"
        );
        std::process::abort();
    }

    /// Is the light one free? Known once `prepare` has run.
    pub(in super::super) fn is_asymmetric() -> bool {
        ASYMMETRIC.load(Ordering::Relaxed)
    }
}

#[cfg(any(not(target_os = "linux"), loom, shuttle))]
mod imp {
    use super::super::atomic::{Ordering, fence};

    pub(in super::super) fn prepare() {}

    pub(in super::super) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(in super::super) fn free() {
        fence(Ordering::SeqCst);
    }

    pub(in super::super) fn heavy() {
        fence(Ordering::SeqCst);
    }

    /// In a model what is explored counts, not what it costs.
    pub(in super::super) fn is_asymmetric() -> bool {
        cfg!(any(loom, shuttle))
    }
}
