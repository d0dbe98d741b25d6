//! filterbank: values flow through P channels of delays and filters and are put together again.
//!
//! A stage ends when nobody is left who could send to it.

use std::collections::VecDeque;

use savina::{Coefficients, Delay, Fir, Share, Sizes, fingerprint, simulations};
use tidings::actor::{ActorRef, Mailbox};

use super::{Program, me, start, tell};

/// The source is ready for one more.
struct Next(ActorRef<ToSource>);

enum ToSource {
    Boot,
    End,
}

async fn producer(n: i64, mut mailbox: Mailbox<Next>, _share: Share) {
    for sent in 0..=n {
        let Ok(Next(source)) = mailbox.recv().await else {
            return;
        };
        tell(
            &source,
            if sent < n {
                ToSource::Boot
            } else {
                ToSource::End
            },
        )
        .await;
    }
}

async fn source(
    producer: ActorRef<Next>,
    me: ActorRef<ToSource>,
    next: ActorRef<f64>,
    mut mailbox: Mailbox<ToSource>,
    _share: Share,
) {
    let mut value = 0;
    while let Ok(ToSource::Boot) = mailbox.recv().await {
        tell(&next, f64::from(value + 1)).await;
        value = (value + 1) % 1000;
        tell(&producer, Next(me.clone())).await;
    }
}

async fn branches(banks: Vec<ActorRef<f64>>, mut mailbox: Mailbox<f64>, _share: Share) {
    while let Ok(value) = mailbox.recv().await {
        for bank in &banks {
            tell(bank, value).await;
        }
    }
}

async fn bank(first: ActorRef<f64>, mut mailbox: Mailbox<f64>, _share: Share) {
    while let Ok(value) = mailbox.recv().await {
        tell(&first, value).await;
    }
}

async fn delay(mut delay: Delay, next: ActorRef<f64>, mut mailbox: Mailbox<f64>, _share: Share) {
    while let Ok(value) = mailbox.recv().await {
        tell(&next, delay.push(value)).await;
    }
}

async fn filter(mut fir: Fir, next: ActorRef<f64>, mut mailbox: Mailbox<f64>, mut share: Share) {
    while let Ok(value) = mailbox.recv().await {
        if let Some(sum) = fir.push(value) {
            share.msgs += fir.cost();
            tell(&next, sum).await;
        }
    }
}

async fn sample(rate: i64, next: ActorRef<f64>, mut mailbox: Mailbox<f64>, _share: Share) {
    let mut seen = 0;
    while let Ok(value) = mailbox.recv().await {
        tell(&next, if seen == 0 { value } else { 0.0 }).await;
        seen = (seen + 1) % rate;
    }
}

async fn tag(
    channel: usize,
    next: ActorRef<(usize, f64)>,
    mut mailbox: Mailbox<f64>,
    _share: Share,
) {
    while let Ok(value) = mailbox.recv().await {
        tell(&next, (channel, value)).await;
    }
}

async fn integrate(
    channels: usize,
    next: ActorRef<Vec<f64>>,
    mut mailbox: Mailbox<(usize, f64)>,
    _share: Share,
) {
    let mut waiting = vec![VecDeque::new(); channels];
    while let Ok((channel, value)) = mailbox.recv().await {
        waiting[channel].push_back(value);
        if waiting.iter().all(|queue| !queue.is_empty()) {
            let values = waiting.iter_mut().filter_map(VecDeque::pop_front);
            tell(&next, values.collect()).await;
        }
    }
}

async fn combine(next: ActorRef<f64>, mut mailbox: Mailbox<Vec<f64>>, _share: Share) {
    while let Ok(values) = mailbox.recv().await {
        tell(&next, values.iter().fold(0.0, |sum, value| sum + value)).await;
    }
}

async fn sink(mut mailbox: Mailbox<f64>, mut share: Share) {
    while let Ok(value) = mailbox.recv().await {
        share.check += fingerprint(value);
    }
}

/// A channel, from its end to its beginning.
fn channel(
    number: i64,
    sizes: Sizes,
    integrator: ActorRef<(usize, f64)>,
    share: &Share,
) -> ActorRef<f64> {
    let Sizes { n, P, .. } = sizes;
    let fir = |which| Fir::new(which, number, P, n);
    let next = start(|mailbox| tag(number as usize, integrator, mailbox, share.actor()));
    let next = start(|mailbox| filter(fir(Coefficients::Second), next, mailbox, share.actor()));
    let next = start(|mailbox| delay(Delay::new(n), next, mailbox, share.actor()));
    let next = start(|mailbox| sample(n, next, mailbox, share.actor()));
    let next = start(|mailbox| filter(fir(Coefficients::First), next, mailbox, share.actor()));
    let next = start(|mailbox| delay(Delay::new(n), next, mailbox, share.actor()));
    start(|mailbox| bank(next, mailbox, share.actor()))
}

async fn run(sizes: Sizes, share: Share) {
    let producer = start(|mailbox| producer(simulations(sizes.n), mailbox, share.actor()));
    let sink = start(|mailbox| sink(mailbox, share.actor()));
    let combiner = start(|mailbox| combine(sink, mailbox, share.actor()));
    let integrator = start(|mailbox| integrate(sizes.P as usize, combiner, mailbox, share.actor()));
    let banks = (0..sizes.P).map(|number| channel(number, sizes, integrator.clone(), &share));
    let banks = banks.collect();
    let branches = start(|mailbox| branches(banks, mailbox, share.actor()));
    let first = producer.clone();
    let source = start(|mailbox| source(producer, me(&mailbox), branches, mailbox, share.actor()));
    tell(&first, Next(source)).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
