//! For those who operate a node: whether it lives and is ready, where that is asked over HTTP, and how
//! it leaves when it is told to.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{AsyncReadExt, AsyncWriteExt};
use tidings::net::{TcpListener, TcpStream};
use tidings::signal::{SignalKind, signal};
use tidings::time::{Instant, timeout};
use tidings::{Event, JoinHandle};

use crate::cluster::{Cluster, Inner};
use crate::member::Ended;

/// So many ask at a time; of more the eldest goes.
const ASKING: usize = 16;

/// So long one question and its answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request is no longer than this.
const REQUEST: usize = 4096;

/// Whether a node lives, and is ready to be asked: [`Cluster::health`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// It is a member. If not, it must join anew, or be started anew.
    pub live: bool,
    /// It is a member, hears the engine, and is not leaving: others find its actors.
    ///
    /// If the engine is down, no node is ready, though links and references that are there work on.
    /// Who would rather have them asked then asks for `live`.
    pub ready: bool,
    /// Why not.
    pub reasons: Vec<String>,
}

impl Cluster {
    /// Whether this node lives and is ready, and why not.
    #[must_use]
    pub fn health(&self) -> Health {
        self.inner.health()
    }

    /// Answers over HTTP: `GET /livez` and `/readyz` by 200, or by 503 with the reasons, a line each;
    /// `GET /metrics` by what `page` gives, as text; `HEAD` by the same without that; whatever is behind a
    /// `?`. It ends when it is aborted, not when the membership does.
    ///
    /// It speaks no TLS, and answers whoever asks: bind it where only those are who should.
    ///
    /// ```
    /// use tidings::net::TcpListener;
    /// # use std::net::SocketAddr;
    /// # use tidings_nats::{Cluster, Options, memory::Server};
    /// # tidings::Runtime::new().unwrap().block_on(async {
    /// # let cluster = Cluster::join_on(Server::new().connect(), Options::new("shop", "one")).await.unwrap();
    /// let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    /// // With `metrics-exporter-prometheus` the page is `move || prometheus.render()`.
    /// let answers = cluster.answer_health(listener, String::new);
    /// # answers.abort();
    /// # });
    /// ```
    pub fn answer_health(
        &self,
        listener: TcpListener,
        page: impl Fn() -> String + Send + Sync + 'static,
    ) -> JoinHandle<()> {
        // It is no reason to stay a member.
        let inner = Arc::clone(&self.inner);
        let page = Arc::new(page);
        tidings::spawn(async move {
            let mut asking = VecDeque::new();
            loop {
                // Its errors are of one connection, or go by.
                let Ok((stream, _)) = listener.accept().await else {
                    tidings::after(Duration::from_millis(100)).await;
                    continue;
                };
                asking.retain(|one: &JoinHandle<()>| !one.is_finished());
                // Those who connect and say nothing keep nobody waiting.
                if asking.len() == ASKING
                    && let Some(eldest) = asking.pop_front()
                {
                    eldest.abort();
                }
                let (inner, page) = (Arc::clone(&inner), Arc::clone(&page));
                asking.push_back(tidings::spawn(async move {
                    // Who asks hears nothing if it fails, or if `page` panics.
                    let _ = timeout(PATIENCE, answer(stream, &inner, &*page)).await;
                }));
            }
        })
    }

    /// Waits until the process is told to end, by SIGTERM or ctrl-C, and then [leaves](Self::leave);
    /// or until the membership ends otherwise. A second ctrl-C, or a second SIGTERM, ends the wait at
    /// once.
    ///
    /// From the first call on neither signal ends the process by itself.
    ///
    /// # Errors
    /// If the signals cannot be waited for.
    pub async fn leave_on_signal(&self, limit: Duration) -> io::Result<Ended> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let told = interrupt.recv().or(terminate.recv());
        if let Some(ended) = self.ended().map(Some).or(told.map(|()| None)).await {
            return Ok(ended);
        }
        let again = interrupt.recv().or(terminate.recv());
        let leaving = std::pin::pin!(self.leave(limit));
        futures_util::future::select(leaving, std::pin::pin!(again.into_future())).await;
        Ok(self.inner.alive().err().unwrap_or(Ended::Left))
    }
}

impl Inner {
    fn health(&self) -> Health {
        let mut reasons = Vec::new();
        let ended = self.alive().err();
        match ended {
            Some(ended) => reasons.push(ended.to_string()),
            None => {
                let state = self.lock();
                if state.leaving {
                    reasons.push("we are leaving".to_owned());
                }
                if state.view.is_blind(Instant::now()) {
                    reasons.push("the engine has not been heard for most of a lease".to_owned());
                }
            }
        }
        Health {
            live: ended.is_none(),
            ready: reasons.is_empty(),
            reasons,
        }
    }
}

/// Reads a request, and answers it.
async fn answer(
    mut stream: TcpStream,
    inner: &Inner,
    page: &(dyn Fn() -> String + Send + Sync),
) -> io::Result<()> {
    let mut request = Vec::new();
    let mut part = [0; 512];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut part).await?;
        if n == 0 || request.len() + n > REQUEST {
            return Ok(());
        }
        request.extend_from_slice(&part[..n]);
    }
    let mut words = request.split(|byte| byte.is_ascii_whitespace());
    let (method, target) = (words.next(), words.next());
    let path = target.and_then(|target| target.split(|&byte| byte == b'?').next());
    let is_head = method == Some(b"HEAD");
    let health = inner.health();
    let said = |good: bool, health: Health| match good {
        true => ("200 OK", "ok\n".to_owned()),
        false => ("503 Service Unavailable", health.reasons.join("\n") + "\n"),
    };
    let (status, mut body) = match path {
        _ if !is_head && method != Some(b"GET") => ("405 Method Not Allowed", String::new()),
        Some(b"/livez") => said(health.live, health),
        Some(b"/readyz") => said(health.ready, health),
        Some(b"/metrics") => ("200 OK", page()),
        _ => ("404 Not Found", String::new()),
    };
    let length = body.len();
    if is_head {
        body.clear();
    }
    let head = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close";
    let answer = format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await?;
    stream.close().await
}
