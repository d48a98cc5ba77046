//! Addresses of shared variables that a loop carries are replaced by offsets.
//!
//! For example, `p` is `&ring` before the first iteration, and `p = &ring + 8 * ((i + 1) % 2)` at
//! the end of each. So `p` is `&ring + q`, where `q` begins with 0 and goes on with
//! `8 * ((i + 1) % 2)`. What `q` is can be computed with numbers.
//!
//! In general, a phi `p` whose first value is `b + x` is replaced by `b + q`. Here `q` begins with
//! `x`, and goes on with the next value of `p` minus `b`. Then `p = b + q` holds in each iteration
//! by induction, for any `b`. This is done if `b` no longer occurs in the first and the next value
//! of `q`.

use std::collections::BTreeMap;

use crate::meaning::Domain;
use crate::recover::simplify::everywhere;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Arena;
use crate::recover::tree::Statement;

/// The base of each phi that carries an address: the term of a shared variable's address.
type Bases = BTreeMap<u32, TermId>;

/// Takes the bases out of addresses that loops carry.
pub fn rebase(arena: &mut Arena, trees: &mut [&mut Vec<Statement>]) {
    let mut bases = candidates(arena);
    let with = loop {
        let with = replacements(&mut arena.terms, &bases);
        let failed: Vec<u32> = bases
            .iter()
            .map(|(phi, base)| (*phi, *base))
            .filter(|(phi, base)| !is_free(arena, &with, *phi, *base))
            .map(|(phi, _)| phi)
            .collect();
        if failed.is_empty() {
            break with;
        }
        for phi in failed {
            bases.remove(&phi);
        }
    };
    if bases.is_empty() {
        return;
    }
    everywhere(arena, trees, &mut |terms, term| {
        terms.substitute(term, &|atom| with.get(&atom).copied())
    });
    for (phi, base) in bases {
        let found = &mut arena.phis[phi as usize];
        found.first = less(&mut arena.terms, found.first, base);
        found.next = less(&mut arena.terms, found.next, base);
    }
}

/// The phis that begin with an address, or with the value of such a phi of another loop.
fn candidates(arena: &Arena) -> Bases {
    let terms = &arena.terms;
    let mut bases = Bases::new();
    loop {
        let before = bases.len();
        for (number, phi) in arena.phis.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let (_, parts) = terms.linear(phi.first);
            let mut found = parts.iter().filter_map(|(part, factor)| {
                let base = match terms.node(*part) {
                    Node::Atom(Atom::Shared { .. }) => *part,
                    Node::Atom(Atom::Phi(other)) => *bases.get(other)?,
                    _ => return None,
                };
                (*factor == 1).then_some(base)
            });
            if let (Some(base), None) = (found.next(), found.next()) {
                bases.insert(number, base);
            }
        }
        if bases.len() == before {
            return bases;
        }
    }
}

fn replacements(terms: &mut Terms, bases: &Bases) -> BTreeMap<Atom, TermId> {
    bases
        .iter()
        .map(|(phi, base)| {
            let width = terms.width_of(*base);
            let own = terms.atom(Atom::Phi(*phi), width);
            let sum = terms.sum(0, &[(own, 1), (*base, 1)], width);
            (Atom::Phi(*phi), sum)
        })
        .collect()
}

/// Whether the base no longer occurs in the first and the next value of a phi.
fn is_free(arena: &mut Arena, with: &BTreeMap<Atom, TermId>, phi: u32, base: TermId) -> bool {
    let found = &arena.phis[phi as usize];
    let (first, next) = (found.first, found.next);
    [first, next].into_iter().all(|term| {
        let term = arena
            .terms
            .substitute(term, &|atom| with.get(&atom).copied());
        let left = less(&mut arena.terms, term, base);
        let gone = arena.terms.atoms(base);
        arena
            .terms
            .atoms(left)
            .iter()
            .all(|atom| !gone.contains(atom))
    })
}

/// A term minus a base, taken on both sides of a choice.
fn less(terms: &mut Terms, term: TermId, base: TermId) -> TermId {
    if let Node::Select(condition, then, otherwise) = *terms.node(term) {
        let then = less(terms, then, base);
        let otherwise = less(terms, otherwise, base);
        return terms.select(&condition, &then, &otherwise);
    }
    terms.difference(term, base)
}
