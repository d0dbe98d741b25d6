//! A peer that is a session moved by hand, beside a link that is a whole one.

use std::io;

use futures::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tidings::time::Instant;
use tidings_link::memory::Pipe;
use tidings_link::{Bind, Incoming, Limits, Session};

use crate::nodes::peer;

/// A peer by hand: what it says goes at once.
pub(crate) struct Peer<S = Pipe> {
    pub(crate) session: Session,
    stream: S,
    input: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub(crate) fn new(stream: S, limits: Limits) -> Self {
        let session = peer(limits);
        Self {
            session,
            stream,
            input: Vec::new(),
        }
    }

    pub(crate) async fn say(&mut self) {
        self.tries().await.unwrap();
    }

    /// As above.
    ///
    /// # Errors
    /// If the link ends meanwhile.
    pub(crate) async fn tries(&mut self) -> io::Result<()> {
        loop {
            let output = self.session.output().to_vec();
            if output.is_empty() {
                return Ok(());
            }
            self.stream.write_all(&output).await?;
            self.session.written(output.len());
        }
    }

    /// Says what no session would.
    pub(crate) async fn says(&mut self, bytes: &[u8]) {
        // The link may end before it is all said.
        let _ = self.stream.write_all(bytes).await;
    }

    /// Greets and is greeted.
    pub(crate) async fn up(&mut self) {
        let up = |came: Incoming<'_>| (came == Incoming::Up).then_some(());
        self.until(up).await;
    }

    /// Asks for what is exported under this name, and waits for it.
    pub(crate) async fn asks(&mut self, id: u32, name: &str, interface: &str) -> u32 {
        self.session.bind(&Bind {
            id,
            name: name.to_owned(),
            token: Vec::new(),
            interface: interface.to_owned(),
            methods: vec![],
        });
        let bound = |came: Incoming<'_>| match came {
            Incoming::Bound(of, Ok(target)) if of == id => Some(target),
            _ => None,
        };
        self.until(bound).await
    }

    /// Says what there is to say; hears until what comes is what is waited for.
    pub(crate) async fn until<T>(
        &mut self,
        mut wanted: impl FnMut(Incoming<'_>) -> Option<T>,
    ) -> T {
        self.say().await;
        loop {
            let now = Instant::now();
            if let Some((taken, incoming)) = self.session.receive(&self.input, now).unwrap() {
                let found = incoming.and_then(&mut wanted);
                self.input.drain(..taken);
                match found {
                    Some(found) => return found,
                    None => continue,
                }
            }
            let mut room = [0; 4096];
            let n = self.stream.read(&mut room).await.unwrap();
            self.input.extend_from_slice(&room[..n]);
        }
    }
}
