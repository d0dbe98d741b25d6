//! What an actor costs beside the channels it is made of: for whoever changes either.
//!
//! `cargo bench -p tidings --bench actor` plays the same counter over a raw channel and as an actor
//! in each of its forms, in turns, and prints the time of a message and the ratio to the raw one.
//! `cargo bench -p tidings --bench actor -- FORM N` plays one form once, with N messages: what
//! `valgrind --tool=callgrind` is given, twice, to see the instructions of one message.
//! `cargo bench -p tidings --bench actor -- memory N` starts N actors, and says what the process has
//! grown by for each: idle, and after each has had a burst of 100 messages.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tidings::actor::{self, ActorRef, CAPACITY, Mailbox, Recipient, Reply};
use tidings::channel::oneshot::{self, oneshot};
use tidings::{Receiver, Runtime, Sender, after, bounded, select};

/// Messages of a round, and rounds of a figure.
const MESSAGES: u32 = 100_000;
const ROUNDS: usize = 41;
/// Long enough never to come.
const LATER: Duration = Duration::from_secs(3600);

/// The message of the raw channel, with the reply cell that users make by hand.
enum Raw {
    Add(u64),
    Get(oneshot::Sender<u64>),
}

/// As large as a message of [`Account`], and taken apart as that is: three words, where [`Raw`] has two.
#[expect(dead_code, reason = "two of its variants are sent")]
enum RawAccount {
    Add(u64),
    Subtract(u64),
    Reset,
    Get(oneshot::Sender<u64>),
    Exchange(u64, oneshot::Sender<u64>),
    IsEmpty(oneshot::Sender<bool>),
}

/// The message of the mailbox loop.
enum Count {
    Add(u64),
    Get(Reply<u64>),
}

#[tidings::interface]
trait Counter {
    async fn add(&mut self, n: u64);
    async fn get(&mut self) -> u64;
}

#[tidings::interface]
trait Admin {
    async fn reset(&mut self);
}

/// As many methods as the interface of a real actor.
#[tidings::interface]
trait Account {
    async fn add(&mut self, n: u64);
    async fn subtract(&mut self, n: u64);
    async fn reset(&mut self);
    async fn get(&mut self) -> u64;
    async fn exchange(&mut self, n: u64) -> u64;
    async fn is_empty(&self) -> bool;
}

struct Tally(u64);

impl Account for Tally {
    async fn add(&mut self, n: u64) {
        self.0 += n;
    }
    async fn subtract(&mut self, n: u64) {
        self.0 -= n;
    }
    async fn reset(&mut self) {
        self.0 = 0;
    }
    async fn get(&mut self) -> u64 {
        self.0
    }
    async fn exchange(&mut self, n: u64) -> u64 {
        std::mem::replace(&mut self.0, n)
    }
    async fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

impl Counter for Tally {
    async fn add(&mut self, n: u64) {
        self.0 += n;
    }
    async fn get(&mut self) -> u64 {
        self.0
    }
}

/// The same with two interfaces, so that its mailbox carries more than the counter's messages.
#[tidings::actor(Counter, Admin)]
struct Both(u64);

impl Counter for Both {
    async fn add(&mut self, n: u64) {
        self.0 += n;
    }
    async fn get(&mut self) -> u64 {
        self.0
    }
}

impl Admin for Both {
    async fn reset(&mut self) {
        self.0 = 0;
    }
}

async fn raw(inbox: Receiver<Raw>) {
    let mut sum = 0;
    while let Ok(message) = inbox.recv().await {
        match message {
            Raw::Add(n) => sum += n,
            Raw::Get(answer) => answer.send(sum).expect("the asker waits"),
        }
    }
}

async fn raw_account(inbox: Receiver<RawAccount>) {
    const WAITS: &str = "the asker waits";
    let mut sum = 0;
    while let Ok(message) = inbox.recv().await {
        match message {
            RawAccount::Add(n) => sum += n,
            RawAccount::Subtract(n) => sum -= n,
            RawAccount::Reset => sum = 0,
            RawAccount::Get(answer) => answer.send(sum).expect(WAITS),
            RawAccount::Exchange(n, answer) => {
                answer.send(std::mem::replace(&mut sum, n)).expect(WAITS);
            }
            RawAccount::IsEmpty(answer) => answer.send(sum == 0).expect(WAITS),
        }
    }
}

async fn raw_beside_a_timer(inbox: Receiver<Raw>) {
    let mut sum = 0;
    loop {
        select! {
            message = inbox.recv() => match message {
                Ok(Raw::Add(n)) => sum += n,
                Ok(Raw::Get(answer)) => answer.send(sum).expect("the asker waits"),
                Err(_) => return,
            },
            () = after(LATER) => unreachable!("nobody waits that long"),
        }
    }
}

async fn mailbox(mut mailbox: Mailbox<Count>) {
    let mut sum = 0;
    while let Ok(message) = mailbox.recv().await {
        match message {
            Count::Add(n) => sum += n,
            Count::Get(reply) => reply.send(sum).expect("the asker waits"),
        }
    }
}

async fn mailbox_beside_a_timer(mut mailbox: Mailbox<Count>) {
    let mut sum = 0;
    loop {
        select! {
            message = mailbox.recv() => match message {
                Ok(Count::Add(n)) => sum += n,
                Ok(Count::Get(reply)) => reply.send(sum).expect("the asker waits"),
                Err(_) => return,
            },
            () = after(LATER) => unreachable!("nobody waits that long"),
        }
    }
}

/// A reference of one form: what a round does with it.
trait Form: Send + Sync + 'static {
    fn start() -> Self;
    fn add(&self) -> impl Future<Output = ()> + Send;
    fn get(&self) -> impl Future<Output = u64> + Send;
}

