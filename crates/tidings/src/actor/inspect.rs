//! How the live actors look from outside: for `tidings::inspect`, and for reports about tasks.

use std::collections::HashMap;

use super::cycle;
use super::life::{Life, Overflow};
use super::roll::{self, Counts};
use crate::event::waits::{self, Wait};
use crate::inspect::{Activity, ActorView};
use crate::primitive::Arc;

/// The actor of a task.
pub(crate) struct Named {
    pub(crate) id: u64,
    /// Its name or number.
    pub(crate) name: Arc<str>,
    /// It waits for a message.
    pub(crate) awaits: bool,
    counts: Counts,
}

impl Named {
    /// Has it taken all of the first so many messages that came to it? In words, of a request that is one of them.
    pub(crate) fn has_taken(&self, come: u64) -> String {
        match self.counts {
            Counts { left, kept: 0, .. } if left >= come => {
                "which has taken the request".to_owned()
            }
            Counts { queued, .. } => format!("with {queued} in its mailbox"),
        }
    }
}

/// The actors of all tasks that have one, by the addresses that waits know tasks by.
pub(crate) fn names_of_tasks() -> HashMap<usize, Named> {
    let mut names = HashMap::new();
    roll::each(|peer| {
        if let Some((task, _)) = peer.life().task() {
            let counts = peer.counts();
            let named = Named {
                id: peer.life().id,
                name: peer.life().label(),
                awaits: counts.awaited,
                counts,
            };
            names.insert(task, named);
        }
    });
    names
}

/// Every live actor, without children.
pub(crate) fn views() -> Vec<ActorView> {
    // Before the roll is locked.
    let waits = if waits::watched() {
        let waits = waits::all().into_iter();
        waits.map(|wait| (wait.waiter, wait)).collect()
    } else {
        HashMap::new()
    };
    let mut views = Vec::new();
    roll::each(|peer| views.push(view(peer.life(), peer.counts(), &waits)));
    // The names of those that are called, who are actors too.
    let names: HashMap<u64, Option<String>> = views
        .iter()
        .map(|view| (view.id, view.name.clone()))
        .collect();
    for view in &mut views {
        if let Activity::Calls(id, name) = &mut view.activity {
            *name = names.get(id).cloned().flatten();
        }
    }
    views
}

fn view(life: &Life, counts: Counts, waits: &HashMap<usize, Wait>) -> ActorView {
    let dropped = life.overflowed();
    // Those dropped as the oldest have left the channel, too, and so have dead letters and what is kept.
    let left = counts.left.saturating_sub(life.dead() + counts.kept as u64);
    let handled = match life.overflow {
        Overflow::DropOldest => left.saturating_sub(dropped),
        _ => left,
    };
    ActorView {
        id: life.id,
        name: life.name().map(|name| name.to_string()),
        started_by: life.parent(),
        incarnation: life.incarnation(),
        queued: counts.queued,
        capacity: counts.capacity,
        handled,
        dropped,
        activity: activity(life, counts, waits),
        children: Vec::new(),
    }
}

fn activity(life: &Life, counts: Counts, waits: &HashMap<usize, Wait>) -> Activity {
    if let Some(callee) = cycle::callee(life) {
        return Activity::Calls(callee, None);
    }
    if counts.awaited {
        return Activity::Idle;
    }
    if !life.is_lived() {
        return Activity::Unstarted;
    }
    match life.task() {
        Some((task, true)) if !life.is_busy() => {
            Activity::Waits(waits.get(&task).map(ToString::to_string))
        }
        _ => Activity::Runs,
    }
}
