//! A channel takes and gives what a plain queue with its bound does: random steps of one task, each compared. Sends
//! that go straight behind others, where an earlier one has looked at the channel for them, are among them.

use std::collections::VecDeque;
use std::task::Poll;

use proptest::prelude::*;

use crate::both::{run, watchdog};
use crate::hands::{pinned, poll};
use tidings::channel::Permit;
use tidings::{Receiver, RecvError, Runtime, Sender, TrySendError, bounded, unbounded};

/// What one may do; how often in a row.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends that are awaited, and those that are not.
    Send(usize),
    TrySend(usize),
    Recv(usize),
    RecvMany(usize),
    Reserve,
    UsePermit,
    DropPermit,
    /// So many come while a receive waits, which is dropped before it looks.
    ComesBack(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1_usize..40).prop_map(Step::Send),
        4 => (1_usize..40).prop_map(Step::TrySend),
        4 => (1_usize..40).prop_map(Step::Recv),
        2 => (1_usize..60).prop_map(Step::RecvMany),
        2 => Just(Step::Reserve),
        1 => Just(Step::UsePermit),
        1 => Just(Step::DropPermit),
        1 => (1_usize..6).prop_map(Step::ComesBack),
    ];
    prop::collection::vec(step, 1..40)
}

struct Both<'a> {
    tx: &'a Sender<u64>,
    rx: &'a Receiver<u64>,
    plain: VecDeque<u64>,
    bound: usize,
    permits: Vec<Permit<&'a Sender<u64>>>,
    next: u64,
}

impl Both<'_> {
    /// The next value, and whether the plain queue takes it, which has it then.
    fn value(&mut self) -> (u64, bool) {
        self.next += 1;
        let fits = self.plain.len() + self.permits.len() < self.bound;
        if fits {
            self.plain.push_back(self.next);
        }
        (self.next, fits)
    }

    fn does(&mut self, step: Step) {
        match step {
            Step::Send(n) => (0..n).for_each(|_| {
                let (value, fits) = self.value();
                let sent = poll(pinned(self.tx.send(value)).as_mut());
                assert_eq!(sent.is_ready(), fits, "{sent:?}");
            }),
            Step::TrySend(n) => (0..n).for_each(|_| {
                let (value, fits) = self.value();
                let full = Err(TrySendError::Full(value));
                assert_eq!(self.tx.try_send(value), if fits { Ok(()) } else { full });
            }),
            Step::Recv(n) => (0..n).for_each(|_| {
                let got = poll(pinned(self.rx.recv()).as_mut());
                let first = self.plain.pop_front();
                assert_eq!(
                    got,
                    first.map_or(Poll::Pending, |value| Poll::Ready(Ok(value)))
                );
            }),
            Step::RecvMany(n) => {
                let mut got = Vec::new();
                self.rx.try_recv_many(&mut got, n);
                let n = n.min(self.plain.len());
                assert!(self.plain.drain(..n).eq(got));
            }
            Step::Reserve => {
                let fits = self.plain.len() + self.permits.len() < self.bound;
                match poll(pinned(self.tx.reserve()).as_mut()) {
                    Poll::Ready(permit) => self.permits.push(permit.unwrap()),
                    Poll::Pending => assert!(!fits),
                }
            }
            Step::UsePermit => {
                if let Some(permit) = self.permits.pop() {
                    self.next += 1;
                    self.plain.push_back(self.next);
                    permit.send(self.next).unwrap();
                }
            }
            Step::DropPermit => drop(self.permits.pop()),
            Step::ComesBack(n) => {
                if self.plain.is_empty() {
                    let mut waits = pinned(self.rx.recv());
                    assert!(poll(waits.as_mut()).is_pending());
                    self.next += 1;
                    let first = self.next;
                    self.tx.try_send(first).unwrap();
                    self.does(Step::Send(n));
                    drop(waits);
                    self.plain.push_front(first);
                }
            }
        }
        assert_eq!(self.tx.len(), self.plain.len());
    }

    /// Closed, it takes nothing more, and gives what is left.
    fn closes(mut self) {
        self.permits.clear();
        assert!(self.tx.close());
        assert_eq!(self.tx.try_send(0), Err(TrySendError::Closed(0)));
        let sent = poll(pinned(self.tx.send(0)).as_mut());
        assert!(matches!(sent, Poll::Ready(Err(_))));
        for value in self.plain {
            assert_eq!(self.rx.try_recv(), Ok(value));
        }
        let end = poll(pinned(self.rx.recv()).as_mut());
        assert_eq!(end, Poll::Ready(Err(RecvError)));
    }
}

fn compare(steps: &[Step], bound: Option<usize>) {
    let (tx, rx) = bound.map_or_else(unbounded, bounded);
    let mut both = Both {
        tx: &tx,
        rx: &rx,
        plain: VecDeque::new(),
        bound: bound.unwrap_or(usize::MAX),
        permits: Vec::new(),
        next: 0,
    };
    steps.iter().for_each(|&step| both.does(step));
    both.closes();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_channel_takes_and_gives_what_a_plain_queue_does(steps in steps(), bound in 1_usize..50) {
        let _watchdog = watchdog();
        compare(&steps, Some(bound));
        compare(&steps, None);
    }
}

#[test]
fn so_does_one_whose_lock_leans_towards_a_worker() {
    let _watchdog = watchdog();
    // All is one poll, in which no operation is to be refused.
    let builder = Runtime::builder().workers(1);
    let rt = builder.budget(u32::MAX).build().unwrap();
    run(&rt, async {
        let all = [
            Step::Send(25),
            Step::Reserve,
            Step::TrySend(9),
            Step::Recv(30),
        ];
        for bound in 1..50 {
            compare(&all.repeat(9), Some(bound));
        }
    });
}
