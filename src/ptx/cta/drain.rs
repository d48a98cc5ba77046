//! Rerolls an unrolled drain, that is, waits for all stages of a ring at the end of a pipeline: `wait b[p % 9] ..; wait
//! b[(p + 1) % 9] ..` becomes a loop. Nothing is guessed: every iteration of the loop is compared with the wait that it
//! stands for.

use std::rc::Rc;

use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// So many waits are a loop; fewer are as easy to look through one by one.
const LEAST: usize = 4;

/// The statements with waits for one stage after the other as loops.
pub(in crate::ptx) fn drained(
    statements: Vec<Statement>,
    unknowns: &mut Unknowns,
) -> Vec<Statement> {
    let mut all = Vec::new();
    let mut rest = statements.into_iter().peekable();
    while let Some(first) = rest.next() {
        if !matches!(first.action, Action::Wait(..)) {
            all.push(first);
            continue;
        }
        let number = unknowns.fresh(Meaning::Iteration(0));
        let Some(round) = general(&first, &Sum::unknown(number), &unknowns.1) else {
            all.push(first);
            continue;
        };
        let memory = first.memory;
        let mut found = vec![first];
        while let Some(next) = rest.next_if(|next| {
            let at = i128::try_from(found.len()).unwrap_or(0);
            next.memory == memory && stands_for(&round, (number, at), next, &unknowns.1)
        }) {
            found.push(next);
        }
        match (found.len(), found.first()) {
            (LEAST.., Some(first)) => {
                let times = i128::try_from(found.len()).unwrap_or(0);
                unknowns.1.bound(number, 0, times - 1);
                let statement = first.clone();
                let body = vec![Statement {
                    action: round,
                    ..statement.clone()
                }];
                all.push(Statement {
                    action: Action::For(number, Sum::of(times), body),
                    memory: "",
                    ..statement
                });
            }
            _ => all.append(&mut found),
        }
    }
    all
}

/// The wait for the stage that comes so many after that of a wait.
fn general(wait: &Statement, behind: &Sum, facts: &Facts) -> Option<Action> {
    let Action::Wait(address, parity) = &wait.action else {
        return None;
    };
    let (place, size, step, _) = address.remainder()?;
    let around = Atom::Quotient(Rc::clone(&place), Rc::new(Sum::of(size)));
    let later = facts.quotient(&place.plus(behind), &Sum::of(size))?;
    let address = facts.put(&address.plus_times(behind, step), &around, &later);
    let parity = facts.put(parity, &around, &later);
    Some(Action::Wait(address, parity))
}

/// Whether a wait is what this round of the loop says.
fn stands_for(
    round: &Action,
    (number, at): (Unknown, i128),
    wait: &Statement,
    facts: &Facts,
) -> bool {
    let (Action::Wait(a, p), Action::Wait(b, q)) = (round, &wait.action) else {
        return false;
    };
    let with = |u| (u == number).then(|| Sum::of(at));
    facts.same(&facts.replaced(a, &with), b) && facts.same(&facts.replaced(p, &with), q)
}
