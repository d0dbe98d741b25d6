//! Unix sockets: a file that a process has left is taken away.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

pub(crate) use tidings::net::{UnixListener, UnixStream};

use crate::place::met_at;

/// How long who finds the queue of a socket full waits before he looks again: nothing tells him.
const AGAIN: Duration = Duration::from_millis(10);

/// Waits while too many wait there, as TCP does.
pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tidings::after(AGAIN).await,
            connected => return connected.map_err(|error| met_at(path.display(), error)),
        }
    }
}

/// A socket that was left by a process which has ended is taken away.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    // One at a time: whoever has bound and does not listen yet looks as one that has ended.
    let lock = locked(path);
    let _lock =
        lock.map_err(|error| met_at(format_args!("{}: its lock file", path.display()), error))?;
    let bound = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
            std::fs::remove_file(path).and_then(|()| UnixListener::bind(path))
        }
        bound => bound,
    };
    bound.map_err(|error| met_at(path.display(), error))
}

/// The lock file beside a socket, locked until it is dropped. It stays there: who took it away could take
/// it from somebody who has just opened it.
fn locked(path: &Path) -> io::Result<File> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = File::options().create(true).append(true).open(beside)?;
    file.lock()?;
    Ok(file)
}

/// Is it a socket at which nobody listens?
fn is_left(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}
