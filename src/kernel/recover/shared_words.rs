//! Words in shared memory that one warp stores and others load behind a barrier of all threads.
//!
//! ```text
//! warp 0: word = n; sync all         warp 1: sync all; x = word       // x is n
//! ```
//!
//! All warps wait in each generation of such a barrier. So the n-th barrier of a warp is the n-th generation. Take a
//! load between the n-th and the n+1-th barrier of its warp. A store that stands before the n-th barrier of its warp
//! is done by then. A store that stands behind the n+1-th barrier of its warp has not begun. So the load sees the
//! last store before the n-th barrier, if no warp stores to these bytes between its n-th and n+1-th barrier. Every
//! warp has to wait at the barrier: with `bar.arrive`, nothing is known of any word.
//!
//! What warps store may depend on what they load. So all warps are walked repeatedly, each time with the stores that
//! were found before, until nothing changes (see [`SharedWords::are_settled`]).
//!
//! [`SharedWords`] says which stores are not followed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::VariableId;
use crate::recover::term::TermId;

pub const ASSUMPTION: &str = "words of shared memory that decide about synchronization are written by stores to fixed places only: no copy, \
     and no store to a computed address, reaches them";

/// Stands for every barrier.
const ANY: u32 = u32::MAX;

/// A byte in the shared memory of one CTA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Byte {
    pub rank: u32,
    pub variable: VariableId,
    pub offset: u32,
}

/// How often a warp has come to each barrier of all threads at a place of its program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    /// By barrier. `None` if the number is not known.
    met: BTreeMap<u32, Option<u32>>,
    /// Whether no count is known, as in a loop.
    pub lost: bool,
    /// Whether the warp may take another path that does not come here.
    pub perhaps: bool,
    /// The lanes that have accessed words that may be handed over by mbarriers: in this iteration
    /// of the innermost loop, and since all lanes of the warp last came together.
    pub loose: u32,
}

impl Position {
    /// Notes that the warp comes to a barrier of all threads.
    pub fn meet(&mut self, barrier: u32) {
        let count = self.met.entry(barrier).or_insert(Some(0));
        *count = count.and_then(|count| count.checked_add(1));
    }

    /// Notes that its count at a barrier is not known from here on.
    pub fn lose(&mut self, barrier: u32) {
        self.met.insert(barrier, None);
    }

    /// Notes that its count is not known at any barrier from here on.
    pub fn lose_all(&mut self) {
        self.lost = true;
        self.lose(ANY);
    }

    /// The position at the head of a loop.
    pub fn in_loop(&self) -> Self {
        Self {
            met: BTreeMap::new(),
            lost: true,
            perhaps: self.perhaps,
            loose: 0,
        }
    }

    /// The position behind a loop with these positions at its ends.
    pub fn behind_loop<'p>(&self, ends: impl Iterator<Item = &'p Self>) -> Self {
        let mut behind = self.clone();
        for barrier in ends.flat_map(|end| end.met.keys()) {
            behind.lose(*barrier);
            behind.lost |= *barrier == ANY;
        }
        behind
    }

    fn count(&self, barrier: u32) -> Option<u32> {
        if self.lost {
            return None;
        }
        self.met.get(&barrier).copied().unwrap_or(Some(0))
    }

    /// The part of a position that matters for words that are handed over at barriers.
    pub fn of_words(&self) -> Self {
        Self {
            loose: 0,
            ..self.clone()
        }
    }

    /// The position where two paths meet.
    pub fn joined(&self, other: &Self) -> Self {
        let barriers: BTreeSet<u32> = self.met.keys().chain(other.met.keys()).copied().collect();
        let met = barriers.into_iter().map(|barrier| {
            let count = self.count(barrier);
            (barrier, count.filter(|_| count == other.count(barrier)))
        });
        Self {
            met: met.collect(),
            lost: self.lost || other.lost,
            perhaps: self.perhaps || other.perhaps,
            loose: self.loose | other.loose,
        }
    }
}

