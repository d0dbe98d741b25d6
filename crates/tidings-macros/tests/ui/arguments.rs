//! Functions that take arguments or are generic.

#[tidings_macros::main]
async fn main(count: usize, name: String) {
    drop((count, name));
}

#[tidings_macros::test]
async fn answers<T>(value: T) {
    drop(value);
}
