//! Credit: how much each side may send before the other has taken it.
//!
//! There is a window for each actor and one for all actors of a link. A message needs a place and a
//! byte in both, and takes its whole size from both, so that the largest can be sent through a small
//! window. Whoever takes messages gives the credit back in portions, a quarter of a window each.
//!
//! The last quarter of the link's window is for actors of which nothing is under way: those that take
//! nothing, and keep what they were sent, do not stop the others. While no more than that is left credit
//! is given back at once, so that an actor that takes what it is sent has nothing under way soon.

use crate::limits::{Broken, Grant};
use crate::numbers::ByNumber;

/// What is left of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    messages: i64,
    bytes: i64,
}

impl Left {
    fn of(grant: Grant) -> Self {
        Self {
            messages: grant.messages.into(),
            bytes: grant.bytes.into(),
        }
    }

    fn is_open(self) -> bool {
        self.messages > 0 && self.bytes > 0
    }

    #[inline]
    fn spend(&mut self, bytes: usize) {
        self.messages -= 1;
        self.bytes -= bytes.cast_signed() as i64;
    }

    fn add(&mut self, grant: Grant) {
        self.messages += i64::from(grant.messages);
        self.bytes += i64::from(grant.bytes);
    }

    /// Is no more left than the last quarter?
    fn is_narrow(self, window: Grant) -> bool {
        self.messages <= (window.messages / 4).into() || self.bytes <= (window.bytes / 4).into()
    }
}

/// What we may send.
#[derive(Debug)]
pub(crate) struct Purse {
    window: Grant,
    link_window: Grant,
    link: Left,
    /// Those that are not whole.
    targets: ByNumber<Left>,
    /// How many of them there may be before all wait: a peer that never gives credit back for actors that
    /// are given up is sent nothing more.
    most: usize,
}

/// How much is left of the link's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The last quarter, or some of it: actors of which nothing is under way may be sent something.
    Open,
    /// More: all may be.
    Wide,
}

/// May a request go out?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum May {
    Send,
    /// When there is credit for this target.
    WaitForTarget,
    /// As above, or when there is more of the link's window: [`Level::Wide`].
    WaitForMore,
    /// When something else has moved: any credit, room, or the end of a call.
    WaitForLink,
}

impl Purse {
    pub(crate) fn new(window: Grant, link: Grant, most: usize) -> Self {
        Self {
            window,
            link_window: link,
            link: Left::of(link),
            targets: ByNumber::default(),
            most,
        }
    }

    /// What there is for requests, as far as their targets allow. `None`: nothing.
    #[inline]
    pub(crate) fn level(&self) -> Option<Level> {
        let is_open = self.link.is_open() && self.targets.len() < self.most;
        is_open.then(|| match self.link.is_narrow(self.link_window) {
            true => Level::Open,
            false => Level::Wide,
        })
    }

    #[inline]
    pub(crate) fn may_send(&self, target: u32) -> May {
        let Some(level) = self.level() else {
            return May::WaitForLink;
        };
        match self.targets.get(target) {
            None => May::Send,
            Some(left) if !left.is_open() => May::WaitForTarget,
            Some(_) if level < Level::Wide => May::WaitForMore,
            Some(_) => May::Send,
        }
    }

    #[inline]
    pub(crate) fn spend(&mut self, target: u32, bytes: usize) {
        self.link.spend(bytes);
        let whole = Left::of(self.window);
        let left = self.targets.get_or_insert_with(target, || whole);
        left.spend(bytes);
    }

    pub(crate) fn add(&mut self, target: u32, grant: Grant) -> Result<(), Broken> {
        let too_much = Err(Broken::Protocol("credit for what was not sent"));
        let Some(left) = self.targets.get_mut(target).filter(|_| grant.messages > 0) else {
            return too_much;
        };
        left.add(grant);
        self.link.add(grant);
        let whole = Left::of(self.window);
        if left.messages > whole.messages || left.bytes > whole.bytes {
            return too_much;
        }
        if *left == whole {
            self.targets.remove(target);
        }
        Ok(())
    }
}

