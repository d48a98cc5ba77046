//! Protocols: their language, what they mean, and what checks a proof or a counterexample without a solver.
//!
//! This is a crate of its own so that a change above it does not compile it again. The rooms are folders of `src`, and
//! `warplock` names them as its own.

#[path = "../hunt/mod.rs"]
pub mod hunt;
#[path = "../patience.rs"]
pub mod patience;
#[path = "../protocol/mod.rs"]
pub mod protocol;
#[path = "../semantics/mod.rs"]
pub mod semantics;
#[path = "../text/mod.rs"]
pub mod text;
#[path = "../trusted/mod.rs"]
pub mod trusted;
#[path = "../witness/mod.rs"]
pub mod witness;
