//! Parities that a register keeps, because it is toggled in the last round of each turn of a ring.
//!
//! For example, with `phase = 0` at first, `if (i % S == S - 1) phase ^= 1` makes
//! `phase = i / S % 2`. For integers `x`, `(x + 1) / S` is `x / S + 1` if `x % S == S - 1`, and
//! `x / S` otherwise. So if a register is `(x / S + e) % 2` and is toggled exactly in that case, it
//! is `((x + 1) / S + e) % 2` afterwards. An unrolled body toggles several times, each time for the
//! next `x`.
//!
//! For a register that a loop carries, the first value gives `x` and `e`. The value after one
//! iteration is compared with the one that is expected. That is an induction over the iterations.

use super::Lowerer;
use super::phi_values::PhiValue;
use crate::meaning::Binary;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Phi;

/// The most operands of one exclusive or.
const MOST_PARTS: usize = 16;

/// A bit that is 1 in the last round of each turn: where `x % S` is `S - 1`.
#[derive(Debug, Clone)]
struct Toggle {
    x: Number,
    stages: i128,
}

/// `(x / S + rest) % 2`.
struct Parity {
    x: Number,
    stages: i128,
    rest: Number,
}

impl Parity {
    fn of(number: &Number) -> Option<Self> {
        let mut parts = number.parts.iter();
        let (Some((Atomic::Remainder(inner, 2), 1)), None, 0) =
            (parts.next(), parts.next(), number.constant)
        else {
            return None;
        };
        inner.parts.iter().find_map(|(atomic, factor)| {
            let Atomic::Quotient(x, stages) = atomic else {
                return None;
            };
            let rest = inner.minus(&Number::of(atomic.clone()).times(*factor)?)?;
            (*factor == 1).then(|| Self {
                x: (**x).clone(),
                stages: *stages,
                rest,
            })
        })
    }

    fn number(&self) -> Option<Number> {
        self.x.divided(self.stages)?.plus(&self.rest)?.remainder(2)
    }

    /// The parity after these toggles, in some order.
    fn toggled(mut self, mut toggles: Vec<Toggle>) -> Option<Self> {
        while !toggles.is_empty() {
            let next = toggles.iter().position(|toggle| {
                toggle.stages == self.stages && is_multiple(&self.x, &toggle.x, self.stages)
            })?;
            toggles.swap_remove(next);
            self.x = self.x.plus(&Number::constant(1))?;
        }
        Some(self)
    }
}

/// The number inside of a remainder by 2, if there is one.
pub(super) fn unreduced(number: Number) -> Number {
    match number.parts.first_key_value() {
        Some((Atomic::Remainder(inner, 2), 1))
            if number == Number::of(Atomic::Remainder(inner.clone(), 2)) =>
        {
            unreduced((**inner).clone())
        }
        _ => number,
    }
}

/// Whether two numbers differ by a multiple of a number.
fn is_multiple(a: &Number, b: &Number, of: i128) -> bool {
    a.minus(b).is_some_and(|difference| {
        let factors = difference.parts.values().chain([&difference.constant]);
        factors.into_iter().all(|factor| factor % of == 0)
    })
}

