//! The lease of a membership: entered, kept, and written down as over; and what is done at each beat.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future;
use tidings::Event;
use tidings::time::{Instant, timeout};

use crate::cluster::Inner;
use crate::engine::{EngineError, Expect, Subscription};
use crate::member::{Down, Ended};
use crate::options::JoinError;
use crate::record::{CLUSTER, Record, json, node_key};
use crate::route;
use crate::tries::Tries;
use crate::view::Condemned;

impl Inner {
    /// Is this engine our cluster's? It is whose it says, and ours if it says nothing.
    async fn mark(&self) -> Result<(), JoinError> {
        let ours = self.options.cluster.as_bytes();
        loop {
            let there = self.engine.read(CLUSTER).await?;
            if let Some(theirs) = there.and_then(|there| there.value) {
                let name = || String::from_utf8_lossy(&theirs).into_owned();
                return match theirs == ours {
                    true => Ok(()),
                    false => Err(JoinError::OtherCluster(name())),
                };
            }
            let ours = self.options.cluster.clone().into();
            let written = self.engine.write(CLUSTER, ours, Expect::Absent, None);
            match written.await {
                // Another was faster.
                Err(EngineError::Conflict) => {}
                written => return written.map(drop).map_err(JoinError::from),
            }
        }
    }

    /// Writes our record, whatever was there: we take the place of a life before. Gives where others ask
    /// us, which is heard before they can know of us.
    pub(crate) async fn enter(&self, tries: &mut Tries) -> Result<Subscription, JoinError> {
        let key = node_key(&self.me.node);
        let inbox = route::inbox(&self.options.cluster, &self.me.node, self.me.incarnation);
        loop {
            let there = async {
                self.mark().await?;
                let asked = self.engine.subscribe(&inbox).await?;
                let there = self.engine.read(&key).await?;
                let expect = there.map_or(Expect::Absent, |e| Expect::Revision(e.revision));
                let lease = Some(self.options.lease);
                let record = json(&self.record);
                let written = self.engine.write(&key, record, expect, lease).await?;
                Ok((written, asked))
            };
            match there.await {
                Ok((revision, asked)) => {
                    self.lock().revision = revision;
                    return Ok(asked);
                }
                Err(
                    error @ (JoinError::Engine(EngineError::Refused(_))
                    | JoinError::OtherCluster(_)),
                ) => return Err(error),
                Err(error) if !tries.again().await => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Keeps our lease, for ever. Nothing else may hold that up.
    pub(crate) async fn keep_lease(&self) {
        let beat = self.lock().view.beat();
        let mut next = Instant::now() + beat;
        loop {
            tidings::at(next).await;
            // What is asked of a server that has fallen silent must not use up the lease.
            next = match timeout(beat, self.renew()).await {
                Ok(true) => Instant::now() + beat,
                _ => Instant::now() + beat / 4,
            };
        }
    }

    /// Keeps our names, and the others under watch, for ever.
    pub(crate) async fn keep(self: &Arc<Self>) {
        let beat = self.lock().view.beat();
        loop {
            // Who gave a name back need not wait for the beat.
            self.beat.notified().or(tidings::after(beat)).await;
            self.assert().await;
            self.ask(beat).await;
            let now = Instant::now();
            let (silent, orphans) = {
                let view = &mut self.lock().view;
                (view.silent(now), view.orphans(now))
            };
            for condemned in silent {
                self.condemn(&condemned, Down::Expired).await;
            }
            for (name, owner) in orphans {
                // What is not removed now is still one at the next beat.
                self.release(&name, &owner).await;
            }
            if self.lock().view.is_stuck(Instant::now()) {
                self.anew.notify_one();
            }
        }
    }

    /// Asks those of whom we have not heard of late whether they live: by a message, which the engine may
    /// carry when it cannot write. Who answers is heard.
    async fn ask(&self, limit: Duration) {
        let suspects = self.lock().view.suspects(Instant::now());
        let asked = suspects.into_iter().map(async |life| {
            let inbox = route::inbox(&self.options.cluster, &life.node, life.incarnation);
            let answer = self.engine.request(&inbox, Bytes::new(), limit);
            if let Ok(Ok(_)) = timeout(limit, answer).await {
                self.lock().view.answered(&life, Instant::now());
            }
        });
        future::join_all(asked).await;
    }

    /// Writes our record anew. `false`: try again soon.
    async fn renew(&self) -> bool {
        let key = node_key(&self.me.node);
        let lease = Some(self.options.lease);
        let expect = Expect::Revision(self.lock().revision);
        let mut written = self
            .engine
            .write(&key, json(&self.record), expect, lease)
            .await;
        if written == Err(EngineError::Conflict) {
            let expect = match self.engine.read(&key).await {
                Ok(None) => {
                    // It has expired; or all keys are lost, and the watch may not know.
                    self.anew.notify_one();
                    let _ = self.mark().await;
                    Expect::Absent
                }
                Ok(Some(there)) => {
                    let record = there.value.as_deref().map(serde_json::from_slice::<Record>);
                    match record {
                        // The answer to a write of ours was lost.
                        Some(Ok(record)) if record == self.record => {
                            Expect::Revision(there.revision)
                        }
                        Some(Ok(record)) if record.incarnation == self.me.incarnation => {
                            self.end(match record.down {
                                Some(Down::Left) => Ended::Left,
                                _ => Ended::Expired,
                            });
                            return false;
                        }
                        _ => {
                            self.end(Ended::Replaced);
                            return false;
                        }
                    }
                }
                Err(_) => return false,
            };
            written = self
                .engine
                .write(&key, json(&self.record), expect, lease)
                .await;
        }
        let Ok(revision) = written else { return false };
        let mut state = self.lock();
        if revision < state.revision {
            state.view.forget_revisions();
        }
        state.revision = revision;
        true
    }

    /// Writes down that a life is over, if that is not written; unless its node has written meanwhile:
    /// `false`.
    pub(crate) async fn condemn(&self, condemned: &Condemned, down: Down) -> bool {
        let key = node_key(&condemned.node);
        let record = Record {
            incarnation: condemned.incarnation,
            address: None,
            down: Some(down),
        };
        let lease = Some(self.options.lease);
        let expect = Expect::Revision(condemned.revision);
        let written = self.engine.write(&key, json(&record), expect, lease).await;
        if written != Err(EngineError::Conflict) {
            return written.is_ok();
        }
        match self.engine.read(&key).await {
            // Its record has expired by itself. Another that was faster says the same.
            Ok(None) => {
                let absent = self
                    .engine
                    .write(&key, json(&record), Expect::Absent, lease);
                absent.await.is_ok()
            }
            Ok(Some(there)) => {
                let there = there.value.as_deref().map(serde_json::from_slice::<Record>);
                let is_over = |there: Record| {
                    there.incarnation == condemned.incarnation && there.down.is_some()
                };
                there.is_some_and(|there| there.is_ok_and(is_over))
            }
            Err(_) => false,
        }
    }
}
