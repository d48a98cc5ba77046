//! What the other copies have done, if copies are ordered: those before and after the copy that the obligation is about.

use super::Spot;
use crate::certificate::term::Term;

/// Up to where copies have finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishedCopies {
    /// All before the copy that is looked at.
    Before,
    /// All of them.
    All,
}

/// What the copies do that are not looked at.
#[derive(Clone)]
pub struct OtherCopies {
    /// Which have finished.
    pub finished: FinishedCopies,
    /// The second and the third symbolic copy, if there are copies that have not finished.
    pub later: Vec<LaterCopy>,
}

/// A symbolic copy that comes after the one that is looked at.
#[derive(Clone)]
pub struct LaterCopy {
    /// What makes its number one.
    pub number: Term,
    /// Where its classes are, by position.
    pub spots: Vec<(usize, Vec<Spot>)>,
}
