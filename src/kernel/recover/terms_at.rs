//! Evaluates a term: its value, given values of its atoms and of memory.

use std::collections::BTreeMap;

use crate::meaning::Concrete;
use crate::meaning::Domain;
use crate::meaning::Word;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// The values of atoms, by their widths, and the bytes of memory.
pub struct Values<'a> {
    pub terms: &'a Terms,
    pub atom: &'a dyn Fn(Atom, u16) -> Option<Word>,
    pub byte: &'a dyn Fn(u64) -> Option<u8>,
}

impl Values<'_> {
    pub fn of(&self, term: TermId) -> Option<Word> {
        self.value(term, &mut BTreeMap::new())
    }

    fn value(&self, term: TermId, done: &mut BTreeMap<TermId, Word>) -> Option<Word> {
        if let Some(word) = done.get(&term) {
            return Some(*word);
        }
        let width = self.terms.width_of(term);
        let mut of = |term: &TermId| self.value(*term, done);
        let word = match self.terms.node(term) {
            Node::Constant(bits) => Word::new(*bits, width),
            Node::Atom(atom) => (self.atom)(*atom, width)?,
            Node::Sum { constant, parts } => {
                let mut sum = *constant;
                for (part, factor) in parts {
                    sum = sum.wrapping_add(of(part)?.bits.wrapping_mul(*factor));
                }
                Word::new(sum, width)
            }
            Node::Binary(operation, a, b) => Concrete.binary(*operation, &of(a)?, &of(b)?),
            Node::Not(a) => Concrete.not(&of(a)?),
            Node::Relation(relation, a, b) => Concrete.relation(*relation, &of(a)?, &of(b)?),
            Node::Select(condition, a, b) => match of(condition)?.bits {
                0 => of(b)?,
                _ => of(a)?,
            },
            Node::Extend { term, signed } => Concrete.extend(&of(term)?, width, *signed),
            Node::Extract { term, low } => Concrete.extract(&of(term)?, *low, width),
            Node::Concatenate(a, b) => Concrete.concatenate(&of(a)?, &of(b)?),
            Node::Memory(address) => {
                let address = u64::try_from(of(address)?.bits).ok()?;
                let mut bits = 0_u128;
                for at in 0..u64::from(width.div_ceil(8)) {
                    bits |= u128::from((self.byte)(address.wrapping_add(at))?) << (8 * at);
                }
                Word::new(bits, width)
            }
        };
        done.insert(term, word);
        Some(word)
    }
}
