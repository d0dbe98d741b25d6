//! An item that is no function.

#[tidings_macros::main]
struct Program;

fn main() {
    drop(Program);
}
