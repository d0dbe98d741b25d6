//! `tidings arena clean`: removes built peers and saved runs. Baselines stay; so does what somebody is using.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::arena::exit::{Exit, Stop};
use crate::arena::paths;
use crate::arena::records::record;
use crate::arena::terminal;
use crate::arena::units;
use crate::arena::verbs::setup;
use crate::cli::CleanArgs;

pub(crate) fn clean(args: &CleanArgs) -> Result<Exit, Stop> {
    if !args.peers && !args.runs {
        return Err(Stop::usage("say what: --peers, --runs or both"));
    }
    let mut doomed = Vec::new();
    if args.peers {
        // A run that goes on starts each of its peers again and again.
        let goes_on = entries(&paths::runs()?).any(|run| record::is_going_on(&run));
        let is_used = |peer: &Path| goes_on || is_building(peer);
        doomed.extend(gather("built peers", &paths::peers()?, is_used)?);
    }
    if args.runs {
        doomed.extend(gather("saved runs", &paths::runs()?, record::is_going_on)?);
    }
    if doomed.is_empty() {
        terminal::print("nothing to remove\n")?;
        return Ok(Exit::Ok);
    }
    if args.dry_run {
        return Ok(Exit::Ok);
    }
    if !args.yes && !setup::agreed("remove these?")? {
        terminal::print("nothing was removed\n")?;
        return Ok(Exit::Ok);
    }
    for path in doomed {
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        match removed {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Stop::file("remove", &path, &e));
            }
            _ => {}
        }
    }
    terminal::print("removed\n")?;
    Ok(Exit::Ok)
}

/// What lies in a folder and nobody uses; says so.
fn gather(
    what: &str,
    folder: &Path,
    is_used: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, Stop> {
    let (used, free): (Vec<PathBuf>, Vec<PathBuf>) = entries(folder).partition(|p| is_used(p));
    let folders = |list: &[PathBuf]| list.iter().filter(|p| p.is_dir()).count();
    if !free.is_empty() {
        let bytes = units::bytes(free.iter().map(|p| size(p)).sum());
        let count = folders(&free);
        terminal::print(&format!(
            "{count} {what}, {bytes}, in {}\n",
            folder.display()
        ))?;
    }
    if !used.is_empty() {
        let count = folders(&used);
        terminal::print(&format!("{count} {what} are in use and stay\n"))?;
    }
    Ok(free)
}

/// Bytes of the files below; links are not followed.
fn size(path: &Path) -> u64 {
    let Ok(data) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !data.is_dir() {
        return data.len();
    }
    entries(path).map(|entry| size(&entry)).sum()
}

/// What lies in a folder; nothing if it is not there.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Whether a build holds its lock, which lies beside its folder.
fn is_building(path: &Path) -> bool {
    // `with_extension` as the build makes the name.
    let lock = File::open(path.with_extension("lock"));
    lock.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
}
