//! A term as an integer.
//!
//! A number stands for a term of `w` bits if it equals the term's value as a signed number. That
//! is: it is equal modulo 2^w and lies in -2^(w-1)..2^(w-1). Each rule below keeps that by the
//! ranges of its parts. If the launch fixes a term and no rule covers it, the term becomes an input
//! of its own, with any value of its range.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Carrier;
use super::Inputs;
use super::Lowerer;
use super::MOST;
use super::Origin;
use super::launch_intervals::stepped_through;
use super::launch_intervals::taken_for_a_size;
use super::phi_values::PhiValue;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::launch::is_launch;
use crate::recover::launch::is_length;
use crate::recover::launch::is_word;
use crate::recover::launch::wide_parameter;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Input;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

pub(super) const SIZES: &str = "numbers that the launch computes and that are not negative are at most 1,073,741,823, as sizes are";

/// The largest step of a loop counter that is tried as one that does not wrap around.
const MOST_STEP: i128 = 1 << 16;

impl Inputs {
    /// The number of clusters that are taken over.
    pub(super) fn granted(&mut self) -> u32 {
        if let Some(number) = self.granted {
            return number;
        }
        let number = self.add(
            "granted".to_owned(),
            "clusters that cluster launch control lets this one take over".to_owned(),
            BTreeSet::new(),
            (0, MOST),
            Origin::Granted,
        );
        self.granted = Some(number);
        number
    }
}

