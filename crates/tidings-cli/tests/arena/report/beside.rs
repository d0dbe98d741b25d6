//! Runs beside others: a run against a baseline, and `merge` documents of two machines.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::document::Page;
use super::{called, read, text};
use crate::golden::assert_golden;
use crate::invented::{self, stretch};
use crate::stage::{Called, Stage};

/// A copy of the invented run without its samples, with other cells.
fn changed(stage: &Stage, name: &str, cpu: &str, change: impl Fn(&mut Value)) -> PathBuf {
    let mut run = invented::run();
    run["id"] = name.into();
    run["env"]["cpu"] = cpu.into();
    for cell in run["cells"].as_array_mut().expect("cells") {
        change(cell);
    }
    invented::write(&stage.root.join(name), &run).into()
}

fn is(cell: &Value, workload: &str, system: &str) -> bool {
    cell["workload"] == workload && cell["system"] == system
}

fn call(stage: &Stage, args: &[&str]) -> Called {
    let called = Called::from(stage.command(args).output().expect("started"));
    assert_eq!(called.code, 0, "{}", called.stderr);
    called
}

/// The page of two machines and its Markdown. The second takes twice as long; one anchor says otherwise in `counter`, one is
/// missing in `chain`, both in `fan`, and other systems run there.
pub(super) fn machines(stage: &Stage) -> (String, String) {
    let a = changed(stage, "run-a", "CPU of A", |_| ());
    let b = changed(stage, "run-b", "CPU of B", |cell| {
        let odd = is(cell, "counter", "go");
        stretch(cell, if odd { 4.0 } else { 2.0 });
        for (workload, from, to) in [
            ("", "tokio", "hopac"),
            ("", "erlang", "akka-net"),
            ("chain", "go", "fsharp-mailbox"),
            ("fan", "go", "fsharp-mailbox"),
            ("fan", "tidings", "akka-net"),
        ] {
            if cell["system"] == from && (workload.is_empty() || cell["workload"] == workload) {
                cell["system"] = to.into();
            }
        }
    });
    let document = stage.root.join("both.json");
    call(stage, &["merge", text(&a), text(&b), "-o", text(&document)]);
    let called = called(stage, &[text(&document), "--md"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let (page, markdown) = (stage.root.join("both.html"), stage.root.join("both.md"));
    let places = format!("{}\n{}\n", page.display(), markdown.display());
    assert_eq!(called.stdout, places, "beside the document");
    (read(&page), read(&markdown))
}

/// The page of a run that was compared with a baseline, and its Markdown.
pub(super) fn compared(stage: &Stage) -> (String, String) {
    let before = changed(stage, "before", "Example CPU", |_| ());
    let after = changed(stage, "after", "Example CPU", |cell| {
        if cell["system"] == "tokio" {
            stretch(cell, 1.5);
        }
        if is(cell, "counter", "go") {
            stretch(cell, 0.5);
        }
        if cell["system"] == "erlang" {
            cell["build_hash"] = "another".into();
        }
        if is(cell, "spawn", "go") {
            cell["state"] = "crash".into();
            cell["reason"] = "exited with 7".into();
            cell["ns_per_op"] = Value::Null;
        }
    });
    call(stage, &["baseline", "save", "good", text(&before)]);
    let page = stage.root.join("after.html");
    let called = called(
        stage,
        &[
            text(&after),
            "--baseline",
            "good",
            "--md",
            "-o",
            text(&page),
        ],
    );
    assert_eq!(called.code, 0, "{}", called.stderr);
    (read(&page), read(&page.with_extension("md")))
}

fn assert_sound(page: &Page) {
    assert_eq!(page.errors, Vec::<String>::new());
    page.assert_anchors();
    page.assert_accessible();
    page.assert_self_contained("https://example.org/peers/");
}

#[test]
fn machines_stand_in_panels_and_only_anchors_relate_them() {
    let stage = Stage::new("report-machines");
    let (html, markdown) = machines(&stage);
    let page = Page::parse(&html);
    assert_sound(&page);
    assert_golden("machines-outline.txt", &page.outline());
    assert_golden("machines.md", &markdown);

    let sections = |workload: &str| -> Vec<&str> {
        let all = html.split("<article").skip(1);
        all.filter(|s| s.contains(&format!("id=\"g-{workload}-")))
            .collect()
    };
    let tell = sections("pingpong-tell")[0];
    assert!(tell.contains("The anchors agree: related"), "{tell}");
    assert!(tell.contains("dot-A-g"), "a panel of A");
    assert!(tell.contains("dot-B-g"), "a panel of B");
    assert!(
        tell.contains("ratio-g-"),
        "ratios to the anchor beside each other"
    );
    for loose in sections("counter-send") {
        assert!(loose.contains("disagree"), "{loose}");
        assert!(loose.contains("dot-A-g") && loose.contains("dot-B-g"));
        assert!(!loose.contains("ratio-g-"), "{loose}");
    }
    for single in sections("chain") {
        assert!(single.contains("One anchor"), "{single}");
    }
    for none in sections("fan-struct") {
        assert!(none.contains("No anchor: not related"), "{none}");
        assert!(!none.contains("ratio-g-"), "{none}");
    }
    // A rank counts among the systems of one machine: the best of each is first.
    let rows = |machine: &str| -> Vec<&str> {
        let start = format!("| {machine} | 1 | ");
        let part = markdown
            .split("\n## ")
            .find(|p| p.starts_with("pingpong/tell · p=2"));
        let lines = part.expect("a section").lines();
        lines.filter(|line| line.starts_with(&start)).collect()
    };
    assert!(!rows("A").is_empty() && !rows("B").is_empty(), "{markdown}");
}

#[test]
fn what_changed_since_a_baseline_is_drawn_and_listed() {
    let stage = Stage::new("report-baseline");
    let (html, markdown) = compared(&stage);
    let page = Page::parse(&html);
    assert_sound(&page);
    let section = html
        .split("<section id=\"baseline\"")
        .nth(1)
        .expect("a page");
    let section = section.split("</section>").next().expect("closed");
    for words in [
        "<b>1</b>fails",
        "class=\"plot slopes\"",
        "slope regressed",
        "slope improved",
        "Baseline good is run before",
        "now crash: exited with 7",
        "peer erlang was changed or built anew",
    ] {
        assert!(section.contains(words), "{words}: {section}");
    }
    let section = markdown
        .split("\n## ")
        .find(|part| part.starts_with("Against baseline"));
    assert_golden("baseline.md", section.expect("a section"));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let stage = Stage::new("report-refused");
    let here = changed(&stage, "here", "Example CPU", |_| ());
    let there = changed(&stage, "there", "Another CPU", |_| ());
    call(&stage, &["baseline", "save", "good", text(&here)]);
    let _ = machines(&stage);
    let document = stage.root.join("both.json");
    let cut = stage.root.join("cut.json");
    fs::write(&cut, "{\"schema\":\"tidings.arena.merge/1\"}").expect("written");
    let half = stage.root.join("half.json");
    fs::write(&half, "{\"schema\":\"tidings.arena.merge/1\",").expect("written");
    for (args, why) in [
        ([text(&here), "bad"], "no baseline \"bad\"; there are: good"),
        ([text(&there), "good"], "Another CPU"),
        ([text(&document), "good"], "--baseline is of one machine"),
        ([text(&cut), "good"], "cut.json: missing field"),
        ([text(&half), "good"], "half.json: EOF"),
    ] {
        let called = called(&stage, &[args[0], "--baseline", args[1]]);
        assert_eq!(called.code, 2, "{args:?}: {}", called.stderr);
        assert!(called.stderr.contains(why), "{args:?}: {}", called.stderr);
    }
}
