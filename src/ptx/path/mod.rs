//! Symbolic execution of one warp along the control flow: blocks, branches, and loops as functions of their iteration
//! number.

pub mod arrays;
pub mod backoff;
pub mod begun;
pub mod behind;
pub mod choices;
pub mod cycle;
pub mod exits;
pub mod flow;
pub mod forms;
pub mod guess;
pub mod induction;
pub mod lanes;
pub mod locals;
pub mod meeting;
pub mod polls;
pub mod rehearse;
pub mod spins;
pub mod stays;
pub mod threaded;
pub mod unroll;
pub mod visited;
pub mod walk;
pub mod weighed;
pub mod writes;
