//! What a node counts, as OpenTelemetry has it: observable instruments of a meter.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};

use crate::lock::lock;
use crate::shown::{METRICS, Shown};
use crate::stats::Stats;

/// Instruments of a meter, which show what memberships have counted: for
/// [`Cluster::report`](crate::Cluster::report).
///
/// Their names are those of [`metrics`](crate::Stats), all `tidings_...`. Counters go on when a node has
/// joined anew, with another [`recorder`](Self::recorder) of the same instruments, and of several nodes in
/// one process they are the sum; of gauges the last one that reports is seen.
///
/// ```
/// use std::time::Duration;
/// use tidings_nats::opentelemetry::Instruments;
/// # use tidings_nats::{Cluster, Options, memory::Server};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let cluster = Cluster::join_on(Server::new().connect(), Options::new("shop", "one")).await.unwrap();
/// let instruments = Instruments::new(&opentelemetry::global::meter("shop"));
/// cluster.report(Duration::from_secs(10), instruments.recorder());
/// # });
/// ```
#[derive(Clone)]
pub struct Instruments {
    all: Arc<Mutex<All>>,
}

/// What is shown: of each metric, by its label.
type All = BTreeMap<&'static str, BTreeMap<String, u64>>;

impl Instruments {
    /// Makes them. They are there for as long as the meter's provider is.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        let all = Arc::new(Mutex::new(All::new()));
        for metric in METRICS {
            let seen = Arc::clone(&all);
            let show = move |to: &dyn AsyncInstrument<u64>| {
                let values = lock(&seen).get(metric.name).cloned();
                for (label, value) in values.unwrap_or_default() {
                    match metric.label {
                        "" => to.observe(value, &[]),
                        name => to.observe(value, &[KeyValue::new(name, label)]),
                    }
                }
            };
            if metric.counts {
                let counter = meter.u64_observable_counter(metric.name);
                counter
                    .with_description(metric.help)
                    .with_callback(show)
                    .build();
            } else {
                let gauge = meter.u64_observable_gauge(metric.name);
                gauge
                    .with_description(metric.help)
                    .with_callback(show)
                    .build();
            }
        }
        Self { all }
    }

    /// What shows the counts of one membership by them.
    pub fn recorder(&self) -> impl Fn(&Stats) + Send + Sync + 'static {
        let (all, shown) = (Arc::clone(&self.all), Shown::default());
        move |stats| {
            let next = shown.next(stats);
            let mut all = lock(&all);
            // Of what is as it is, only that is shown.
            for metric in METRICS.iter().filter(|metric| !metric.counts) {
                all.remove(metric.name);
            }
            for (metric, label, value) in next {
                *all.entry(metric.name)
                    .or_default()
                    .entry(label)
                    .or_default() += value;
            }
        }
    }
}

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instruments").finish_non_exhaustive()
    }
}