/// A part of a stored value: a byte of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub term: TermId,
    /// Counted from the lowest byte.
    pub byte: u32,
}

/// A store to a byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    pub byte: Byte,
    /// `None` if the value is not known.
    pub part: Option<Part>,
    /// The lanes that store.
    pub lanes: u32,
    pub position: Position,
}

impl Byte {
    /// Stands for any byte, for a store that is not followed.
    pub const ANY: Self = Self {
        rank: u32::MAX,
        variable: VariableId(u32::MAX),
        offset: 0,
    };
}

/// The stores of a warp to fixed places, in their order.
pub type Stores = Vec<Store>;

type Warp = (u32, u32);

/// What the warps of a kernel store.
///
/// Atomic operations and `stmatrix` store unknown values. If a store to a fixed place stands in
/// code that is not followed, nothing is known of any word. If a copy or a store to a computed
/// place goes to an array of known size, nothing is known of its words. Other stores to computed
/// places are assumed to go elsewhere. For example, Triton has all of its shared memory in one
/// array without a size.
#[derive(Debug, Default)]
pub struct SharedWords {
    /// The stores that the walk before has found.
    known: BTreeMap<Warp, Stores>,
    /// The stores that this walk finds.
    pub found: BTreeMap<Warp, Stores>,
    /// Whether there was a load from a fixed place.
    pub asked: bool,
    /// The loads that got a value: their blocks, and their places in them.
    pub answered: BTreeSet<(BlockId, u32)>,
}

impl SharedWords {
    /// Whether this walk has found the same stores as the one before.
    ///
    /// By induction over time, every load then gives the value that the walk has used for it: up to
    /// the first load with another value, all stores are those that were found.
    pub fn are_settled(&self) -> bool {
        self.known == self.found
    }

    /// Begins another walk, with the stores that this one has found.
    pub fn again(&mut self) {
        self.known = std::mem::take(&mut self.found);
        self.answered.clear();
    }

    /// Whether any store is known.
    pub fn are_known(&self) -> bool {
        self.known.values().any(|stores| !stores.is_empty())
    }

    /// The value of a byte for a warp of its CTA at a position.
    pub fn at(&self, byte: Byte, position: &Position) -> Option<Part> {
        let mut stores = self.known.values().flatten();
        if position.lost || stores.any(|store| store.byte == Byte::ANY) {
            return None;
        }
        let mut counted = position.met.iter().filter_map(|(barrier, count)| {
            let count = count.filter(|count| *count > 0)?;
            Some((*barrier, count))
        });
        counted.find_map(|(barrier, count)| self.behind(byte, barrier, count))
    }

    /// The value of a byte between a generation of a barrier and the next one.
    fn behind(&self, byte: Byte, barrier: u32, generation: u32) -> Option<Part> {
        // The generation of the last store, and the value that it leaves.
        let mut last: Option<(u32, Option<Part>)> = None;
        for ((rank, _), stores) in &self.known {
            let mut of_warp: Option<(u32, Option<Part>)> = None;
            let mut before: Vec<&Store> = Vec::new();
            for store in stores.iter().filter(|store| store.byte == byte) {
                // The barriers of another CTA are other barriers.
                if *rank != byte.rank {
                    return None;
                }
                let at = store.position.count(barrier)?;
                if at > generation {
                    continue;
                }
                if at == generation || store.position.perhaps {
                    return None;
                }
                // Stores by lanes that do not wait for each other have no order.
                let apart = before.iter().any(|before| {
                    before.lanes != store.lanes
                        && before.part != store.part
                        && before.position == store.position
                });
                let part = store.part.filter(|_| !apart);
                before.push(store);
                of_warp = Some((at, part));
            }
            last = match (last, of_warp) {
                (Some(one), Some(two)) if one.0 == two.0 && one.1 != two.1 => return None,
                (Some(one), Some(two)) => Some(if one.0 >= two.0 { one } else { two }),
                (one, two) => one.or(two),
            };
        }
        last.and_then(|(_, part)| part)
    }
}
