//! Lowers conditions on whether a word of memory is 0, if nobody writes it while the kernel runs, to entries of a
//! matrix ([`crate::recover::entry`]).
//!
//! For example, `mask[blockIdx.x * columns + m]` is the entry at `blockIdx.x` and `m`, if `m` is known to lie in
//! `0..columns`. An address is written as a polynomial over values of the launch and numbers of iterations. A value
//! of the launch that multiplies others in it is tried as the number of columns: the polynomial is divided by it. The
//! remainder has to be less than the divisor, because otherwise two pairs of indices could be one word.
//!
//! - All words behind one pointer are read with the same width and have the same numbers of columns. Otherwise the
//!   entries would not be independent, or one word would have two names.
//! - An index that may be negative is refused, because it may be in another row, or other memory.
//! - Sums and products that make an index in 32 bits are assumed not to wrap around.

use std::collections::BTreeMap;

use super::Lowerer;
use crate::ir::Special;
use crate::meaning::Binary;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::entry::About;
use crate::recover::entry::Entry;
use crate::recover::entry::Memory;
use crate::recover::entry::Test;
use crate::recover::launch::is_launch;
use crate::recover::launch::wide_parameter;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tests_of_words::said;
use crate::recover::tests_of_words::samples;
use crate::recover::tests_of_words::upright;
use crate::recover::tree::LoopId;

pub(super) const UNWRAPPED: &str =
    "indices into memory that decides about synchronization do not wrap around";

/// Why a word of memory is no entry.
const NOT_FOLLOWED: &str = "memory at an address that is not of the form pointer + index";
const BETWEEN: &str = "memory at an offset that is not shown to be a multiple of the word's size";
const SHAPES: &str =
    "memory that is read with different widths of words, or different lengths of rows";
const OUTSIDE: &str =
    "memory at an index that may be negative, or whose column may lie outside its row";

/// The most summands of an index, and factors of a product.
const MOST_TERMS: usize = 24;
const MOST_FACTORS: usize = 4;

/// The least width of values that are assumed not to wrap around. Narrower ones are meant to, such as a byte that is
/// cut out of a number.
const INDEX_BITS: u16 = 32;

/// A factor of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Factor {
    Term(TermId),
    /// The number of an iteration of a loop.
    Round(LoopId),
}

/// A sum of products, each with its coefficient.
pub(super) type Sum = BTreeMap<Vec<Factor>, i128>;

