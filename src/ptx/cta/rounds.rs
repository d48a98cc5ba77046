//! Loops of persistent CTAs: `for (t = blockIdx.x; t < tiles; t += gridDim.x)` runs
//! `(tiles - blockIdx.x - 1) / gridDim.x + 1` times. Where the three occur nowhere else, how often it runs becomes
//! the parameter. It may be any number that `tiles` may be, as one CTA shows that does all of them, and it is never
//! negative, since a CTA's index is below their number. So the protocol is the same, and proofs need no division.
//!
//! Conditions on which round it is are the same without the three: `blockIdx.x + i * gridDim.x < tiles` says that `i` is less than
//! the number of rounds, whatever `i` is, and `i * gridDim.x == 0` that `i` is 0.
//!
//! The same is done with the quotient of two parameters, `n / tile`, which may be any number that `n` may be.

use std::collections::BTreeSet;

use super::program::Followed;
use super::program::Program;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// Puts the number of rounds in the place of quotients by the size of the grid.
pub(in crate::ptx) fn count_rounds(followed: &mut Followed) {
    if followed.counters {
        return;
    }
    let mut found: BTreeSet<Atom> = BTreeSet::new();
    visit(followed, &mut |sum| quotients(sum, &mut found));
    for atom in found {
        let Some(rounds) = Rounds::of(&atom, &followed.unknowns) else {
            continue;
        };
        let most = followed.unknowns.1.range(&Sum::unknown(rounds.parameter)).1;
        let unknown = followed.unknowns.of(rounds.meaning.clone());
        followed.unknowns.1.bound(unknown, 0, most);
        let instead = Sum::unknown(unknown).plus_constant(-rounds.more);
        let before: Vec<_> = followed
            .programs
            .iter()
            .map(|p| p.statements.clone())
            .collect();
        for program in &mut followed.programs {
            program.statements = mapped(&program.statements, &Sum::clone, &|condition| {
                rounds.by_number(condition, &Sum::unknown(unknown))
            });
        }
        let mut elsewhere = false;
        visit(followed, &mut |sum| elsewhere |= rounds.beside(sum));
        let mut assumed = followed.assumptions.iter().map(|(sum, _)| sum);
        let other = |sum: &Sum| rounds.granted.as_ref() != Some(sum);
        if elsewhere || assumed.any(|s| other(s) && s.mentions(&|u| rounds.takes(u))) {
            for (program, statements) in followed.programs.iter_mut().zip(before) {
                program.statements = statements;
            }
            continue;
        }
        let facts = followed.unknowns.1.clone();
        for program in &mut followed.programs {
            let sum = |sum: &Sum| rounds.replaced(sum, &instead, &facts);
            let statements = mapped(&program.statements, &sum, &|condition| {
                rounds.replaced_in(condition, &instead, &facts)
            });
            let warps = std::mem::take(&mut program.warps);
            *program = Program::of(program.rank, warps, statements);
        }
    }
}

/// Calls something for every sum of every program.
fn visit(followed: &Followed, call: &mut dyn FnMut(&Sum)) {
    let call = std::cell::RefCell::new(call);
    for program in &followed.programs {
        mapped(
            &program.statements,
            &|sum| {
                (*call.borrow_mut())(sum);
                sum.clone()
            },
            &|condition| {
                sums(condition, &mut *call.borrow_mut());
                condition.clone()
            },
        );
    }
}

/// Calls something for every sum of a condition.
fn sums(condition: &Condition, call: &mut dyn FnMut(&Sum)) {
    match condition {
        Condition::Constant(_) => {}
        Condition::Negative(sum) | Condition::Zero(sum) => call(sum),
        Condition::Not(inner) => sums(inner, call),
        Condition::And(a, b) | Condition::Or(a, b) => {
            sums(a, call);
            sums(b, call);
        }
        Condition::Passed(test) => {
            call(&test.barrier);
            if let Some(parity) = &test.parity {
                call(parity);
            }
        }
    }
}

