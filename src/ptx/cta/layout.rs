//! How a piece of shared memory is cut into elements, so that two accesses are to one element exactly
//! if they have bytes in common.
//!
//! Memory that is used through addresses that move is a row of slots, as far apart as the addresses
//! move. Inside a slot, bytes that the same accesses touch are one class. Classes are then put
//! together as long as that brings no two accesses together, one of them a write, that have no byte in
//! common there: a tile that one warp writes and others read piece by piece is one element.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// The most slots of a row.
const MOST_SLOTS: i128 = 4096;

/// The most pieces in a slot, and the most steps to find out who has which.
const MOST_PIECES: usize = 4096;
const MOST_WORK: usize = 1 << 22;

/// The most accesses to a class that is put together.
const MOST_TOGETHER: usize = 200;

/// Bytes from here to there.
pub(in crate::ptx) type Bytes = (i128, i128);

/// A warp of a CTA of the cluster, if an access is over when it goes on.
type Owner = Option<(u32, u32)>;

/// The bytes of an access in a slot, whether it writes them, and who it is by.
type Part<'p> = (&'p Vec<Bytes>, bool, Owner);

/// An access, as far as its bytes go.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Use {
    /// From where to where, where what moves is at its least, and how far it moves at most.
    pub bytes: Vec<Bytes>,
    pub reach: i128,
    /// What it moves by; 0 if it does not move.
    pub step: i128,
    pub write: bool,
    /// Who it is by, where it is over when its member goes on.
    pub owner: Owner,
}

impl Use {
    /// The bytes that it may be about, at least and at most.
    pub fn hull(&self) -> Bytes {
        let from = self.bytes.first().map_or(0, |b| b.0);
        let to = self.bytes.last().map_or(0, |b| b.1);
        (from, to + self.reach)
    }
}

/// An element that an access is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptx) struct Piece {
    /// The slot, where what moves is at its least.
    pub slot: i128,
    pub class: usize,
    pub bytes: i128,
}

/// A piece of memory, cut up.
#[derive(Debug)]
pub(in crate::ptx) struct Layout {
    pub slots: i128,
    /// How far slots are apart.
    pub step: i128,
    pub classes: usize,
    /// The elements of each access.
    pub pieces: Vec<Vec<Piece>>,
    /// Where the first slot begins, and for each class its bytes in a slot.
    begin: i128,
    kinds: Vec<Vec<Bytes>>,
}

/// Cuts the memory of these accesses into elements; none if that is too much.
pub(in crate::ptx) fn layout(uses: &[Use]) -> Option<Layout> {
    let from = uses.iter().map(|u| u.hull().0).min()?;
    let to = uses.iter().map(|u| u.hull().1).max()?;
    let step = uses.iter().fold(0, |step, u| gcd(step, u.step));
    let moving = uses.iter().find(|u| u.step != 0);
    let (step, begin) = match moving {
        None => (to - from, from),
        // Slots begin where an access that moves begins.
        Some(one) => (step, from - (from - one.hull().0).rem_euclid(step)),
    };
    let slots = (to - 1 - begin).div_euclid(step) + 1;
    if step < 1 || slots > MOST_SLOTS {
        return None;
    }
    // The bytes of each access in each slot that it touches.
    let mut known: BTreeMap<(Vec<Bytes>, bool, Owner), usize> = BTreeMap::new();
    let mut parts: Vec<Vec<(i128, usize)>> = Vec::new();
    for one in uses {
        let mut inside: BTreeMap<i128, Vec<Bytes>> = BTreeMap::new();
        for (first, last) in &one.bytes {
            let (mut at, last) = (first - begin, last - begin);
            while at < last {
                let slot = at.div_euclid(step);
                let stop = last.min((slot + 1) * step);
                let place = slot * step;
                inside
                    .entry(slot)
                    .or_default()
                    .push((at - place, stop - place));
                at = stop;
            }
        }
        let mut mine = Vec::new();
        for (slot, bytes) in inside {
            let next = known.len();
            let key = (bytes, one.write, one.owner);
            mine.push((slot, *known.entry(key).or_insert(next)));
            if known.len() > MOST_PIECES {
                return None;
            }
        }
        parts.push(mine);
    }
    let mut all: Vec<Part<'_>> = vec![(&EMPTY, false, None); known.len()];
    for ((bytes, write, owner), number) in &known {
        all[*number] = (bytes, *write, *owner);
    }
    let classes = classes(&all)?;
    let pieces = parts.iter().map(|mine| {
        let mut pieces = Vec::new();
        for (slot, number) in mine {
            for (class, bytes) in classes.iter().enumerate() {
                let common = common(all[*number].0, bytes);
                if common > 0 {
                    pieces.push(Piece {
                        slot: *slot,
                        class,
                        bytes: common,
                    });
                }
            }
        }
        pieces
    });
    Some(Layout {
        slots,
        step,
        classes: classes.len(),
        pieces: pieces.collect(),
        begin,
        kinds: classes,
    })
}

