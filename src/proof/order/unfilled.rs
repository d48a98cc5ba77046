//! Guesses which last arrivals expect bytes that are never delivered. These arrivals come after all loops, at
//! elements at which the same class has arrived before.

use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Site;
use crate::certificate::order::rule::Rule;

/// Arrivals that might be unfilled: class and operation.
pub(super) fn candidates(rule: &Rule<'_>) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (class, this) in rule.classes.iter().enumerate() {
        let sites = &this.flow.sites;
        let behind = |at: usize| sites[at..].iter().all(|site| site.path.loops.is_empty());
        for ring in rule.rings.iter().filter(|ring| !ring.brings(class)) {
            // Those that come after other arrivals at the same elements.
            let last = ring.arrivals_of(class).skip(1);
            let last = last.filter(|at| behind(*at));
            all.extend(last.filter(|at| open(sites, *at)).map(|at| (class, at)));
        }
    }
    all
}

/// Whether an arrival expects bytes, and none are delivered behind it at the same element.
fn open(sites: &[Site], at: usize) -> bool {
    let this = &sites[at];
    let same = |site: &&Site| site.object == this.object && site.index == this.index;
    let expected = sites[..at].iter().rev().take_while(same);
    let delivered = sites[at..].iter().filter(same);
    expected
        .clone()
        .any(|site| matches!(site.kind, Kind::Expect { .. }))
        && !delivered
            .clone()
            .any(|site| matches!(site.kind, Kind::Deliver { .. }))
}
