//! Whether the parities of waits are 0 or 1, which is all that `mbarrier.try_wait.parity` accepts.
//!
//! Compilers also pass -1 for 1, where they sign-extend a bit. Then it is assumed that only the
//! lowest bit counts.
//!
//! A value carried by a loop is 0 or 1 if it is so before the loop and each iteration keeps it.
//!
//! Source: PTX ISA, "mbarrier.test_wait, mbarrier.try_wait".

use std::collections::BTreeSet;

use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Word;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::Obstacle;

/// The largest mask of bits that are all tried.
const MOST_BITS: u128 = 255;

const LOWEST_BIT: &str =
    "a wait with parity -1 waits for parity 1, although the PTX manual allows only 0 and 1";

/// Refuses waits for what may be another number. Returns an assumption if one is needed.
pub fn check(arena: &mut Arena) -> Result<Option<&'static str>, Obstacle> {
    let mut assumption = None;
    for (parity, location) in arena.parities.clone() {
        if is_sign(arena, parity) {
            assumption = Some(LOWEST_BIT);
        } else if !is_bit(arena, parity, &mut BTreeSet::new()) && !is_always_bit(arena, parity) {
            return Err(Obstacle::new(
                "the parity may be other than 0 and 1",
                location,
            ));
        }
    }
    Ok(assumption)
}

/// Whether a term is a bit widened with its sign: 0 or -1.
fn is_sign(arena: &Arena, term: TermId) -> bool {
    let terms = &arena.terms;
    match terms.node(term) {
        Node::Extend { term, signed: true } => terms.width_of(*term) == 1,
        Node::Sum { constant: 0, parts } => match parts.as_slice() {
            [(part, factor)] => {
                let minus_one = Word::new(u128::MAX, terms.width_of(term)).bits;
                *factor == minus_one && is_bit(arena, *part, &mut BTreeSet::new())
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether a term is 0 or 1 for all values of the few bits that it depends on. These are the lowest
/// bits of some term.
fn is_always_bit(arena: &mut Arena, term: TermId) -> bool {
    let parts = arena.terms.parts(term);
    parts.into_iter().any(|part| {
        let Node::Binary(Binary::And, a, b) = *arena.terms.node(part) else {
            return false;
        };
        let mask = arena.terms.value(a).or(arena.terms.value(b));
        let Some(mask) = mask.filter(|mask| *mask <= MOST_BITS) else {
            return false;
        };
        let width = arena.terms.width_of(part);
        (0..=mask).all(|bits| {
            let known = arena.terms.constant(bits, width);
            let value = arena.terms.replaced(term, part, known);
            arena.terms.value(value).is_some_and(|value| value <= 1)
        })
    })
}

/// Whether a term is 0 or 1, supposing that the terms in `seen` are.
fn is_bit(arena: &Arena, term: TermId, seen: &mut BTreeSet<TermId>) -> bool {
    let terms = &arena.terms;
    if terms.width_of(term) <= 1 || terms.most(term) <= 1 || !seen.insert(term) {
        return true;
    }
    match terms.node(term) {
        Node::Constant(bits) => *bits <= 1,
        Node::Atom(Atom::Phi(phi)) => {
            let phi = &arena.phis[*phi as usize];
            is_bit(arena, phi.first, seen) && is_bit(arena, phi.next, seen)
        }
        Node::Binary(Binary::And, a, b) => {
            let before = seen.clone();
            is_bit(arena, *a, seen) || {
                // What a failed attempt has supposed is dropped.
                *seen = before;
                is_bit(arena, *b, seen)
            }
        }
        Node::Binary(Binary::RemainderUnsigned, _, by) => {
            terms.value(*by).is_some_and(|by| by == 1 || by == 2)
        }
        Node::Binary(Binary::Or | Binary::Xor, a, b) | Node::Select(_, a, b) => {
            is_bit(arena, *a, seen) && is_bit(arena, *b, seen)
        }
        Node::Extend {
            term: inner,
            signed: false,
        } => is_bit(arena, *inner, seen),
        // `1 - p`.
        Node::Sum { constant: 1, parts } => match parts.as_slice() {
            [(part, factor)] => {
                let width = terms.width_of(term);
                let minus_one = u128::MAX >> (128 - u32::from(width.clamp(1, 128)));
                *factor == minus_one && is_bit(arena, *part, seen)
            }
            _ => false,
        },
        _ => false,
    }
}
