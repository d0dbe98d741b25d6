//! A record may come from anybody: nothing in it becomes markup, script or a link.

use std::fs;

use serde_json::Value;

use super::document::Page;
use super::{fixture, read, report};
use crate::stage::Stage;

const SYSTEM: &str = "</title><script>alert(1)</script>";
const LABEL: &str = "\"><img src=x onerror=alert(2)>";
const REASON: &str = "</script><svg/onload=alert(3)>| `x`\n# heading";
const LOG: &str = "]]>--><a href=javascript:alert(4)>logs</a>";

/// The invented run with hostile words in every place that holds words.
fn hostile() -> Value {
    let text = read(&fixture().join("run.json"));
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    for cell in run["cells"].as_array_mut().expect("cells") {
        if cell["system"] == "go" {
            cell["system"] = SYSTEM.into();
            cell["peer"] = "../../javascript:alert(5)".into();
            cell["labels"]["mailbox"] = LABEL.into();
            cell["version"] = LABEL.into();
            cell["flags"] = LABEL.into();
            cell["build_hash"] = LOG.into();
        }
        if cell["state"] != "ok" {
            cell["reason"] = REASON.into();
            cell["fix"] = LOG.into();
            cell["log"] = LOG.into();
        }
    }
    run["notes"] = vec![REASON].into();
    run["env"]["cpu"] = LABEL.into();
    run["command"] = vec!["tidings", SYSTEM].into();
    run
}

#[test]
fn hostile_words_stay_words() {
    let stage = Stage::new("report-hostile");
    let (plain, _) = report(&stage, &fixture());
    let folder = stage.root.join("hostile");
    fs::create_dir_all(&folder).expect("made");
    let run = hostile();
    fs::write(folder.join("run.json"), run.to_string()).expect("written");
    let samples = read(&fixture().join("samples.ndjson"));
    let quoted = Value::from(format!("@{SYSTEM}")).to_string();
    let samples = samples.replace("@go\"", &quoted[1..]);
    fs::write(folder.join("samples.ndjson"), samples).expect("written");

    let (html, markdown) = report(&stage, &folder);
    let (before, after) = (Page::parse(&plain), Page::parse(&html));
    assert_eq!(after.errors, Vec::<String>::new());
    after.assert_self_contained("https://example.org/peers/");
    after.assert_anchors();
    for name in ["script", "style", "svg", "title", "h2", "table"] {
        assert_eq!(before.count(name), after.count(name), "{name}");
    }
    for words in [SYSTEM, LABEL, LOG] {
        assert!(
            after.elements.iter().any(|e| e.text.contains(words)),
            "{words} is shown"
        );
    }

    // The embedded record says the same as the one on disk, with the defaults filled in.
    let data = after
        .elements
        .iter()
        .find(|e| e.attributes.get("id").is_some_and(|id| id == "run-data"))
        .expect("embedded");
    let embedded: Value = serde_json::from_str(&data.text).expect("JSON");
    // The end of a line, which a terminal would obey, is written out.
    let cells = run["cells"].to_string();
    let cells = cells.replace(r"`x`\n#", r"`x`\\n#");
    let cells: Value = serde_json::from_str(&cells).expect("still JSON");
    assert_eq!(embedded["cells"], cells);

    // In a block of code, where nothing is markup, words stand as they are.
    let (mut prose, mut is_code) = (String::new(), false);
    for line in markdown.lines() {
        is_code ^= line.starts_with("```");
        if !is_code {
            prose = prose + line + "\n";
        }
    }
    assert!(!is_code, "no block is left open");
    assert!(prose.contains("&lt;script"), "{prose}");
    for markup in ["<script", "<img", "<svg", "<a ", "\n# heading"] {
        assert!(!prose.contains(markup), "{markup}");
    }
}
