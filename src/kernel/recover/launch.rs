//! The values that the launch determines, such as block and grid sizes.

use super::term::Atom;
use super::term::TermId;
use super::term::Terms;

/// Whether a term is fixed when the kernel is launched.
pub fn is_launch(term: TermId, terms: &Terms) -> bool {
    terms
        .atoms(term)
        .iter()
        .all(|atom| matches!(atom, Atom::Parameter { .. } | Atom::Special(_)))
}
