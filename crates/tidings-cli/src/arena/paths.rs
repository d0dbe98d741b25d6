//! Where the arena keeps what: built peers in the cache, runs in the data folder (XDG).

use std::env;
use std::path::PathBuf;

use crate::arena::exit::Stop;

fn base(variable: &str, below_home: &str) -> Result<PathBuf, Stop> {
    if let Some(path) = env::var_os(variable)
        .map(PathBuf::from)
        .filter(|p| p.is_absolute())
    {
        return Ok(path);
    }
    let home = env::var_os("HOME").filter(|home| !home.is_empty());
    let home = home.ok_or_else(|| {
        Stop::internal(format!(
            "neither {variable} nor HOME is set: no place to keep files"
        ))
    })?;
    Ok(PathBuf::from(home).join(below_home))
}

/// The folder of built peers.
pub(crate) fn peers() -> Result<PathBuf, Stop> {
    Ok(base("XDG_CACHE_HOME", ".cache")?.join("tidings/arena/peers"))
}

/// The folder of saved runs.
pub(crate) fn runs() -> Result<PathBuf, Stop> {
    Ok(base("XDG_DATA_HOME", ".local/share")?.join("tidings/arena/runs"))
}

/// The folder of baselines.
pub(crate) fn baselines() -> Result<PathBuf, Stop> {
    Ok(base("XDG_DATA_HOME", ".local/share")?.join("tidings/arena/baselines"))
}

/// Where the peers' sources are: beside the binary, as in a bundle, or in the repository it was built from.
pub(crate) fn sources() -> Option<PathBuf> {
    let this = env::current_exe().ok()?;
    let beside = this.parent()?.join("arena/peers");
    if beside.is_dir() {
        return beside.canonicalize().ok();
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../arena/peers");
    folder.canonicalize().ok()
}