/// What a peer has sent and has no credit back for.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    messages: u32,
    bytes: u64,
    /// The part that was taken: credit is to be given for it.
    owed_messages: u32,
    owed_bytes: u32,
}

/// What the peer may send.
#[derive(Debug)]
pub(crate) struct Ledger {
    window: Grant,
    link_window: Grant,
    link: Spent,
    targets: ByNumber<Spent>,
    /// Those for which credit is owed, in the order in which it came to be.
    owing: Vec<u32>,
}

impl Ledger {
    pub(crate) fn new(window: Grant, link_window: Grant) -> Self {
        Self {
            window,
            link_window,
            link: Spent::default(),
            targets: ByNumber::default(),
            owing: Vec::new(),
        }
    }

    /// A message begins to come.
    #[inline]
    pub(crate) fn check(&self, target: u32) -> Result<(), Broken> {
        let within = |spent: &Spent, grant: Grant| {
            spent.messages < grant.messages && spent.bytes < u64::from(grant.bytes)
        };
        let target = self.targets.get(target);
        match within(&self.link, self.link_window)
            && target.is_none_or(|spent| within(spent, self.window))
        {
            true => Ok(()),
            false => Err(Broken::Credit),
        }
    }

    /// A message has come. `give` is handed what the peer is to be given.
    #[inline]
    pub(crate) fn spend(&mut self, target: u32, bytes: usize, give: impl FnMut(u32, Grant)) {
        let target = self.targets.get_or_insert_with(target, Spent::default);
        for spent in [&mut self.link, target] {
            spent.messages += 1;
            spent.bytes += bytes as u64;
        }
        if !self.owing.is_empty() && self.is_narrow() {
            self.settle_all(give);
        }
    }

    /// Has the peer no more left of the link's window than the last quarter, as far as it knows?
    fn is_narrow(&self) -> bool {
        let Spent {
            messages, bytes, ..
        } = self.link;
        let window = self.link_window;
        messages >= window.messages - window.messages / 4
            || bytes >= u64::from(window.bytes - window.bytes / 4)
    }

    /// A message was taken. `give` is as above.
    #[inline]
    pub(crate) fn taken(&mut self, target: u32, bytes: usize, give: impl FnMut(u32, Grant)) {
        let is_narrow = self.is_narrow();
        let Some(spent) = self.targets.get_mut(target) else {
            return;
        };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        for spent in [&mut self.link, &mut *spent] {
            spent.owed_messages += 1;
            spent.owed_bytes = spent.owed_bytes.saturating_add(bytes);
        }
        if spent.owed_messages == 1 {
            self.owing.push(target);
        }
        if due(&self.link, self.link_window) {
            self.settle_all(give);
        } else if is_narrow || due(spent, self.window) {
            self.settle(target, give);
        }
    }

    fn settle_all(&mut self, mut give: impl FnMut(u32, Grant)) {
        for target in std::mem::take(&mut self.owing) {
            self.give(target, &mut give);
        }
    }

    /// Gives what is owed for a target.
    pub(crate) fn settle(&mut self, target: u32, give: impl FnMut(u32, Grant)) {
        self.owing.retain(|other| *other != target);
        self.give(target, give);
    }

    fn give(&mut self, target: u32, mut give: impl FnMut(u32, Grant)) {
        let Some(spent) = self.targets.get_mut(target) else {
            return;
        };
        if let Some(grant) = settle(spent, &mut self.link) {
            give(target, grant);
        }
        if spent.messages == 0 {
            self.targets.remove(target);
        }
    }
}

#[inline]
fn due(spent: &Spent, window: Grant) -> bool {
    let quarter = |n: u32| n.div_ceil(4);
    spent.owed_messages >= quarter(window.messages) || spent.owed_bytes >= quarter(window.bytes)
}

