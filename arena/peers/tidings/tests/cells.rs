//! Every cell at the odd sizes of `WORKLOADS.md` on 1, 2 and 8 workers, and the protocol.

use std::collections::BTreeSet;

use peer_protocol::trial;
use tidings_peer::{Counting, Peer, SYSTEMS, speak};

#[global_allocator]
static ALLOCATOR: Counting<std::alloc::System> = Counting(std::alloc::System);

/// The sizes of a workload, and `(msgs, units, check)` of each: those of all peers, and larger ones.
fn odd(cell: &str) -> Vec<(String, [i64; 3])> {
    let larger: &[i64] = match cell.split_once('/').expect("workload/variant") {
        ("net", _) => &[37, 13],
        ("chain", _) => &[5003],
        ("skynet", _) => &[10_000],
        ("spawn", _) => &[10_007],
        ("savina", id) => return vec![savina(id)],
        _ => return trial::odd(cell),
    };
    let mut all = trial::odd(cell);
    all.push(trial::at(cell, larger));
    all
}

/// The same of a benchmark of Savina, at its least size.
fn savina(id: &str) -> (String, [i64; 3]) {
    let one = savina::benchmark(id).expect("one of the thirty");
    let sizes = one.at(one.sizes[0]);
    let savina::Counts { msgs, units, check } = one.expected(sizes);
    let fixed = one
        .fixed
        .iter()
        .map(|(key, value)| format!(" {key}={value}"));
    let words = format!("n={}{}", sizes.n, fixed.collect::<String>());
    (words, [msgs, units, check])
}

const OK: &str = "{\"arena\":1,\"t\":\"ok\",\"id\":1}\n";

/// A sample, again if the machine stood still for so long that the cell's own timeout fired.
fn answer_unless_stalled(peer: &mut Peer, prep: &str, inner: i64) -> String {
    for _ in 0..5 {
        let answer = peer.answer(&format!("run id=2 inner={inner}"));
        if !answer.contains("100 ms fired") {
            return answer;
        }
        assert_eq!(peer.answer(prep), OK, "{prep}");
    }
    panic!("the machine stands still all the time: {prep}");
}

fn every_cell(threads: usize) {
    SYSTEMS
        .iter()
        .for_each(|system| every_cell_of(system, threads));
}

/// The cells of two processes: here the server is another peer in this one.
const TWO: [&str; 3] = ["net/echo", "net/echo-mux", "net/paced"];

/// Prepares a cell, and the server that it needs.
fn prepare(peer: &mut Peer, server: &mut Peer, prep: &str) {
    let cell = prep.split(' ').find_map(|word| word.strip_prefix("cell="));
    let cell = cell.expect("a cell");
    if TWO.contains(&cell) {
        let answer = server.answer(&format!("{prep} role=server"));
        let addr = answer.split("\"addr\":\"").nth(1).expect(prep);
        let addr = addr.split('"').next().expect("quoted");
        let answer = peer.answer(&format!("{prep} role=client addr={addr}"));
        assert!(answer.contains("\"ready_ns\":"), "{prep}: {answer}");
    } else {
        let answer = peer.answer(prep);
        let ready = answer.contains("\"ready_ns\":");
        assert!(answer == OK || ready, "{prep}: {answer}");
    }
}

fn every_cell_of(system: &str, threads: usize) {
    let (mut peer, mut server) = (Peer::new(system), Peer::new(system));
    for cell in peer.cells().collect::<Vec<_>>() {
        for (sizes, [msgs, units, check]) in odd(cell) {
            let prep = format!("prep id=1 cell={cell} threads={threads} {sizes} seed=1");
            prepare(&mut peer, &mut server, &prep);
            for inner in [1, 3] {
                let answer = answer_unless_stalled(&mut peer, &prep, inner);
                let counts = format!(
                    ",\"inner\":{inner},\"msgs\":{},\"units\":{},\"check\":{}}}",
                    inner * msgs,
                    inner * units,
                    inner * check
                );
                assert!(
                    answer.trim_end().ends_with(&counts),
                    "{prep}: {answer} {counts}"
                );
            }
        }
    }
    assert_eq!(peer.answer("drop id=1"), OK);
}

#[test]
fn every_cell_on_1_worker() {
    every_cell(1);
}

#[test]
fn every_cell_on_2_workers() {
    every_cell(2);
}

#[test]
fn every_cell_on_8_workers() {
    every_cell(8);
}

/// Those of which each client has a link, or a share of one.
const LINKS: [&str; 3] = ["tidings-link", "tidings-link-messages", "tidings-link-slim"];

