//! Lock schemes at concrete block-sparse arrays: does this kernel hang on these tensors?
//!
//! A [`Scheme`] is a lock together with the orders of rows and of CTAs. It stands for a protocol whose text can be
//! shown. [`judge`](judge()) runs this protocol like the reference semantics, and says for every row tile whether it
//! completes, with an argument that covers all schedules. [`chain`] explains a hang.
//!
//! `docs/csr.md` documents the command that uses this.

mod bench;
pub mod chain;
mod follow;
mod judge;
mod load;
mod lock;
mod open;
mod run;
mod shape;
mod template;
mod value;
mod visits;

pub use judge::Fate;
pub use judge::Judgement;
pub use judge::Outcome;
pub use judge::Residency;
pub use judge::RowTile;
pub use judge::SchemeError;
pub use judge::Shown;
pub use judge::always_completes;
pub use judge::judge;
pub use load::instance;
pub use lock::LaunchChoice;
pub use lock::Lock;
pub use lock::NAMED;
pub use lock::Named;
pub use run::State;
pub use shape::Shape;
pub use template::Scheme;
pub use visits::Turn;
pub use visits::Turns;
pub use visits::Visit;
pub use visits::Visits;
