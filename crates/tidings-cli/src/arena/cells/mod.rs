//! What is measured: the workloads, their sizes, and what a run is planned to do of them.

pub(crate) mod filter;
pub(crate) mod fit;
pub(crate) mod plan;
pub(crate) mod savina;
pub(crate) mod size;
pub(crate) mod wire;
pub(crate) mod workload;
