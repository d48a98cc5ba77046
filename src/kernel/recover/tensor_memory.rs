//! Tensor memory: checks that what is allocated is given back, and that nobody allocates after the CTA's permit to
//! allocate has been given up.
//!
//! For example, a warp allocates 64 columns and gives 32 back. Then no later CTA of the multiprocessor can have the
//! others. PTX requires that all of them are given back before the kernel ends.
//!
//! Each warp is followed line by line. What it holds, the number of open allocations of each size, has to be the same
//! at the end of both sides of a branch, and at the beginning and the end of an iteration. Then it is the same in
//! every run, and the sums over the warps of a CTA say whether everything is given back. One warp may give back what
//! another has allocated, so a number of a single warp may be negative. If what a warp holds depends on its path, it
//! is assumed, and printed, that everything is given back.
//!
//! Source: PTX ISA, "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit".

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::rewrite::without;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::tree::Obstacle;
use crate::recover::tree::misused;
use crate::recover::tree::refuse;

/// The columns of the tensor memory of a multiprocessor.
const ALL: i128 = 512;

/// The assumption about every allocation, since columns are not followed across CTAs.
const SUFFICES: &str = "tensor memory suffices: an allocation of it does not block";

/// The assumption if what a warp holds depends on its path.
const GIVEN_BACK: &str = "tensor memory that is allocated is given back before the kernel ends";

/// How many allocations of each size are open. The number is negative if more were given back than
/// allocated.
type Held = BTreeMap<i128, i128>;

/// What the warps of a kernel do with tensor memory.
#[derive(Debug, Default)]
pub struct TensorMemory {
    /// By CTA of the cluster.
    ctas: BTreeMap<u32, Cta>,
    /// Whether what some warp holds depends on its path.
    unclear: bool,
}

#[derive(Debug, Default)]
struct Cta {
    held: Held,
    /// The most columns that its warps may hold at a time.
    most: i128,
    /// The warps that allocate, and those that give the permit back.
    allocating: BTreeSet<u32>,
    relinquishing: BTreeSet<u32>,
    /// The last place where tensor memory is asked for or given back.
    location: Location,
}

/// A warp at one place of its program.
#[derive(Debug, Clone, Default)]
struct Warp {
    held: Held,
    most: i128,
    allocates: bool,
    relinquished: bool,
    /// Whether what it holds here depends on its path.
    unclear: bool,
    /// Whether it has returned, and what it held wherever it returns.
    over: bool,
    ends: BTreeSet<Held>,
    location: Option<Location>,
}

impl TensorMemory {
    /// Notes what a warp does with tensor memory, and removes the marks for that from its lines.
    pub fn settle(&mut self, rank: u32, warp: u32, lines: &mut Vec<Line>) -> Result<(), Obstacle> {
        let mut at = Warp::default();
        at.follow(lines)?;
        if !at.over {
            at.end();
        }
        let Some(location) = at.location else {
            return Ok(());
        };
        without(lines, &is_mark);
        self.unclear |= at.unclear || at.ends.len() > 1;
        let cta = self.ctas.entry(rank).or_default();
        for (columns, open) in at.ends.into_iter().flatten() {
            *cta.held.entry(columns).or_default() += open;
        }
        cta.most += at.most;
        cta.location = location;
        if at.allocates {
            cta.allocating.insert(warp);
        }
        if at.relinquished {
            cta.relinquishing.insert(warp);
        }
        Ok(())
    }

    /// Checks that what all warps do fits together. Returns the assumptions on which that rests.
    pub fn check(&self) -> Result<Vec<&'static str>, Obstacle> {
        for cta in self.ctas.values() {
            let others = |warp: &u32| cta.relinquishing.iter().any(|other| other != warp);
            if cta.allocating.iter().any(others) {
                return refuse(
                    "one warp allocates tensor memory and another gives up the CTA's permit to allocate it: which comes \
                     first is not followed, and an allocation without the permit is undefined",
                    &cta.location,
                );
            }
            if cta.most > ALL {
                return refuse(
                    "a CTA may ask for more than 512 columns of tensor memory at a time, which is all there are: an allocation may wait forever",
                    &cta.location,
                );
            }
            if self.unclear {
                continue;
            }
            if cta.held.values().any(|open| *open > 0) {
                return misused(
                    "not all tensor memory that is allocated is given back before the kernel ends: this is undefined",
                    &cta.location,
                );
            }
            if cta.held.values().any(|open| *open < 0) {
                return misused(
                    "more tensor memory is given back than is allocated: this is undefined",
                    &cta.location,
                );
            }
        }
        let mut assumed = Vec::new();
        if !self.ctas.is_empty() {
            assumed.push(SUFFICES);
        }
        if self.unclear {
            assumed.push(GIVEN_BACK);
        }
        Ok(assumed)
    }
}

impl Warp {
    fn follow(&mut self, lines: &[Line]) -> Result<(), Obstacle> {
        for line in lines {
            if self.over {
                break;
            }
            match line {
                Line::Action { action, location } => self.act(action, location)?,
                Line::For { body, .. } => {
                    let before = self.held.clone();
                    // In the second iteration the permit is gone if the first one gave it up.
                    for _ in 0..2 {
                        let round = self.held.clone();
                        self.over = false;
                        self.follow(body)?;
                        self.unclear |= self.held != round;
                    }
                    self.over = false;
                    self.held = before;
                }
                Line::If {
                    then, otherwise, ..
                } => {
                    let mut other = self.clone();
                    self.follow(then)?;
                    other.follow(otherwise)?;
                    self.join(other);
                }
                Line::Return => self.end(),
                Line::Let { .. } | Line::Assign { .. } => {}
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.over = true;
        self.ends.insert(self.held.clone());
    }

    fn act(&mut self, action: &Action, location: &Location) -> Result<(), Obstacle> {
        match action {
            Action::Allocate { columns } => {
                if self.relinquished {
                    return misused(
                        "tensor memory is allocated after the CTA gave up its permit to allocate it: this is undefined",
                        location,
                    );
                }
                self.allocates = true;
                self.change(*columns, 1);
            }
            Action::Deallocate { columns } => self.change(*columns, -1),
            Action::Relinquish => self.relinquished = true,
            _ => return Ok(()),
        }
        self.location = Some(location.clone());
        Ok(())
    }

    fn change(&mut self, columns: i128, by: i128) {
        let open = self.held.entry(columns).or_default();
        *open += by;
        if *open == 0 {
            self.held.remove(&columns);
        }
        let held = self
            .held
            .iter()
            .filter(|(_, open)| **open > 0)
            .map(|(columns, open)| columns * open)
            .sum();
        self.most = self.most.max(held);
    }

    /// Joins the two sides of a branch. A side that has returned does not reach this place.
    fn join(&mut self, other: Self) {
        self.unclear |= other.unclear || (!self.over && !other.over && self.held != other.held);
        self.most = self.most.max(other.most);
        self.allocates |= other.allocates;
        self.relinquished |= other.relinquished;
        self.location = self.location.take().or(other.location);
        self.ends.extend(other.ends);
        if self.over {
            (self.over, self.held) = (other.over, other.held);
        }
    }
}

/// Whether an action marks a use of tensor memory.
fn is_mark(action: &Action) -> bool {
    matches!(
        action,
        Action::Allocate { .. } | Action::Deallocate { .. } | Action::Relinquish
    )
}
