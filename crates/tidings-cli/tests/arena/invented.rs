//! The invented run of `report/run`, changed: for tests of what is done with saved runs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::stage::Stage;

/// The folder of the invented run: it has every kind of cell, and samples.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arena/report/run")
}

/// Its document.
pub(crate) fn run() -> Value {
    let text = fs::read_to_string(folder().join("run.json")).expect("there");
    serde_json::from_str(&text).expect("JSON")
}

/// Makes a cell take `factor` times as long.
pub(crate) fn stretch(cell: &mut Value, factor: f64) {
    let Some(figure) = cell["ns_per_op"].as_object_mut() else {
        return;
    };
    for key in ["median", "mean", "min", "max", "first"] {
        if let Some(value) = figure.get_mut(key) {
            *value = (value.as_f64().expect("a number") * factor).into();
        }
    }
    let ends = figure.get_mut("ci95").and_then(Value::as_array_mut);
    for end in ends.into_iter().flatten() {
        *end = (end.as_f64().expect("a number") * factor).into();
    }
}

/// Writes a run without samples; gives its folder.
pub(crate) fn write(folder: &Path, run: &Value) -> String {
    fs::create_dir_all(folder).expect("made");
    fs::write(folder.join("run.json"), run.to_string()).expect("written");
    folder.to_str().expect("UTF-8").to_owned()
}

/// Saves it among the runs of a stage, without samples and with other cells.
pub(crate) fn save(stage: &Stage, id: &str, change: impl Fn(&mut Value)) -> String {
    let mut run = run();
    run["id"] = id.into();
    run["cells"]
        .as_array_mut()
        .expect("cells")
        .iter_mut()
        .for_each(change);
    write(&stage.root.join("data/tidings/arena/runs").join(id), &run)
}
