//! What links promise: SEMANTICS.md, section "Links".

mod anywhere;
mod calls;
#[cfg(target_os = "linux")]
mod children;
mod codec;
mod faults;
mod formats;
mod help;
mod idle;
mod known;
mod late;
mod limits;
mod python;
mod sockets;
mod streams;
mod travel;
mod turns;
