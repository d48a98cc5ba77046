//! Small parameter values, by their distance from the least ones.

use itertools::Itertools;

use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::unfold;

/// The values of a parameter up to this distance from its least.
fn values(domain: &Domain, radius: i64) -> Vec<i64> {
    match domain {
        Domain::AtLeast(lo) => (*lo..=lo.saturating_add(radius)).collect(),
        Domain::Range(lo, hi) => (*lo..=(*hi).min(lo.saturating_add(radius))).collect(),
        Domain::Set(all) => {
            let shown = usize::try_from(radius)
                .unwrap_or(usize::MAX)
                .saturating_add(1);
            all.iter().copied().take(shown).collect()
        }
    }
}

/// The parameter values, within the domain and the assumptions, whose greatest distance from
/// the least values is exactly `radius`; a listed set counts by position.
pub fn points(protocol: &Protocol, radius: i64) -> Vec<Vec<i64>> {
    if protocol.params.is_empty() {
        return if radius == 0 {
            vec![Vec::new()]
        } else {
            Vec::new()
        };
    }
    let all = protocol
        .params
        .iter()
        .map(|p| values(&p.domain, radius))
        .multi_cartesian_product();
    let inner: Vec<Vec<i64>> = protocol
        .params
        .iter()
        .map(|p| {
            if radius == 0 {
                Vec::new()
            } else {
                values(&p.domain, radius - 1)
            }
        })
        .collect();
    all.filter(|point| !point.iter().zip(&inner).all(|(x, seen)| seen.contains(x)))
        .filter(|point| unfold::check_params(protocol, point).is_ok())
        .collect()
}

/// Whether no parameter has values beyond this distance.
pub fn covers_domain(protocol: &Protocol, radius: i64) -> bool {
    protocol.params.iter().all(|p| match &p.domain {
        Domain::AtLeast(_) => false,
        Domain::Range(lo, hi) => hi.saturating_sub(*lo) <= radius,
        Domain::Set(all) => (all.len() as i64) <= radius.saturating_add(1),
    })
}

/// The values up to a distance, in words.
pub fn describe(protocol: &Protocol, radius: i64) -> String {
    if protocol.params.is_empty() {
        return "for the protocol as it stands".to_owned();
    }
    let each = protocol.params.iter().map(|p| {
        let list = values(&p.domain, radius);
        match (&p.domain, list.first(), list.last()) {
            (Domain::Set(_), _, _) | (_, None, _) | (_, _, None) => {
                format!("{} in {{{}}}", p.name, list.iter().join(", "))
            }
            (_, Some(lo), Some(hi)) if lo == hi => format!("{} = {lo}", p.name),
            (_, Some(lo), Some(hi)) => format!("{} in {lo}..={hi}", p.name),
        }
    });
    format!("for {}", each.collect::<Vec<_>>().join(", "))
}
