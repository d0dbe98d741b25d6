//! What is only there with a feature: the spans of `tracing`, and what `serde` makes of `inspect`.
//!
//! `cargo test -p tidings --features serde,tracing --test features`; CI's test stage runs it.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tidings::actor::{
    self, Builder, Child, Dispatch, Exit, Mailbox, Recipient, Reply, Shared, Strategy, Supervisor,
};
use tidings::sched::{Runtime, Seeded};
use tidings::trace::Trace;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{NoSubscriber, with_default};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// One test at a time: whether a span is wanted is remembered for the whole process.
static ONE: Mutex<()> = Mutex::new(());

fn seeded() -> Runtime {
    Runtime::builder().seam(Seeded::new(7)).build().unwrap()
}

/// Writes down in which spans things happen.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    /// Name and holders of each span; its number is the place and one.
    spans: Vec<(String, usize)>,
    kinds: Vec<&'static Metadata<'static>>,
    /// The span that each is within, by its place.
    around: Vec<Option<usize>>,
    entered: Vec<usize>,
    lines: Vec<String>,
    /// What was recorded of traces.
    traces: Vec<String>,
    /// Each span as it began, and each event of ours, with all fields.
    said: Vec<String>,
    /// The next span of this name is not made: the subscriber panics.
    fails: Option<&'static str>,
}

/// All fields.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

/// The field `trace`, each time.
struct Traces<'a>(&'a mut Vec<String>);

impl Visit for Traces<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "trace" {
            self.0.push(format!("{value:?}"));
        }
    }
}

/// The fields `name` and `message`.
#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if ["name", "message"].contains(&field.name()) {
            self.0 += &format!(" {value:?}");
        }
    }
}

fn place(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let (mut words, mut fields) = (Words::default(), Fields(span.metadata().name().to_owned()));
        span.record(&mut words);
        span.record(&mut fields);
        let fails = |name: &mut &str| *name == span.metadata().name();
        let failed = self.0.lock().unwrap().fails.take_if(fails);
        assert_eq!(failed, None, "the subscriber is broken");
        let mut book = self.0.lock().unwrap();
        book.said.push(fields.0);
        book.kinds.push(span.metadata());
        span.record(&mut Traces(&mut book.traces));
        // A span is held by those within it.
        let around = book.entered.last().filter(|_| span.is_contextual());
        let around = around.copied();
        if let Some(around) = around {
            book.spans[around].1 += 1;
        }
        book.spans
            .push((format!("{}{}", span.metadata().name(), words.0), 1));
        book.around.push(around);
        Id::from_u64(book.spans.len() as u64)
    }

    fn record(&self, span: &Id, record: &Record<'_>) {
        let mut book = self.0.lock().unwrap();
        assert_eq!(book.spans[place(span)].0, "message");
        record.record(&mut Traces(&mut book.traces));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() == "tidings" {
            let mut fields = Fields(event.metadata().level().to_string());
            event.record(&mut fields);
            self.0.lock().unwrap().said.push(fields.0);
            return;
        }
        let mut words = Words::default();
        event.record(&mut words);
        let mut book = self.0.lock().unwrap();
        let around = book.entered.iter().map(|&at| book.spans[at].0.clone());
        let around = around.collect::<Vec<_>>().join(" > ");
        book.lines.push(format!("{around}:{}", words.0));
    }

    fn current_span(&self) -> Current {
        let book = self.0.lock().unwrap();
        match book.entered.last() {
            Some(&at) => Current::new(Id::from_u64(at as u64 + 1), book.kinds[at]),
            None => Current::none(),
        }
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(place(span));
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.0.lock().unwrap().entered.pop(), Some(place(span)));
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.0.lock().unwrap().spans[place(span)].1 += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut book = self.0.lock().unwrap();
        let mut closed = Some(place(&span));
        while let Some(at) = closed {
            book.spans[at].1 -= 1;
            closed = book.around[at].filter(|_| book.spans[at].1 == 0);
        }
        book.spans[place(&span)].1 == 0
    }
}

