//! The simulated network: addresses, connections, and what is on its way between nodes.
//!
//! A connection behaves as TCP does: bytes arrive in order or not at all, each direction has a window,
//! an end that is closed is heard of, one that crashed is reset. A link between two nodes has a latency
//! and may be cut in either direction: what was sent meanwhile arrives when it is healed, unless the
//! connection was severed.
//!
//! All of it is one state behind the world's lock (`world.rs`); the sockets are in `socket.rs`. Wakers
//! are collected here and woken by the caller, without the lock.

mod faults;

use std::collections::{BTreeMap, VecDeque};
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::task::Waker;
use std::time::Duration;

use crate::decisions::{About, Decisions};
use crate::nodes::part_of;
use crate::sights::Sights;

/// Bytes that may be on their way or unread, in each direction.
const WINDOW: usize = 64 * 1024;
/// The first port that is given to who asks for any.
const EPHEMERAL: u16 = 49_152;
/// How long an attempt to connect is made across a cut link.
const PATIENCE: Duration = Duration::from_secs(30);
/// Latencies are decided this finely.
const PARTS: usize = 8;

/// See the module.
#[derive(Default)]
pub(crate) struct Net {
    /// What happens at which time; the number keeps the order of what happens at once.
    agenda: BTreeMap<(Duration, u64), Happening>,
    number: u64,
    /// By their nodes and ports.
    listeners: BTreeMap<(usize, u16), Listener>,
    connections: Vec<Connection>,
    links: BTreeMap<(usize, usize), Link>,
    latency: Option<RangeInclusive<Duration>>,
    ports: u16,
    pub(crate) sights: Sights,
}

struct Listener {
    /// Connections nobody has accepted yet.
    backlog: VecDeque<usize>,
    waker: Option<Waker>,
    /// At the loopback's address: only its own node comes there.
    is_local: bool,
}

/// From one node to another.
#[derive(Default)]
struct Link {
    latency: Option<RangeInclusive<Duration>>,
    cut: bool,
    /// What would have arrived while it was cut.
    held: Vec<Happening>,
}

enum Happening {
    /// A request for this connection comes to its listener.
    Request(usize),
    /// It is answered.
    Answer(usize, bool),
    /// Bytes come to an end.
    Bytes(usize, usize, Vec<u8>),
    /// Nothing more comes to an end.
    Finish(usize, usize),
    /// An end hears that the connection is no more.
    Reset(usize, usize, ErrorKind),
    /// Nobody has answered for too long.
    GiveUp(usize),
}

impl Happening {
    /// The connection, and which of its ends sent this.
    fn sender(&self) -> Option<(usize, usize)> {
        match *self {
            Self::Request(id) => Some((id, 0)),
            Self::Answer(id, _) => Some((id, 1)),
            Self::Bytes(id, to, _) | Self::Finish(id, to) | Self::Reset(id, to, _) => {
                Some((id, 1 - to))
            }
            Self::GiveUp(_) => None,
        }
    }

    /// Bytes, or their end.
    fn is_data(&self) -> bool {
        matches!(self, Self::Bytes(..) | Self::Finish(..))
    }

    /// For a chart.
    fn words(&self) -> String {
        match self {
            Self::Request(_) => "connects".to_owned(),
            Self::Answer(_, true) => "accepted".to_owned(),
            Self::Answer(_, false) => "refused".to_owned(),
            Self::Bytes(_, _, bytes) => format!("{} B", bytes.len()),
            Self::Finish(..) => "end".to_owned(),
            Self::Reset(..) => "reset".to_owned(),
            Self::GiveUp(_) => "gives up".to_owned(),
        }
    }
}

