//! What a node counts, as Prometheus and OpenTelemetry get it.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use tidings::{CancellationToken, actor};
use tidings_nats::memory::Server;
use tidings_nats::opentelemetry::Instruments;
use tidings_nats::{Cluster, FeedOptions, Options, Queue, Stats};

#[tidings::interface(remote)]
trait Counter {
    async fn inc(&mut self) -> i64;
}

struct Tally(i64);

impl Counter for Tally {
    async fn inc(&mut self) -> i64 {
        self.0 += 1;
        self.0
    }
}

/// Two nodes, one of which has left again; ten calls over a link, and three messages of a queue.
async fn something() -> (Cluster, Stats) {
    let server = Server::new();
    let one = Cluster::join_on(server.connect(), Options::new("test", "one"))
        .await
        .unwrap();
    let two = Cluster::join_on(server.connect(), Options::new("test", "two"))
        .await
        .unwrap();
    while one.members().len() < 2 {
        tidings::after(Duration::from_millis(1)).await;
    }
    let counter: CounterRef = actor::start(Tally(0));
    let _name = two.register("counter", &counter).await.unwrap();
    let there: CounterRef = one.lookup("counter").await.unwrap();
    for _ in 0..10 {
        there.inc().await.unwrap();
    }
    let orders: Queue<u32> = one.queue("orders").await.unwrap();
    for order in 0..3 {
        orders.put(&order.to_string(), &order).await.unwrap();
    }
    let options = FeedOptions::new().tries(1);
    let feed = orders.feed(
        &counter,
        options,
        async |_: CounterRef, order| match order {
            1 => Err("not this one"),
            _ => Ok(()),
        },
    );
    while feed.stats().done + feed.stats().aside < 3 {
        tidings::after(Duration::from_millis(1)).await;
    }
    assert_eq!(feed.stop(Duration::from_secs(5)).await, 0);
    // What links have counted is kept when they end; so is what feeds have.
    let before = one.stats().await;
    assert_eq!((before.members, before.links), (2, 1));
    drop(feed);
    let changes = one.changes();
    two.leave(Duration::from_secs(1)).await;
    while !matches!(changes.recv().await, Ok(tidings_nats::Change::Down(..))) {}
    let stats = one.stats().await;
    assert_eq!(stats.feeds, before.feeds);
    assert!(stats.link.bytes_out > before.link.bytes_out);
    (one, stats)
}

#[tidings::test(sim, seeds = 5)]
async fn what_is_counted_is_what_was_done() {
    let (_one, stats) = something().await;
    assert_eq!((stats.members, stats.links, stats.names), (1, 0, 0));
    assert!(stats.connected);
    assert_eq!((stats.ups, stats.lost), (2, 0));
    assert_eq!(stats.downs, BTreeMap::from([("left", 1)]));
    assert_eq!(stats.link.calls_out, 10);
    assert_eq!(stats.link_ends, BTreeMap::from([("drained", 1)]));
    let orders = stats.feeds["orders"];
    assert_eq!((orders.delivered, orders.done, orders.failed), (3, 2, 1));
    assert_eq!((orders.aside, orders.in_flight), (1, 0));
}

#[tidings::test(deadlocks = false)]
async fn a_report_reaches_prometheus_under_the_names_of_the_table() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    let (_one, stats) = something().await;
    metrics::with_local_recorder(&recorder, || tidings_nats::metrics::recorder()(&stats));
    let page = page.render();
    for line in [
        "# HELP tidings_cluster_members Members now, this node among them.",
        "# TYPE tidings_cluster_members gauge",
        "tidings_cluster_members 1",
        "tidings_cluster_connected 1",
        "# TYPE tidings_link_calls_out_total counter",
        "tidings_link_calls_out_total 10",
        "tidings_cluster_downs_total{why=\"left\"} 1",
        "tidings_link_ends_total{why=\"drained\"} 1",
        "tidings_queue_done_total{queue=\"orders\"} 2",
        "tidings_queue_aside_total{queue=\"orders\"} 1",
    ] {
        assert!(page.lines().any(|l| l == line), "{line} is not in\n{page}");
    }
}

