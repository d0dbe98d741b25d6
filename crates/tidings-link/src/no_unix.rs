//! Where tidings has no Unix sockets: nobody gets one.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

use crate::place::met_at;

#[derive(Debug)]
pub(crate) enum UnixStream {}

#[derive(Debug)]
pub(crate) enum UnixListener {}

pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    refused(path)
}

pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    refused(path)
}

fn refused<T>(path: &Path) -> io::Result<T> {
    let why = "there are no Unix sockets on this system";
    let error = io::Error::new(io::ErrorKind::Unsupported, why);
    Err(met_at(path.display(), error))
}

impl UnixListener {
    pub(crate) async fn accept(&self) -> io::Result<(UnixStream, ())> {
        match *self {}
    }
}

impl AsyncRead for UnixStream {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match *self {}
    }
}

impl AsyncWrite for UnixStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match *self {}
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}
