//! What the types promise: which of them may move between threads.

use tidings_sim::{Chart, Failure, Kind, Node, Sim, Strategy, Summary, World, linear};

use probe::{No, Row};

#[macro_use]
#[path = "../../tidings/tests/surface/probe.rs"]
mod probe;

/// A run has one thread: what belongs to it stays there; what tells of it moves.
fn all() -> Vec<Row> {
    let all = plain! {
        "Chart": Chart => "SYU";
        "Failure": Failure => "SYU";
        "Kind": Kind => "SYU";
        "Node": Node => "SYU";
        "Sim": Sim => "SYU";
        "Strategy": Strategy => "SYU";
        "Summary": Summary => "SYU";
        "World": World => "SYU";
        "linear::Call": linear::Call<u8, u8> => "SYU";
    };
    all.to_vec()
}

#[test]
fn types_move_between_threads_as_listed() {
    probe::agree(&all());
}

#[test]
fn every_public_type_is_listed() {
    let api = include_str!("../public-api.txt");
    probe::are_complete(&all(), api, "tidings_sim", 9, &[]);
}
