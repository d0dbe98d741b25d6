//! Task-local values: there inside their scope, on every thread and executor, and nowhere else.

use crate::both::on_all;
use crate::by_hand::{on_tokio, poll};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use tidings::yield_now;

tidings::task_local! {
    static NUMBER: u32;
    /// Two in one declaration.
    static WORD: String;
}

#[test]
fn each_task_sees_its_own_value_at_every_poll() {
    on_all(|| async {
        let tasks = (0..50).map(|n| {
            tidings::spawn(NUMBER.scope(n, async move {
                for _ in 0..20 {
                    assert_eq!(NUMBER.get(), n);
                    yield_now().await;
                }
            }))
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert!(NUMBER.try_with(|_| ()).is_err());
    });
}

#[test]
fn a_spawned_task_inherits_nothing() {
    on_all(|| {
        NUMBER.scope(1, async {
            let child = tidings::spawn(async { NUMBER.try_with(|n| *n) });
            assert!(child.await.unwrap().is_err());
        })
    });
}

#[test]
fn an_inner_scope_hides_the_outer_one() {
    let nested = WORD.scope("outer".into(), async {
        let inner = WORD.scope("inner".into(), async {
            yield_now().await;
            WORD.get()
        });
        (inner.await, WORD.get())
    });
    assert_eq!(on_tokio(nested), ("inner".into(), "outer".into()));
}

#[test]
fn a_dropped_scope_drops_its_future_inside() {
    struct Witness(Arc<Mutex<Option<u32>>>);
    impl Drop for Witness {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = NUMBER.try_with(|n| *n).ok();
        }
    }
    let seen = Arc::new(Mutex::new(None));
    {
        let witness = Witness(Arc::clone(&seen));
        let mut scope = pin!(NUMBER.scope(9, async move {
            let _witness = witness;
            std::future::pending::<()>().await;
        }));
        assert!(poll(scope.as_mut()).is_pending());
    }
    assert_eq!(*seen.lock().unwrap(), Some(9));
}

#[test]
fn a_panic_puts_the_outer_value_back() {
    NUMBER.sync_scope(1, || {
        let inner = std::panic::catch_unwind(|| NUMBER.sync_scope(2, || panic!("on purpose")));
        assert!(inner.is_err());
        assert_eq!(NUMBER.get(), 1);
        // A scope inside a look at the value is a mistake that is named, not an abort.
        let inside = std::panic::catch_unwind(|| NUMBER.with(|_| NUMBER.sync_scope(3, || ())));
        assert!(inside.is_err());
        assert_eq!(NUMBER.get(), 1);
    });
}
