//! Replaces a parameter by its quotient, if the kernel uses only the quotient: `k` in `for (i = 0; i < k / 64; i++)`. The
//! quotient takes every value between its least and its greatest value. So the protocol is the same, and proofs need no
//! division.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

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

/// How a parameter occurs.
#[derive(Debug, Default, Clone)]
struct Uses {
    /// What is added to it before it is divided, and by what.
    quotients: BTreeSet<(i128, i128)>,
    /// Below what it is compared to lie.
    limits: BTreeSet<Sum>,
    /// Whether it occurs in another way.
    plain: bool,
}

/// Puts quotients in the place of parameters of which nothing else is used.
pub(in crate::ptx) fn divide(followed: &mut Followed) {
    for unknown in uses(followed).into_keys() {
        // What stands in the place of one parameter may stand in a limit of another.
        let found = uses(followed).get(&unknown).and_then(common);
        if let Some((added, by)) = found {
            replace(followed, unknown, added, by);
        }
    }
}

/// How each parameter occurs.
fn uses(followed: &Followed) -> BTreeMap<Unknown, Uses> {
    let mut uses: BTreeMap<Unknown, Uses> = BTreeMap::new();
    for program in &followed.programs {
        let seen = std::cell::RefCell::new(&mut uses);
        mapped(
            &program.statements,
            &|sum| {
                look(sum, *seen.borrow_mut(), &followed.unknowns);
                sum.clone()
            },
            &|condition| {
                examine(condition, *seen.borrow_mut(), &followed.unknowns);
                condition.clone()
            },
        );
    }
    for (sum, _) in &followed.assumptions {
        look(sum, &mut uses, &followed.unknowns);
    }
    uses
}

/// What is added to a parameter and what divides it in the finest of its quotients, of which all others are quotients:
/// `(x + a + b * c) / (b * d)` is `((x + a) / b + c) / d`.
fn common(uses: &Uses) -> Option<(i128, i128)> {
    let (added, by) = *uses.quotients.iter().min_by_key(|(_, by)| *by)?;
    let mut quotients = uses.quotients.iter();
    let alike = quotients.all(|(more, other)| (more - added) % by == 0 && other % by == 0);
    let whole = |limit: &Sum| limit.plus_constant(added).exactly_over(by).is_some();
    let limits = uses.limits.iter().all(whole);
    (alike && limits && !uses.plain).then_some((added, by))
}

fn replace(followed: &mut Followed, unknown: Unknown, added: i128, by: i128) {
    let whole = Sum::unknown(unknown).plus_constant(added);
    let (low, high) = followed.unknowns.1.range(&whole);
    if low < 0 {
        return;
    }
    let quotient = followed.unknowns.of(Meaning::Divided(unknown, added, by));
    let (low, high) = (low.div_euclid(by), high.div_euclid(by));
    followed.unknowns.1.bound(quotient, low, high);
    let facts = followed.unknowns.1.clone();
    let change = Change {
        unknown,
        added,
        by,
        quotient: Sum::unknown(quotient),
        facts,
    };
    let assumptions = std::mem::take(&mut followed.assumptions).into_iter();
    followed.assumptions = assumptions
        .map(|(sum, at)| (change.sum(&sum), at))
        .collect();
    for program in &mut followed.programs {
        let statements = mapped(&program.statements, &|s| change.sum(s), &|c| {
            change.condition(c)
        });
        let warps = std::mem::take(&mut program.warps);
        *program = Program::of(program.rank, warps, statements);
    }
}

struct Change {
    unknown: Unknown,
    added: i128,
    by: i128,
    quotient: Sum,
    facts: Facts,
}

impl Change {
    fn sum(&self, sum: &Sum) -> Sum {
        let mut all = Sum::of(sum.constant);
        for (atom, factor) in &sum.terms {
            all = all.plus_times(&self.atom(atom), *factor);
        }
        all
    }

