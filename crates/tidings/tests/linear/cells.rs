//! cells