#[test]
fn requests_on_a_schedule_have_histograms() {
    for system in ["tidings"].iter().chain(&LINKS) {
        on_a_schedule(system);
    }
}

fn on_a_schedule(system: &str) {
    let (mut server, mut client) = (Peer::new(system), Peer::new(system));
    let prep = "prep id=1 cell=net/paced threads=2 N=7 M=31";
    prepare(&mut client, &mut server, prep);
    let answer = client.answer("run id=3 inner=1 hist=1 rate=997 secs=1");
    assert!(
        answer.contains(r#""inner":1,"msgs":1994,"units":14,"check":496506,"hist":[["#),
        "{answer}"
    );
    for list in ["hist", "hist_service"] {
        let (_, list) = answer
            .split_once(&format!("\"{list}\":[["))
            .expect("it was asked for");
        let list = list.split("]]").next().expect("it ends");
        let count = |bucket: &str| bucket.split(',').nth(1).map(|n| n.parse::<u32>());
        let counts = list
            .split("],[")
            .map(|bucket| count(bucket).expect("a pair"));
        assert_eq!(counts.sum::<Result<u32, _>>(), Ok(997), "{answer}");
    }
}

#[test]
fn a_server_that_goes_is_an_error_of_the_client() {
    for system in ["tidings"].iter().chain(&LINKS) {
        for cell in TWO {
            let (mut server, mut client) = (Peer::new(system), Peer::new(system));
            let prep = format!("prep id=1 cell={cell} threads=2 N=3 M=5");
            prepare(&mut client, &mut server, &prep);
            drop(server);
            let answer = client.answer("run id=2 inner=1000000");
            assert!(
                answer.contains(r#""kind":"bug""#),
                "{system} {cell}: {answer}"
            );
        }
    }
}

#[test]
fn a_server_that_goes_between_two_samples_is_an_error_too() {
    for system in LINKS {
        let (mut server, mut client) = (Peer::new(system), Peer::new(system));
        prepare(
            &mut client,
            &mut server,
            "prep id=1 cell=net/echo threads=2 N=3 M=5",
        );
        assert!(client.answer("run id=2 inner=1").contains("\"msgs\":30"));
        assert_eq!(server.answer("drop id=1"), OK);
        let answer = client.answer("run id=3 inner=1");
        assert!(answer.contains(r#""kind":"bug""#), "{system}: {answer}");
    }
}

#[test]
fn clients_without_our_runtime_are_in_a_process_of_their_own() {
    let mut peer = Peer::new("tidings-link-slim");
    assert!(!peer.cells().any(|cell| cell == "net/echo-oneproc"));
    let answer = peer.answer("prep id=3 cell=net/echo threads=2 N=1 M=1");
    assert!(answer.contains(r#""kind":"limit""#), "{answer}");
}

#[test]
fn other_windows_and_budgets_count_the_same() {
    for (system, cell) in [
        ("tidings", "pingpong/tell-w100"),
        ("tidings", "pingpong/tell-w1000"),
        ("tidings", "pingpong/batch-5"),
        ("tidings-actors", "pingpong/tell-w100"),
    ] {
        let mut peer = Peer::new(system);
        for extra in ["w=1", "w=7", "w=5000", "w=7 batch=1", "batch=3"] {
            let prep = format!("prep id=1 cell={cell} threads=2 p=3 n=997 {extra}");
            assert_eq!(peer.answer(&prep), OK, "{prep}");
            let answer = peer.answer("run id=2");
            let counts = r#""inner":1,"msgs":5982,"units":6,"check":1489518}"#;
            assert!(answer.trim_end().ends_with(counts), "{prep}: {answer}");
        }
    }
}

#[test]
fn sizes_that_are_none_are_refused() {
    let mut peer = Peer::new("tidings");
    for cell in peer.cells().collect::<Vec<_>>() {
        for size in [
            "0",
            "-1",
            "4611686018427387904",
            "99999999999999999999",
            "x",
        ] {
            let all = ["p", "n", "w", "P", "A", "N", "M", "S"].map(|key| format!("{key}={size}"));
            let prep = format!("prep id=3 cell={cell} threads=2 {}", all.join(" "));
            let answer = peer.answer(&prep);
            let limit = r#"{"arena":1,"t":"err","id":3,"kind":"limit","msg":"#;
            assert!(answer.starts_with(limit), "{prep}: {answer}");
            let answer = peer.answer("run id=4 inner=1");
            assert!(
                answer.contains(r#""id":4,"kind":"bug""#),
                "{prep}: {answer}"
            );
        }
    }
    for prep in [
        "prep id=3 cell=counter/send threads=0 P=2 n=2",
        "prep id=3 cell=counter/send threads=100000 P=2 n=2",
        "prep id=3 cell=skynet/tree threads=2 S=1001",
        "prep id=3 cell=skynet/tree-ch threads=2 S=1001",
        "prep id=3 cell=pingpong/tell threads=2 p=1000000 n=2147483648",
        "prep id=3 cell=pingpong/batch-1 threads=2 p=1 n=1 batch=-1",
        "prep id=3 cell=net/echo threads=2 N=1 M=1",
        "prep id=3 cell=net/echo threads=2 N=1 M=1 role=client addr=here",
    ] {
        let answer = peer.answer(prep);
        assert!(
            answer.contains(r#""id":3,"kind":"limit""#),
            "{prep}: {answer}"
        );
    }
}

/// A field of a sample.
fn field(line: &str, name: &str) -> i64 {
    let (_, rest) = line.split_once(&format!("\"{name}\":")).expect(name);
    rest.split([',', '}'])
        .next()
        .expect("a value")
        .parse()
        .expect("a number")
}

#[test]
fn a_dialogue() {
    let commands = "\
        ping id=1\n\
        prep id=1 cell=fan/obj threads=2 N=1000 seed=7 unknown=key\n\
        run id=5 inner=2 alloc=1\n\
        run id=6 inner=0\n\
        prep id=7 cell=net/no-such threads=2 N=1 M=1\n\
        dance id=8 msg=\"\n\
        drop id=1\n\
        quit\n\
        ping id=1\n";
    let mut output = Vec::new();
    speak(Peer::new("tidings"), commands.as_bytes(), &mut output).expect("memory takes everything");
    let output = String::from_utf8(output).expect("text");
    let lines: Vec<&str> = output.lines().collect();
    let [hello, ping, prep, sample, none, unknown, dance, dropped] = lines[..] else {
        panic!("an answer for each command before `quit`: {output}");
    };
    let hello_starts = r#"{"arena":1,"t":"hello","system":"tidings","peer":"tidings","version":"#;
    assert!(hello.starts_with(hello_starts), "{hello}");
    assert!(
        hello.contains(r#""caps":["alloc","units","hist"],"cells":["chain/cold-system","#),
        "{hello}"
    );
    assert_eq!([ping, prep, dropped], [OK.trim_end(); 3]);
    assert!(sample.contains(r#""id":5,"ns":"#), "{sample}");
    assert!(
        sample.contains(r#""msgs":4006,"units":4,"check":999000,"alloc_bytes":"#),
        "{sample}"
    );
    // Each dynamic message is a box of 8 bytes, but for the empty ones.
    assert!(field(sample, "alloc_count") >= 4000, "{sample}");
    assert!(field(sample, "alloc_bytes") >= 8 * 4000, "{sample}");
    assert!(none.contains(r#""kind":"limit""#), "{none}");
    assert!(
        unknown.contains(r#""id":7,"kind":"unsupported""#),
        "{unknown}"
    );
    assert!(
        dance.contains(r#""msg":"unknown command \"dance\""}"#),
        "{dance}"
    );
}

#[test]
fn allocations_of_cells_over_tcp_in_one_process_are_counted() {
    for system in ["tidings", "tidings-link", "tidings-link-messages"] {
        let mut peer = Peer::new(system);
        let prep = "prep id=1 cell=net/echo-oneproc threads=2 N=7 M=31 seed=1";
        assert!(peer.answer(prep).contains("\"ready_ns\":"));
        let sample = peer.answer("run id=2 inner=1 alloc=1");
        assert!(field(&sample, "alloc_count") > 0, "{system}: {sample}");
    }
}

#[test]
fn the_manifest_lists_the_cells() {
    let manifest = include_str!("../peer.toml");
    let mut listed: Vec<(&str, &str)> = Vec::new();
    for block in manifest.split("[[cell]]").skip(1) {
        let find = |key: &str| block.lines().find_map(|line| line.strip_prefix(key));
        let id = find("id = ").expect("a cell has an id").trim_matches('"');
        let systems = find("systems = ");
        let of =
            |system: &&&str| systems.is_none_or(|list| list.contains(&format!("\"{system}\"")));
        listed.extend(SYSTEMS.iter().filter(of).map(|&system| (system, id)));
    }
    let set: BTreeSet<(&str, &str)> = listed.iter().copied().collect();
    assert_eq!(set.len(), listed.len(), "no cell twice");
    let peers = SYSTEMS.iter().map(|&system| (system, Peer::new(system)));
    let cells = peers.flat_map(|(system, peer)| {
        let cells: Vec<_> = peer.cells().collect();
        cells.into_iter().map(move |cell| (system, cell))
    });
    assert_eq!(set, cells.collect());
}
