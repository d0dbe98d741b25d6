//! Folders that several peers share: part of each one's build, and never outside of the folder of all peers.

use std::fs;
use std::os::unix::fs::symlink;

use crate::stage::{Stage, fake_peer};

/// A peer whose build takes a file of the folder `lib` beside it, which `shared` names.
fn sharing(stage: &Stage, name: &str, shared: &str) {
    let fake = fake_peer();
    stage.manifest(
        name,
        &format!(
            "[peer]\nid = \"{name}\"\nsystems = [\"{name}\"]\nlang = \"Pony\"\nauto_build = true\nshared = [{shared:?}]\n\
             [[build]]\ncmd = [\"cp\", \"../lib/code\", \"{{out}}/copy\"]\noutputs = [\"copy\"]\n\
             [run]\ncmd = [{fake:?}, \"--mode\", \"exact\"]\n[[cell]]\nid = \"counter/send\"\n"
        ),
    );
}

#[test]
fn a_change_of_a_shared_folder_is_a_change_of_its_peers() {
    let stage = Stage::new("shared");
    let lib = stage.root.join("peers/lib");
    fs::create_dir_all(&lib).expect("made");
    fs::write(lib.join("code"), "one").expect("written");
    for name in ["a", "b"] {
        sharing(&stage, name, "../lib");
    }
    let listed = || {
        let called = stage.call(&["list"]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        let lines = called.stdout.lines().map(str::trim);
        let of = |name: &str| {
            let line = lines
                .clone()
                .find(|line| line.contains(&format!(" {name} (Pony)")));
            line.unwrap_or_default()
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        [of("a"), of("b")]
    };
    let before = listed();
    let setup = || stage.call(&["setup", "a", "b", "--yes"]);
    let called = setup();
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    assert_eq!(listed(), ["ready", "ready"]);
    assert_ne!(before, listed());
    fs::write(lib.join("code"), "two").expect("written");
    assert_eq!(listed(), before, "both are to be built again");
    let called = setup();
    assert!(called.stdout.contains("2 of 2 built"), "{}", called.stdout);
    assert_eq!(listed(), ["ready", "ready"]);
}

#[test]
fn a_shared_folder_that_is_not_there_or_elsewhere_is_named() {
    let stage = Stage::new("shared-wrong");
    let outside = stage.root.join("outside");
    fs::create_dir_all(&outside).expect("made");
    let peers = stage.root.join("peers");
    symlink(&outside, peers.join("link")).expect("made");
    fs::write(peers.join("file"), "no folder").expect("written");
    for (shared, why) in [
        ("../../outside", "must lead from the peer's folder"),
        ("../nowhere", "cannot be read"),
        ("../file", "is not a folder"),
        ("../link", "leads out of the peers' folder, to "),
    ] {
        sharing(&stage, "a", shared);
        let called = stage.call(&["list"]);
        assert_eq!(called.code, 2, "{shared}: {}", called.stderr);
        for text in ["a/peer.toml: [peer] shared: ", &format!("{shared:?} "), why] {
            assert!(called.stderr.contains(text), "{shared}: {}", called.stderr);
        }
    }
}
