//! Numbers the states of the cycle of a machine ([`crate::recover::recurrence`]), and recognises
//! variables that begin again at 0.

use crate::recover::number::greatest_divisor;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Phi;

/// Numbers the states of a cycle so that the longest distance is as short as possible. For example,
/// a body that is unrolled three times makes three steps, and not one step that jumps around the
/// cycle.
pub(super) fn shorten(states: &mut [Vec<u128>], distances: Vec<&mut usize>) {
    let period = states.len();
    let longest = |factor: usize| {
        let each = distances
            .iter()
            .map(|distance| **distance * factor % period);
        each.max().unwrap_or(0)
    };
    let word = |n: usize| i128::try_from(n).unwrap_or(0);
    let coprime = |factor: &usize| greatest_divisor(word(*factor), word(period)) == 1;
    let best = (1..period)
        .filter(coprime)
        .min_by_key(|factor| longest(*factor));
    let Some(factor) = best.filter(|factor| longest(*factor) < longest(1)) else {
        return;
    };
    let old = states.to_vec();
    for (number, state) in old.into_iter().enumerate() {
        states[number * factor % period] = state;
    }
    for distance in distances {
        *distance = *distance * factor % period;
    }
}

/// Whether a variable of one loop goes either to 0 or to the next number, and a comparison with
/// numbers of the launch decides which.
pub(super) fn restarts(of_variable: &[u32], phis: &[Phi], terms: &mut Terms) -> bool {
    let [phi] = *of_variable else {
        return false;
    };
    let Node::Select(condition, a, b) = *terms.node(phis[phi as usize].next) else {
        return false;
    };
    let atoms = terms.atoms(condition);
    let fixed = |atom: &Atom| matches!(atom, Atom::Parameter { .. } | Atom::Special(_));
    let compared = atoms.contains(&Atom::Phi(phi)) && atoms.iter().any(fixed);
    if !compared
        || !atoms
            .iter()
            .all(|atom| fixed(atom) || *atom == Atom::Phi(phi))
    {
        return false;
    }
    let width = terms.width_of(a);
    let own = terms.atom(Atom::Phi(phi), width);
    let up = terms.sum(1, &[(own, 1)], width);
    let zero = |term: TermId| terms.value(term) == Some(0);
    a == up && zero(b) || zero(a) && b == up
}
