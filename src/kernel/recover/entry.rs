//! Conditions on words of memory that nobody writes, as entries of a matrix.
//!
//! For example, a kernel tests `mask[row * columns + m] != 0`. The word at the indices `row` and `m` is an *entry*: 1
//! if it is not 0, or passes another test, and otherwise 0.
//!
//! In general, the word at the indices `a`, `b`, `c` has the number `(a * B + b) * C + c` in its memory. `B` and `C`
//! are the *widths*, which are the same for all entries of a memory. An entry is made only if it is shown that `b`
//! lies in `0..B`, `c` in `0..C`, and `a` is not negative. So two entries of one memory are the same word exactly if
//! their indices are equal.

use super::number::Atomic;
use super::number::Number;
use super::term::TermId;

/// 1 if a word is other than 0, or passes the test of its memory, and 0 if not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The number of the memory among the memories of [`super::lower::Inputs`].
    pub memory: u32,
    /// The outermost index first. There is one more than there are widths.
    pub indices: Vec<Number>,
    /// How many values the indices behind the first one have.
    pub widths: Vec<Number>,
}

impl Entry {
    /// The numbers that it is made of.
    pub fn numbers(&self) -> impl Iterator<Item = &Number> {
        self.indices.iter().chain(&self.widths)
    }

    pub fn replaced(&self, by: &dyn Fn(&Atomic) -> Option<Number>) -> Option<Self> {
        let all = |numbers: &[Number]| -> Option<Vec<Number>> {
            numbers.iter().map(|number| number.replaced(by)).collect()
        };
        Some(Self {
            memory: self.memory,
            indices: all(&self.indices)?,
            widths: all(&self.widths)?,
        })
    }

    /// The entry with numbers put in for its unknowns.
    pub fn fixed(&self, of: &dyn Fn(&Atomic) -> Option<i128>) -> Option<Self> {
        let all = |numbers: &[Number]| -> Option<Vec<Number>> {
            let value = |number: &Number| number.value(of).map(Number::constant);
            numbers.iter().map(value).collect()
        };
        Some(Self {
            memory: self.memory,
            indices: all(&self.indices)?,
            widths: all(&self.widths)?,
        })
    }

    /// The number of its word in the memory, if its indices and widths are constants.
    pub fn place(&self) -> Option<i128> {
        let (first, rest) = self.indices.split_first()?;
        let mut place = first.as_constant()?;
        for (index, width) in rest.iter().zip(&self.widths) {
            place = place
                .checked_mul(width.as_constant()?)?
                .checked_add(index.as_constant()?)?;
        }
        Some(place)
    }
}

/// A pointer to words of which entries are made, and the test that these entries stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Where in the parameter space the pointer is.
    pub pointer: u32,
    /// The name of the parameter.
    pub name: String,
    /// The size of a word.
    pub bytes: u32,
    /// How many values the indices behind the first one have.
    pub widths: Vec<Number>,
    /// The test of a word. `None` stands for the test that it is not 0.
    pub test: Option<Test>,
}

/// A condition on words. Two different conditions behind one pointer are two memories. Their entries are supposed to
/// be independent, which allows more than the words do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    pub term: TermId,
    /// The condition in words.
    pub said: String,
    pub about: About,
}

/// Over which atoms the condition of a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The word at the indices: over [`super::term::Atom::Tested`].
    Word,
    /// Words at addresses that the indices decide: over [`super::term::Atom::Coordinate`] and what the launch gives.
    Places,
}

impl Memory {
    /// Whether its entries are conditions on more than the word at their indices.
    pub fn is_function(&self) -> bool {
        let test = self.test.as_ref();
        test.is_some_and(|test| test.about == About::Places)
    }
}
