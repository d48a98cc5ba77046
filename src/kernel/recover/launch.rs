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

/// The place of the parameter of 8 bytes that a term is, if it is one.
pub fn wide_parameter(term: TermId, terms: &Terms) -> Option<u32> {
    let Node::Concatenate(high, low) = *terms.node(term) else {
        return None;
    };
    match (terms.node(high), terms.node(low)) {
        (
            Node::Atom(Atom::Parameter { offset: above }),
            Node::Atom(Atom::Parameter { offset: below }),
        ) if below.checked_add(4) == Some(*above) => Some(*below),
        _ => None,
    }
}

/// Whether a term is a word of memory, or one widened with its sign.
pub fn is_word(term: TermId, terms: &Terms) -> bool {
    match *terms.node(term) {
        Node::Memory(_) => true,
        Node::Extend { term, .. } => matches!(terms.node(term), Node::Memory(_)),
        _ => false,
    }
}

/// Whether a sum is the difference of two words of memory: the end of something minus its
/// beginning. Like a size, it is assumed not to be negative, and that is printed.
pub fn is_length(parts: &[(TermId, u128)], width: u16, terms: &Terms) -> bool {
    let [(a, one), (b, other)] = parts else {
        return false;
    };
    let mut factors = [one, other].map(|factor| Word::new(*factor, width).signed());
    factors.sort_unstable();
    width >= 32 && is_word(*a, terms) && is_word(*b, terms) && factors == [-1, 1]
}