/// What the instruments show, by their names.
fn shown(
    provider: &SdkMeterProvider,
    exporter: &InMemoryMetricExporter,
) -> BTreeMap<String, Vec<u64>> {
    provider.force_flush().unwrap();
    let mut found = BTreeMap::new();
    for resource in exporter.get_finished_metrics().unwrap() {
        for metric in resource.scope_metrics().flat_map(|scope| scope.metrics()) {
            let AggregatedMetrics::U64(data) = metric.data() else {
                panic!("all are whole numbers: {metric:?}");
            };
            let values: Vec<u64> = match data {
                MetricData::Sum(sum) => sum.data_points().map(|point| point.value()).collect(),
                MetricData::Gauge(gauge) => {
                    gauge.data_points().map(|point| point.value()).collect()
                }
                _ => panic!("they are sums and gauges: {metric:?}"),
            };
            found.insert(metric.name().to_owned(), values);
        }
    }
    found
}

#[tidings::test(deadlocks = false)]
async fn a_report_reaches_opentelemetry_under_the_names_of_the_table() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder()
        .with_periodic_exporter(exporter.clone())
        .build();
    let instruments = Instruments::new(&provider.meter("test"));
    let (_one, stats) = something().await;
    instruments.recorder()(&stats);
    let found = shown(&provider, &exporter);
    assert_eq!(found["tidings_cluster_members"], [1]);
    assert_eq!(found["tidings_link_calls_out_total"], [10]);
    assert_eq!(found["tidings_queue_done_total"], [2]);
    assert_eq!(found["tidings_cluster_downs_total"], [1]);
}

/// A node of which so many members have gone down.
fn downs(n: u64) -> Stats {
    let mut stats = Stats::default();
    stats.downs.insert("expired", n);
    stats
}

#[test]
fn what_prometheus_shows_goes_on_when_a_node_has_joined_anew() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let before = tidings_nats::metrics::recorder();
        before(&downs(3));
        before(&downs(5));
        let after = tidings_nats::metrics::recorder();
        after(&downs(0));
        after(&downs(2));
    });
    let page = page.render();
    let line = "tidings_cluster_downs_total{why=\"expired\"} 7";
    assert!(page.lines().any(|l| l == line), "{line} is not in\n{page}");
}

#[test]
fn what_opentelemetry_shows_goes_on_when_a_node_has_joined_anew() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder()
        .with_periodic_exporter(exporter.clone())
        .build();
    let instruments = Instruments::new(&provider.meter("test"));
    let before = instruments.recorder();
    before(&downs(3));
    before(&downs(5));
    let after = instruments.recorder();
    after(&downs(0));
    after(&downs(2));
    assert_eq!(
        shown(&provider, &exporter)["tidings_cluster_downs_total"],
        [7]
    );
}

/// Reports go on until the membership ends, and the last is of that.
#[tidings::test(sim, seeds = 5)]
async fn a_report_comes_every_so_often_and_once_more_at_the_end() {
    let one = Cluster::join_on(Server::new().connect(), Options::new("test", "one"))
        .await
        .unwrap();
    let (tell, told) = tidings::unbounded();
    let reports = one.report(Duration::from_secs(10), move |stats| {
        let _ = tell.try_send(stats.clone());
    });
    for _ in 0..3 {
        assert_eq!(told.recv().await.unwrap().members, 1);
    }
    one.leave(Duration::from_secs(1)).await;
    reports.await.unwrap();
    let last = told.recv().await.unwrap();
    assert_eq!((last.members, last.connected), (0, false));
    assert!(told.recv().await.is_err());
}

/// How many messages of the queue are done, as a node has counted it.
async fn done(node: &Cluster) -> u64 {
    let feeds = node.stats().await.feeds;
    feeds.get("jobs").map_or(0, |feed| feed.done)
}

#[tidings::test(deadlocks = false)]
async fn what_was_counted_only_grows_while_feeds_end() {
    let engine = Server::new().connect();
    let joined = Cluster::join_on(engine, Options::new("test", "one")).await;
    let one = joined.unwrap();
    let jobs: Queue<u64> = one.queue("jobs").await.unwrap();
    let counter: CounterRef = actor::start(Tally(0));
    let over = CancellationToken::new();
    let (node, ended) = (one.clone(), over.clone());
    // Beside us, at any time.
    let looks = std::thread::spawn(move || {
        let runtime = tidings::Runtime::new().unwrap();
        runtime.block_on(async move {
            let mut last = 0;
            while !ended.is_cancelled() {
                let now = done(&node).await;
                assert!(now >= last, "{last}, and then {now}");
                last = now;
            }
        });
    });
    for job in 1..=400 {
        jobs.put(&job.to_string(), &job).await.unwrap();
        let handle = async |_: CounterRef, _: u64| Ok::<(), String>(());
        let feed = jobs.feed(&counter, FeedOptions::new(), handle);
        while done(&one).await < job {
            tidings::yield_now().await;
        }
        drop(feed);
    }
    over.cancel();
    looks.join().unwrap();
}
