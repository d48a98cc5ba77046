//! Addresses of words of global memory.
//!
//! In a loop over `m`, the address of `lock[m]` is `base + 4 * m`, or `base + 4 * stride * m` if
//! the launch gives the stride. The base and the stride are inputs that do not occur in the text.
//! They are there for the comparison with the interpreter, and to tell words apart.

use std::collections::BTreeSet;

use super::Inputs;
use super::Lowerer;
use super::Result;
use super::refuse;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::meaning::Word as Bits;
use crate::recover::launch::is_launch;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::greatest_divisor;
use crate::recover::role_ir::Word;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::EventKind;
use crate::recover::tree::Statement;

/// The range of an address as a signed number.
pub const ADDRESSES: (i128, i128) = (-(1 << 63), (1 << 63) - 1);

/// The most that an operation may add to a counter.
const MOST_ADDED: i128 = (1 << 31) - 1;

const UNKNOWN: &str = "which word of memory this is cannot be written as a formula";

/// A part of an address that loops change.
struct Moving {
    factor: Option<TermId>,
    stride: i128,
    index: Number,
}

impl Lowerer<'_> {
    /// The word at an address; `value` is as wide as the word.
    pub(super) fn word(
        &mut self,
        address: TermId,
        value: TermId,
        location: &Location,
    ) -> Result<Word> {
        let found = self.word_at(address, self.arena.terms.width_of(value));
        found.map_or_else(|| refuse(UNKNOWN, location), Ok)
    }

    fn word_at(&mut self, address: TermId, width: u16) -> Option<Word> {
        let bits = self.arena.terms.width_of(address);
        let (mut constant, parts) = self.arena.terms.linear(address);
        let factors = self.arena.factors.clone();
        let (fixed, moving): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .partition(|(part, _)| is_fixed(*part, &self.arena.terms, &factors));
        let pointer = self.pointer(&fixed)?;
        let mut all: Vec<Moving> = Vec::new();
        for (part, factor) in moving {
            all.push(self.moving(part, Bits::new(factor, bits).signed(), &factors)?);
        }
        let factor = all.first().and_then(|first| first.factor);
        if all.iter().any(|each| each.factor != factor) {
            return None;
        }
        let bytes = i128::from(width / 8);
        let strides = all.iter().map(|each| each.stride);
        // Words are told apart by their numbers, whatever the kernel multiplies these by.
        let stride = match factor {
            None => bytes,
            Some(_) => strides.fold(0, greatest_divisor),
        };
        let mut index = Number::default();
        for each in &all {
            if each.stride.checked_rem(stride) != Some(0) {
                return None;
            }
            index = index.plus(&each.index.times(each.stride / stride)?)?;
        }
        let signed = Bits::new(constant, bits).signed();
        if factor.is_none() && signed % bytes == 0 {
            index = index.plus(&Number::constant(signed / bytes))?;
            constant = 0;
        }
        let base = self.arena.terms.sum(constant, &fixed, bits);
        let words = |lowerer: &mut Self, term| {
            let number = lowerer.input_within(term, ADDRESSES);
            match number.parts.keys().next() {
                Some(Atomic::Input(input)) => Some(*input),
                _ => None,
            }
        };
        Some(Word {
            pointer,
            base: words(self, base)?,
            factor: match factor {
                Some(factor) => Some(words(self, factor)?),
                None => None,
            },
            stride,
            index,
            width,
        })
    }

    /// The parameter of 8 bytes that occurs once in the sum of an address.
    fn pointer(&self, fixed: &[(TermId, u128)]) -> Option<u32> {
        let mut found = fixed.iter().filter_map(|(part, factor)| {
            let Node::Concatenate(high, low) = *self.arena.terms.node(*part) else {
                return None;
            };
            let offset = |term| match self.arena.terms.node(term) {
                Node::Atom(Atom::Parameter { offset }) => Some(*offset),
                _ => None,
            };
            let (high, low) = (offset(high)?, offset(low)?);
            (*factor == 1 && low.checked_add(4) == Some(high)).then_some(low)
        });
        let only = found.next()?;
        found.next().is_none().then_some(only)
    }

    /// A part of an address that is a number, or a product of a number with a value of the launch.
    fn moving(
        &mut self,
        part: TermId,
        stride: i128,
        factors: &BTreeSet<Option<TermId>>,
    ) -> Option<Moving> {
        let (factor, of) = match product(part, &self.arena.terms, factors) {
            Some((factor, of)) => (Some(factor), of),
            None => (None, part),
        };
        let index = self.number_or_state(of)?;
        Some(Moving {
            factor,
            stride,
            index,
        })
    }

    /// What so many lanes add to a word.
    pub(super) fn added(
        &mut self,
        value: TermId,
        lanes: i128,
        location: &Location,
    ) -> Result<Number> {
        let value = self.operand(value, location)?;
        let all = value.times(lanes);
        let natural = |number: &Number| {
            self.range(number)
                .is_some_and(|(low, high)| low >= 0 && high <= MOST_ADDED)
        };
        match all.filter(natural) {
            Some(all) => Ok(all),
            None => refuse(
                "what is added to the counter may be negative, or more than 2^31 - 1",
                location,
            ),
        }
    }
}

/// Notes what the launch multiplies by in the parts of addresses that loops change. An awaited
/// value that the launch fixes becomes an input, also where branches compare it.
pub fn register(
    statements: &[Statement],
    terms: &Terms,
    inputs: &mut Inputs,
    found: &mut BTreeSet<Option<TermId>>,
) {
    for statement in statements {
        match statement {
            Statement::Event(event) => {
                let (EventKind::CounterWait { address, value, .. }
                | EventKind::CounterAdd { address, value }) = event.kind
                else {
                    continue;
                };
                if is_launch(value, terms) {
                    inputs.bounds.insert(value);
                }
                for (part, _) in terms.linear(address).1 {
                    if !is_launch(part, terms) {
                        let factor = product(part, terms, &BTreeSet::new());
                        found.insert(factor.map(|(factor, _)| factor));
                    }
                }
            }
            Statement::If {
                then, otherwise, ..
            } => {
                register(then, terms, inputs, found);
                register(otherwise, terms, inputs, found);
            }
            Statement::Loop { body, .. } => register(body, terms, inputs, found),
            Statement::Break | Statement::Return => {}
        }
    }
}

/// Whether a part of an address is the same in all iterations of loops, and does not belong to the
/// number of a word. The number in a peeled first iteration of a loop does.
fn is_fixed(part: TermId, terms: &Terms, factors: &BTreeSet<Option<TermId>>) -> bool {
    if !is_launch(part, terms) {
        return false;
    }
    if product(part, terms, factors).is_some() {
        return false;
    }
    let is_number = match *terms.node(part) {
        Node::Extend { term, .. } => {
            let of_cta = |atom: &Atom| matches!(atom, Atom::Special(_));
            !terms.atoms(term).iter().any(of_cta)
        }
        _ => false,
    };
    !(is_number && factors.contains(&None))
}

/// A product of a value of the launch with another number: the number of an iteration, or any
/// number if the value is one of `factors`.
fn product(
    part: TermId,
    terms: &Terms,
    factors: &BTreeSet<Option<TermId>>,
) -> Option<(TermId, TermId)> {
    let Node::Binary(Binary::Multiply, a, b) = *terms.node(part) else {
        return None;
    };
    for (factor, of) in [(a, b), (b, a)] {
        let moves = is_launch(factor, terms) && !is_launch(of, terms);
        if moves || factors.contains(&Some(factor)) {
            return Some((factor, of));
        }
    }
    None
}