impl Lowerer<'_> {
    /// A term as an integer, also where it depends on the state of a machine.
    pub(super) fn number_or_state(&mut self, term: TermId) -> Option<Number> {
        if let Some(number) = self.number(term) {
            return Some(number);
        }
        // The parts that depend on one machine are taken together, separately for each machine.
        let width = self.arena.terms.width_of(term);
        let (constant, parts) = self.arena.terms.linear(term);
        let mut sum = Number::constant(Word::new(constant, width).signed());
        let mut of_machines: BTreeMap<usize, Vec<(TermId, u128)>> = BTreeMap::new();
        for (part, factor) in parts {
            match self.number(part) {
                Some(number) => {
                    sum = sum.plus(&number.times(Word::new(factor, width).signed())?)?;
                }
                None => {
                    let machine = self.machine_of(part)?;
                    of_machines.entry(machine).or_default().push((part, factor));
                }
            }
        }
        for parts in of_machines.into_values() {
            let together = self.arena.terms.sum(0, &parts, width);
            sum = sum.plus(&self.tabled(together)?)?;
        }
        self.fits(&sum, width).then_some(sum)
    }

    pub(super) fn fits(&self, number: &Number, width: u16) -> bool {
        let half = 1_i128 << (width - 1).min(100);
        let within = |number: &Number| {
            self.range(number)
                .is_some_and(|(low, high)| low >= -half && high < half)
        };
        within(number)
            || self.unwrapped.is_some_and(|id| {
                let index = Atomic::Index(id);
                let slope = number.parts.get(&index).copied().unwrap_or(0);
                slope != 0
                    && slope.abs() <= MOST_STEP
                    && Number::of(index)
                        .times(slope)
                        .and_then(|run| number.minus(&run))
                        .is_some_and(|rest| within(&rest))
            })
    }

    pub(super) fn natural(&mut self, term: TermId) -> Option<Number> {
        let number = self.number(term)?;
        self.is_natural_term(term, &number).then_some(number)
    }

    /// Whether a term with this number is at least 0.
    fn is_natural_term(&mut self, term: TermId, number: &Number) -> bool {
        self.is_natural(number) || self.adds_naturals(term)
    }

    /// Whether a term adds up terms that are at least 0. As a number it is their sum.
    fn adds_naturals(&mut self, term: TermId) -> bool {
        let width = self.arena.terms.width_of(term);
        let Node::Sum { constant, parts } = self.arena.terms.node(term).clone() else {
            return false;
        };
        let positive = |bits: u128| Word::new(bits, width).signed() >= 0;
        positive(constant)
            && parts.into_iter().all(|(part, factor)| {
                // The sign is shifted away.
                let shifted = match *self.arena.terms.node(part) {
                    Node::Binary(Binary::ShiftRightLogical, _, by) => {
                        self.arena.terms.value(by).is_some_and(|by| by > 0)
                    }
                    _ => false,
                };
                let number = self.number(part);
                let natural = |number: &Number| shifted || self.is_natural(number);
                positive(factor) && number.as_ref().is_some_and(natural)
            })
    }

    /// A term as an integer.
    pub(super) fn number(&mut self, term: TermId) -> Option<Number> {
        let width = self.arena.terms.width_of(term);
        if width == 1 {
            return None;
        }
        let number = self
            .structured(term)
            .map(|number| self.simpler(folded(number)))
            .filter(|number| {
                self.fits(number, width) || self.narrows && self.narrow(number, width)
            });
        if number.is_some() {
            return number;
        }
        // Where `max(0, x)` is above 0, `x` is equal to it.
        if !self.inputs.clipped.is_empty()
            && let Some((base, less)) = self.base(term)
            && let Some(clipped) = self.inputs.clipped.get(&base).cloned()
            && self.is_natural(&clipped.minus(&Number::constant(1))?)
        {
            return clipped.minus(&Number::constant(less));
        }
        if is_launch(term, &self.arena.terms) {
            self.input(term)
        } else {
            self.by_rounds(term)
        }
    }

    fn structured(&mut self, term: TermId) -> Option<Number> {
        let width = self.arena.terms.width_of(term);
        let value = |lowerer: &Self, term: TermId| {
            lowerer
                .arena
                .terms
                .value(term)
                .and_then(|bits| i128::try_from(bits).ok())
        };
        match self.arena.terms.node(term).clone() {
            Node::Constant(bits) => Some(Number::constant(Word::new(bits, width).signed())),
            Node::Atom(Atom::Phi(phi)) => match self.phi_value(phi)? {
                PhiValue::Number(number) => Some(number.clone()),
                PhiValue::State { .. } => None,
            },
            Node::Sum { constant, parts } => {
                let mut sum = Number::constant(Word::new(constant, width).signed());
                let words: Vec<(TermId, u128)> = parts
                    .iter()
                    .filter(|(part, _)| is_word(*part, &self.arena.terms))
                    .copied()
                    .collect();
                // A length whose begin and end change in each iteration of a loop is no single
                // number.
                let fixed = words
                    .iter()
                    .all(|(word, _)| is_launch(*word, &self.arena.terms));
                let length = fixed && is_length(&words, width, &self.arena.terms);
                if length {
                    let length = self.arena.terms.sum(0, &words, width);
                    sum = sum.plus(&self.input_within(length, (0, MOST)))?;
                }
                for (part, factor) in parts {
                    if length && words.contains(&(part, factor)) {
                        continue;
                    }
                    // Parts may wrap around where their sum does not, as in `32 * i - 40 * (4 * i / 5)`.
                    let number = self.congruent(part)?;
                    sum = sum.plus(&number.times(Word::new(factor, width).signed())?)?;
                }
                Some(sum)
            }
            // A size of 64 bits, as `size_t n`: its range is printed.
            Node::Concatenate(..) => {
                let place = wide_parameter(term, &self.arena.terms)?;
                let is_size = self.arena.wide_sizes.contains(&place);
                is_size.then(|| self.input_within(term, (0, MOST)))
            }
            Node::Binary(Binary::Xor, ..) => self.exclusive(term).or_else(|| self.flipped(term)),
            Node::Binary(Binary::RemainderUnsigned, a, b)
                if self.goes_around && value(self, b).is_none() =>
            {
                self.around_grid(a, b)
            }
            Node::Binary(operation, a, b) => {
                let constant = value(self, b).or_else(|| {
                    matches!(operation, Binary::And)
                        .then(|| value(self, a))
                        .flatten()
                });
                let other = if value(self, b).is_some() { a } else { b };
                let constant = constant?;
                match operation {
                    Binary::And => {
                        let all = i128::try_from(Word::new(u128::MAX, width).bits).ok()?;
                        let low = 1_i128.checked_shl(constant.trailing_zeros())?;
                        let number = match self.number(other) {
                            Some(number) => number,
                            None if low == 1 => return self.lowest_bits(other, constant),
                            None => self.around(other)?,
                        };
                        // The bits from `low` up to `high`: the value modulo 2^high, minus the
                        // value modulo 2^low. They are equal for values that are equal modulo 2^w.
                        let high = constant.checked_add(low)?;
                        if high.count_ones() != 1 {
                            return None;
                        }
                        let below = number.remainder(low)?;
                        if high == all + 1 {
                            number.minus(&below)
                        } else {
                            self.reduced(&number, high)?.minus(&below)
                        }
                    }
                    Binary::ShiftRightLogical => {
                        let divisor = 1_i128.checked_shl(u32::try_from(constant).ok()?)?;
                        self.quotient(other, divisor)
                    }
                    Binary::ShiftRightArithmetic => {
                        let divisor = 1_i128.checked_shl(u32::try_from(constant).ok()?)?;
                        self.number(other)?.divided(divisor)
                    }
                    Binary::DivideUnsigned => self.natural(other)?.divided(constant),
                    Binary::RemainderUnsigned => self.natural(other)?.remainder(constant),
                    // The divisor is read with its sign. For a dividend that is not negative, the
                    // quotient by `-d` is the negated quotient by `d`, and the remainder is the
                    // same.
                    Binary::DivideSigned => {
                        let divisor = self.arena.terms.signed(b)?;
                        let quotient = self.natural(other)?.divided(divisor.checked_abs()?)?;
                        quotient.times(divisor.signum())
                    }
                    Binary::RemainderSigned => {
                        let divisor = self.arena.terms.signed(b)?;
                        self.natural(other)?.remainder(divisor.checked_abs()?)
                    }
                    _ => None,
                }
            }
            Node::Extend {
                term: inner,
                signed,
            } => {
                if self.arena.terms.width_of(inner) == 1 {
                    return if signed { None } else { self.bit(inner) };
                }
                if signed {
                    self.number(inner)
                } else {
                    self.natural(inner)
                }
            }
            Node::Extract { term: inner, low } => {
                let half = 1_i128 << (width - 1);
                let reduced = match self.number(inner) {
                    Some(number) => {
                        let shifted = if low == 0 {
                            number
                        } else {
                            self.is_natural(&number).then_some(())?;
                            self.reciprocal(&number, 1_i128.checked_shl(u32::from(low))?)?
                        };
                        if self.fits(&shifted, width) {
                            return Some(shifted);
                        }
                        shifted.remainder(half.checked_mul(2)?)?
                    }
                    None => self
                        .around(inner)?
                        .divided(1_i128.checked_shl(u32::from(low))?)?
                        .remainder(half.checked_mul(2)?)?,
                };
                self.range(&reduced)
                    .filter(|(_, high)| *high < half)
                    .map(|_| reduced)
            }
            Node::Select(condition, a, b) => {
                let holds = self.condition(condition);
                let holds = holds.map(|holds| self.left_open(holds));
                match holds.as_ref().and_then(|holds| self.known(holds)) {
                    Some(true) => self.number(a),
                    Some(false) => self.number(b),
                    None => {
                        // Each side counts only where it is chosen.
                        let not = self.arena.terms.not(&condition);
                        let negated = holds.clone().and_then(Condition::negated);
                        let p = self.under(condition, holds.as_ref(), |it| it.number(a))?;
                        let q = self.under(not, negated.as_ref(), |it| it.number(b))?;
                        self.lesser(condition, (a, &p), (b, &q))
                            .or_else(|| self.either(condition, &p, &q))
                            .or_else(|| uneven(holds.as_ref()?, &p, &q))
                            .or_else(|| {
                                let axis =
                                    self.asks_along(condition).filter(|_| self.goes_around)?;
                                self.beside(holds.as_ref()?, &p, &q, axis)
                            })
                    }
                }
            }
            _ => None,
        }
    }

    /// The remainder by a constant. A number that is known to be less than it is its own remainder,
    /// even if it is a sum.
    fn reduced(&self, number: &Number, by: i128) -> Option<Number> {
        let more = Number::constant(by - 1).minus(number)?;
        match self.is_natural(number) && self.is_natural(&more) {
            true => Some(number.clone()),
            false => number.remainder(by),
        }
    }

    /// A term of 1 bit as 0 or 1.
    pub(super) fn bit(&mut self, term: TermId) -> Option<Number> {
        match self.arena.terms.node(term).clone() {
            Node::Constant(bits) => Some(Number::constant(i128::from(bits & 1 == 1))),
            Node::Extract { term, low } => {
                let number = self.congruent(term)?;
                let number = match low {
                    0 => number,
                    _ => self.shifted(&number, u32::from(low))?,
                };
                number.remainder(2)
            }
            Node::Not(_) | Node::Sum { .. } | Node::Binary(Binary::Xor, ..) => self.exclusive(term),
            _ => None,
        }
    }

    /// A number in which quotients, remainders and choices that are known at this point are
    /// replaced.
    fn simpler(&self, number: Number) -> Number {
        let simple = number.replaced(&|atomic| match atomic {
            Atomic::Quotient(inner, divisor) => {
                let inner = self.simpler((**inner).clone());
                let (low, high) = self.range(&inner)?;
                let (low, high) = (low.div_euclid(*divisor), high.div_euclid(*divisor));
                if low == high {
                    Some(Number::constant(low))
                } else {
                    inner.divided(*divisor)
                }
            }
            Atomic::Remainder(inner, divisor) => {
                let inner = self.simpler((**inner).clone());
                let left = Number::constant(divisor - 1).minus(&inner)?;
                if self.is_natural(&inner) && self.is_natural(&left) {
                    Some(inner)
                } else {
                    inner.remainder(*divisor)
                }
            }
            Atomic::Minimum(a, b) | Atomic::Maximum(a, b) => {
                let (a, b) = (self.simpler((**a).clone()), self.simpler((**b).clone()));
                let smaller = matches!(atomic, Atomic::Minimum(..));
                let more = b.minus(&a)?;
                if self.is_natural(&more) {
                    Some(if smaller { a } else { b })
                } else if self.is_natural(&more.times(-1)?) {
                    Some(if smaller { b } else { a })
                } else if smaller {
                    Some(Number::minimum(a, b))
                } else {
                    Some(Number::maximum(a, b))
                }
            }
            _ => None,
        });
        simple.unwrap_or(number)
    }

    /// A choice in which one side equals the other wherever that other side is chosen. For example,
    /// 0 and `4 * (n / 4)`, where `n < 4`.
    fn either(&mut self, choice: TermId, x: &Number, y: &Number) -> Option<Number> {
        let not = self.arena.terms.not(&choice);
        let condition = self.condition(choice)?;
        let negated = condition.clone().negated();
        for (held, holds, other, there) in [
            (choice, Some(&condition), y, x),
            (not, negated.as_ref(), x, y),
        ] {
            let more = other.minus(there)?;
            let less = there.minus(other)?;
            let same = self.under(held, holds, |lowerer| {
                lowerer.is_natural(&more) && lowerer.is_natural(&less)
            });
            if same {
                return Some(other.clone());
            }
        }
        None
    }

    /// A choice that is the minimum or the maximum of its sides.
    fn lesser(
        &mut self,
        condition: TermId,
        (a, p): (TermId, &Number),
        (b, q): (TermId, &Number),
    ) -> Option<Number> {
        let (negated, inner) = match self.arena.terms.node(condition).clone() {
            Node::Not(inner) => (true, inner),
            _ => (false, condition),
        };
        let Node::Relation(relation, x, y) = *self.arena.terms.node(inner) else {
            return None;
        };
        let (x, y) = match relation {
            Relation::LessSigned => (self.number(x)?, self.number(y)?),
            Relation::LessUnsigned if self.is_natural_term(a, p) && self.is_natural_term(b, q) => {
                (self.natural(x)?, self.natural(y)?)
            }
            Relation::LessUnsigned | Relation::Equal => return None,
        };
        // `x < y ? a : b`, or with `negated` `x < y ? b : a`.
        let (then, otherwise) = if negated { (q, p) } else { (p, q) };
        let next = x.plus(&Number::constant(1));
        if y == *otherwise && (x == *then || next.as_ref() == Some(then)) {
            return Some(Number::minimum(p.clone(), q.clone()));
        }
        if x == *otherwise && y == *then {
            return Some(Number::maximum(p.clone(), q.clone()));
        }
        None
    }

    /// A value of the launch as an input, unless a search could not step through its values.
    pub(super) fn input(&mut self, term: TermId) -> Option<Number> {
        if let Some(number) = self.inputs.of_term.get(&term) {
            return Some(Number::of(Atomic::Input(*number)));
        }
        if let Some(range) = taken_for_a_size(&self.arena.terms, term) {
            self.inputs.assumptions.insert(SIZES.to_owned());
            return Some(self.input_within(term, range));
        }
        let range = stepped_through(&self.arena.terms, term)?;
        Some(self.input_within(term, range))
    }

    /// A value of the launch as an input. Its values lie in the range, or the range is printed as
    /// an assumption.
    pub(super) fn input_within(&mut self, term: TermId, range: (i128, i128)) -> Number {
        let number = match self.inputs.of_term.get(&term) {
            Some(number) => *number,
            None => {
                let (name, meaning) = self.called(term);
                let words: BTreeSet<Atom> = self.arena.terms.atoms(term).iter().copied().collect();
                let number = self
                    .inputs
                    .add(name, meaning, words, range, Origin::Term(term));
                self.inputs.of_term.insert(term, number);
                number
            }
        };
        Number::of(Atomic::Input(number))
    }

    pub(super) fn variable(&mut self, carrier: Carrier) -> u32 {
        if let Some(variable) = self.variables.get(&carrier) {
            return *variable;
        }
        let variable = self.next_variable;
        self.next_variable += 1;
        self.variables.insert(carrier, variable);
        variable
    }
}

