//! Substitutes unknowns in statements.

use super::facts::Facts;
use super::statement::Action;
use super::statement::Area;
use super::statement::Cell;
use super::statement::Statement;
use super::term::Condition;
use super::term::Sum;
use super::term::Unknown;
use std::collections::BTreeMap;

/// Statements with unknowns replaced.
pub(in crate::ptx) fn replaced(
    statements: &[Statement],
    facts: &Facts,
    with: &dyn Fn(Unknown) -> Option<Sum>,
) -> Vec<Statement> {
    mapped(statements, &|s| facts.replaced(s, with), &|c| {
        facts.replaced_in(c, with)
    })
}

/// Statements as they are where more is known: without what does not happen there.
pub(in crate::ptx) fn simplified(statements: &[Statement], facts: &Facts) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        let action = match &statement.action {
            Action::For(unknown, times, body) => {
                let times = facts.rewritten(times);
                if facts.is_positive(&times.scaled(-1)) {
                    continue;
                }
                Action::For(*unknown, times, simplified(body, facts))
            }
            Action::If(condition, yes, no) => match facts.decide(condition) {
                Some(holds) => {
                    all.extend(simplified(if holds { yes } else { no }, facts));
                    continue;
                }
                None => {
                    let condition = facts.replaced_in(condition, &|_| None);
                    Action::If(condition, simplified(yes, facts), simplified(no, facts))
                }
            },
            _ => {
                all.extend(replaced(std::slice::from_ref(statement), facts, &|_| None));
                continue;
            }
        };
        all.push(Statement {
            action,
            ..statement.clone()
        });
    }
    all
}

/// Statements with every sum and every condition replaced.
pub(in crate::ptx) fn mapped(
    statements: &[Statement],
    sum: &dyn Fn(&Sum) -> Sum,
    condition: &dyn Fn(&Condition) -> Condition,
) -> Vec<Statement> {
    statements
        .iter()
        .map(|statement| Statement {
            action: match &statement.action {
                Action::Init(a, n) => Action::Init(sum(a), *n),
                Action::Inval(a) => Action::Inval(sum(a)),
                Action::Arrive(a, n) => Action::Arrive(sum(a), *n),
                Action::ArrivePart(a, n, lanes) => Action::ArrivePart(sum(a), *n, *lanes),
                Action::Drop(a) => Action::Drop(sum(a)),
                Action::ExpectTx(a, b) => Action::ExpectTx(sum(a), sum(b)),
                Action::ArriveExpectTx(a, b) => Action::ArriveExpectTx(sum(a), sum(b)),
                Action::CompleteTx(a, b) => Action::CompleteTx(sum(a), sum(b)),
                Action::Copy(a, b, area) => {
                    let area = area.as_ref().map(|area| placed(area, sum));
                    Action::Copy(sum(a), b.as_ref().map(sum), area)
                }
                Action::Touch(how, area) => Action::Touch(*how, placed(area, sum)),
                Action::Commit(a, n) => Action::Commit(sum(a), *n),
                Action::Wait(a, b) => Action::Wait(sum(a), sum(b)),
                Action::WaitOwn(a) => Action::WaitOwn(sum(a)),
                Action::Sync(a, b, given) => Action::Sync(sum(a), sum(b), *given),
                Action::ArriveNamed(a, b) => Action::ArriveNamed(sum(a), sum(b)),
                Action::GridArrive(a, found, all) => Action::GridArrive(sum(a), *found, sum(all)),
                Action::GridWait(a, found) => Action::GridWait(sum(a), *found),
                Action::CounterAdd(a, b) => Action::CounterAdd(sum(a), sum(b)),
                Action::CounterSet(a, b) => Action::CounterSet(sum(a), sum(b)),
                Action::CounterWait(a, exact, b) => Action::CounterWait(sum(a), *exact, sum(b)),
                Action::Issued(group, a, size) => Action::Issued(*group, sum(a), *size),
                Action::Landed(group, a, b) => Action::Landed(*group, sum(a), sum(b)),
                Action::Acquire(pool, a) => Action::Acquire(*pool, sum(a)),
                Action::Release(pool, a) => Action::Release(*pool, sum(a)),
                Action::For(u, n, body) => Action::For(*u, sum(n), mapped(body, sum, condition)),
                Action::If(c, a, b) => Action::If(
                    condition(c),
                    mapped(a, sum, condition),
                    mapped(b, sum, condition),
                ),
                other @ (Action::ClusterArrive
                | Action::ClusterWait
                | Action::Pair
                | Action::Multiply(_)
                | Action::Multiplied(_)
                | Action::InFlight(..)
                | Action::Grouped(_)
                | Action::CommitGroup(_)
                | Action::WaitGroup(..)
                | Action::Fence(_)) => other.clone(),
            },
            at: statement.at,
            location: statement.location,
            memory: statement.memory,
        })
        .collect()
}

fn placed(area: &Area, sum: &dyn Fn(&Sum) -> Sum) -> Area {
    let cells = area.cells.iter().map(|cell| Cell {
        indices: cell.indices.iter().map(sum).collect(),
        ..cell.clone()
    });
    Area {
        address: sum(&area.address),
        bytes: area.bytes.clone(),
        cells: cells.collect(),
    }
}

/// Statements with loop variables renamed.
pub(in crate::ptx) fn renamed(
    statements: &[Statement],
    map: &BTreeMap<Unknown, Unknown>,
) -> Vec<Statement> {
    fn variables(statements: &mut [Statement], map: &BTreeMap<Unknown, Unknown>) {
        for statement in statements {
            match &mut statement.action {
                Action::For(unknown, _, body) => {
                    *unknown = *map.get(unknown).unwrap_or(unknown);
                    variables(body, map);
                }
                Action::If(_, yes, no) => {
                    variables(yes, map);
                    variables(no, map);
                }
                _ => {}
            }
        }
    }
    let with = |u: Unknown| map.get(&u).map(|to| Sum::unknown(*to));
    let mut all = replaced(statements, &Facts::default(), &with);
    variables(&mut all, map);
    all
}
