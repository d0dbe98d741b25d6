//! The words sent to a peer and the JSON lines it answers with (`arena/PROTOCOL.md`).

use serde::Deserialize;

use crate::arena::cells::workload::{CellId, Params};
use crate::arena::plain;
use crate::arena::statistics::histogram::Bucket;

/// Longest line a peer may send.
pub(crate) const LINE_LIMIT: usize = 64 * 1024;

/// Most repetitions in one sample.
pub(crate) const INNER_LIMIT: u64 = 1 << 30;

/// One line from a peer.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(crate) enum Line {
    Hello(Hello),
    Ok(Done),
    Sample(Sample),
    Err(Refusal),
}

/// The first line: who speaks.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) system: String,
    pub(crate) peer: String,
    pub(crate) version: String,
    pub(crate) runtime: String,
    pub(crate) flags: String,
    pub(crate) threads: u32,
    pub(crate) pid: u32,
    pub(crate) clock_ns: u64,
    pub(crate) caps: Vec<String>,
    pub(crate) cells: Vec<String>,
}

/// A command was carried out.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) id: u64,
    /// Of a server: where its client finds it.
    pub(crate) addr: Option<String>,
    /// Of a client: how long it took to connect and make one verified echo each.
    pub(crate) ready_ns: Option<u64>,
}

/// The part of a process in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role<'a> {
    /// It is the whole cell.
    Alone,
    Server,
    Client {
        addr: &'a str,
    },
}

/// One sample, as the peer counted it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) id: u64,
    pub(crate) ns: u64,
    pub(crate) inner: u64,
    pub(crate) msgs: u64,
    pub(crate) units: u64,
    pub(crate) check: i64,
    /// So small that sums over all samples of a run fit.
    #[serde(default)]
    pub(crate) gc: Vec<u32>,
    pub(crate) alloc_bytes: Option<u64>,
    pub(crate) alloc_count: Option<u64>,
    /// Latencies from the intended and from the actual start, of a paced sample.
    #[serde(default)]
    pub(crate) hist: Vec<Bucket>,
    #[serde(default)]
    pub(crate) hist_service: Vec<Bucket>,
}

/// A command was not carried out.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) id: u64,
    pub(crate) kind: RefusalKind,
    pub(crate) msg: String,
}

/// Why a peer refuses.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RefusalKind {
    Unsupported,
    Limit,
    Oom,
    Bug,
}

/// Reads one line (without its end); its texts are fit to be shown. The error says what is wrong with it and quotes its
/// beginning.
pub(crate) fn read(line: &[u8]) -> Result<Line, String> {
    #[derive(Deserialize)]
    struct Version {
        arena: u64,
    }
    let text = std::str::from_utf8(line).map_err(|_| format!("not UTF-8: {}", quote(line)))?;
    if !text.starts_with("{\"arena\"") {
        return Err(format!("stray output: {}", quote(line)));
    }
    let broken = |e: serde_json::Error| format!("bad line ({e}): {}", quote(line));
    let value = plain::document(serde_json::from_str(text).map_err(broken)?);
    let version = Version::deserialize(&value).map_err(broken)?;
    if version.arena != 1 {
        return Err(format!(
            "speaks version {} of the protocol, not 1",
            version.arena
        ));
    }
    serde_json::from_value(value).map_err(broken)
}

/// The beginning of a line, fit for a message.
pub(crate) fn quote(line: &[u8]) -> String {
    const SHOWN: usize = 80;
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    let dots = if line.len() > SHOWN { "..." } else { "" };
    format!("{text:?}{dots}")
}

/// `prep`: make everything that is not timed.
pub(crate) fn prep(
    id: u64,
    cell: &CellId,
    threads: u32,
    seed: u64,
    params: &Params,
    role: Role<'_>,
) -> String {
    use std::fmt::Write as _;
    let mut line = format!("prep id={id} cell={cell} threads={threads} seed={seed}");
    match role {
        Role::Alone => {}
        Role::Server => line += " role=server",
        Role::Client { addr } => {
            let _ = write!(line, " role=client addr={addr}");
        }
    }
    for (key, value) in params {
        let _ = write!(line, " {key}={value}");
    }
    line
}