    fn atom(&self, atom: &Atom) -> Sum {
        if !atom.mentions(&|u| u == self.unknown) {
            return Sum::atom(atom.clone());
        }
        match atom {
            Atom::Quotient(a, b) => {
                if let (Some((_, added)), Some(by)) = (alone(a), b.as_constant())
                    && (added - self.added) % self.by == 0
                    && by % self.by == 0
                {
                    let reached = self.quotient.plus_constant((added - self.added) / self.by);
                    let left = self.facts.quotient(&reached, &Sum::of(by / self.by));
                    return left.unwrap_or(reached);
                }
                let (a, b) = (self.sum(a), self.sum(b));
                self.facts
                    .quotient(&a, &b)
                    .unwrap_or_else(|| Sum::atom(Atom::Quotient(Rc::new(a), Rc::new(b))))
            }
            Atom::Product(parts) => {
                let mut product = Sum::of(1);
                for part in parts {
                    product = product.times(&self.atom(part));
                }
                product
            }
            Atom::Choice(c, a, b) => {
                self.facts
                    .choice(&self.condition(c), &self.sum(a), &self.sum(b))
            }
            Atom::Count(c, own, upto) => Atom::count(&self.condition(c), *own, &self.sum(upto)),
            Atom::Unknown(_) | Atom::Cell(..) => Sum::atom(atom.clone()),
        }
    }

    fn condition(&self, condition: &Condition) -> Condition {
        match condition {
            Condition::Negative(sum) => {
                let found = limit(sum, &|u| u == self.unknown).and_then(|(_, limit, below)| {
                    let limit = limit.plus_constant(self.added).exactly_over(self.by)?;
                    Some((limit, below))
                });
                match found {
                    Some((limit, below)) => {
                        let less = Condition::Negative(self.quotient.minus(&limit));
                        if below { less } else { less.negated() }
                    }
                    None => Condition::Negative(self.sum(sum)),
                }
            }
            Condition::Zero(sum) => Condition::Zero(self.sum(sum)),
            Condition::Not(inner) => self.condition(inner).negated(),
            Condition::And(a, b) => self.condition(a).and(self.condition(b)),
            Condition::Or(a, b) => self.condition(a).or(self.condition(b)),
            Condition::Constant(_) | Condition::Passed(_) => condition.clone(),
        }
    }
}

/// An unknown and what is added to it, if a sum is nothing else.
fn alone(sum: &Sum) -> Option<(Unknown, i128)> {
    match sum.terms.iter().collect::<Vec<_>>().as_slice() {
        [(Atom::Unknown(u), 1)] => Some((*u, sum.constant)),
        _ => None,
    }
}

/// The first of these unknowns that lies below a limit, or not, exactly if this sum is below 0.
fn limit(sum: &Sum, which: &dyn Fn(Unknown) -> bool) -> Option<(Unknown, Sum, bool)> {
    let (unknown, factor) = sum.terms.iter().find_map(|(atom, factor)| match atom {
        Atom::Unknown(u) if which(*u) && factor.abs() == 1 => Some((*u, *factor)),
        _ => None,
    })?;
    let rest = sum.plus_times(&Sum::unknown(unknown), -factor);
    if rest.mentions(&|u| u == unknown) {
        return None;
    }
    Some(match factor {
        1 => (unknown, rest.scaled(-1), true),
        _ => (unknown, rest.plus_constant(1), false),
    })
}

fn look(sum: &Sum, uses: &mut BTreeMap<Unknown, Uses>, unknowns: &Unknowns) {
    for atom in sum.terms.keys() {
        within(atom, uses, unknowns);
    }
}

/// What stays as it is needs the parameters that are in it.
fn keep(sum: &Sum, uses: &mut BTreeMap<Unknown, Uses>, unknowns: &Unknowns) {
    for unknown in (0..unknowns.next().0).map(Unknown) {
        let parameter = matches!(unknowns.meaning(unknown), Some(Meaning::Parameter(..)));
        if parameter && sum.mentions(&|u| u == unknown) {
            uses.entry(unknown).or_default().plain = true;
        }
    }
}

