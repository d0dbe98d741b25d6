//! What a task has panicked with, until somebody hears of it.

use std::any::Any;
use std::panic::{Location, resume_unwind};
use std::ptr::NonNull;

use super::cell::{Header, location};
use super::name;
use crate::primitive::Arc;
use crate::sched::{self, panics};

pub(crate) type Payload = Box<dyn Any + Send>;

/// What a panic carried that is on record as one that nobody has heard of (`sched/panics.rs`).
struct Noted {
    payload: Payload,
    text: Arc<str>,
}

/// What a task panics with that has told its parent of a panic.
struct Told(String);

/// What a panic says.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> String {
    panic_message(panic)
        .unwrap_or("a panic that is not text")
        .to_owned()
}

/// The same, if it was text.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> Option<&str> {
    let panic = match panic.downcast_ref::<Noted>() {
        Some(noted) => &*noted.payload,
        None => panic,
    };
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

/// A task has panicked with this. On record from here on, if its runtime watches.
#[cold]
pub(super) fn of_task(header: NonNull<Header>, payload: Payload) -> Payload {
    match payload.downcast::<Told>() {
        Ok(told) => Box::new(told.0),
        Err(payload) => note(header.addr().get(), location(header), payload),
    }
}

/// The task that runs here has panicked with this, and tells its parent. On record as with `of_task`.
#[cold]
pub(super) fn of_child(payload: Payload) -> Payload {
    let sched::Party { id, started } = sched::running();
    match started {
        Some(started) => note(id, started, payload),
        None => payload,
    }
}

fn note(task: usize, started: &'static Location<'static>, payload: Payload) -> Payload {
    let who = || format!("the {}", name::in_words(task, started));
    match panics::note(who, || text_of(&*payload).into()) {
        Some(text) => Box::new(Noted { payload, text }),
        None => payload,
    }
}

/// Ends the task as panicked, for its own handle, while the panic itself has gone to the parent. The panic hook has run
/// and does not run again.
pub(crate) fn resume(text: String) -> ! {
    resume_unwind(Box::new(Told(text)));
}

/// Somebody hears of the panic that carried this: gives it as it was.
#[cold]
pub(crate) fn heard(payload: Payload) -> Payload {
    match payload.downcast::<Noted>() {
        Ok(noted) => {
            let Noted { payload, text } = *noted;
            panics::heard(&text);
            payload
        }
        Err(payload) => payload,
    }
}

/// What this panic carried is dropped, and who waited to hear of it has not looked.
#[cold]
pub(super) fn left(payload: &(dyn Any + Send)) {
    if let Some(noted) = payload.downcast_ref::<Noted>() {
        panics::left(&noted.text);
    }
}
