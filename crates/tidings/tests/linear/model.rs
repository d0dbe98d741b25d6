//! The sequential specification of channels and choice: what each operation does, one after the
//! other, with deques and nothing else.
//!
//! A wait is begun ([`Op::Begin`]), looked at ([`Op::Poll`]) and may be dropped ([`Op::Cancel`]).
//! Whoever waits is served in turn; a value goes to a waiting receiver before it enters the queue;
//! a wait that is dropped after it was served gives back what it got: to the next receiver, or to
//! the front of the queue.

use std::collections::{BTreeMap, VecDeque};

/// The number of a wait.
pub(crate) type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    TrySend(usize, u32),
    Post(usize, u32),
    TryRecv(usize),
    TryRecvMany(usize, usize),
    Len(usize),
    IsClosed(usize),
    Close(usize),
    Begin(Id, Choice),
    Poll(Id),
    Cancel(Id),
    PermitSend(usize, u32),
    PermitDrop(usize),
    DropSender(usize),
    DropReceiver(usize),
}

/// Up to three branches.
pub(crate) type Choice = [Option<Branch>; 3];

/// A wait on a channel, alone or as a branch of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Branch {
    pub(crate) chan: usize,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    Send(u32),
    Recv,
    Reserve,
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ret {
    Done,
    Full(u32),
    Closed(u32),
    Value(u32),
    Empty,
    Ended,
    Values(Vec<u32>),
    Number(usize),
    Bool(bool),
    Pending,
    /// The branch that happened, and how.
    Ready(usize, End),
}

/// How a branch happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Got(u32),
    Sent,
    Place,
    /// Closed, and an unsent value came back.
    Unsent(u32),
    /// Closed, and nothing came back; or what was waited for is the close.
    Closed,
}

