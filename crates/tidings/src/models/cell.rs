//! `primitive/cell.rs`: what all other models lean on, that memory which is freed while another still uses it
//! is seen.

use std::sync::Arc;

use super::{explore, fork, seen};
use crate::primitive::{UnsafeCell, freed};

/// One uses the memory, another frees it, after it has heard of that or not.
fn used_and_freed(waits: bool) {
    explore("cell", &["used"], move || {
        let cell = Arc::new(UnsafeCell::new(0));
        let other = Arc::clone(&cell);
        let user = fork(move || {
            // To read is enough.
            other.with(|_| seen("used"));
        });
        if waits {
            user.join().unwrap();
            freed(&cell);
        } else {
            freed(&cell);
            user.join().unwrap();
        }
    });
}

#[test]
fn memory_is_freed_after_its_last_use() {
    used_and_freed(true);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn memory_that_is_freed_while_another_uses_it_is_seen() {
    used_and_freed(false);
}
