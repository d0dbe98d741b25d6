//! Tasks in all states, on the seeded scheduler: spawned, woken, aborted, detached, joined,
//! panicking, shut down. Each future and each output is dropped once, and joiners hear the truth.
#![no_main]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use tidings::channel::oneshot;
use tidings::sched::Seeded;
use tidings::{AbortHandle, JoinHandle, Runtime, yield_now};

/// Counts what exists.
#[derive(Clone, Default)]
struct Ledger(Arc<AtomicUsize>);

impl Ledger {
    fn piece(&self) -> Piece {
        self.0.fetch_add(1, Ordering::SeqCst);
        Piece(self.clone())
    }
}

struct Piece(Ledger);

impl Drop for Piece {
    fn drop(&mut self) {
        let before = self.0.0.fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "dropped twice");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Ends,
    Panics,
}

struct Spawned {
    task: JoinHandle<(usize, Piece)>,
    gate: Option<oneshot::Sender<()>>,
    fate: Fate,
    n: usize,
    aborted: bool,
}

/// `turns` turns, then perhaps a wait for the gate, then an output or a panic.
async fn work(
    turns: u8,
    gate: Option<oneshot::Receiver<()>>,
    fate: Fate,
    n: usize,
    ledger: Ledger,
) -> (usize, Piece) {
    let _here = ledger.piece();
    for _ in 0..turns {
        yield_now().await;
    }
    if let Some(gate) = gate {
        let _ = gate.await;
    }
    if fate == Fate::Panics {
        // Without the hook, which ends the fuzzer.
        std::panic::resume_unwind(Box::new(ledger.piece()));
    }
    (n, ledger.piece())
}

/// What a joiner heard is what happened.
fn judge(spawned: &Spawned, result: Result<(usize, Piece), tidings::JoinError>) {
    match result {
        Ok((n, _piece)) => {
            assert_eq!(n, spawned.n, "somebody else's output");
            assert!(spawned.fate == Fate::Ends, "a panic was heard as an output");
        }
        Err(error) if error.is_panic() => {
            assert!(
                spawned.fate == Fate::Panics,
                "an output was heard as a panic"
            );
        }
        Err(_) => assert!(spawned.aborted, "cancelled, and nobody aborted it"),
    }
}

async fn run(program: Vec<u8>, ledger: Ledger) {
    let mut tasks: Vec<Spawned> = Vec::new();
    let mut handles: Vec<(usize, AbortHandle)> = Vec::new();
    for (n, op) in program.chunks_exact(2).enumerate() {
        let index = usize::from(op[1]).checked_rem(tasks.len()).unwrap_or(0);
        match op[0] % 9 {
            0..3 => {
                let fate = if op[1] & 1 == 0 {
                    Fate::Ends
                } else {
                    Fate::Panics
                };
                let (gate, wait) = (op[1] & 2 == 0).then(oneshot).unzip();
                let task = tidings::spawn(work(op[1] >> 5, wait, fate, n, ledger.clone()));
                let aborted = false;
                tasks.push(Spawned {
                    task,
                    gate,
                    fate,
                    n,
                    aborted,
                });
            }
            3 if !tasks.is_empty() => {
                tasks[index].aborted = true;
                tasks[index].task.abort();
            }
            4 if !tasks.is_empty() => {
                // Detached; its gate closes with it, which wakes it.
                drop(tasks.swap_remove(index));
            }
            5 if !tasks.is_empty() => {
                if let Some(gate) = tasks[index].gate.take() {
                    let _ = gate.send(());
                }
            }
            6 if !tasks.is_empty() => {
                // Looked at by hand: over or not.
                let mut cx = Context::from_waker(Waker::noop());
                if let Poll::Ready(result) = Pin::new(&mut tasks[index].task).poll(&mut cx) {
                    judge(&tasks[index], result);
                    tasks.swap_remove(index);
                }
            }
            7 if !tasks.is_empty() => {
                handles.push((tasks[index].n, tasks[index].task.abort_handle()));
            }
            8 if !handles.is_empty() => {
                // An abort handle outlives its task, and may be of one that is gone.
                let at = usize::from(op[1]) % handles.len();
                let (n, handle) = handles.swap_remove(at);
                handle.abort();
                for task in tasks.iter_mut().filter(|task| task.n == n) {
                    task.aborted = true;
                }
            }
            _ => yield_now().await,
        }
    }
    // Half are joined to their end, the others are left to the shutdown.
    let left = tasks.len() / 2;
    for mut spawned in tasks.drain(left..) {
        spawned.gate = None;
        let result = (&mut spawned.task).await;
        judge(&spawned, result);
    }
}

libfuzzer_sys::fuzz_target!(|program: &[u8]| {
    let seed = u64::from(program.first().copied().unwrap_or(0));
    let ledger = Ledger::default();
    let rt = Runtime::builder().seam(Seeded::new(seed)).build();
    let rt = rt.expect("a runtime");
    rt.block_on(run(program.to_vec(), ledger.clone()));
    drop(rt);
    let left = ledger.0.load(Ordering::SeqCst);
    assert_eq!(left, 0, "futures, outputs or panics leak");
});
