//! Terms that depend on the state of a machine, as functions of its step count.
//! ([`crate::recover::recurrence`] says what a machine is.)

use super::Lowerer;
use super::phi_values::PhiValue;
use crate::meaning::Word;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::TermId;

impl Lowerer<'_> {
    /// A term over the states of one machine, as a function of the number of steps.
    pub(super) fn tabled(&mut self, term: TermId) -> Option<Number> {
        let (values, steps, tail) = match self.table(term) {
            Some(table) => table,
            None => {
                let behind = self.with_left(term);
                self.table(behind)?
            }
        };
        let width = self.arena.terms.width_of(term);
        let values: Vec<i128> = values
            .into_iter()
            .map(|bits| Word::new(bits, width).signed())
            .collect();
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return values.first().map(|value| Number::constant(*value));
        }
        if tail == 0 {
            return periodic(&values, &steps);
        }
        // When the states that come only once are over, the others repeat.
        let since = steps.minus(&Number::constant(i128::try_from(tail).ok()?))?;
        let around = values.get(tail..).filter(|_| self.is_natural(&since))?;
        periodic(around, &since)
    }

    /// A machine whose state a term depends on.
    pub(super) fn machine_of(&self, term: TermId) -> Option<usize> {
        let atoms = self.arena.terms.atoms(term);
        atoms.iter().find_map(|atom| match atom {
            Atom::Phi(phi) => match self.phi_value(*phi)? {
                PhiValue::State { machine, .. } => Some(*machine),
                PhiValue::Number(_) => None,
            },
            _ => None,
        })
    }

    /// The values of a term in the states of the one machine that it depends on, the number of
    /// steps, and how many of the states come only once.
    pub(super) fn table(&mut self, term: TermId) -> Option<(Vec<u128>, Number, usize)> {
        let mut found: Option<(usize, Number)> = None;
        for atom in self.arena.terms.atoms(term).iter() {
            let Atom::Phi(phi) = atom else { return None };
            let PhiValue::State { machine, steps } = self.phi_value(*phi)? else {
                return None;
            };
            match &found {
                None => found = Some((*machine, steps.clone())),
                Some((other, at)) if other == machine && at == steps => {}
                Some(_) => return None,
            }
        }
        let (machine, steps) = found?;
        let machine = self.recurrences.machines[machine].clone();
        let mut values = Vec::new();
        for state in &machine.states {
            let value = self.recurrences.evaluated(
                term,
                &machine.variables,
                state,
                &mut self.arena.terms,
            )?;
            values.push(value);
        }
        let (tail, period) = (machine.tail, machine.period());
        // States that come only once may differ from others without a difference in this term. Then
        // all values repeat.
        let around = |step: usize| tail + (step + period * tail - tail) % period;
        if tail > 0 && (0..tail).all(|step| values[step] == values[around(step)]) {
            let turned = (0..period).map(|step| values[around(step)]).collect();
            return Some((turned, steps, 0));
        }
        Some((values, steps, tail))
    }
}

/// The most rounds of a ring that one step is tried as, and the most stages of a ring.
const MOST_ROUNDS: i128 = 8;
const MOST_STAGES: i128 = 64;

/// Values that repeat, as a number over the steps: `base + stride * (x % S)` or
/// `base + difference * (x / S % 2)`. Here `x = m * steps + k` counts rounds, `m` of them in a
/// step. Every value is compared.
pub fn periodic(values: &[i128], steps: &Number) -> Option<Number> {
    let base = *values.iter().min()?;
    let rest: Vec<i128> = values
        .iter()
        .map(|value| value.checked_sub(base))
        .collect::<Option<_>>()?;
    let greatest = *rest.iter().max()?;
    if greatest == 0 {
        return Some(Number::constant(base));
    }
    let all = i128::try_from(rest.len()).ok()?;
    let stride = rest.iter().copied().filter(|value| *value > 0).min()?;
    let two = rest.iter().all(|value| *value == 0 || *value == greatest);
    for rounds in 1..=MOST_ROUNDS {
        let agrees = |of: &dyn Fn(i128) -> i128, period: i128| {
            (rounds * all) % period == 0
                && rest
                    .iter()
                    .zip(0..)
                    .all(|(value, step)| of(rounds * step) == *value)
        };
        let counted = |shift: i128| steps.times(rounds)?.plus(&Number::constant(shift));
        for stages in 2..=MOST_STAGES {
            let (whole, parity) = (greatest == stride * (stages - 1), two);
            if !whole && !parity {
                continue;
            }
            for shift in 0..2 * stages {
                if whole && shift < stages && agrees(&|x| (x + shift) % stages * stride, stages) {
                    let place = counted(shift)?.remainder(stages)?;
                    return Number::constant(base).plus(&place.times(stride)?);
                }
                if parity && agrees(&|x| (x + shift) / stages % 2 * greatest, 2 * stages) {
                    let bit = counted(shift)?.divided(stages)?.remainder(2)?;
                    return Number::constant(base).plus(&bit.times(greatest)?);
                }
            }
        }
    }
    None
}
