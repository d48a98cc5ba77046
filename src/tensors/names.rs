//! The known names of arrays in files, and the meaning of each.
//!
//! Two vocabularies name the same lists. The first is `mask_block_cnt` and its relatives. The second is the fields of
//! PyTorch's `BlockMask`: `q_num_blocks` has the counts per column tile of keys, and `kv_num_blocks` has those per
//! row tile of queries (the forward direction).

use super::error::Problem;
use super::error::Problems;

/// Which of the arrays that make up one list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Entries per row.
    Count,
    /// Where each row starts.
    Offset,
    /// The entries.
    Index,
}

/// What a known name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Part of a list.
    List {
        /// Per `m` instead of per `n`.
        forward: bool,
        /// The full tiles instead of the partially masked ones.
        full: bool,
        /// Which part.
        part: Part,
    },
    /// The number of row tiles M.
    RowTiles,
    /// The number of column tiles N.
    ColumnTiles,
    /// A 0/1 matrix, rows `n`, columns `m`.
    Matrix,
}

const fn list(forward: bool, full: bool, part: Part) -> Role {
    Role::List {
        forward,
        full,
        part,
    }
}

const KNOWN: [(&str, Role); 25] = [
    ("mask_block_cnt", list(false, false, Part::Count)),
    ("mask_block_offset", list(false, false, Part::Offset)),
    ("mask_block_idx", list(false, false, Part::Index)),
    ("full_block_cnt", list(false, true, Part::Count)),
    ("full_block_offset", list(false, true, Part::Offset)),
    ("full_block_idx", list(false, true, Part::Index)),
    ("fwd_mask_block_cnt", list(true, false, Part::Count)),
    ("fwd_mask_block_offset", list(true, false, Part::Offset)),
    ("fwd_mask_block_idx", list(true, false, Part::Index)),
    ("fwd_full_block_cnt", list(true, true, Part::Count)),
    ("fwd_full_block_offset", list(true, true, Part::Offset)),
    ("fwd_full_block_idx", list(true, true, Part::Index)),
    ("q_num_blocks", list(false, false, Part::Count)),
    ("q_indices", list(false, false, Part::Index)),
    ("full_q_num_blocks", list(false, true, Part::Count)),
    ("full_q_indices", list(false, true, Part::Index)),
    ("kv_num_blocks", list(true, false, Part::Count)),
    ("kv_indices", list(true, false, Part::Index)),
    ("full_kv_num_blocks", list(true, true, Part::Count)),
    ("full_kv_indices", list(true, true, Part::Index)),
    ("m_blocks", Role::RowTiles),
    ("num_m_blocks", Role::RowTiles),
    ("n_blocks", Role::ColumnTiles),
    ("num_n_blocks", Role::ColumnTiles),
    ("matrix", Role::Matrix),
];

/// What a name stands for, if it is known.
pub(super) fn role(name: &str) -> Option<Role> {
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    known.map(|(_, role)| *role)
}

/// The role in which an array of a file is read. `None` if the array is skipped; this is a problem if its name is
/// nearly a known one. An `only` array of a file is a matrix, whatever its name.
pub(super) fn wanted(name: &str, only: bool, problems: &mut Problems) -> Option<Role> {
    let found = role(name).or(only.then_some(Role::Matrix));
    if found.is_none()
        && let Some(meant) = nearest(name)
    {
        problems.push(Problem::Typo {
            found: name.to_owned(),
            meant: meant.to_owned(),
        });
    }
    found
}

/// The known name that an unknown name was probably meant to be. It differs by at most two edits, or by one if the
/// known name has at most eight characters.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let near = |known: &str| {
        let allowed = if known.len() > 8 { 2 } else { 1 };
        known.len().abs_diff(name.len()) <= allowed && distance(known, name) <= allowed
    };
    let extra = ["forward"];
    let names = KNOWN.iter().map(|(known, _)| *known).chain(extra);
    names
        .filter(|known| near(known))
        .min_by_key(|known| distance(known, name))
}

/// Levenshtein's edit distance, in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_slips_are_recognized_and_other_names_are_not() {
        assert_eq!(nearest("mask_block_ofset"), Some("mask_block_offset"));
        assert_eq!(nearest("mask_blok_indx"), Some("mask_block_idx"));
        assert_eq!(nearest("full_block_cont"), Some("full_block_cnt"));
        assert_eq!(nearest("M_blocks"), Some("m_blocks"));
        assert_eq!(nearest("origin"), None);
        assert_eq!(nearest("softmax_scale"), None);
    }

    #[test]
    fn no_known_name_is_taken_for_another() {
        for (name, _) in KNOWN {
            assert_eq!(nearest(name), Some(name));
        }
    }
}
