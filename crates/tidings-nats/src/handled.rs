//! What a handler of a queue's messages says of one: that is made of what such functions give.

use std::fmt;

use tidings::actor::CallError;

/// What a handler says of a message.
///
/// It is made of what handlers give: `Ok` is done, an error is a failure; so is a call that failed, and
/// one whose answer is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handled {
    /// It is done: acknowledge it.
    Done,
    /// It is to be tried again, later.
    Failed(String),
    /// To try it again does not help: set it aside, for this reason.
    Poison(String),
}

impl<E: fmt::Display> From<Result<(), E>> for Handled {
    fn from(result: Result<(), E>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

impl<E: fmt::Display> From<Result<Result<(), E>, CallError>> for Handled {
    fn from(result: Result<Result<(), E>, CallError>) -> Self {
        match result {
            Ok(answer) => answer.into(),
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

impl From<Result<Self, CallError>> for Handled {
    fn from(result: Result<Self, CallError>) -> Self {
        result.unwrap_or_else(|error| Self::Failed(error.to_string()))
    }
}
