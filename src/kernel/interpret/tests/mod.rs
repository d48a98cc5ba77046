//! Tests of the interpreter on kernels that are built by hand.

mod builder;
mod compute;
mod control;
mod lanes;
mod mbarriers;
mod memory;
mod turns;
mod unknown;
