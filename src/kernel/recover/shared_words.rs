//! Words in shared memory that one warp stores and others load behind a barrier of all threads.
//!
//! The n-th time that a warp comes to a barrier with a number, as one of all threads of the CTA, is the n-th
//! generation of that barrier of all threads, for every warp. So a store before the n-th time of its warp is done when
//! another warp has passed its n-th time, and a store behind the n+1-th time has not begun before that warp comes to its
//! n+1-th. A load between the two sees the last of the stores before, if no store to the same bytes lies between
//! the n-th and the n+1-th time of its warp.
//!
//! What warps store may depend on what they load. So all warps are walked again and again, each time with the stores
//! that were found the time before, until nothing changes. By induction over time every load then gives what it
//! was taken to give: up to the first load that did not, the stores were those that were found.
//!
//! That holds while every warp waits where it comes to such a barrier: with `bar.arrive` nothing is known of any word.
//!
//! Atomic operations and `stmatrix` count as stores of what is not known. Where a store to a fixed place stands in what is not
//! followed, nothing is known of any word. Nor is it of words in an array of a known size to which a store goes at a computed
//! place, or a copy. Other stores whose address is not a constant are left out; that they go elsewhere is an assumption. Triton has
//! all of its shared memory in one array without a size.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::VariableId;
use crate::recover::term::TermId;

pub const ASSUMPTION: &str = "words of shared memory that decide about synchronization are written by stores to fixed places only: no copy, \
     and no store to a computed address, reaches them";

/// Stands for every barrier.
const ANY: u32 = u32::MAX;

/// A byte of the shared memory of the CTA of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Byte {
    pub rank: u32,
    pub variable: VariableId,
    pub offset: u32,
}

/// How often a warp has come to each barrier of all threads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    /// `None` where it is not known.
    met: BTreeMap<u32, Option<u32>>,
    /// Whether nothing is known, as in a loop.
    pub lost: bool,
    /// Whether it may be that the warp does not come here.
    pub perhaps: bool,
    /// The lanes that have read or written words that may be handed over by mbarriers, in this round of the innermost loop,
    /// since all lanes of the warp came together.
    pub loose: u32,
}

impl Position {
    /// The warp comes to a barrier of all threads.
    pub fn meet(&mut self, barrier: u32) {
        let count = self.met.entry(barrier).or_insert(Some(0));
        *count = count.and_then(|count| count.checked_add(1));
    }

    /// How often it comes to a barrier is not known from here on.
    pub fn lose(&mut self, barrier: u32) {
        self.met.insert(barrier, None);
    }

    /// How often it comes to any barrier is not known from here on.
    pub fn lose_all(&mut self) {
        self.lost = true;
        self.lose(ANY);
    }

    /// At the head of a loop.
    pub fn in_loop(&self) -> Self {
        Self {
            met: BTreeMap::new(),
            lost: true,
            perhaps: self.perhaps,
            loose: 0,
        }
    }

    /// Behind a loop in which it comes to these places.
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

    /// As it matters for words that are handed over at barriers.
    pub fn of_words(&self) -> Self {
        Self {
            loose: 0,
            ..self.clone()
        }
    }

    /// Where two ways meet.
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

/// A part of what is stored: a byte of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub term: TermId,
    /// From the lowest.
    pub byte: u32,
}

/// A store to a byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    pub byte: Byte,
    /// `None` where it is not known.
    pub part: Option<Part>,
    /// The lanes that do it.
    pub lanes: u32,
    pub position: Position,
}

impl Byte {
    /// Stands for any byte: of a store that is not followed.
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
#[derive(Debug, Default)]
pub struct SharedWords {
    /// As it was found the time before.
    known: BTreeMap<Warp, Stores>,
    /// As it is found this time.
    pub found: BTreeMap<Warp, Stores>,
    /// Whether a load from a fixed place was met.
    pub asked: bool,
    /// The loads that were answered: their blocks, and their places in them.
    pub answered: BTreeSet<(BlockId, u32)>,
}

impl SharedWords {
    /// Whether what was found is what was known before.
    pub fn are_settled(&self) -> bool {
        self.known == self.found
    }

    /// Begins anew, with what was found.
    pub fn again(&mut self) {
        self.known = std::mem::take(&mut self.found);
        self.answered.clear();
    }

    /// Whether any store is known.
    pub fn are_known(&self) -> bool {
        self.known.values().any(|stores| !stores.is_empty())
    }

    /// What a byte holds for a warp of its CTA at a position.
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

    /// What a byte holds between a generation of a barrier and the next one.
    fn behind(&self, byte: Byte, barrier: u32, generation: u32) -> Option<Part> {
        // The generation of the last store, and what it leaves.
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
                // Lanes that do not wait for each other are in no order.
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
