//! What SEMANTICS.md promises, through the public API: one file per theme.

mod actor;
mod alarms;
mod ask;
mod beside;
mod blocking;
mod books;
mod both;
mod branch;
mod broadcast;
mod builder;
mod by_hand;
mod cancel;
mod cell;
mod channel;
mod children;
mod circle;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod confined;
mod conserve;
mod cycle;
mod deadlock;
#[cfg(unix)]
mod descriptor;
mod driver;
mod elsewhere;
mod endings;
mod enter;
mod event;
mod failing;
mod fair;
mod flow;
mod foreign;
mod gallery;
mod groups;
mod handler;
mod hands;
mod inspect;
mod interface;
mod join;
mod known;
mod letter;
mod lifecycle;
mod limit;
mod link;
mod local;
mod local_ends;
mod local_tasks;
mod many;
mod methods;
mod names;
mod net;
mod once;
mod owned;
mod owning;
mod panics;
mod plain;
mod process;
mod races;
mod record;
mod reentrant;
mod requests;
mod roots;
mod runtimes;
mod scale;
mod sched;
mod scope;
mod selective;
mod set;
mod shutdown;
#[cfg(unix)]
mod signal;
mod sim;
mod sinks;
mod storm;
mod stream;
mod streaming;
mod supervisor;
mod sync;
mod task;
#[cfg(target_os = "linux")]
mod threads;
mod time;
mod token;
mod unanswered;
mod uncertain;
mod unheard;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "linux")]
mod urgent;
#[cfg(unix)]
mod waits;
mod watch;
mod who;
