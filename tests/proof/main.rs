//! Proofs: what the rules prove, and what their checkers refuse.

#[path = "../support/mod.rs"]
mod support;

mod architecture;
mod boundary;
mod case_split;
mod cases;
mod certificates;
mod claims;
mod copies;
mod corruption;
mod counts;
mod csr;
mod cut;
mod drawn;
mod elementary;
mod exhaustive;
mod kernel;
mod kernel_acts;
mod kernel_groups;
mod kernel_neighbours;
mod kernel_reasons;
mod kernel_text;
mod kernel_waits;
mod kernel_weights;
mod loops;
mod nested;
mod order;
mod order_again;
mod order_alike;
mod order_ends;
mod order_parts;
mod order_seats;
mod order_teams;
mod order_wraps;
mod pools_brief;
mod races;
mod shared;
mod shares;
mod wrapped;
