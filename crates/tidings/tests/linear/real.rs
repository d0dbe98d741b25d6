//! The operations of the model, done on tidings.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use tidings::channel::Permit;
use tidings::event::Boxed;
use tidings::{
    Event, Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError, bounded, channel,
    choose, unbounded,
};

use super::model::{Branch, Choice, End, Op, Ret, What};

/// Values are counted: what was made must be dropped, once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<AtomicUsize>);

impl Ledger {
    pub(crate) fn letter(&self, n: u32) -> Letter {
        self.0.fetch_add(1, Ordering::SeqCst);
        Letter(n, self.clone())
    }

    pub(crate) fn alive(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub(crate) struct Letter(pub(crate) u32, Ledger);

impl Drop for Letter {
    fn drop(&mut self) {
        let before = self.1.0.fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "a letter is dropped twice");
    }
}

/// Counts its wakes.
#[derive(Debug, Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Self::default());
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A handle of each side of each channel.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) senders: Vec<Option<Sender<Letter>>>,
    pub(crate) receivers: Vec<Option<Receiver<Letter>>>,
    pub(crate) ledger: Ledger,
}

/// How a wait ended; the letter or permit is its owner's.
pub(crate) enum Happened<'a> {
    Got(Letter),
    Place(Permit<&'a Sender<Letter>>),
    Other(End),
}

impl Happened<'_> {
    pub(crate) fn end(&self) -> End {
        match self {
            Self::Got(letter) => End::Got(letter.0),
            Self::Place(_) => End::Place,
            Self::Other(end) => *end,
        }
    }
}

pub(crate) type Waiting<'a> = Pin<Box<dyn Future<Output = (usize, Happened<'a>)> + Send + 'a>>;

impl Ends {
    pub(crate) fn new(capacities: &[usize]) -> Self {
        let pairs = capacities.iter().map(|&capacity| match capacity {
            0 => channel(),
            usize::MAX => unbounded(),
            n => bounded(n),
        });
        let (senders, receivers) = pairs.map(|(tx, rx)| (Some(tx), Some(rx))).unzip();
        Self {
            senders,
            receivers,
            ledger: Ledger::default(),
        }
    }

    fn tx(&self, chan: usize) -> &Sender<Letter> {
        self.senders[chan].as_ref().expect("a sender")
    }

    fn rx(&self, chan: usize) -> &Receiver<Letter> {
        self.receivers[chan].as_ref().expect("a receiver")
    }

    /// Does an operation that needs no wait.
    pub(crate) fn act(&self, op: Op) -> Ret {
        let sent = |result: Result<(), TrySendError<Letter>>| match result {
            Ok(()) => Ret::Done,
            Err(TrySendError::Full(letter)) => Ret::Full(letter.0),
            Err(TrySendError::Closed(letter)) => Ret::Closed(letter.0),
        };
        match op {
            Op::TrySend(chan, n) => sent(self.tx(chan).try_send(self.ledger.letter(n))),
            Op::Post(chan, n) => sent(self.tx(chan).post(self.ledger.letter(n))),
            Op::TryRecv(chan) => match self.rx(chan).try_recv() {
                Ok(letter) => Ret::Value(letter.0),
                Err(TryRecvError::Empty) => Ret::Empty,
                Err(TryRecvError::Closed) => Ret::Ended,
            },
            Op::TryRecvMany(chan, limit) => {
                let mut letters = Vec::new();
                let n = self.rx(chan).try_recv_many(&mut letters, limit);
                assert_eq!(n, letters.len());
                Ret::Values(letters.iter().map(|letter| letter.0).collect())
            }
            Op::Len(chan) => Ret::Number(self.rx(chan).len()),
            Op::IsClosed(chan) => Ret::Bool(self.tx(chan).is_closed()),
            Op::Close(chan) => Ret::Bool(self.tx(chan).close()),
            other => unreachable!("{other:?} is not done here"),
        }
    }

    /// The future of a wait: of a plain event, of `or`, or of `choose`.
    pub(crate) fn wait(&self, choice: Choice) -> Waiting<'_> {
        match choice {
            [Some(one), None, None] => self.plain(one),
            [Some(a), Some(b), None] => {
                let either = self.branch(0, a).or(self.branch(1, b));
                Box::pin(either.into_future())
            }
            all => {
                let branches = all.into_iter().enumerate();
                let branches = branches.filter_map(|(n, b)| Some(self.branch(n, b?)));
                Box::pin(choose(branches).into_future())
            }
        }
    }

    fn plain(&self, Branch { chan, what }: Branch) -> Waiting<'_> {
        match what {
            What::Send(n) => {
                let send = self.tx(chan).send(self.ledger.letter(n)).map(sent);
                Box::pin(send.map(|end| (0, end)).into_future())
            }
            What::Recv => Box::pin(
                self.rx(chan)
                    .recv()
                    .map(got)
                    .map(|end| (0, end))
                    .into_future(),
            ),
            What::Reserve => {
                let reserve = self.tx(chan).reserve().map(place);
                Box::pin(reserve.map(|end| (0, end)).into_future())
            }
            What::Closed => {
                let closed = self.tx(chan).closed();
                let closed = closed.map(|()| (0, Happened::Other(End::Closed)));
                Box::pin(closed.into_future())
            }
        }
    }

    fn branch(&self, n: usize, Branch { chan, what }: Branch) -> Boxed<'_, (usize, Happened<'_>)> {
        match what {
            What::Send(value) => {
                let send = self.tx(chan).send(self.ledger.letter(value));
                send.map(sent).map(move |end| (n, end)).boxed()
            }
            What::Recv => {
                let recv = self.rx(chan).recv();
                recv.map(got).map(move |end| (n, end)).boxed()
            }
            What::Reserve => {
                let reserve = self.tx(chan).reserve();
                reserve.map(place).map(move |end| (n, end)).boxed()
            }
            What::Closed => {
                let closed = self.tx(chan).closed();
                closed
                    .map(move |()| (n, Happened::Other(End::Closed)))
                    .boxed()
            }
        }
    }
}

/// Ends a permit as the operation says.
pub(crate) fn end_permit(permit: Permit<&Sender<Letter>>, op: Op, ledger: &Ledger) -> Ret {
    match op {
        Op::PermitSend(_, n) => match permit.send(ledger.letter(n)) {
            Ok(()) => Ret::Done,
            Err(SendError(letter)) => Ret::Closed(letter.0),
        },
        _ => {
            drop(permit);
            Ret::Done
        }
    }
}

fn sent<'a>(result: Result<(), SendError<Letter>>) -> Happened<'a> {
    Happened::Other(match result {
        Ok(()) => End::Sent,
        Err(SendError(letter)) => End::Unsent(letter.0),
    })
}

fn got<'a>(result: Result<Letter, RecvError>) -> Happened<'a> {
    result.map_or(Happened::Other(End::Closed), Happened::Got)
}

fn place<'a>(result: Result<Permit<&'a Sender<Letter>>, SendError<()>>) -> Happened<'a> {
    result.map_or(Happened::Other(End::Closed), Happened::Place)
}