/// All channels and waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Model {
    chans: Vec<Chan>,
    waits: BTreeMap<Id, Wait>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Chan {
    capacity: usize,
    queue: VecDeque<u32>,
    reserved: usize,
    closed: bool,
    n_senders: usize,
    n_receivers: usize,
    /// Waits and their branches, in turn.
    senders: VecDeque<(Id, usize)>,
    receivers: VecDeque<(Id, usize)>,
    observers: VecDeque<(Id, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wait {
    branches: Choice,
    happened: Option<(usize, End)>,
}

impl Model {
    /// Channels of these capacities, each with so many handles of both sides.
    pub(crate) fn new(capacities: &[usize], handles: usize) -> Self {
        let chan = |&capacity| Chan {
            capacity,
            queue: VecDeque::new(),
            reserved: 0,
            closed: false,
            n_senders: handles,
            n_receivers: handles,
            senders: VecDeque::new(),
            receivers: VecDeque::new(),
            observers: VecDeque::new(),
        };
        Self {
            chans: capacities.iter().map(chan).collect(),
            waits: BTreeMap::new(),
        }
    }

    /// Has a partner served this wait?
    pub(crate) fn is_served(&self, id: Id) -> bool {
        self.waits[&id].happened.is_some()
    }

    /// What `op` may do.
    pub(crate) fn outcomes(&self, op: &Op) -> Vec<(Self, Ret)> {
        if let Op::Begin(id, branches) = *op {
            return self.begin(id, branches);
        }
        let mut after = self.clone();
        let ret = after.apply(*op);
        ret.map(|ret| (after, ret)).into_iter().collect()
    }

    /// Commits to any branch that can happen at once; waits on all if none can.
    fn begin(&self, id: Id, branches: Choice) -> Vec<(Self, Ret)> {
        let written = || branches.iter().enumerate();
        let mut outcomes = Vec::new();
        for (index, branch) in written().filter_map(|(n, b)| b.map(|b| (n, b))) {
            let mut after = self.clone();
            if let Some(end) = after.attempt(branch) {
                outcomes.push((after, Ret::Ready(index, end)));
            }
        }
        if outcomes.is_empty() {
            let mut after = self.clone();
            for (index, branch) in written().filter_map(|(n, b)| b.map(|b| (n, b))) {
                after.list(branch).push_back((id, index));
            }
            let happened = None;
            after.waits.insert(id, Wait { branches, happened });
            outcomes.push((after, Ret::Pending));
        }
        outcomes
    }

    fn list(&mut self, branch: Branch) -> &mut VecDeque<(Id, usize)> {
        let chan = &mut self.chans[branch.chan];
        match branch.what {
            What::Send(_) | What::Reserve => &mut chan.senders,
            What::Recv => &mut chan.receivers,
            What::Closed => &mut chan.observers,
        }
    }

    /// The branch happens now, if it can.
    fn attempt(&mut self, Branch { chan, what }: Branch) -> Option<End> {
        match what {
            What::Send(value) => match self.try_send(chan, value) {
                Ret::Done => Some(End::Sent),
                Ret::Closed(value) => Some(End::Unsent(value)),
                _ => None,
            },
            What::Recv => match self.try_recv(chan) {
                Ret::Value(value) => Some(End::Got(value)),
                Ret::Ended => Some(End::Closed),
                _ => None,
            },
            What::Reserve => {
                let chan = &mut self.chans[chan];
                if chan.closed {
                    return Some(End::Closed);
                }
                // A rendezvous has no places: its permits post.
                if chan.capacity > 0 {
                    if chan.is_full() {
                        return None;
                    }
                    chan.reserved += 1;
                }
                Some(End::Place)
            }
            What::Closed => self.chans[chan].closed.then_some(End::Closed),
        }
    }

    fn apply(&mut self, op: Op) -> Option<Ret> {
        Some(match op {
            Op::TrySend(chan, value) => self.try_send(chan, value),
            Op::Post(chan, value) => {
                let rendezvous = self.chans[chan].capacity == 0;
                if rendezvous {
                    self.chans[chan].capacity = usize::MAX;
                }
                let ret = self.try_send(chan, value);
                if rendezvous {
                    self.chans[chan].capacity = 0;
                }
                ret
            }
            Op::TryRecv(chan) => self.try_recv(chan),
            Op::TryRecvMany(chan, limit) => {
                let mut values = Vec::new();
                while values.len() < limit
                    && let Ret::Value(value) = self.try_recv(chan)
                {
                    values.push(value);
                }
                Ret::Values(values)
            }
            Op::Len(chan) => Ret::Number(self.chans[chan].queue.len()),
            Op::IsClosed(chan) => Ret::Bool(self.chans[chan].closed),
            Op::Close(chan) => Ret::Bool(self.close(chan)),
            Op::Begin(..) => return None,
            Op::Poll(id) => match self.waits[&id].happened {
                None => Ret::Pending,
                Some((branch, end)) => {
                    self.waits.remove(&id);
                    Ret::Ready(branch, end)
                }
            },
            Op::Cancel(id) => {
                self.cancel(id);
                Ret::Done
            }
            Op::PermitSend(chan, value) => {
                if self.chans[chan].closed {
                    self.unreserve(chan, None);
                    Ret::Closed(value)
                } else {
                    self.unreserve(chan, Some(value));
                    Ret::Done
                }
            }
            Op::PermitDrop(chan) => {
                self.unreserve(chan, None);
                Ret::Done
            }
            Op::DropSender(chan) => {
                self.chans[chan].n_senders -= 1;
                if self.chans[chan].n_senders == 0 {
                    self.close(chan);
                }
                Ret::Done
            }
            Op::DropReceiver(chan) => {
                self.chans[chan].n_receivers -= 1;
                if self.chans[chan].n_receivers == 0 {
                    // Nobody can receive what is left.
                    self.chans[chan].queue.clear();
                    self.close(chan);
                }
                Ret::Done
            }
        })
    }

    fn try_send(&mut self, chan: usize, value: u32) -> Ret {
        if self.chans[chan].closed {
            Ret::Closed(value)
        } else if let Some((id, branch)) = self.chans[chan].receivers.front().copied() {
            self.serve(id, branch, End::Got(value));
            Ret::Done
        } else if self.chans[chan].is_full() {
            Ret::Full(value)
        } else {
            self.chans[chan].queue.push_back(value);
            Ret::Done
        }
    }

    fn try_recv(&mut self, chan: usize) -> Ret {
        if let Some(value) = self.chans[chan].queue.pop_front() {
            self.refill(chan);
            Ret::Value(value)
        } else if self.chans[chan].capacity == 0
            && let Some((id, branch)) = self.chans[chan].senders.front().copied()
        {
            let value = self.value_of(id, branch).expect("a send has a value");
            self.serve(id, branch, End::Sent);
            Ret::Value(value)
        } else if self.chans[chan].closed {
            Ret::Ended
        } else {
            Ret::Empty
        }
    }

    /// A place has become free: the first who waits for it gets it.
    fn refill(&mut self, chan: usize) -> bool {
        if self.chans[chan].is_full() {
            return false;
        }
        let Some((id, branch)) = self.chans[chan].senders.front().copied() else {
            return false;
        };
        if let Some(value) = self.value_of(id, branch) {
            self.chans[chan].queue.push_back(value);
            self.serve(id, branch, End::Sent);
        } else {
            self.chans[chan].reserved += 1;
            self.serve(id, branch, End::Place);
        }
        true
    }

    /// A permit ends: senders and receivers that have come meanwhile meet.
    fn unreserve(&mut self, chan: usize, value: Option<u32>) {
        if self.chans[chan].capacity > 0 {
            self.chans[chan].reserved -= 1;
        }
        if self.chans[chan].closed {
            return;
        }
        self.chans[chan].queue.extend(value);
        loop {
            let waiting = self.chans[chan].receivers.front().copied();
            if let Some((id, branch)) = waiting
                && let Some(value) = self.chans[chan].queue.pop_front()
            {
                self.serve(id, branch, End::Got(value));
            } else if !self.refill(chan) {
                return;
            }
        }
    }

    fn value_of(&self, id: Id, branch: usize) -> Option<u32> {
        match self.waits[&id].branches[branch]?.what {
            What::Send(value) => Some(value),
            _ => None,
        }
    }

    /// The wait is over, by this branch.
    fn serve(&mut self, id: Id, branch: usize, end: End) {
        self.leave(id);
        if let Some(wait) = self.waits.get_mut(&id) {
            wait.happened = Some((branch, end));
        }
    }

    /// Out of all lists.
    fn leave(&mut self, id: Id) {
        for chan in &mut self.chans {
            for list in [&mut chan.senders, &mut chan.receivers, &mut chan.observers] {
                list.retain(|&(waiting, _)| waiting != id);
            }
        }
    }

    fn close(&mut self, chan: usize) -> bool {
        let first = !self.chans[chan].closed;
        self.chans[chan].closed = true;
        loop {
            let c = &self.chans[chan];
            let lists = [&c.senders, &c.receivers, &c.observers];
            let Some((id, branch)) = lists.iter().find_map(|list| list.front().copied()) else {
                return first;
            };
            let end = self.value_of(id, branch).map_or(End::Closed, End::Unsent);
            self.serve(id, branch, end);
        }
    }

    fn cancel(&mut self, id: Id) {
        self.leave(id);
        let Some(wait) = self.waits.remove(&id) else {
            return;
        };
        let Some((branch, end)) = wait.happened else {
            return;
        };
        let chan = wait.branches[branch].map_or(0, |branch| branch.chan);
        match end {
            End::Got(value) => {
                if let Some((id, branch)) = self.chans[chan].receivers.front().copied() {
                    self.serve(id, branch, End::Got(value));
                } else {
                    self.chans[chan].queue.push_front(value);
                }
            }
            End::Place => self.unreserve(chan, None),
            End::Sent | End::Unsent(_) | End::Closed => {}
        }
    }
}

impl Chan {
    fn is_full(&self) -> bool {
        self.queue.len() + self.reserved >= self.capacity
    }
}
