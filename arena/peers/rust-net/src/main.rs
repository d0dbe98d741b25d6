//! The Rust network pack of the arena: the `net` cells of `WORKLOADS.md` on bare tokio sockets, on `tokio_util`'s codec,
//! and on tonic, tarpc and remoc, behind the peer protocol.

mod bare;
mod cells;
mod codec;
mod drive;
mod mux;
mod protocol;
mod remoc_link;
mod tarpc_link;
mod tcp;
mod tonic_link;

fn main() -> std::process::ExitCode {
    protocol::main()
}
