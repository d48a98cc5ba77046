//! Assigns the statements that use a ring to rounds. Round `n` of a ring of `S` mbarriers is phase
//! `n / S` of mbarrier `n % S`. A program may execute some rounds before a loop, most of them in
//! it, and some behind it:
//!
//! ```text
//! if K >= 1 { arrive bar[0] }                                          // round 0
//! for i in 0..K { wait ..; if K > i + 1 { arrive bar[(i + 1) % 2] } }  // rounds 1 to K - 1
//! ```
//!
//! A *piece* is a statement with the loop and the conditions around it. [`covers`] puts pieces in a
//! row, from round 0 up to `K`, such that each begins where the one before ends. A piece has to be
//! executed exactly in its rounds, whatever the launch: its conditions have to be equivalent to
//! "the round is below the end of the piece". A statement alone only fixes its mbarrier and its
//! parity, so several rows may be possible. Any row that uses each piece once shows how many
//! arrivals each mbarrier gets.

use std::collections::BTreeSet;

use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;

/// A statement that uses a ring, with what stands around it in a block that is executed once.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// A round that fits the statement. Others differ from it by multiples of the modulus.
    pub(super) round: Number,
    pub(super) modulus: i128,
    /// The conditions under which it is executed.
    pub(super) guards: Vec<Condition>,
    /// The loop around it, with the trip count.
    pub(super) around: Option<(u32, Number)>,
    /// Arrivals that it adds.
    pub(super) arrivals: i128,
    /// Bytes that it expects, less those that it delivers.
    pub(super) bytes: Number,
}

/// How far a row of pieces has come. If `round` is at least `floor`, the row has all rounds from 0
/// up to, but not including, `round`. Otherwise it ended before.
#[derive(Clone)]
struct Reached {
    round: Number,
    floor: i128,
}

/// Whether pieces are executed in all rounds below `rounds`, and the pieces of each round together
/// are as wanted. With `all`, every piece has to be used, and none is executed in another round.
/// Otherwise pieces may be left out, and those of the row have to be in the order of the list.
pub(super) fn covers(
    pieces: &[Piece],
    rounds: &Number,
    all: bool,
    wanted: &dyn Fn(&[&Piece]) -> bool,
) -> bool {
    let start = Reached {
        round: Number::default(),
        floor: 0,
    };
    let pieces: Vec<&Piece> = pieces.iter().collect();
    continues(&pieces, rounds, all, wanted, &start).unwrap_or(false)
}

/// Whether pieces give the mbarriers of a ring exactly the arrivals and bytes that the phases of
/// these rounds need.
pub(super) fn completes(told: &[Piece], rounds: &Number, size: i128, count: i128) -> bool {
    let is_whole = |pieces: &[&Piece], phases: i128| {
        let mut sum = (0_i128, Number::default());
        for piece in pieces {
            let bytes = sum.1.plus(&piece.bytes);
            let (Some(arrivals), Some(bytes)) = (sum.0.checked_add(piece.arrivals), bytes) else {
                return false;
            };
            sum = (arrivals, bytes);
        }
        count.checked_mul(phases) == Some(sum.0) && sum.1 == Number::default()
    };
    if covers(told, rounds, true, &|pieces| is_whole(pieces, 1)) {
        return true;
    }
    // If all rounds are constants, and no piece is in a loop or under a condition, each mbarrier is
    // checked by itself.
    let place = |piece: &Piece| {
        let is_bare = piece.guards.is_empty() && piece.around.is_none();
        let round = piece.round.as_constant().filter(|_| is_bare)?;
        Some(round.rem_euclid(size))
    };
    rounds.as_constant().is_some_and(|rounds| {
        told.iter().all(|piece| place(piece).is_some())
            && (0..size).all(|at| {
                let here = told.iter().filter(|piece| place(piece) == Some(at));
                let phases = (rounds - at + size - 1).div_euclid(size).max(0);
                is_whole(&here.collect::<Vec<_>>(), phases)
            })
    })
}

/// The numbers of rounds with which a row may end with this piece.
pub(super) fn ends(piece: &Piece) -> Vec<Number> {
    let own = match &piece.around {
        None => piece.round.plus(&Number::constant(1)).into_iter().collect(),
        Some((index, _)) => {
            let start = piece.round.minus(&Number::of(Atomic::Index(*index)));
            let limits = limits(piece).unwrap_or_default();
            limits
                .iter()
                .filter_map(|limit| {
                    let end = limit.plus(&Number::of(Atomic::Index(*index)))?;
                    end.plus(&Number::constant(1))?.plus(start.as_ref()?)
                })
                .collect::<Vec<_>>()
        }
    };
    let shifted = own.into_iter().flat_map(|end| {
        let shift = |turns: i128| end.plus(&Number::constant(piece.modulus.checked_mul(turns)?));
        [0, -1, 1].into_iter().filter_map(shift).collect::<Vec<_>>()
    });
    shifted
        .filter(|end| {
            end.as_constant().is_none_or(|end| end > 0)
                && !end.mentions(&|atomic| matches!(atomic, Atomic::Index(_) | Atomic::Variable(_)))
        })
        .collect()
}

