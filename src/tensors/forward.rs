//! The arrays per row tile `m`. If a file also has the arrays per CTA, both must describe the same tiles. A `BlockMask`
//! may have only these.

use super::error::Problem;
use super::error::Problems;
use super::model::BlockSparse;
use super::model::Builder;
use super::model::ExtentSource;
use super::model::TileKind;
use super::validate::Direction;

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

/// The number of column tiles for which the forward arrays of a `BlockMask` are made. Each of its rows has room for
/// all of them. `None` for arrays of another name, because nobody has defined their transposition.
pub(super) fn width(forward: &Direction<'_>) -> Option<usize> {
    let lists = [&forward.mask, &forward.full].into_iter().flatten();
    let widths = lists.map(|list| {
        let name = list.index.name();
        let of_mask = matches!(name, "kv_indices" | "full_kv_indices");
        list.width.filter(|_| of_mask)
    });
    let widths: Option<Vec<usize>> = widths.collect();
    let widths = widths?;
    let first = *widths.first()?;
    widths.iter().all(|width| *width == first).then_some(first)
}

/// The pattern per `n`, each list ascending: this is how PyTorch makes one direction of a
/// `BlockMask` from the other.
///
/// `forward` has its axes exchanged: its rows are `m`, its entries `n`.
pub(super) fn transposed(forward: &BlockSparse) -> BlockSparse {
    let mut builder = Builder::new();
    let mut full: Vec<Vec<u32>> = vec![Vec::new(); forward.m_blocks()];
    for m in 0..forward.n_blocks() {
        for n in forward.full_row(m) {
            full[*n as usize].push(m as u32);
        }
    }
    for (n, full) in full.iter().enumerate() {
        let masks = forward.visitors(n).iter();
        let masks = masks.filter(|m| full.binary_search(m).is_err());
        masks.for_each(|m| builder.tile(*m));
        builder.end_masks();
        full.iter().for_each(|m| builder.tile(*m));
        builder.end_row();
    }
    builder.finish(forward.n_blocks(), ExtentSource::Forward)
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
