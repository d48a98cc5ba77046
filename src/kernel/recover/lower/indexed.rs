//! Registers whose change depends on the index of their loop modulo a number, such as `phase ^= (i % S == S - 1)`.
//!
//! Let `next(v, i)` be the value of the register after iteration `i`, if it is `v` before. Suppose that `next`
//! depends on `i` only modulo `P`. Let `m` be the least number such that the register has its first value again after
//! `m * P` iterations. Then its values repeat with period `m * P`, by induction. So one period, evaluated with words
//! of the machine, gives the value in every iteration.

use super::Lowerer;
use super::table::periodic;
use crate::meaning::Domain;
use crate::meaning::Word;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::greatest_divisor;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;

/// The longest period that is tried, in iterations.
const MOST_ITERATIONS: i128 = 256;

impl Lowerer<'_> {
    /// The value of a register in each iteration of its loop, as a number over the index. The trip
    /// count is known.
    pub(super) fn by_index(&mut self, phi: u32) -> Option<Number> {
        let Phi {
            in_loop,
            first,
            next,
        } = self.arena.phis[phi as usize].clone();
        let start = self.arena.terms.value(first)?;
        let width = self.arena.terms.width_of(first);
        if width == 1 {
            return None;
        }
        let mut counters = Vec::new();
        for atom in self.arena.terms.atoms(next).iter() {
            let Atom::Phi(other) = atom else { continue };
            if *other == phi {
                continue;
            }
            if self.arena.phis[*other as usize].in_loop != in_loop {
                return None;
            }
            let (_, first, step) = self.linear_phi(*other)?;
            counters.push((*atom, first, step));
        }
        let mut period = 1;
        let mut values = Vec::new();
        let mut value = start;
        let mut iteration = 0;
        loop {
            let known = self.arena.terms.constant(value, width);
            let of = |atom: Atom| (atom == Atom::Phi(phi)).then_some(known);
            let change = self.arena.terms.substitute(next, &of);
            period = common_multiple(period, self.period(change, in_loop)?)?;
            values.push(Word::new(value, width).signed());
            let mut now = Vec::new();
            for (atom, first, step) in &counters {
                let width = self.arena.terms.width_of(*first);
                let bits = u128::try_from(iteration).ok()?;
                let at = self
                    .arena
                    .terms
                    .sum(0, &[(*first, 1), (*step, bits)], width);
                now.push((*atom, at));
            }
            let of = |atom: Atom| {
                let found = now.iter().find(|(other, _)| *other == atom);
                found.map(|(_, term)| *term)
            };
            let change = self.arena.terms.substitute(change, &of);
            value = self.arena.terms.value(change)?;
            iteration += 1;
            // `period` is a period of the changes of all values so far. If the first value is there
            // again after a multiple of it, everything repeats.
            if value == start && iteration % period == 0 {
                break;
            }
            if iteration > MOST_ITERATIONS {
                return None;
            }
        }
        periodic(&values, &Number::of(Atomic::Index(in_loop)))
    }

    /// A number of iterations after which a term has the same value again, whatever the iteration.
    fn period(&mut self, term: TermId, id: LoopId) -> Option<i128> {
        let depends = self.arena.terms.atoms(term).iter().any(|atom| match atom {
            Atom::Phi(phi) => self.arena.phis[*phi as usize].in_loop == id,
            _ => false,
        });
        if !depends {
            return Some(1);
        }
        if let Some(period) = self.number(term).and_then(|number| period_of(&number, id)) {
            return Some(period);
        }
        let children = self.arena.terms.children(term);
        if children.is_empty() {
            return None;
        }
        children.into_iter().try_fold(1, |period, child| {
            common_multiple(period, self.period(child, id)?)
        })
    }
}

/// The period of a number that has an index only inside of remainders.
fn period_of(number: &Number, id: LoopId) -> Option<i128> {
    let index = Atomic::Index(id);
    let is_index = |atomic: &Atomic| *atomic == index;
    let mut period = 1;
    for atomic in number.parts.keys() {
        if !Number::of(atomic.clone()).mentions(&is_index) {
            continue;
        }
        let Atomic::Remainder(inner, divisor) = atomic else {
            return None;
        };
        let step = *inner.parts.get(&index)?;
        let rest = inner.minus(&Number::of(index.clone()).times(step)?)?;
        if rest.mentions(&is_index) {
            return None;
        }
        period = common_multiple(period, divisor / greatest_divisor(step, *divisor))?;
    }
    Some(period)
}

fn common_multiple(a: i128, b: i128) -> Option<i128> {
    let multiple = a.checked_mul(b / greatest_divisor(a, b))?;
    (multiple <= MOST_ITERATIONS).then_some(multiple)
}
