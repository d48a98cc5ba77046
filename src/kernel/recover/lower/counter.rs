//! Addresses of words of global memory.
//!
//! In a loop over `m`, the address of `lock[m]` is `base + 4 * m`, or `base + 4 * stride * m` if
//! the launch gives the stride. The base and the stride are inputs that do not occur in the text.
//! They are there for the comparison with the interpreter, and to tell words apart.
//!
//! What differs between CTAs is a part of the base if all words at a pointer begin at one place, as
//! `lock + 4 * head` does. The text is about the CTAs with the same base. A CTA may also use words
//! that begin at several places, such as `flags[ctaid.x]` and `flags[ctaid.x - 1]`: its own word and
//! one of another CTA. There, what differs is a part of the index of the word.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Inputs;
use super::Lowerer;
use super::Result;
use super::refuse;
use crate::ir::Location;
use crate::ir::Special;
use crate::meaning::Binary;
use crate::meaning::Word as Bits;
use crate::recover::launch::is_launch;
use crate::recover::launch::wide_parameter;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::greatest_divisor;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Passes;
use crate::recover::role_ir::Word;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::EventKind;
use crate::recover::tree::MOST_MORE;
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
    fn word(&mut self, address: TermId, value: TermId, location: &Location) -> Result<Word> {
        let found = self.word_at(address, self.arena.terms.width_of(value));
        found.map_or_else(|| refuse(UNKNOWN, location), Ok)
    }

    /// The action of an operation on a word of memory.
    pub(super) fn of_word(
        &mut self,
        kind: &EventKind,
        lanes: i128,
        location: &Location,
    ) -> Result<Option<Action>> {
        Ok(Some(match *kind {
            EventKind::CounterWait {
                address,
                value,
                passes,
                compared,
            } => {
                let word = self.word(address, value, location)?;
                let value = self.awaited(value, location)?;
                // If the number is below 0, the wait passes at once. If the comparison is one
                // without sign, it never passes.
                let compared = match compared {
                    Some(compared) => self.awaited(compared, location)?,
                    None => value.clone(),
                };
                // `found > 2^31 - 1` without a sign is no `found >= 2^31`: that wraps around.
                let apart = value.minus(&compared).and_then(|apart| apart.as_constant());
                if passes == Passes::From
                    && !apart.is_some_and(|apart| (-MOST_MORE..=1).contains(&apart))
                {
                    return refuse(
                        "a loop waits until a word of memory is more than its greatest signed number",
                        location,
                    );
                }
                if passes == Passes::From && !self.is_natural(&compared) {
                    return refuse(
                        "a loop waits until a word of memory is at least what may be below 0",
                        location,
                    );
                }
                Action::CounterWait {
                    word,
                    value,
                    passes,
                }
            }
            EventKind::CounterAdd {
                address,
                value,
                lane,
            } => Action::CounterAdd {
                word: self.word(address, value, location)?,
                value: self.added(value, lanes, location)?,
                lane,
            },
            EventKind::CounterSet {
                address,
                value,
                lane,
                ordered,
            } => Action::CounterSet {
                word: self.word(address, value, location)?,
                value: self.stored(value, location)?,
                lane,
                ordered,
            },
            _ => return Ok(None),
        }))
    }

    fn word_at(&mut self, address: TermId, width: u16) -> Option<Word> {
        let bits = self.arena.terms.width_of(address);
        let (mut constant, parts) = self.arena.terms.linear(address);
        let factors = self.arena.factors.clone();
        let terms = &self.arena.terms;
        let pointer = pointer_of(&parts, terms)?;
        let neighbours = self.arena.neighbours.contains(&pointer);
        let (fixed, moving): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(part, _)| {
            let moves = neighbours && differs_between_ctas(*part, terms);
            !moves && is_fixed(*part, terms, &factors)
        });
        let mut all: Vec<Moving> = Vec::new();
        for (part, factor) in moving {
            let factor = Bits::new(factor, bits).signed();
            self.goes_around = neighbours;
            let moving = self.moving(part, factor, &factors);
            self.goes_around = false;
            all.push(moving?);
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

    /// A number that is awaited of a word or stored to it. It may be a sum of products.
    fn awaited(&mut self, value: TermId, location: &Location) -> Result<Number> {
        match self.with_products(value) {
            Some(number) => Ok(number),
            None => self.operand(value, location),
        }
    }

    /// A sum of numbers and of products of numbers that are not below 0. The term may wrap around
    /// where the sum does not. The text assumes that it does not ([`crate::recover::grid`]).
    pub(super) fn with_products(&mut self, term: TermId) -> Option<Number> {
        let known = self.number_or_state(term);
        if known.is_some_and(|number| !self.is_computed(&number)) {
            return None;
        }
        // A product of what the launch gives is one number of the launch.
        let of_launch = is_launch(term, &self.arena.terms);
        let width = self.arena.terms.width_of(term);
        let (constant, parts) = self.arena.terms.linear(term);
        let mut sum = Number::constant(Bits::new(constant, width).signed());
        for (part, factor) in parts {
            let number = match *self.arena.terms.node(part) {
                Node::Binary(Binary::Multiply, a, b) if !of_launch => {
                    let (a, b) = (self.number_or_state(a)?, self.number_or_state(b)?);
                    let simple = |number: &Number| {
                        let mut parts = number.parts.iter();
                        self.is_natural(number)
                            && number.constant >= 0
                            && parts.all(|(atomic, factor)| {
                                *factor > 0 && matches!(atomic, Atomic::Input(_) | Atomic::Index(_))
                            })
                    };
                    (simple(&a) && simple(&b)).then_some(())?;
                    a.product(&b)?
                }
                _ => self.number_or_state(part)?,
            };
            sum = sum.plus(&number.times(Bits::new(factor, width).signed())?)?;
        }
        // What has no product is assumed not to wrap around only if its range is known.
        let is_limited = has_products(&sum) || self.range(&sum).is_some();
        (is_limited && self.is_natural(&sum)).then_some(sum)
    }

    /// A number that is stored to a word: a constant, or one that is not below 0.
    fn stored(&mut self, value: TermId, location: &Location) -> Result<Number> {
        let value = self.awaited(value, location)?;
        let room = Number::constant(MOST_ADDED).minus(&value);
        let is_small = has_products(&value) || room.is_some_and(|room| self.is_natural(&room));
        match value.as_constant().is_some() || is_small && self.is_natural(&value) {
            true => Ok(value),
            false => refuse(
                "what is stored to the counter may be negative, or more than 2^31 - 1",
                location,
            ),
        }
    }

    /// What so many lanes add to a word.
    fn added(&mut self, value: TermId, lanes: i128, location: &Location) -> Result<Number> {
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

/// Whether a number has a product in it.
pub fn has_products(number: &Number) -> bool {
    number.mentions(&|atomic| matches!(atomic, Atomic::Product(..)))
}

/// Where the words begin at each pointer: the constant of their address, and its parts that differ
/// between CTAs.
pub type Places = BTreeMap<u32, BTreeSet<(u128, Vec<(TermId, u128)>)>>;

/// The pointers at which CTAs use words of each other: there, words of one CTA begin at several
/// places.
pub fn neighbours(places: &Places) -> BTreeSet<u32> {
    let apart = |places: &BTreeSet<(u128, Vec<(TermId, u128)>)>| {
        places.len() > 1 && places.iter().any(|(_, parts)| !parts.is_empty())
    };
    let found = places.iter().filter(|(_, places)| apart(places));
    found.map(|(pointer, _)| *pointer).collect()
}

/// Notes where words begin, and what the launch multiplies by in the parts of addresses that loops
/// change. An awaited value that the launch fixes becomes an input, also where branches compare it.
pub fn register(
    statements: &[Statement],
    terms: &Terms,
    inputs: &mut Inputs,
    found: &mut BTreeSet<Option<TermId>>,
    places: &mut Places,
) {
    for statement in statements {
        match statement {
            Statement::Event(event) => {
                let (EventKind::CounterWait { address, value, .. }
                | EventKind::CounterAdd { address, value, .. }
                | EventKind::CounterSet { address, value, .. }) = event.kind
                else {
                    continue;
                };
                if is_launch(value, terms) {
                    inputs.bounds.insert(value);
                }
                let (constant, parts) = terms.linear(address);
                if let Some(pointer) = pointer_of(&parts, terms) {
                    let own = parts
                        .iter()
                        .filter(|(part, _)| differs_between_ctas(*part, terms));
                    let place = (constant, own.copied().collect());
                    places.entry(pointer).or_default().insert(place);
                }
                for (part, _) in parts {
                    if !is_launch(part, terms) {
                        let factor = product(part, terms, &BTreeSet::new());
                        found.insert(factor.map(|(factor, _)| factor));
                    }
                }
            }
            Statement::If {
                then, otherwise, ..
            } => {
                register(then, terms, inputs, found, places);
                register(otherwise, terms, inputs, found, places);
            }
            Statement::Loop { body, .. } => register(body, terms, inputs, found, places),
            Statement::Break | Statement::Return => {}
        }
    }
}

/// The parameter of 8 bytes that occurs once in the sum of an address.
fn pointer_of(parts: &[(TermId, u128)], terms: &Terms) -> Option<u32> {
    let mut found = parts.iter().filter_map(|(part, factor)| {
        let pointer = wide_parameter(*part, terms)?;
        (*factor == 1).then_some(pointer)
    });
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// Whether a number of the launch has other values in other CTAs.
pub(super) fn differs_between_ctas(part: TermId, terms: &Terms) -> bool {
    let of_cta = |atom: &Atom| {
        matches!(
            atom,
            Atom::Special(Special::CtaIndex(_) | Special::ClusterIndex(_))
        )
    };
    is_launch(part, terms) && terms.atoms(part).iter().any(of_cta)
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
