//! The systems that are measured: found, built, started, spoken to.

pub(crate) mod apt;
pub(crate) mod build;
pub(crate) mod catalog;
pub(crate) mod manifest;
pub(crate) mod peer;
pub(crate) mod proc_tree;
pub(crate) mod process;
pub(crate) mod protocol;
pub(crate) mod ready;
pub(crate) mod speaker;
pub(crate) mod static_binary;
