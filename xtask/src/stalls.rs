//! `cargo x stalls CELL ARGUMENT..`: loads that wait for stores; of a bench for `PACKAGE:BENCH ARGUMENT..`.
//!
//! A load whose bytes were just written by one store as wide, or a wider one, has them from the store's buffer. One
//! that spans two stores, or a store and what nobody has written, waits until they are in the cache, a dozen cycles.
//! So it is where the compiler moves what it has just put together from parts, and a count of instructions does not
//! show it. This plays a cell of the arena, or a bench, under callgrind with two lengths (`n=2000..12000`, or only the
//! numbers where the program names none), takes the difference as what the work itself runs, and follows the stores of
//! that code as it is assembled, function by function.
//!
//! It follows the text of a function, not its jumps, and does not know what a pointer points to: it shows where to look.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::process::Command;

use crate::command::{RUNNER, Tally, read, root, run_at_root, target};

/// An instruction that runs less often than this part of the length is not of the work.
const OFTEN: f64 = 0.05;
/// So many instructions behind a store its bytes are in the cache.
const NEAR: usize = 45;

/// The verb.
pub(crate) fn run(cell: &str, arguments: &[&str]) -> Result<(), String> {
    let long = |argument: &&str| {
        let (name, lengths) = argument.rsplit_once('=').unwrap_or(("", argument));
        let (few, many) = lengths.split_once("..")?;
        Some((
            name.to_owned(),
            few.parse::<u64>().ok()?,
            many.parse::<u64>().ok()?,
        ))
    };
    let (name, few, many) = arguments
        .iter()
        .find_map(long)
        .filter(|(_, few, many)| few < many)
        .ok_or("stalls: one argument says how long it is to be played, as `n=2000..12000`")?;
    let program = match cell.split_once(':') {
        Some((package, bench)) => format!("bench -p {package} --bench {bench} --"),
        None => format!("run --release -p tidings-peer --example cell -- {cell} reps=2"),
    };
    let counts = [few, many].map(|n| {
        let mut line = program.clone();
        for argument in arguments {
            line += " ";
            line += &match long(argument) {
                Some((name, ..)) if name.is_empty() => n.to_string(),
                Some((name, ..)) => format!("{name}={n}"),
                None => (*argument).to_owned(),
            };
        }
        play(&line)
    });
    let [before, after] = counts;
    let ((_, before), (program, after)) = (before?, after?);
    let per = (many - few) as f64;
    let times: HashMap<u64, f64> = after
        .into_iter()
        .map(|(at, n)| {
            (
                at,
                n.saturating_sub(*before.get(&at).unwrap_or(&0)) as f64 / per,
            )
        })
        .filter(|(_, n)| *n >= OFTEN)
        .collect();
    let assembled = said("objdump", &["-d", "-C", "--no-show-raw-insn", &program])?;
    let found = functions(&assembled, &times);
    for (function, stalls) in &found {
        println!("{function}");
        for stall in stalls {
            println!("  {stall}");
        }
    }
    let all: usize = found.values().map(Vec::len).sum();
    let one = match name.as_str() {
        "" => "what has two lengths",
        name => name,
    };
    println!("stalls: {all} loads; times are of one of {one}, over all that is repeated");
    Ok(())
}

/// What a program has printed.
fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Which program that command of cargo runs, and how often each of its instructions, by address.
fn play(line: &str) -> Result<(String, HashMap<u64, u64>), String> {
    let file = target("stalls.callgrind");
    let runner = format!(
        "valgrind --tool=callgrind --dump-instr=yes --compress-pos=no --compress-strings=no \
         --callgrind-out-file={file}"
    );
    run_at_root(
        &[(RUNNER, &runner)],
        &format!("cargo {line}"),
        &mut Tally::default(),
    )?;
    let profile = read(&file)?;
    let program = profile
        .lines()
        .find_map(|line| line.strip_prefix("cmd:")?.split_whitespace().next())
        .ok_or_else(|| format!("{file} names no command"))?;
    // Cargo says it from the root on, where it can; the profile's objects are whole paths.
    let program = root().join(program).to_string_lossy().into_owned();
    let counts = counts(&profile, &program);
    Ok((program, counts))
}

/// Those of a callgrind profile with addresses.
fn counts(profile: &str, program: &str) -> HashMap<u64, u64> {
    let (mut counts, mut ours, mut called) = (HashMap::new(), false, false);
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            ours = object == program;
        } else if line.starts_with("calls=") {
            // The next line is what the callee took.
            called = true;
        } else if let Some(line) = line.strip_prefix("0x") {
            let mut words = line.split(' ');
            let at = words.next().and_then(|at| u64::from_str_radix(at, 16).ok());
            let n = words.next_back().and_then(|n| n.parse::<u64>().ok());
            if let (Some(at), Some(n), true, false) = (at, n, ours, called) {
                *counts.entry(at).or_default() += n;
            }
            called = false;
        }
    }
    counts
}

