//! Nodes: programs on machines of their own, joined by the simulated network (`net/`).
//!
//! Each is a runtime of its own, with a clock and an address; the run's loop (`run.rs`) interleaves
//! them. A node that crashes is gone between two polls: its tasks are dropped, its connections reset.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::net::ip_of;
use crate::run::Body;
use crate::sim::Outcome;
use crate::world::World;

/// All nodes of a run; the first is the program itself.
pub(crate) struct Nodes {
    all: Vec<State>,
    /// What the loop is to do before it goes on.
    orders: VecDeque<Order>,
    /// One of the clocks was set since somebody asked.
    clock_set: bool,
}

/// Makes a node's program.
type NodeProgram = Arc<dyn Fn() -> Body + Send + Sync>;

struct State {
    name: String,
    /// Anew for each life.
    program: Option<NodeProgram>,
    /// How often it was started.
    incarnation: u64,
    up: bool,
    clock: Clock,
}

/// What the loop is to do.
pub(crate) enum Order {
    /// A node begins the life of this number.
    Start(usize, u64),
    Crash(usize),
}

/// A node's clock, beside the world's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// When it was set, by the world's.
    since: Duration,
    /// What it showed then.
    shown: Duration,
    /// Parts in a million by which it is fast since.
    drift: i32,
}

const MILLION: i64 = 1_000_000;

impl Clock {
    /// Sets it, but not back.
    fn set(&mut self, now: Duration, ahead: Duration, drift: i32) {
        *self = Self {
            since: now,
            shown: self.local(now).max(now.saturating_add(ahead)),
            drift,
        };
    }

    fn rate(self) -> u128 {
        u128::try_from(MILLION + i64::from(self.drift)).unwrap_or(1)
    }

    /// What it shows at this time, which is not before it was set.
    pub(crate) fn local(self, now: Duration) -> Duration {
        let real = now.saturating_sub(self.since);
        let passed = match self.drift {
            0 => real,
            _ => of_nanos(real.as_nanos() * self.rate() / MILLION as u128),
        };
        self.shown.saturating_add(passed)
    }

    /// The first time, since it was set, at which it shows this or more.
    pub(crate) fn global(self, local: Duration) -> Duration {
        let passes = local.saturating_sub(self.shown);
        let real = match self.drift {
            0 => passes,
            _ => of_nanos((passes.as_nanos() * MILLION as u128).div_ceil(self.rate())),
        };
        self.since.saturating_add(real)
    }
}

fn of_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = Duration::from_secs(1).as_nanos();
    let whole = u64::try_from(nanos / SECOND);
    whole.map_or(Duration::MAX, |whole| {
        Duration::new(whole, (nanos % SECOND) as u32)
    })
}

/// A part of `whole`: nothing for the first of so many alternatives, all of it for the last.
pub(crate) fn part_of(whole: Duration, part: usize, parts: usize) -> Duration {
    of_nanos(whole.as_nanos() * part as u128 / (parts as u128 - 1))
}

impl Default for Nodes {
    fn default() -> Self {
        let program = State {
            name: String::new(),
            program: None,
            incarnation: 1,
            up: true,
            clock: Clock::default(),
        };
        Self {
            all: vec![program],
            orders: VecDeque::new(),
            clock_set: false,
        }
    }
}

impl Nodes {
    pub(crate) fn clock(&self, node: usize) -> Clock {
        self.all[node].clock
    }

    /// Since this was asked, that is.
    pub(crate) fn were_clocks_set(&mut self) -> bool {
        std::mem::take(&mut self.clock_set)
    }

    /// What it is called; its address, where no node is.
    pub(crate) fn name(&self, node: usize) -> Cow<'_, str> {
        match self.all.get(node) {
            Some(state) => Cow::from(&state.name),
            None => ip_of(node).to_string().into(),
        }
    }

    /// The addresses of the nodes of this name, up or not.
    pub(crate) fn ips(&self, name: &str) -> Vec<IpAddr> {
        let all = self.all.iter().enumerate().skip(1);
        all.filter(|(_, state)| state.name == name)
            .map(|(node, _)| ip_of(node))
            .collect()
    }

    pub(crate) fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// A life of a node begins: its name and what makes its program, which may ask for the world.
    /// `None`: it has crashed again meanwhile.
    pub(crate) fn begin(&self, node: usize, life: u64) -> Option<(String, NodeProgram)> {
        let state = &self.all[node];
        let program = state.program.as_ref().filter(|_| state.lives(life))?;
        let name = match life {
            1 => state.name.clone(),
            life => format!("{}'{life}", state.name),
        };
        Some((name, Arc::clone(program)))
    }

    /// None starts any more.
    pub(crate) fn take_programs(&mut self) -> Vec<NodeProgram> {
        let programs = self.all.iter_mut().map(|state| state.program.take());
        programs.flatten().collect()
    }

    /// A node's program has come to its end, in this life; the next may have been ordered before.
    pub(crate) fn ended(&mut self, node: usize, life: u64) {
        let state = &mut self.all[node];
        state.up &= !state.lives(life);
    }
}

