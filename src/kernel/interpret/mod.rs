//! The reference interpreter: runs a whole CTA or cluster at a concrete launch, and returns the events of every warp.
//!
//! The lanes of a warp diverge and meet again (`divergence`). Operations have the meaning in [`crate::meaning`]. Some
//! values are unknown: memory that the run has not written, floating-point results, clocks. The interpreter
//! represents an unknown value by a number that depends only on the operation and its operands, and it tracks the
//! operations that the value comes from (*taint*). An event lists such operations as its *reasons* if its existence
//! or its operands depend on them. Control dependence counts, too: registers that are assigned on either side of a
//! branch on an unknown value are unknown.
//!
//! A simulation makes two assumptions that the code cannot show:
//!
//! - A copy by tensor map delivers the bytes that are missing at its mbarrier. If a phase lacks no arrival and such a
//!   copy was issued for it, the phase completes when no warp can go on otherwise. What these copies write to shared
//!   memory is not followed. This is no loss, because shared memory that no thread has written is unknown anyway.
//! - Registers (`setmaxnreg`) and columns of tensor memory are always available.

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
