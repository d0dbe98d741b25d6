//! What passes through the simulated network and what breaks there, for a chart (`chart.rs`); nothing is
//! kept of a run that nobody draws.

use std::time::Duration;

/// Something in the network.
pub(crate) struct Seen {
    pub(crate) time: Duration,
    /// It comes from this node, or befalls it.
    pub(crate) node: usize,
    pub(crate) other: Option<usize>,
    /// Has it arrived at the other?
    pub(crate) arrived: bool,
    pub(crate) what: String,
}

/// What was seen, in its order, if somebody watches.
#[derive(Default)]
pub(crate) struct Sights(Option<Vec<Seen>>);

impl Sights {
    /// From here on, all that is seen is kept.
    pub(crate) fn watch(&mut self) {
        self.0 = Some(Vec::new());
    }

    /// What was seen since the last time.
    pub(crate) fn take(&mut self) -> Vec<Seen> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// This goes from a node to another, and arrives there unless the link is cut.
    pub(crate) fn passage(
        &mut self,
        time: Duration,
        node: usize,
        other: usize,
        arrived: bool,
        what: impl FnOnce() -> String,
    ) {
        if let Some(all) = &mut self.0 {
            let (what, other) = match arrived {
                true => (what(), Some(other)),
                false => (format!("held: {}", what()), None),
            };
            all.push(Seen {
                time,
                node,
                other,
                arrived,
                what,
            });
        }
    }

    /// This befalls a node, or what lies between it and another.
    pub(crate) fn fault(&mut self, time: Duration, node: usize, other: Option<usize>, what: &str) {
        if let Some(all) = &mut self.0 {
            all.push(Seen {
                time,
                node,
                other,
                arrived: false,
                what: what.to_owned(),
            });
        }
    }
}
