//! Bugs that other libraries shipped, as tests of ours. The name says whose, the comment where and
//! what went wrong there. `docs/trust/known-bugs.md` has the whole list.

mod cancel;
mod choice;
mod close;
mod sched;
mod traits;
