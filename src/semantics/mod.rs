//! Reference semantics: what every statement does, written once.
//!
//! A protocol at one concrete [`input`] is an [`instance`]. It consists of *members* and *cells*. A member is one
//! thread, warp or CTA with the list of its operations. A cell is one element of a synchronization object, such as
//! one mbarrier of an array.
//!
//! [`eval`] evaluates expressions, and [`unfold`] makes the instance of a protocol and an input. [`step`] says what
//! one step of one member does to the state. Everything else only drives `step`: [`simulate`] along one schedule,
//! [`greedy`] to the end of a large concrete input, [`explore`] through every schedule, and [`inputs`] through every
//! input at given parameters. [`data`] is what the members read and write. [`hazards`] defines what can go wrong
//! besides a deadlock.

mod admit;
mod branching;
pub mod claim;
pub mod data;
pub mod error;
pub mod eval;
pub mod explore;
pub mod greedy;
pub mod hazards;
pub mod input;
pub mod inputs;
pub mod instance;
mod live;
mod pace;
pub mod pattern;
mod possible_results;
mod program;
pub mod simulate;
mod state;
pub mod step;
pub mod symmetry;
mod table;
pub mod unfold;

#[cfg(test)]
mod explore_tests;
#[cfg(test)]
mod run_tests;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod transaction_tests;
