//! The pack on the system's allocator; hands over to its sibling for a `-mimalloc` system.

use peer_protocol::Counting;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

fn main() -> std::process::ExitCode {
    peer_rust::protocol::main(false)
}
