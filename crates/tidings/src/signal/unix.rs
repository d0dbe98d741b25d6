//! The signals of a Unix system, each kind by its handles. One thread hears them all: in a handler of the system's
//! nobody can be woken.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;

use signal_hook::consts::{
    FORBIDDEN, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::{Handle, Signals};

use super::new_source;
use crate::event::Event;
use crate::primitive::{Mutex, lock, thread};
use crate::sync::Notify;
use crate::task::quietly;

/// Signals have numbers below this.
const NUMBERS: c_int = 128;

/// Which signal.
///
/// ```
/// use tidings::signal::SignalKind;
/// assert_eq!(SignalKind::from_raw(15), SignalKind::terminate());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalKind(c_int);

impl SignalKind {
    /// The signal of this number.
    #[must_use]
    pub const fn from_raw(number: c_int) -> Self {
        Self(number)
    }

    /// SIGINT: ctrl-C.
    #[must_use]
    pub const fn interrupt() -> Self {
        Self(SIGINT)
    }

    /// SIGTERM: what systemd, Docker and Kubernetes end a process by.
    #[must_use]
    pub const fn terminate() -> Self {
        Self(SIGTERM)
    }

    /// SIGHUP: the terminal is gone, or a server is to read its configuration again.
    #[must_use]
    pub const fn hangup() -> Self {
        Self(SIGHUP)
    }

    /// SIGQUIT: ctrl-\\.
    #[must_use]
    pub const fn quit() -> Self {
        Self(SIGQUIT)
    }

    /// SIGUSR1.
    #[must_use]
    pub const fn user_defined1() -> Self {
        Self(SIGUSR1)
    }

    /// SIGUSR2.
    #[must_use]
    pub const fn user_defined2() -> Self {
        Self(SIGUSR2)
    }

    /// SIGWINCH: the terminal has another size.
    #[must_use]
    pub const fn window_change() -> Self {
        Self(SIGWINCH)
    }
}

/// A handle that hears each signal of one kind; see [`signal()`].
#[derive(Debug)]
pub struct Signal {
    source: &'static Notify,
    /// The epoch of the last that [`recv`](Self::recv) has given.
    heard: u64,
}

/// Hears signals of this kind from here on, awaited or not. Every handle of a kind hears all of them.
///
/// The first handle of a kind installs the handler, for good: from then on that signal does not end the process by itself,
/// nor does a process ignore it that was started so. Other handlers of the process are called as before, if they were
/// installed before.
///
/// ```no_run
/// use tidings::select;
/// use tidings::signal::{SignalKind, signal};
/// # async fn handle(_: u32) {}
/// # fn main() -> std::io::Result<()> {
/// # tidings::Runtime::new().unwrap().block_on(async {
/// # let (_requests, rx) = tidings::unbounded::<u32>();
/// let mut interrupt = signal(SignalKind::interrupt())?;
/// let mut terminate = signal(SignalKind::terminate())?;
/// loop {
///     select! {
///         // What comes while a request is handled is heard in the next turn.
///         request = rx.recv() => match request {
///             Ok(request) => handle(request).await,
///             Err(_) => break,
///         },
///         () = interrupt.recv() => break,
///         () = terminate.recv() => break,
///     }
/// }
/// # Ok(())
/// # })
/// # }
/// ```
///
/// # Errors
/// If the system lets nobody handle this signal, does not know it, or starts no thread.
/// [`InvalidInput`](io::ErrorKind::InvalidInput) of SIGKILL and SIGSTOP, and of SIGILL, SIGFPE and SIGSEGV, after which a
/// program cannot go on.
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let source = source(kind)?;
    Ok(Signal {
        source,
        heard: source.epoch(),
    })
}

impl Signal {
    /// Waits for the next signal: an event.
    ///
    /// Those that have come since the last one that was given, or since this handle was made, are one. A wait that is
    /// dropped, or loses a choice, has heard nothing.
    pub fn recv(&mut self) -> impl Event<Output = (), Lost = ()> + Send + '_ {
        let source = self.source;
        let notified = source.notified_since(self.heard);
        notified.map(|()| self.heard = source.epoch())
    }
}

/// Who hears the signals.
struct Ear {
    handle: Handle,
    sources: BTreeMap<c_int, &'static Notify>,
}

static EAR: Mutex<Option<Ear>> = Mutex::new(None);

/// What those who wait for this signal wait at.
pub(super) fn source(SignalKind(number): SignalKind) -> io::Result<&'static Notify> {
    if !(1..NUMBERS).contains(&number) || FORBIDDEN.contains(&number) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut ear = lock(&EAR);
    let ear = match &mut *ear {
        Some(ear) => ear,
        deaf => deaf.insert(listen()?),
    };
    let source = *ear.sources.entry(number).or_insert_with(new_source);
    // Does nothing if it is heard already.
    ear.handle.add_signal(number)?;
    Ok(source)
}

fn listen() -> io::Result<Ear> {
    let mut signals = Signals::new::<_, c_int>([])?;
    let handle = signals.handle();
    let thread = thread::Builder::new().name("tidings-signal".into());
    thread.spawn(move || {
        for signal in signals.forever() {
            let source = lock(&EAR)
                .as_ref()
                .and_then(|ear| ear.sources.get(&signal).copied());
            if let Some(source) = source {
                // This thread must not end of a waker's panic.
                quietly(|| source.notify_waiters());
            }
        }
    })?;
    Ok(Ear {
        handle,
        sources: BTreeMap::new(),
    })
}
