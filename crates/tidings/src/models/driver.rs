//! `actor/driver.rs`: a kill against the polls of a driver.

use std::future::pending;

use super::{Ledger, block_on, explore, fork, seen};
use crate::actor::driver;
use crate::primitive::{Arc, OnceLock};

#[test]
fn a_driver_sees_a_kill_before_it_waits_or_is_woken_by_it() {
    explore("driver", &["polled", "not polled"], || {
        let ledger = Ledger::default();
        let (held, polled) = (ledger.value(1), Arc::new(OnceLock::new()));
        let note = Arc::clone(&polled);
        let (life, kill) = driver(async move {
            let _held = held;
            note.get_or_init(|| ());
            pending::<()>().await;
        });
        let killer = fork(kill);
        // A kill that is missed is a wait without end.
        block_on(life);
        seen(match polled.get() {
            Some(()) => "polled",
            None => "not polled",
        });
        ledger.balance();
        killer.join().unwrap();
    });
}
