//! The forms that others rely on: the keys of the JSON documents, and the tables at two widths.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tidings-cli` writes them anew; look at the difference before you commit it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::invented;
use crate::stage::{Called, Stage};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/arena/golden")
        .join(name)
}

pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = golden(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("written");
    }
    let expected = fs::read_to_string(&path).expect("a golden file");
    assert!(
        expected == text,
        "{} differs; now it is:\n{text}",
        path.display()
    );
}

fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            // The names of these are data.
            let data = ["labels", "params", "mitigations", "variables"];
            for (key, value) in map {
                let path = format!("{path}.{key}");
                if !data.contains(&key.as_str()) {
                    keys(value, &path, found);
                }
                found.insert(path);
            }
        }
        Value::Array(list) => {
            for value in list {
                keys(value, &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_keys_of_run_json() {
    crate::steady(|| {
        let stage = Stage::new("keys");
        stage
            .peer("a", "exact", &["pingpong/tell"])
            .peer("b", "exact", &["pingpong/tell"]);
        let called = stage.call(&[
            "run",
            "@a,b",
            "--vs",
            "a",
            "--profile",
            "smoke",
            "--min-rounds",
            "6",
            "--threads",
            "2",
            "--json",
            "-q",
        ]);
        let mut found = BTreeSet::new();
        keys(&called.json(), "", &mut found);
        let sample = fs::read_to_string(stage.saved().join("samples.ndjson")).expect("saved");
        for line in sample.lines() {
            keys(
                &serde_json::from_str(line).expect("JSON"),
                "samples",
                &mut found,
            );
        }
        let text: String = found.iter().map(|key| format!("{key}\n")).collect();
        assert_golden("keys.txt", &text);
    });
}

#[test]
fn a_line_for_each_cell_beside_the_best_peer_and_the_floor() {
    crate::steady(|| {
        let stage = Stage::new("best");
        let mut run = invented::run();
        let cells = run["cells"].as_array_mut().expect("cells");
        cells[0]["origin"] = "own".into();
        let mut own = cells[0].clone();
        own["system"] = "tidings-nats".into();
        own["peer"] = "nats".into();
        own["ns_per_op"]["median"] = 1.0.into();
        own["ratio"]["median"] = 0.1.into();
        cells.push(own);
        for (variant, ns) in [("atomic", 2.5), ("syscall", 200.0)] {
            let mut floor = cells[0].clone();
            floor["workload"] = "floor".into();
            floor["system"] = "hardware".into();
            floor["variant"] = variant.into();
            floor["params"] = serde_json::json!({ "n": 1000 });
            floor["ranked"] = false.into();
            floor["ns_per_op"]["median"] = ns.into();
            cells.push(floor);
        }
        let folder = invented::write(&stage.root.join("run"), &run);
        let mut command = stage.command(&["show", "--best", &folder]);
        let called = Called::from(command.output().expect("started"));
        assert_eq!(called.code, 0, "{}", called.stderr);
        assert_golden("best.md", &called.stdout);
    });
}

#[test]
fn the_tables_at_two_widths() {
    crate::steady(|| {
        let stage = Stage::new("tables");
        for columns in ["80", "120"] {
            let mut command = stage.command(&["show", golden("").to_str().expect("UTF-8")]);
            let called = Called::from(command.env("COLUMNS", columns).output().expect("started"));
            assert_eq!(called.code, 0, "{}", called.stderr);
            assert!(
                !called.stdout.contains('\x1b'),
                "no colour when nobody sees it"
            );
            let body: String = called
                .stdout
                .lines()
                .filter(|line| !line.starts_with("from "))
                .map(|line| format!("{line}\n"))
                .collect();
            for line in body
                .lines()
                .skip_while(|line| !line.starts_with("pingpong/"))
            {
                let columns: usize = columns.parse().expect("a number");
                assert!(line.chars().count() <= columns, "{line}");
            }
            assert_golden(&format!("table-{columns}.txt"), &body);
        }
    });
}
