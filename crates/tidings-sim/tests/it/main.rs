//! The simulator, tried on small programs.

mod basics;
mod failing;
mod gallery;
mod limits;
mod links;
mod local;
mod lookup;
mod many;
mod monitors;
mod nodes;
mod peers;
mod redial;
mod reports;
mod severed;
mod supervision;
mod unheard;
