//! What the types promise: which of them may move between threads. What must not compile:
//! `crates/tidings-macros/tests/ui`.

#[macro_use]
mod probe;

mod auto;
