//! A process that gives up system calls while it runs.

use std::os::unix::process::ExitStatusExt;
use std::panic::catch_unwind;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use tidings::{Runtime, unbounded, yield_now};

use crate::both::watchdog;
use crate::process::child;

/// The calls' numbers, as the table of the architecture has them: `membarrier(2)`, and those that start a thread.
#[cfg(target_arch = "x86_64")]
const CALLS: (i64, [i64; 2], TargetArch) = (324, [56, 435], TargetArch::x86_64);
#[cfg(target_arch = "aarch64")]
const CALLS: (i64, [i64; 2], TargetArch) = (283, [220, 435], TargetArch::aarch64);

/// From here on these calls of this thread fail.
fn give_up(calls: &[i64]) {
    let filter = SeccompFilter::new(
        calls.iter().map(|&call| (call, Vec::new())).collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(1),
        CALLS.2,
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
        give_up(&[CALLS.0]);
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

#[test]
fn blocking_work_for_which_there_is_no_thread_is_refused_at_once() {
    let Some(mut child) = child() else {
        let rt = Runtime::builder().workers(1).build().unwrap();
        give_up(&CALLS.1);
        rt.block_on(async {
            let tried = catch_unwind(|| tidings::spawn_blocking(|| 1));
            let said = *tried.unwrap_err().downcast::<String>().unwrap();
            assert!(
                said.contains("starts no thread for blocking work"),
                "{said}"
            );
            assert_eq!(tidings::spawn(async { 2 }).await.unwrap(), 2);
        });
        return;
    };
    let _watchdog = watchdog();
    let ended = child.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
}
