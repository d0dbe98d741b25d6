//! What links promise: SEMANTICS.md, section "Links".

mod anywhere;
mod arrivals;
mod aside;
mod authority;
mod backlog;
mod batches;
mod by_hand;
mod calls;
#[cfg(target_os = "linux")]
mod children;
mod codec;
mod credit;
mod crowd;
mod drained;
mod earned;
mod ended;
mod executed;
mod faults;
mod formats;
mod hostile;
mod idle;
mod intercept;
mod kept;
mod killed;
mod known;
mod late;
mod limits;
mod lost;
mod nodes;
mod python;
mod replay;
mod secured;
mod silence;
mod sockets;
mod streams;
mod travel;
mod turns;
mod twice;
#[cfg(unix)]
mod unix;
