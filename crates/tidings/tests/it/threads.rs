//! What the kernel knows of this process's threads, by the beginning of their names.

use std::path::PathBuf;

/// The folders of these threads.
fn named(name: &str) -> impl Iterator<Item = PathBuf> {
    let all = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let is_named = move |path: &PathBuf| {
        let comm = std::fs::read_to_string(path.join("comm"));
        comm.is_ok_and(|comm| comm.starts_with(name))
    };
    all.map(|entry| entry.path()).filter(is_named)
}

/// The fields of a thread behind its name: its state is the first.
fn stat(thread: PathBuf) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(thread.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// Their CPU time, in clock ticks of 10 ms.
pub(crate) fn ticks(name: &str) -> u64 {
    let spent = |fields: Vec<String>| -> u64 {
        let of = |place: usize| fields[place].parse::<u64>().unwrap();
        of(11) + of(12)
    };
    named(name).filter_map(stat).map(spent).sum()
}

/// How often they gave up their core.
pub(crate) fn switches(name: &str) -> u64 {
    let count = |thread: PathBuf| {
        let status = std::fs::read_to_string(thread.join("status")).ok()?;
        let key = "voluntary_ctxt_switches:";
        let value = status.lines().find_map(|line| line.strip_prefix(key))?;
        value.trim().parse::<u64>().ok()
    };
    named(name).filter_map(count).sum()
}

/// Returns when so many are there and sleep, and have for some looks.
pub(crate) fn wait_until_asleep(name: &str, threads: usize) {
    let (mut looks, mut seen) = (0, 0);
    while looks < 5 {
        let states: Vec<_> = named(name).filter_map(stat).collect();
        let asleep = states.len() == threads && states.iter().all(|fields| fields[0] == "S");
        let now = switches(name);
        looks = if asleep && now == seen { looks + 1 } else { 0 };
        seen = now;
        std::thread::yield_now();
    }
}
