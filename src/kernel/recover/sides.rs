//! Splits a term with a choice (`c ? a : b`) into its two sides.

use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// The condition of a choice and its two values. It may also be a sum with a choice:
/// `(c ? a : b) + 1` is `a + 1` or `b + 1`.
pub fn sides(term: TermId, terms: &mut Terms) -> Option<(TermId, [TermId; 2])> {
    match terms.node(term).clone() {
        Node::Select(choice, a, b) => Some((choice, [a, b])),
        Node::Sum { constant, parts } => {
            let (at, choice, a, b) =
                parts
                    .iter()
                    .enumerate()
                    .find_map(|(at, (part, _))| match terms.node(*part) {
                        Node::Select(choice, a, b) => Some((at, *choice, *a, *b)),
                        _ => None,
                    })?;
            let width = terms.width_of(term);
            let sums = [a, b].map(|side| {
                let mut parts = parts.clone();
                parts[at].0 = side;
                terms.sum(constant, &parts, width)
            });
            Some((choice, sums))
        }
        _ => None,
    }
}
