//! Warps of a warpgroup that wait with multiplications in flight. A group of multiplications is done only once
//! all four warps have issued it; so whoever comes past `wgmma.wait_group n` knows that the other three have
//! issued all groups but the last `n`.
//!
//! The groups are numbered as they are made, and each is one phase of an mbarrier at which the four warps arrive
//! when they have issued it. There are `n + 1` of these mbarriers in a ring: when group `k` is issued, group
//! `k - n - 1` has been waited for, so no phase is missed.

use super::program::each;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;

/// The ring that groups take turns in.
struct Ring<'f> {
    group: u32,
    size: i128,
    facts: &'f Facts,
}

/// The statements with groups of multiplications as phases; none if they are not numbered evenly.
pub(in crate::ptx) fn numbered(
    statements: &[Statement],
    group: u32,
    facts: &Facts,
) -> Option<Vec<Statement>> {
    let mut most = 0;
    each(statements, &mut |s| {
        if let Action::InFlight(_, left) = s.action {
            most = most.max(left);
        }
    });
    let ring = Ring {
        group,
        size: most + 1,
        facts,
    };
    let mut unwaited = 0;
    waited(statements, &mut unwaited)?;
    let (all, _) = ring.phases(statements, &Sum::of(0))?;
    Some(all)
}

/// Makes sure that between two groups there is a wait, so that no more are open than one waits with.
fn waited(statements: &[Statement], unwaited: &mut i128) -> Option<()> {
    for statement in statements {
        match &statement.action {
            Action::Grouped(_) => *unwaited += 1,
            Action::InFlight(..) | Action::Multiplied(_) => *unwaited = 0,
            Action::For(_, _, body) => {
                for _ in 0..2 {
                    let before = *unwaited;
                    waited(body, unwaited)?;
                    *unwaited = before.max(*unwaited);
                }
            }
            Action::If(_, yes, no) => {
                let mut other = *unwaited;
                waited(yes, unwaited)?;
                waited(no, &mut other)?;
                *unwaited = other.max(*unwaited);
            }
            _ => {}
        }
        if *unwaited > 1 {
            return None;
        }
    }
    Some(())
}

impl Ring<'_> {
    /// The statements with phases, and how many groups have been made behind them.
    fn phases(&self, statements: &[Statement], before: &Sum) -> Option<(Vec<Statement>, Sum)> {
        let mut all: Vec<Statement> = Vec::new();
        let mut made = before.clone();
        let mut issued = false;
        for statement in statements {
            match &statement.action {
                Action::Multiply(_) => issued = true,
                // A group of nothing is done at once.
                Action::Grouped(_) if !issued => return None,
                Action::Grouped(_) => {
                    issued = false;
                    let (place, _) = self.place(&made)?;
                    all.push(statement.with(Action::Issued(self.group, place, self.size)));
                    made = made.plus_constant(1);
                }
                Action::InFlight(..) | Action::Multiplied(_) => {
                    let left = match statement.action {
                        Action::InFlight(_, left) => left,
                        _ => 0,
                    };
                    let last = made.plus_constant(-1 - left);
                    let none = Condition::Negative(last.clone());
                    let decided = self.facts.decide(&none);
                    if decided == Some(true) {
                        continue;
                    }
                    let (place, turns) = self.place(&last)?;
                    let parity = self.facts.modulo(&turns, &Sum::of(2))?;
                    let wait = statement.with(Action::Landed(self.group, place, parity));
                    if decided == Some(false) {
                        all.push(wait);
                    } else {
                        all.push(statement.with(Action::If(
                            none.negated(),
                            vec![wait],
                            Vec::new(),
                        )));
                    }
                }
                Action::For(unknown, times, body) => {
                    let (_, once) = self.phases(body, &Sum::of(0))?;
                    let index = Sum::unknown(*unknown);
                    if once.as_constant() != Some(0)
                        && (once.mentions(&|u| u == *unknown) || !self.facts.is_positive(times))
                    {
                        return None;
                    }
                    let (body, _) = self.phases(body, &made.plus(&once.times(&index)))?;
                    made = made.plus(&once.times(times));
                    all.push(statement.with(Action::For(*unknown, times.clone(), body)));
                }
                Action::If(condition, yes, no) => {
                    let (yes, first) = self.phases(yes, &made)?;
                    let (no, second) = self.phases(no, &made)?;
                    if first != second {
                        return None;
                    }
                    made = first;
                    all.push(statement.with(Action::If(condition.clone(), yes, no)));
                }
                _ => all.push(statement.clone()),
            }
        }
        (!issued).then_some((all, made))
    }

    /// The mbarrier of a group, and how often the ring has been gone through before it.
    fn place(&self, number: &Sum) -> Option<(Sum, Sum)> {
        let size = Sum::of(self.size);
        Some((
            self.facts.modulo(number, &size)?,
            self.facts.quotient(number, &size)?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::warp::machine::Meaning;
    use crate::ptx::warp::machine::Unknowns;

    /// Groups in a loop, each waited for one round later, and the last behind it; and two groups without a
    /// wait between them, which are refused.
    #[test]
    fn groups_take_turns() {
        let mut unknowns = Unknowns::default();
        let times = unknowns.of(Meaning::Parameter(0, 0));
        unknowns.1.bound(times, 0, 1000);
        let index = unknowns.fresh(Meaning::Iteration(0));
        unknowns.1.bound(index, 0, 999);
        let facts = &unknowns.1;
        let group = || {
            vec![
                Statement::of(Action::Multiply(1)),
                Statement::of(Action::Grouped(1)),
            ]
        };
        let mut body = group();
        body.push(Statement::of(Action::InFlight(1, 1)));
        let looped = Action::For(index, Sum::unknown(times), body);
        let all = [Statement::of(looped), Statement::of(Action::Multiplied(1))];
        let found = numbered(&all, 1, facts).unwrap();
        let [round, last] = found.as_slice() else {
            unreachable!("the loop and the wait behind it are there: {found:?}");
        };
        let Action::For(_, _, body) = &round.action else {
            unreachable!("the loop is there: {round:?}");
        };
        let ring = |number: &Sum| facts.modulo(number, &Sum::of(2)).unwrap();
        let parity = |number: &Sum| {
            let turns = facts.quotient(number, &Sum::of(2)).unwrap();
            facts.modulo(&turns, &Sum::of(2)).unwrap()
        };
        let (own, before) = (Sum::unknown(index), Sum::unknown(index).plus_constant(-1));
        let wait = |number: &Sum| {
            let landed = Statement::of(Action::Landed(1, ring(number), parity(number)));
            let some = Condition::Negative(number.clone()).negated();
            Statement::of(Action::If(some, vec![landed], Vec::new()))
        };
        let issued = Statement::of(Action::Issued(1, ring(&own), 2));
        assert_eq!(*body, [issued, wait(&before)]);
        assert_eq!(*last, wait(&Sum::unknown(times).plus_constant(-1)));
        let mut twice = group();
        twice.extend(group());
        twice.push(Statement::of(Action::InFlight(1, 1)));
        assert_eq!(numbered(&twice, 1, facts), None);
    }
}
