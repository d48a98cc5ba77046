//! Symbolic execution of one warp along the control flow: blocks, branches, and loops as functions of their iteration
//! number.

pub mod arrays;
pub mod backoff;
pub mod behind;
pub mod choices;
pub mod common_arrival;
pub mod cycle;
pub mod dependence;
pub mod exits;
pub mod flow;
pub mod forms;
pub mod guess;
pub mod induction;
pub mod just_tested;
pub mod lanes;
pub mod late_induction;
pub mod locals;
pub mod polls;
pub mod rehearse;
pub mod spins;
pub mod stays;
pub mod threaded;
pub mod unroll;
pub mod visited;
pub mod walk;
pub mod writes;
