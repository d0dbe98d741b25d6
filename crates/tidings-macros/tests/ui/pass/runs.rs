//! The attributes against a stand-in runtime: options, return types, `?`, and `crate = path`.

mod elsewhere {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    pub struct Runtime;
    pub struct Builder(usize);

    impl Runtime {
        pub fn builder() -> Builder {
            Builder(0)
        }
        pub fn block_on<F: Future>(&self, future: F) -> F::Output {
            let mut context = Context::from_waker(Waker::noop());
            match pin!(future).poll(&mut context) {
                Poll::Ready(output) => output,
                Poll::Pending => panic!("the stand-in does not wait"),
            }
        }
    }

    impl Builder {
        pub fn workers(self, workers: usize) -> Self {
            Self(workers)
        }
        pub fn watch_deadlocks(self, patience: std::time::Duration) -> Self {
            assert!(!patience.is_zero());
            self
        }
        pub fn build(self) -> std::io::Result<Runtime> {
            assert_eq!(self.0, super::WORKERS);
            Ok(Runtime)
        }
    }
}

const WORKERS: usize = 3;

#[tidings_macros::main(workers = WORKERS, crate = crate::elsewhere)]
async fn parsed(/* no arguments */) -> Result<u8, Box<dyn std::error::Error>> {
    let number: u8 = "7".parse()?;
    if number > 7 {
        return Err("too much".into());
    }
    Ok(number)
}

#[tidings_macros::main(crate = "crate::elsewhere", workers = 3, deadlocks = true,)]
pub async fn main() -> impl std::process::Termination {
    assert_eq!(parsed().unwrap(), 7);
}
