//! What does not compile, and what the compiler says: of attributes that are misused, of what the types promise, and of
//! what cannot cross a link. That the attributes run what they are given: `stand_in.rs`.
//!
//! All of it stands in this crate, which needs the least for it: the cases are a project of their own, for which all that
//! the crate and its tests depend on is built once more. One test, as each would ask for that project anew; and no case
//! runs, as with one that does they are built one by one.

#[test]
fn errors_stand_at_the_users_words() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.compile_fail("tests/ui/types/*.rs");
    cases.compile_fail("tests/ui/remote/*.rs");
}
