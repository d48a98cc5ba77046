//! Writes named barriers that are used in turn, as in `bar.sync 3 + i % 2`, as an array of their own.
//!
//! While a kernel is followed, each possible barrier is a case of its own (`chosen.rs`). Suppose that every use of
//! the barriers `first` to `first + n - 1` names one by number or by `first + x % n`, and that no other use can
//! mean one of them. Then they become an array of `n` barriers that is used at `x % n`. This is right, because the
//! number of a barrier is only its name. A reader recognizes the ring, and proofs number its rounds.

use crate::ptx::cta::program::Followed;
use crate::ptx::cta::program::each;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;

/// Named barriers that are an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptx) struct Ring {
    /// The number of the first.
    pub first: i128,
    /// How many they are.
    pub count: i128,
}

impl Ring {
    /// The index in the array of the barrier with this number, if it is in it.
    pub fn index(&self, id: &Sum) -> Option<Sum> {
        let index = id.plus_constant(-self.first);
        let inside = match index.as_constant() {
            Some(constant) => (0..self.count).contains(&constant),
            None => turns(&index) == Some(self.count),
        };
        inside.then_some(index)
    }
}

/// Finds the arrays, and puts their barriers together where they have been told apart.
pub(in crate::ptx) fn put_in_rings(followed: &mut Followed) {
    let mut rings: Vec<Ring> = Vec::new();
    let mut odd = false;
    for program in &followed.programs {
        seek(&program.statements, &mut rings);
        each(&program.statements, &mut |s| {
            odd |= id_of(&s.action).is_some_and(|id| id.as_constant().is_none());
        });
    }
    rings.sort_by_key(|ring| (ring.first, ring.count));
    rings.dedup();
    let overlap = rings.windows(2).any(|pair| match pair {
        [a, b] => a.first + a.count > b.first,
        _ => false,
    });
    if odd || overlap {
        return;
    }
    for program in &mut followed.programs {
        let statements = std::mem::take(&mut program.statements);
        program.statements = together(&statements);
    }
    followed.rings = rings;
}

/// The rings of a block that has been told apart.
fn seek(statements: &[Statement], rings: &mut Vec<Ring>) {
    let mut rest = statements;
    while let [first, behind @ ..] = rest {
        if let Some((_, ring)) = by_turns(rest) {
            rings.push(ring);
            rest = rest
                .get(usize::try_from(ring.count).unwrap_or(1)..)
                .unwrap_or_default();
            continue;
        }
        match &first.action {
            Action::For(_, _, body) => seek(body, rings),
            Action::If(_, yes, no) => {
                seek(yes, rings);
                seek(no, rings);
            }
            _ => {}
        }
        rest = behind;
    }
}

fn together(statements: &[Statement]) -> Vec<Statement> {
    let mut all = Vec::new();
    let mut rest = statements;
    while let [first, behind @ ..] = rest {
        if let Some((one, ring)) = by_turns(rest) {
            all.push(one);
            rest = rest
                .get(usize::try_from(ring.count).unwrap_or(1)..)
                .unwrap_or_default();
            continue;
        }
        all.push(first.with_blocks(&mut together));
        rest = behind;
    }
    all
}

/// One use of barriers that a block begins with, of which just one is used each time, by turns.
fn by_turns(statements: &[Statement]) -> Option<(Statement, Ring)> {
    let (id, start) = told(statements.first()?)?;
    let number = id_of(&start.action)?.as_constant()?;
    let ring = Ring {
        first: number,
        count: turns(&id.plus_constant(-number))?,
    };
    let count = usize::try_from(ring.count).ok()?;
    let mut numbers = (ring.first..).zip(statements.get(..count)?);
    let alike = numbers.all(|(number, statement)| {
        let here = told(statement);
        here.is_some_and(|(other, one)| other == id && *one == with_id(start, &Sum::of(number)))
    });
    alike.then(|| (with_id(start, &id), ring))
}

/// The number that is computed, and the use of a barrier where it is this one.
fn told(statement: &Statement) -> Option<(Sum, &Statement)> {
    let Action::If(Condition::Zero(difference), yes, no) = &statement.action else {
        return None;
    };
    let ([one], []) = (yes.as_slice(), no.as_slice()) else {
        return None;
    };
    let number = id_of(&one.action)?.as_constant()?;
    Some((difference.plus_constant(number), one))
}

fn id_of(action: &Action) -> Option<&Sum> {
    match action {
        Action::Sync(id, ..) | Action::ArriveNamed(id, _) => Some(id),
        _ => None,
    }
}

fn with_id(statement: &Statement, id: &Sum) -> Statement {
    statement.with(match &statement.action {
        Action::Sync(_, threads, given) => Action::Sync(id.clone(), threads.clone(), *given),
        Action::ArriveNamed(_, threads) => Action::ArriveNamed(id.clone(), threads.clone()),
        other => other.clone(),
    })
}

/// The divisor, if a sum is a remainder and nothing else.
fn turns(sum: &Sum) -> Option<i128> {
    let (_, divisor, factor, left) = sum.remainder()?;
    (factor == 1 && left == Sum::of(0)).then_some(divisor)
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use super::by_turns;
    use super::turns;
    use crate::ptx::cta::chosen::told_apart;
    use crate::ptx::warp::machine::Meaning;
    use crate::ptx::warp::machine::Unknowns;
    use crate::ptx::warp::statement::Action;
    use crate::ptx::warp::statement::Statement;
    use crate::ptx::warp::term::Atom;
    use crate::ptx::warp::term::Sum;
    use std::rc::Rc;

    fn sync(id: Sum) -> Statement {
        Statement {
            action: Action::Sync(id, Sum::of(64), true),
            at: 0,
            location: None,
            memory: "",
        }
    }

    #[test]
    fn what_is_told_apart_is_put_together() {
        let mut unknowns = Unknowns::default();
        let round = unknowns.of(Meaning::Iteration(0));
        unknowns.1.bound(round, 0, 100);
        let round = Sum::unknown(round);
        let quotient = Atom::Quotient(Rc::new(round.clone()), Rc::new(Sum::of(3)));
        let slot = round.plus_times(&Sum::atom(quotient), -3);
        assert_eq!(turns(&slot), Some(3));
        assert_eq!(turns(&slot.plus_constant(1)), None);
        let whole = sync(slot.plus_constant(4));
        let apart = told_apart(std::slice::from_ref(&whole), &unknowns.1);
        assert_eq!(apart.len(), 3);
        let (one, ring) = by_turns(&apart).unwrap();
        assert_eq!((one, ring), (whole, Ring { first: 4, count: 3 }));
        // One of the cases is missing.
        assert!(by_turns(&apart[1..]).is_none());
        assert!(by_turns(&apart[..2]).is_none());
    }
}