impl Lowerer<'_> {
    /// A bit, or a register that is 0 or 1, that is computed by exclusive or.
    pub(super) fn exclusive(&mut self, term: TermId) -> Option<Number> {
        let (sum, toggles) = self.parts_of_exclusive(term, None)?;
        let sum = sum.remainder(2)?;
        if toggles.is_empty() {
            return Some(sum);
        }
        Parity::of(&sum)?.toggled(toggles)?.number()
    }

    /// The sum of the operands of an exclusive or that are numbers, and the toggles among them. One of them may be left out.
    fn parts_of_exclusive(
        &mut self,
        term: TermId,
        without: Option<TermId>,
    ) -> Option<(Number, Vec<Toggle>)> {
        let mut sum = Number::constant(0);
        let mut toggles = Vec::new();
        let mut left = without;
        let mut work = vec![term];
        for _ in 0..2 * MOST_PARTS {
            let Some(part) = work.pop() else { break };
            if left == Some(part) {
                left = None;
                continue;
            }
            if let Node::Binary(Binary::Xor, a, b) = *self.arena.terms.node(part) {
                work.extend([a, b]);
                continue;
            }
            if let Some((toggle, turned)) = self.toggle(part) {
                toggles.push(toggle);
                sum = sum.plus(&Number::constant(i128::from(turned)))?;
                continue;
            }
            if self.arena.terms.width_of(part) == 1 {
                match self.arena.terms.node(part).clone() {
                    Node::Not(inner) => {
                        sum = sum.plus(&Number::constant(1))?;
                        work.push(inner);
                        continue;
                    }
                    Node::Sum { constant, parts } => {
                        sum = sum.plus(&Number::constant(i128::from(constant & 1 == 1)))?;
                        work.extend(
                            parts
                                .iter()
                                .filter(|(_, factor)| factor & 1 == 1)
                                .map(|(part, _)| *part),
                        );
                        continue;
                    }
                    _ => {}
                }
            }
            let number = match self.arena.terms.width_of(part) {
                1 => self.bit(part)?,
                _ => self.number(part)?,
            };
            if !matches!(self.range(&number), Some((0.., ..=1))) {
                return None;
            }
            sum = sum.plus(&unreduced(number))?;
        }
        (work.is_empty() && left.is_none()).then_some((sum, toggles))
    }

    /// A term that is a toggle, or the negation of one.
    fn toggle(&mut self, term: TermId) -> Option<(Toggle, bool)> {
        let condition = match *self.arena.terms.node(term) {
            Node::Relation(..) => term,
            Node::Not(inner) if self.is_relation(inner) => term,
            Node::Extend {
                term: inner,
                signed: false,
            } if self.arena.terms.width_of(inner) == 1 => inner,
            Node::Select(condition, a, b)
                if (self.arena.terms.value(a), self.arena.terms.value(b)) == (Some(1), Some(0)) =>
            {
                condition
            }
            _ => return None,
        };
        let (number, turned) = match self.condition(condition)? {
            Condition::Zero(number) => (number, false),
            Condition::NotZero(number) => (number, true),
            _ => return None,
        };
        // `x % S - k`, or `k - x % S`.
        let mut parts = number.parts.iter();
        let (Some((Atomic::Remainder(x, stages), factor)), None) = (parts.next(), parts.next())
        else {
            return None;
        };
        let last = match factor {
            1 => -number.constant,
            -1 => number.constant,
            _ => return None,
        };
        if !(0..*stages).contains(&last) {
            return None;
        }
        let x = x.plus(&Number::constant(stages - 1 - last))?;
        let stages = *stages;
        Some((Toggle { x, stages }, turned))
    }

    fn is_relation(&self, term: TermId) -> bool {
        matches!(self.arena.terms.node(term), Node::Relation(..))
    }

    /// The value of a register in each iteration of its loop, if only toggles change it.
    pub(super) fn kept_parity(&mut self, phi: u32) -> Option<Number> {
        let Phi {
            in_loop,
            first,
            next,
        } = self.arena.phis[phi as usize].clone();
        let width = self.arena.terms.width_of(first);
        let own = self.arena.terms.atom(Atom::Phi(phi), width);
        let (_, toggles) = self.parts_of_exclusive(next, Some(own))?;
        let first = match width {
            1 => self.bit(first)?,
            _ => self.number(first)?,
        };
        let index = Atomic::Index(in_loop);
        let slope = i128::try_from(toggles.len()).ok()?;
        let at = |number: &Number, to: &Number| {
            number.replaced(&|atomic| (*atomic == index).then(|| to.clone()))
        };
        let zero = Number::constant(0);
        let before = self.phi_values.clone();
        for Toggle { x, stages } in &toggles {
            let start = at(x, &zero)?;
            let moves = x.parts.get(&index).copied().unwrap_or(0);
            if (slope - moves) % stages != 0 {
                continue;
            }
            let begins = match (first.as_constant(), start.as_constant()) {
                (Some(bit), Some(start)) => Parity {
                    x: Number::constant(start.rem_euclid(*stages)),
                    stages: *stages,
                    rest: Number::constant(bit),
                },
                (None, _) => match Parity::of(&first) {
                    Some(parity)
                        if parity.stages == *stages && is_multiple(&parity.x, &start, *stages) =>
                    {
                        parity
                    }
                    _ => continue,
                },
                _ => continue,
            };
            let run = Number::of(index.clone()).times(slope)?;
            let guess = Parity {
                x: begins.x.plus(&run)?,
                ..begins
            }
            .number()?;
            let one_more = Number::of(index.clone()).plus(&Number::constant(1))?;
            let wanted = at(&guess, &one_more)?;
            self.phi_values.insert(phi, PhiValue::Number(guess.clone()));
            let comes = self.exclusive(next);
            self.phi_values = before.clone();
            if at(&guess, &zero)? == first && comes == Some(wanted) {
                return Some(guess);
            }
        }
        None
    }
}