/// The sums directly inside an atom.
fn inside(atom: &Atom, call: &mut dyn FnMut(&Sum)) {
    match atom {
        Atom::Unknown(_) => {}
        Atom::Quotient(a, b) => {
            call(a);
            call(b);
        }
        Atom::Product(parts) => parts.iter().for_each(|part| inside(part, call)),
        Atom::Cell(address, _) => call(address),
        Atom::Count(condition, _, upto) => {
            sums(condition, call);
            call(upto);
        }
        Atom::Choice(condition, a, b) => {
            sums(condition, call);
            call(a);
            call(b);
        }
    }
}

/// The quotients in a sum that are not divided by a constant.
fn quotients(sum: &Sum, found: &mut BTreeSet<Atom>) {
    for atom in sum.terms.keys() {
        let mut all = vec![atom];
        if let Atom::Product(parts) = atom {
            all.extend(parts);
        }
        for atom in all {
            if let Atom::Quotient(_, by) = atom
                && by.as_constant().is_none()
            {
                found.insert(atom.clone());
            }
        }
        inside(atom, &mut |sum| quotients(sum, found));
    }
}

/// A quotient that may be any number.
struct Rounds {
    atom: Atom,
    /// What it can be as large as.
    parameter: Unknown,
    /// What else it is made of.
    others: Vec<Unknown>,
    meaning: Meaning,
    /// By how much what takes its place is more than the quotient.
    more: i128,
    /// What may be assumed of these beside.
    granted: Option<Sum>,
    /// The index of the CTA and the size of the grid, where these are the others.
    steps: Option<(Unknown, Atom)>,
}

impl Rounds {
    /// `(parameter - block - 1) / blocks`, with clusters in the place of blocks where there are some.
    fn of(atom: &Atom, unknowns: &Unknowns) -> Option<Rounds> {
        let Atom::Quotient(dividend, divisor) = atom else {
            return None;
        };
        if let (Some((Atom::Unknown(one), 1)), Some((Atom::Unknown(by), 1))) =
            (dividend.single(), divisor.single())
        {
            return Rounds::ratio(atom, *one, *by, unknowns);
        }
        let (mut parameter, mut block) = (None, None);
        for (term, factor) in &dividend.terms {
            let Atom::Unknown(unknown) = term else {
                return None;
            };
            match (unknowns.meaning(*unknown)?, *factor) {
                (Meaning::Parameter(..) | Meaning::Divided(..), 1) if parameter.is_none() => {
                    parameter = Some(*unknown);
                }
                (Meaning::Block(axis), -1) if block.is_none() => block = Some((*unknown, *axis)),
                _ => return None,
            }
        }
        let (parameter, (block, axis)) = (parameter?, block?);
        let blocks = unknowns.find(&Meaning::Blocks(axis))?;
        let (least, most) = unknowns.1.range(&Sum::unknown(parameter));
        // As many as there are clusters, the first of which there is.
        let extent = unknowns.1.range(&Sum::unknown(blocks)).0;
        let clusters = unknowns
            .1
            .quotient(&Sum::unknown(blocks), &Sum::of(extent))?;
        let whole = **divisor == clusters && extent >= 1;
        (whole && dividend.constant == -1 && least == 0 && most < 1 << 62).then(|| Rounds {
            atom: atom.clone(),
            parameter,
            others: vec![block, blocks],
            meaning: Meaning::Rounds(parameter, axis),
            more: 1,
            granted: None,
            steps: divisor.single().map(|(atom, _)| (block, atom.clone())),
        })
    }

