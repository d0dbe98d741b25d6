//! The figures of the seed documents as printed there, and the errata found in them. Data only.
//!
//! A figure stands here only if it is in the project's research notes; none is computed or remembered.

/// Something a seed's program or text does other than it says, and what the arena does about it.
pub(super) struct Erratum {
    pub(super) id: &'static str,
    pub(super) place: &'static str,
    pub(super) finding: &'static str,
    pub(super) here: &'static str,
}

/// One figure as printed.
pub(super) struct Printed {
    pub(super) seed: &'static str,
    pub(super) program: &'static str,
    pub(super) figure: &'static str,
    pub(super) errata: Vec<&'static str>,
    pub(super) workload: &'static str,
    /// The cells of this run that stand beside it.
    pub(super) variants: Vec<&'static str>,
    /// Names under which the same system may be in this run, and of ours whose clients are of its kind.
    pub(super) systems: Vec<&'static str>,
}

/// The seed documents, by number.
pub(super) const DOCUMENTS: &[(&str, &str)] = &[
    (
        "000",
        "Hopac's PingPong benchmark, and the Akka team's post on 50 million messages per second",
    ),
    (
        "001",
        "Akka.Interfaced's BasicBenchmark: AkkaPingpong, InterfacedPingpong, SlimSocketPingpong",
    ),
    (
        "002",
        "actors-benchmarks-fsharp: MailboxProcessor and Akka under BenchmarkDotNet",
    ),
    ("003", "A counter actor in Hopac, F# and Kotlin"),
    (
        "004",
        "skynet, one million concurrent units in many languages",
    ),
];

/// As the fields of [`Printed`] stand, one behind the other; `-` is nothing.
const PRINTED: &str = r#"
000 | Hopac PingPong (variant not named) | 56 million messages/s | T1 | pingpong | tell give | hopac
000 | Hopac PingPong, older text (variant not named) | 28 million ping-pongs | T1 | pingpong | tell give | hopac
000 | Akka 2.0, 48 pairs on 48 cores, tuned | > 50 M messages/s | T2 T3 | pingpong | tell-w1000 | akka pekko
000 | Akka 2.0, the same before tuning | 20 M messages/s | T2 T3 | pingpong | tell-w1000 | akka pekko
001 | InterfacedPingpong, N=1000 "M=0100" (a typo for 1000), 79.1 s | 12,642 req/s | T13 T14 | net | echo-mux | akka-interfaced interfaced tidings-link
001 | SlimSocketPingpong, N=1000 M=1000 (53,019 by its own time) | 53022 req/s | T13 T14 | net | echo | slimsocket tidings-link-slim
002 | AkkaObj, AkkaStruct: an operation of Sequential | 50-250 ms, ±50 % | T11 T12 | chain | struct cold-system | akka akka-net
002 | AkkaObj, AkkaStruct: an operation of Parallel | 50-250 ms, ±50 % | T11 T12 | fan | struct cold-system | akka akka-net
003 | Hopac (ChMsg), 8 × 3,000,000 | 4.72 M msg/s | T4 T5 | counter | give | hopac
003 | F# MailboxProcessor, 8 × 3,000,000 | 1.16 M msg/s | T4 T5 | counter | send | mailboxprocessor fsharp
003 | Kotlin actor, 8 × 3,000,000 | 1.32 M msg/s | T4 T5 | counter | give | kotlin
003 | Kotlin select, 8 × 3,000,000 | 0.76 M msg/s | T4 T5 | counter | select | kotlin
003 | the four rows at n = 300 | 75 k, 224 k, 60 k, 27 k msg/s | T6 | counter | - | -
004 | Haskell "Parallel": sparks, no messages | 41-44 ms | T7 | skynet | floor | haskell
004 | Haskell with channels | 1.8 s | T7 | skynet | tree-ch | haskell
004 | .NET Core "Parallel Async" (8 threads): Task.Run for the top 10 only | 290 ms | T7 | skynet | tasks | dotnet
004 | .NET Full (TPL): plain recursion into a dataflow block | 118 ms | T7 | skynet | floor | dotnet-full mono
"#;

/// All of them.
pub(super) fn printed() -> impl Iterator<Item = Printed> {
    let words = |list: &'static str| list.split(' ').filter(|word| *word != "-").collect();
    PRINTED.lines().filter_map(move |line| {
        let [seed, program, figure, errata, workload, variants, systems] =
            line.split(" | ").collect::<Vec<_>>()[..]
        else {
            return None;
        };
        Some(Printed {
            seed,
            program,
            figure,
            errata: words(errata),
            workload,
            variants: words(variants),
            systems: words(systems),
        })
    })
}

