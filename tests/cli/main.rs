//! The command line: what it prints and how it exits.

#[path = "../support/mod.rs"]
mod support;

mod certify;
mod check;
mod claims;
mod csr;
mod culprits;
mod docs;
mod encodings;
mod export;
mod faults;
mod formats;
mod further;
mod grid;
mod hazards;
mod input;
mod lifetimes;
mod many;
mod repro;
mod repro_families;
mod run;
mod signals;
