//! The attributes against a stand-in runtime: options, return types, `?`, and `crate = path`. A program of its own, as
//! its `main` is one of them. Not a case of `ui.rs`: with one that runs, all of those are built one by one, with all that
//! they depend on.

mod elsewhere {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    pub(crate) struct Runtime;
    pub(crate) struct Builder(usize);

    impl Runtime {
        pub(crate) fn builder() -> Builder {
            Builder(0)
        }
        pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
            let mut context = Context::from_waker(Waker::noop());
            match pin!(future).poll(&mut context) {
                Poll::Ready(output) => output,
                Poll::Pending => panic!("the stand-in does not wait"),
            }
        }
    }

    impl Builder {
        pub(crate) fn workers(self, workers: usize) -> Self {
            Self(workers)
        }
        pub(crate) fn watch_deadlocks(self, patience: std::time::Duration) -> Self {
            assert!(!patience.is_zero());
            self
        }
        pub(crate) fn build(self) -> std::io::Result<Runtime> {
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

/// As a program's own.
#[tidings_macros::main(crate = "crate::elsewhere", workers = 3, deadlocks = true)]
pub async fn main() -> impl std::process::Termination {
    assert_eq!(parsed().unwrap(), 7);
}
