//! What is made of samples: medians, intervals, ratios, verdicts.

pub(crate) mod best;
pub(crate) mod figures;
pub(crate) mod histogram;
pub(crate) mod random;
#[cfg(test)]
pub(crate) mod simulation;
pub(crate) mod stats;
pub(crate) mod verdict;