#[tidings::interface]
trait Greeter {
    async fn greet(&mut self, whom: &'static str) -> usize;
}

struct Polite(usize);

impl Greeter for Polite {
    async fn greet(&mut self, whom: &'static str) -> usize {
        tracing::info!("hello, {whom}");
        tidings::yield_now().await;
        self.0 += 1;
        tracing::info!("bye, {whom}");
        self.0
    }
}

#[test]
fn an_actor_runs_in_its_span_and_handles_each_message_in_one_of_its_own() {
    let _one = ONE.lock();
    let recorder = Recorder::default();
    with_default(recorder.clone(), || {
        seeded().block_on(async {
            let greeter: GreeterRef = Builder::new().name("greeter").start(Polite(0));
            let plain = actor::spawn(|mut mailbox: Mailbox<&str>| async move {
                while let Ok(text) = mailbox.recv().await {
                    tracing::info!("{text}");
                }
            });
            plain.send("a line").await.unwrap();
            for (n, whom) in ["Ann", "Bob"].into_iter().enumerate() {
                assert_eq!(greeter.greet(whom).await.unwrap(), n + 1);
                tracing::info!("outside");
            }
            plain.stop();
            greeter.stop();
            plain.down().await;
            greeter.down().await;
        });
    });
    let book = recorder.0.lock().unwrap();
    let (of_plain, others): (Vec<&str>, Vec<&str>) = book
        .lines
        .iter()
        .map(String::as_str)
        .partition(|line| line.ends_with("a line"));
    assert_eq!(of_plain, ["actor: a line"]);
    assert_eq!(
        others,
        [
            "actor \"greeter\" > message: hello, Ann",
            "actor \"greeter\" > message: bye, Ann",
            ": outside",
            "actor \"greeter\" > message: hello, Bob",
            "actor \"greeter\" > message: bye, Bob",
            ": outside",
        ]
    );
    let open = book.spans.iter().filter(|(_, holders)| *holders > 0);
    assert_eq!(open.count(), 0, "spans that were not closed");
}

#[test]
fn the_span_in_which_an_actor_is_started_ends_before_the_actor_does() {
    let _one = ONE.lock();
    let recorder = Recorder::default();
    with_default(recorder.clone(), || {
        seeded().block_on(async {
            let greeter: GreeterRef =
                tracing::info_span!("request").in_scope(|| actor::start(Polite(0)));
            greeter.greet("Ann").await.unwrap();
            let open = |(name, holders): &(String, usize)| (*holders > 0).then(|| name.clone());
            let open: Vec<String> = recorder
                .0
                .lock()
                .unwrap()
                .spans
                .iter()
                .filter_map(open)
                .collect();
            assert_eq!(open, ["actor"]);
        });
    });
    let book = recorder.0.lock().unwrap();
    assert_eq!(
        book.lines,
        ["actor > message: hello, Ann", "actor > message: bye, Ann"]
    );
}

#[test]
fn an_actor_whose_span_cannot_be_made_has_ended() {
    let _one = ONE.lock();
    let recorder = Recorder::default();
    with_default(recorder.clone(), || {
        seeded().block_on(async {
            recorder.0.lock().unwrap().fails = Some("actor");
            let mut known = None;
            let start = || {
                actor::spawn(|mailbox: Mailbox<u8>| {
                    known = mailbox.this().upgrade();
                    async {}
                })
            };
            catch_unwind(AssertUnwindSafe(start)).unwrap_err();
            let known = known.unwrap();
            assert!(
                tidings::inspect()
                    .actors
                    .iter()
                    .all(|actor| actor.id != known.id())
            );
            assert!(matches!(known.down().await, Exit::Killed));
        });
    });
}

#[tidings::interface]
trait Admin {
    async fn r#type(&self) -> u8;
    async fn pause(this: Shared<Self>) -> ();
}

#[tidings::actor(Greeter, Admin)]
struct Host(Polite);

impl Greeter for Host {
    async fn greet(&mut self, whom: &'static str) -> usize {
        self.0.greet(whom).await
    }
}

impl Admin for Host {
    async fn r#type(&self) -> u8 {
        7
    }
    async fn pause(_: Shared<Self>) {
        tidings::yield_now().await;
    }
}

