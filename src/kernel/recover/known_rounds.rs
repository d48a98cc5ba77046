//! Loops in which every decision to leave is a known number are written out, round by round.
//!
//! ```text
//! for (half = 64; half > 0; half /= 2) { sync; .. }
//! ```
//!
//! The registers that the loop carries begin as terms, and the terms for the next round are found by
//! putting those of this one into what the loop carries on. So round `r` is the body with the values
//! of round `r`. That is exact. It is done only if each branch that may leave the loop is decided in
//! each round.
//!
//! A loop whose exit counts in equal steps is left as it is: as a loop it is easier to read.
//!
//! What is not known of a round is another unknown in the next one. A loop inside gets registers of
//! its own in each round.

use std::collections::BTreeMap;

use crate::recover::launch::is_launch;
use crate::recover::lower::looping::leaves;
use crate::recover::lower::terms_of;
use crate::recover::simplify::everywhere;
use crate::recover::simplify::rewrite;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::EventKind;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;
use crate::recover::tree::Statement;

/// How many rounds are written out at most.
const MOST_ROUNDS: usize = 64;

/// How many statements one loop may become.
const MOST_STATEMENTS: usize = 4096;

/// What registers and unknowns of a round are.
type Values = BTreeMap<Atom, TermId>;

/// Writes out loops in the trees.
pub fn write_out(arena: &mut Arena, trees: &mut [&mut Vec<Statement>]) {
    let mut left = Vec::new();
    for tree in trees.iter_mut() {
        let statements = std::mem::take(*tree);
        **tree = block(arena, statements, &mut left);
    }
    // Behind a loop, its registers are those of its last round. An inner loop was left before the
    // one around it.
    for values in left {
        everywhere(arena, trees, &mut |terms, term| {
            terms.substitute(term, &|atom| values.get(&atom).copied())
        });
    }
}

fn block(arena: &mut Arena, statements: Vec<Statement>, left: &mut Vec<Values>) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        match statement {
            Statement::If {
                condition,
                then,
                otherwise,
                location,
            } => all.push(Statement::If {
                condition,
                then: block(arena, then, left),
                otherwise: block(arena, otherwise, left),
                location,
            }),
            Statement::Loop { id, body, location } => match rounds(arena, id, &body) {
                Some((rounds, values)) => {
                    left.push(values);
                    all.extend(block(arena, rounds, left));
                }
                None => all.push(Statement::Loop {
                    id,
                    body: block(arena, body, left),
                    location,
                }),
            },
            other => all.push(other),
        }
    }
    all
}

/// The rounds of a loop one after the other, and the values of its registers in the last one.
fn rounds(arena: &mut Arena, id: LoopId, body: &[Statement]) -> Option<(Vec<Statement>, Values)> {
    let own = phis_of(arena, id);
    if !is_followed(arena, body, &own) || counts_evenly(arena, id, body) {
        return None;
    }
    let mut values = Values::new();
    for phi in &own {
        let first = arena.phis[*phi as usize].first;
        values.insert(Atom::Phi(*phi), first);
    }
    let unknown = unknowns(arena, body, &own);
    let mut all = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let mut here = values.clone();
        for (number, width) in &unknown {
            let fresh = arena.opaque;
            arena.opaque += 1;
            if let Some(place) = arena.loaded.get(number).cloned() {
                arena.loaded.insert(fresh, place);
            }
            let fresh = arena.terms.atom(Atom::Opaque(fresh), *width);
            here.insert(Atom::Opaque(*number), fresh);
        }
        let is_over = round(arena, body, &mut here, &mut all)?;
        if all.len() > MOST_STATEMENTS {
            return None;
        }
        if is_over {
            // What a loop inside has left is that of its last round here.
            return Some((all, here));
        }
        for phi in &own {
            let next = arena.phis[*phi as usize].next;
            let next = put(arena, next, &here);
            values.insert(Atom::Phi(*phi), next);
        }
    }
    None
}

/// One round. Returns whether the loop is left in it.
fn round(
    arena: &mut Arena,
    statements: &[Statement],
    values: &mut Values,
    all: &mut Vec<Statement>,
) -> Option<bool> {
    for statement in statements {
        match statement {
            Statement::Break => return Some(true),
            Statement::Return => return None,
            Statement::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let known = put(arena, *condition, values);
                match arena.terms.truth(known) {
                    Some(truth) => {
                        let side = if truth { then } else { otherwise };
                        if round(arena, side, values, all)? {
                            return Some(true);
                        }
                    }
                    None if then.iter().chain(otherwise).any(leaves) => return None,
                    None => all.push(copied(arena, statement, values)?),
                }
            }
            Statement::Event(_) | Statement::Loop { .. } => {
                all.push(copied(arena, statement, values)?);
            }
        }
    }
    Some(false)
}

fn put(arena: &mut Arena, term: TermId, values: &Values) -> TermId {
    arena
        .terms
        .substitute(term, &|atom| values.get(&atom).copied())
}

