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
/// cycle. Among equally good numberings, the one is taken whose first states have the least values.
/// For a cycle can be followed in both directions, and the stage of a ring mostly goes upwards.
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
    let factors = || (1..period).filter(coprime);
    let Some(least) = factors().map(longest).min() else {
        return;
    };
    // The values of each variable in the order of the new numbers. State `n` gets the number `n * factor`.
    let values = |factor: &usize| {
        let further = (1..period).find(|steps| steps * factor % period == 1);
        let at = |number: usize| further.map_or(number, |further| number * further % period);
        let variables = 0..states.first().map_or(0, Vec::len);
        let of = |variable: usize| (0..period).map(move |number| (number, variable));
        let all = variables.flat_map(of);
        all.map(|(number, variable)| states[at(number)][variable])
            .collect::<Vec<u128>>()
    };
    let Some(factor) = factors()
        .filter(|factor| longest(*factor) == least)
        .min_by_key(values)
    else {
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
