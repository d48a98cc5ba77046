//! Simplifies loops, so that what several registers carry alike is carried once. A *phi* is a value
//! that a loop carries.
//!
//! - Phis of one loop that begin alike and go on alike become one.
//! - Phis that grow by fixed steps are expressed by one of them: `x = x0 + s * (i - i0)`, if `i`
//!   grows by 1.
//! - A phi may count up to a bound and stay there: `x < b ? x + 1 : x`. In its comparison with that
//!   bound, it is replaced by a number that does not stop: `x < b` becomes `x0 + i < b`. Both hold
//!   in the first iterations, in which the two numbers are equal, and both fail from the same
//!   iteration on.
//!
//! Each is shown by induction over the iterations of the loop.

use std::collections::BTreeMap;

use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::launch::is_launch;
use crate::recover::phi_alignment::align_phis;
use crate::recover::rebased::rebase;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Arena;
use crate::recover::tree::Awaited;
use crate::recover::tree::Phi;
use crate::recover::tree::Statement;

/// The terms that a sum adds up, without its constant, and its width.
type Parts = (u16, Vec<(TermId, u128)>);

/// Simplifies what loops in the trees carry.
pub fn simplify(arena: &mut Arena, trees: &mut [&mut Vec<Statement>]) {
    rebase(arena, trees);
    align_phis(arena, trees);
    saturated(arena, trees);
    for _ in 0..8 {
        let with = alike(arena);
        if with.is_empty() {
            break;
        }
        everywhere(arena, trees, &mut |terms, term| {
            terms.substitute(term, &|atom| with.get(&atom).copied())
        });
    }
    let with = counted(arena);
    if !with.is_empty() {
        everywhere(arena, trees, &mut |terms, term| {
            terms.substitute(term, &|atom| with.get(&atom).copied())
        });
    }
}

/// Finds phis that begin and go on alike, or with a constant between them. `x = y + d` holds in
/// each iteration if it holds before the first, and if the next `x`, with `x = y + d` put in, is
/// the next `y` plus `d`.
fn alike(arena: &mut Arena) -> BTreeMap<Atom, TermId> {
    let mut with = BTreeMap::new();
    let mut seen: BTreeMap<(u32, Parts), Vec<u32>> = BTreeMap::new();
    for number in 0..arena.phis.len() {
        let Phi {
            in_loop,
            first,
            next,
        } = arena.phis[number].clone();
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let width = arena.terms.width_of(first);
        let own = arena.terms.atom(Atom::Phi(number), width);
        if next == own {
            continue;
        }
        let (_, parts) = arena.terms.linear(first);
        let step = arena.terms.difference(next, own);
        // Counters are expressed by the one that adds 1, if there is one.
        let counts = arena.terms.value(step).is_some();
        let others = seen.entry((in_loop, (width, parts))).or_default();
        let mut found = None;
        for other in others.iter().copied() {
            let phi = arena.phis[other as usize].clone();
            let between = arena.terms.difference(first, phi.first);
            let Some(by) = arena.terms.value(between) else {
                continue;
            };
            if by != 0 && (counts || width == 1) {
                continue;
            }
            let atom = arena.terms.atom(Atom::Phi(other), width);
            let shifted = arena.terms.sum(by, &[(atom, 1)], width);
            let renamed = arena
                .terms
                .substitute(next, &|at| (at == Atom::Phi(number)).then_some(shifted));
            if arena.terms.sum(by, &[(phi.next, 1)], width) == renamed {
                found = Some(shifted);
                break;
            }
        }
        match found {
            Some(shifted) => {
                with.insert(Atom::Phi(number), shifted);
                // It is no longer carried.
                arena.phis[number as usize].next = own;
            }
            None => others.push(number),
        }
    }
    with
}

