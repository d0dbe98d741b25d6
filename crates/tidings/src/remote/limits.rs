//! What a body may cost that is read, and what is said of one that costs more, or is none.

use std::error::Error;
use std::fmt;

use serde::{de, ser};

/// What a body may cost that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep values may lie in values.
    pub depth: u32,
    /// How many elements there may be beyond the number of bytes: those that take no byte.
    pub elements: usize,
    /// How many bytes of memory each byte may become, beyond the first 64 KiB.
    pub growth: usize,
}

impl Default for Limits {
    /// 64 deep, 1024 elements of no size, 8 bytes for each.
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
}

impl Budget {
    #[inline]
    pub(super) fn new(bytes: usize, limits: Limits) -> Self {
        Self {
            depth: limits.depth,
            elements: bytes.saturating_add(limits.elements),
            memory: bytes.saturating_mul(limits.growth).saturating_add(1 << 16),
        }
    }

    /// It takes so many bytes of memory.
    pub(super) fn costs(&mut self, memory: usize) -> Result<(), Malformed> {
        self.memory = self
            .memory
            .checked_sub(memory)
            .ok_or_else(|| Malformed::new("it takes too much memory"))?;
        Ok(())
    }

    /// It has so many elements more, of this size each.
    pub(super) fn elements(&mut self, count: usize, size: usize) -> Result<(), Malformed> {
        let elements = self.elements.checked_sub(count);
        self.elements = elements.ok_or_else(|| Malformed::new("too many elements"))?;
        self.costs(count.saturating_mul(size))
    }

    /// One level down, until `up`.
    #[inline]
    pub(super) fn down(&mut self) -> Result<(), Malformed> {
        self.depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| Malformed::new("values lie too deep"))?;
        Ok(())
    }

    #[inline]
    pub(super) fn up(&mut self) {
        self.depth += 1;
    }
}
