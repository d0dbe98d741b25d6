//! What SEMANTICS.md promises, through the public API: one file per theme.

mod actor;
mod both;
mod broadcast;
mod cancel;
mod cell;
mod channel;
mod cycle;
mod deadlock;
mod event;
mod foreign;
mod hands;
mod help;
mod inspect;
mod interface;
mod known;
mod letter;
mod local;
mod names;
mod sched;
mod scope;
mod set;
mod shutdown;
#[cfg(unix)]
mod signal;
mod sim;
mod sync;
mod task;
mod time;
mod token;
mod watch;
