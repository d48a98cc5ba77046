//! Loops of persistent CTAs: `for (t = blockIdx.x; t < tiles; t += gridDim.x)` makes
//! `(tiles - blockIdx.x - 1) / gridDim.x + 1` trips. If the three values occur nowhere else, this trip count becomes
//! the parameter. It has the same values as `tiles`: with a single CTA it is `tiles`, and it is never negative, since
//! a CTA's index is below the number of CTAs. So the protocol is the same, and proofs need no division.
//!
//! The same holds for `(tiles - first - 1) / step + 1`, where `first` and `step` depend on the place in the grid.
//! Examples are `2 * blockIdx.x + 1` and `2 * gridDim.x`, or `blockIdx.y * gridDim.x + blockIdx.x` and
//! `gridDim.x * gridDim.y`. Three conditions have to hold. `first` is never negative and always below `step`. In the
//! smallest launch, where both are least, the trip count takes every value from 0 on. Block index and grid size occur
//! nowhere else along these axes. An assumption on them, such as that nothing wraps around, has to hold in the
//! smallest launch. It is stated for the `tiles` for which it is strongest, so that it restricts the grid only.
//!
//! Conditions on the round are rewritten, too: `first + i * step < tiles` means that `i` is less than the trip
//! count, for every `i`, and `i * step == 0` means that `i` is 0.
//!
//! The quotient of two parameters, `n / tile`, is treated in the same way. It has the same values as `n`.

use std::collections::BTreeMap;
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
        let unknown = followed.unknowns.of(rounds.meaning.clone());
        followed.unknowns.1.bound(unknown, 0, rounds.most);
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
        let assumed = followed.assumptions.iter();
        let assumed =
            assumed.map(|(sum, at)| Some((rounds.assumed(sum, &followed.unknowns)?, *at)));
        let assumed: Option<BTreeSet<_>> = assumed.collect();
        let (false, Some(assumed)) = (elsewhere, assumed) else {
            for (program, statements) in followed.programs.iter_mut().zip(before) {
                program.statements = statements;
            }
            continue;
        };
        followed.assumptions = assumed;
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
    /// The most that what takes its place can be.
    most: i128,
    /// What may be assumed of these beside.
    granted: Option<Sum>,
    /// Where the first round works, and how far on the next one does, where it is about these.
    steps: Option<(Sum, Sum)>,
}

impl Rounds {
    /// `(parameter - first - 1) / step`, over the place in the grid.
    fn of(atom: &Atom, unknowns: &Unknowns) -> Option<Rounds> {
        let Atom::Quotient(dividend, step) = atom else {
            return None;
        };
        if let (Some((Atom::Unknown(one), 1)), Some((Atom::Unknown(by), 1))) =
            (dividend.single(), step.single())
        {
            return Rounds::ratio(atom, *one, *by, unknowns);
        }
        let counted = |u: Unknown| {
            let meaning = unknowns.meaning(u);
            matches!(meaning, Some(Meaning::Parameter(..) | Meaning::Divided(..)))
        };
        let parameter = dividend
            .terms
            .iter()
            .find_map(|(term, factor)| match term {
                Atom::Unknown(u) if *factor == 1 && counted(*u) => Some(*u),
                _ => None,
            })?;
        let first = Sum::unknown(parameter).minus(dividend).plus_constant(-1);
        let (facts, smallest) = grid(unknowns);
        let placed = |u: Unknown| smallest.contains_key(&u);
        if first.mentions(&|u| !placed(u)) || step.mentions(&|u| !placed(u)) {
            return None;
        }
        // Along an axis, a place says how many there are at least, and the other way round.
        let axis_of = |u: &Unknown| match unknowns.meaning(*u) {
            Some(Meaning::Block(axis) | Meaning::Blocks(axis)) => Some(*axis),
            _ => None,
        };
        let mentioned = smallest.keys().filter(|u| atom.mentions(&|o| o == **u));
        let axes: BTreeSet<usize> = mentioned.filter_map(axis_of).collect();
        let along = |u: &Unknown| axis_of(u).is_some_and(|axis| axes.contains(&axis));
        let others: Vec<Unknown> = smallest.keys().copied().filter(along).collect();
        let least = |sum: &Sum| least(sum, &smallest, &facts);
        let (low, by) = (least(&first)?, least(step)?);
        let (fewest, most) = unknowns.1.range(&Sum::unknown(parameter));
        let axis = *axes.first()?;
        let below = facts.is_positive(&step.minus(&first).plus_constant(-1));
        (below && 0 <= low && low < by && fewest == 0 && most <= 1 << 62).then(|| Rounds {
            atom: atom.clone(),
            parameter,
            others,
            meaning: Meaning::Rounds(parameter, axis),
            more: 1,
            most: (most - low - 1).div_euclid(by) + 1,
            granted: None,
            steps: Some((first, (**step).clone())),
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
            most: unknowns.1.range(&Sum::unknown(one)).1,
            granted: Some(Sum::unknown(by).plus_constant(-1)),
            steps: None,
        })
    }

