//! Kernels in PTX and MLIR: what is recovered from them, and the verdicts.

#[path = "../support/mod.rs"]
mod support;

mod again;
mod believed;
mod calls;
mod carried;
mod control;
mod counted;
mod counters;
mod data;
mod errors;
mod frameworks;
mod graph;
mod graph_data;
mod graph_matrices;
mod graph_misuse;
mod graph_multiplied;
mod grids;
mod guarded;
mod hand_written;
mod instructions;
mod kernels;
mod launch;
mod lint;
mod lives;
mod loops;
mod misuse;
mod parted;
mod pipelines;
mod prefetched;
mod raced;
mod restarts;
mod robust;
mod shapes;
mod sizes;
mod slots;
mod some_lanes;
mod spins;
mod states;
mod tensor_bytes;
mod tensor_cores;
mod together;
mod tokens;
mod trips;
mod written;
