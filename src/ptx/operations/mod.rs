//! The effects of instructions on synchronization and memory, family by family.

pub mod access;
pub mod answers;
pub mod arrival_counts;
pub mod counters;
pub mod descriptor;
pub mod engines;
pub mod flips;
pub mod instruction;
pub mod looks;
pub mod peek;
pub mod tensor;
pub mod turns;
pub mod warpgroups;
