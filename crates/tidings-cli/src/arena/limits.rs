//! Limits of the operating system that the harness hands down to its peers.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any cell needs; some runtimes make a table as large as the limit when they start.
const ENOUGH: u64 = 1 << 20;

/// Raises the limit of open files to what the system allows: `net` needs two per client and more.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Some(wanted) = raised(limit.current, limit.maximum) {
        let current = Some(wanted);
        // It stays as it was where that is refused; `doctor` tells.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
}

/// The new limit, if it is to change. `None` in: no limit.
fn raised(current: Option<u64>, maximum: Option<u64>) -> Option<u64> {
    let wanted = maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    (current? < wanted).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_only_rises_and_only_so_far() {
        assert_eq!(raised(Some(1024), Some(4096)), Some(4096));
        assert_eq!(raised(Some(1024), Some(1 << 30)), Some(ENOUGH));
        assert_eq!(raised(Some(1024), None), Some(ENOUGH));
        assert_eq!(raised(Some(4096), Some(4096)), None);
        assert_eq!(raised(Some(1 << 30), Some(1 << 30)), None);
        assert_eq!(raised(None, None), None);
    }

    #[test]
    fn this_process_gets_its_hard_limit() {
        raise_open_files();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(raised(limit.current, limit.maximum), None);
    }
}
