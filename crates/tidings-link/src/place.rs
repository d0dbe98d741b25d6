//! An error of the system, and the address or path at which it was met.

use std::error::Error;
use std::fmt;
use std::io;

/// The error that it holds is its source, so that the system's number is not lost.
#[derive(Debug)]
struct Met {
    at: String,
    error: io::Error,
}

/// The error, which says where it was met.
pub(crate) fn met_at(place: impl fmt::Display, error: io::Error) -> io::Error {
    let at = place.to_string();
    io::Error::new(error.kind(), Met { at, error })
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.error)
    }
}

impl Error for Met {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}
