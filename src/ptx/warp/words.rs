//! Words of global memory that are taken to be numbers of the launch, as `ld.global.nc` reads them.
//!
//! PTX demands that what `.nc` reads is not written while the kernel runs (PTX ISA, `ld.global.nc`). Kernels may break that rule. A
//! word behind a pointer at which the kernel itself writes is therefore no number of the launch. Writes behind other parameters do
//! not reach it, and neither do writes whose address is not followed: both are assumed, and printed.

use std::collections::BTreeSet;

/// Where pointers in different parameters are told apart.
pub(in crate::ptx) const APART: &str =
    "pointers that are different parameters, and what tensor maps describe, do not overlap";
const ELSEWHERE: &str = "stores and copies to addresses in global memory that Warplock cannot determine do not write words that decide about synchronization";

/// The global memory that a kernel writes.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Written {
    /// Behind pointers in these parameters, at these offsets.
    pub parameters: BTreeSet<(usize, i64)>,
    /// Also at addresses that are not followed.
    pub elsewhere: bool,
    /// Also by tensor maps.
    pub by_maps: bool,
}

impl Written {
    /// What is taken for granted where such words matter.
    pub fn assumptions(&self) -> impl Iterator<Item = &'static str> {
        let apart = (!self.is_nothing()).then_some(APART);
        apart.into_iter().chain(self.elsewhere.then_some(ELSEWHERE))
    }

    pub fn is_nothing(&self) -> bool {
        self.parameters.is_empty() && !self.elsewhere && !self.by_maps
    }
}

/// What a warp does with words of memory.
#[derive(Debug)]
pub(in crate::ptx) struct Words<'m> {
    /// Whether something is computed from words of memory, which are taken to be an `int` that is not negative.
    pub unsigned: bool,
    /// Whether something depends on words that are taken to be the same whenever they are read.
    pub constant: bool,
    pub written: &'m Written,
}