pub(super) const ERRATA: &[Erratum] = &[
    Erratum {
        id: "T1",
        place: "Hopac PingPong, seed 000: \"56 million messages/s\"",
        finding: "Commit 6ae0344 (2014-03-29) set total = pairs*n*2 but kept total*2 in the rate, so the program prints twice the messages/s (four times the round trips/s). \
            The same commit changed the text from \"28 million ping-pongs\" to \"56 million messages\"; the older code printed pairs*n*2/s under the label \"ping-pongs/s\", so 28 M was already messages/s.",
        here: "One message is counted per send: msgs/s = 2*pairs*n/t. The printed figure is shown here only: 56 M printed is 28 M messages/s.",
    },
    Erratum {
        id: "T2",
        place: "Akka's TellThroughputPerformanceSpec",
        finding: "tps = repeat/duration counts one per round trip, not per message; the post of 50 M counts \"messages\" (96 actors are 48 pairs, at least 15 s, 960 M messages).",
        here: "The same unit everywhere: sends, both directions.",
    },
    Erratum {
        id: "T3",
        place: "Akka's TellThroughputPerformanceSpec",
        finding: "Each pair begins with a burst of min(1000, repeat) messages in flight; Hopac deliberately has one.",
        here: "The window is part of the variant: tell and tell-w1000 are never in one ranking.",
    },
    Erratum {
        id: "T4",
        place: "counter, seed 003",
        finding: "Three semantics in one table: Hopac's give is a synchronous rendezvous, Kotlin's actor and Channel() have capacity 0 (rendezvous), F#'s Post is unbounded and asynchronous.",
        here: "Every row carries a mailbox label, and give, send and bounded-1024 are cells of their own.",
    },
    Erratum {
        id: "T5",
        place: "counter, seed 003",
        finding: "Hopac and F# ask GetAndReset once, after all producers; the Kotlin programs ask once per producer, and each resets. Replies are in no rate.",
        here: "Once at the end. ask-each keeps the P questions; the check is the sum of all replies, 100*P*n.",
    },
    Erratum {
        id: "T6",
        place: "counter, seed 003",
        finding: "The rows at n = 300 (75 k, 224 k, 60 k, 27 k msg/s) are cold start and compilation, not messaging: no warm-up, one run each.",
        here: "Cold start is a column of its own (first sample), never mixed with the steady state.",
    },
    Erratum {
        id: "T7",
        place: "skynet, seed 004",
        finding: "What counts as an actor differs: F# agents make 111,111, not 1,111,111; leaves of .NET, bluebird and RxJava are not scheduled at all; RxJava nests synchronous switchMap on one thread; \
            \"Haskell 41-44 ms\" is parMap rpar (sparks), its channel version took 1.8 s.",
        here: "Peers report the units they create; rows carry a unit class, and a ranking never crosses classes.",
    },
    Erratum {
        id: "T8",
        place: "skynet, seed 004",
        finding: "\"One million at once\" is not guaranteed: schedulers that go depth first never have a million alive.",
        here: "A second variant, alive, has a barrier: all leaves must exist before the first reply.",
    },
    Erratum {
        id: "T9",
        place: "skynet, seed 004",
        finding: "The Erlang \"HIPE\" row cannot be reproduced: HiPE was removed with OTP 24.",
        here: "The row is retired; Erlang's JIT stands in and says so.",
    },
    Erratum {
        id: "T10",
        place: "skynet, seed 004",
        finding: "Crystal 1.6 dies with SIGSEGV at 10^5 and 10^6 under the default vm.max_map_count of 65530. The published source no longer compiles as integer code (size/div is float division today), and Time.now is gone.",
        here: "doctor checks the limit; the row is blocked with its reason and fix, never silently made smaller.",
    },
    Erratum {
        id: "T11",
        place: "F# actors, seed 002",
        finding: "The ActorSystem is created inside every Akka operation and never terminated, with Akka 1.4.35, a version with a known leak of systems (akka.net #5802). The 50-250 ms per operation and their ±50 % error are system start and leaked threads.",
        here: "As published (original:*), with a system made and ended each time (cold-system), and with a warm one. Only the warm one is ranked against others of its kind.",
    },
    Erratum {
        id: "T12",
        place: "F# \"Sequential\" and \"Parallel\", seed 002",
        finding: "Sequential sends 2N+2 messages (1, N pings, 1 pong of the last child to itself, N pongs); Parallel 2N+3 (Start, N pings, N pongs, two Stops to oneself), and all N pings are sent before one pong is read.",
        here: "The formulas are part of the workload's definition, and the peer's own count must agree.",
    },
    Erratum {
        id: "T13",
        place: "net, seed 001",
        finding: "AkkaPingpong and InterfacedPingpong send 1000 logical pairs over one TCP association; SlimSocket uses 1000 TCP connections, and two processes at HEAD though the text says one program. \
            \"M=0100\" in the raw data is a typo for 1000 (79.1 s = 12,642 req/s). 53022 should be 53,019.",
        here: "Connections and processes are labels shown in every row: echo, echo-mux and echo-oneproc are cells of their own. \
            The three kinds of clients (label client: messages, interface, slim) meet inside of each.",
    },
    Erratum {
        id: "T14",
        place: "net, seed 001",
        finding: "A closed loop: each client has exactly one request outstanding, so it measures service time and hides stalls (coordinated omission).",
        here: "Throughput comes from the closed loop, latency percentiles from a separate paced variant.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::cells::workload;

    #[test]
    fn figures_name_known_errata_documents_and_cells() {
        assert_eq!(printed().count(), PRINTED.trim().lines().count());
        for printed in printed() {
            for erratum in printed.errata {
                assert!(ERRATA.iter().any(|e| e.id == erratum), "{erratum}");
            }
            assert!(DOCUMENTS.iter().any(|(number, _)| *number == printed.seed));
            let workload = workload::workload(printed.workload).expect("known");
            for variant in printed.variants {
                assert!(workload.variant(variant).is_some(), "{variant}");
            }
        }
        let ids: Vec<String> = (1..=14).map(|n| format!("T{n}")).collect();
        assert!(
            ERRATA
                .iter()
                .map(|e| e.id)
                .eq(ids.iter().map(String::as_str))
        );
    }
}
