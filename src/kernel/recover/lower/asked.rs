//! Lowers conditions on words of memory that nobody writes while the kernel runs, on numbers that loops count, and on
//! what the launch gives. They become entries of patterns.
//!
//! ```text
//! if (2 * blocks[row + i / 2] + i % 2 < last) { wait(..); .. }
//! ```
//!
//! During one launch, the value of such a condition is a function of `i`: everything else in it is a number of the
//! launch, or a word that nobody writes, at an address that `i` decides. So the condition is a pattern over `i`. The
//! counted numbers in it, here `i / 2` and `i % 2`, are replaced by names, the *coordinates*. What is left is the
//! *function*. Two conditions are entries of one pattern exactly if their functions are the same term. Then they have
//! the same value wherever their coordinates do, in whichever warp. Conditions with different functions are supposed
//! to be independent, even where they are not. That allows more runs than any memory does, so a hang is not reported.
//!
//! Unlike for [`super::entries`], it does not matter whether two coordinates lead to two words.
//!
//! - A coordinate has to be 0 or more, because a pattern has no entries elsewhere.
//! - An address is written as a sum of products, so that all ways to compute it give the same function. Counted
//!   numbers that are multiplied by the same numbers of the launch are one coordinate.
//! - A division by a number that may be 0 has no value, and is refused.

use std::collections::BTreeMap;

use super::Lowerer;
use super::entries::Factor;
use super::entries::UNWRAPPED;
use crate::meaning::Binary;
use crate::meaning::Domain;
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
use crate::recover::number::greatest_divisor;
use crate::recover::term::Atom;
use crate::recover::term::COORDINATE_BITS;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tests_of_words::upright;

/// How many coordinates a pattern has at most.
const MOST_COORDINATES: usize = 4;

/// A condition while its counted numbers are replaced.
#[derive(Default)]
struct Function {
    coordinates: Vec<Number>,
    done: BTreeMap<TermId, TermId>,
    /// Whether it is assumed that indices do not wrap around.
    wraps: bool,
}

