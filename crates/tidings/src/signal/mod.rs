//! Signals of the system as events: ctrl-C for one wait, and on Unix a handle for each kind of signal.
//!
//! [`ctrl_c`] is one wait. In a loop that does other things, too, a signal may come while none waits: a `Signal` keeps it
//! for its next `recv`.

#[cfg(unix)]
mod unix;

use std::io;

use crate::sync::{Notified, Notify};

#[cfg(unix)]
pub use unix::{Signal, SignalKind, signal};

/// Waits for the next ctrl-C (on Unix, SIGINT): an event.
///
/// It hears every one that comes after it was made, awaited or not; each that waits hears the same one. So between two
/// waits nobody listens: a loop has a `signal::Signal`, which is made once. The first call
/// installs the handler, for good: from then on ctrl-C does not end the process by itself, and a
/// process that a shell started in the background, with SIGINT ignored, hears it too.
/// Dropping the wait has no effect.
///
/// # Errors
/// If the handler cannot be installed, or the thread that hears cannot be started.
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
    Ok(pressed()?.notified())
}

#[cfg(unix)]
fn pressed() -> io::Result<&'static Notify> {
    unix::source(SignalKind::interrupt())
}

#[cfg(not(unix))]
fn pressed() -> io::Result<&'static Notify> {
    use crate::primitive::OnceLock;
    static PRESSED: OnceLock<Result<&Notify, String>> = OnceLock::new();
    let pressed = PRESSED.get_or_init(|| {
        let pressed = new_source();
        // The thread that runs it must not end of a waker's panic.
        let installed = ctrlc::set_handler(|| crate::task::quietly(|| pressed.notify_waiters()));
        installed.map(|()| pressed).map_err(|e| e.to_string())
    });
    let pressed = pressed.as_ref();
    pressed
        .copied()
        .map_err(|why| io::Error::other(why.as_str()))
}

/// What those who wait for a signal wait at, for good: deadlock reports know that it comes from outside.
fn new_source() -> &'static Notify {
    let source: &Notify = Box::leak(Box::default());
    crate::event::waits::come_from_outside(source.number());
    source
}
