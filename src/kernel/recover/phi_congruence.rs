//! Congruence classes of phis: phis of different loops that are copies of each other, as of one
//! register of the kernel.

use super::launch::is_launch;
use crate::meaning::Binary;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Phi;
use std::collections::BTreeSet;

/// Groups of phis that are copies of each other in different loops.
pub fn congruence_classes(phis: &[Phi], used: &BTreeSet<u32>, terms: &Terms) -> Vec<BTreeSet<u32>> {
    let mut groups: Vec<BTreeSet<u32>> = used.iter().map(|phi| BTreeSet::from([*phi])).collect();
    // First plain copies. Then values that come from another loop through a choice or a round of a
    // ring.
    for flows in [copied, flown] {
        for &phi in used {
            let Phi { first, next, .. } = &phis[phi as usize];
            for term in [first, next] {
                for other in flows(*term, terms) {
                    if other != phi && used.contains(&other) {
                        join_groups(&mut groups, phi, other, phis);
                    }
                }
            }
        }
    }
    groups
}

/// Splits a group of counters in loops behind each other if the first value of one is a choice.
/// Each then counts on its own.
pub fn split_counters(group: BTreeSet<u32>, phis: &[Phi], terms: &mut Terms) -> Vec<BTreeSet<u32>> {
    let mut chosen = false;
    let counts = group.iter().all(|phi| {
        let Phi { first, next, .. } = phis[*phi as usize];
        chosen |= matches!(terms.node(first), Node::Select(..));
        let width = terms.width_of(next);
        let own = terms.atom(Atom::Phi(*phi), width);
        let step = terms.difference(next, own);
        width >= 16 && terms.value(step).is_some()
    });
    if counts && chosen && group.len() > 1 {
        group.into_iter().map(|phi| BTreeSet::from([phi])).collect()
    } else {
        vec![group]
    }
}

/// Joins the groups of two phis, unless both groups have phis of one loop.
fn join_groups(groups: &mut Vec<BTreeSet<u32>>, phi: u32, other: u32, phis: &[Phi]) {
    let a = groups.iter().position(|group| group.contains(&phi));
    let b = groups.iter().position(|group| group.contains(&other));
    let (Some(a), Some(b)) = (a, b) else { return };
    if a == b {
        return;
    }
    let loops = |group: &BTreeSet<u32>| -> BTreeSet<u32> {
        group
            .iter()
            .map(|phi| phis[*phi as usize].in_loop)
            .collect()
    };
    if loops(&groups[a]).is_disjoint(&loops(&groups[b])) {
        let moved = groups.remove(a.max(b));
        groups[a.min(b)].extend(moved);
    }
}

/// The phi that a term is a copy of, possibly with a fixed number added.
fn copied(term: TermId, terms: &Terms) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    match terms.node(term) {
        Node::Atom(Atom::Phi(phi)) => {
            found.insert(*phi);
        }
        Node::Sum { parts, .. } => {
            for (part, factor) in parts {
                if let Node::Atom(Atom::Phi(phi)) = terms.node(*part) {
                    if *factor != 1 || !found.is_empty() {
                        return BTreeSet::new();
                    }
                    found.insert(*phi);
                } else if !is_launch(*part, terms) {
                    return BTreeSet::new();
                }
            }
        }
        _ => {}
    }
    found
}

/// The phis whose value a term may take over, up to a round of a ring: through choices, sums, and
/// bits that are flipped or masked. This is a guess. The machine of these phis is enumerated
/// afterwards.
fn flown(term: TermId, terms: &Terms) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut work = vec![term];
    let mut seen = BTreeSet::new();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        match terms.node(term) {
            Node::Atom(Atom::Phi(phi)) => {
                found.insert(*phi);
            }
            Node::Sum { parts, .. } => {
                work.extend(
                    parts
                        .iter()
                        .filter(|(_, factor)| *factor == 1)
                        .map(|(part, _)| *part),
                );
            }
            Node::Select(_, a, b) | Node::Binary(Binary::Xor | Binary::And, a, b) => {
                work.extend([*a, *b]);
            }
            Node::Extend { term, .. } | Node::Extract { term, .. } => work.push(*term),
            _ => {}
        }
    }
    found
}
