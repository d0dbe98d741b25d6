//! Real threads: runtimes of ours, plain threads, and other executors, with aborts at random.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use futures::future::join_all;
use tidings::{Event, JoinError, JoinHandle, Runtime};

use super::watchdog::watchdog;
use super::{Amount, drive};
use crate::dice::Dice;
use crate::party::{Dies, Party};
use crate::programs::Size;
use crate::trial::{Given, Trial};
use crate::waits::Powers;

const AMOUNT: Amount = Amount {
    quick: 200,
    short: 1_500,
    full: 60_000,
};

/// Where parties run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// A runtime of ours: its index.
    Ours(usize),
    /// A thread for each.
    Thread,
    Tokio,
    /// One thread, with one of tokio's or futures' executors.
    TokioOne,
    Futures,
}

const HOSTS: [Host; 7] = [
    Host::Ours(0),
    Host::Ours(1),
    Host::Ours(2),
    Host::Thread,
    Host::Tokio,
    Host::TokioOne,
    Host::Futures,
];

/// Runtimes for all programs.
struct Hosts {
    ours: [Runtime; 3],
    tokio: tokio::runtime::Runtime,
}

/// What is running.
enum Running {
    Ours(JoinHandle<()>),
    Tokio(tokio::task::JoinHandle<()>),
    Thread(std::thread::JoinHandle<()>),
}

#[test]
fn real_threads_run_programs() {
    let _watchdog = watchdog();
    let hosts = Hosts {
        ours: [1, 2, 8].map(|n| Runtime::builder().workers(n).build().unwrap()),
        tokio: tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap(),
    };
    drive("threads", AMOUNT, |row, seed, counts| {
        let mut dice = Dice(!seed);
        let one = HOSTS[usize::try_from(dice.below(HOSTS.len() as u64)).unwrap()];
        let mixed = dice.below(3) == 0;
        let size = Size {
            parties: 2 + dice.below(5),
            acts: 1 + dice.below(12),
        };
        let powers = Powers {
            strange: 20,
            timers: true,
            blocks: one == Host::Thread && !mixed,
            threads: true,
            dies: dice.below(4) == 0,
        };
        let homes = hosts.ours[1..].iter().map(Runtime::handle).collect();
        let (trial, parties) = Trial::start(
            row,
            Given {
                engine: "threads",
                seed,
                size,
                powers,
                homes,
            },
        );
        let mut lots: Vec<(Host, Vec<Party>)> = HOSTS.map(|host| (host, Vec::new())).into();
        for party in parties {
            let host = match mixed {
                true => HOSTS[usize::try_from(dice.below(HOSTS.len() as u64)).unwrap()],
                false => one,
            };
            let lot = lots.iter_mut().find(|(lot, _)| *lot == host).unwrap();
            lot.1.push(party);
        }
        let mut running: Vec<_> = lots
            .into_iter()
            .flat_map(|(host, parties)| hosts.start(host, parties))
            .collect();
        if trial.mortal && dice.below(3) == 0 {
            for _ in 0..dice.below(30) {
                std::thread::yield_now();
            }
            let victim = dice.below(running.len() as u64);
            match &running[usize::try_from(victim).unwrap()] {
                Running::Ours(task) => task.abort(),
                Running::Tokio(task) => task.abort(),
                Running::Thread(_) => {}
            }
        }
        running.drain(..).for_each(|running| hosts.join(running));
        trial.end(row, counts);
    });
}

impl Hosts {
    fn start(&self, host: Host, parties: Vec<Party>) -> Vec<Running> {
        if parties.is_empty() {
            return Vec::new();
        }
        let alone =
            |run: fn(Party)| move |party| Running::Thread(std::thread::spawn(move || run(party)));
        match host {
            Host::Ours(n) => {
                let start = |party| Running::Ours(self.ours[n].spawn(party));
                parties.into_iter().map(start).collect()
            }
            Host::Tokio => {
                let start = |party| Running::Tokio(self.tokio.spawn(party));
                parties.into_iter().map(start).collect()
            }
            Host::Thread => parties
                .into_iter()
                .map(alone(futures::executor::block_on))
                .collect(),
            Host::TokioOne => vec![alone(|all| {
                let tokio = tokio::runtime::Builder::new_current_thread().build();
                tokio.unwrap().block_on(all);
            })(together(parties))],
            Host::Futures => vec![alone(|all| {
                futures::executor::LocalPool::new().run_until(all);
            })(together(parties))],
        }
    }

    /// Waits for it. An abort and a party's own panic are what was asked for.
    fn join(&self, running: Running) {
        match running {
            Running::Ours(mut task) => end_of(task.join().wait()),
            Running::Tokio(task) => {
                if let Err(error) = self.tokio.block_on(task)
                    && error.is_panic()
                {
                    end_of_panic(error.into_panic());
                }
            }
            Running::Thread(thread) => {
                if let Err(panic) = thread.join() {
                    end_of_panic(panic);
                }
            }
        }
    }
}

/// Several parties on one thread; the panic of one is not the others'.
fn together(parties: Vec<Party>) -> Party {
    Box::pin(async {
        let each = parties
            .into_iter()
            .map(|party| AssertUnwindSafe(party).catch_unwind());
        for panic in join_all(each).await.into_iter().filter_map(Result::err) {
            end_of_panic(panic);
        }
    })
}

/// How a party ended.
pub(super) fn end_of(end: Result<(), JoinError>) {
    if let Err(Ok(panic)) = end.map_err(JoinError::try_into_panic) {
        end_of_panic(panic);
    }
}

/// Goes on with a panic that no party was told to make.
fn end_of_panic(panic: Box<dyn std::any::Any + Send>) {
    if !panic.is::<Dies>() {
        resume_unwind(panic);
    }
}
