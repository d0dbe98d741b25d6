//! The same program on several implementations, one operation after the other: tidings and the
//! model agree on everything, tidings and other libraries on what they share.

use proptest::collection::vec;
use proptest::prelude::*;

use super::model::{Model, Op, Ret};
use super::play::play;

/// Handles of each side at the start of a shared program.
const HANDLES: usize = 3;

/// What all libraries have.
#[derive(Clone, Copy, Debug)]
enum Shared {
    TrySend,
    TryRecv,
    Len,
    DropSender,
    DropReceiver,
}

/// A library's channel: handles, and its names for the operations.
struct Library<S, R> {
    senders: Vec<S>,
    receivers: Vec<R>,
    try_send: fn(&S, u32) -> Ret,
    try_recv: fn(&R) -> Ret,
    len: fn(&R) -> usize,
}

trait Same {
    /// `None`: the handles it needs are gone.
    fn step(&mut self, op: Shared, value: u32) -> Option<Ret>;
}

impl<S: Clone, R: Clone> Library<S, R> {
    fn new(
        (sender, receiver): (S, R),
        try_send: fn(&S, u32) -> Ret,
        try_recv: fn(&R) -> Ret,
        len: fn(&R) -> usize,
    ) -> Self {
        Self {
            senders: vec![sender; HANDLES],
            receivers: vec![receiver; HANDLES],
            try_send,
            try_recv,
            len,
        }
    }
}

impl<S, R> Same for Library<S, R> {
    fn step(&mut self, op: Shared, value: u32) -> Option<Ret> {
        Some(match op {
            Shared::TrySend => (self.try_send)(self.senders.last()?, value),
            Shared::TryRecv => (self.try_recv)(self.receivers.last()?),
            Shared::Len => Ret::Number((self.len)(self.receivers.last()?)),
            Shared::DropSender => self.senders.pop().map(|_| Ret::Done)?,
            Shared::DropReceiver => self.receivers.pop().map(|_| Ret::Done)?,
        })
    }
}

/// The model as a library: handles are counted, as it does not know who holds them.
struct Modelled {
    model: Model,
    senders: usize,
    receivers: usize,
}

impl Same for Modelled {
    fn step(&mut self, op: Shared, value: u32) -> Option<Ret> {
        let (op, needed) = match op {
            Shared::TrySend => (Op::TrySend(0, value), self.senders),
            Shared::TryRecv => (Op::TryRecv(0), self.receivers),
            Shared::Len => (Op::Len(0), self.receivers),
            Shared::DropSender => (Op::DropSender(0), self.senders),
            Shared::DropReceiver => (Op::DropReceiver(0), self.receivers),
        };
        if needed == 0 {
            return None;
        }
        self.senders -= usize::from(matches!(op, Op::DropSender(_)));
        self.receivers -= usize::from(matches!(op, Op::DropReceiver(_)));
        let (after, ret) = self.model.outcomes(&op).pop()?;
        self.model = after;
        Some(ret)
    }
}

fn of_tidings(capacity: usize) -> Box<dyn Same> {
    use tidings::{TryRecvError, TrySendError};
    let channel = match capacity {
        0 => tidings::channel(),
        usize::MAX => tidings::unbounded(),
        n => tidings::bounded(n),
    };
    Box::new(Library::new(
        channel,
        |tx, n| match tx.try_send(n) {
            Ok(()) => Ret::Done,
            Err(TrySendError::Full(n)) => Ret::Full(n),
            Err(TrySendError::Closed(n)) => Ret::Closed(n),
        },
        |rx| match rx.try_recv() {
            Ok(n) => Ret::Value(n),
            Err(TryRecvError::Empty) => Ret::Empty,
            Err(TryRecvError::Closed) => Ret::Ended,
        },
        |rx| rx.len(),
    ))
}

fn of_crossbeam(capacity: usize) -> Box<dyn Same> {
    use crossbeam_channel::{TryRecvError, TrySendError};
    let channel = match capacity {
        usize::MAX => crossbeam_channel::unbounded(),
        n => crossbeam_channel::bounded(n),
    };
    Box::new(Library::new(
        channel,
        |tx, n| match tx.try_send(n) {
            Ok(()) => Ret::Done,
            Err(TrySendError::Full(n)) => Ret::Full(n),
            Err(TrySendError::Disconnected(n)) => Ret::Closed(n),
        },
        |rx| match rx.try_recv() {
            Ok(n) => Ret::Value(n),
            Err(TryRecvError::Empty) => Ret::Empty,
            Err(TryRecvError::Disconnected) => Ret::Ended,
        },
        |rx| rx.len(),
    ))
}

/// It has no rendezvous.
fn of_async_channel(capacity: usize) -> Option<Box<dyn Same>> {
    use async_channel::{TryRecvError, TrySendError};
    let channel = match capacity {
        0 => return None,
        usize::MAX => async_channel::unbounded(),
        n => async_channel::bounded(n),
    };
    Some(Box::new(Library::new(
        channel,
        |tx, n| match tx.try_send(n) {
            Ok(()) => Ret::Done,
            Err(TrySendError::Full(n)) => Ret::Full(n),
            Err(TrySendError::Closed(n)) => Ret::Closed(n),
        },
        |rx| match rx.try_recv() {
            Ok(n) => Ret::Value(n),
            Err(TryRecvError::Empty) => Ret::Empty,
            Err(TryRecvError::Closed) => Ret::Ended,
        },
        |rx| rx.len(),
    )))
}

fn shared_op() -> impl Strategy<Value = Shared> {
    prop_oneof![
        12 => Just(Shared::TrySend),
        12 => Just(Shared::TryRecv),
        4 => Just(Shared::Len),
        1 => Just(Shared::DropSender),
        1 => Just(Shared::DropReceiver),
    ]
}

fn capacity() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), 1_usize..5, Just(33), Just(usize::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn channels_do_what_the_model_does(program in vec(any::<u8>(), 0..300)) {
        play(&program, 1);
    }

    #[test]
    fn choices_do_what_the_model_does(program in vec(any::<u8>(), 0..300)) {
        play(&program, 3);
    }

    #[test]
    fn all_libraries_give_the_same(capacity in capacity(), ops in vec(shared_op(), 0..200)) {
        let modelled = Modelled {
            model: Model::new(&[capacity], HANDLES),
            senders: HANDLES,
            receivers: HANDLES,
        };
        let mut libraries = vec![
            ("model", Box::new(modelled) as Box<dyn Same>),
            ("tidings", of_tidings(capacity)),
            ("crossbeam-channel", of_crossbeam(capacity)),
        ];
        libraries.extend(of_async_channel(capacity).map(|it| ("async-channel", it)));
        for (n, op) in (0..).zip(ops) {
            let results: Vec<_> = libraries
                .iter_mut()
                .map(|(name, library)| (*name, library.step(op, n)))
                .collect();
            let (_, first) = &results[0];
            prop_assert!(results.iter().all(|(_, ret)| ret == first), "{op:?}: {results:?}");
        }
    }
}
