//! The successor relation: CTA b follows CTA a at row tile m if b's turn there comes directly after a's.
//!
//! The relation is defined if every turn has exactly one owner. It has at most one pair per visited tile, and all
//! algorithms here are linear in the number of pairs.

use super::bench::Bench;
use super::visits::FirstTiles;

/// The visitors of every row tile, in the order of their turns.
pub(super) fn in_turn(bench: &Bench) -> impl Iterator<Item = Vec<u32>> + '_ {
    (0..bench.turns.m_blocks()).map(|m| {
        let mut turns = bench.turns.at(m).to_vec();
        turns.sort_unstable_by_key(|turn| turn.lock);
        turns.into_iter().map(|turn| turn.n).collect()
    })
}

/// For each CTA, whether it follows another CTA at some tile.
pub(super) fn followers(bench: &Bench) -> Vec<bool> {
    let mut follows = vec![false; bench.n_blocks()];
    for owners in in_turn(bench) {
        for n in owners.into_iter().skip(1) {
            follows[n as usize] = true;
        }
    }
    follows
}

/// For every CTA that follows another one, a tile where it does.
pub(super) fn waiting_first(bench: &Bench) -> FirstTiles {
    let mut first = FirstTiles::new();
    for (m, owners) in in_turn(bench).enumerate() {
        for n in owners.into_iter().skip(1) {
            first.entry(n as usize).or_insert_with(|| vec![m as u32]);
        }
    }
    first
}

/// A cycle of the relation: for each CTA on it, the tile where it follows the previous one.
pub(super) fn cycle(bench: &Bench) -> Option<FirstTiles> {
    let count = bench.n_blocks();
    // Per CTA: the CTAs that follow it, with the tiles; and how many CTAs it follows.
    let mut after: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
    let mut before: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
    for (m, owners) in in_turn(bench).enumerate() {
        for pair in owners.windows(2) {
            after[pair[0] as usize].push((pair[1], m as u32));
            before[pair[1] as usize].push((pair[0], m as u32));
        }
    }
    let mut missing: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut free: Vec<usize> = (0..count).filter(|n| missing[*n] == 0).collect();
    let mut removed = vec![false; count];
    while let Some(n) = free.pop() {
        removed[n] = true;
        for (next, _) in &after[n] {
            missing[*next as usize] -= 1;
            if missing[*next as usize] == 0 {
                free.push(*next as usize);
            }
        }
    }
    // Every remaining CTA follows another remaining one. So walking back from one to the next ends in a cycle.
    let mut at = removed.iter().position(|removed| !removed)?;
    let mut path: Vec<(usize, u32)> = Vec::new();
    let mut met = vec![None; count];
    loop {
        if let Some(from) = met[at] {
            return Some(shortened(&path[from..]));
        }
        met[at] = Some(path.len());
        let (previous, m) = before[at].iter().find(|(n, _)| !removed[*n as usize])?;
        path.push((at, *m));
        at = *previous as usize;
    }
}

/// The first tiles for a cycle in which no two consecutive CTAs follow at the same tile. If two did, the later one
/// also follows the predecessor of the earlier one at this tile, and the cycle can be shortened.
fn shortened(path: &[(usize, u32)]) -> FirstTiles {
    let mut kept: Vec<(usize, u32)> = path.to_vec();
    let mut at = 0;
    while kept.len() > 2 && at < kept.len() {
        let next = (at + 1) % kept.len();
        if kept[at].1 == kept[next].1 {
            kept.remove(next);
            at = 0;
        } else {
            at += 1;
        }
    }
    kept.into_iter().map(|(n, m)| (n, vec![m])).collect()
}