    /// The quotient of two parameters, of which one may be 1.
    fn ratio(atom: &Atom, one: Unknown, by: Unknown, unknowns: &Unknowns) -> Option<Rounds> {
        let open = |u: Unknown| {
            let (least, most) = unknowns.1.range(&Sum::unknown(u));
            let parameter = matches!(unknowns.meaning(u), Some(Meaning::Parameter(..)));
            parameter && least == 0 && (1..1 << 62).contains(&most)
        };
        (one != by && open(one) && open(by)).then(|| Rounds {
            atom: atom.clone(),
            parameter: one,
            others: vec![by],
            meaning: Meaning::Ratio(one, by),
            more: 0,
            granted: Some(Sum::unknown(by).plus_constant(-1)),
            steps: None,
        })
    }

    /// A condition on the place where a round works as one on the round's number.
    fn by_number(&self, condition: &Condition, rounds: &Sum) -> Condition {
        let deep = |condition: &Condition| self.by_number(condition, rounds);
        match condition {
            Condition::Negative(sum) => {
                // `block + blocks * e < parameter`, or `parameter <= block + blocks * e`.
                if let Some(number) = self.number(sum) {
                    return Condition::Negative(number.minus(rounds));
                }
                match self.number(&sum.plus_constant(1).scaled(-1)) {
                    Some(number) => Condition::Negative(number.minus(rounds)).negated(),
                    None => condition.clone(),
                }
            }
            Condition::Zero(sum) => match self.steps_in(sum) {
                Some(number) => Condition::Zero(number),
                None => condition.clone(),
            },
            Condition::Not(inner) => deep(inner).negated(),
            Condition::And(a, b) => deep(a).and(deep(b)),
            Condition::Or(a, b) => deep(a).or(deep(b)),
            other => other.clone(),
        }
    }

    /// The `e` of `block + blocks * e - parameter`.
    fn number(&self, sum: &Sum) -> Option<Sum> {
        let (block, _) = self.steps.as_ref()?;
        let rest = sum
            .minus(&Sum::unknown(*block))
            .plus(&Sum::unknown(self.parameter));
        self.steps_in(&rest)
    }

    /// The `e` of `blocks * e`, in which nothing else is of the three.
    fn steps_in(&self, sum: &Sum) -> Option<Sum> {
        let (_, blocks) = self.steps.as_ref()?;
        if sum.constant != 0 {
            return None;
        }
        let mut number = Sum::of(0);
        for (atom, factor) in &sum.terms {
            let one = match atom {
                atom if atom == blocks => Sum::of(1),
                Atom::Product(parts) => {
                    let at = parts.iter().position(|part| part == blocks)?;
                    let others = parts.iter().enumerate().filter(|(k, _)| *k != at);
                    others.fold(Sum::of(1), |product, (_, part)| {
                        product.times(&Sum::atom(part.clone()))
                    })
                }
                _ => return None,
            };
            number = number.plus_times(&one, *factor);
        }
        let open = !number.mentions(&|u| self.takes(u));
        open.then_some(number)
    }

    fn takes(&self, unknown: Unknown) -> bool {
        self.parameter == unknown || self.others.contains(&unknown)
    }

    /// Whether one of the three occurs in a sum other than in this quotient.
    fn beside(&self, sum: &Sum) -> bool {
        sum.terms.keys().any(|atom| self.beside_atom(atom))
    }

    fn beside_atom(&self, atom: &Atom) -> bool {
        match atom {
            atom if *atom == self.atom => false,
            Atom::Unknown(unknown) => self.takes(*unknown),
            Atom::Product(parts) => parts.iter().any(|part| self.beside_atom(part)),
            atom => {
                let mut found = false;
                inside(atom, &mut |sum| found |= self.beside(sum));
                found
            }
        }
    }

    fn replaced(&self, sum: &Sum, with: &Sum, facts: &Facts) -> Sum {
        let mut all = Sum::of(sum.constant);
        for (atom, factor) in &sum.terms {
            all = all.plus_times(&self.instead(atom, with, facts), *factor);
        }
        all
    }