/// A connection: end 0 asked for it.
struct Connection {
    ends: [End; 2],
    state: Asked,
    /// Is its other end at the listener, or taken from there?
    heard: bool,
    /// When it is given up, as it stands in the agenda.
    until: (Duration, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Waiting,
    Made,
    Failed(ErrorKind),
}

struct End {
    node: usize,
    address: SocketAddr,
    inbound: VecDeque<u8>,
    finished: bool,
    failed: Option<ErrorKind>,
    /// This end sends no more.
    closed: bool,
    /// Nobody has this end any more.
    dropped: bool,
    /// When that is so, what has not arrived is given up.
    gives_up: bool,
    /// Something it has sent is lost: of what came after it only a reset arrives.
    lost: bool,
    /// Bytes it has sent that were not read.
    unread: usize,
    /// When the last of what it has sent arrives.
    last: Duration,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl End {
    fn new(node: usize, address: SocketAddr) -> Self {
        Self {
            node,
            address,
            inbound: VecDeque::new(),
            finished: false,
            failed: None,
            closed: false,
            dropped: false,
            gives_up: false,
            lost: false,
            unread: 0,
            last: Duration::ZERO,
            reader: None,
            writer: None,
        }
    }

    fn wake(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.reader.take());
        wakers.extend(self.writer.take());
    }

    fn fail(&mut self, error: ErrorKind, wakers: &mut Vec<Waker>) {
        self.failed.get_or_insert(error);
        self.wake(wakers);
    }
}

/// The address of a node's only interface.
pub(crate) fn ip_of(node: usize) -> IpAddr {
    let [_, high, middle, low] = (node as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, high, middle, low).into()
}

/// The node of an address; its own is also the loopback, and that of no particular interface.
fn node_of(address: SocketAddr, own: usize) -> Option<usize> {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() || ip.is_unspecified() => Some(own),
        IpAddr::V4(ip) => match ip.octets() {
            [10, rest @ ..] => number_of(rest).checked_sub(1),
            _ => None,
        },
        IpAddr::V6(ip) => (ip.is_loopback() || ip.is_unspecified()).then_some(own),
    }
}

fn number_of([high, middle, low]: [u8; 3]) -> usize {
    u32::from_be_bytes([0, high, middle, low]) as usize
}

/// What the network needs of the world.
pub(crate) struct Context<'a> {
    pub(crate) now: Duration,
    pub(crate) decisions: &'a mut Decisions,
    /// To be woken without the lock.
    pub(crate) wakers: &'a mut Vec<Waker>,
}

