//! One type for the streams that links are put on.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use tidings::net::TcpStream;

use crate::intercept::Origin;
use crate::unix::UnixStream;

/// A stream to another node.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<futures_rustls::TlsStream<TcpStream>>),
}

impl Stream {
    /// Where it comes from.
    pub(crate) fn origin(&self) -> Origin {
        let (tcp, certificate) = match self {
            Self::Tcp(stream) => (stream, None),
            Self::Unix(_) => return Origin::default(),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => (stream.get_ref().0, crate::tls::shown(stream)),
        };
        Origin {
            addr: tcp.peer_addr().ok(),
            certificate,
        }
    }

    /// What was written, and has not arrived when this is dropped, does not arrive.
    pub(crate) fn give_up(&self) {
        // One that is broken gives it up by itself.
        let _ = match self {
            Self::Tcp(stream) => stream.set_zero_linger(),
            Self::Unix(_) => Ok(()),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.get_ref().0.set_zero_linger(),
        };
    }
}

macro_rules! of_each {
    ($self:ident, $stream:ident => $do:expr) => {
        match $self.get_mut() {
            Stream::Tcp($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
            Stream::Unix($stream) => {
                let $stream = Pin::new($stream);
                $do
            }
            #[cfg(feature = "tls")]
            Stream::Tls($stream) => {
                let $stream = Pin::new(&mut **$stream);
                $do
            }
        }
    };
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        of_each!(self, stream => stream.poll_read(cx, to))
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        of_each!(self, stream => stream.poll_write(cx, from))
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_each!(self, stream => stream.poll_flush(cx))
    }
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_each!(self, stream => stream.poll_close(cx))
    }
}
