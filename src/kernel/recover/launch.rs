//! The values that the launch determines, such as block and grid sizes.

use crate::meaning::Word;

use super::term::Atom;
use super::term::Node;
use super::term::TermId;
use super::term::Terms;

/// Whether a term is fixed when the kernel is launched.
pub fn is_launch(term: TermId, terms: &Terms) -> bool {
    terms
        .atoms(term)
        .iter()
        .all(|atom| matches!(atom, Atom::Parameter { .. } | Atom::Special(_)))
}

/// Whether a sum is a difference of two words of memory: where something ends less where it begins. Like a size, it is taken
/// for 0 or more, which is printed.
pub fn is_length(parts: &[(TermId, u128)], width: u16, terms: &Terms) -> bool {
    let [(a, one), (b, other)] = parts else {
        return false;
    };
    let is_word = |term: TermId| matches!(terms.node(term), Node::Memory(_));
    let mut factors = [one, other].map(|factor| Word::new(*factor, width).signed());
    factors.sort_unstable();
    width >= 32 && is_word(*a) && is_word(*b) && factors == [-1, 1]
}
