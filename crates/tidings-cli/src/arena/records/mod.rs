//! What a run leaves behind, and how it is printed.

pub(crate) mod net_table;
pub(crate) mod outcome;
pub(crate) mod record;
pub(crate) mod saved;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod versions;
pub(crate) mod whole;
