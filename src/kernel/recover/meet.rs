//! Whether the warps of a CTA come to its barriers alike.

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Role;

/// Whether all warps of a CTA come to the barriers of all its threads alike, where a CTA has so many warps.
pub fn meet_alike(roles: &[Role], warps: u32) -> bool {
    let threads = i128::from(warps) * 32;
    let mut met: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    roles.iter().all(|role| {
        let mine = meetings(&role.lines, threads);
        *met.entry(role.rank).or_insert_with(|| mine.clone()) == mine
    })
}

/// What is left of lines without all but the barriers of all threads.
fn meetings(lines: &[Line], threads: i128) -> Vec<Line> {
    let location = Location::default;
    lines
        .iter()
        .filter_map(|line| match line {
            Line::Action { action, .. } => {
                let all = matches!(action, Action::Sync { threads: counted, .. } if counted.as_constant() == Some(threads));
                all.then(|| Line::Action {
                    action: action.clone(),
                    location: location(),
                })
            }
            Line::For { count, body, .. } => {
                let body = meetings(body, threads);
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
                let (then, otherwise) = (meetings(then, threads), meetings(otherwise, threads));
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
