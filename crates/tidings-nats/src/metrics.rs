//! What a node counts, through the crate `metrics`: to Prometheus (`metrics-exporter-prometheus`),
//! statsd and others, whichever recorder the program has installed.

use metrics::{Label, counter, describe_counter, describe_gauge, gauge};

use crate::shown::{METRICS, Shown};
use crate::stats::Stats;

/// What hands the counts of one membership to the recorder that is installed: for
/// [`Cluster::report`](crate::Cluster::report).
///
/// They are all named `tidings_...`; counters end in `_total`. Counters go on when a node has joined anew,
/// with another of these, and of several nodes in one process they are the sum; of gauges the last one that
/// reports is seen.
///
/// ```
/// use std::time::Duration;
/// # use tidings_nats::{Cluster, Options, memory::Server};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let cluster = Cluster::join_on(Server::new().connect(), Options::new("shop", "one")).await.unwrap();
/// // Before it: `metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder()`, which gives what
/// // renders the page.
/// cluster.report(Duration::from_secs(10), tidings_nats::metrics::recorder());
/// # });
/// ```
pub fn recorder() -> impl Fn(&Stats) + Send + Sync + 'static {
    let shown = Shown::default();
    move |stats| {
        for metric in METRICS {
            match metric.counts {
                true => describe_counter!(metric.name, metric.help),
                false => describe_gauge!(metric.name, metric.help),
            }
        }
        for (metric, label, value) in shown.next(stats) {
            let labels: Vec<Label> = match metric.label {
                "" => Vec::new(),
                name => vec![Label::new(name, label)],
            };
            match metric.counts {
                true => counter!(metric.name, labels).increment(value),
                // Exact below 2^53.
                #[expect(clippy::cast_precision_loss, reason = "a gauge of that crate is one")]
                false => gauge!(metric.name, labels).set(value as f64),
            }
        }
    }
}
