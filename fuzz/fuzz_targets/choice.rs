//! Choices of up to three branches over two channels of any kind, beside their model.
#![no_main]

#[path = "../../crates/tidings/tests/linear/model.rs"]
mod model;
#[path = "../../crates/tidings/tests/linear/play.rs"]
mod play;
#[path = "../../crates/tidings/tests/linear/real.rs"]
mod real;

libfuzzer_sys::fuzz_target!(|program: &[u8]| play::play(program, 3));
