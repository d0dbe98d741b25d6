//! What a node counts, and how that gets to whoever gathers it: Prometheus and others through the crate
//! `metrics`, and OpenTelemetry.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use tidings::time::Instant;
use tidings::{Event, JoinHandle};

use crate::cluster::{Cluster, Inner};
use crate::feed::FeedStats;
use crate::member::{Change, Down};

/// What a node sees and has counted since it joined: [`Cluster::stats`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Members now, ourselves among them.
    pub members: u64,
    /// Whether the engine is heard: see [`Cluster::is_connected`].
    pub connected: bool,
    /// Names that are ours now.
    pub names: u64,
    /// Links to and from other nodes now.
    pub links: u64,
    /// Members that have come up.
    pub ups: u64,
    /// Members that have gone down, by why.
    pub downs: BTreeMap<&'static str, u64>,
    /// How often messages of the engine were lost because we were too slow: see
    /// [`Engine::lost`](crate::Engine::lost).
    pub lost: u64,
    /// The sum of all links, those that have ended with them.
    pub link: tidings_link::Stats,
    /// Links that have ended, by why ([`Broken::name`](tidings_link::Broken::name)).
    pub link_ends: BTreeMap<&'static str, u64>,
    /// Of the queues that actors were fed from.
    pub feeds: BTreeMap<String, FeedStats>,
}

impl AddAssign for FeedStats {
    fn add_assign(&mut self, other: Self) {
        let Self {
            delivered,
            done,
            failed,
            duplicates,
            aside,
            in_flight,
        } = other;
        self.delivered += delivered;
        self.done += done;
        self.failed += failed;
        self.duplicates += duplicates;
        self.aside += aside;
        self.in_flight += in_flight;
    }
}

impl Stats {
    pub(crate) fn count(&mut self, change: &Change) {
        let why = match change {
            Change::Up(_) => {
                self.ups += 1;
                return;
            }
            Change::Down(_, Down::Left) => "left",
            Change::Down(_, Down::Expired) => "expired",
            Change::Down(_, Down::Replaced) => "replaced",
            Change::Down(_, Down::Unseen) => "unseen",
        };
        *self.downs.entry(why).or_default() += 1;
    }

    /// A feed has ended.
    pub(crate) fn add(&mut self, queue: &str, feed: FeedStats) {
        *self.feeds.entry(queue.to_owned()).or_default() += feed;
    }
}

impl Cluster {
    /// What this node sees and has counted. It asks each link, which takes a turn of its driver.
    pub async fn stats(&self) -> Stats {
        self.inner.stats().await
    }

    /// Hands what this node counts to somebody, every so often, until the membership ends, and then
    /// once more. Aborting the task that it gives ends that, too.
    ///
    /// ```
    /// use std::time::Duration;
    /// # use tidings_nats::{Cluster, Options, memory::Server};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let cluster = Cluster::join_on(Server::new().connect(), Options::new("shop", "one")).await.unwrap();
    /// // With the feature `metrics`: `cluster.report(Duration::from_secs(10), tidings_nats::metrics::recorder())`.
    /// let reports = cluster.report(Duration::from_secs(10), |stats| println!("{stats:?}"));
    /// # reports.abort();
    /// # });
    /// ```
    pub fn report(
        &self,
        every: Duration,
        to: impl Fn(&Stats) + Send + Sync + 'static,
    ) -> JoinHandle<()> {
        // It is no reason to stay a member.
        let inner = Arc::clone(&self.inner);
        tidings::spawn(async move {
            loop {
                let over = inner.over().cancelled().map(|()| true);
                let is_over = over.or(tidings::after(every).map(|()| false)).await;
                to(&inner.stats().await);
                if is_over {
                    return;
                }
            }
        })
    }
}

impl Inner {
    async fn stats(&self) -> Stats {
        let (all, links) = self.links.stats().await;
        // Before what was counted of those that have ended: none is missed.
        let feeds = self.feeds(None);
        let mut stats = Stats {
            links,
            link: all.stats,
            link_ends: all.ends,
            lost: self.engine.lost(),
            ..self.counted()
        };
        for feed in feeds {
            stats.add(&feed.queue, feed.stats());
        }
        stats
    }

    /// What is known without asking links and feeds.
    fn counted(&self) -> Stats {
        let now = Instant::now();
        let state = self.lock();
        Stats {
            members: state.view.members().count() as u64,
            connected: !state.over && !state.view.is_blind(now),
            names: state.held.len() as u64,
            ..state.counted.clone()
        }
    }
}
