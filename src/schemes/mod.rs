//! Lock schemes at concrete block-sparse arrays: does this kernel hang on these tensors?
//!
//! A [`Scheme`] is a lock with the orders of rows and of CTAs; it stands for a protocol whose
//! text can be shown. [`judge`](judge()) runs that protocol in the reference semantics and says
//! for every row tile whether it completes, with the argument why this holds for all schedules.
//! [`chain`] explains a hang.
//!
//! `docs/csr.md` documents the command that shows this.

mod bench;
pub mod chain;
mod follow;
mod judge;
mod load;
mod lock;
mod open;
mod shape;
mod template;

pub use judge::Fate;
pub use judge::Judgement;
pub use judge::Outcome;
pub use judge::Residency;
pub use judge::RowTile;
pub use judge::SchemeError;
pub use judge::Shown;
pub use judge::judge;
pub use load::Turn;
pub use load::Turns;
pub use load::is_taken;
pub use load::progress;
pub use lock::LaunchChoice;
pub use lock::Lock;
pub use lock::NAMED;
pub use lock::Named;
pub use shape::Shape;
pub use template::Scheme;
