//! Reference semantics: what every statement does, written once.
//!
//! [`eval`] gives expressions their value, [`unfold`] turns a protocol and one [`input`] into
//! an [`instance`] (programs over flat cells), and [`step`] says what one step
//! of one member does. Everything else only drives `step`: [`simulate`] along one schedule,
//! [`greedy`] to the end of a large concrete input, [`explore`] through every schedule and
//! [`inputs`] through every input at given parameters. [`data`] is what the members read and
//! write, and [`hazards`] what can go wrong beside a deadlock.

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
