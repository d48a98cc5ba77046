//! Finds the smallest input of a family that makes a scheme hang.
//!
//! A family is a source of patterns: sequence packing, or a window. The search goes through growing boxes of tiles.
//! In each box, the family's restriction (`packed`, `windows`) admits exactly the patterns of the family, visited in
//! the kernel's order. An input that is found is built by [`crate::tensors`], compared with the pattern of the
//! search, and replayed.
//!
//! *What smallest means.* For packings, the first goal is the number of tokens. A box of k tiles contains every
//! packing of up to `k * min(Tm, Tn)` tokens. So once a box has a failure, no packing with fewer tokens hangs, and no
//! packing with that many tokens and fewer segments hangs. A box also limits the counting loops of the protocol; if
//! there are any, this is reported. For windows, the goals are sq, sk, wl and wr in this order. The result is the
//! least among all sizes with at most as many tiles per axis as were searched.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::protocol::Protocol;
use crate::tensors::BlockSparse;
use crate::tensors::TensorError;
use crate::tensors::packing;
use crate::tensors::packing::Tiling;
use crate::tensors::windows::Window;
use crate::text::Narrowing;
use crate::verdict::decision::Decision;

use super::ReproError;
use super::failure::Failure;
use super::failure::open_pattern;
use super::hunt::Hunt;

/// The largest tile size accepted.
const LARGEST_TILE: u64 = 1 << 24;

/// A source of patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Packed sequences with full attention inside each.
    Packed,
    /// Packed sequences with causal attention inside each.
    PackedCausal,
    /// A causal window: the last query sees all keys.
    Causal,
    /// A window limited on both sides.
    Local,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 4] = [
        Family::Packed,
        Family::PackedCausal,
        Family::Causal,
        Family::Local,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Family::Packed => "packed",
            Family::PackedCausal => "packed-causal",
            Family::Causal => "causal",
            Family::Local => "local",
        }
    }
}

/// A pair of tile sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileSizes {
    /// Queries per row tile (Tm).
    pub m: u64,
    /// Keys per column tile (Tn).
    pub n: u64,
}

/// The input of a family that a pattern comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Packed sequences.
    Packing {
        /// The length of each segment, in tokens.
        lengths: Vec<u64>,
        /// Tile sizes and mask.
        tiling: Tiling,
    },
    /// A window.
    Window {
        /// Queries.
        sq: u64,
        /// Keys.
        sk: u64,
        /// Keys to the left of the aligned one; `None`: all.
        left: Option<u64>,
        /// Keys to the right of the aligned one.
        right: u64,
        /// Tile sizes.
        tile: TileSizes,
    },
}

impl Origin {
    /// The arrays that the kernel is given.
    ///
    /// # Errors
    /// Sizes beyond the limits of the arrays.
    pub fn tiles(&self) -> Result<BlockSparse, TensorError> {
        match self {
            Origin::Packing { lengths, tiling } => packing::pack(lengths, *tiling),
            Origin::Window {
                sq,
                sk,
                left,
                right,
                tile,
            } => {
                let window = Window::new(*sq, *sk, tile.m, tile.n)?.right(*right);
                let window = match left {
                    Some(left) => window.left(*left),
                    None => window,
                };
                window.classified()
            }
        }
    }
}

/// The result of a search through a family.
#[derive(Debug)]
pub enum Finding {
    /// The smallest failure.
    Hangs(Box<Failure>),
    /// The protocol is proved for all patterns, so none of the family can hang it.
    Proved(Box<Decision>),
    /// No failure in the boxes that were searched completely.
    Bounded {
        /// The inputs that were searched, as a fragment after "none".
        within: String,
        /// Why the search ended there, as a lowercase fragment.
        reason: String,
    },
    /// Nothing is known, with the reason as a lowercase fragment.
    Unknown(String),
}

/// The limits of a search.
#[derive(Clone)]
pub struct Settings<'a> {
    /// How long it may take.
    pub timeout: Duration,
    /// Ends the work soon after it becomes true.
    pub cancel: &'a AtomicBool,
    /// Is told what is being done.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

/// Searches a family for the smallest input that makes a protocol hang. `sizes` are the tile
/// sizes tried; the one with the smallest failure wins.
///
/// # Errors
/// A protocol without exactly one open pattern over column and row tiles, unusable tile sizes,
/// or two parts of the program that disagree.
pub fn smallest(
    protocol: &Protocol,
    narrowing: &Narrowing,
    family: Family,
    sizes: &[TileSizes],
    settings: &Settings<'_>,
) -> Result<Finding, ReproError> {
    let pattern = open_pattern(protocol).ok_or(ReproError::NoOpenPattern)?;
    for size in sizes {
        for (axis, tile) in [('m', size.m), ('n', size.n)] {
            if !(1..=LARGEST_TILE).contains(&tile) {
                return Err(ReproError::TileSize { axis, tile });
            }
        }
    }
    Hunt::new(protocol, family, pattern, sizes, settings).run(narrowing)
}
