//! What the other copies have done, if copies are ordered: those before and after the copy that the obligation is about.

use super::Spot;
use crate::certificate::term::Term;

/// Up to where copies have finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upto {
    /// All before the copy that is looked at.
    This,
    /// All of them.
    End,
}

/// What the copies do that are not looked at.
#[derive(Clone)]
pub struct Around {
    /// Which have finished.
    pub finished: Upto,
    /// The second and the third symbolic copy, if there are copies that have not finished.
    pub away: Vec<Away>,
}

/// A symbolic copy that comes after the one that is looked at.
#[derive(Clone)]
pub struct Away {
    /// What makes its number one.
    pub number: Term,
    /// Where its classes are, by position.
    pub spots: Vec<(usize, Vec<Spot>)>,
}