/// `n % d == 0 ? p : p + k`, where `k` is a constant: as in `n / d + (n % d == 0 ? 0 : 1)`, which is `n / d` rounded up.
///
/// For any `n`, `n / d` rounded up less `n / d` rounded down is 0 where `d` divides `n`, and 1 where it does not.
fn uneven(condition: &Condition, p: &Number, q: &Number) -> Option<Number> {
    let (number, even, odd) = match condition {
        Condition::Zero(number) => (number, p, q),
        Condition::NotZero(number) => (number, q, p),
        _ => return None,
    };
    let more = odd.minus(even)?.as_constant()?;
    let mut parts = number.parts.iter();
    let (Some((Atomic::Remainder(inner, divisor), 1 | -1)), None, 0) =
        (parts.next(), parts.next(), number.constant)
    else {
        return None;
    };
    let rounded_down = Atomic::Quotient(inner.clone(), *divisor);
    // The remainder of a division by 2 is itself 0 or 1. With it, loops of two rounds at once come
    // out even.
    if *divisor == 2 && !even.parts.contains_key(&rounded_down) {
        return even.plus(&inner.remainder(2)?.times(more)?);
    }
    let above = inner.plus(&Number::constant(divisor.checked_sub(1)?))?;
    let rounded = [above.divided(*divisor)?, inner.divided(*divisor)?];
    let odd = rounded[0].minus(&rounded[1])?;
    even.plus(&odd.times(more)?)
}

