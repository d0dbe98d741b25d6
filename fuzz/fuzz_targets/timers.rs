//! Timers in virtual time: armed, polled with other wakers, dropped, waited for. None is early,
//! and none whose time has come is forgotten.
#![no_main]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tidings::Runtime;
use tidings::sched::Seeded;
use tidings::time::{Instant, sleep};
use tidings::{after, at};

/// A timer may be late by its granularity.
const GRANULARITY: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Timer {
    due: Instant,
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    wakes: Arc<Wakes>,
}

impl Timer {
    fn new(due: Instant, relative: Option<Duration>) -> Self {
        let future: Pin<Box<dyn Future<Output = ()> + Send>> = match relative {
            Some(duration) => Box::pin(after(duration).into_future()),
            None => Box::pin(at(due).into_future()),
        };
        let wakes = Arc::default();
        Self { due, future, wakes }
    }

    /// With a waker of its own, so that the last one must be woken.
    fn is_over(&mut self) -> bool {
        self.wakes = Arc::default();
        let waker = Waker::from(Arc::clone(&self.wakes));
        let over = self.future.as_mut().poll(&mut Context::from_waker(&waker));
        let over = over == Poll::Ready(());
        assert!(!over || Instant::now() >= self.due, "a timer is early");
        over
    }
}

/// From nanoseconds to days, as the second byte says.
fn duration(bytes: [u8; 2]) -> Duration {
    let nanos = u64::from(bytes[0]) << (bytes[1] % 40);
    Duration::from_nanos(nanos)
}

async fn run(program: Vec<u8>) {
    let mut timers: Vec<Timer> = Vec::new();
    for op in program.chunks_exact(3) {
        let (kind, bytes) = (op[0], [op[1], op[2]]);
        let index = usize::from(op[1]).checked_rem(timers.len()).unwrap_or(0);
        match kind % 8 {
            0..3 => {
                let due = Instant::now() + duration(bytes);
                let relative = (kind % 8 > 0).then(|| duration(bytes));
                let mut timer = Timer::new(due, relative);
                // Some are never polled, and so never armed.
                if kind < 240 && !timer.is_over() {
                    timers.push(timer);
                }
            }
            3 if !timers.is_empty() => drop(timers.swap_remove(index)),
            4 | 5 if !timers.is_empty() => {
                if timers[index].is_over() {
                    timers.swap_remove(index);
                }
            }
            6 => sleep(duration(bytes)).await,
            _ => tidings::yield_now().await,
        }
        let now = Instant::now();
        for timer in &timers {
            // Only when nothing could run has time moved on, and then timers have fired.
            let forgotten =
                timer.due + GRANULARITY < now && timer.wakes.0.load(Ordering::SeqCst) == 0;
            assert!(!forgotten, "due at {:?}, not woken at {now:?}", timer.due);
        }
    }
    // In the order of their deadlines, whatever is still armed comes due.
    timers.sort_by_key(|timer| timer.due);
    for timer in timers {
        timer.future.await;
        assert!(Instant::now() >= timer.due, "a timer is early");
    }
}

libfuzzer_sys::fuzz_target!(|program: &[u8]| {
    let seed = u64::from(program.first().copied().unwrap_or(0));
    let rt = Runtime::builder().seam(Seeded::new(seed)).build();
    rt.expect("a runtime").block_on(run(program.to_vec()));
});