    fn instead(&self, atom: &Atom, with: &Sum, facts: &Facts) -> Sum {
        let deep = |sum: &Sum| self.replaced(sum, with, facts);
        match atom {
            atom if *atom == self.atom => with.clone(),
            Atom::Product(parts) => parts.iter().fold(Sum::of(1), |product, part| {
                product.times(&self.instead(part, with, facts))
            }),
            Atom::Quotient(a, b) if atom.mentions(&|u| self.takes(u)) => {
                let (a, b) = (deep(a), deep(b));
                facts
                    .quotient(&a, &b)
                    .unwrap_or_else(|| Sum::atom(Atom::Quotient(a.into(), b.into())))
            }
            Atom::Choice(condition, a, b) if atom.mentions(&|u| self.takes(u)) => facts.choice(
                &self.replaced_in(condition, with, facts),
                &deep(a),
                &deep(b),
            ),
            Atom::Count(condition, own, upto) => {
                Atom::count(&self.replaced_in(condition, with, facts), *own, &deep(upto))
            }
            Atom::Cell(address, cell) => Sum::atom(Atom::Cell(deep(address).into(), *cell)),
            other => Sum::atom(other.clone()),
        }
    }

    fn replaced_in(&self, condition: &Condition, with: &Sum, facts: &Facts) -> Condition {
        match condition {
            Condition::Negative(sum) => Condition::Negative(self.replaced(sum, with, facts)),
            Condition::Zero(sum) => Condition::Zero(self.replaced(sum, with, facts)),
            Condition::Not(inner) => self.replaced_in(inner, with, facts).negated(),
            Condition::And(a, b) => {
                let (a, b) = (
                    self.replaced_in(a, with, facts),
                    self.replaced_in(b, with, facts),
                );
                a.and(b)
            }
            Condition::Or(a, b) => {
                let (a, b) = (
                    self.replaced_in(a, with, facts),
                    self.replaced_in(b, with, facts),
                );
                a.or(b)
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::warp::statement::Action;
    use crate::ptx::warp::statement::Statement;

    /// The rounds of a persistent CTA become a parameter, unless its index counts elsewhere, too.
    #[test]
    fn rounds_are_counted() {
        for elsewhere in [false, true] {
            let mut unknowns = Unknowns::default();
            let tiles = unknowns.of(Meaning::Parameter(0, 0));
            let block = unknowns.of(Meaning::Block(0));
            let blocks = unknowns.of(Meaning::Blocks(0));
            unknowns.1.bound(tiles, 0, 1000);
            unknowns.1.bound(block, 0, 999);
            unknowns.1.bound(blocks, 1, 1000);
            let index = unknowns.fresh(Meaning::Iteration(0));
            let left = Sum::unknown(tiles)
                .minus(&Sum::unknown(block))
                .plus_constant(-1);
            let times = unknowns.1.quotient(&left, &Sum::unknown(blocks));
            let times = times.unwrap().plus_constant(1);
            let place = if elsewhere {
                Sum::unknown(block)
            } else {
                Sum::of(0)
            };
            let body = vec![Statement::of(Action::Arrive(place, 1))];
            let before = vec![Statement::of(Action::For(index, times, body.clone()))];
            let mut followed = Followed {
                programs: vec![Program::of(0, vec![0], before.clone())],
                unknowns,
                assumptions: BTreeSet::new(),
                counters: false,
                tensors: BTreeSet::new(),
                boxes_out: false,
                leveled: false,
                counted: false,
            };
            count_rounds(&mut followed);
            let after = &followed.programs[0].statements;
            if elsewhere {
                assert_eq!(*after, before);
                continue;
            }
            let rounds = followed.unknowns.find(&Meaning::Rounds(tiles, 0)).unwrap();
            let rounds = Sum::unknown(rounds);
            assert_eq!(followed.unknowns.1.range(&rounds), (0, 1000));
            assert_eq!(*after, [Statement::of(Action::For(index, rounds, body))]);
        }
    }
}
