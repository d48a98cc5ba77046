//! The command line: what it prints and how it exits.

#[path = "../support/mod.rs"]
mod support;

mod annotations;
mod binaries;
mod browser;
mod cache;
mod certify;
mod changes;
mod charts;
mod check;
mod claims;
mod compile;
mod condition;
mod csr;
mod culprits;
mod docs;
mod encodings;
mod explain;
mod export;
mod faults;
mod folders;
mod formats;
mod further;
mod grid;
mod hang;
mod hazards;
mod input;
mod lifetimes;
mod links;
mod lints;
mod lsp;
mod many;
mod partition;
mod pictures;
mod programs;
mod python;
mod python_files;
mod repair;
mod repairs;
mod repro;
mod repro_families;
mod run;
mod screen;
mod signals;
mod worksheet;