impl Lowerer<'_> {
    /// A condition on words of memory as an entry of a pattern.
    pub(super) fn asked(&mut self, term: TermId) -> Option<Condition> {
        let terms = &self.arena.terms;
        if self.arena.unwritten.loads.is_empty()
            || terms.width_of(term) != 1
            || is_launch(term, terms)
            || terms.memory_in(term).is_empty()
        {
            return None;
        }
        let mut function = Function::default();
        let opened = self.opened(term, &mut function)?;
        let opened = self.joined(opened, &mut function)?;
        if function.coordinates.is_empty() || function.coordinates.len() > MOST_COORDINATES {
            return None;
        }
        let (form, holds) = upright(opened, &mut self.arena.terms);
        let memory = self.function(form)?;
        if function.wraps {
            self.inputs.assumptions.insert(UNWRAPPED.to_owned());
        }
        let entry = Entry {
            memory,
            indices: function.coordinates,
            widths: Vec::new(),
        };
        let fails = Condition::zero(Number::of(Atomic::Entry(Box::new(entry))));
        if holds { fails.negated() } else { Some(fails) }
    }

    /// The number of the memory ([`crate::recover::entry::Memory`]) that stands for a function.
    fn function(&mut self, form: TermId) -> Option<u32> {
        let mut known = self.inputs.memories.iter();
        let is_it = |memory: &Memory| {
            let mut test = memory.test.iter();
            test.any(|test| test.about == About::Places && test.term == form)
        };
        let at = match known.position(is_it) {
            Some(at) => at,
            None => {
                let terms = &self.arena.terms;
                let words = terms.memory_in(form);
                let first = words.iter().find(|word| !is_launch(**word, terms))?;
                let mut pointers = terms.parts(*first).into_iter();
                let pointers = pointers.find_map(|part| {
                    wide_parameter(part, terms)
                        .filter(|at| self.arena.unwritten.pointers.contains(at))
                });
                let bytes = u32::from(terms.width_of(*first).div_ceil(8));
                let pointer = pointers?;
                let name = self.parameter_at(pointer)?;
                self.inputs.memories.push(Memory {
                    pointer,
                    name,
                    bytes,
                    widths: Vec::new(),
                    test: Some(Test {
                        term: form,
                        said: "words of memory pass a test".to_owned(),
                        about: About::Places,
                    }),
                });
                self.inputs.memories.len() - 1
            }
        };
        u32::try_from(at).ok()
    }

    /// A term with coordinates for what is counted.
    fn opened(&mut self, term: TermId, function: &mut Function) -> Option<TermId> {
        if is_launch(term, &self.arena.terms) {
            return Some(term);
        }
        if let Some(opened) = function.done.get(&term) {
            return Some(*opened);
        }
        let opened = match self.counted_part(term, function) {
            Some(opened) => opened,
            None => self.opened_parts(term, function)?,
        };
        function.done.insert(term, opened);
        Some(opened)
    }

    fn opened_parts(&mut self, term: TermId, function: &mut Function) -> Option<TermId> {
        let width = self.arena.terms.width_of(term);
        Some(match self.arena.terms.node(term).clone() {
            Node::Constant(_) => term,
            Node::Atom(_) => return None,
            Node::Sum { constant, parts } => {
                // What is counted is one coordinate, together with the constant.
                let (counted, others): (Vec<_>, Vec<_>) = parts
                    .into_iter()
                    .partition(|(part, _)| self.is_counted(*part));
                let together = self.arena.terms.sum(constant, &counted, width);
                let mut all = Vec::new();
                let whole = match counted.is_empty() {
                    true => None,
                    false => self.counted_part(together, function),
                };
                let constant = match whole {
                    Some(coordinate) => {
                        all.push((coordinate, 1));
                        0
                    }
                    None => {
                        for (part, factor) in counted {
                            all.push((self.opened(part, function)?, factor));
                        }
                        constant
                    }
                };
                for (part, factor) in others {
                    all.push((self.opened(part, function)?, factor));
                }
                self.arena.terms.sum(constant, &all, width)
            }
            Node::Binary(operation, a, b) => {
                let divides = matches!(
                    operation,
                    Binary::DivideSigned
                        | Binary::DivideUnsigned
                        | Binary::RemainderSigned
                        | Binary::RemainderUnsigned
                );
                if divides && self.arena.terms.value(b).is_none_or(|by| by == 0) {
                    return None;
                }
                let (a, b) = (self.opened(a, function)?, self.opened(b, function)?);
                self.arena.terms.binary(operation, &a, &b)
            }
            Node::Not(a) => {
                let a = self.opened(a, function)?;
                self.arena.terms.not(&a)
            }
            Node::Relation(relation, a, b) => {
                let (a, b) = (self.opened(a, function)?, self.opened(b, function)?);
                self.arena.terms.relation(relation, &a, &b)
            }
            Node::Select(condition, a, b) => {
                let condition = self.opened(condition, function)?;
                let (a, b) = (self.opened(a, function)?, self.opened(b, function)?);
                self.arena.terms.select(&condition, &a, &b)
            }
            Node::Extend { term, signed } => {
                let inner = self.opened(term, function)?;
                self.arena.terms.extend(&inner, width, signed)
            }
            Node::Extract { term, low } => {
                let inner = self.opened(term, function)?;
                self.arena.terms.extract(&inner, low, width)
            }
            Node::Concatenate(a, b) => {
                let (a, b) = (self.opened(a, function)?, self.opened(b, function)?);
                self.arena.terms.concatenate(&a, &b)
            }
            Node::Memory(address) => {
                let address = self.opened_address(address, function)?;
                self.arena.terms.memory(address, width)
            }
        })
    }

    /// Whether a term is made of what is counted, and of nothing that the launch or memory gives.
    fn is_counted(&self, term: TermId) -> bool {
        let terms = &self.arena.terms;
        let mut atoms = terms.atoms(term).iter().copied().collect::<Vec<_>>();
        atoms.retain(|atom| !matches!(atom, Atom::Phi(_)));
        atoms.is_empty() && !is_launch(term, terms) && terms.memory_in(term).is_empty()
    }

    /// The coordinate that a counted term is.
    fn counted_part(&mut self, term: TermId, function: &mut Function) -> Option<TermId> {
        let width = self.arena.terms.width_of(term);
        if width == 1 || width > COORDINATE_BITS || !self.is_counted(term) {
            return None;
        }
        let number = self.number_or_state(term)?;
        let coordinate = self.coordinate(&number, function)?;
        Some(self.arena.terms.extract(&coordinate, 0, width))
    }

    /// A coordinate of 64 bits for a number that is 0 or more.
    fn coordinate(&mut self, number: &Number, function: &mut Function) -> Option<TermId> {
        if !self.is_natural(number) {
            return None;
        }
        if let Some(constant) = number.as_constant() {
            let bits = u128::try_from(constant).ok()?;
            return Some(self.arena.terms.constant(bits, COORDINATE_BITS));
        }
        let all = &mut function.coordinates;
        let at = match all.iter().position(|other| other == number) {
            Some(at) => at,
            None => {
                all.push(number.clone());
                all.len() - 1
            }
        };
        let atom = Atom::Coordinate(u32::try_from(at).ok()?);
        Some(self.arena.terms.atom(atom, COORDINATE_BITS))
    }

    /// An address as a sum of what is no coordinate, and of coordinates times numbers of the launch.
    fn opened_address(&mut self, address: TermId, function: &mut Function) -> Option<TermId> {
        if is_launch(address, &self.arena.terms) {
            return Some(address);
        }
        let width = self.arena.terms.width_of(address);
        if width != COORDINATE_BITS {
            return None;
        }
        let sum = self.sum_of(address, &mut function.wraps)?;
        let mut constant = 0_i128;
        let mut all: Vec<(TermId, u128)> = Vec::new();
        // What is counted, by what it is multiplied by.
        let mut groups: BTreeMap<Vec<TermId>, Number> = BTreeMap::new();
        let bits = |number: i128| Word::new(number.cast_unsigned(), COORDINATE_BITS).bits;
        for (factors, coefficient) in sum {
            let mut launch = Vec::new();
            let mut moving = Vec::new();
            for factor in factors {
                match factor {
                    Factor::Term(term) if is_launch(term, &self.arena.terms) => launch.push(term),
                    other => moving.push(other),
                }
            }
            match moving[..] {
                [] if launch.is_empty() => constant = constant.checked_add(coefficient)?,
                [] => {
                    let product = self.product(&launch);
                    all.push((product, bits(coefficient)));
                }
                [factor] => match (self.factor(factor), factor) {
                    (Some(number), _) => {
                        let group = groups.entry(launch).or_default();
                        *group = group.plus(&number.times(coefficient)?)?;
                    }
                    (None, Factor::Term(term)) => {
                        let opened = self.opened(term, function)?;
                        launch.push(opened);
                        let product = self.product(&launch);
                        all.push((product, bits(coefficient)));
                    }
                    (None, Factor::Round(_)) => return None,
                },
                _ => return None,
            }
        }
        if let Some(group) = groups.get_mut(&Vec::new()) {
            group.constant = group.constant.checked_add(constant)?;
            constant = 0;
        }
        for (launch, number) in groups {
            let mut whole = number.clone();
            let by = match number.parts.values().copied().fold(0, greatest_divisor) {
                0 => 1,
                by => by,
            };
            let mut rest = number.constant.rem_euclid(by);
            whole.constant -= rest;
            let mut over = whole.divided(by)?;
            if !self.is_natural(&over) {
                rest = rest.checked_add(whole.constant)?;
                over.constant = 0;
            }
            let coordinate = self.coordinate(&over, function)?;
            let product = self.product(&launch);
            let times = self
                .arena
                .terms
                .binary(Binary::Multiply, &product, &coordinate);
            all.push((times, bits(by)));
            all.push((product, bits(rest)));
        }
        Some(self.arena.terms.sum(bits(constant), &all, COORDINATE_BITS))
    }

    /// A product in 64 bits.
    fn product(&mut self, factors: &[TermId]) -> TermId {
        let terms = &mut self.arena.terms;
        let mut product = terms.constant(1, COORDINATE_BITS);
        for factor in factors {
            let factor = terms.extend(factor, COORDINATE_BITS, true);
            product = terms.binary(Binary::Multiply, &product, &factor);
        }
        product
    }

    /// Makes one coordinate `x` of `x / k` and `x % k`.
    fn joined(&mut self, opened: TermId, function: &mut Function) -> Option<TermId> {
        let mut opened = opened;
        let all = function.coordinates.clone();
        let single = |number: &Number| match number.parts.iter().collect::<Vec<_>>()[..] {
            [(atomic, 1)] if number.constant == 0 => Some(atomic.clone()),
            _ => None,
        };
        for (one, quotient) in all.iter().enumerate() {
            let Some(Atomic::Quotient(whole, by)) = single(quotient) else {
                continue;
            };
            let rest = Number::of(Atomic::Remainder(whole.clone(), by));
            let Some(other) = all.iter().position(|number| *number == rest) else {
                continue;
            };
            let Some(coordinate) = self.coordinate(&whole, function) else {
                continue;
            };
            let terms = &mut self.arena.terms;
            let by = terms.constant(u128::try_from(by).ok()?, COORDINATE_BITS);
            let over = terms.binary(Binary::DivideUnsigned, &coordinate, &by);
            let rest = terms.binary(Binary::RemainderUnsigned, &coordinate, &by);
            opened = terms.substitute(opened, &|atom| match atom {
                Atom::Coordinate(at) if at as usize == one => Some(over),
                Atom::Coordinate(at) if at as usize == other => Some(rest),
                _ => None,
            });
        }
        // Those that are left are numbered in the order in which they were found.
        let terms = &mut self.arena.terms;
        let mut kept = Vec::new();
        let mut names = BTreeMap::new();
        let left = terms.atoms(opened);
        for (at, number) in (0..).zip(&function.coordinates) {
            if left.contains(&Atom::Coordinate(at)) {
                let new = Atom::Coordinate(u32::try_from(kept.len()).ok()?);
                names.insert(Atom::Coordinate(at), terms.atom(new, COORDINATE_BITS));
                kept.push(number.clone());
            }
        }
        function.coordinates = kept;
        Some(terms.substitute(opened, &|atom| names.get(&atom).copied()))
    }
}