fn within(atom: &Atom, uses: &mut BTreeMap<Unknown, Uses>, unknowns: &Unknowns) {
    let parameter = |u: Unknown| matches!(unknowns.meaning(u), Some(Meaning::Parameter(..)));
    match atom {
        Atom::Unknown(u) if parameter(*u) => uses.entry(*u).or_default().plain = true,
        Atom::Unknown(_) => {}
        Atom::Quotient(a, b) => {
            if let (Some((unknown, added)), Some(by)) = (alone(a), b.as_constant())
                && parameter(unknown)
            {
                let uses = uses.entry(unknown).or_default();
                uses.quotients.insert((added, by));
                return;
            }
            look(a, uses, unknowns);
            look(b, uses, unknowns);
        }
        Atom::Product(parts) => {
            for part in parts {
                within(part, uses, unknowns);
            }
        }
        Atom::Cell(address, _) => keep(address, uses, unknowns),
        Atom::Count(c, _, upto) => {
            examine(c, uses, unknowns);
            look(upto, uses, unknowns);
        }
        Atom::Choice(c, a, b) => {
            examine(c, uses, unknowns);
            look(a, uses, unknowns);
            look(b, uses, unknowns);
        }
    }
}

fn examine(condition: &Condition, uses: &mut BTreeMap<Unknown, Uses>, unknowns: &Unknowns) {
    match condition {
        Condition::Negative(sum) => {
            let parameter =
                |u: Unknown| matches!(unknowns.meaning(u), Some(Meaning::Parameter(..)));
            match limit(sum, &parameter) {
                Some((unknown, limit, _)) => {
                    look(&limit, uses, unknowns);
                    uses.entry(unknown).or_default().limits.insert(limit);
                }
                None => look(sum, uses, unknowns),
            }
        }
        Condition::Zero(sum) => look(sum, uses, unknowns),
        Condition::Not(inner) => examine(inner, uses, unknowns),
        Condition::And(a, b) | Condition::Or(a, b) => {
            examine(a, uses, unknowns);
            examine(b, uses, unknowns);
        }
        Condition::Passed(test) => {
            keep(&test.barrier, uses, unknowns);
            if let Some(parity) = &test.parity {
                keep(parity, uses, unknowns);
            }
        }
        Condition::Constant(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::operations::arrival_counts::ArrivalCounts;
    use crate::ptx::warp::statement::Action;
    use crate::ptx::warp::statement::Statement;

    fn waits(parity: Sum, times: Sum, number: Unknown) -> Statement {
        let plain = |action| Statement {
            action,
            at: 0,
            location: None,
            memory: "",
        };
        let wait = plain(Action::Wait(Sum::of(0), parity));
        plain(Action::For(number, times, vec![wait]))
    }

    /// A parameter divided by 64 and by 256 becomes its quotient by 64, in assumptions, too; one that is used by
    /// itself stays.
    #[test]
    fn only_quotients_are_replaced() {
        for plain in [false, true] {
            let mut unknowns = Unknowns::default();
            let k = unknowns.of(Meaning::Parameter(0, 0));
            unknowns.1.bound(k, 0, 1000);
            let i = unknowns.fresh(Meaning::Iteration(0));
            let facts = unknowns.1.clone();
            let by = |n| facts.quotient(&Sum::unknown(k), &Sum::of(n)).unwrap();
            let parity = if plain { Sum::unknown(k) } else { by(256) };
            let program = Program::of(0, vec![0], vec![waits(parity, by(64), i)]);
            let assumed = by(64).scaled(-1).plus_constant(12);
            let mut followed = Followed {
                programs: vec![program],
                unknowns,
                assumptions: BTreeSet::from([(assumed, 0)]),
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
            let before = followed.programs[0].statements.clone();
            divide(&mut followed);
            let after = &followed.programs[0].statements;
            if plain {
                assert_eq!(*after, before);
                continue;
            }
            let meaning = Meaning::Divided(k, 0, 64);
            let quotient = Sum::unknown(followed.unknowns.find(&meaning).unwrap());
            let facts = &followed.unknowns.1;
            assert_eq!(facts.range(&quotient), (0, 15));
            let assumed = quotient.scaled(-1).plus_constant(12);
            assert_eq!(followed.assumptions, BTreeSet::from([(assumed, 0)]));
            let parity = facts.quotient(&quotient, &Sum::of(4)).unwrap();
            assert_eq!(*after, [waits(parity, quotient, i)]);
        }
    }
}
