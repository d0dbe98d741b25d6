//! Systems that hang. Each cell of one costs the whole time of an answer that does not come, so a run tries two.

use std::collections::BTreeMap;

use crate::arena::records::state::State;

/// So many cells of a system may hang before the others are left out.
const TRIES: u32 = 2;

/// How many cells of each system have hung.
#[derive(Debug, Default)]
pub(crate) struct Hangs(BTreeMap<String, u32>);

impl Hangs {
    /// Notes how a cell ended.
    pub(crate) fn note(&mut self, system: &str, state: State) {
        if state == State::Timeout {
            *self.0.entry(system.to_owned()).or_default() += 1;
        }
    }

    /// Why no other cell of a system is tried, if none is.
    pub(crate) fn why(&self, system: &str) -> Option<String> {
        let hung = *self.0.get(system)? >= TRIES;
        hung.then(|| format!("{system} hung twice in this run"))
    }
}
