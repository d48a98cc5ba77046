//! The commands.

pub mod csr;
mod emission;
mod output;
pub mod repro;