/// The loads that stall, of each function, by its place and name.
fn functions(assembled: &str, times: &HashMap<u64, f64>) -> BTreeMap<String, Vec<Stall>> {
    let (mut found, mut name, mut stores) = (BTreeMap::<_, Vec<_>>::new(), "", Stores::default());
    for line in assembled.lines() {
        if let Some(head) = line.strip_suffix(">:") {
            name = head;
            stores = Stores::default();
            continue;
        }
        let mut parts = line.trim_start().splitn(2, ":\t");
        let at = parts.next().and_then(|at| u64::from_str_radix(at, 16).ok());
        let (Some(at), Some(text)) = (at, parts.next()) else {
            continue;
        };
        let Some(&times) = times.get(&at) else {
            continue;
        };
        if let Some(behind) = stores.follow(text) {
            let load = text.trim_end().to_owned();
            found.entry(format!("{name}>")).or_default().push(Stall {
                times,
                load,
                behind,
            });
        }
    }
    found
}

/// A load that waits for these stores.
#[derive(Debug, PartialEq)]
struct Stall {
    times: f64,
    load: String,
    behind: Vec<String>,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:5.2} {} <- {}",
            self.times,
            self.load,
            self.behind.join(" | ")
        )
    }
}

/// The last stores of a function, the oldest first.
#[derive(Default)]
struct Stores {
    last: Vec<Store>,
    /// Instructions so far.
    place: usize,
}

struct Store {
    base: String,
    from: i64,
    width: i64,
    place: usize,
    text: String,
}

impl Stores {
    /// The next instruction: the stores that it waits for, if it is a load that does.
    fn follow(&mut self, text: &str) -> Option<Vec<String>> {
        self.place += 1;
        let (operation, operands) = text.trim().split_once(char::is_whitespace)?;
        let operands = operands.trim();
        let written = operands.rsplit([',', ')']).next().unwrap_or("").trim();
        let access = access(operation, operands);
        let mut waits = None;
        if let Some((base, from, width)) = access {
            if operands.ends_with(')') {
                let text = text.trim().to_owned();
                let place = self.place;
                self.last.push(Store {
                    base,
                    from,
                    width,
                    place,
                    text,
                });
            } else {
                waits = self.waits(&base, from, width);
            }
        }
        // What the register pointed to is another place from here on.
        self.last.retain(|store| store.base != written);
        waits
    }

    fn waits(&self, base: &str, from: i64, width: i64) -> Option<Vec<String>> {
        // By whom each byte was written last.
        let writer = |byte: i64| {
            let wrote = |store: &&Store| {
                store.base == base && (store.from..store.from + store.width).contains(&byte)
            };
            self.last.iter().rev().find(wrote)
        };
        let mut writers: Vec<&Store> = Vec::new();
        let mut unwritten = false;
        for byte in from..from + width {
            match writer(byte) {
                None => unwritten = true,
                Some(store) if !writers.iter().any(|known| known.place == store.place) => {
                    writers.push(store);
                }
                Some(_) => {}
            }
        }
        let last = writers.iter().map(|store| store.place).max()?;
        let spans = writers.len() > 1 || unwritten;
        (spans && self.place - last < NEAR)
            .then(|| writers.iter().map(|store| store.text.clone()).collect())
    }
}

/// The base register of a move's place in memory, its offset, and how many bytes are moved.
fn access(operation: &str, operands: &str) -> Option<(String, i64, i64)> {
    if !operation.contains("mov") || operands.contains("%rip") || operands.contains("%fs:") {
        return None;
    }
    let (before, rest) = operands.split_once('(')?;
    let (base, _) = rest.split_once(')')?;
    if base.contains(',') {
        return None;
    }
    let offset = before.rsplit(',').next().unwrap_or("");
    let (sign, digits) = match offset.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, offset),
    };
    let offset = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None if digits.is_empty() => 0,
        None => return None,
    };
    Some((base.to_owned(), sign * offset, width(operation, operands)?))
}

