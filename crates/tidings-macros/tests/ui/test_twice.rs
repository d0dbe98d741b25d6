//! A test that already has a test attribute.

#[tidings_macros::test]
#[test]
async fn answers() {}

fn main() {}
