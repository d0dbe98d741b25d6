//! What breaks a simulated network: nodes that crash, connections that are severed, links that are cut
//! and healed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::time::Duration;

use super::{Asked, Context, Happening, Net};
use crate::decisions::About;

impl Net {
    /// A node is no more: what it listened at and all its connections are gone with it.
    pub(crate) fn crash(&mut self, node: usize, context: &mut Context<'_>) {
        self.sights.fault(context.now, node, None, "crashes");
        let gone = self.listeners.extract_if(.., |(its, _), _| *its == node);
        // Who waited there is gone. No waker is dropped under the lock.
        context
            .wakers
            .extend(gone.filter_map(|(_, listener)| listener.waker));
        self.lose_what_is_held(node, context);
        for id in 0..self.connections.len() {
            for end in 0..2 {
                let this = &mut self.connections[id].ends[end];
                if this.node == node && !this.dropped {
                    this.dropped = true;
                    this.failed.get_or_insert(ErrorKind::ConnectionAborted);
                    if end == 0 && self.connections[id].state == Asked::Waiting {
                        self.settle(id, Asked::Failed(ErrorKind::ConnectionAborted), context);
                        continue;
                    }
                    self.reset(id, end, context);
                }
            }
        }
    }

    /// What a node has sent into a link that is cut: a machine that is off sends it no more, the system of one that is
    /// on does, though the program was killed.
    fn lose_what_is_held(&mut self, node: usize, context: &mut Context<'_>) {
        let of_node = self
            .links
            .iter()
            .filter(|((from, _), link)| *from == node && link.held.iter().any(Happening::is_data));
        let links: Vec<_> = of_node.map(|(link, _)| *link).collect();
        for link in links {
            if context.decisions.choose(About::Network, 2) == 1 {
                self.lose(link, |_| true);
            }
        }
    }

    /// What a link holds of these senders, each by its connection and its end, is lost.
    pub(super) fn lose(&mut self, link: (usize, usize), of: impl Fn((usize, usize)) -> bool) {
        let Some(link) = self.links.get_mut(&link) else {
            return;
        };
        let lost = link
            .held
            .extract_if(.., |held| held.is_data() && held.sender().is_some_and(&of));
        for (id, end) in lost.filter_map(|held| held.sender()) {
            self.connections[id].ends[end].lost = true;
        }
    }

    /// What would arrive now passes its link, unless that is cut: then it is held, or lost if its sender would have to
    /// send it once more and does not. Nothing but a reset comes after what is lost: a connection has no hole.
    pub(super) fn passes(&mut self, happening: Happening, now: Duration) -> Option<Happening> {
        let Some((id, from)) = happening.sender() else {
            return Some(happening);
        };
        let [node, other] = [from, 1 - from].map(|end| self.connections[id].ends[end].node);
        let sender = &mut self.connections[id].ends[from];
        if sender.lost && happening.is_data() {
            return None;
        }
        let cut = self.links.get_mut(&(node, other)).filter(|link| link.cut);
        let what = || happening.words();
        self.sights.passage(now, node, other, cut.is_none(), what);
        let Some(link) = cut else {
            return Some(happening);
        };
        if happening.is_data() && sender.dropped && sender.gives_up {
            sender.lost = true;
        } else {
            link.held.push(happening);
        }
        None
    }

    /// Ends all connections between two nodes at once, with an error at both ends.
    pub(crate) fn sever(&mut self, a: usize, b: usize, context: &mut Context<'_>) {
        self.sights.fault(context.now, a, Some(b), "severed");
        for connection in &mut self.connections {
            let nodes = [0, 1].map(|end| connection.ends[end].node);
            if nodes == [a, b] || nodes == [b, a] {
                for end in &mut connection.ends {
                    end.fail(ErrorKind::ConnectionReset, context.wakers);
                }
            }
        }
    }

    /// Cuts or heals what goes from one node to another.
    pub(crate) fn cut(&mut self, from: usize, to: usize, cut: bool, context: &mut Context<'_>) {
        let what = if cut { "cut off" } else { "healed" };
        self.sights.fault(context.now, from, Some(to), what);
        let link = self.links.entry((from, to)).or_default();
        link.cut = cut;
        if !cut {
            let held = std::mem::take(&mut link.held);
            self.send_again(from, to, held, context);
        }
    }

    /// What a link held that was cut is on its way again, and before all that was sent after it on the
    /// same connection.
    fn send_again(
        &mut self,
        from: usize,
        to: usize,
        held: Vec<Happening>,
        context: &mut Context<'_>,
    ) {
        let senders: BTreeSet<_> = held.iter().filter_map(Happening::sender).collect();
        let agenda = std::mem::take(&mut self.agenda).into_iter();
        let (behind, others): (BTreeMap<_, _>, BTreeMap<_, _>) = agenda.partition(|(_, next)| {
            let sender = next.sender();
            sender.is_some_and(|sender| senders.contains(&sender))
        });
        self.agenda = others;
        for (id, end) in senders {
            self.connections[id].ends[end].last = context.now;
        }
        for happening in held {
            let latency = self.latency(from, to, context.decisions);
            let time = context.now.saturating_add(latency);
            self.plan_behind(time, happening);
        }
        for ((time, _), happening) in behind {
            self.plan_behind(time, happening);
        }
    }
}