impl Lowerer<'_> {
    /// The condition that a word of memory is 0, if loops decide which word it is.
    pub(super) fn entry_is_zero(
        &mut self,
        relation: Relation,
        a: TermId,
        b: TermId,
    ) -> Option<Condition> {
        let is =
            |lowerer: &Self, term: TermId, number| lowerer.arena.terms.value(term) == Some(number);
        // `w == 0`, and `0 < w` without sign.
        let (word, zero) = match relation {
            Relation::Equal if is(self, b, 0) => (a, true),
            Relation::Equal if is(self, a, 0) => (b, true),
            Relation::LessUnsigned if is(self, a, 0) => (b, false),
            Relation::LessUnsigned if is(self, b, 1) => (a, true),
            _ => return None,
        };
        let word = self.widened(word)?;
        let entry = match self.entry(word, None) {
            Ok(entry) => entry,
            Err(reason) => {
                self.not_entries.insert(word, reason);
                return None;
            }
        };
        let zeros = Condition::zero(Number::of(Atomic::Entry(Box::new(entry))));
        if zero { Some(zeros) } else { zeros.negated() }
    }

    /// Another condition on a word of memory, and on nothing else. The iterations of loops decide which word it is.
    ///
    /// The word is replaced by a name in the term. The result has to be a condition on that name alone. So it is a
    /// function of the word, and the same for all words that are tested with it, in whichever warp. Nothing is known
    /// of this function but that some word passes and some word does not, so its entries are any truth values.
    pub(super) fn entry_that_passes(&mut self, term: TermId) -> Option<Condition> {
        let terms = &mut self.arena.terms;
        if self.arena.unwritten.loads.is_empty() || terms.width_of(term) != 1 {
            return None;
        }
        let [word] = terms.memory_in(term)[..] else {
            return None;
        };
        if is_launch(word, terms) {
            return None;
        }
        let name = terms.atom(Atom::Tested, terms.width_of(word));
        let test = terms.replaced(term, word, name);
        if terms.atoms(test).iter().any(|atom| *atom != Atom::Tested) {
            return None;
        }
        let (test, holds) = upright(test, terms);
        let [passing, failing] = samples(test, terms);
        if passing.is_empty() || failing.is_empty() {
            return None;
        }
        let said = said(test, terms);
        let entry = match self.entry(
            word,
            Some(Test {
                term: test,
                said,
                about: About::Word,
            }),
        ) {
            Ok(entry) => entry,
            Err(reason) => {
                self.not_entries.insert(word, reason);
                return None;
            }
        };
        let fails = Condition::zero(Number::of(Atomic::Entry(Box::new(entry))));
        if holds { fails.negated() } else { Some(fails) }
    }

    /// The word of memory that a term widens, which is 0 exactly where the term is.
    fn widened(&self, term: TermId) -> Option<TermId> {
        match *self.arena.terms.node(term) {
            Node::Memory(_) => (!is_launch(term, &self.arena.terms)).then_some(term),
            Node::Extend { term, .. } => self.widened(term),
            _ => None,
        }
    }

    /// The entry that a word is.
    fn entry(&mut self, word: TermId, test: Option<Test>) -> Result<Entry, &'static str> {
        let Node::Memory(address) = *self.arena.terms.node(word) else {
            return Err(NOT_FOLLOWED);
        };
        let bits = self.arena.terms.width_of(word);
        let bytes = u32::from(bits / 8);
        if !bits.is_multiple_of(8) || bytes == 0 {
            return Err(BETWEEN);
        }
        let mut wraps = false;
        let mut sum = self.sum_of(address, &mut wraps).ok_or(NOT_FOLLOWED)?;
        let pointer = self.take_pointer(&mut sum).ok_or(NOT_FOLLOWED)?;
        let size = i128::from(bytes);
        if sum.values().any(|factor| factor % size != 0) {
            return Err(BETWEEN);
        }
        sum.values_mut().for_each(|factor| *factor /= size);
        let (indices, widths) = self.indices(&sum).ok_or(OUTSIDE)?;
        let mut known = self.inputs.memories.iter();
        let at_pointer = |memory: &&Memory| memory.pointer == pointer && !memory.is_function();
        if known
            .clone()
            .filter(at_pointer)
            .any(|other| other.bytes != bytes || other.widths != widths)
        {
            return Err(SHAPES);
        }
        let memory = match known.position(|memory| at_pointer(&memory) && memory.test == test) {
            Some(at) => at,
            None => {
                let name = self.parameter_at(pointer).ok_or(NOT_FOLLOWED)?;
                self.inputs.memories.push(Memory {
                    pointer,
                    name,
                    bytes,
                    widths: widths.clone(),
                    test,
                });
                self.inputs.memories.len() - 1
            }
        };
        if wraps {
            self.inputs.assumptions.insert(UNWRAPPED.to_owned());
        }
        Ok(Entry {
            memory: u32::try_from(memory).map_err(|_| NOT_FOLLOWED)?,
            indices,
            widths,
        })
    }

    /// The name of the parameter at a place, of which there is no other part.
    pub(super) fn parameter_at(&self, pointer: u32) -> Option<String> {
        let parameter = self.kernel.parameters.iter().find(|parameter| {
            (parameter.offset..parameter.offset.saturating_add(parameter.size)).contains(&pointer)
        })?;
        Some(match pointer - parameter.offset {
            0 => parameter.name.clone(),
            at => format!("{}_at_{at}", parameter.name),
        })
    }

    /// Removes the only pointer from an address.
    fn take_pointer(&self, sum: &mut Sum) -> Option<u32> {
        let mut found = None;
        for (factors, coefficient) in &*sum {
            let pointers = factors.iter().filter_map(|factor| match factor {
                Factor::Term(term) => wide_parameter(*term, &self.arena.terms),
                Factor::Round(_) => None,
            });
            let pointers: Vec<u32> = pointers.collect();
            match (&pointers[..], factors.len(), coefficient) {
                ([], ..) => {}
                ([pointer], 1, 1) if found.is_none() => found = Some((*pointer, factors.clone())),
                _ => return None,
            }
        }
        let (pointer, factors) = found?;
        sum.remove(&factors);
        self.arena
            .unwritten
            .pointers
            .contains(&pointer)
            .then_some(pointer)
    }

    /// A term as a sum of products. `wraps` says whether that takes for granted that nothing wraps around.
    pub(super) fn sum_of(&mut self, term: TermId, wraps: &mut bool) -> Option<Sum> {
        let width = self.arena.terms.width_of(term);
        let one = |factor: Factor| Sum::from([(vec![factor], 1)]);
        match self.arena.terms.node(term).clone() {
            Node::Constant(bits) => {
                Some(Sum::from([(Vec::new(), Word::new(bits, width).signed())]))
            }
            Node::Sum { constant, parts } if width >= INDEX_BITS => {
                let mut all = Sum::from([(Vec::new(), Word::new(constant, width).signed())]);
                for (part, factor) in parts {
                    let factor = Word::new(factor, width).signed();
                    for (factors, coefficient) in self.sum_of(part, wraps)? {
                        add(&mut all, factors, coefficient.checked_mul(factor)?)?;
                    }
                }
                few(all)
            }
            Node::Binary(Binary::Multiply, a, b) if width >= INDEX_BITS => {
                let (a, b) = (self.sum_of(a, wraps)?, self.sum_of(b, wraps)?);
                let mut all = Sum::new();
                for (some, x) in &a {
                    for (others, y) in &b {
                        let mut factors = [some.as_slice(), others].concat();
                        factors.sort_unstable();
                        if factors.len() > MOST_FACTORS {
                            return None;
                        }
                        add(&mut all, factors, x.checked_mul(*y)?)?;
                    }
                }
                few(all)
            }
            Node::Extend {
                term: inner,
                signed,
            } => {
                let sum = self.sum_of(inner, wraps)?;
                let single = sum.len() == 1
                    && sum
                        .iter()
                        .all(|(factors, by)| factors.len() <= 1 && *by == 1);
                *wraps |= !single;
                // Read without sign, a negative number is another number.
                (signed || self.adds_up_to_naturals(&sum)).then_some(sum)
            }
            // A pointer that a loop moves on by a step that does not change.
            Node::Atom(Atom::Phi(phi)) if width == 64 => {
                let (_, first, step) = self.linear_phi(phi)?;
                let in_loop = self.arena.phis.get(phi as usize)?.in_loop;
                if !self.inside.iter().any(|(id, _)| *id == in_loop) {
                    return None;
                }
                let mut all = self.sum_of(first, wraps)?;
                for (mut factors, coefficient) in self.sum_of(step, wraps)? {
                    factors.push(Factor::Round(in_loop));
                    factors.sort_unstable();
                    add(&mut all, factors, coefficient)?;
                }
                few(all)
            }
            _ => Some(one(Factor::Term(term))),
        }
    }

    pub(super) fn factor(&mut self, factor: Factor) -> Option<Number> {
        match factor {
            Factor::Term(term) => self.number_or_state(term),
            Factor::Round(index) => Some(Number::of(Atomic::Index(index))),
        }
    }

    /// Whether all parts of a sum are at least 0, or the sum as a number is.
    fn adds_up_to_naturals(&mut self, sum: &Sum) -> bool {
        let each = sum.iter().all(|(factors, coefficient)| {
            *coefficient >= 0
                && factors.iter().all(|factor| {
                    let number = self.factor(*factor);
                    number.is_some_and(|number| self.is_natural(&number))
                })
        });
        each || self
            .plain(sum)
            .is_some_and(|number| self.is_natural(&number))
    }

    /// A sum without products as a number.
    fn plain(&mut self, sum: &Sum) -> Option<Number> {
        let mut all = Number::default();
        for (factors, coefficient) in sum {
            let number = match factors[..] {
                [] => Number::constant(1),
                [factor] => self.factor(factor)?,
                _ => return None,
            };
            all = all.plus(&number.times(*coefficient)?)?;
        }
        Some(all)
    }

    /// The indices of the word with a number, the outermost first, and the widths of those behind
    /// the first one.
    fn indices(&mut self, sum: &Sum) -> Option<(Vec<Number>, Vec<Number>)> {
        if sum.keys().all(|factors| factors.len() <= 1) {
            let index = self.plain(sum)?;
            return self.is_natural(&index).then(|| (vec![index], Vec::new()));
        }
        let mut tried = Vec::new();
        let products = sum.keys().filter(|factors| factors.len() > 1);
        for width in products.flatten().copied().collect::<Vec<_>>() {
            let Factor::Term(term) = width else { continue };
            if tried.contains(&width) || !is_launch(term, &self.arena.terms) {
                continue;
            }
            tried.push(width);
            let (mut rows, mut rest) = (Sum::new(), Sum::new());
            for (factors, coefficient) in sum {
                match factors.iter().position(|factor| *factor == width) {
                    Some(at) => {
                        let mut others = factors.clone();
                        others.remove(at);
                        add(&mut rows, others, *coefficient)?;
                    }
                    None => add(&mut rest, factors.clone(), *coefficient)?,
                }
            }
            let (Some(index), Some(width)) = (self.plain(&rest), self.number(term)) else {
                continue;
            };
            // A negative index in a row is one at the end of the row before.
            for back in [0, 1] {
                let index = index.plus(&width.times(back)?)?;
                if !self.is_natural(&index) || !self.is_below(&index, &width) {
                    continue;
                }
                add(&mut rows, Vec::new(), -back)?;
                let mut rows = rows.clone();
                rows.retain(|_, coefficient| *coefficient != 0);
                if let Some((mut indices, mut widths)) = self.indices(&rows) {
                    indices.push(index);
                    widths.push(width);
                    return Some((indices, widths));
                }
                break;
            }
        }
        None
    }

    /// Whether a number is known to be less than another one.
    fn is_below(&self, index: &Number, width: &Number) -> bool {
        let left = width
            .minus(index)
            .and_then(|left| left.minus(&Number::constant(1)));
        if left.is_some_and(|left| self.is_natural(&left)) {
            return true;
        }
        // The index of a CTA in the grid.
        let special = |number: &Number| {
            let parts: Vec<_> = number.parts.iter().collect();
            let [(Atomic::Input(input), 1)] = parts[..] else {
                return None;
            };
            let super::Origin::Term(term) = self.inputs.origins[*input as usize] else {
                return None;
            };
            match *self.arena.terms.node(term) {
                Node::Atom(Atom::Special(special)) if number.constant == 0 => Some(special),
                _ => None,
            }
        };
        matches!(
            (special(index), special(width)),
            (Some(Special::CtaIndex(one)), Some(Special::GridCtas(other))) if one == other
        )
    }
}

/// A sum without parts whose coefficient is 0, if it is not too long.
fn few(mut sum: Sum) -> Option<Sum> {
    sum.retain(|_, coefficient| *coefficient != 0);
    (sum.len() <= MOST_TERMS).then_some(sum)
}

fn add(sum: &mut Sum, factors: Vec<Factor>, coefficient: i128) -> Option<()> {
    let slot = sum.entry(factors).or_default();
    *slot = slot.checked_add(coefficient)?;
    Some(())
}
