//! Reports: one model of what was found, and its renderings.
//!
//! A [`Finding`] contains everything about the verdict on one property of one file. [`finding::finding`] makes it
//! from a decision: it replays a counterexample and explains the state at its end ([`stuck`]). The renderers, such as
//! [`text`], [`json`] and [`sarif`], only format it.

pub mod argument;
pub mod change;
pub mod chart;
pub mod cited;
pub mod csr;
pub mod culprit;
mod cuts;
pub mod elements;
mod evidence;
pub mod expect;
mod expression;
pub mod finding;
pub mod github;
pub mod graph;
pub mod hang;
pub mod hazard;
pub mod html;
pub mod input;
pub mod json;
pub mod junit;
mod kernel;
mod legend;
pub mod markdown;
pub mod mermaid;
mod orders;
pub mod perfetto;
pub mod place;
mod ranges;
mod reason;
pub mod repro;
pub mod sarif;
pub mod stuck;
pub mod style;
pub mod text;
pub mod trace;
mod words;
pub mod worksheet;

pub use finding::Finding;
pub use finding::Word;
