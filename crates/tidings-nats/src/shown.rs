//! The numbers that are shown to those who gather them, with their names: one table for all of them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::feed::FeedStats;
use crate::lock::lock;
use crate::stats::Stats;

/// A number that is shown, to all who gather such.
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// It only grows.
    pub(crate) counts: bool,
    /// What tells several apart; `""`: there is one.
    pub(crate) label: &'static str,
    pub(crate) read: fn(&Stats) -> Vec<(String, u64)>,
}

macro_rules! metrics {
    ($($name:literal $counts:literal $help:literal [$label:literal] $read:expr;)*) => {
        &[$(Metric { name: $name, help: $help, counts: $counts, label: $label, read: $read }),*]
    };
}

/// What one membership has counted, as far as it was shown.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Stats>);

impl Shown {
    /// What there is to show, each number with its label: how much more there is of what counts, and the
    /// rest as it is. Counts begin anew with each membership, and what gathers them goes on.
    pub(crate) fn next(&self, stats: &Stats) -> Vec<(&'static Metric, String, u64)> {
        let before = {
            let mut last = lock(&self.0);
            std::mem::replace(&mut *last, stats.clone())
        };
        let mut all = Vec::new();
        for metric in METRICS {
            let before: BTreeMap<String, u64> = match metric.counts {
                true => (metric.read)(&before).into_iter().collect(),
                false => BTreeMap::new(),
            };
            for (label, value) in (metric.read)(stats) {
                let before = before.get(&label).copied().unwrap_or(0);
                all.push((metric, label, value.saturating_sub(before)));
            }
        }
        all
    }
}

fn one(value: u64) -> Vec<(String, u64)> {
    vec![(String::new(), value)]
}

fn each(whys: &BTreeMap<&'static str, u64>) -> Vec<(String, u64)> {
    let whys = whys.iter();
    whys.map(|(why, n)| ((*why).to_owned(), *n)).collect()
}

fn queues(stats: &Stats, read: impl Fn(&FeedStats) -> u64) -> Vec<(String, u64)> {
    let each = stats.feeds.iter();
    each.map(|(queue, stats)| (queue.clone(), read(stats)))
        .collect()
}

pub(crate) const METRICS: &[Metric] = metrics! {
    "tidings_cluster_members" false "Members now, this node among them." [""] |s| one(s.members);
    "tidings_cluster_connected" false "Whether the engine is heard." [""] |s| one(s.connected.into());
    "tidings_cluster_names" false "Names that this node has." [""] |s| one(s.names);
    "tidings_cluster_links" false "Links to and from other nodes." [""] |s| one(s.links);
    "tidings_cluster_ups_total" true "Members that have come up." [""] |s| one(s.ups);
    "tidings_cluster_downs_total" true "Members that have gone down." ["why"] |s| each(&s.downs);
    "tidings_cluster_engine_lost_total" true "Times that messages were lost because a subscription was too slow." [""] |s| one(s.lost);
    "tidings_link_ends_total" true "Links that have ended." ["why"] |s| each(&s.link_ends);
    "tidings_link_bytes_out_total" true "Bytes written to links." [""] |s| one(s.link.bytes_out);
    "tidings_link_bytes_in_total" true "Bytes read from links." [""] |s| one(s.link.bytes_in);
    "tidings_link_calls_out_total" true "Calls sent over links." [""] |s| one(s.link.calls_out);
    "tidings_link_calls_in_total" true "Calls received over links." [""] |s| one(s.link.calls_in);
    "tidings_link_tells_out_total" true "One-way messages sent over links." [""] |s| one(s.link.tells_out);
    "tidings_link_tells_in_total" true "One-way messages received over links." [""] |s| one(s.link.tells_in);
    "tidings_link_expired_total" true "Requests that came after their deadlines, and were not done." [""] |s| one(s.link.expired);
    "tidings_link_malformed_total" true "Messages that could not be decoded." [""] |s| one(s.link.malformed);
    "tidings_queue_delivered_total" true "Messages of a queue given out to this node." ["queue"] |s| queues(s, |q| q.delivered);
    "tidings_queue_done_total" true "Messages of a queue handled with success." ["queue"] |s| queues(s, |q| q.done);
    "tidings_queue_failed_total" true "Messages of a queue handled without success." ["queue"] |s| queues(s, |q| q.failed);
    "tidings_queue_duplicates_total" true "Messages of a queue that came again and were not handled again." ["queue"] |s| queues(s, |q| q.duplicates);
    "tidings_queue_aside_total" true "Messages of a queue that were set aside." ["queue"] |s| queues(s, |q| q.aside);
    "tidings_queue_in_flight" false "Messages of a queue that this node has and has not done." ["queue"] |s| queues(s, |q| q.in_flight);
};
