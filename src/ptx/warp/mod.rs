//! The state of one warp: integers as sums of unknowns, facts about them, registers by lane, and the statements that it
//! has executed.

pub mod aligned;
pub mod bits;
pub mod cases;
pub mod compare;
mod constants;
mod either;
mod entailed;
pub mod evaluate;
pub mod facts;
mod judged;
mod lesser;
pub mod low;
pub mod machine;
mod meet;
pub mod most;
mod normal;
pub mod packed;
pub mod periodic;
pub mod pieces;
pub mod residues;
pub mod retimed;
pub mod rewrite;
pub mod statement;
pub mod term;
pub mod value;
mod widened;
pub mod words;
