//! Actors and coroutines of Rust, on the system's allocator.

use peer_protocol::Counting;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

fn main() -> std::process::ExitCode {
    peer_rust_actors::protocol::main()
}
