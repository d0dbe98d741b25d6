//! Files that are written whole: a reader sees the old one or the new one, and where there is no room for the new one
//! the old one is left. And documents as text.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

use crate::arena::exit::Stop;

/// A document as text.
pub(crate) fn json(document: &impl Serialize) -> Result<String, Stop> {
    serde_json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|e| Stop::internal(format!("cannot write the document: {e}")))
}

/// Writes a file. Into what is there and is none, a pipe or a terminal, it is written as it is.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return fs::write(path, text);
    }
    // Where a link leads, and not in place of the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = path.clone().into_os_string();
    beside.push(".new");
    let write = || {
        let mut file = File::create(&beside)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))
}