struct OverRaw(Sender<Raw>);
struct OverRawTimed(OverRaw);
struct OverRawAccount(Sender<RawAccount>);
struct OverActorRef(ActorRef<Count>);
struct OverActorRefTimed(OverActorRef);
struct OverRecipient(Recipient<Count>);
struct OverInterface(CounterRef);
struct OverSixMethods(AccountRef);
struct OverOneOfTwo(CounterRef);

/// The forms of a channel and a task that receives from it.
macro_rules! over_raw {
    ($($form:ident: $message:ident, $receiver:ident;)*) => {$(
        impl Form for $form {
            fn start() -> Self {
                let (tx, rx) = bounded(CAPACITY);
                tidings::spawn($receiver(rx));
                Self(tx)
            }
            async fn add(&self) {
                self.0.send($message::Add(1)).await.expect("it lives");
            }
            async fn get(&self) -> u64 {
                let (answer, sum) = oneshot();
                self.0.send($message::Get(answer)).await.expect("it lives");
                sum.await.expect("it answers")
            }
        }
    )*};
}

over_raw!(
    OverRaw: Raw, raw;
    OverRawAccount: RawAccount, raw_account;
);

impl Form for OverActorRef {
    fn start() -> Self {
        Self(actor::spawn(mailbox))
    }
    async fn add(&self) {
        self.0.send(Count::Add(1)).await.expect("it lives");
    }
    async fn get(&self) -> u64 {
        self.0.call(Count::Get).await.expect("it answers")
    }
}

impl Form for OverRecipient {
    fn start() -> Self {
        Self(actor::spawn(mailbox).narrow())
    }
    async fn add(&self) {
        self.0.send(Count::Add(1)).await.expect("it lives");
    }
    async fn get(&self) -> u64 {
        self.0.call(Count::Get).await.expect("it answers")
    }
}

/// The forms that are another one with another start.
macro_rules! as_another {
    ($($form:ident($inner:ident): $start:expr,)*) => {$(
        impl Form for $form {
            fn start() -> Self {
                $start
            }
            async fn add(&self) {
                $inner::add(&self.0).await;
            }
            async fn get(&self) -> u64 {
                $inner::get(&self.0).await
            }
        }
    )*};
}

as_another!(
    OverRawTimed(OverRaw): {
        let (tx, rx) = bounded(CAPACITY);
        tidings::spawn(raw_beside_a_timer(rx));
        Self(OverRaw(tx))
    },
    OverActorRefTimed(OverActorRef): Self(OverActorRef(actor::spawn(mailbox_beside_a_timer))),
);

/// The forms whose reference the macro made.
macro_rules! by_interface {
    ($($form:ident: $start:expr,)*) => {$(
        impl Form for $form {
            fn start() -> Self {
                $start
            }
            async fn add(&self) {
                self.0.add(1).await.expect("it lives");
            }
            async fn get(&self) -> u64 {
                self.0.get().await.expect("it answers")
            }
        }
    )*};
}

by_interface!(
    OverInterface: Self(actor::start(Tally(0))),
    OverSixMethods: Self(actor::start(Tally(0))),
    OverOneOfTwo: {
        let actor: BothRef = actor::start(Both(0));
        Self(CounterRef::from(&actor))
    },
);

/// One-way messages, and one question at the end.
async fn tell<F: Form>(n: u32) {
    let form = F::start();
    for _ in 0..n {
        form.add().await;
    }
    assert_eq!(form.get().await, u64::from(n));
}

/// Questions, one after the other.
async fn call<F: Form>(n: u32) {
    let form = F::start();
    form.add().await;
    for _ in 0..n {
        assert_eq!(form.get().await, 1);
    }
}

type Play = fn(&Runtime, u32) -> Duration;

fn play<R>(runtime: &Runtime, round: R) -> Duration
where
    R: Future<Output = ()> + Send + 'static,
{
    let timed = async {
        let start = Instant::now();
        round.await;
        start.elapsed()
    };
    runtime.block_on(runtime.spawn(timed)).expect("no panic")
}

struct Case {
    name: &'static str,
    play: Play,
    /// The case it is compared with, and what the issue allows.
    beside: Option<(&'static str, f64)>,
}

const fn case(name: &'static str, play: Play, beside: Option<(&'static str, f64)>) -> Case {
    Case { name, play, beside }
}

const TELL: Option<(&str, f64)> = Some(("tell/raw", 1.15));
const CALL: Option<(&str, f64)> = Some(("call/raw", 1.2));