fn settle(spent: &mut Spent, link: &mut Spent) -> Option<Grant> {
    let grant = Grant {
        messages: spent.owed_messages,
        bytes: spent.owed_bytes,
    };
    for spent in [spent, link] {
        spent.messages -= grant.messages;
        spent.bytes -= u64::from(grant.bytes);
        spent.owed_messages -= grant.messages;
        spent.owed_bytes -= grant.bytes;
    }
    (grant.messages > 0).then_some(grant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sender_that_keeps_to_its_purse_is_never_refused_and_never_stuck(
            sizes in prop::collection::vec((0_u32..3, 0_usize..40), 1..400),
            windows in (1_u32..8, 1_u32..64, 1_u32..12, 1_u32..128),
        ) {
            let window = Grant { messages: windows.0, bytes: windows.1 };
            let link = Grant { messages: windows.2, bytes: windows.3 };
            let (mut purse, mut ledger) = (Purse::new(window, link, 100), Ledger::new(window, link));
            let mut under_way = std::collections::VecDeque::new();
            for (target, size) in sizes {
                while purse.may_send(target) != May::Send {
                    // Whoever is stuck is given credit once all that is under way has been taken.
                    let (target, size) = under_way.pop_front().expect("a full window gives credit");
                    ledger.taken(target, size, |target, grant| purse.add(target, grant).unwrap());
                }
                ledger.check(target).unwrap();
                purse.spend(target, size);
                ledger.spend(target, size, |target, grant| purse.add(target, grant).unwrap());
                under_way.push_back((target, size));
            }
        }
    }

    #[test]
    fn an_actor_that_takes_what_it_is_sent_is_not_stopped_by_those_that_take_nothing() {
        let (window, link) = (
            Grant {
                messages: 8,
                bytes: 80,
            },
            Grant {
                messages: 32,
                bytes: 320,
            },
        );
        let (mut purse, mut ledger) = (Purse::new(window, link, 100), Ledger::new(window, link));
        let send = |purse: &mut Purse, ledger: &mut Ledger, target| {
            let may = purse.may_send(target) == May::Send;
            if may {
                ledger.check(target).unwrap();
                purse.spend(target, 10);
                ledger.spend(target, 10, |target, grant| {
                    purse.add(target, grant).unwrap();
                });
            }
            may
        };
        let quick = 9;
        let quickly = |purse: &mut Purse, ledger: &mut Ledger| {
            if send(purse, ledger, quick) {
                ledger.taken(quick, 10, |target, grant| purse.add(target, grant).unwrap());
                return true;
            }
            false
        };
        // It is owed credit when the others begin.
        assert!(quickly(&mut purse, &mut ledger));
        // Each is sent all that may be, and takes nothing.
        for stuck in 0..5 {
            while send(&mut purse, &mut ledger, stuck) {}
            for _ in 0..40 {
                assert!(quickly(&mut purse, &mut ledger), "{stuck}");
            }
        }
        // Three quarters, and one message for each of the others.
        assert_eq!(ledger.link.messages, 26);
    }

    #[test]
    fn credit_for_nothing_is_refused() {
        let window = Grant {
            messages: 2,
            bytes: 10,
        };
        let mut purse = Purse::new(window, window, 100);
        assert!(purse.add(1, window).is_err());
        purse.spend(1, 3);
        let none = Grant {
            messages: 0,
            bytes: 0,
        };
        assert!(purse.add(1, none).is_err());
        assert!(
            purse
                .add(
                    1,
                    Grant {
                        messages: 2,
                        bytes: 3
                    }
                )
                .is_err()
        );
    }

    #[test]
    fn who_gives_no_credit_back_for_one_actor_after_the_other_is_sent_nothing_more() {
        let window = Grant {
            messages: 1 << 30,
            bytes: 1 << 30,
        };
        let mut purse = Purse::new(window, window, 10);
        let mut targets = 0..;
        while let Some(target) = targets.next()
            && purse.may_send(target) == May::Send
        {
            assert!(target < 10);
            purse.spend(target, 7);
        }
        assert_eq!(purse.may_send(3), May::WaitForLink);
        let grant = Grant {
            messages: 1,
            bytes: 7,
        };
        purse.add(3, grant).unwrap();
        assert_eq!(purse.may_send(10), May::Send);
    }
}
