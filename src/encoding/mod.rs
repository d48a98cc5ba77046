//! Symbolic encodings that look for a failure.
//!
//! Nothing found here is believed: a candidate becomes a [`crate::witness`] only after the
//! reference interpreter has replayed it.

pub mod evaluate;
pub mod search;
pub mod stuck;
pub mod unroll;
pub mod value;
