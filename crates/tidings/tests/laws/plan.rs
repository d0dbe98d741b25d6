//! Which laws hold for which primitive, and who runs them: read from SEMANTICS.md, where it is
//! promised, so that the page can say nothing that is not run.

use std::sync::LazyLock;

use crate::laws::{LAWS, Law};
use crate::programs::{PRIMITIVES, Primitive};

const PAGE: &str = include_str!("../../../../SEMANTICS.md");

/// One line of the page's table: `| primitive | law, law | engine, engine |`.
pub(crate) struct Row {
    pub(crate) primitive: &'static Primitive,
    pub(crate) laws: Vec<&'static Law>,
    engines: Vec<&'static str>,
}

impl Row {
    pub(crate) fn is_run_by(&self, engine: &str) -> bool {
        self.engines.contains(&engine)
    }
}

/// The table under "Which laws hold of what".
pub(crate) fn rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(read);
    &ROWS
}

fn read() -> Vec<Row> {
    let table = PAGE
        .split("### Which laws hold of what")
        .nth(1)
        .expect("the page has the table");
    let lines = table
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .skip(2);
    let rows: Vec<_> = lines
        .take_while(|line| line.starts_with('|'))
        .map(row)
        .collect();
    for primitive in PRIMITIVES {
        let named = rows.iter().any(|row| row.primitive.name == primitive.name);
        assert!(
            named,
            "SEMANTICS.md does not name the programs of `{}`",
            primitive.name
        );
    }
    rows
}

fn row(line: &'static str) -> Row {
    let cells: Vec<_> = line.trim_matches('|').split('|').collect();
    let [name, laws, engines] = cells[..] else {
        panic!("three cells, not {line}")
    };
    let words = |cell: &'static str| cell.split(',').map(|word| word.trim().trim_matches('`'));
    let name = name.trim().trim_matches('`');
    Row {
        primitive: PRIMITIVES
            .iter()
            .find(|primitive| primitive.name == name)
            .unwrap_or_else(|| panic!("SEMANTICS.md names `{name}`, which has no program")),
        laws: words(laws)
            .map(|name| {
                let law = LAWS.iter().find(|law| law.name == name);
                law.unwrap_or_else(|| panic!("SEMANTICS.md names the law `{name}`, which is none"))
            })
            .collect(),
        engines: words(engines).collect(),
    }
}

#[test]
fn the_page_names_every_program_and_every_law() {
    let rows = rows();
    for law in LAWS {
        let name = law.name;
        let held = rows
            .iter()
            .any(|row| row.laws.iter().any(|law| law.name == name));
        assert!(held, "the law `{name}` holds of nothing");
    }
}
