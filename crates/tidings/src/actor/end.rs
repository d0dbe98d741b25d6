//! The end of an actor's life, and of the actor: what happens when its state is gone.
//!
//! In this order: the children end; the life is over (`Life::over`), which links hear. If a supervisor
//! watches it is told, and decides; the mailbox stays. If not, the mailbox is closed and emptied,
//! callers hear why; its names and memberships end; and whoever waits for the end hears of it.
//!
//! Children may wait for what they wait to end: those that are linked hear first, and a mailbox for which
//! no life follows is closed and emptied before; of one that stays see `cycle.rs`
//! (docs/decisions/17-who-waits-at-an-end.md).

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::any::{AnyRef, Kin};
use super::call::CallError;
use super::cycle;
use super::driver;
use super::exit::{Exit, leaving};
use super::life::{Hand, Life, Signal, Stop};
use super::link;
use super::parcel::Parcel;
use super::roll::Entry;
use crate::channel::chan::Chan;
use crate::channel::refs::ReceiverRef;
#[cfg(all(test, not(any(loom, shuttle))))]
use crate::channel::refs::SenderRef;
use crate::task::{go_on, quietly};

/// What an actor has done with its undelivered messages.
pub(super) type Undelivered<M> = Box<dyn FnMut(M, &Exit) + Send>;

/// The mailbox of an actor that ends, whatever its messages are: what follows is compiled once.
trait Ending: Send {
    fn beside(&self) -> &Life;
    fn any(&self) -> AnyRef;
    fn discard(&self, exit: &Exit);
    fn another(&self) -> Box<dyn Ending>;
    fn waits_for_end(&self, child: u64);
}

impl<M: Send + 'static> Ending for ReceiverRef<Parcel<M>, Life> {
    fn beside(&self) -> &Life {
        (**self).beside()
    }

    fn any(&self) -> AnyRef {
        AnyRef::new(self.downgrade())
    }

    fn discard(&self, exit: &Exit) {
        discard(self, exit);
    }

    fn another(&self) -> Box<dyn Ending> {
        Box::new(self.clone())
    }

    fn waits_for_end(&self, child: u64) {
        let entry = || Entry::new(self.downgrade());
        cycle::waits_for_end(&**self, &entry, child);
    }
}

/// The state of a life is gone. Ends its children first.
pub(super) fn conclude<M: Send + 'static>(mailbox: &ReceiverRef<Parcel<M>, Life>, exit: Exit) {
    over_after_children(mailbox, exit);
}

fn over_after_children(mailbox: &dyn Ending, exit: Exit) {
    let life = mailbox.beside();
    let children = life.take_children();
    if children.is_empty() {
        return over(mailbox, exit);
    }
    let linked = life.links_with(&children);
    let told = link::tell(&mailbox.any(), &exit, &linked);
    if life.guardian().is_none() {
        // Who sends meanwhile hears this.
        life.fails(exit.clone());
        mailbox.discard(&exit);
    }
    await_children(Last {
        mailbox: mailbox.another(),
        exit,
        children,
    });
    go_on(told);
}

/// In a task of its own, or by another driver: that of the life may be over already. It is the life's
/// from here on, so that a kill reaches it. Without a runtime and an executor the children are killed.
fn await_children(last: Last) {
    let mailbox = last.mailbox.another();
    let life = mailbox.beside();
    if let Some(executor) = life.executor() {
        // It is a user's: there is nobody to be told of its panic.
        quietly(|| driver::start(executor, last.wait(), life));
    } else if crate::sched::is_inside() {
        let run = life.next_run();
        let task = crate::spawn(last.wait());
        life.runs_as(run, Hand::Task(task.abort_handle()));
    }
}

/// A life that waits for its children. Dropped, it is over, and they are killed; if it was to be ended
/// meanwhile (a kill, the deadline of a supervisor), it waits for that.
struct Last {
    mailbox: Box<dyn Ending>,
    exit: Exit,
    children: BTreeMap<u64, Box<dyn Kin>>,
}

impl Last {
    async fn wait(mut self) {
        let killed = matches!(self.exit, Exit::Killed | Exit::Linked { .. });
        if killed {
            for child in self.children.values() {
                child.life().doom(Exit::Killed);
            }
        }
        // The last that came goes first.
        for (&id, child) in self.children.iter().rev() {
            if !killed {
                child.signal(Signal::Stop(Stop::Drain));
            }
            self.mailbox.waits_for_end(id);
            let _ = child.life().life_over().await;
        }
        self.children.clear();
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        let children = std::mem::take(&mut self.children);
        let life = self.mailbox.beside();
        let waits = !children.is_empty();
        match waits.then(|| life.doomed()).flatten() {
            Some(exit) if crate::sched::is_inside() || life.executor().is_some() => {
                await_children(Self {
                    mailbox: self.mailbox.another(),
                    exit,
                    children,
                });
            }
            _ => {
                cycle::life_over(life);
                // Nobody waits for them.
                for child in children.values() {
                    quietly(|| child.life().doom(Exit::Killed));
                }
                over(&*self.mailbox, self.exit.clone());
            }
        }
    }
}

