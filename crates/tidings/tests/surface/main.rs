//! What the types promise: which of them may move between threads, and what must not compile.

#[macro_use]
mod probe;

mod auto;

#[test]
fn what_must_not_compile_does_not() {
    trybuild::TestCases::new().compile_fail("tests/surface/ui/*.rs");
}