/// `x - d * (x / d)` is `x % d`.
fn folded(number: Number) -> Number {
    for (atomic, coefficient) in &number.parts {
        let Atomic::Quotient(inner, divisor) = atomic else {
            continue;
        };
        if coefficient % divisor != 0 {
            continue;
        }
        let times = -(coefficient / divisor);
        let folded = (|| {
            let without = number.minus(&Number::of(atomic.clone()).times(*coefficient)?)?;
            let rest = without.minus(&inner.times(times)?)?;
            // Only if all of the dividend was there.
            let whole = inner.parts.iter().all(|(atomic, factor)| {
                factor
                    .checked_mul(times)
                    .is_some_and(|product| without.parts.get(atomic) == Some(&product))
            });
            if !whole {
                return None;
            }
            rest.plus(&inner.remainder(*divisor)?.times(times)?)
        })();
        if let Some(result) = folded {
            return result;
        }
    }
    number
}

impl Inputs {
    /// A new input; names are made unique.
    pub fn add(
        &mut self,
        name: String,
        meaning: String,
        words: BTreeSet<Atom>,
        range: (i128, i128),
        origin: Origin,
    ) -> u32 {
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let mut unique = name.clone();
        let mut count = 2;
        while self.all.iter().any(|input| input.name == unique) {
            unique = format!("{name}_{count}");
            count += 1;
        }
        self.all.push(Input {
            name: unique,
            range,
            meaning,
        });
        self.words.push(words);
        self.origins.push(origin);
        number
    }
}
