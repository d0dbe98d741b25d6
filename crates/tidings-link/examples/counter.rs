//! Two processes: a counter, and who calls it. In one terminal
//! `cargo run -p tidings-link --example counter`, and in another the same with `call`.
//!
//! With `schema` it prints what a client in another language is generated from: see
//! `clients/python/README.md`.

use tidings::actor;
use tidings_link::{Exports, Link, Listener, Options};

const ADDRESS: &str = "tcp://127.0.0.1:7000";

/// What hears of every change.
#[tidings::interface(remote)]
trait Observer {
    async fn changed(&mut self, sum: i64);
}

#[tidings::interface(remote)]
trait Counter {
    async fn add(&mut self, n: i64) -> i64;
    async fn watch(&mut self, observer: ObserverRef);
}

#[derive(Default)]
struct Tally {
    sum: i64,
    observers: Vec<ObserverRef>,
}

impl Counter for Tally {
    async fn add(&mut self, n: i64) -> i64 {
        self.sum += n;
        let mut here = Vec::new();
        for observer in self.observers.drain(..) {
            // One that has ended, or whose node has gone, hears no more.
            if observer.changed(self.sum).await.is_ok() {
                here.push(observer);
            }
        }
        self.observers = here;
        self.sum
    }

    async fn watch(&mut self, observer: ObserverRef) {
        self.observers.push(observer);
    }
}

struct Print;

impl Observer for Print {
    async fn changed(&mut self, sum: i64) {
        println!("it is {sum} now");
    }
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let counter: CounterRef = actor::start(Tally::default());
    let options = Options::new("server").exports(Exports::new().add("counter", &counter));
    let server = Listener::bind(ADDRESS, options).await?.serve();
    println!("listening at {}", server.address());
    loop {
        let link = server.next().await;
        println!("linked with {:?}", link.up().await?.node);
    }
}

async fn call() -> Result<(), Box<dyn std::error::Error>> {
    let link = Link::connect(ADDRESS).await?;
    let counter: CounterRef = link.get("counter").await?;
    let observer: ObserverRef = actor::start(Print);
    counter.watch(observer).await?;
    println!("the answer is {}", counter.add(7).await?);
    link.drain();
    link.down().await;
    Ok(())
}

#[tidings::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        None => serve().await,
        Some("call") => call().await,
        Some("schema") => {
            print!("{}", tidings::remote::schema::<CounterMessage>());
            Ok(())
        }
        Some(other) => Err(format!("{other}: there are `call` and `schema`").into()),
    }
}
