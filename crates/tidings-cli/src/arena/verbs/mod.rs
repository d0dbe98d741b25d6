//! One file for each verb of `tidings arena`; `report` has a folder of its own.

pub(crate) mod baseline;
pub(crate) mod bundle;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod compare_text;
pub(crate) mod conformance;
pub(crate) mod doctor;
pub(crate) mod doctor_peer;
pub(crate) mod guide;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod merge_text;
pub(crate) mod run;
pub(crate) mod scaffold;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod smoke;