    /// A condition on the place where a round works as one on the round's number.
    fn by_number(&self, condition: &Condition, rounds: &Sum) -> Condition {
        let deep = |condition: &Condition| self.by_number(condition, rounds);
        match condition {
            Condition::Negative(sum) => {
                // `first + step * e < parameter`, or `parameter <= first + step * e`.
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

    /// The `e` of `first + step * e - parameter`.
    fn number(&self, sum: &Sum) -> Option<Sum> {
        let (first, _) = self.steps.as_ref()?;
        let rest = sum.minus(first).plus(&Sum::unknown(self.parameter));
        self.steps_in(&rest)
    }

    /// The `e` of `step * e`, in which nothing else is of the launch.
    fn steps_in(&self, sum: &Sum) -> Option<Sum> {
        let (step, by) = self.steps.as_ref()?.1.single()?;
        if sum.constant != 0 {
            return None;
        }
        let parts = |atom: &Atom| match atom {
            Atom::Product(parts) => parts.clone(),
            other => vec![other.clone()],
        };
        let mut number = Sum::of(0);
        for (atom, factor) in &sum.terms {
            let mut left = parts(atom);
            for part in parts(step) {
                let at = left.iter().position(|other| *other == part)?;
                left.remove(at);
            }
            if factor % by != 0 {
                return None;
            }
            let one = left
                .into_iter()
                .fold(Sum::of(1), |product, part| product.times(&Sum::atom(part)));
            number = number.plus_times(&one, factor / by);
        }
        let open = !number.mentions(&|u| self.takes(u));
        open.then_some(number)
    }

    /// What is assumed of the grid alone so that an assumption holds whatever the parameter, as it may in the smallest
    /// launch.
    fn assumed(&self, sum: &Sum, unknowns: &Unknowns) -> Option<Sum> {
        if self.granted.as_ref() == Some(sum) || !sum.mentions(&|u| self.takes(u)) {
            return Some(sum.clone());
        }
        if self.granted.is_some() {
            return None;
        }
        let (slope, rest) = sum.split(self.parameter)?;
        let (fewest, most) = unknowns.1.range(&Sum::unknown(self.parameter));
        let worst = if slope.as_constant()? < 0 {
            most
        } else {
            fewest
        };
        let sum = rest.plus(&slope.scaled(worst));
        let (_, smallest) = grid(unknowns);
        let with = |u: Unknown| smallest.get(&u).map(|least| Sum::of(*least));
        let there = Facts::default().replaced(&sum, &with).as_constant()?;
        (there >= 0).then_some(sum)
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

/// What is known of the place in the grid, and where it is in the smallest launch.
fn grid(unknowns: &Unknowns) -> (Facts, BTreeMap<Unknown, i128>) {
    let mut facts = unknowns.1.clone();
    let mut smallest = BTreeMap::new();
    let mut free = Vec::new();
    for axis in 0..3 {
        let Some(blocks) = unknowns.find(&Meaning::Blocks(axis)) else {
            continue;
        };
        let extent = Sum::unknown(blocks);
        // A grid is made of whole clusters, the first of which there is.
        let cluster = unknowns.1.range(&extent).0;
        smallest.insert(blocks, cluster);
        if let Some(block) = unknowns.find(&Meaning::Block(axis)) {
            smallest.insert(block, 0);
            let inside = extent.plus_times(&Sum::unknown(block), -cluster);
            let behind = inside.plus_constant(-cluster);
            facts.assume_positive(&behind);
            // As many clusters as there are are more than those before.
            if let Some(clusters) = facts.quotient(&extent, &Sum::of(cluster)) {
                let behind = clusters.minus(&Sum::unknown(block)).plus_constant(-1);
                facts.assume_positive(&behind);
            }
            free.push((axis, behind));
        }
    }
    for (axis, behind) in &free {
        for other in (0..3).filter(|other| other != axis) {
            if let Some(blocks) = unknowns.find(&Meaning::Blocks(other)) {
                facts.assume_positive(&behind.times(&Sum::unknown(blocks)));
            }
        }
    }
    (facts, smallest)
}

/// The value of a sum in the smallest launch, if it is nowhere less.
fn least(sum: &Sum, smallest: &BTreeMap<Unknown, i128>, facts: &Facts) -> Option<i128> {
    let with = |u: Unknown| smallest.get(&u).map(|least| Sum::of(*least));
    let there = facts.replaced(sum, &with).as_constant()?;
    facts
        .is_positive(&sum.plus_constant(-there))
        .then_some(there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::operations::arrival_counts::ArrivalCounts;
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
                blind: false,
                tensors: BTreeSet::new(),
                boxes_out: false,
                held: false,
                taken: BTreeSet::new(),
                weighed: BTreeSet::new(),
                leveled: false,
                unsigned: false,
                unchanged: Vec::new(),
                in_step: false,
                looks_ahead: false,
                counted: false,
                rings: Vec::new(),
                arrival_counts: ArrivalCounts::default(),
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
