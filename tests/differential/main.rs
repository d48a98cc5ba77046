//! Random protocols: every verdict is compared with exhaustive search or another tool.

#[path = "../support/mod.rs"]
mod support;

mod arriver;
mod atomics;
mod block_sparse;
mod claims;
mod credit;
mod cut;
mod cut_hazards;
mod data;
mod drawn;
mod hardware;
mod hazards;
mod horn;
mod hunt;
mod kernel;
mod language;
mod lifetimes;
mod metamorphic;
mod mutants;
mod order;
mod probes;
mod random;
mod second_explorer;
mod semantics_hazards;
mod semantics_library;
mod soundness;
mod spin;
mod stale;
mod transplants;
mod waits;
mod wrapped;
