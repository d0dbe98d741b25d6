//! What the types promise: which of them may move between threads, and what must not compile.

#[macro_use]
mod probe;

mod auto;

#[test]
fn what_must_not_compile_does_not() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/surface/ui/*.rs");
    // There the compiler lists some of what is an event: which, hangs on the features.
    #[cfg(feature = "remote")]
    cases.compile_fail("tests/surface/ui/remote/*.rs");
}
