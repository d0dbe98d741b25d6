//! What the attributes say when they are misused, and that they run what they are given.

#[test]
fn errors_stand_at_the_users_words() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
