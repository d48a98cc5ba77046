//! Certificates: reasons that can be checked without trusting whoever found them.
//!
//! A certificate names a rule and an *artefact*, the little that makes the rule applicable. This
//! room derives every obligation of the rule from the protocol and the artefact by code of its
//! own, as SMT-LIB text, and has them discharged. It shares nothing with [`crate::proof`], which
//! guesses artefacts from concrete runs, nor with [`crate::encoding`], which looks for failures.

pub mod discharge;
pub mod obligation;
pub mod program;
pub mod term;
pub mod ticket;
pub mod translate;