/// Expresses phis that count by the one of their loop that adds 1.
fn counted(arena: &mut Arena) -> BTreeMap<Atom, TermId> {
    let mut with = BTreeMap::new();
    let mut bases: BTreeMap<(u32, u16), (u32, TermId)> = BTreeMap::new();
    let mut linear = Vec::new();
    for number in 0..arena.phis.len() {
        let Phi {
            in_loop,
            first,
            next,
        } = arena.phis[number].clone();
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let width = arena.terms.width_of(first);
        let own = arena.terms.atom(Atom::Phi(number), width);
        if next == own || !is_launch(first, &arena.terms) {
            continue;
        }
        let step = arena.terms.difference(next, own);
        let Some(step) = arena.terms.value(step) else {
            continue;
        };
        if step == 1 {
            bases.entry((in_loop, width)).or_insert((number, first));
        }
        linear.push((number, in_loop, width, first, step));
    }
    for (number, in_loop, width, first, step) in linear {
        let Some((base, start)) = bases.get(&(in_loop, width)).copied() else {
            continue;
        };
        if base == number {
            continue;
        }
        let atom = arena.terms.atom(Atom::Phi(base), width);
        let minus = Word::new(u128::MAX, width).bits;
        let negative = step.wrapping_mul(minus);
        let term = arena
            .terms
            .sum(0, &[(first, 1), (atom, step), (start, negative)], width);
        with.insert(Atom::Phi(number), term);
        let own = arena.terms.atom(Atom::Phi(number), width);
        arena.phis[number as usize].next = own;
    }
    with
}

/// Finds comparisons of phis with the bound that they count up to.
fn saturated(arena: &mut Arena, trees: &mut [&mut Vec<Statement>]) {
    let mut found: Vec<(TermId, TermId)> = Vec::new();
    for number in 0..arena.phis.len() {
        let Phi {
            in_loop,
            first,
            next,
        } = arena.phis[number].clone();
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let Node::Select(condition, then, otherwise) = *arena.terms.node(next) else {
            continue;
        };
        let width = arena.terms.width_of(next);
        let own = arena.terms.atom(Atom::Phi(number), width);
        let step = arena.terms.difference(then, own);
        if otherwise != own || arena.terms.value(step) != Some(1) {
            continue;
        }
        let Node::Relation(relation @ (Relation::LessSigned | Relation::LessUnsigned), a, b) =
            *arena.terms.node(condition)
        else {
            continue;
        };
        if a != own || !is_launch(b, &arena.terms) {
            continue;
        }
        // A phi that does not stop at the bound.
        let fresh = u32::try_from(arena.phis.len()).unwrap_or(u32::MAX);
        let atom = arena.terms.atom(Atom::Phi(fresh), width);
        let one = arena.terms.constant(1, width);
        let running = arena.terms.binary(crate::meaning::Binary::Add, &atom, &one);
        arena.phis.push(Phi {
            in_loop,
            first,
            next: running,
        });
        let compared = arena.terms.relation(relation, &atom, &b);
        found.push((condition, compared));
    }
    for (condition, compared) in found {
        everywhere(arena, trees, &mut |terms, term| {
            terms.replaced(term, condition, compared)
        });
    }
}

/// Rewrites every term.
pub fn everywhere(
    arena: &mut Arena,
    trees: &mut [&mut Vec<Statement>],
    with: &mut dyn FnMut(&mut Terms, TermId) -> TermId,
) {
    for number in 0..arena.phis.len() {
        let Phi { first, next, .. } = arena.phis[number].clone();
        arena.phis[number].first = with(&mut arena.terms, first);
        arena.phis[number].next = with(&mut arena.terms, next);
    }
    for number in 0..arena.tests.len() {
        let awaited = arena.tests[number].awaited;
        arena.tests[number].awaited = Awaited {
            object: with(&mut arena.terms, awaited.object),
            phase: with(&mut arena.terms, awaited.phase),
            ..awaited
        };
    }
    for tree in trees {
        for statement in tree.iter_mut() {
            rewrite(statement, &mut |term| with(&mut arena.terms, term));
        }
    }
}

pub fn rewrite(statement: &mut Statement, with: &mut dyn FnMut(TermId) -> TermId) {
    match statement {
        Statement::Event(event) => {
            for term in event.kind.terms_mut() {
                *term = with(*term);
            }
        }
        Statement::If {
            condition,
            then,
            otherwise,
            ..
        } => {
            *condition = with(*condition);
            for statement in then.iter_mut().chain(otherwise) {
                rewrite(statement, with);
            }
        }
        Statement::Loop { body, .. } => {
            for statement in body {
                rewrite(statement, with);
            }
        }
        Statement::Break | Statement::Return => {}
    }
}
