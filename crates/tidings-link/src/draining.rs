//! How a link ends in order. From when it is told, or the peer says so, nothing is begun but what had been
//! given to it: the messages in the mailboxes of its proxies, and the streams that are read here. Behind
//! these goes the goodbye; and when all is answered on both sides and written, the link has ended.

use tidings::remote::Imported;

use crate::hub::{Hub, Out};
use crate::shared::Due;

impl Hub {
    /// Begins nothing any more but that; says goodbye when it is sent.
    pub(crate) fn drain(&mut self) {
        if !std::mem::replace(&mut self.drains, true) {
            self.note_what_is_owed();
        }
        // A peer that has said it begins nothing, either; and a stream may come by what it answers yet.
        let awaits = self.session.peer_drains() && self.session.calls() > 0;
        if self.owing == 0 && !awaits {
            self.session.drain();
        }
    }

    /// Proxies say how many messages they have taken when they are polled.
    fn note_what_is_owed(&mut self) {
        let mut owing = Vec::new();
        for (target, known) in self.imports.iter_mut() {
            for proxy in known.proxies_mut() {
                proxy.until = proxy.imported.as_ref().map_or(0, Imported::come);
                proxy.owes = proxy.until > 0;
                self.owing += usize::from(proxy.owes);
            }
            let firsts = known.firsts().filter(|proxy| proxy.owes);
            owing.extend(firsts.map(|proxy| (proxy.turn, target)));
        }
        owing.sort_unstable();
        let due = owing.into_iter();
        self.due
            .extend(due.map(|(turn, target)| Due::Proxy(target, turn)));
    }

    /// The same, of a proxy that is made now: a stream, as long as there is no goodbye.
    pub(crate) fn until_at_first(&mut self, imported: &Imported) -> u64 {
        if !self.drains || self.session.has_said_goodbye() {
            return 0;
        }
        let until = imported.come();
        self.owing += usize::from(until > 0);
        until
    }

    /// Is what this proxy takes next none of what is owed?
    pub(crate) fn is_late(&mut self, target: u32, turn: u64, taken: u64) -> bool {
        let known = self.imports.get_mut(target);
        let proxy = known.and_then(|known| known.first(turn));
        self.late = proxy.is_none_or(|proxy| {
            let late = taken >= proxy.until;
            if late && std::mem::take(&mut proxy.owes) {
                self.owing -= 1;
            }
            late
        });
        self.late
    }

    /// Is nothing under way any more, and is all written?
    #[inline]
    pub(crate) fn is_drained(&self) -> bool {
        self.session.is_drained() && self.is_done()
    }

    /// As `is_drained`, but for what the peer does not wait for.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.session.is_done() && self.held.is_empty() && self.exports.values().all(Out::is_done)
    }

    /// One-way messages of the peer's that are in no mailbox yet.
    pub(crate) fn told(&self) -> usize {
        let held = self.held.iter().filter(|(_, asked)| asked.is_told());
        held.count() + self.exports.values().map(Out::told).sum::<usize>()
    }
}
