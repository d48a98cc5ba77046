//! Whether the warps of a CTA come to its barriers alike.

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Role;

/// Whether all warps of a CTA come to the barriers of all its threads alike, where a CTA has so many warps, and all warps of
/// the cluster to its barrier.
pub fn meet_alike(roles: &[Role], warps: u32) -> bool {
    let threads = i128::from(warps) * 32;
    let of_cta = |action: &Action| matches!(action, Action::Sync { threads: counted, .. } if counted.as_constant() == Some(threads));
    let of_cluster =
        |action: &Action| matches!(action, Action::ClusterArrive | Action::ClusterWait);
    let mut met: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    let mut met_by_cluster: Option<Vec<Line>> = None;
    roles.iter().all(|role| {
        let mine = meetings(&role.lines, &of_cta);
        let others = meetings(&role.lines, &of_cluster);
        *met.entry(role.rank).or_insert_with(|| mine.clone()) == mine
            && *met_by_cluster.get_or_insert_with(|| others.clone()) == others
    })
}

/// What is left of lines without all but some barriers.
fn meetings(lines: &[Line], which: &dyn Fn(&Action) -> bool) -> Vec<Line> {
    let location = Location::default;
    lines
        .iter()
        .filter_map(|line| match line {
            Line::Action { action, .. } => which(action).then(|| Line::Action {
                action: action.clone(),
                location: location(),
            }),
            Line::For { count, body, .. } => {
                let body = meetings(body, which);
                (!body.is_empty()).then(|| Line::For {
                    index: 0,
                    count: count.clone(),
                    body,
                    location: location(),
                })
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let (then, otherwise) = (meetings(then, which), meetings(otherwise, which));
                (!then.is_empty() || !otherwise.is_empty()).then(|| Line::If {
                    condition: condition.clone(),
                    then,
                    otherwise,
                    location: location(),
                })
            }
            Line::Let { .. } | Line::Assign { .. } => None,
            Line::Return => Some(Line::Return),
        })
        .collect()
}
