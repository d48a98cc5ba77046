//! Rerolls repetitions. Equal statements in a row become a loop, so a kernel with a hundred unrolled barriers is decided
//! as fast as one with a loop. Nothing is guessed: the repeated statements are equal, and are executed as often as
//! before. Statements on bytes are left unchanged, since their blocks say which copies deliver the expected bytes
//! (`boxes.rs`).

use super::program::Program;
use super::program::each;
use super::program::numbered;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// How many statements at most are looked for again.
const LONGEST: usize = 12;

/// How often they have to come in a row: what is written out a few times is better read as it is.
const FEWEST: usize = 8;

/// Writes what comes several times in a row as loops.
pub(in crate::ptx) fn put_together(programs: &mut [Program], unknowns: &mut Unknowns) {
    for program in programs {
        let statements = folded(&program.statements, unknowns);
        let warps = std::mem::take(&mut program.warps);
        *program = Program::of(program.rank, warps, statements);
    }
}

fn folded(statements: &[Statement], unknowns: &mut Unknowns) -> Vec<Statement> {
    let inside: Vec<Statement> = statements
        .iter()
        .map(|statement| statement.with_blocks(&mut |block| folded(block, unknowns)))
        .collect();
    // Loops are the same whatever their variables are called.
    let plain: Vec<Vec<Statement>> = inside
        .iter()
        .map(|s| numbered(std::slice::from_ref(s)))
        .collect();
    let mut all = Vec::new();
    let mut first = 0;
    while first < inside.len() {
        let times = |length: usize| {
            let round = plain.get(first..first + length).unwrap_or_default();
            let rounds = plain[first..].chunks_exact(length);
            rounds.take_while(|other| *other == round).count()
        };
        let longest = LONGEST.min(inside.len() - first);
        let found = (1..=longest).find(|length| {
            let mut bytes = false;
            each(&inside[first..first + length], &mut |s| {
                bytes |= moves_bytes(&s.action)
            });
            !bytes && times(*length) >= FEWEST
        });
        let Some(length) = found else {
            all.push(inside[first].clone());
            first += 1;
            continue;
        };
        let often = times(length);
        let rounds = i128::try_from(often).unwrap_or(0);
        let number = unknowns.fresh(Meaning::Iteration(0));
        unknowns.1.bound(number, 0, rounds - 1);
        let body = inside[first..first + length].to_vec();
        all.push(inside[first].with(Action::For(number, Sum::of(rounds), body)));
        first += length * often;
    }
    all
}

fn moves_bytes(action: &Action) -> bool {
    matches!(
        action,
        Action::Copy(..)
            | Action::ExpectTx(..)
            | Action::ArriveExpectTx(..)
            | Action::CompleteTx(..)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten pairs after one that differs, and three that are too few.
    #[test]
    fn pairs_in_a_row() {
        let mut unknowns = Unknowns::default();
        let arrive = |at: i128| Statement::of(Action::Arrive(Sum::of(at), 1));
        let mut statements = vec![arrive(8)];
        for _ in 0..10 {
            statements.extend([arrive(0), arrive(8)]);
        }
        statements.extend([arrive(16), arrive(16), arrive(16)]);
        let all = folded(&statements, &mut unknowns);
        // The first and the first of the pairs make pairs of their own.
        let [first, rest @ ..] = all.as_slice() else {
            unreachable!("there are statements")
        };
        let Action::For(_, times, body) = &first.action else {
            unreachable!("the pairs are a loop")
        };
        assert_eq!(*times, Sum::of(10));
        assert_eq!(*body, [arrive(8), arrive(0)]);
        assert_eq!(*rest, [arrive(8), arrive(16), arrive(16), arrive(16)]);
    }
}
