//! The words of a command: `key=value`, as they were sent.

use std::collections::HashMap;

use crate::{Fault, Params, Role, alloc, within};

/// One command without its first word.
#[derive(Debug)]
pub struct Words<'a>(HashMap<&'a str, &'a str>);

impl<'a> Words<'a> {
    pub(crate) fn of(words: impl Iterator<Item = &'a str>) -> Self {
        Self(words.filter_map(|word| word.split_once('=')).collect())
    }

    /// A word; empty if it was not sent.
    pub fn text(&self, key: &str) -> &'a str {
        self.0.get(key).copied().unwrap_or("")
    }

    /// Whether it was sent.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// A number; `absent` if it was not sent.
    pub fn number(&self, key: &str, absent: i64) -> Result<i64, Fault> {
        let Some(word) = self.0.get(key) else {
            return Ok(absent);
        };
        word.parse()
            .map_err(|_| Fault::Limit(format!("{key}={word} is not a 64-bit number")))
    }

    /// Worker threads, of which there can be so many.
    pub fn threads(&self, absent: usize) -> Result<usize, Fault> {
        let threads = self.number("threads", absent as i64)?;
        within(&[("threads", threads, 1024)])?;
        Ok(threads as usize)
    }

    /// The sizes of a cell.
    pub fn params(&self, threads: usize) -> Result<Params, Fault> {
        let of = |key| self.number(key, 0);
        Ok(Params {
            threads: self.threads(threads)? as i64,
            p: of("p")?,
            n: of("n")?,
            w: of("w")?,
            batch: of("batch")?,
            P: of("P")?,
            A: of("A")?,
            N: of("N")?,
            M: of("M")?,
            S: of("S")?,
            k: of("k")?,
            role: self.role()?,
        })
    }

    /// The role in a cell of two processes.
    pub fn role(&self) -> Result<Role, Fault> {
        match self.text("role") {
            "" => Ok(Role::None),
            "server" => Ok(Role::Server),
            "client" => {
                let addr = self.text("addr");
                let addr = addr.parse();
                addr.map(Role::Client)
                    .map_err(|e| Fault::Limit(format!("addr: {e}")))
            }
            other => Err(Fault::Limit(format!(
                "role={other}: must be server or client"
            ))),
        }
    }

    /// The repetitions of a sample.
    pub fn inner(&self) -> Result<i64, Fault> {
        let inner = self.number("inner", 1)?;
        within(&[("inner", inner, 1 << 40)])?;
        Ok(inner)
    }

    /// Does something, with the allocations of its timed parts counted if the command asks for that; and the fields of the
    /// sample that say so.
    pub fn counting<T>(&self, act: impl FnOnce() -> T) -> Result<(T, String), Fault> {
        Ok(alloc::during(self.number("alloc", 0)? == 1, act))
    }
}
