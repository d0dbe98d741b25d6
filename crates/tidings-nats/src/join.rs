//! How a node reaches NATS, and keeps to a server of it that answers.

use std::sync::Arc;
use std::time::Duration;

use tidings::time::timeout;

use crate::cluster::Cluster;
use crate::engine::EngineError;
use crate::nats::{Bucket, ConnectOptions, Nats, shown};
use crate::options::{JoinError, Options};
use crate::tries::Tries;

impl Cluster {
    /// Joins a cluster by the NATS servers at `url` (several with commas). A name and a password, or a token, may
    /// stand in it, as [`Nats::connect`](crate::nats::Nats::connect) has them.
    ///
    /// If none can be reached it is tried again, after times that grow, for as long as
    /// [`Options::patience`] says.
    ///
    /// # Errors
    /// If it is not reached by then; at once, if it refuses us or a name is malformed.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn join(url: &str, options: Options) -> Result<Self, JoinError> {
        options.check()?;
        let mut tries = Tries::new(options.patience, Duration::from_millis(100));
        let mut error = EngineError::Unreachable("no answer".to_owned());
        loop {
            let bucket = format!("tidings-{}", options.cluster);
            let bucket = Bucket::new(bucket).replicas(options.replicas);
            let connecting = Nats::connect(url, connecting(&options), bucket);
            match timeout(tries.left(), connecting).await {
                Ok(Ok(engine)) => {
                    return Self::join_by(Arc::new(engine), options, tries).await;
                }
                Ok(Err(why)) => error = why,
                // What has had no time says no more than the attempt before.
                Err(_) => {}
            }
            if let EngineError::Refused(why) = error {
                return Err(EngineError::Refused(format!("{}: {why}", shown(url))).into());
            }
            if !tries.again().await {
                let tried = options.patience;
                return Err(match error {
                    EngineError::Unreachable(why) => {
                        let why = format!("{}, tried for {tried:?}: {why}", shown(url));
                        EngineError::Unreachable(why).into()
                    }
                    error => error.into(),
                });
            }
        }
    }
}

/// How it is connected to: a server that has fallen silent is given up, and another is found, within
/// a lease.
fn connecting(options: &Options) -> ConnectOptions {
    let pause = options.lease / 12;
    // Two that are not answered end a connection.
    let nats = options.nats.clone().ping_interval(pause);
    let nats = nats.connection_timeout((2 * pause).max(Duration::from_secs(1)));
    // The other servers are tried at once, and all of them ever more slowly.
    nats.reconnect_delay_callback(move |attempt| {
        Duration::from_millis(1 << attempt.min(12)).min(pause)
    })
}
