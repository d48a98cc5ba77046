//! Numbers that the launch and the rounds of loops fix together, where no other form is found.
//!
//! ```text
//! for tile in .. { m = tile % columns; n = min(keys - 4 * m, 8); for j in 0..n { .. } }
//! ```
//!
//! Here `n` is a *function* of the number of the round of the outer loop. In the text it is a row of a pattern, and the
//! number is how many entries that row has: any number from 0 to the length of the row, for each round its own.
//!
//! The function is a term over the words of the launch and the *coordinates*, which stand for the numbers of rounds. Two
//! numbers are values of one function exactly if their terms are the same. So they are equal wherever their
//! coordinates are, in whichever warp: the term is evaluated with the kernel's own machine words. Two terms that differ
//! are two functions, which are supposed to be independent, even where they always agree. That allows more runs than
//! the kernel has, so a hang is not reported.

use super::number::Atomic;
use super::number::Number;
use super::term::TermId;

/// A function of rounds of loops. Its values lie in `0..=most`: a launch with others is outside of what the text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Over [`super::term::Atom::Coordinate`], and parameters and numbers of the grid.
    pub term: TermId,
    pub most: i128,
    /// What it is computed from besides the rounds, in words.
    pub of: String,
}

/// The value of a function at coordinates.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Applied {
    /// The number of the function among those of [`super::lower::Inputs`].
    pub function: u32,
    /// Not below 0.
    pub coordinates: Vec<Number>,
    /// The greatest value of the function.
    pub most: i128,
}

impl Applied {
    /// The value at other coordinates.
    pub fn with(&self, number: impl Fn(&Number) -> Option<Number>) -> Option<Self> {
        Some(Self {
            function: self.function,
            coordinates: self.coordinates.iter().map(number).collect::<Option<_>>()?,
            most: self.most,
        })
    }

    pub fn replaced(&self, by: &dyn Fn(&Atomic) -> Option<Number>) -> Option<Self> {
        self.with(|number| number.replaced(by))
    }

    /// The value with numbers put in for unknowns.
    pub fn fixed(&self, of: &dyn Fn(&Atomic) -> Option<i128>) -> Option<Self> {
        self.with(|number| number.value(of).map(Number::constant))
    }
}
