//! Splits obligations. A solver that cannot decide the whole obligation may decide each part.

use super::obligation::Obligation;
use super::obligation::Split;
use super::sexpr::Sexpr;
use super::term;
use super::term::Term;

/// Obligations that together are equivalent to this one: one for each value of the first integer of
/// [`Obligation::split`], and one for all other values. Empty if there is no such integer.
pub fn parts(whole: &Obligation) -> Vec<Obligation> {
    let Some((first, rest)) = whole.split.split_first() else {
        return Vec::new();
    };
    let part = |fact: Term, value: Option<i64>| {
        let mut part = whole.clone();
        part.hypotheses.push(fact);
        let then = first.then.iter().filter(|(at, _)| Some(*at) == value);
        let then: Vec<&Term> = then.map(|(_, next)| next).collect();
        let place = |s: &Split| then.iter().position(|next| **next == s.integer);
        part.split = rest.to_vec();
        part.split.sort_by_key(|s| place(s).unwrap_or(then.len()));
        part
    };
    let integer = &first.integer;
    let outside = term::within(&term::int(0), integer, &term::int(first.bound));
    let values = 0..first.bound;
    values
        .map(|value| part(term::eq(integer, &term::int(value)), Some(value)))
        .chain([part(term::not(outside), None)])
        .collect()
}

/// Obligations that together are equivalent to this one: one for each part of a conjunction in the goal. Empty if the
/// goal is not a conjunction.
pub fn conjuncts(whole: &Obligation) -> Vec<Obligation> {
    let Some(Sexpr::List(parts)) = Sexpr::of(&whole.goal) else {
        return Vec::new();
    };
    match parts.split_first() {
        Some((Sexpr::Word(word), parts)) if word == "and" => {
            let part = |part: &Sexpr| Obligation {
                goal: part.term(),
                ..whole.clone()
            };
            parts.iter().map(part).collect()
        }
        _ => Vec::new(),
    }
}
