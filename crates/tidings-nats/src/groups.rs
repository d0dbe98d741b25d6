//! Groups of actors: the names below one.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use tidings::actor::Reference;
use tidings::channel::watch;
use tidings::remote::{Remote, quietly};

use crate::cluster::{Cluster, Inner, State};
use crate::names::{Name, NameError};

/// Groups that somebody watches, by their names, and what they are told.
pub(crate) type Watched = Vec<(Arc<str>, watch::Sender<Vec<String>>)>;

impl Cluster {
    /// Takes an actor into a group, under a name of its own. One that joins twice has two turns.
    ///
    /// # Errors
    /// As for [`register`](Self::register).
    pub async fn join_group<R>(&self, group: &str, reference: &R) -> Result<Name, NameError>
    where
        R: Reference<Message: Remote>,
    {
        let place = self.inner.lock().number();
        let me = &self.inner.me;
        let name = format!("{group}/{}.{:x}.{place}", me.node, me.incarnation);
        self.register(&name, reference).await
    }

    /// The members of a group that can be reached, in the order of their names: every actor whose name
    /// is below the group's.
    pub async fn group<R>(&self, group: &str) -> Vec<R>
    where
        R: Reference<Message: Remote>,
    {
        let names = self.inner.below(group);
        let found = join_all(names.iter().map(|name| self.lookup(name))).await;
        // Who is gone by now is none.
        found.into_iter().flatten().collect()
    }

    /// The names of the members of a group, in their order, as a value that is watched: first those that are
    /// there (`pg:monitor`, Akka's `Receptionist.Subscribe`). Each [leads](Self::lookup) to its actor. Of
    /// changes that come fast one after the other the last is seen. It closes when our membership ends.
    ///
    /// ```
    /// # use tidings::actor;
    /// # use tidings_nats::{Cluster, Options, memory::Server};
    /// # #[tidings::interface(remote)]
    /// # trait Square {
    /// #     async fn of(&mut self, n: u64) -> u64;
    /// # }
    /// # struct Worker;
    /// # impl Square for Worker {
    /// #     async fn of(&mut self, n: u64) -> u64 {
    /// #         n * n
    /// #     }
    /// # }
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let cluster = Cluster::join_on(Server::new().connect(), Options::new("shop", "one")).await.unwrap();
    /// let mut squares = cluster.watch_group("squares");
    /// assert!(squares.get().is_empty());
    /// let worker: SquareRef = actor::start(Worker);
    /// let _place = cluster.join_group("squares", &worker).await.unwrap();
    /// squares.changed().await.unwrap();
    /// let found: SquareRef = cluster.lookup(&squares.get()[0]).await.unwrap();
    /// assert_eq!(found, worker);
    /// # });
    /// ```
    #[must_use]
    pub fn watch_group(&self, group: &str) -> watch::Receiver<Vec<String>> {
        let mut state = self.inner.lock();
        if let Some((_, names)) = state
            .watched
            .iter()
            .find(|(watched, _)| **watched == *group)
        {
            return names.subscribe();
        }
        let (tell, names) = watch(state.below(group));
        if !state.over {
            state.watched.push((group.into(), tell));
        }
        names
    }

    /// Sends a copy of a message to every member of a group that can be reached; gives how many took
    /// one into their mailboxes, here or on the way to them. One that is full, or slow to be reached, is
    /// waited for, and keeps nothing from the others.
    pub async fn broadcast<R>(&self, group: &str, message: R::Message) -> usize
    where
        R: Reference<Message: Remote + Clone>,
    {
        let names = self.inner.below(group);
        let sends = names.iter().map(async |name| {
            let member: R = self.lookup(name).await.ok()?;
            member.recipient().send(message.clone()).await.ok()
        });
        join_all(sends).await.into_iter().flatten().count()
    }
}

impl State {
    /// The names of a group that are members', in their order; ours also if the engine has not told of
    /// them yet.
    fn below(&self, group: &str) -> Vec<String> {
        let prefix = format!("{group}/");
        let ours = self.held.range(prefix.clone()..);
        let ours = ours.take_while(|(name, _)| name.starts_with(&prefix));
        let ours = ours.filter(|(_, held)| held.is_ours());
        let ours = ours.map(|(name, _)| name.as_str());
        let all: BTreeSet<&str> = self.view.living_names(&prefix).chain(ours).collect();
        all.into_iter().map(str::to_owned).collect()
    }
}

impl Inner {
    pub(crate) fn below(&self, group: &str) -> Vec<String> {
        self.lock().below(group)
    }

    /// Names or members have changed: who watches a group hears of it if that has.
    pub(crate) fn regroup(&self) {
        let watched = self.lock().watched.clone();
        self.tell_groups(&watched);
        let is_gone = |(_, names): &mut (_, watch::Sender<_>)| names.is_closed();
        let gone: Watched = self.lock().watched.extract_if(.., is_gone).collect();
        drop(gone);
    }

    pub(crate) fn tell_groups(&self, watched: &Watched) {
        for (group, names) in watched {
            let changed = |names: &mut Vec<String>| {
                let before = std::mem::replace(names, self.below(group));
                before != *names
            };
            quietly(|| {
                names.send_if_modified(changed);
            });
        }
    }
}
