//! A process that gives up system calls while it runs.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use tidings::{Runtime, unbounded, yield_now};

use crate::process::child;

/// `membarrier(2)`, as the table of `x86_64` has it.
#[cfg(target_arch = "x86_64")]
const MEMBARRIER: (i64, TargetArch) = (324, TargetArch::x86_64);
#[cfg(target_arch = "aarch64")]
const MEMBARRIER: (i64, TargetArch) = (283, TargetArch::aarch64);

/// From here on this thread's calls of `membarrier` fail.
fn give_up_membarrier() {
    let (call, arch) = MEMBARRIER;
    let filter = SeccompFilter::new(
        BTreeMap::from([(call, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(1),
        arch,
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

#[test]
fn a_process_whose_membarrier_is_taken_away_ends_and_says_why() {
    let Some(mut child) = child() else {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (tx, rx) = unbounded();
        // The channel's lock leans towards the worker.
        let busy = runtime.spawn({
            let tx = tx.clone();
            async move {
                for n in 0..10_000 {
                    tx.try_send(n).unwrap();
                    assert_eq!(rx.recv().await, Ok(n));
                    yield_now().await;
                }
                rx
            }
        });
        let rx = runtime.block_on(busy).unwrap();
        give_up_membarrier();
        tx.try_send(0).unwrap();
        assert_eq!(rx.try_recv(), Ok(0));
        return;
    };
    let ended = child.output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    let aborted = ended.status.signal() == Some(6);
    let why = told.contains("tidings: membarrier(2)");
    assert!(aborted && why, "{}: {told}", ended.status);
}
