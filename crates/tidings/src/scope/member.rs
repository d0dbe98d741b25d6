//! A child's end of its scope.

use std::any::Any;
use std::task::Poll;

use super::{Failure, Scope};
use crate::event::offer::Judge;
use crate::task::child::Parent;
use crate::task::panic::{heard, resume, text_of};
use crate::task::{first, go_on, wake_each};

/// A child's end of the scope.
pub(super) struct Member<E> {
    /// `None` once it has left.
    pub(super) scope: Option<Scope<E>>,
    pub(super) key: u64,
}

impl<E> Member<E> {
    fn leave(&mut self, failure: Option<Failure<E>>) {
        let Some(scope) = self.scope.take() else {
            return;
        };
        // A panic goes on when the scope has heard of the end: else it waits for ever.
        let failed = failure.map_or(Ok(()), |failure| scope.fail(failure));
        let (over, waker) = scope.source.locked(|state| {
            state.live -= 1;
            // Two for one, so that there are never more than of tasks that are not over.
            let over = [state.over(), state.over()];
            let own = state.aborts.remove(&self.key).flatten();
            state.parting.extend(own);
            if state.live > 0 {
                return (over, None);
            }
            let claimed = state.ended.claim(|_| Judge::Take);
            // The scope ends here and now: nobody starts another child before it looks.
            state.cancelled |= claimed.is_some();
            (over, claimed.map(|claimed| claimed.commit(false)))
        });
        drop(over);
        go_on(first(failed, wake_each(waker)));
    }
}

impl<E> Drop for Member<E> {
    fn drop(&mut self) {
        self.leave(None);
    }
}

/// The parent of a child whose output is its handle's.
pub(super) struct Plain<E>(pub(super) Member<E>);

impl<T, E> Parent<T> for Plain<E> {
    type Output = T;

    fn ended(&mut self, output: Result<T, Box<dyn Any + Send>>) -> Poll<T> {
        Poll::Ready(self.0.unwrap_or_fail(output))
    }
}

/// The parent of a child whose error is the scope's.
pub(super) struct Fallible<E>(pub(super) Member<E>);

impl<T, E> Parent<Result<T, E>> for Fallible<E> {
    type Output = T;

    fn ended(&mut self, output: Result<Result<T, E>, Box<dyn Any + Send>>) -> Poll<T> {
        match self.0.unwrap_or_fail(output) {
            Ok(output) => Poll::Ready(output),
            Err(error) => {
                // The failure aborts this task too, which is how its handle ends.
                self.0.leave(Some(Failure::Error(error)));
                Poll::Pending
            }
        }
    }
}

impl<E> Member<E> {
    fn unwrap_or_fail<T>(&mut self, output: Result<T, Box<dyn Any + Send>>) -> T {
        match output {
            Ok(output) => output,
            Err(panic) => {
                let text = text_of(&*panic);
                let hears = self.scope.as_ref().is_some_and(Scope::hears);
                let panic = if hears { heard(panic) } else { panic };
                self.leave(Some(Failure::Panic(panic)));
                resume(text)
            }
        }
    }
}
