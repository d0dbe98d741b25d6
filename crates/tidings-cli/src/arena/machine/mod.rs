//! The machine that measures, and the person in front of it.

pub(crate) mod environment;
pub(crate) mod fingerprint;
pub(crate) mod heartbeat;
pub(crate) mod interrupt;
