//! The reference interpreter: runs a whole CTA or cluster at a concrete launch, and yields the events
//! of every warp.
//!
//! A warp executes in lanes that diverge and meet again (`divergence`). What is computed has the one
//! [`crate::meaning`]. What is not known (memory that the run has not written, floating-point results,
//! clocks) is a number that depends on nothing but the operation and its operands, with the operations
//! it comes from; an event whose existence or operands depend on such numbers names them as its
//! reasons. Control counts: what is assigned on either side of a branch on such a number is not known
//! either.
//!
//! Two assumptions of a simulation, which cannot be looked up in the code:
//!
//! - Copies by tensor map deliver what their mbarrier lacks: a phase that lacks no arrival and for which
//!   such a copy was issued completes when no warp can go on otherwise. What they write to shared memory
//!   is not followed; shared memory that no thread has written is not known anyway.
//! - Registers (`setmaxnreg`) and columns of tensor memory are always there.

mod access;
mod address;
mod barriers;
mod compute;
mod counters;
mod data;
mod divergence;
mod event;
mod execute;
mod fold;
mod lanes;
mod launch;
mod mask;
mod memory;
mod print;
mod program;
mod run;
mod synchronize;
mod taint;
mod trace;
mod value;
mod warp;
mod world;

pub use address::Layout;
pub use event::Access;
pub use event::Event;
pub use event::EventKind;
pub use event::Object;
pub use event::Place;
pub use event::Region;
pub use launch::Landing;
pub use launch::Launch;
pub use launch::Waits;
pub use launch::default_pointer;
pub use mask::Filling;
pub use mask::MOST_BYTES;
pub use mask::Mask;
pub use print::text;
pub use run::run;
pub use taint::Origins;
pub use trace::Awaited;
pub use trace::CtaTrace;
pub use trace::Decision;
pub use trace::Outcome;
pub use trace::Stop;
pub use trace::StopReason;
pub use trace::Trace;
pub use trace::Waiting;
pub use trace::WarpTrace;
pub use value::LANES;
pub use value::Lanes;
pub use value::lanes_of;

#[cfg(test)]
mod tests;