fn over(mailbox: &dyn Ending, exit: Exit) {
    let life = mailbox.beside();
    let over = life.over(&exit);
    let links = over.links.as_ref();
    let told = links.map_or(Ok(()), |links| link::tell(&mailbox.any(), &exit, links));
    match over.guardian {
        Some(guardian) => {
            exit.heard();
            guardian.is_over(exit);
            life.turned();
        }
        None => close(mailbox, exit),
    }
    go_on(told);
}

/// No life is being lived, and none follows: the actor has ended.
pub(super) fn finish<M: Send + 'static>(mailbox: &ReceiverRef<Parcel<M>, Life>, exit: &Exit) {
    over(mailbox, exit.clone());
}

/// The exit is recorded. Nobody will take messages any more.
fn close(mailbox: &dyn Ending, exit: Exit) {
    mailbox.discard(&exit);
    let life = mailbox.beside();
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(life.hook())));
    let left = catch_unwind(AssertUnwindSafe(|| life.leave()));
    let announced = catch_unwind(AssertUnwindSafe(|| life.announce()));
    life.leave_parent();
    go_on(dropped.and(left).and(announced));
}

/// A mailbox was dropped, and the life goes on: nobody takes what is in it, but where another life follows.
#[cold]
pub(super) fn forsake<M: Send + 'static>(mailbox: &Chan<Parcel<M>, Life>) {
    // Told to stop for good it has closed the mailbox.
    let another = mailbox.beside().was_stopped() && mailbox.locked(|state| !state.is_closed());
    if !another {
        discard(mailbox, &Exit::Normal);
    }
}

/// Closes and empties a mailbox.
pub(super) fn discard<M: Send + 'static>(mailbox: &Chan<Parcel<M>, Life>, exit: &Exit) {
    let mut dead = mailbox.empty().peekable();
    if dead.peek().is_none() {
        return;
    }
    let life = mailbox.beside();
    let mut hook = life.undelivered::<M>();
    bury(life, exit, dead, |parcel| match &mut hook {
        Some(hook) => {
            exit.heard();
            hook(parcel.message, exit);
        }
        None => drop(parcel),
    });
    if let Some(hook) = hook {
        life.set_undelivered(hook);
        if life.exit().is_some() {
            // The actor has ended meanwhile, and may not have found it.
            quietly(|| drop(life.hook()));
        }
    }
}

/// As `discard`, of a mailbox that another task held beyond the actor's end: what was to be done with undelivered
/// messages is forgotten by then.
#[cold]
pub(super) fn discard_late<M>(mailbox: &Chan<Parcel<M>, Life>, exit: &Exit) {
    bury(mailbox.beside(), exit, mailbox.empty(), drop);
}

/// Counts messages that nobody is left to take, and does this with each, whose caller hears that it was not executed.
fn bury<M>(
    life: &Life,
    exit: &Exit,
    mut dead: impl Iterator<Item = Parcel<M>>,
    mut each: impl FnMut(Parcel<M>),
) {
    bury_all(life, exit, &mut |is_one| {
        if let Some(parcel) = dead.next() {
            *is_one = true;
            each(parcel);
        }
    });
}

/// As `bury`: `next` does it with the next, and says before whether there is one.
fn bury_all(life: &Life, exit: &Exit, next: &mut dyn FnMut(&mut bool)) {
    let mut n = 0;
    leaving(CallError::NotExecuted(exit.clone()), || {
        loop {
            let mut is_one = false;
            // What is done with a message is user code, and so is its drop; there is nobody left whose
            // panic it could be.
            quietly(|| next(&mut is_one));
            if !is_one {
                break;
            }
            n += 1;
        }
    });
    life.bury(n);
}

impl Life {
    /// Says what is done with undelivered messages from here on.
    pub(super) fn set_undelivered<M: Send + 'static>(&self, hook: Undelivered<M>) {
        let hook: Box<dyn Any + Send> = Box::new(hook);
        let before = self
            .chan()
            .locked(|state| state.ties().undelivered.replace(hook));
        drop(before);
    }

    fn undelivered<M: Send + 'static>(&self) -> Option<Undelivered<M>> {
        let hook = self.hook()?.downcast().ok()?;
        Some(*hook)
    }

    /// An `Undelivered<M>`.
    fn hook(&self) -> Option<Box<dyn Any + Send>> {
        self.chan()
            .locked(|state| state.known_ties().and_then(|ties| ties.undelivered.take()))
    }
}

/// The mailbox of an actor that no task lives, in unit tests: without this it would stay on the roll.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) struct Unlived<M: Send + 'static>(ReceiverRef<Parcel<M>, Life>);

#[cfg(all(test, not(any(loom, shuttle))))]
impl<M: Send + 'static> Drop for Unlived<M> {
    fn drop(&mut self) {
        // Nobody begins another life, so that the end of this one is the actor's.
        let exit = self.0.beside().abandon();
        finish(&self.0, &exit.unwrap_or(Exit::Killed));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl super::Builder {
    pub(super) fn unlived<M: Send + 'static>(self) -> (SenderRef<Parcel<M>, Life>, Unlived<M>) {
        let (sender, receiver) = self.mailbox();
        (sender, Unlived(receiver))
    }
}