fn continues(
    pieces: &[&Piece],
    rounds: &Number,
    all: bool,
    wanted: &dyn Fn(&[&Piece]) -> bool,
    reached: &Reached,
) -> Option<bool> {
    if reached.round == *rounds && (!all || pieces.is_empty()) {
        return Some(true);
    }
    let next: Vec<(&Piece, Option<Number>)> = pieces
        .iter()
        .map(|piece| (*piece, next(piece, rounds, reached)))
        .collect();
    let mut tried = BTreeSet::new();
    for (at, (_, end)) in next.iter().enumerate() {
        let Some(end) = end else { continue };
        if !tried.insert(end.clone()) {
            continue;
        }
        let is_here = |other: &Option<Number>| other.as_ref() == Some(end);
        let here = next.iter().filter(|(_, other)| is_here(other));
        let here: Vec<&Piece> = here.map(|(piece, _)| *piece).collect();
        if !wanted(&here) {
            continue;
        }
        let left: Vec<&Piece> = match all {
            true => {
                let left = next.iter().filter(|(_, other)| !is_here(other));
                left.map(|(piece, _)| *piece).collect()
            }
            false => pieces.get(at + 1..)?.to_vec(),
        };
        let floor = match (reached.round.as_constant(), end.as_constant()) {
            (Some(begin), None) => begin,
            _ => reached.floor,
        };
        let end = Reached {
            round: end.clone(),
            floor,
        };
        if continues(&left, rounds, all, wanted, &end)? {
            return Some(true);
        }
    }
    Some(false)
}

/// The end of a piece, if it may begin at the end of the row, and is executed exactly in the rounds
/// up to its own end.
fn next(piece: &Piece, rounds: &Number, reached: &Reached) -> Option<Number> {
    let limits = limits(piece)?;
    match &piece.around {
        None => {
            fits(&piece.round, reached, piece.modulus)?;
            // This number is at least 0 exactly if the row goes on.
            let open = match reached.round.as_constant() {
                Some(_) => rounds.minus(&reached.round)?.minus(&Number::constant(1))?,
                None => reached.round.minus(&Number::constant(reached.floor))?,
            };
            let open = open.tightened()?;
            let exact = match open.as_constant() {
                Some(open) => open >= 0 && limits.is_empty(),
                None => {
                    limits.contains(&open) && limits.iter().all(|limit| implies(&open, limit, None))
                }
            };
            let end = reached.round.plus(&Number::constant(1))?;
            exact.then_some(end)
        }
        Some((index, _)) => {
            let index = Number::of(Atomic::Index(*index));
            fits(&piece.round.minus(&index)?, reached, piece.modulus)?;
            // Behind a piece whose end depends on the launch, only single rounds are followed.
            reached.round.as_constant()?;
            let first = limits.iter().find(|limit| {
                let others = limits.iter();
                others
                    .into_iter()
                    .all(|other| implies(limit, other, Some(&index)))
            })?;
            let end = first.plus(&index)?.plus(&reached.round)?;
            let end = end.plus(&Number::constant(1))?;
            let beyond = end.minus(rounds)?.as_constant()?;
            (beyond <= 0).then_some(end)
        }
    }
}

/// Whether a round is the next one of the row, up to multiples of a modulus.
fn fits(round: &Number, reached: &Reached, modulus: i128) -> Option<()> {
    let distance = round.minus(&reached.round)?.as_constant()?;
    (distance % modulus == 0).then_some(())
}

/// Numbers that are all at least 0 exactly where a piece is executed.
fn limits(piece: &Piece) -> Option<Vec<Number>> {
    let mut found = Vec::new();
    for guard in &piece.guards {
        conjuncts(guard, &mut found)?;
    }
    if let Some((index, count)) = &piece.around {
        let index = Number::of(Atomic::Index(*index));
        found.push(count.minus(&index)?.minus(&Number::constant(1))?);
    }
    found.iter().map(Number::tightened).collect()
}

fn conjuncts(condition: &Condition, found: &mut Vec<Number>) -> Option<()> {
    match condition {
        Condition::Constant(true) => Some(()),
        Condition::AtLeastZero(number) => {
            found.push(number.clone());
            Some(())
        }
        Condition::And(a, b) => {
            conjuncts(a, found)?;
            conjuncts(b, found)
        }
        _ => None,
    }
}

/// Whether `one >= 0` implies `other >= 0`, if the index is at least 0.
fn implies(one: &Number, other: &Number, index: Option<&Number>) -> bool {
    let Some(mut more) = other.minus(one) else {
        return false;
    };
    if let Some(index) = index {
        more.parts
            .retain(|atomic, factor| *factor < 0 || !index.parts.contains_key(atomic));
    }
    more.as_constant().is_some_and(|more| more >= 0)
}
