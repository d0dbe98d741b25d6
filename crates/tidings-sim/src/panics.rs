//! Panics inside of a simulation are caught and told in its report, instead of being printed for
//! each of the thousand runs that lead to it.

use std::cell::RefCell;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

/// A panic of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Panicked {
    pub(crate) message: String,
    /// File, line and column.
    pub(crate) at: String,
}

thread_local! {
    static CAUGHT: RefCell<Option<Vec<Panicked>>> = const { RefCell::new(None) };
}

/// Runs `f`; gives the panics of this thread meanwhile, which are not printed.
pub(crate) fn catching<R>(f: impl FnOnce() -> R) -> (R, Vec<Panicked>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !note(info) {
                before(info);
            }
        }));
    });
    let outer = CAUGHT.replace(Some(Vec::new()));
    let result = f();
    let caught = CAUGHT.replace(outer);
    (result, caught.unwrap_or_default())
}

/// The last panic that was caught.
pub(crate) fn last() -> Option<Panicked> {
    CAUGHT.with_borrow(|caught| caught.as_ref()?.last().cloned())
}

fn note(info: &PanicHookInfo<'_>) -> bool {
    let noted = CAUGHT.try_with(|caught| {
        let Ok(mut caught) = caught.try_borrow_mut() else {
            return false;
        };
        let Some(caught) = caught.as_mut() else {
            return false;
        };
        caught.push(Panicked {
            message: message(info.payload()),
            at: info.location().map_or(String::new(), ToString::to_string),
        });
        true
    });
    noted.unwrap_or(false)
}

/// What a panic carried, if it was text.
pub(crate) fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without text").to_owned()
}
