//! One channel of any kind: every operation beside its model.
#![no_main]

#[path = "../../crates/tidings/tests/linear/model.rs"]
mod model;
#[path = "../../crates/tidings/tests/linear/play.rs"]
mod play;
#[path = "../../crates/tidings/tests/linear/real.rs"]
mod real;

libfuzzer_sys::fuzz_target!(|program: &[u8]| play::play(program, 1));