static EMPTY: Vec<Bytes> = Vec::new();

impl Layout {
    /// Whether these bytes may be among those that are laid out.
    pub fn meets(&self, from: i128, to: i128) -> bool {
        let slot = (from - self.begin).div_euclid(self.step);
        let place = self.begin + slot * self.step;
        let wanted = [(from - place, to - place)];
        (0..self.slots).contains(&slot) && self.kinds.iter().any(|k| common(k, &wanted) > 0)
    }
}

/// How many bytes two sorted lists have in common.
fn common(a: &[Bytes], b: &[Bytes]) -> i128 {
    let (mut i, mut j, mut sum) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        sum += (x.1.min(y.1) - x.0.max(y.0)).max(0);
        if x.1 < y.1 {
            i += 1;
        } else {
            j += 1;
        }
    }
    sum
}

/// The classes of a slot's bytes.
fn classes(parts: &[Part<'_>]) -> Option<Vec<Vec<Bytes>>> {
    let mut ends: BTreeSet<i128> = BTreeSet::new();
    for (bytes, ..) in parts {
        ends.extend(bytes.iter().flat_map(|b| [b.0, b.1]));
    }
    let ends: Vec<i128> = ends.into_iter().collect();
    let mut touching: Vec<Vec<usize>> = vec![Vec::new(); ends.len()];
    let mut work = 0;
    for (number, (bytes, ..)) in parts.iter().enumerate() {
        for (from, to) in *bytes {
            let first = ends.partition_point(|e| e < from);
            let last = ends.partition_point(|e| e < to);
            work += last - first;
            if work > MOST_WORK {
                return None;
            }
            for who in touching.get_mut(first..last).unwrap_or_default() {
                who.push(number);
            }
        }
    }
    // Bytes that the same accesses touch, in the order of the first.
    let mut found: Vec<(Vec<Vec<usize>>, Vec<Bytes>)> = Vec::new();
    let mut same: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    for (index, who) in touching.into_iter().enumerate() {
        let (Some(from), Some(to)) = (ends.get(index), ends.get(index + 1)) else {
            break;
        };
        if who.is_empty() {
            continue;
        }
        let next = found.len();
        let class = *same.entry(who.clone()).or_insert(next);
        if class == next {
            found.push((vec![who], Vec::new()));
        }
        match found[class].1.last_mut() {
            Some(last) if last.1 == *from => last.1 = *to,
            _ => found[class].1.push((*from, *to)),
        }
    }
    let mut classes: Vec<(Vec<Vec<usize>>, Vec<Bytes>)> = Vec::new();
    for (who, bytes) in found {
        let mut whole = None;
        for (index, (others, _)) in classes.iter().enumerate().rev() {
            let together: Vec<Vec<usize>> = others.iter().chain(&who).cloned().collect();
            if meet(&together, parts) {
                whole = Some((index, together));
                break;
            }
        }
        match whole {
            Some((index, together)) => {
                classes[index].0 = together;
                classes[index].1.extend(bytes);
                classes[index].1.sort_unstable();
            }
            None => classes.push((who, bytes)),
        }
    }
    Some(classes.into_iter().map(|(_, bytes)| bytes).collect())
}

/// Whether any two accesses, one of them a write, have bytes in common in one of these classes. Two of
/// one member that are over when it goes on need not.
fn meet(classes: &[Vec<usize>], parts: &[Part<'_>]) -> bool {
    let all: BTreeSet<usize> = classes.iter().flatten().copied().collect();
    if all.len() > MOST_TOGETHER {
        return false;
    }
    all.iter().all(|a| {
        !parts[*a].1
            || all.iter().all(|b| {
                let one = parts[*a].2.is_some() && parts[*a].2 == parts[*b].2;
                one || classes.iter().any(|c| c.contains(a) && c.contains(b))
            })
    })
}

pub(in crate::ptx) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Random accesses share an element exactly where they share a byte, wherever what moves is.
    #[test]
    fn elements_are_shared_where_bytes_are() {
        let mut shared = 0;
        for seed in 0..2000 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let step = [4, 6, 16][random.random_range(0..3)];
            let mut uses = Vec::new();
            for owner in 0..random.random_range(2..6) {
                let moves = random.random_range(0..3) > 0;
                let from = random.random_range(0..20);
                let mut bytes = vec![(from, from + random.random_range(1..9))];
                if random.random_range(0..3) == 0 {
                    let next = bytes[0].1 + random.random_range(1..5);
                    bytes.push((next, next + random.random_range(1..9)));
                }
                uses.push(Use {
                    bytes,
                    reach: if moves { 3 * step } else { 0 },
                    step: if moves { step } else { 0 },
                    write: random.random_range(0..2) == 0,
                    owner: Some((0, owner)),
                });
            }
            let layout = layout(&uses).unwrap();
            let at = |one: usize, by: i128| {
                let moved: BTreeSet<(i128, usize)> = layout.pieces[one]
                    .iter()
                    .map(|p| (p.slot + by, p.class))
                    .collect();
                let bytes: BTreeSet<i128> = uses[one]
                    .bytes
                    .iter()
                    .flat_map(|(a, b)| *a..*b)
                    .map(|b| b + by * layout.step)
                    .collect();
                assert!(
                    moved
                        .iter()
                        .all(|(slot, _)| (0..layout.slots).contains(slot))
                );
                (moved, bytes)
            };
            for (a, first) in uses.iter().enumerate() {
                for (b, second) in uses.iter().enumerate().skip(a + 1) {
                    if !first.write && !second.write {
                        continue;
                    }
                    for i in 0..=first.reach / layout.step.max(1) {
                        for j in 0..=second.reach / layout.step.max(1) {
                            let i = if first.step == 0 { 0 } else { i };
                            let j = if second.step == 0 { 0 } else { j };
                            let ((e, x), (f, y)) = (at(a, i), at(b, j));
                            assert_eq!(e.is_disjoint(&f), x.is_disjoint(&y), "seed {seed}");
                            shared += usize::from(!x.is_disjoint(&y));
                        }
                    }
                }
            }
        }
        assert!(shared > 1000, "only {shared} pairs shared a byte");
    }

    /// One writes a tile, three read pieces of it that overlap: one element.
    #[test]
    fn a_tile_is_one_element() {
        let one = |bytes: Vec<Bytes>, write: bool, owner: u32| Use {
            bytes,
            reach: 0,
            step: 0,
            write,
            owner: Some((0, owner)),
        };
        let tile = |pieces: [Bytes; 3], second: bool| {
            layout(&[
                one(vec![(0, 392)], true, 0),
                one(vec![pieces[0]], false, 1),
                one(vec![pieces[1]], second, 2),
                one(vec![pieces[2]], false, 3),
            ])
        };
        let overlap = [(0, 136), (128, 264), (256, 392)];
        assert_eq!(tile(overlap, false).unwrap().classes, 1);
        // A piece that another one writes, and the two do not read, is told apart.
        let split = [(0, 128), (128, 264), (264, 392)];
        assert_eq!(tile(split, true).unwrap().classes, 2);
    }
}
