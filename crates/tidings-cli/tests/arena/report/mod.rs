//! `arena report`: its forms, its escaping, its errors, and how it looks.
//!
//! `run/` is a saved run whose figures are invented: it has every kind of cell, and was made for these tests.

mod beside;
mod browser;
mod document;
mod escape;
mod looks;
mod picture;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::golden::assert_golden;
use crate::invented;
use crate::invented::folder as fixture;
use crate::stage::{Called, Stage};
use document::Page;

/// Writes the report of a run into the stage; the page and its Markdown.
fn report(stage: &Stage, run: &Path) -> (String, String) {
    let page = stage.root.join("report.html");
    let called = called(stage, &[text(run), "--md", "-o", text(&page)]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let markdown = stage.root.join("report.md");
    assert_eq!(
        called.stdout,
        format!("{}\n{}\n", page.display(), markdown.display()),
        "it prints where they are"
    );
    (read(&page), read(&markdown))
}

fn called(stage: &Stage, args: &[&str]) -> Called {
    let sources = ["--sources", "https://example.org/peers"];
    let args = [&["report"], args, &sources].concat();
    Called::from(stage.command(&args).output().expect("started"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("written")
}

#[test]
fn the_markdown_has_the_layouts_of_the_seeds() {
    let stage = Stage::new("report-md");
    let (_, markdown) = report(&stage, &fixture());
    assert_golden("report.md", &markdown);
}

#[test]
fn the_page_has_the_structure_it_had() {
    let stage = Stage::new("report-outline");
    let (html, _) = report(&stage, &fixture());
    assert_golden("report-outline.txt", &Page::parse(&html).outline());
}

#[test]
fn the_page_is_well_formed_and_accessible() {
    let stage = Stage::new("report-form");
    let (html, _) = report(&stage, &fixture());
    let page = Page::parse(&html);
    assert_eq!(page.errors, Vec::<String>::new());
    page.assert_anchors();
    page.assert_accessible();
    page.assert_self_contained("https://example.org/peers/");
}

#[test]
fn losses_come_before_wins_and_blocked_systems_say_why() {
    let stage = Stage::new("report-order");
    let (html, _) = report(&stage, &fixture());
    let at = |words: &str| html.find(words).unwrap_or_else(|| panic!("no {words:?}"));
    assert!(at("Another system is faster than the reference") < at("Not shown, or the same"));
    assert!(at("Not shown, or the same") < at("Another system is slower than the reference"));
    assert!(html.contains("needs .NET 10, which is not on this machine"));
    assert!(html.contains("The authors of tidings wrote every peer"));
    for number in 1..=14 {
        assert!(html.contains(&format!("id=\"T{number}\"")), "T{number}");
    }
}

/// What is there more than once, whatever the threads.
fn twice<'a>(all: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let again = all.into_iter().filter(|one| !seen.insert(*one));
    again
        .map(|one| one.replace("4 threads", "2 threads"))
        .collect()
}

#[test]
fn cells_that_differ_in_threads_only_can_be_told_apart() {
    let stage = Stage::new("report-threads");
    let folder = stage.root.join("run");
    let of_four = |it: &Value| {
        let mut other = it.clone();
        other["threads"] = 4.into();
        other
    };
    let mut run = invented::run();
    let cells = run["cells"].as_array_mut().expect("cells");
    let can_have_more = |cell: &&Value| cell["threads"] == 2 && cell["peer_threads"] == 2;
    let figured = cells.iter().filter(|cell| !cell["ns_per_op"].is_null());
    let others: Vec<Value> = figured.filter(can_have_more).map(of_four).collect();
    cells.extend(others);
    let mut samples = read(&fixture().join("samples.ndjson"));
    let lines = samples
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Value> = lines.collect();
    for sample in lines.iter().filter(|sample| sample["threads"] == 2) {
        samples += &format!("{}\n", of_four(sample));
    }
    invented::write(&folder, &run);
    fs::write(folder.join("samples.ndjson"), samples).expect("written");

    let of = |(html, markdown): (String, String)| {
        let page = Page::parse(&html);
        page.assert_anchors();
        let figures = |line: &&str| line.starts_with('|') || line.contains("msgs/s");
        let lines = twice(markdown.lines().filter(figures));
        [twice(page.rows()), twice(page.plots()), lines]
    };
    let (plain, now) = (of(report(&stage, &fixture())), of(report(&stage, &folder)));
    for (known, now) in plain.iter().zip(&now) {
        let new: Vec<&String> = now.difference(known).collect();
        assert!(new.is_empty(), "{new:#?}");
    }
}

#[test]
fn the_banner_says_of_doubts_and_failures() {
    let stage = Stage::new("report-banner");
    let page = |change: &dyn Fn(&mut Value)| {
        let folder = stage.root.join("run");
        let mut run = invented::run();
        let cells = run["cells"].as_array_mut().expect("cells");
        cells.retain(|cell| !cell["ns_per_op"].is_null());
        for cell in cells.iter_mut() {
            cell["state"] = "ok".into();
            cell["ns_per_op"]["precise"] = true.into();
        }
        change(&mut run["cells"]);
        invented::write(&folder, &run);
        fs::copy(
            fixture().join("samples.ndjson"),
            folder.join("samples.ndjson"),
        )
        .expect("copied");
        report(&stage, &folder).0
    };
    let fails = |cell: &mut Value| {
        cell["state"] = "wrong".into();
        cell["ns_per_op"] = Value::Null;
    };
    let (sound, with_care) = ("Validity: sound", "Validity: read with care");
    let html = page(&|_| ());
    assert!(html.contains(sound) && !html.contains("Doubts: ") && !html.contains("Failures: "));
    for state in ["slow", "unsteady", "noisy", "superlinear"] {
        let html = page(&|cells| cells[0]["state"] = state.into());
        assert!(
            html.contains(with_care) && html.contains("Doubts: 1 figure marked"),
            "{state}"
        );
    }
    let html = page(&|cells| fails(&mut cells[0]));
    assert!(html.contains(with_care) && html.contains("Failures: 1 cell failed."));
    // Nothing is known of a run without figures.
    let html = page(&|cells| *cells = json!([]));
    assert!(html.contains(with_care));
}

#[test]
fn a_record_without_samples_or_with_a_broken_last_line_is_reported_and_told() {
    let stage = Stage::new("report-old");
    // The record that `show` is tested with is older than the report and has no samples.
    let (html, _) = report(&stage, &fixture().join("../../golden"));
    assert!(
        html.contains("samples.ndjson is not beside run.json"),
        "told"
    );
    assert_eq!(Page::parse(&html).errors, Vec::<String>::new());

    let cut = stage.root.join("cut");
    fs::create_dir_all(&cut).expect("made");
    fs::copy(fixture().join("run.json"), cut.join("run.json")).expect("copied");
    let samples = read(&fixture().join("samples.ndjson"));
    fs::write(cut.join("samples.ndjson"), &samples[..samples.len() - 40]).expect("written");
    let (html, _) = report(&stage, &cut);
    assert!(
        html.contains("1 line of samples.ndjson could not be read"),
        "told"
    );
}

#[test]
fn by_default_the_page_is_in_the_folder_of_the_run() {
    let stage = Stage::new("report-default");
    let folder = stage
        .root
        .join("data/tidings/arena/runs/2026-01-01T00-00-00Z-made");
    fs::create_dir_all(&folder).expect("made");
    for name in ["run.json", "samples.ndjson"] {
        fs::copy(fixture().join(name), folder.join(name)).expect("copied");
    }
    let called = called(&stage, &[]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let page = folder.join("report.html");
    assert_eq!(called.stdout, format!("{}\n", page.display()));
    assert!(page.is_file() && !folder.join("report.md").exists());
}

#[test]
fn errors_have_the_exit_codes_of_all_commands() {
    let stage = Stage::new("report-errors");
    let none = called(&stage, &[]);
    assert_eq!(none.code, 5, "{}", none.stderr);
    assert!(none.stderr.contains("no saved run yet"), "{}", none.stderr);

    let unknown = called(&stage, &["1999"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    assert!(
        unknown.stderr.contains("no saved run \"1999\""),
        "{}",
        unknown.stderr
    );

    // What is of another format need not have the fields of ours.
    let newer = invented::write(
        &stage.root.join("newer"),
        &json!({"schema": "tidings.arena/2"}),
    );
    let newer = called(&stage, &[&newer]);
    assert_eq!(newer.code, 2, "{}", newer.stderr);
    let told = "is of format \"tidings.arena/2\", not \"tidings.arena/1\"";
    assert!(newer.stderr.contains(told), "{}", newer.stderr);

    let run = fixture();
    let full = called(&stage, &[text(&run), "-o", "/dev/full"]);
    assert_eq!(full.code, 70, "{}", full.stderr);
    assert!(
        full.stderr
            .contains("cannot write /dev/full: No space left"),
        "{}",
        full.stderr
    );

    let nowhere = stage.root.join("nowhere/report.html");
    let unwritable = called(&stage, &[text(&run), "-o", text(&nowhere)]);
    assert_eq!(unwritable.code, 70, "{}", unwritable.stderr);
    assert!(
        unwritable.stderr.contains("nowhere/report.html"),
        "{}",
        unwritable.stderr
    );
}

#[test]
fn where_there_is_no_room_for_the_page_the_one_before_is_left() {
    let stage = Stage::new("report-room");
    let (run, page) = (fixture(), stage.root.join("report.html"));
    let report = stage.command(&["report", text(&run), "-o", text(&page)]);
    // As on a full disk: a file has room for so many blocks, and who writes more hears an error.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let fails = || {
        let mut shell = Command::new("sh");
        shell.args(["-c", limited, "sh"]).arg(report.get_program());
        let known = report
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        shell.args(report.get_args()).envs(known);
        let called = Called::from(shell.output().expect("started"));
        assert_eq!(called.code, 70, "{}", called.stderr);
        let there = fs::read_dir(&stage.root).expect("there").flatten();
        let there: BTreeSet<_> = there.map(|entry| entry.file_name()).collect();
        (there, fs::read_to_string(&page).ok())
    };
    let (before, none) = fails();
    assert_eq!(none, None);
    fs::write(&page, "the old page").expect("written");
    let (after, old) = fails();
    assert_eq!(old.as_deref(), Some("the old page"));
    // Nor is a part of the new one left beside it.
    let new: Vec<_> = after.difference(&before).collect();
    assert_eq!(new, [&OsString::from("report.html")]);
}

#[test]
fn a_run_of_the_harness_is_reported() {
    crate::steady(|| {
        let stage = Stage::new("report-run");
        stage
            .peer("a", "honest", &["pingpong/tell", "counter/send"])
            .peer("b", "warm", &["pingpong/tell"])
            .peer("liar", "liar-check", &["pingpong/tell"]);
        let quick = ["--profile", "smoke", "--min-rounds", "6"];
        let run = ["run", "@a,b,liar", "--vs", "a", "--threads", "1,2", "-q"];
        let ran = stage.call(&[&run[..], &quick[..]].concat());
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        let (html, markdown) = report(&stage, &stage.saved());
        let page = Page::parse(&html);
        assert_eq!(page.errors, Vec::<String>::new());
        page.assert_anchors();
        assert!(
            html.contains("msgs is") || html.contains("check is"),
            "the failure is there"
        );
        assert!(
            html.contains("Every sample, by round"),
            "samples were read back"
        );
        assert!(markdown.contains("MbSend:"), "{markdown}");
        // Without an address links lead to the folder of peers that the run had.
        let page = stage.root.join("linked.html");
        let reported = Called::from(
            stage
                .command(&["report", "-o", text(&page)])
                .output()
                .expect("started"),
        );
        assert_eq!(reported.code, 0, "{}", reported.stderr);
        let peers = stage.root.join("peers");
        let mut addresses = BTreeSet::new();
        for link in read(&page).split("href=\"file://").skip(1) {
            addresses.insert(link.split('"').next().unwrap_or_default().to_owned());
        }
        let expected = ["a", "b", "liar"].map(|peer| text(&peers.join(peer)).to_owned());
        assert_eq!(addresses, BTreeSet::from(expected));
    });
}
