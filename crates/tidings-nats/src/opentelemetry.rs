//! What a node counts, as OpenTelemetry has it: observable instruments of a meter.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};

use crate::shown::{METRICS, Metric};
use crate::stats::Stats;

/// Instruments of a meter, which show what they were given last: for
/// [`Cluster::report`](crate::Cluster::report).
///
/// Their names are those of [`metrics`](crate::Stats), all `tidings_...`.
///
/// ```
/// use std::time::Duration;
/// use tidings_nats::opentelemetry::Instruments;
/// # use tidings_nats::{Cluster, Options, memory::Server};
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let cluster = Cluster::join_on(Server::new().connect(), Options::new("shop", "one")).await.unwrap();
/// let instruments = Instruments::new(&opentelemetry::global::meter("shop"));
/// cluster.report(Duration::from_secs(10), move |stats| instruments.record(stats));
/// # });
/// ```
#[derive(Clone)]
pub struct Instruments {
    last: Arc<Mutex<Stats>>,
}

fn lock(last: &Mutex<Stats>) -> MutexGuard<'_, Stats> {
    last.lock().unwrap_or_else(PoisonError::into_inner)
}

fn observe(metric: &Metric, stats: &Stats, to: &dyn AsyncInstrument<u64>) {
    for (label, value) in (metric.read)(stats) {
        match metric.label {
            "" => to.observe(value, &[]),
            name => to.observe(value, &[KeyValue::new(name, label)]),
        }
    }
}

impl Instruments {
    /// Makes them. They are there for as long as the meter's provider is.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        let last = Arc::new(Mutex::new(Stats::default()));
        for metric in METRICS {
            let seen = Arc::clone(&last);
            let show = move |to: &dyn AsyncInstrument<u64>| {
                let stats = lock(&seen).clone();
                observe(metric, &stats, to);
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
        Self { last }
    }

    /// What they show from now on.
    pub fn record(&self, stats: &Stats) {
        let before = std::mem::replace(&mut *lock(&self.last), stats.clone());
        drop(before);
    }
}

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instruments").finish_non_exhaustive()
    }
}
