//! Where a node is: `tcp://host:port`, `tls://host:port`, `unix:/path`.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// An address of a link, as it is written: `tcp://127.0.0.1:7000`, `tls://db.example:7000`,
/// `unix:/run/db.sock`.
///
/// ```
/// use tidings_link::Address;
/// let address: Address = "tls://db.example:7000".parse().unwrap();
/// assert_eq!(address.to_string(), "tls://db.example:7000");
/// assert!("db.example".parse::<Address>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// TCP without TLS: host and port.
    Tcp(String),
    /// TCP with mutual TLS.
    Tls(String),
    /// A Unix socket; not on Windows.
    Unix(PathBuf),
}

impl Address {
    /// The host, of those that have one.
    #[cfg(feature = "tls")]
    pub(crate) fn host(&self) -> Option<&str> {
        let (Self::Tcp(at) | Self::Tls(at)) = self else {
            return None;
        };
        let host = at.rsplit_once(':')?.0;
        Some(host.trim_start_matches('[').trim_end_matches(']'))
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError(text.to_owned());
        let (scheme, rest) = text.split_once(':').ok_or_else(error)?;
        let host = || {
            let at = rest.strip_prefix("//").ok_or_else(error)?;
            let (host, port) = at.rsplit_once(':').ok_or_else(error)?;
            match !host.is_empty() && port.parse::<u16>().is_ok() {
                true => Ok(at.to_owned()),
                false => Err(error()),
            }
        };
        match scheme {
            "tcp" => Ok(Self::Tcp(host()?)),
            "tls" => Ok(Self::Tls(host()?)),
            // `unix://` and a path, or the path at once.
            "unix" => match rest.strip_prefix("//").unwrap_or(rest) {
                "" => Err(error()),
                path => Ok(Self::Unix(path.into())),
            },
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(at) => write!(f, "tcp://{at}"),
            Self::Tls(at) => write!(f, "tls://{at}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A text that is no [`Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no address: tcp://host:port, tls://host:port or unix:/path",
            self.0
        )
    }
}

impl Error for AddressError {}
