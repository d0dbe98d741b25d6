//! How often, and when, those come who have lost their link: in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidings::net::TcpListener;
use tidings::time::{Instant, sleep};
use tidings::{Event, JoinSet};
use tidings_link::{Connector, Options, link};
use tidings_sim::{Node, world};

const PORT: u16 = 7;
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// When somebody came.
type Came = Arc<Mutex<Vec<Instant>>>;

/// A server that greets whoever comes, and ends the link when `ends` says so, from when it has begun.
fn server(came: &Came, ends: fn(Duration) -> Option<Duration>) -> Node {
    let came = Arc::clone(came);
    world().node("server", move || {
        let came = Arc::clone(&came);
        async move {
            let listener = TcpListener::bind(([0, 0, 0, 0], PORT)).unwrap();
            let begun = Instant::now();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                came.lock().unwrap().push(Instant::now());
                let (served, driver) = link(stream, Options::new("server"));
                drop(tidings::spawn(driver));
                drop(tidings::spawn(async move {
                    match ends(begun.elapsed()) {
                        Some(then) => {
                            let _ = served.down().timeout(then).await;
                            served.close();
                        }
                        None => drop(served.down().await),
                    }
                }));
            }
        }
    })
}

fn connector(server: &Node) -> Connector {
    let connector = Connector::new(&format!("tcp://{}", server.address(PORT))).unwrap();
    connector.insecure(true).backoff(FIRST, LONGEST)
}

#[tidings::test(sim, seeds = 10)]
async fn a_server_that_greets_and_dies_is_dialled_ever_less_often() {
    let came = Came::default();
    let server = server(&came, |_| Some(Duration::from_millis(10)));
    sleep(Duration::from_millis(1)).await;
    let connector = connector(&server);
    let end = Instant::now() + 20 * LONGEST;
    let mut dials = 0;
    while Instant::now() < end {
        let link = connector.connect_until_up().await.unwrap();
        link.down().await;
        dials += 1;
        // One in half a minute, and those of the beginning.
        assert!(dials < 100, "it is dialled all the time");
    }
    assert_eq!(came.lock().unwrap().len(), dials);
    assert!(dials > 10, "{dials} dials");
}

#[tidings::test(sim, seeds = 5)]
async fn those_who_lose_the_same_server_come_back_one_after_the_other() {
    const CLIENTS: usize = 50;
    let came = Came::default();
    // All end at the same moment; who comes later stays.
    let server = server(&came, |since| LONGEST.checked_sub(since));
    sleep(Duration::from_millis(1)).await;
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let connector = connector(&server);
        clients.spawn(async move {
            let lost = connector.connect_until_up().await.unwrap();
            lost.down().await;
            connector.connect_until_up().await.unwrap()
        });
    }
    let mut links = Vec::new();
    while let Some(link) = clients.join_next().await {
        links.push(link.unwrap());
    }
    assert!(links.iter().all(|link| link.exit().is_none()));
    let came = came.lock().unwrap();
    assert_eq!(came.len(), 2 * CLIENTS, "each has dialled once");
    let back = &came[CLIENTS..];
    let took = back[CLIENTS - 1] - back[0];
    assert!(took > FIRST / 2, "all within {took:?}");
    let halves = back
        .windows(CLIENTS / 2)
        .map(|half| half[CLIENTS / 2 - 1] - half[0]);
    assert!(halves.min().unwrap() > FIRST / 10, "half of them at once");
}
