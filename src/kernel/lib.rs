//! Compiled GPU kernels: their representation, their meaning, and the recovery of their synchronization.
//!
//! Data flows one way. A reader ([`ptx`], [`mlir`]) turns a text into a kernel of the [`ir`]. The
//! IR has one [`meaning`], over any domain of values. [`interpret`] runs a whole CTA or cluster at
//! concrete launch values and yields the events of every warp. [`recover`] turns a kernel into a
//! protocol for all launch values, and [`validate`] compares the two event by event. [`lint`] finds places worth a look.
//!
//! The library never prints and never reads user configuration.

pub mod cfg;
pub mod interpret;
pub mod ir;
pub mod lift;
pub mod lint;
pub mod meaning;
pub mod mlir;
pub mod ptx;
pub mod recover;
pub mod validate;
