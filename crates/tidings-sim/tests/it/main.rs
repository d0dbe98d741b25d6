//! The simulator, tried on small programs.

mod basics;
mod failing;
mod gallery;
mod links;
mod local;
mod nodes;
mod peers;
mod supervision;
