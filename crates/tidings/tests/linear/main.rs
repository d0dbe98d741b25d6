//! Small concurrent histories against sequential specifications, and the same programs, one
//! operation after the other, against models and other libraries.
//!
//! | file | what |
//! |---|---|
//! | `tidings_sim::linear` | is a history linearizable? Knows nothing of tidings |
//! | `record.rs` | who called what, when, and what came back |
//! | `model.rs` | the sequential specification of channels and choice |
//! | `real.rs` | the operations of the model, done on tidings |
//! | `race.rs`, `channel.rs` | random programs on threads and on the seeded scheduler, checked |
//! | `cells/` | the same for the cells |
//! | `play.rs`, `differential.rs` | one operation after the other, against the model and others |

mod cells;
mod channel;
#[path = "../laws/dice.rs"]
mod dice;
mod differential;
mod model;
mod play;
mod race;
mod real;
mod record;

use tidings_sim::linear as checker;
