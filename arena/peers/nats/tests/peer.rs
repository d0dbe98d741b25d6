//! The cell of every system at odd sizes, through the protocol, in two processes. Needs `TIDINGS_NATS_SERVER`.

use std::process::Command;

use peer_protocol::trial::Trial;

fn start(system: &str) -> Trial {
    Trial::start(&mut Command::new(env!("CARGO_BIN_EXE_peer-nats")), system)
}

#[test]
fn every_system_at_odd_sizes() {
    for system in ["tidings-nats", "tidings-nats-direct", "async-nats"] {
        let (mut server, mut client) = (start(system), start(system));
        for (n, m) in [(7_i64, 31_i64), (1, 1), (53, 13)] {
            let sizes = format!("threads=2 seed=1 N={n} M={m}");
            let answer = server.ask(&format!("prep id=1 cell=net/cluster role=server {sizes}"));
            let addr = answer.split("\"addr\":\"").nth(1).expect("an address");
            let addr = addr.split('"').next().expect("quoted");
            let prep = format!("prep id=1 cell=net/cluster role=client addr={addr} {sizes}");
            let answer = client.ask(&prep);
            assert!(
                answer.contains("\"ready_ns\":"),
                "{system} {sizes}: {answer}"
            );
            for inner in [1, 3] {
                let answer = client.ask(&format!("run id=2 inner={inner}"));
                let counts = format!(
                    "\"inner\":{inner},\"msgs\":{},\"units\":{},\"check\":{}}}",
                    inner * 2 * n * m,
                    inner * 2 * n,
                    inner * n * (m * (m - 1) / 2)
                );
                assert!(
                    answer.contains(&counts),
                    "{system} {sizes}: {answer} {counts}"
                );
            }
            client.release();
            server.release();
        }
        client.quit();
        server.quit();
    }
}
