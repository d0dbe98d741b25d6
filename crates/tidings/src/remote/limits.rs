//! What a body may cost that is read, and what is said of one that costs more, or is none.

use std::error::Error;
use std::fmt;

use serde::{de, ser};

/// What a body may cost that is read. The error of one that costs more names the limit.
///
/// Lists whose elements are mostly empty, and trees of boxes, need a larger [`growth`](Self::growth): a
/// `None` is one byte in a body, and as large as what it could hold in memory. Of a link it is a part of
/// its limits (`Limits::decode`).
///
/// What is read is counted as large as its types say. What serde does not tell is not counted, and comes on
/// top: what collections and allocators keep in reserve (a list up to as much again; an ordered map or set
/// of one entry has room for eleven), boxes of what is not larger than 24 bytes and no struct, tuple, enum,
/// option or map (an allocation of 16 to 32 bytes each), and what a type makes of what it has read
/// (`#[serde(from)]`).
///
/// ```
/// use tidings::remote::{Limits, decode, encode};
///
/// let sparse = vec![None::<[u64; 16]>; 1000];
/// let mut body = Vec::new();
/// encode(&sparse, &mut body).unwrap();
/// let read = decode::<Vec<Option<[u64; 16]>>>(&body, Limits::default());
/// assert!(read.unwrap_err().to_string().contains("`growth`"));
/// let roomy = Limits {
///     growth: 136, // what one takes
///     ..Limits::default()
/// };
/// assert_eq!(decode::<Vec<Option<[u64; 16]>>>(&body, roomy).unwrap(), sparse);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep values may lie in values. 64 by default.
    pub depth: u32,
    /// How many elements sequences and maps may have beyond the number of bytes in the body: those that
    /// take no byte. 1,024 by default.
    pub elements: usize,
    /// How many bytes of memory what is read may take for each byte of the body, beyond 64 KiB: texts,
    /// bytes, the elements of sequences and maps, and what lies in boxes, each as large as its type. 8 by
    /// default.
    pub growth: usize,
}

impl Default for Limits {
    /// 64 deep, 1,024 elements that take no byte, 8 bytes of memory for each byte.
    fn default() -> Self {
        Self {
            depth: 64,
            elements: 1024,
            growth: 8,
        }
    }
}

/// A body that cannot be read, or a value that cannot be written, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(Box<str>);

impl Malformed {
    /// For this reason.
    #[must_use]
    pub fn new(why: impl Into<Box<str>>) -> Self {
        Self(why.into())
    }

    /// For what this error says.
    #[must_use]
    pub fn because(error: impl fmt::Display) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Malformed {}

impl de::Error for Malformed {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::because(why)
    }
}

impl ser::Error for Malformed {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::because(why)
    }
}

/// What a body may still cost while it is read.
pub(super) struct Budget {
    depth: u32,
    elements: usize,
    memory: usize,
    /// So large is what the next value lies in, which has been paid for.
    pub(super) room: usize,
}

/// Texts, bytes and sequences are paid for by what is in them; as they are read they are this large,
/// whatever they become (`Box<str>`).
pub(super) const HANDLE: usize = size_of::<Vec<u8>>();

impl Budget {
    /// To read a `T` of so many bytes.
    #[inline]
    pub(super) fn new<T>(bytes: usize, limits: Limits) -> Self {
        Self {
            depth: limits.depth,
            elements: bytes.saturating_add(limits.elements),
            memory: bytes.saturating_mul(limits.growth).saturating_add(1 << 16),
            room: size_of::<T>(),
        }
    }

    /// A `T` is read, which is a part of something of this size that has been paid for; or, if it is larger
    /// than that, lies in a box, and is paid for here.
    #[inline(always)]
    pub(super) fn part<T>(&mut self, whole: usize) -> Result<(), Malformed> {
        if size_of::<T>() > whole {
            self.costs(size_of::<T>())?;
        }
        self.room = size_of::<T>();
        Ok(())
    }

    /// It takes so many bytes of memory.
    pub(super) fn costs(&mut self, memory: usize) -> Result<(), Malformed> {
        self.memory = self
            .memory
            .checked_sub(memory)
            .ok_or_else(|| Malformed::new("it takes too much memory (the limit is `growth`)"))?;
        Ok(())
    }

    /// It has so many elements more, of this size each.
    pub(super) fn elements(&mut self, count: usize, size: usize) -> Result<(), Malformed> {
        let elements = self.elements.checked_sub(count);
        self.elements = elements
            .ok_or_else(|| Malformed::new("it has too many elements (the limit is `elements`)"))?;
        self.costs(count.saturating_mul(size))
    }

    /// It has another element.
    pub(super) fn element<T>(&mut self) -> Result<(), Malformed> {
        self.room = size_of::<T>();
        self.elements(1, size_of::<T>())
    }

    /// One level down, until `up`.
    #[inline]
    pub(super) fn down(&mut self) -> Result<(), Malformed> {
        self.depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| Malformed::new("values lie too deep (the limit is `depth`)"))?;
        Ok(())
    }

    #[inline]
    pub(super) fn up(&mut self) {
        self.depth += 1;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::{Format, encode};
    use super::Limits;

    #[test]
    fn what_costs_too_much_is_told_by_the_limit_that_is_to_be_raised() {
        fn read<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> String {
            let mut body = Vec::new();
            encode(value, &mut body).unwrap();
            let limits = Limits {
                depth: 2,
                ..Limits::default()
            };
            let read = Format::default().limits(limits).decode::<T>(&body);
            read.err().unwrap().to_string()
        }
        assert!(read(&vec![None::<[u64; 16]>; 1000]).contains("`growth`"));
        assert!(read(&vec![(); 2000]).contains("`elements`"));
        assert!(read(&vec![vec![vec![1_u8]]]).contains("`depth`"));
    }
}
