//! What users type wrong, and what a machine lacks: a clear line and the right exit code.

use crate::stage::{Called, Stage};

#[test]
fn wrong_arguments_name_the_valid_ones() {
    crate::steady(|| {
        let stage = Stage::new("usage");
        stage.peer("honest", "honest", &["pingpong/tell"]);
        let cases: &[(&[&str], &str)] = &[
            (
                &["run", "pong"],
                "unknown workload \"pong\"; there are pingpong, chain, fan",
            ),
            (&["run", "pingpong/tall"], "unknown variant \"tall\""),
            (
                &["run", "@akka"],
                "unknown system \"akka\"; there are tidings, tidings-actors, tidings-link, tidings-link-messages, tidings-link-slim, hardware, honest",
            ),
            (&["run", "--vs", "akka"], "unknown system \"akka\""),
            (&["run", "--require", "akka"], "unknown system \"akka\""),
            (&["run", "--size", "pingpong=0"], "at least 1"),
            (
                &["run", "@honest", "--size", "pingpong.p=1000000000"],
                "of memory",
            ),
            (&["run", "@honest", "--size", "pingpong=9e18"], "63 bits"),
            (&["run", "--size", "skynet=7"], "power of ten"),
            (&["run", "--threads", "0"], "--threads"),
            (&["run", "--order", "sorted"], "random:SEED"),
            (&["run", "--budget", "soon"], "is not a duration"),
            (&["run", "--target-ci", "200%"], "is not a share"),
            (
                &["run", "--min-rounds", "9", "--max-rounds", "3"],
                "above --max-rounds",
            ),
            (&["run", "--launches", "0"], "--launches"),
            (&["run", "--profile", "fast"], "smoke, quick, standard"),
            (&["run", "--frobnicate"], "--frobnicate"),
            (&["smoke", "pong"], "unknown workload"),
            (&["setup", "akka"], "unknown system \"akka\""),
        ];
        for (args, names) in cases {
            let called = stage.call(args);
            assert_eq!(called.code, 2, "{args:?}: {}", called.stderr);
            assert!(called.stderr.contains(names), "{args:?}: {}", called.stderr);
            assert_eq!(called.stdout, "", "{args:?}");
        }
        let called = Called::from(stage.command(&["show", "1999"]).output().expect("started"));
        assert_eq!(called.code, 2);
        assert!(called.stderr.contains("no saved run"), "{}", called.stderr);
        let called = Called::from(
            stage
                .command(&["list", "--peers", "/nowhere"])
                .output()
                .expect("started"),
        );
        assert_eq!(called.code, 2, "{}", called.stderr);
    });
}

#[test]
fn a_folder_without_a_peer_is_no_peer_to_test() {
    let stage = Stage::new("no-peer");
    let folder = stage.root.join("peers");
    let mut test = stage.command(&["peer", "test"]);
    let called = Called::from(test.arg(&folder).output().expect("started"));
    assert_eq!(called.code, 2, "{}", called.stderr);
    let told = "there is no peer.toml in ";
    assert!(called.stderr.contains(told), "{}", called.stderr);
}

#[test]
fn a_broken_manifest_is_named_with_its_file() {
    crate::steady(|| {
        let stage = Stage::new("manifest");
        stage.manifest("odd", "[peer]\nid = \"odd\"\ncolour = \"red\"\n");
        let called = stage.call(&["list"]);
        assert_eq!(called.code, 2);
        assert!(called.stderr.contains("odd/peer.toml"), "{}", called.stderr);
        assert!(called.stderr.contains("colour"), "{}", called.stderr);
    });
}

const NEEDY: &str = r#"
[peer]
id = "needy"
systems = ["needy"]
lang = "Pony"
[[needs]]
cmd = ["no-such-compiler", "--version"]
fix = "apt-get install no-such-compiler"
[run]
cmd = ["no-such-program"]
[[cell]]
id = "pingpong/tell"
"#;

#[test]
fn a_missing_toolchain_comes_with_its_fix() {
    crate::steady(|| {
        let stage = Stage::new("missing");
        stage
            .manifest("needy", NEEDY)
            .peer("honest", "honest", &["pingpong/tell"]);
        let called = stage.call(&["run", "@needy"]);
        assert_eq!(called.code, 5, "asked for and cannot run");
        for text in [
            "no-such-compiler is not installed",
            "fix: apt-get install no-such-compiler",
        ] {
            assert!(called.stderr.contains(text), "{}", called.stderr);
        }
        let quick = ["--size", "pingpong=1000", "--max-rounds", "1", "--json"];
        let called = stage.call(&[&["run", "pingpong/tell@honest,needy"], &quick[..]].concat());
        assert_eq!(called.code, 3, "one of two runs");
        let called = stage.call(&[&["run", "pingpong/tell@h*,n*"], &quick[..]].concat());
        assert_eq!(
            called.code, 0,
            "a pattern asks for what there is: {}",
            called.stderr
        );
        assert_eq!(
            crate::stage::cell(&called.json(), "needy")["state"],
            "missing"
        );
        let called = stage.call(&["list"]);
        assert_eq!(called.code, 0);
        assert!(called.stdout.contains("(needy)"), "{}", called.stdout);
        let called = stage.call(&["list", "--json"]);
        assert!(
            called.json()["cells"]
                .as_array()
                .is_some_and(|c| c.iter().any(|c| c["state"] == "missing"))
        );
        let called = stage.call(&["doctor"]);
        assert!(
            called
                .stdout
                .contains("fix: apt-get install no-such-compiler"),
            "{}",
            called.stdout
        );
        assert!(stage.call(&["doctor", "--json"]).json()["checks"].is_array());
    });
}

#[test]
fn a_peer_is_built_once_and_shown_first() {
    crate::steady(|| {
        let stage = Stage::new("build");
        let fake = {
            stage.peer("honest", "honest", &["pingpong/tell"]);
            let text =
                std::fs::read_to_string(stage.root.join("peers/honest/peer.toml")).expect("there");
            let build =
                "[[build]]\ncmd = [\"cp\", \"peer.toml\", \"{out}/copy\"]\noutputs = [\"copy\"]\n";
            text.replacen(
                "lang = \"Rust\"\n",
                &format!("lang = \"Rust\"\nauto_build = true\n{build}"),
                1,
            )
        };
        stage.manifest("honest", &fake);
        let called = stage.call(&["setup", "--dry-run"]);
        assert_eq!(called.code, 0);
        assert!(
            called.stdout.contains("build    honest"),
            "{}",
            called.stdout
        );
        assert!(called.stdout.contains("cp peer.toml"), "{}", called.stdout);
        let called = stage.call(&["smoke", "@honest"]);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        assert!(
            called.stderr.contains("building peer honest: cp peer.toml"),
            "{}",
            called.stderr
        );
        let called = stage.call(&["smoke", "@honest"]);
        assert!(!called.stderr.contains("building"), "{}", called.stderr);
        stage.manifest("honest", &fake.replace("\"cp\", ", "\"false\", "));
        let called = stage.call(&["setup", "honest", "--yes"]);
        assert_eq!(called.code, 3);
        assert!(
            called.stdout.contains("failed   honest: `false peer.toml"),
            "{}",
            called.stdout
        );
    });
}
