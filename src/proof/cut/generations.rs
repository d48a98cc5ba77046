//! Guesses generations from parities: a numbering of the waits that agrees with every parity in the samples.

use std::collections::HashMap;
use std::collections::HashSet;

use super::Failure;
use super::trace;
use super::trace::Op;
use crate::certificate::cut::artefact::Generation;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::protocol::Protocol;

/// Reads off the parities which generation each wait stands for.
pub(super) fn generations(
    protocol: &Protocol,
    classes: &[Class],
    traced: &[(Vec<i64>, Vec<Vec<Op>>)],
) -> Result<Vec<Generation>, Failure> {
    // Whether numbering a wait in one way agrees with every parity.
    let fits = |class: usize, site: usize, whole: bool, first: i64| {
        let flow = &classes[class].flow;
        traced.iter().all(|(_, ops)| {
            let mut waits: HashMap<&trace::Element, i64> = HashMap::new();
            ops[class].iter().all(|op| {
                if !matches!(flow.sites[op.site].kind, Kind::WaitParity { .. }) {
                    return true;
                }
                let earlier = waits.entry(&op.element).or_default();
                let rounds = if whole { *earlier } else { op.rounds };
                *earlier += 1;
                op.site != site || (rounds + first + op.operand).rem_euclid(2) == 1
            })
        })
    };
    let mut all = Vec::new();
    for (class, this) in classes.iter().enumerate() {
        for (site, at) in this.flow.sites.iter().enumerate() {
            if !matches!(at.kind, Kind::WaitParity { .. }) {
                continue;
            }
            let candidates = [(false, 0), (false, 1), (true, 0), (true, 1)];
            let mut fitting = candidates.into_iter();
            let fitting = fitting.find(|(whole, first)| fits(class, site, *whole, *first));
            let Some((whole, first)) = fitting else {
                let text = &protocol.source[at.span.start..at.span.end];
                return Err(Failure::new(format!(
                    "the parity of `{text}` does not alternate from one round at a barrier to the next"
                )));
            };
            all.push(Generation {
                class,
                site,
                first,
                all: whole,
            });
        }
    }
    // Waits of one member at one object are numbered together if one of them has to be, or if they
    // would not come one after the other: a parity is only half of what is asked for.
    let object = |g: &Generation| (g.class, classes[g.class].flow.sites[g.site].object.0);
    let mut together: HashSet<(usize, usize)> = all.iter().filter(|g| g.all).map(object).collect();
    for generation in &all {
        let (class, id) = object(generation);
        let there = all.iter().copied();
        let there: Vec<Generation> = there.filter(|g| object(g) == (class, id)).collect();
        let fit = |g: &Generation| {
            [0, 1]
                .iter()
                .any(|first| fits(g.class, g.site, true, *first))
        };
        if !ascending(&there, traced) && there.iter().all(fit) {
            together.insert((class, id));
        }
    }
    for generation in &mut all {
        let (class, site) = (generation.class, generation.site);
        let object = classes[class].flow.sites[site].object.0;
        if together.contains(&(class, object)) {
            let first = [0, 1]
                .into_iter()
                .find(|first| fits(class, site, true, *first));
            generation.first = first.unwrap_or(generation.first);
            generation.all = true;
        }
    }
    Ok(all)
}

/// Whether a member waits for one generation after the other, by the waits of a class at an object
/// that are numbered by operation.
fn ascending(waits: &[Generation], traced: &[(Vec<i64>, Vec<Vec<Op>>)]) -> bool {
    let Some(class) = waits.first().map(|g| g.class) else {
        return true;
    };
    traced.iter().all(|(_, ops)| {
        let mut latest: HashMap<&trace::Element, i64> = HashMap::new();
        ops[class].iter().all(|op| {
            let known = waits.iter().find(|g| g.site == op.site && !g.all);
            let Some(known) = known else {
                return true;
            };
            let latest = latest.entry(&op.element).or_default();
            let generation = op.rounds + known.first;
            let next = (*latest..=*latest + 1).contains(&generation);
            *latest = generation;
            next
        })
    })
}
