//! Ctrl-C as an event.

use std::io;
use std::sync::OnceLock;

use crate::event::waits;
use crate::sync::{Notified, Notify};
use crate::task::quietly;

/// Waits for the next ctrl-C (on Unix, SIGINT): an event.
///
/// It hears every one that comes after it was made, awaited or not; each that waits hears the same one. The first call
/// installs the handler, for good, in the place of any other: from then on ctrl-C does not end the process by itself, and a
/// process that a shell started in the background, with SIGINT ignored, hears it too.
/// Dropping the wait has no effect.
///
/// # Errors
/// If the handler cannot be installed, for one because the process has set up another through the `ctrlc` crate before.
///
/// ```no_run
/// use tidings::{ctrl_c, select};
/// # async fn serve() {}
/// # tidings::Runtime::new().unwrap().block_on(async {
/// let mut server = tidings::spawn(serve());
/// select! {
///     () = ctrl_c().unwrap() => println!("good bye"),
///     _ = server.join() => {}
/// }
/// # });
/// ```
pub fn ctrl_c() -> io::Result<Notified<'static>> {
    static PRESSED: OnceLock<Result<&Notify, String>> = OnceLock::new();
    let pressed = PRESSED.get_or_init(|| {
        let pressed: &Notify = Box::leak(Box::default());
        waits::come_from_outside(pressed.number());
        // The thread that runs it must not end of a waker's panic.
        let installed = ctrlc::set_handler(|| quietly(|| pressed.notify_waiters()));
        installed.map(|()| pressed).map_err(|e| e.to_string())
    });
    match pressed {
        Ok(pressed) => Ok(pressed.notified()),
        Err(reason) => Err(io::Error::other(reason.as_str())),
    }
}