impl Net {
    /// When the next thing happens.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.agenda.first_key_value().map(|((time, _), _)| *time)
    }

    /// Does all that is due.
    pub(crate) fn go_on(&mut self, context: &mut Context<'_>) {
        while let Some(entry) = self.agenda.first_entry() {
            if entry.key().0 > context.now {
                return;
            }
            let happening = entry.remove();
            self.happen(happening, context);
        }
    }

    fn plan(&mut self, time: Duration, happening: Happening) -> (Duration, u64) {
        self.number += 1;
        self.agenda.insert((time, self.number), happening);
        (time, self.number)
    }

    /// How long from one node to another.
    fn latency(&self, from: usize, to: usize, decisions: &mut Decisions) -> Duration {
        if from == to {
            return Duration::ZERO;
        }
        let link = self.links.get(&(from, to));
        let default = Duration::from_micros(200)..=Duration::from_millis(2);
        let own = link.and_then(|link| link.latency.clone());
        let range = own.or(self.latency.clone()).unwrap_or(default);
        let part = decisions.choose(About::Network, PARTS);
        *range.start() + part_of(*range.end() - *range.start(), part, PARTS)
    }

    /// Sends from one end to the other, behind all it has sent before.
    fn send(&mut self, id: usize, from: usize, happening: Happening, context: &mut Context<'_>) {
        let [here, there] = [from, 1 - from].map(|end| self.connections[id].ends[end].node);
        let latency = self.latency(here, there, context.decisions);
        self.plan_behind(context.now.saturating_add(latency), happening);
    }

    /// This end is gone: the other hears of it, behind all that was sent.
    fn reset(&mut self, id: usize, end: usize, context: &mut Context<'_>) {
        let reset = Happening::Reset(id, 1 - end, ErrorKind::ConnectionReset);
        self.send(id, end, reset, context);
    }

    fn happen(&mut self, happening: Happening, context: &mut Context<'_>) {
        let Some(happening) = self.passes(happening, context.now) else {
            return;
        };
        match happening {
            // Who has given up sends it no more.
            Happening::Request(id) if self.connections[id].state != Asked::Waiting => {}
            Happening::Request(id) => {
                let [from, to] = &self.connections[id].ends;
                let (at, is_own) = ((to.node, to.address.port()), from.node == to.node);
                let listener = self.listeners.get_mut(&at);
                let listener = listener.filter(|listener| is_own || !listener.is_local);
                let heard = listener.is_some();
                self.connections[id].heard = heard;
                if let Some(listener) = listener {
                    listener.backlog.push_back(id);
                    context.wakers.extend(listener.waker.take());
                }
                self.send(id, 1, Happening::Answer(id, heard), context);
            }
            Happening::Answer(id, heard) => {
                let refused = Asked::Failed(ErrorKind::ConnectionRefused);
                self.settle(id, if heard { Asked::Made } else { refused }, context);
            }
            Happening::GiveUp(id) => {
                let [node, other] = [0, 1].map(|end| self.connections[id].ends[end].node);
                self.sights
                    .fault(context.now, node, Some(other), "gives up");
                self.settle(id, Asked::Failed(ErrorKind::TimedOut), context);
            }
            Happening::Bytes(id, to, bytes) => {
                let end = &mut self.connections[id].ends[to];
                if end.dropped {
                    self.reset(id, to, context);
                    return;
                }
                // Nothing comes after the end, as where a link was cut and the connection severed.
                if end.failed.is_some() {
                    return;
                }
                end.inbound.extend(bytes);
                context.wakers.extend(end.reader.take());
            }
            Happening::Finish(id, to) => {
                let end = &mut self.connections[id].ends[to];
                if end.failed.is_none() {
                    end.finished = true;
                    context.wakers.extend(end.reader.take());
                }
            }
            Happening::Reset(id, to, error) => {
                self.connections[id].ends[to].fail(error, context.wakers);
            }
        }
    }

    /// An attempt to connect has ended. If it failed, who has heard of it hears of that.
    fn settle(&mut self, id: usize, state: Asked, context: &mut Context<'_>) {
        let connection = &mut self.connections[id];
        if connection.state != Asked::Waiting {
            return;
        }
        connection.state = state;
        self.agenda.remove(&connection.until);
        context.wakers.extend(connection.ends[0].reader.take());
        if state != Asked::Made && connection.heard {
            self.reset(id, 0, context);
        }
    }

    /// A port of this node that nobody listens at; `None`: somebody listens at each.
    fn port(&mut self, node: usize) -> Option<u16> {
        let ports = u16::MAX - EPHEMERAL;
        let mut each = (0..ports).map(|_| {
            let port = EPHEMERAL + self.ports;
            self.ports = (self.ports + 1) % ports;
            port
        });
        each.find(|&port| !self.listeners.contains_key(&(node, port)))
    }

    /// A listener of this node; its address, which is that it was bound to.
    pub(crate) fn listen(&mut self, node: usize, at: SocketAddr) -> Result<SocketAddr> {
        if node_of(at, node) != Some(node) {
            return Err(ErrorKind::AddrNotAvailable.into());
        }
        let port = match at.port() {
            0 => self.port(node).ok_or(ErrorKind::AddrInUse)?,
            port => port,
        };
        if self.listeners.contains_key(&(node, port)) {
            return Err(ErrorKind::AddrInUse.into());
        }
        let listener = Listener {
            backlog: VecDeque::new(),
            waker: None,
            is_local: at.ip().is_loopback(),
        };
        self.listeners.insert((node, port), listener);
        Ok(SocketAddr::new(at.ip(), port))
    }

    /// Nobody listens there any more; those who waited are reset.
    pub(crate) fn unlisten(&mut self, at: (usize, u16), context: &mut Context<'_>) {
        let Some(listener) = self.listeners.remove(&at) else {
            return;
        };
        for id in listener.backlog {
            let waits = &mut self.connections[id].ends[1];
            waits.dropped = true;
            if waits.failed.is_none() {
                self.reset(id, 1, context);
            }
        }
    }

    /// The next connection that came; `None`: the waker is kept, for that which was.
    pub(crate) fn accept(
        &mut self,
        at: (usize, u16),
        waker: &mut Option<Waker>,
    ) -> Result<Option<usize>> {
        let listener = self.listeners.get_mut(&at);
        let listener = listener.ok_or(Error::from(ErrorKind::NotConnected))?;
        let id = listener.backlog.pop_front();
        if id.is_none() {
            keep(&mut listener.waker, waker);
        }
        Ok(id)
    }

    /// Begins to connect.
    pub(crate) fn connect(
        &mut self,
        node: usize,
        to: SocketAddr,
        context: &mut Context<'_>,
    ) -> Result<usize> {
        let there = node_of(to, node).ok_or(Error::from(ErrorKind::NetworkUnreachable))?;
        let id = self.connections.len();
        let own = self.port(node).ok_or(ErrorKind::AddrNotAvailable)?;
        let own = SocketAddr::new(ip_of(node), own);
        let to = SocketAddr::new(ip_of(there), to.port());
        let until = context.now.saturating_add(PATIENCE);
        let until = self.plan(until, Happening::GiveUp(id));
        self.connections.push(Connection {
            ends: [End::new(node, own), End::new(there, to)],
            state: Asked::Waiting,
            heard: false,
            until,
        });
        self.send(id, 0, Happening::Request(id), context);
        Ok(id)
    }

    /// Is the connection made? `None`: the waker is kept, for that which was.
    pub(crate) fn connected(&mut self, id: usize, waker: &mut Option<Waker>) -> Option<Result<()>> {
        let connection = &mut self.connections[id];
        match connection.state {
            Asked::Made => Some(Ok(())),
            Asked::Failed(error) => Some(Err(error.into())),
            Asked::Waiting => {
                keep(&mut connection.ends[0].reader, waker);
                None
            }
        }
    }

    pub(crate) fn addresses(&self, id: usize, end: usize) -> [SocketAddr; 2] {
        let ends = &self.connections[id].ends;
        [ends[end].address, ends[1 - end].address]
    }

    /// Can this end be read from without waiting? If not, the waker is kept, for that which was.
    pub(crate) fn readable(&mut self, id: usize, end: usize, waker: &mut Option<Waker>) -> bool {
        let end = &mut self.connections[id].ends[end];
        let ready = !end.inbound.is_empty() || end.finished || end.failed.is_some();
        if !ready {
            keep(&mut end.reader, waker);
        }
        ready
    }

    /// Reads what is there, perhaps not all of it.
    pub(crate) fn read(
        &mut self,
        id: usize,
        end: usize,
        into: &mut [u8],
        context: &mut Context<'_>,
    ) -> Result<usize> {
        let this = &mut self.connections[id].ends[end];
        if this.inbound.is_empty() {
            return match this.failed {
                Some(error) => Err(error.into()),
                None => Ok(0),
            };
        }
        let mut n = into.len().min(this.inbound.len());
        if n > 1 && context.decisions.choose(About::Network, PARTS) == PARTS - 1 {
            n = n.div_ceil(2);
        }
        for (place, byte) in into.iter_mut().zip(this.inbound.drain(..n)) {
            *place = byte;
        }
        let peer = &mut self.connections[id].ends[1 - end];
        peer.unread -= n;
        context.wakers.extend(peer.writer.take());
        Ok(n)
    }

    /// Can this end be written to without waiting? If not, the waker is kept, for that which was.
    pub(crate) fn writable(&mut self, id: usize, end: usize, waker: &mut Option<Waker>) -> bool {
        let end = &mut self.connections[id].ends[end];
        let ready = end.unread < WINDOW || end.closed || end.failed.is_some();
        if !ready {
            keep(&mut end.writer, waker);
        }
        ready
    }

    /// Writes as much as the window has room for.
    pub(crate) fn write(
        &mut self,
        id: usize,
        end: usize,
        bytes: &[u8],
        context: &mut Context<'_>,
    ) -> Result<usize> {
        let this = &mut self.connections[id].ends[end];
        if let Some(error) = this.failed {
            return Err(error.into());
        }
        if this.closed {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let n = bytes.len().min(WINDOW - this.unread);
        this.unread += n;
        let sent = Happening::Bytes(id, 1 - end, bytes[..n].to_vec());
        self.send(id, end, sent, context);
        Ok(n)
    }

    /// This end sends no more.
    pub(crate) fn close(&mut self, id: usize, end: usize, context: &mut Context<'_>) {
        let this = &mut self.connections[id].ends[end];
        if !this.closed && this.failed.is_none() {
            this.closed = true;
            self.send(id, end, Happening::Finish(id, 1 - end), context);
        }
    }

    /// What has not arrived when this end is dropped does not arrive.
    pub(crate) fn give_up(&mut self, id: usize, end: usize) {
        self.connections[id].ends[end].gives_up = true;
    }

    /// Nobody has this end any more.
    pub(crate) fn drop_end(&mut self, id: usize, end: usize, context: &mut Context<'_>) {
        let state = self.connections[id].state;
        let [here, there] = [end, 1 - end].map(|end| self.connections[id].ends[end].node);
        let this = &mut self.connections[id].ends[end];
        let failed = this.failed.is_some() || matches!(state, Asked::Failed(_));
        if std::mem::replace(&mut this.dropped, true) || failed {
            return;
        }
        if end == 0 && state == Asked::Waiting {
            self.settle(id, Asked::Failed(ErrorKind::ConnectionAborted), context);
            return;
        }
        if this.inbound.is_empty() && !this.gives_up {
            self.close(id, end, context);
            return;
        }
        if this.gives_up {
            // What a cut link holds is sent no more; what is under way elsewhere arrives.
            self.lose((here, there), |sender| sender == (id, end));
        }
        self.reset(id, end, context);
    }

    /// It happens then, or when all has that was sent before it.
    fn plan_behind(&mut self, mut time: Duration, happening: Happening) {
        if let Some((id, end)) = happening.sender() {
            let last = &mut self.connections[id].ends[end].last;
            *last = time.max(*last);
            time = *last;
        }
        self.plan(time, happening);
    }

    /// All who wait: nobody is woken any more.
    pub(crate) fn take_wakers(&mut self) -> Vec<Waker> {
        let listeners = self.listeners.values_mut();
        let connections = self.connections.iter_mut();
        let ends = connections.flat_map(|connection| &mut connection.ends);
        let ends = ends.flat_map(|end| [&mut end.reader, &mut end.writer]);
        let all = ends.chain(listeners.map(|listener| &mut listener.waker));
        all.filter_map(Option::take).collect()
    }

    /// How long from one node to another, from now on; `None`: between any two that have none.
    pub(crate) fn set_latency(
        &mut self,
        link: Option<(usize, usize)>,
        latency: RangeInclusive<Duration>,
    ) {
        match link {
            Some(link) => self.links.entry(link).or_default().latency = Some(latency),
            None => self.latency = Some(latency),
        }
    }
}

/// Remembers a waker, unless it is the one that wakes nobody. What was there is the caller's, who has cloned
/// the one and drops the other without the world's lock.
fn keep(place: &mut Option<Waker>, waker: &mut Option<Waker>) {
    let is_real = |waker: &Waker| !waker.will_wake(Waker::noop());
    if waker.as_ref().is_some_and(is_real) {
        std::mem::swap(place, waker);
    }
}