impl State {
    /// Is it up, in this life?
    fn lives(&self, life: u64) -> bool {
        self.up && self.incarnation == life
    }
}

/// A machine of a simulation, from [`World::node`].
#[derive(Clone)]
pub struct Node {
    world: World,
    node: usize,
}

impl World {
    /// Starts a program on a machine of its own: a runtime, an address and a clock. It is made anew for
    /// each life; what it captures is what survives a crash, as a disk does.
    ///
    /// Its sockets are those of [`tidings::net`]; it meets other nodes by them, if it is to meet them as
    /// on real machines: nothing keeps nodes of one process from sharing a channel. What it listens at is reached
    /// at its [address](Node::address), but what it listens at the loopback's from itself alone.
    ///
    /// ```
    /// use futures::{AsyncReadExt, AsyncWriteExt};
    /// use tidings::net::{TcpListener, TcpStream};
    /// use tidings_sim::{Sim, world};
    ///
    /// Sim::new(0).seeds(10).run(|| async {
    ///     let server = world().node("server", || async {
    ///         let listener = TcpListener::bind(([0, 0, 0, 0], 80)).unwrap();
    ///         loop {
    ///             let (mut stream, _) = listener.accept().await.unwrap();
    ///             stream.write_all(b"hello").await.unwrap();
    ///             stream.close().await.unwrap();
    ///         }
    ///     });
    ///     tidings::time::sleep(std::time::Duration::from_secs(1)).await;
    ///     let mut stream = TcpStream::connect(server.address(80)).await.unwrap();
    ///     let mut word = String::new();
    ///     stream.read_to_string(&mut word).await.unwrap();
    ///     assert_eq!(word, "hello");
    /// });
    /// ```
    pub fn node<F, Fut>(&self, name: &str, program: F) -> Node
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        let program = move || -> Body {
            let future = program();
            Box::pin(async move { future.await.into_failure() })
        };
        let mut engine = self.lock();
        let node = engine.nodes.all.len();
        engine.nodes.all.push(State {
            name: name.to_owned(),
            program: Some(Arc::new(program)),
            incarnation: 1,
            up: true,
            clock: Clock::default(),
        });
        engine.nodes.orders.push_back(Order::Start(node, 1));
        drop(engine);
        let world = self.clone();
        Node { world, node }
    }

    /// The machine of the program itself, which is where it runs if it starts no other.
    #[must_use]
    pub fn program(&self) -> Node {
        let world = self.clone();
        Node { world, node: 0 }
    }

    /// How long it takes from one machine to another, as the seed decides, where
    /// [`Node::latency_to`] has not said otherwise; by default 0.2 to 2 ms.
    ///
    /// # Panics
    /// If the shortest is above the longest.
    #[track_caller]
    pub fn latency(&self, latency: RangeInclusive<Duration>) {
        check_latency(&latency);
        self.with_net(|net, _| net.set_latency(None, latency));
    }
}

#[track_caller]
fn check_latency(latency: &RangeInclusive<Duration>) {
    let (shortest, longest) = (latency.start(), latency.end());
    assert!(
        shortest <= longest,
        "the shortest latency, {shortest:?}, is above the longest, {longest:?}"
    );
}

impl Node {
    /// Its address, which stays the same in all its lives.
    #[must_use]
    pub fn ip(&self) -> IpAddr {
        ip_of(self.node)
    }

