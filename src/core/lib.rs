//! Protocols: their language, their semantics, and the parts that check a proof or a counterexample without a solver.
//!
//! This is a separate crate, so a change in the crates above does not compile it again. Its modules are the folders of
//! `src`. `warplock` re-exports them as its own.

#[path = "../deadline.rs"]
pub mod deadline;
#[path = "../hunt/mod.rs"]
pub mod hunt;
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
