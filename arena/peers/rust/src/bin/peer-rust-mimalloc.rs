//! The pack on mimalloc.

use mimalloc::MiMalloc;
use peer_protocol::Counting;

#[global_allocator]
static ALLOCATOR: Counting<MiMalloc> = Counting(MiMalloc);

fn main() -> std::process::ExitCode {
    peer_rust::protocol::main(true)
}
