//! What links promise: SEMANTICS.md, section "Links".

mod calls;
mod help;
mod travel;
