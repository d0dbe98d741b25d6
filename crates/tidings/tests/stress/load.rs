//! Letters that are counted, and tasks that send and receive them in all ways there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use tidings::{
    Either, Event, Receiver, Sender, after, bounded, channel, choose, unbounded, yield_now,
};

use super::dice::Dice;
use super::runner::PROGRESS;

impl Dice {
    /// Others, for another task.
    pub(super) fn split(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) made: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) returned: AtomicU64,
    pub(super) dropped: AtomicU64,
}

/// A value that its ledger counts from its making to its drop.
#[derive(Debug)]
pub(super) struct Letter(Arc<Ledger>);

impl Drop for Letter {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Letter {
    pub(super) fn new(ledger: &Arc<Ledger>) -> Self {
        ledger.made.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(ledger))
    }

    pub(super) fn receive(self) {
        PROGRESS.fetch_add(1, Ordering::Relaxed);
        self.0.received.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn take_back(self) {
        self.0.returned.fetch_add(1, Ordering::Relaxed);
    }
}

/// A letter that is not sent yet; one that is still here when its task ends has come back.
pub(super) struct Kept(Option<Letter>);

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(letter) = self.0.take() {
            letter.take_back();
        }
    }
}

pub(super) fn any_channel(dice: &mut Dice) -> (Sender<Letter>, Receiver<Letter>) {
    match dice.below(4) {
        0 => channel(),
        1 => bounded(1),
        2 => bounded(5),
        _ => unbounded(),
    }
}

/// Sends `n` letters in all ways there are; ends early when nobody receives.
///
/// `loose`: also by plain sends, which drop their value with their future; nobody aborts then.
pub(super) async fn sender(
    (a, b): (Sender<Letter>, Sender<Letter>),
    ledger: Arc<Ledger>,
    n: u64,
    loose: bool,
    mut dice: Dice,
) {
    for _ in 0..n {
        let mut kept = Kept(Some(Letter::new(&ledger)));
        let micros = Duration::from_micros(dice.below(300));
        match dice.below(6 + u64::from(loose)) {
            0 | 1 => {
                a.send_from(&mut kept.0).await.ok();
            }
            2 => {
                a.send_from(&mut kept.0).timeout(micros).await.ok();
            }
            3 => {
                let mut other = Kept(Some(Letter::new(&ledger)));
                let sent = choose([a.send_from(&mut kept.0), b.send_from(&mut other.0)]);
                sent.timeout(micros).await.ok();
            }
            4 => {
                if let Ok(permit) = a.reserve().await {
                    yield_now().await;
                    if let Err(error) = permit.send(kept.0.take().unwrap()) {
                        error.into_inner().take_back();
                    }
                }
            }
            5 => {
                if let Err(error) = b.try_send(kept.0.take().unwrap()) {
                    error.into_inner().take_back();
                }
            }
            // Lost sends give back.
            _ => match a.send(kept.0.take().unwrap()).either(after(micros)).await {
                Either::Left(Ok(()), ()) => {}
                Either::Left(Err(error), ()) => error.into_inner().take_back(),
                Either::Right((), letter) => letter.take_back(),
            },
        }
        PROGRESS.fetch_add(1, Ordering::Relaxed);
        if a.is_closed() && b.is_closed() {
            return;
        }
    }
}

/// Receives in all ways there are, until both channels have ended.
pub(super) async fn receiver(a: Receiver<Letter>, b: Receiver<Letter>, mut dice: Dice) {
    let mut open = [Some(a), Some(b)];
    while let Some(index) = open.iter().position(Option::is_some) {
        let rx = open[index].as_ref().unwrap();
        let micros = Duration::from_micros(dice.below(300));
        let ended = match dice.below(5) {
            0 => rx
                .recv()
                .await
                .map(Letter::receive)
                .is_err()
                .then_some(index),
            1 => match rx.recv().timeout(micros).await {
                Ok(Ok(letter)) => {
                    letter.receive();
                    None
                }
                Ok(Err(_)) => Some(index),
                Err(_) => None,
            },
            2 => {
                let mut many = Vec::new();
                let n = rx.recv_many(&mut many, 4).await;
                many.into_iter().for_each(Letter::receive);
                (n == 0).then_some(index)
            }
            3 => {
                let both = open.iter().enumerate().filter_map(|(index, rx)| {
                    rx.as_ref().map(|rx| rx.recv().map(move |got| (index, got)))
                });
                match choose(both).await {
                    (_, Ok(letter)) => {
                        letter.receive();
                        None
                    }
                    (index, Err(_)) => Some(index),
                }
            }
            _ => {
                let mut stream = rx.clone().into_stream();
                let next = stream.next().await.map(Letter::receive);
                next.is_none().then_some(index)
            }
        };
        if let Some(index) = ended {
            open[index] = None;
        }
        if dice.below(16) == 0 {
            yield_now().await;
        }
    }
}

/// Sends or receives on one channel, whatever comes first: both sides choose.
pub(super) async fn swapper(tx: Sender<Letter>, rx: Receiver<Letter>, ledger: Arc<Ledger>, n: u64) {
    for _ in 0..n {
        let mut kept = Kept(Some(Letter::new(&ledger)));
        let swap = tx.send_from(&mut kept.0).either(rx.recv());
        if let Ok(Either::Right(Ok(letter), ())) = swap.timeout(Duration::from_micros(200)).await {
            letter.receive();
        }
    }
}
