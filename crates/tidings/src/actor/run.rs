//! The task of an actor's life: runs its function. What follows is in `end.rs`.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::call::CallError;
use super::cycle;
use super::driver::Place;
use super::end::{conclude, forsake};
use super::exit::{Exit, IntoExit, leaving, tell_dropped, tell_unanswered};
use super::life::{Hand, Life};
use super::parcel::Parcel;
use super::roll::Entry;
use super::{blocking, driver};
use crate::channel::refs::ReceiverRef;
use crate::primitive::Arc;
use crate::sched::{self, panics};
use crate::task::quietly;

/// The future of an actor's task.
///
/// The end, in this order: the function's state is dropped, and callers whose requests it holds hear
/// why; then comes what `end.rs` says. It keeps a receiver of the mailbox: what the function leaves
/// there is the next life's, or is dropped when the reason is known.
pub(super) struct Run<M: Send + 'static, F> {
    /// With the mailbox and the actor's state in it.
    future: Option<F>,
    chan: ReceiverRef<Parcel<M>, Life>,
    /// Entered whenever it runs.
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl<M: Send + 'static, F> Run<M, F> {
    pub(super) fn new(future: F, chan: ReceiverRef<Parcel<M>, Life>) -> Self {
        let run = Self {
            #[cfg(feature = "tracing")]
            span: tracing::Span::none(),
            future: Some(future),
            chan,
        };
        #[cfg(feature = "tracing")]
        let run = run.with_span();
        run
    }

    /// Not before all else is there: a subscriber may panic, and that is the actor's end. And in no other span: that of who
    /// starts it would last as long as the actor.
    #[cfg(feature = "tracing")]
    fn with_span(mut self) -> Self {
        let life = self.chan.beside();
        let name = life.name();
        self.span =
            tracing::info_span!(parent: None, "actor", id = life.id, name = name.as_deref());
        self
    }

    /// Starts what runs it. `life`: its own, by another reference.
    #[track_caller]
    pub(super) fn start(self, place: Place, life: &Life)
    where
        F: Future<Output: IntoExit> + Send + 'static,
    {
        let run = life.next_run();
        let task = match place {
            Place::Task => crate::spawn(self),
            Place::Thread => {
                let entry = Entry::new(self.chan.downgrade());
                blocking::spawn(Box::pin(self), entry)
            }
            Place::Executor(executor) => return driver::start(executor, self, life),
        };
        life.runs_as(run, Hand::Task(task.abort_handle()));
    }

    /// The only caller is `poll`.
    #[inline(always)]
    fn turn(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>
    where
        F: Future<Output: IntoExit>,
    {
        // SAFETY: the future stays pinned until it is dropped in place; nothing else is pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let Some(mut future) = future.as_pin_mut() else {
            return Poll::Ready(());
        };
        #[cfg(feature = "tracing")]
        let span = this.span.clone();
        #[cfg(feature = "tracing")]
        let _entered = span.enter();
        let polled = loop {
            cycle::begin(this.chan.beside());
            let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
            if !cycle::end(&this.chan, matches!(polled, Ok(Poll::Pending))) {
                break polled;
            }
        };
        let returned = match polled {
            Ok(Poll::Pending) => {
                tell_dropped();
                if this.chan.beside().is_deaf() {
                    forsake(&this.chan);
                }
                return Poll::Pending;
            }
            Ok(Poll::Ready(output)) => Ok(output.into_exit()),
            Err(payload) => Err(payload),
        };
        let exit = self::returned(this.chan.beside(), returned);
        this.end(exit);
        Poll::Ready(())
    }

    #[cold]
    fn end(&mut self, exit: Exit) {
        // What is left in the mailbox is not that of the life that is over.
        self.chan.beside().deafen();
        let future = &mut self.future;
        let exit = drop_state(self.chan.beside(), exit, &mut || *future = None);
        conclude(&self.chan, exit);
    }
}

/// The function of an actor has returned, or panicked.
#[cold]
fn returned(life: &Life, returned: Result<Exit, Box<dyn Any + Send>>) -> Exit {
    let (exit, payload) = match returned {
        Ok(Exit::Normal) => (life.last_word(), None),
        Ok(exit) => (exit, None),
        Err(payload) => (panicked(life, &*payload), Some(payload)),
    };
    tell_unanswered(&exit);
    // Its drop is user code, whose panic changes nothing.
    quietly(|| drop(payload));
    exit
}

/// The exit that this panic is. On record until somebody hears of it, if the runtime watches.
#[cold]
fn panicked(life: &Life, payload: &(dyn Any + Send)) -> Exit {
    let exit = Exit::panicked(payload);
    if let Exit::Panicked(text) = &exit {
        let who = || {
            let who = match life.name() {
                Some(name) => format!("the actor {name:?}"),
                None => format!("the actor {}", life.id),
            };
            // Before it is known it is not polled but here.
            match life.started().or_else(|| sched::running().started) {
                Some(at) => format!("{who} started at {at}"),
                None => who,
            }
        };
        panics::note(who, || Arc::clone(text));
    }
    exit
}

/// A life is over: drops the state of its function, and gives the exit.
#[cold]
fn drop_state(life: &Life, exit: Exit, drops: &mut dyn FnMut()) -> Exit {
    cycle::life_over(life);
    // Its drop is user code: a panic there is the actor's.
    let dropped = leaving(CallError::Ended(exit.clone()), || {
        catch_unwind(AssertUnwindSafe(drops))
    });
    match dropped {
        Ok(()) => exit,
        Err(panic) => {
            // It is this one that is told.
            exit.heard();
            panicked(life, &*panic)
        }
    }
}

impl<M: Send + 'static, F: Future<Output: IntoExit>> Future for Run<M, F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let outer = cycle::nests();
        let polled = self.turn(cx);
        cycle::returns(outer);
        polled
    }
}

impl<M: Send + 'static, F> Drop for Run<M, F> {
    fn drop(&mut self) {
        // Aborted, or its runtime has shut down.
        if self.future.is_some() {
            self.end(self.chan.beside().take_doom());
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::pending;

    use super::super::Builder;
    use super::{Exit, Hand};

    #[test]
    fn what_ran_a_life_before_is_not_known_instead_of_what_runs_it_now() {
        let runtime = crate::Runtime::new().unwrap();
        runtime.block_on(async {
            let (sender, _unlived) = Builder::new().unlived::<u8>();
            let life = sender.beside();
            let numbers = [life.next_run(), life.next_run()];
            let tasks = [0; 2].map(|_| crate::spawn(pending::<()>()));
            for known in [1, 0] {
                let hand = Hand::Task(tasks[known].abort_handle());
                life.runs_as(numbers[known], hand);
            }
            life.doom(Exit::Killed);
            let [before, now] = tasks;
            assert!(now.await.is_err());
            assert!(!before.is_finished());
        });
    }
}
