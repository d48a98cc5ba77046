//! Proof search: guessing why a protocol cannot get stuck.
//!
//! What is found here counts for nothing until [`crate::certificate`] has checked it.

pub mod sample;
pub mod ticket;
