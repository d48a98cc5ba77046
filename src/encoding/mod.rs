//! Symbolic encodings that search for a reachable failure.
//!
//! A model of an encoding is only a candidate. It becomes a [`crate::witness`] after the reference interpreter has
//! replayed it.

pub mod evaluate;
pub mod search;
pub mod stuck;
pub mod unroll;
pub mod value;
