//! Systems that this kind of machine cannot run: listed with the reason, recorded, and told in one line.

use serde_json::Value;

use crate::stage::{Called, Stage};

const ALIEN: &str = r#"
[peer]
id = "alien"
systems = ["hopper", "mailer"]
lang = "F#"
blocked = "needs a machine from elsewhere"
[[cell]]
id = "pingpong/tell"
labels = { mailbox = "unbounded" }
origin = "seed:000"
[[cell]]
id = "counter/send"
origin = "seed:003"
[[cell]]
id = "skynet/tree"
systems = ["mailer"]
origin = "seed:004"
blocked = "retired"
"#;

fn find<'a>(cells: &'a Value, system: &str, variant: &str) -> &'a Value {
    let cells = cells.as_array().expect("cells");
    let found = cells
        .iter()
        .find(|c| c["system"] == system && c["variant"] == variant);
    found.unwrap_or_else(|| panic!("no {variant}@{system}"))
}

#[test]
fn a_blocked_system_is_a_row_of_the_list_and_of_the_record() {
    crate::steady(|| {
        let stage = Stage::new("blocked-rows");
        stage
            .manifest("alien", ALIEN)
            .peer("honest", "exact", &["pingpong/tell", "counter/send"]);
        let listed = stage.call(&["list", "--json"]).json();
        let cell = find(&listed["cells"], "hopper", "tell");
        assert_eq!(cell["state"], "blocked");
        assert_eq!(cell["reason"], "needs a machine from elsewhere");
        let cell = find(&listed["cells"], "mailer", "tree");
        assert_eq!(cell["reason"], "retired");
        let text = stage.call(&["list"]).stdout;
        assert_eq!(
            text.matches("needs a machine from elsewhere").count(),
            1,
            "{text}"
        );
        assert!(text.contains("[hopper] [mailer]"), "{text}");
        assert!(text.contains("mailer blocked, retired"), "{text}");
        assert!(stage.call(&["doctor"]).stdout.contains("off  peer alien"));

        let quick = [
            "--size",
            "pingpong=1000",
            "--size",
            "counter=1000",
            "--max-rounds",
            "1",
            "--profile",
            "smoke",
        ];
        let all = ["run", "@honest,hopper*,mail*", "--vs", "honest", "--json"];
        let called = stage.call(&[&all[..], &quick[..]].concat());
        assert_eq!(called.code, 0, "{}", called.stderr);
        let run = called.json();
        let cell = find(&run["cells"], "hopper", "tell");
        assert_eq!(
            (&cell["state"], &cell["peer"]),
            (&"blocked".into(), &"alien".into())
        );
        assert_eq!(
            (&cell["origin"], &cell["labels"]["mailbox"]),
            (&"seed:000".into(), &"unbounded".into())
        );
        let lines = called
            .stderr
            .lines()
            .filter(|line| line.contains("cannot run on this kind"));
        assert_eq!(lines.count(), 1, "{}", called.stderr);
        assert!(
            called.stderr.contains("5 cells of 2 systems"),
            "{}",
            called.stderr
        );
        assert!(
            !called.stderr.contains("from elsewhere"),
            "{}",
            called.stderr
        );

        let called = stage.call(&["run", "@hopper"]);
        assert_eq!(called.code, 5, "asked for by name and cannot run");
        assert!(
            called.stderr.contains("from elsewhere"),
            "{}",
            called.stderr
        );
        let called = stage.call(&["setup", "alien"]);
        assert_eq!(called.code, 0);
        assert!(
            called.stdout.contains("blocked  alien"),
            "{}",
            called.stdout
        );
        let called = stage.call(&["smoke", "@honest,hopper*,mail*"]);
        assert!(
            called.stdout.contains("absent 5 cells of systems"),
            "{}",
            called.stdout
        );
    });
}

#[test]
fn a_limit_of_the_machine_fails_only_a_cell_that_was_asked_for_by_name() {
    crate::steady(|| {
        let stage = Stage::new("limited");
        stage.peer("honest", "exact", &["pingpong/tell"]).peer(
            "refuse",
            "refuse",
            &["pingpong/tell"],
        );
        for (systems, code) in [("@honest,ref*", 0), ("@honest,refuse", 3)] {
            let run = ["run", systems, "--vs", "honest", "--json"];
            let quick = ["--size", "pingpong=1000", "--max-rounds", "1"];
            let called = stage.call(&[&run[..], &quick[..]].concat());
            assert_eq!(called.code, code, "{}", called.stderr);
            let run = called.json();
            let cell = find(&run["cells"], "refuse", "tell");
            assert_eq!(cell["state"], "limited");
            assert!(called.stderr.contains("not on a Friday"));
        }
    });
}

#[test]
fn the_systems_of_the_seeds_that_need_dotnet_are_listed() {
    let stage = Stage::new("dotnet");
    let list = Called::from(
        stage
            .command(&["list", "--json"])
            .output()
            .expect("started"),
    );
    let list = list.json();
    for (system, variant) in [
        ("hopac", "tell"),
        ("mailboxprocessor", "struct"),
        ("akka-net", "original:akka-obj"),
        ("akka-interfaced", "echo-mux"),
        ("slimsocket", "echo"),
        ("dotnet", "original:core-parallel-async"),
        ("dotnet-channels", "bounded-1024"),
        ("erlang-hipe", "tree"),
    ] {
        let cell = find(&list["cells"], system, variant);
        assert_eq!(cell["state"], "blocked", "{cell}");
        assert!(cell["reason"].is_string(), "{cell}");
    }
}
