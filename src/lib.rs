//! Warplock proves that a GPU kernel's synchronization cannot deadlock, for any thread count, trip count or block-sparse
//! pattern; or it finds the smallest input that hangs the kernel.
//!
//! Data flows one way. [`text`] becomes a [`protocol`], whose reference meaning is in [`semantics`]. [`encoding`] turns a
//! protocol into formulas and searches them for a failure. [`hunt`] runs a protocol at concrete values, where [`encoding`] has
//! no formula for it yet. [`proof`] searches for a reason why there is no failure. What they find is a [`witness`] or a
//! [`certificate`]. Separate code checks each of these before it becomes a [`verdict`], and [`report`] puts the verdict into
//! words. [`trusted`] is the kernel: the small part of the checker that checks proofs by invariants and ranks.
//!
//! [`repair`] searches for an edit of a text after which a refuted protocol is proved. [`condition`] finds a formula for the
//! parameter values at which a protocol hangs. [`lint`] looks in a protocol for common mistakes. [`observation`] reads what a
//! debugger shows of a kernel that hangs. [`ptx`] recovers protocols from compiled kernels. [`export`] writes protocols in the
//! languages of other verifiers. [`tensors`] reads and writes the block-sparse arrays that kernels are given.
//!
//! The library never prints and never reads user configuration.

pub mod certificate;
pub mod condition;
pub mod encoding;
pub mod export;
mod fresh;
pub mod lint;
pub mod observation;
pub mod proof;
pub mod repair;
pub mod report;
pub mod repro;
pub mod schemes;
pub mod tensors;
pub mod verdict;

pub use warplock_core::deadline;
pub use warplock_core::hunt;
pub use warplock_core::protocol;
pub use warplock_core::semantics;
pub use warplock_core::text;
pub use warplock_core::trusted;
pub use warplock_core::witness;
pub use warplock_ptx::ptx;