/// `run`: one sample.
pub(crate) fn run(id: u64, inner: u64, alloc: bool) -> String {
    format!(
        "run id={id} inner={inner}{}",
        if alloc { " alloc=1" } else { "" }
    )
}

/// `run` of requests on a fixed schedule.
pub(crate) fn paced(id: u64, rate: u64, secs: u64) -> String {
    format!("run id={id} inner=1 hist=1 rate={rate} secs={secs}")
}

/// `drop`: free what `prep` made.
pub(crate) fn drop_line(id: u64) -> String {
    format!("drop id={id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_lines_are_read() {
        let text = include_str!("../../../../../arena/PROTOCOL.md");
        let mut read_lines = 0;
        for line in text
            .lines()
            .map(str::trim)
            .filter(|l| l.starts_with("{\"arena\""))
        {
            read(line.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
            read_lines += 1;
        }
        assert!(read_lines >= 10, "the page shows its lines");
    }

    #[test]
    fn rubbish_is_named() {
        let cases: &[(&[u8], &str)] = &[
            (b"hello", "stray output"),
            (b"", "stray output"),
            (b"\xff\xfe", "not UTF-8"),
            (b"{\"arena\":2,\"t\":\"ok\",\"id\":1}", "version 2"),
            (b"{\"arena\":1,\"t\":\"ok\"}", "missing field `id`"),
            (
                b"{\"arena\":1,\"t\":\"sample\",\"id\":1,\"ns\":-4}",
                "bad line",
            ),
            (b"{\"arena\":1,\"t\":\"nope\",\"id\":1}", "nope"),
            (b"{\"arena\":1,", "bad line"),
            (
                b"{\"arena\":1,\"t\":\"\\u001b[31m\"}",
                r"unknown variant `\u{1b}[31m`",
            ),
        ];
        for (line, names) in cases {
            let error = read(line).expect_err("rubbish");
            assert!(error.contains(names), "{error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut random = crate::arena::statistics::random::Random::new(1);
        for _ in 0..20_000 {
            let length = random.below(60);
            let mut line = if random.below(2) == 0 {
                b"{\"arena\"".to_vec()
            } else {
                Vec::new()
            };
            line.extend((0..length).map(|_| random.next().to_le_bytes()[0]));
            let _ = read(&line);
        }
    }

    #[test]
    fn commands_are_words() {
        let cell = crate::arena::cells::workload::parse_cell_id("counter/send").expect("known");
        let params = Params::from([("P".to_owned(), 2), ("n".to_owned(), 100)]);
        assert_eq!(
            prep(1, &cell, 2, 7, &params, Role::Alone),
            "prep id=1 cell=counter/send threads=2 seed=7 P=2 n=100"
        );
        assert_eq!(run(3, 4, true), "run id=3 inner=4 alloc=1");
        let cell = crate::arena::cells::workload::parse_cell_id("net/echo").expect("known");
        let params = Params::from([("N".to_owned(), 7), ("M".to_owned(), 31)]);
        assert_eq!(
            prep(1, &cell, 2, 7, &params, Role::Server),
            "prep id=1 cell=net/echo threads=2 seed=7 role=server M=31 N=7"
        );
        let role = Role::Client {
            addr: "127.0.0.1:5",
        };
        assert_eq!(
            prep(1, &cell, 2, 7, &params, role),
            "prep id=1 cell=net/echo threads=2 seed=7 role=client addr=127.0.0.1:5 M=31 N=7"
        );
        assert_eq!(paced(4, 500, 2), "run id=4 inner=1 hist=1 rate=500 secs=2");
    }
}
