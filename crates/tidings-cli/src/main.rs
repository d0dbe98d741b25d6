//! The command line of tidings.
#![forbid(unsafe_code)]

mod arena;
mod cli;

use std::process::ExitCode;

use clap::Parser as _;

/// The system's allocator, which counts while the arena asks what an operation allocates; a
/// relaxed load and a branch otherwise.
#[global_allocator]
static ALLOCATOR: tidings_peer::Counting<std::alloc::System> =
    tidings_peer::Counting(std::alloc::System);

fn main() -> ExitCode {
    match cli::Cli::parse().command {
        cli::Command::Arena(arena) => arena::main(&arena),
        cli::Command::ArenaPeer(args) => tidings_peer::main(&args.system),
    }
}
