//! What each workload is: three lines and a diagram.

use maud::{Markup, html};

use super::plot::diagram::{Arrow, Diagram};
use super::plot::figure;
use crate::arena::cells::workload;

struct About {
    id: &'static str,
    lines: [&'static str; 3],
    diagram: Diagram,
}

const ABOUT: &[About] = &[
    About {
        id: "pingpong",
        lines: [
            "p pairs of a client and a server exchange n round trips each; the client keeps w requests in flight. All pairs start together, and their creation is timed.",
            "Counted: 2·p·n messages, one for each send. The pong carries the ping's sequence number, and the client adds them: the sum is checked.",
            "tell: sends do not wait. give: every send is a rendezvous. call: a fresh one-shot reply cell for each request. The number after w is the window; batch-b limits the messages a task handles in one turn.",
        ],
        diagram: Diagram {
            words: "A client sends ping to a server, which answers pong; p times.",
            boxes: &[(60.0, 40.0, "client"), (240.0, 40.0, "server")],
            arrows: &[
                Arrow::new(0, 1, -10.0, "ping i"),
                Arrow::new(1, 0, 10.0, "pong i"),
            ],
            note: "p pairs, w in flight",
        },
    },
    About {
        id: "net",
        lines: [
            "N clients make M requests each to servers of their own, over TCP on the loopback device, or locally for comparison. Each client has one request outstanding.",
            "Counted: N·M requests. Every reply must equal its request, and the sum is checked. Connecting, and one warm-up echo per client, come before the timed part.",
            "A closed loop measures service time and hides stalls: latencies come from the paced variant only. The label client tells what calls actors: actors that send plain messages, callers of a typed interface, slim clients without its scheduler.",
        ],
        diagram: Diagram {
            words: "A client sends a request over a socket to its server, which echoes it; N times.",
            boxes: &[(60.0, 40.0, "client i"), (240.0, 40.0, "server i")],
            arrows: &[
                Arrow::new(0, 1, -10.0, "request"),
                Arrow::new(1, 0, 10.0, "reply"),
            ],
            note: "N pairs over sockets",
        },
    },
    About {
        id: "chain",
        lines: [
            "The root makes child 1 and sends it Ping; each child makes the next, down to child A, which sends Pong to itself. Pong goes back up, one added at each step.",
            "Counted: 2·A+2 messages, A+1 actors; the depth that arrives at the root is checked.",
            "struct: statically typed messages. obj: dynamically typed. cold-system: the whole runtime is made and ended each time.",
        ],
        diagram: Diagram {
            words: "Root, child 1, and so on to child A: pings go down, pongs come back.",
            boxes: &[
                (45.0, 40.0, "root"),
                (150.0, 40.0, "child 1"),
                (255.0, 40.0, "child A"),
            ],
            arrows: &[
                Arrow::new(0, 1, -10.0, "ping"),
                Arrow::new(1, 2, -10.0, ".."),
                Arrow::new(2, 1, 10.0, ".."),
                Arrow::new(1, 0, 10.0, "pong"),
            ],
            note: "A children, each made by the one before",
        },
    },
    About {
        id: "fan",
        lines: [
            "A parent makes one child and sends it Ping 0..N-1 without waiting; the child answers each with Pong. Both stop by a message to themselves.",
            "Counted: 2·N+3 messages, 2 actors; the sum of the indices that came back is checked. Up to N messages are in flight.",
            "struct: statically typed messages. obj: dynamically typed. cold-system: the whole runtime is made and ended each time.",
        ],
        diagram: Diagram {
            words: "A parent sends N pings at once to one child, which answers each.",
            boxes: &[(60.0, 40.0, "parent"), (240.0, 40.0, "child")],
            arrows: &[
                Arrow::new(0, 1, -10.0, "N pings at once"),
                Arrow::new(1, 0, 10.0, "N pongs"),
            ],
            note: "N in flight",
        },
    },
    About {
        id: "counter",
        lines: [
            "P producers send Add(100) n times each to one counter; then one GetAndReset is answered with the sum.",
            "Counted: P·n messages; the sum of all replies is checked. This is behaviour under contention, not scaling: many senders meet in one mailbox (Hopac's own warning).",
            "send: unbounded mailbox. give: rendezvous. bounded-1024: back pressure. select: choice on both sides, with a 100 ms timer per send. mutex: a lock and no messages, a floor that is not ranked.",
        ],
        diagram: Diagram {
            words: "Several producers send to one counter.",
            boxes: &[
                (60.0, 22.0, "producer 1"),
                (60.0, 62.0, "producer P"),
                (240.0, 40.0, "counter"),
            ],
            arrows: &[Arrow::new(0, 2, -3.0, ""), Arrow::new(1, 2, 3.0, "")],
            note: "n × Add(100) each, then one GetAndReset",
        },
    },
    About {
        id: "skynet",
        lines: [
            "A tree with S leaves and ten children a node. A leaf sends its number to its parent; every other node sends the sum of its children's.",
            "Counted: (10·S-1)/9 nodes, one message each; the sum S·(S-1)/2 is checked, and the units created are counted by the peer.",
            "Classes: U1 every node an actor, U2 a task that waits on a channel, U3 a task whose parent awaits it, U4 only some nodes are units, U0 plain recursion (a floor). Figures of different classes are not ranked against each other.",
        ],
        diagram: Diagram {
            words: "A root with children, each with children: sums go up.",
            boxes: &[
                (150.0, 18.0, "sum"),
                (60.0, 66.0, "node 0"),
                (240.0, 66.0, "node 9"),
            ],
            arrows: &[Arrow::new(1, 0, -4.0, ""), Arrow::new(2, 0, 4.0, "")],
            note: "ten children a node, S leaves",
        },
    },
    About {
        id: "spawn",
        lines: [
            "n tasks are started; each adds one to a counter. An extension of ours: no seed document has it.",
            "Counted: n tasks; the counter is checked.",
            "detached: nobody joins them. joined: each result is awaited before the next task starts.",
        ],
        diagram: Diagram {
            words: "One task starts n tasks.",
            boxes: &[(60.0, 40.0, "task"), (240.0, 40.0, "n tasks")],
            arrows: &[Arrow::new(0, 1, 0.0, "start")],
            note: "",
        },
    },
    About {
        id: "growth",
        lines: [
            "The same n operations with few and with many things about: tasks alive, waiters on one channel, branches of a choice, timers armed, bytes of a message. An extension of ours; it runs by name only.",
            "Counted: n operations; a sum or a count of all is checked. The creation of the k is timed.",
            "tasks, waiters, timers: a level line is what one expects. branches, payload: k is work in each operation.",
        ],
        diagram: Diagram {
            words: "One of k tasks, waiters, branches or timers takes part in each operation.",
            boxes: &[
                (60.0, 40.0, "operation"),
                (240.0, 22.0, "1"),
                (240.0, 62.0, "k"),
            ],
            arrows: &[Arrow::new(0, 1, -3.0, ""), Arrow::new(0, 2, 3.0, "")],
            note: "n operations, k are there",
        },
    },
    About {
        id: "quality",
        lines: [
            "hog: a task makes another ready and then computes, without a pause, until it sees that the other has run, or for 100 ms; n times. The time is what the other was late. An extension of ours; it runs by name only.",
            "hog-spawn: the other was just started. hog-wake: it was just sent a message. hog-timer: it sleeps for 1 ms, which is part of the figure.",
            "pairs: 32 pairs exchange messages until the slowest has made n round trips: beside pingpong with p=32, what being unfair costs. idle: 100 tasks wait for n times 10 ms: see the CPU time.",
        ],
        diagram: Diagram {
            words: "A task that computes, and one that is ready.",
            boxes: &[(60.0, 40.0, "computes"), (240.0, 40.0, "is ready")],
            arrows: &[Arrow::new(0, 1, 0.0, "makes ready")],
            note: "how late does it run?",
        },
    },
    About {
        id: "floor",
        lines: [
            "What the machine itself takes, without a runtime: to be held against the figures of messages. It runs by name only, and is not ranked.",
            "Counted: n operations.",
            "line: a cache line to another core and back. park: a sleeping thread is woken, and wakes the other. loopback: 12 bytes over TCP to another thread and back.",
        ],
        diagram: Diagram {
            words: "One core, and another where two take part.",
            boxes: &[(60.0, 40.0, "core"), (240.0, 40.0, "another")],
            arrows: &[
                Arrow::new(0, 1, -10.0, "there"),
                Arrow::new(1, 0, 10.0, "back"),
            ],
            note: "",
        },
    },
    About {
        id: "savina",
        lines: [
            "The thirty actor benchmarks of Imam and Sarkar (2014), with the sizes of the paper: small ones, problems of concurrency, and parallel programs. They run by name only.",
            "Counted: one operation is a message where messages dominate, else what is computed; actors; and the result. Each is checked against the same work done without actors.",
            "The label bound tells what dominates. Differences from the published programs are in SAVINA.md.",
        ],
        diagram: Diagram {
            words: "A master gives work to workers, which give results back; n times.",
            boxes: &[(60.0, 40.0, "master"), (240.0, 40.0, "workers")],
            arrows: &[
                Arrow::new(0, 1, -10.0, "work"),
                Arrow::new(1, 0, 10.0, "result"),
            ],
            note: "the shape of many of the thirty",
        },
    },
];

pub(super) fn text(name: &str) -> Markup {
    let Some(about) = ABOUT.iter().find(|a| a.id == name) else {
        let known = workload::workload(name).map(|w| w.about);
        return html! { p { (known.unwrap_or("A workload that this version of tidings does not know.")) } };
    };
    html! {
        div class="plots" {
            div { @for line in about.lines { p { (line) } } }
            div class="diagram" { (figure(&about.diagram.draw(name), &html! { (about.diagram.words) })) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_described() {
        for workload in workload::WORKLOADS {
            assert!(ABOUT.iter().any(|a| a.id == workload.id), "{}", workload.id);
            assert!(text(workload.id).into_string().contains("<svg"));
        }
        assert!(text("unheard").into_string().contains("does not know"));
    }
}
