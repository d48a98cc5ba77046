//! Loops in which only some iterations count: `for (m ..) { if (!mask[m]) continue; ..; advance the ring }`. A
//! loop-carried value that the other iterations leave unchanged is a function of the number of earlier iterations that
//! count. This is a guess like any other, checked by induction: if the condition holds, the iteration has to end in the
//! state for one more; otherwise, in the state for the same number.

use std::collections::BTreeMap;

use super::forms::Carried;
use super::forms::Closed;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// How many choices of a value are looked into.
const MOST_CHOICES: usize = 6;

/// The iterations that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Visited {
    /// Whether one does, by its number.
    pub condition: Condition,
    /// What stands for the number.
    pub own: Unknown,
}

impl Visited {
    /// How many of the iterations before this one count.
    pub fn before(&self, index: &Sum) -> Sum {
        Atom::count(&self.condition, self.own, index)
    }

    /// Whether this one does.
    pub fn here(&self, index: &Sum, facts: &Facts) -> Condition {
        let number = |u: Unknown| (u == self.own).then(|| index.clone());
        facts.replaced_in(&self.condition, &number)
    }

    /// The iterations in which a value does not stay as it is, and what it becomes in them; none where conditions do
    /// not tell, or it becomes several things.
    pub fn of(
        next: &Sum,
        unknown: Unknown,
        carried: &Carried,
        closed: &BTreeMap<Register, Closed>,
        own: Unknown,
    ) -> Option<(Visited, Sum)> {
        let form = |u: Unknown| {
            let (register, (_, entry)) = carried.iter().find(|(_, (other, _))| *other == u)?;
            let form = entry.lanes.is_none().then(|| closed.get(register))??;
            // Where the ring stands that goes on only then does not tell when.
            form.visited.is_none().then_some(form)
        };
        let carries = |u: Unknown| carried.values().any(|(other, _)| *other == u);
        let known = |condition: &Condition| {
            !condition.tests() && !condition.mentions(&|u| carries(u) && form(u).is_none())
        };
        let (moves, next) = changed(next, &Sum::unknown(unknown), &known, MOST_CHOICES)?;
        let facts = Facts::default();
        let number = Sum::unknown(own);
        let at = |u: Unknown| form(u).map(|form| form.at(&number, &facts).sum);
        let condition = facts.replaced_in(&moves, &at);
        // What is counted by what is counted in turn is not followed.
        let plain = !matches!(condition, Condition::Constant(_)) && !condition.counts();
        plain.then_some((Visited { condition, own }, next?))
    }
}

/// The condition under which a value is not what it was, and what it is then.
fn changed(
    next: &Sum,
    own: &Sum,
    known: &dyn Fn(&Condition) -> bool,
    left: usize,
) -> Option<(Condition, Option<Sum>)> {
    if next == own {
        return Some((Condition::Constant(false), None));
    }
    let choice = next.terms.iter().find_map(|(atom, factor)| match atom {
        Atom::Choice(condition, yes, no) if known(condition) => {
            Some((atom, *factor, condition, yes, no))
        }
        _ => None,
    });
    let Some((atom, factor, condition, yes, no)) = choice else {
        return Some((Condition::Constant(true), Some(next.clone())));
    };
    let left = left.checked_sub(1)?;
    let rest = next.plus_times(&Sum::atom(atom.clone()), -factor);
    let (above, first) = changed(&rest.plus_times(yes, factor), own, known, left)?;
    let (below, second) = changed(&rest.plus_times(no, factor), own, known, left)?;
    let holds = (**condition).clone();
    let moves = holds.clone().and(above).or(holds.negated().and(below));
    match (first, second) {
        (Some(a), Some(b)) if a != b => None,
        (one, other) => Some((moves, one.or(other))),
    }
}