fn width(operation: &str, operands: &str) -> Option<i64> {
    let register = operands.split([',', '(', ')']).find(|word| {
        let word = word.trim();
        word.starts_with('%') && !operands.contains(&format!("({word})"))
    });
    Some(match operation {
        "movb" | "movzbl" | "movsbl" | "movzbw" => 1,
        "movw" | "movzwl" | "movswl" => 2,
        "movl" | "movss" | "movd" => 4,
        "movq" | "movsd" | "movabs" => 8,
        "movups" | "movaps" | "movupd" | "movapd" | "movdqu" | "movdqa" => 16,
        _ if operation.starts_with("vmov") && operands.contains("%zmm") => 64,
        _ if operation.starts_with("vmov") && operands.contains("%ymm") => 32,
        _ if operation.starts_with("vmov") => 16,
        "mov" => match register?.trim().trim_start_matches('%') {
            name if name.starts_with('e') || name.ends_with('d') => 4,
            name if name.starts_with('r') && !name.ends_with(['b', 'w']) => 8,
            name if name.ends_with(['l', 'b']) => 1,
            _ => 2,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these loads wait.
    fn stalls(code: &[&str]) -> Vec<usize> {
        let mut stores = Stores::default();
        (0..code.len())
            .filter(|&n| stores.follow(code[n]).is_some())
            .collect()
    }

    #[test]
    fn a_load_that_spans_stores_waits_and_one_within_a_store_does_not() {
        let halves = ["mov    %rax,0x8(%rsp)", "mov    %rcx,0x10(%rsp)"];
        let [low, high] = halves;
        assert_eq!(stalls(&[low, high, "movups 0x8(%rsp),%xmm0"]), [2]);
        assert_eq!(stalls(&[low, "movups 0x8(%rsp),%xmm0"]), [1]);
        assert_eq!(stalls(&[low, high, "mov    0x10(%rsp),%rdx"]), [0; 0]);
        assert_eq!(
            stalls(&["movups %xmm0,(%rbx)", "mov    0x8(%rbx),%eax"]),
            [0; 0]
        );
        assert_eq!(
            stalls(&["movb   $0x0,0x8(%rsp)", "mov    0x8(%rsp),%rax"]),
            [1]
        );
        // Of the two that overlap the last counts.
        let over = ["movups %xmm0,0x7(%rsp)", "movups %xmm1,0x8(%rsp)"];
        assert_eq!(
            stalls(&[over[0], over[1], "movups 0x8(%rsp),%xmm0"]),
            [0; 0]
        );
        assert_eq!(stalls(&[over[1], over[0], "movups 0x8(%rsp),%xmm0"]), [2]);
    }

    #[test]
    fn a_base_that_is_another_and_a_store_that_is_long_past_are_no_reason() {
        let store = "mov    %eax,(%rbx)";
        assert_eq!(stalls(&[store, "mov    (%rbx),%rcx"]), [1]);
        assert_eq!(stalls(&[store, "mov    (%rbp),%rcx"]), [0; 0]);
        assert_eq!(
            stalls(&[store, "mov    %rdi,%rbx", "mov    (%rbx),%rcx"]),
            [0; 0]
        );
        assert_eq!(
            stalls(&[store, "lea    0x8(%rdi),%rbx", "mov    (%rbx),%rcx"]),
            [0; 0]
        );
        let mut late = vec![store];
        late.extend(["nop    %eax"; NEAR]);
        late.push("mov    (%rbx),%rcx");
        assert_eq!(stalls(&late), [0; 0]);
    }

    #[test]
    fn a_profile_counts_what_the_program_itself_runs() {
        let profile = "ob=/bin/other\nfn=a\n0x10 1 5\nob=/bin/cell\nfn=b\n0x10 1 7\n0x14 1 7\n\
                       calls=7 0x900\n0x18 1 7000\n0x18 1 7\n0x10 2 1\n";
        let counts = counts(profile, "/bin/cell");
        assert_eq!(counts, HashMap::from([(0x10, 8), (0x14, 7), (0x18, 7)]));
    }

    #[test]
    fn only_what_runs_is_looked_at_and_each_function_by_itself() {
        let assembled = "0000000000000010 <a>:\n  10:\tmovb   $0x0,0x8(%rsp)\n  14:\tmov    0x8(%rsp),%rax\n\
                         0000000000000020 <b>:\n  20:\tmov    0x8(%rsp),%rax\n";
        let all = HashMap::from([(0x10, 1.0), (0x14, 2.0), (0x20, 1.0)]);
        let found = functions(assembled, &all);
        assert_eq!(found.len(), 1);
        let stalls = &found["0000000000000010 <a>"];
        assert_eq!(stalls.len(), 1);
        assert!(
            stalls[0]
                .to_string()
                .starts_with(" 2.00 mov    0x8(%rsp),%rax <- movb")
        );
        assert!(functions(assembled, &HashMap::from([(0x14, 2.0)])).is_empty());
    }
}
