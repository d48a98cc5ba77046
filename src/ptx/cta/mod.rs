//! The warps of a CTA together: barriers, buffers and roles.

pub mod boxes;
mod chosen;
mod copies;
pub mod data;
pub mod divided;
pub mod drain;
mod dropped;
pub mod engines_apart;
pub mod family;
mod flags;
pub mod flights;
mod gather;
mod in_place;
pub mod layout;
pub mod left;
pub mod lifetimes;
pub mod members;
pub mod memory;
pub mod peel;
pub mod program;
pub mod repeats;
pub mod reroll;
pub mod rounds;
pub mod settled;
pub mod stores;
pub mod tickets;
pub mod tokens;
