//! An actor with no interface named, and one on a function.

#[tidings_macros::actor]
struct Tally;

#[tidings_macros::actor(Counter)]
fn tally() {}

fn main() {}
