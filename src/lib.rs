//! Warplock proves that a GPU kernel's synchronization cannot deadlock, for any thread count,
//! trip count or block-sparse pattern, or finds the smallest input that hangs it.
//!
//! Data flows one way: [`text`] becomes a [`protocol`]; its reference meaning is in
//! [`semantics`]; [`encoding`] turns it into formulas that look for a failure and [`proof`]
//! looks for a reason why there is none; [`hunt`] runs it at concrete values where no formula is
//! made of it yet; what they find is a [`witness`] or a [`certificate`],
//! each checked by code of its own before it becomes a [`verdict`], which [`report`] words.
//! [`trusted`] is the kernel: the small part of the checker that checks proofs by invariants and ranks.
//! [`repair`] looks for an edit of a text that makes a refuted protocol a proved one.
//! [`condition`] finds the parameter values at which it hangs, as a formula.
//! [`lint`] looks a protocol through for what a reader with a checklist looks for.
//! [`observation`] reads what a debugger shows of a kernel that hangs.
//! [`ptx`] recovers such texts from compiled kernels.
//! [`export`] writes protocols in the languages of other verifiers.
//! [`tensors`] reads and writes the block-sparse arrays that kernels are given.
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