/// A statement with the values of a round, whose loops are new ones.
fn copied(arena: &mut Arena, statement: &Statement, values: &mut Values) -> Option<Statement> {
    let mut copy = statement.clone();
    renamed(arena, &mut copy, values)?;
    rewrite(&mut copy, &mut |term| {
        arena
            .terms
            .substitute(term, &|atom| values.get(&atom).copied())
    });
    Some(copy)
}

fn renamed(arena: &mut Arena, statement: &mut Statement, values: &mut Values) -> Option<()> {
    match statement {
        Statement::Event(_) | Statement::Break | Statement::Return => {}
        Statement::If {
            then, otherwise, ..
        } => {
            for inner in then.iter_mut().chain(otherwise) {
                renamed(arena, inner, values)?;
            }
        }
        Statement::Loop { id, body, .. } => {
            let (old, new) = (*id, arena.loops);
            *id = new;
            arena.loops += 1;
            let phis = phis_of(arena, old);
            let mut copies = Vec::new();
            for phi in phis {
                let data = arena.phis[phi as usize].clone();
                let number = u32::try_from(arena.phis.len()).ok()?;
                let width = arena.terms.width_of(data.first);
                let atom = arena.terms.atom(Atom::Phi(number), width);
                arena.phis.push(Phi {
                    in_loop: new,
                    ..data
                });
                values.insert(Atom::Phi(phi), atom);
                copies.push(number);
            }
            for inner in body.iter_mut() {
                renamed(arena, inner, values)?;
            }
            // Registers of the loops inside have their new names by now.
            for number in copies {
                let Phi { first, next, .. } = arena.phis[number as usize].clone();
                let (first, next) = (put(arena, first, values), put(arena, next, values));
                arena.phis[number as usize].first = first;
                arena.phis[number as usize].next = next;
            }
        }
    }
    Some(())
}

fn phis_of(arena: &Arena, id: LoopId) -> Vec<u32> {
    let numbered = (0..).zip(&arena.phis);
    numbered
        .filter(|(_, phi)| phi.in_loop == id)
        .map(|(number, _)| number)
        .collect()
}

/// Whether the exit of a loop, as far as it depends on registers of the loop, depends only on those
/// that move by a fixed step.
fn counts_evenly(arena: &mut Arena, id: LoopId, body: &[Statement]) -> bool {
    let Some((Statement::If { condition, .. }, before)) = body.split_last() else {
        return false;
    };
    if before.iter().any(leaves) {
        return false;
    }
    let atoms = arena.terms.atoms(*condition);
    let atoms: Vec<Atom> = atoms.iter().copied().collect();
    atoms.into_iter().all(|atom| {
        let Atom::Phi(phi) = atom else { return true };
        let Phi { in_loop, next, .. } = arena.phis[phi as usize];
        let width = arena.terms.width_of(next);
        let own = arena.terms.atom(atom, width);
        let step = arena.terms.difference(next, own);
        in_loop != id || is_launch(step, &arena.terms)
    })
}

/// Whether all that a body does can be copied: it asks nothing whose answer is kept.
fn is_followed(arena: &Arena, body: &[Statement], own: &[u32]) -> bool {
    let mut terms = Vec::new();
    terms_of(body, &mut terms);
    terms.extend(own.iter().map(|phi| arena.phis[*phi as usize].next));
    let kept = |atom: &Atom| matches!(atom, Atom::Test(_) | Atom::Response(_) | Atom::RingWord(_));
    let asks = |term: &TermId| arena.terms.atoms(*term).iter().any(kept);
    !terms.iter().any(asks) && body.iter().all(is_plain)
}

fn is_plain(statement: &Statement) -> bool {
    match statement {
        Statement::Event(event) => !matches!(
            event.kind,
            EventKind::RingWordLoad { .. }
                | EventKind::RingWordStore { .. }
                | EventKind::TryCancel { .. }
                | EventKind::Query
        ),
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).all(is_plain),
        Statement::Loop { body, .. } => body.iter().all(is_plain),
        Statement::Break | Statement::Return => true,
    }
}

/// The numbers and widths of what is not known in a body, and in what its registers become.
fn unknowns(arena: &Arena, body: &[Statement], own: &[u32]) -> BTreeMap<u32, u16> {
    let mut terms = Vec::new();
    terms_of(body, &mut terms);
    terms.extend(own.iter().map(|phi| arena.phis[*phi as usize].next));
    let unknown = |atom: &Atom| matches!(atom, Atom::Opaque(_));
    terms.retain(|term| arena.terms.atoms(*term).iter().any(unknown));
    let mut found = BTreeMap::new();
    for part in terms.iter().flat_map(|term| arena.terms.parts(*term)) {
        if let Node::Atom(Atom::Opaque(number)) = *arena.terms.node(part) {
            found.insert(number, arena.terms.width_of(part));
        }
    }
    found
}
