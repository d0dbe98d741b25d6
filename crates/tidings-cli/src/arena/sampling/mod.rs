//! Takes the samples, of one group of systems after the other.

pub(crate) mod estimate;
pub(crate) mod hangs;
pub(crate) mod measure;
pub(crate) mod noise;
pub(crate) mod options;
pub(crate) mod paced;
pub(crate) mod pilot;
pub(crate) mod progress;
pub(crate) mod resume;
pub(crate) mod session;
pub(crate) mod track;
