//! Peers that jitter, drift and burn: what the figures say of them, on a machine of any mood.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::stage::{Stage, cell};

#[test]
fn pairing_keeps_the_ratio_when_everybody_becomes_slower_half_way() {
    crate::steady(|| {
        let stage = Stage::new("drift");
        let soon = SystemTime::now() + Duration::from_millis(1200);
        let soon = soon
            .duration_since(UNIX_EPOCH)
            .expect("after 1970")
            .as_millis()
            .to_string();
        let drift = ["--mode", "drift", "--switch-ms", &soon];
        stage.peer_with("a", &drift, &["pingpong/tell"]);
        stage.peer_with(
            "b",
            &[&drift[..], &["--ns", "100"]].concat(),
            &["pingpong/tell"],
        );
        let called = stage.call(&[
            "run",
            "@a,b",
            "--vs",
            "a",
            "--profile",
            "smoke",
            "--threads",
            "2",
            "--min-rounds",
            "20",
            "--max-rounds",
            "20",
            "--json",
            "-q",
        ]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let run = called.json();
        // The fakes tell what they meant to sleep, so nothing but the round of the switch can differ from 2.
        let ratio = &cell(&run, "b")["ratio"];
        let median = ratio["median"].as_f64().expect("a ratio");
        assert!((median - 2.0).abs() < 0.01, "{ratio}");
        assert_eq!(ratio["verdict"], "slower");
    });
}

#[test]
fn a_peer_that_jitters_has_its_median_in_the_interval_it_is_given() {
    crate::steady(|| {
        let stage = Stage::new("jitter");
        stage.peer_with(
            "a",
            &["--mode", "jitter", "--seed", "4"],
            &["pingpong/tell"],
        );
        let called = stage.call(&[
            "run",
            "@a",
            "--vs",
            "a",
            "--profile",
            "smoke",
            "--threads",
            "2",
            "--target-ci",
            "2%",
            "--min-rounds",
            "20",
            "--max-rounds",
            "20",
            "--json",
            "-q",
        ]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let run = called.json();
        let figure = &cell(&run, "a")["ns_per_op"];
        let ci = |index: usize| figure["ci95"][index].as_f64().expect("an interval");
        assert!(ci(0) < 50.0 && 50.0 < ci(1), "{figure}");
        assert!(ci(1) - ci(0) < 5.0, "and the interval is narrow: {figure}");
    });
}

#[test]
fn the_gate_sees_a_neighbour_that_takes_the_machine() {
    crate::alone(|| {
        let stage = Stage::new("neighbour");
        stage.peer("loud", "noisyneighbour", &["pingpong/tell"]);
        let called = stage.call(&[
            "run",
            "@loud",
            "--vs",
            "loud",
            "--size",
            "pingpong=500000",
            "--size",
            "pingpong.p=2",
            "--threads",
            "2",
            "--max-rounds",
            "4",
            "--no-alloc",
            "--json",
        ]);
        let run = called.json();
        let noise = &cell(&run, "loud")["noise"];
        assert!(noise["noisy"].as_u64() >= Some(4), "{noise}");
        assert_eq!(cell(&run, "loud")["state"], "noisy");
        let notes = run["notes"].to_string();
        assert!(notes.contains("noisy machine"), "{notes}");
        // Who is noisy is repeated, but not for ever.
        assert!(noise["samples"].as_u64() <= Some(12), "{noise}");
    });
}

#[test]
fn what_a_child_of_a_peer_takes_is_the_peers() {
    crate::alone(|| {
        let stage = Stage::new("employer");
        stage.peer("alone", "honest", &["pingpong/tell"]).peer(
            "employer",
            "employer",
            &["pingpong/tell"],
        );
        let called = stage.call(&[
            "run",
            "@alone,employer",
            "--vs",
            "alone",
            "--threads",
            "2",
            "--max-rounds",
            "3",
            "--size",
            "pingpong=1000",
            "--no-alloc",
            "--json",
        ]);
        let run = called.json();
        // The fakes sleep, the child does not. How much of a core it gets depends on others.
        let cores = |system| cell(&run, system)["cores_used"].as_f64().expect("figures");
        assert!(cores("alone") < 0.1, "{}", cores("alone"));
        assert!(cores("employer") > 0.15, "{}", cores("employer"));
        // A shell, and the fake.
        let memory = |system| cell(&run, system)["peak_rss"].as_u64().expect("figures");
        let child = memory("employer").saturating_sub(memory("alone"));
        assert!(child > 200_000, "{child} bytes");
    });
}