#[test]
fn the_span_of_a_message_says_its_interface_its_method_and_the_actor() {
    let _one = ONE.lock();
    let recorder = Recorder::default();
    let [one, other] = with_default(recorder.clone(), || {
        seeded().block_on(async {
            let greeter: GreeterRef = Builder::new().name("greeter").start(Polite(0));
            greeter.greet("Ann").await.unwrap();
            let host: HostRef = actor::start(Host(Polite(0)));
            GreeterRef::from(&host).greet("Bob").await.unwrap();
            let admin = AdminRef::from(&host);
            assert_eq!(admin.r#type().await.unwrap(), 7);
            admin.pause().await.unwrap();
            [greeter.id(), host.id()]
        })
    });
    let said = &recorder.0.lock().unwrap().said;
    let of_messages = said.iter().filter_map(|said| said.strip_prefix("message "));
    assert_eq!(
        of_messages.collect::<Vec<_>>(),
        [
            format!("interface=\"Greeter\" method=\"greet\" actor.id={one} actor.name=\"greeter\""),
            format!("interface=\"Greeter\" method=\"greet\" actor.id={other}"),
            format!("interface=\"Admin\" method=\"type\" actor.id={other}"),
            format!("interface=\"Admin\" method=\"pause\" actor.id={other}"),
        ]
    );
}

/// Counts how often it is asked what it stands for.
struct Counts;
static ASKED: AtomicUsize = AtomicUsize::new(0);

impl Dispatch<()> for Counts {
    async fn dispatch(self, (): &mut ()) {}
    fn stands_for(&self) -> Option<(&'static str, &'static str)> {
        ASKED.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[test]
fn nobody_asks_what_a_message_stands_for_where_its_span_is_off() {
    let _one = ONE.lock();
    let handle_one = || {
        seeded().block_on(async {
            let actor: actor::ActorRef<Counts> = actor::start(());
            actor.send(Counts).await.unwrap();
            actor.stop();
            actor.down().await;
        });
        ASKED.swap(0, Ordering::Relaxed)
    };
    assert_eq!(with_default(NoSubscriber::default(), handle_one), 0);
    assert_ne!(with_default(Recorder::default(), handle_one), 0);
}

#[test]
fn the_lives_of_a_supervisors_children_are_told_with_how_they_ended() {
    let _one = ONE.lock();
    let recorder = Recorder::default();
    let worker = with_default(recorder.clone(), || {
        seeded().block_on(async {
            let child = Builder::new().name("worker").child(
                |mut mailbox: Mailbox<Option<Reply<u64>>>| async move {
                    while let Ok(message) = mailbox.recv().await {
                        match message {
                            Some(reply) => reply.send(mailbox.incarnation()).unwrap(),
                            None => std::panic::resume_unwind(Box::new("oh")),
                        }
                    }
                },
            );
            let worker = child.actor_ref();
            let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
            worker.send(None).await.unwrap();
            assert_eq!(worker.call(Some).await.unwrap(), 2);
            supervisor.stop();
            supervisor.down().await;
            worker.id()
        })
    });
    let said = &recorder.0.lock().unwrap().said;
    let of_lives = said.iter().filter(|said| said.contains("incarnation"));
    let of = |level, what, incarnation| {
        let fields = format!("actor.id={worker} actor.name=\"worker\" incarnation={incarnation}");
        format!("{level} message={what} {fields}")
    };
    assert_eq!(
        of_lives.collect::<Vec<_>>(),
        [
            &of("INFO", "started", 1),
            &(of("WARN", "ended", 1) + " exit=panicked: oh"),
            &of("INFO", "started anew", 2),
            &(of("INFO", "ended", 2) + " exit=was stopped"),
        ]
    );
}

#[tidings::interface]
trait Relay {
    async fn tell(&mut self);
    async fn ask(&mut self) -> Vec<Option<Trace>>;
    async fn later(&mut self, reply: Reply<Option<Trace>>);
}

/// Says as a part of what it and the next were asked.
struct Station(Option<RelayRef>, tidings::Sender<Option<Trace>>);

impl Relay for Station {
    async fn tell(&mut self) {
        self.1.send(Trace::current()).await.unwrap();
    }
    async fn ask(&mut self) -> Vec<Option<Trace>> {
        tidings::yield_now().await;
        let mut all = vec![Trace::current()];
        if let Some(next) = &self.0 {
            let next = async { next.ask().await.unwrap() };
            all.extend(match Trace::current() {
                Some(own) => own.with_parent(7).scope(next).await,
                None => next.await,
            });
        }
        assert_eq!(all.first(), Some(&Trace::current()));
        all
    }
    async fn later(&mut self, reply: Reply<Option<Trace>>) {
        let trace = reply.trace();
        reply.send(trace).unwrap();
    }
}

#[test]
fn a_message_is_handled_as_a_part_of_its_senders_trace_and_so_are_the_calls_of_its_handler() {
    let _one = ONE.lock();
    let recorder = Recorder::default();
    let trace = Trace::new(0xabc, 0xdef, 1);
    with_default(recorder.clone(), || {
        seeded().block_on(async {
            let (told, heard) = tidings::unbounded();
            let last: RelayRef = actor::start(Station(None, told.clone()));
            let first: RelayRef = actor::start(Station(Some(last), told));
            let seen = trace.scope(async {
                // It stays across waits, and others do not see it.
                tidings::spawn(async { assert_eq!(Trace::current(), None) })
                    .await
                    .unwrap();
                first.tell().await.unwrap();
                let own = Trace::current();
                (
                    own,
                    first.ask().await.unwrap(),
                    first.later().await.unwrap(),
                )
            });
            let (own, asked, later) = seen.await;
            let own = own.unwrap();
            assert_eq!(own, trace);
            // The relay's own call, seen from its own span.
            assert_eq!(asked, [Some(trace), Some(trace.with_parent(7))]);
            assert_eq!(later, Some(trace));
            assert_eq!(Trace::current(), None);
            assert_eq!(first.ask().await.unwrap(), [None, None]);
            first.tell().await.unwrap();
            // One way, too.
            assert_eq!(heard.recv().await.unwrap(), Some(trace));
            assert_eq!(heard.recv().await.unwrap(), None);
        });
    });
    let book = recorder.0.lock().unwrap();
    let own = trace.to_string();
    // Of `tell`, twice of `ask`, of `later`.
    let asked = [&own, &own, &trace.with_parent(7).to_string(), &own];
    assert_eq!(book.traces.iter().collect::<Vec<_>>(), asked);
}

#[test]
fn a_message_keeps_its_trace_while_it_waits_is_passed_over_stashed_or_adapted() {
    let _one = ONE.lock();
    seeded().block_on(async {
        let (done, seen) = tidings::unbounded();
        let builder = Builder::new().capacity(2);
        let actor = builder.spawn(|mut mailbox: Mailbox<u64>| async move {
            let third = mailbox.scan(|n| if n == 3 { Ok(n) } else { Err(n) });
            let third = third.await.unwrap();
            done.send((third, mailbox.trace())).await.unwrap();
            let first = mailbox.recv().await.unwrap();
            let traced = mailbox.trace();
            mailbox.stash(first).unwrap();
            let second = mailbox.recv().await.unwrap();
            done.send((second, mailbox.trace())).await.unwrap();
            mailbox.unstash();
            while let Ok(n) = mailbox.recv().await {
                if n == first {
                    assert_eq!(mailbox.trace(), traced);
                }
                done.send((n, mailbox.trace())).await.unwrap();
            }
        });
        let texts: Recipient<String> = actor.narrow().adapt(|text: String| text.parse().ok());
        let of = |n| Trace::new(0xabc, n, 1);
        let send = async {
            for n in 1..=5 {
                // The mailbox holds two: who sends waits, and others run meanwhile.
                of(n).scope(async { actor.send(n).await.unwrap() }).await;
            }
            let six = async { texts.send("6".to_owned()).await.unwrap() };
            of(6).scope(six).await;
            actor.send(7).await.unwrap();
        };
        futures::join!(send, async {
            let mut heard = Vec::new();
            for n in [3, 2, 1, 4, 5] {
                heard.push(seen.recv().await.unwrap());
                assert_eq!(heard.last(), Some(&(n, Some(of(n)))));
            }
            // These came by two ways.
            let mut last = [seen.recv().await.unwrap(), seen.recv().await.unwrap()];
            last.sort_unstable_by_key(|(n, _)| *n);
            assert_eq!(last, [(6, Some(of(6))), (7, None)]);
        });
    });
}

#[test]
fn what_inspect_finds_becomes_json_as_a_tree() {
    let _one = ONE.lock();
    let found: Value = seeded().block_on(async {
        let idle = |mut mailbox: Mailbox<u8>| async move { while mailbox.recv().await.is_ok() {} };
        let child = Builder::new().name("worker").capacity(3).child(idle);
        let worker = child.actor_ref();
        let never = Child::new(idle);
        let unstarted = never.actor_ref().id();
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .name("boss")
            .child(child)
            .start();
        supervisor.started().await.unwrap().unwrap();
        worker.send(1).await.unwrap();
        tidings::time::sleep(std::time::Duration::from_secs(1)).await;
        let json = serde_json::to_value(tidings::inspect()).unwrap();
        let of = |id: u64| {
            let actors = json["actors"].as_array().unwrap();
            actors.iter().find(|actor| actor["id"] == id).cloned()
        };
        assert_eq!(of(unstarted).unwrap()["activity"], "Unstarted");
        let boss = of(supervisor.id()).unwrap();
        drop(never);
        boss
    });
    assert_eq!(found["name"], "boss");
    assert_eq!(found["children"].as_array().unwrap().len(), 1);
    let worker = &found["children"][0];
    assert_eq!(worker["name"], "worker");
    assert_eq!(worker["started_by"], found["id"]);
    assert_eq!(
        (&worker["handled"], &worker["queued"]),
        (&1.into(), &0.into())
    );
    assert_eq!(worker["capacity"], 3);
    assert_eq!(worker["incarnation"], 1);
    assert_eq!(worker["activity"], "Idle");
}