    /// A port of it.
    #[must_use]
    pub fn address(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.ip(), port)
    }

    /// How often it was started.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.world.lock().nodes.all[self.node].incarnation
    }

    /// Has it been started, and neither ended nor crashed?
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.world.lock().nodes.all[self.node].up
    }

    /// Kills it: its tasks are gone, its connections are reset, nobody listens at its ports. What it had sent
    /// arrives; of what a cut link holds it is decided whether that does, too, when it is healed.
    ///
    /// So others hear of it at once, as where a system goes on whose process was killed. A machine that is off is
    /// silent: [`partition`](Self::partition) it from the others first, and [`heal`](Self::heal) that when it is to
    /// answer again.
    ///
    /// # Panics
    /// If it is the program itself.
    pub fn crash(&self) {
        assert!(self.node > 0, "the program itself does not crash");
        let mut engine = self.world.lock();
        let state = &mut engine.nodes.all[self.node];
        if !std::mem::replace(&mut state.up, false) {
            return;
        }
        engine.nodes.orders.push_back(Order::Crash(self.node));
        drop(engine);
        let node = self.node;
        self.world.with_net(|net, context| net.crash(node, context));
    }

    /// Starts its program anew, after a crash if it is up: a new incarnation.
    ///
    /// # Panics
    /// If it is the program itself.
    pub fn restart(&self) {
        self.crash();
        let mut engine = self.world.lock();
        let state = &mut engine.nodes.all[self.node];
        state.up = true;
        state.incarnation += 1;
        let start = Order::Start(self.node, state.incarnation);
        engine.nodes.orders.push_back(start);
        let now = engine.now;
        engine.net.sights.fault(now, self.node, None, "starts anew");
    }

    /// From here on nothing passes between the two; what is sent waits for [`heal`](Self::heal), as
    /// TCP's retransmissions do, and who connects gives up after 30 s.
    pub fn partition(&self, other: &Self) {
        self.cut_to(other);
        other.cut_to(self);
    }

    /// As [`partition`](Self::partition), in the direction from this to the other only.
    pub fn cut_to(&self, other: &Self) {
        let (from, to) = (self.node, other.node);
        self.world
            .with_net(|net, context| net.cut(from, to, true, context));
    }

    /// Heals what lies between the two, in both directions.
    pub fn heal(&self, other: &Self) {
        let (a, b) = (self.node, other.node);
        self.world.with_net(|net, context| {
            net.cut(a, b, false, context);
            net.cut(b, a, false, context);
        });
    }

    /// Ends all connections between the two, at once and with an error at both ends. They may connect
    /// anew.
    pub fn sever(&self, other: &Self) {
        let (a, b) = (self.node, other.node);
        self.world.with_net(|net, context| net.sever(a, b, context));
    }

    /// How long it takes from this to the other, from now on.
    ///
    /// # Panics
    /// If the shortest is above the longest.
    #[track_caller]
    pub fn latency_to(&self, other: &Self, latency: RangeInclusive<Duration>) {
        check_latency(&latency);
        let link = Some((self.node, other.node));
        self.world.with_net(|net, _| net.set_latency(link, latency));
    }

    /// From here on its clock shows so much more than the world's, and is fast by so many parts in a million
    /// (slow, if that is negative). It does not go back: one that shows more already goes on from there.
    ///
    /// # Panics
    /// If the clock would stand still or go back.
    pub fn skew(&self, ahead: Duration, drift: i32) {
        assert!(
            i64::from(drift) > -MILLION,
            "a clock goes on: it is slow by less than a million parts"
        );
        let mut engine = self.world.lock();
        let now = engine.now;
        engine.nodes.all[self.node].clock.set(now, ahead, drift);
        engine.nodes.clock_set = true;
        engine
            .net
            .sights
            .fault(now, self.node, None, "clock is set");
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("ip", &self.ip())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Duration};

    #[test]
    fn a_clock_shows_a_time_when_it_said_it_would() {
        for drift in [-500_000, -3, 0, 7, 1_000_000] {
            let second = Duration::from_secs(1);
            let mut clock = Clock::default();
            clock.set(second, 5 * second, drift);
            for nanos in [
                6_000_000_001,
                6_000_000_002,
                8_123_456_789,
                90_000_000_000_007,
            ] {
                let local = Duration::from_nanos(nanos);
                let at = clock.global(local);
                assert!(clock.local(at) >= local, "{drift} {nanos}");
                let before = at.checked_sub(Duration::from_nanos(1));
                assert!(before.is_none_or(|before| clock.local(before) < local));
            }
        }
    }
}
