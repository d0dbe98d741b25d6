//! The user's own type error stands at the user's expression.

#[tidings_macros::main(crate = crate::elsewhere)]
async fn main() -> Result<(), String> {
    5
}

mod elsewhere {
    pub struct Runtime;
    impl Runtime {
        pub fn builder() -> Self {
            Self
        }
        pub fn build(self) -> Result<Self, String> {
            Ok(self)
        }
        pub fn block_on<F: Future>(&self, _: F) -> F::Output {
            unimplemented!()
        }
    }
}
