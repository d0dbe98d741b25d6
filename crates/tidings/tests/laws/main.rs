//! The laws of each primitive, stated once, and the engines that run programs against them.
//!
//! `history.rs` is what is known of a run, `laws.rs` what must hold of it, `programs/` what is run,
//! `engines/` who decides what happens next. Which primitive has which laws under which engines
//! stands in SEMANTICS.md ("The laws"), and `plan.rs` reads it there. Run by `cargo x laws`. Under shuttle the
//! races of `tests/it` run here, too (`storm.rs`).

#[cfg(shuttle)]
#[path = "../it/books.rs"]
mod books;
mod dice;
mod engines;
mod history;
mod laws;
#[path = "../it/letter.rs"]
mod letter;
mod party;
mod plan;
mod programs;
#[cfg(shuttle)]
#[path = "../it/races.rs"]
mod races;
mod refuted;
#[cfg(shuttle)]
mod storm;
mod trial;
mod waits;