const CASES: &[Case] = &[
    case("tell/raw", |r, n| play(r, tell::<OverRaw>(n)), None),
    case("tell/actor", |r, n| play(r, tell::<OverActorRef>(n)), TELL),
    case(
        "tell/recipient",
        |r, n| play(r, tell::<OverRecipient>(n)),
        TELL,
    ),
    case(
        "tell/interface",
        |r, n| play(r, tell::<OverInterface>(n)),
        TELL,
    ),
    case(
        "tell/raw-of-six",
        |r, n| play(r, tell::<OverRawAccount>(n)),
        None,
    ),
    case(
        "tell/six-methods",
        |r, n| play(r, tell::<OverSixMethods>(n)),
        Some(("tell/raw-of-six", 1.15)),
    ),
    case(
        "tell/one-of-two",
        |r, n| play(r, tell::<OverOneOfTwo>(n)),
        TELL,
    ),
    case("call/raw", |r, n| play(r, call::<OverRaw>(n)), None),
    case("call/actor", |r, n| play(r, call::<OverActorRef>(n)), CALL),
    case(
        "call/recipient",
        |r, n| play(r, call::<OverRecipient>(n)),
        CALL,
    ),
    case(
        "call/interface",
        |r, n| play(r, call::<OverInterface>(n)),
        CALL,
    ),
    case(
        "call/raw-of-six",
        |r, n| play(r, call::<OverRawAccount>(n)),
        None,
    ),
    case(
        "call/six-methods",
        |r, n| play(r, call::<OverSixMethods>(n)),
        Some(("call/raw-of-six", 1.2)),
    ),
    case(
        "call/one-of-two",
        |r, n| play(r, call::<OverOneOfTwo>(n)),
        CALL,
    ),
    case("select/raw", |r, n| play(r, tell::<OverRawTimed>(n)), None),
    case(
        "select/actor",
        |r, n| play(r, tell::<OverActorRefTimed>(n)),
        Some(("select/raw", 1.15)),
    ),
];

fn runtime(workers: usize) -> Runtime {
    Runtime::builder()
        .workers(workers)
        .build()
        .expect("threads")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn compare(workers: usize) {
    let runtime = runtime(workers);
    println!("{workers} worker(s), {MESSAGES} messages, the median of {ROUNDS} rounds in turns");
    let mut rounds = vec![Vec::new(); CASES.len()];
    for round in 0..ROUNDS + 2 {
        for (case, times) in CASES.iter().zip(&mut rounds) {
            let time = (case.play)(&runtime, MESSAGES).as_secs_f64();
            // The first two warm up.
            if round >= 2 {
                times.push(time);
            }
        }
    }
    for (case, times) in CASES.iter().zip(&rounds) {
        let each = median(times.clone()) * 1e9 / f64::from(MESSAGES);
        print!("  {:18} {each:8.1} ns", case.name);
        if let Some((beside, bar)) = case.beside {
            let index = CASES.iter().position(|case| case.name == beside);
            let raw = &rounds[index.expect("a case")];
            let ratio = median(times.iter().zip(raw).map(|(a, b)| a / b).collect());
            print!("  {ratio:5.2} of {beside} (at most {bar})");
        }
        println!();
    }
}

/// Resident bytes of the process, where there is a `/proc`.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok())
        .map_or(f64::NAN, |kib: f64| kib * 1024.0)
}

async fn population(n: u32) {
    let before = resident();
    let grown = |when: &str| {
        let bytes = resident() - before;
        println!(
            "  {when}: {:.0} MiB, {:.0} bytes each",
            bytes / f64::from(1 << 20),
            bytes / f64::from(n)
        );
    };
    // The references are 16 bytes each, and count.
    let mut all: Vec<CounterRef> = Vec::new();
    for _ in 0..n {
        all.push(actor::start(Tally(0)));
    }
    for actor in &all {
        assert_eq!(actor.get().await.expect("it answers"), 0);
    }
    grown("idle");
    for actor in &all {
        for _ in 0..100 {
            actor.add(1).await.expect("it lives");
        }
    }
    for actor in &all {
        assert_eq!(actor.get().await.expect("it answers"), 100);
    }
    grown("after a burst");
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    match &args[..] {
        [] => [1, 2].into_iter().for_each(compare),
        [name, n] if name == "memory" => {
            let Ok(n) = n.parse() else {
                return ExitCode::from(2);
            };
            for workers in [1, 2] {
                println!("{workers} worker(s), {n} actors");
                let runtime = runtime(workers);
                runtime
                    .block_on(runtime.spawn(population(n)))
                    .expect("no panic");
                drop(runtime);
                tidings::task::trim();
            }
        }
        [name, n] => {
            let case = CASES.iter().find(|case| case.name == name);
            let (Some(case), Ok(n)) = (case, n.parse()) else {
                eprintln!("the forms:");
                CASES.iter().for_each(|case| eprintln!("  {}", case.name));
                return ExitCode::from(2);
            };
            (case.play)(&runtime(1), n);
        }
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}
