//! An actor that crashes is started anew by its supervisor, and `inspect` shows the tree before and after.
//! `cargo run -p tidings --example supervised`.

use std::error::Error;
use std::time::Duration;

use tidings::actor::{Builder, Child, Strategy, Supervisor};
use tidings::{Inspection, inspect};

#[tidings::interface]
trait Calculator {
    async fn divide(&mut self, n: u32, by: u32) -> u32;
    async fn how_many(&mut self) -> u32;
}

#[derive(Default)]
struct Careless {
    divided: u32,
}

impl Calculator for Careless {
    async fn divide(&mut self, n: u32, by: u32) -> u32 {
        self.divided += 1;
        n / by // panics if `by` is 0
    }

    async fn how_many(&mut self) -> u32 {
        self.divided
    }
}

#[tidings::interface]
trait Write {
    async fn write(&mut self, line: String);
}

struct Log;

impl Write for Log {
    async fn write(&mut self, line: String) {
        println!("{line}");
    }
}

/// The tree before a crash, and after.
pub(crate) async fn crash() -> Result<[Inspection; 2], Box<dyn Error>> {
    let log: Child<WriteMessage> = Builder::new().name("log").interface_child(|| Log);
    let calculator = Builder::new().name("calculator");
    let calculator = calculator.interface_child(Careless::default);
    // A reference stays good for all lives of its actor.
    let (calculate, write): (CalculatorRef, WriteRef) = (calculator.reference(), log.reference());
    let office = Supervisor::new(Strategy::OneForOne)
        .name("office")
        .intensity(3, Duration::from_secs(5))
        .child(log)
        .child(calculator)
        .start();
    office.started().await??;
    assert_eq!(calculate.divide(6, 2).await?, 3);
    let before = inspect();

    // Who called hears of the crash at once, and why.
    let error = calculate.divide(1, 0).await.unwrap_err();
    write.write(format!("1 / 0: {error}")).await?;
    // Messages wait for the next life, which has a state of its own.
    assert_eq!(calculate.how_many().await?, 0);
    let after = inspect();

    office.stop();
    assert!(office.down().await.is_orderly());
    Ok([before, after])
}

#[tidings::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [before, after] = crash().await?;
    println!("before:\n{before}\nafter:\n{after}");
    Ok(())
}
