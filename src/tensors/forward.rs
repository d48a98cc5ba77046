//! The arrays per row tile `m`, where a file has them too: they must describe the same tiles.

use super::error::Problem;
use super::error::Problems;
use super::model::BlockSparse;
use super::model::TileKind;

/// Notes the first tile, by `n` and then `m`, on which the two directions disagree.
///
/// `forward` has its axes exchanged: its rows are `m`, its entries `n`.
pub(super) fn compare(backward: &BlockSparse, forward: &BlockSparse, problems: &mut Problems) {
    let mut transposed: Vec<Vec<(u32, TileKind)>> = vec![Vec::new(); backward.n_blocks()];
    for entry in forward.entries() {
        if let Some(row) = transposed.get_mut(entry.m as usize) {
            row.push((entry.n, entry.kind));
        }
    }
    let mut first = None;
    let mut count = 0;
    for (n, theirs) in transposed.iter().enumerate() {
        let masks = backward.mask_row(n).iter().map(|&m| (m, TileKind::Mask));
        let fulls = backward.full_row(n).iter().map(|&m| (m, TileKind::Full));
        let mut ours: Vec<(u32, TileKind)> = masks.chain(fulls).collect();
        ours.sort_unstable();
        for (m, ours, theirs) in differences(&ours, theirs) {
            count += 1;
            first.get_or_insert((n, m as usize, ours, theirs));
        }
    }
    if let Some((n, m, ours, theirs)) = first {
        problems.push(Problem::Directions {
            n,
            m,
            backward: word(ours),
            forward: word(theirs),
            count,
        });
    }
}

type Difference = (u32, Option<TileKind>, Option<TileKind>);

fn differences(ours: &[(u32, TileKind)], theirs: &[(u32, TileKind)]) -> Vec<Difference> {
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    loop {
        match (ours.get(i), theirs.get(j)) {
            (None, None) => return found,
            (Some(&(m, kind)), other) if other.is_none_or(|other| m < other.0) => {
                found.push((m, Some(kind), None));
                i += 1;
            }
            (Some(&(m, kind)), Some(&(other, other_kind))) if m == other => {
                if kind != other_kind {
                    found.push((m, Some(kind), Some(other_kind)));
                }
                i += 1;
                j += 1;
            }
            (_, Some(&(m, kind))) => {
                found.push((m, None, Some(kind)));
                j += 1;
            }
            (Some(_), None) => i += 1,
        }
    }
}

fn word(kind: Option<TileKind>) -> &'static str {
    match kind {
        Some(TileKind::Mask) => "a mask entry",
        Some(TileKind::Full) => "a full entry",
        None => "not visited",
    }
}
