//! Responses of cluster launch control: checks that all warps read the same responses.
//!
//! One warp repeatedly tries to take over the work of a cluster that has not started
//! (`clusterlaunchcontrol.try_cancel`). The response is written to shared memory and completes a
//! phase of an mbarrier. A warp that reads the response waits for that phase first. If all warps
//! read the same responses, their loops end with the same iteration. So the number of clusters that
//! are taken over is one unknown of all warps, `granted`:
//!
//! ```text
//! warp 0: for i in 0..granted + 1 { try, signals full[i % S] }
//! warp 1: for i in 0..granted + 1 { wait full[i % S] (i / S % 2); read the response }
//! ```
//!
//! This form is checked in the lowered lines. One warp tries, for all CTAs of the cluster, once in
//! each iteration of one loop. Each warp that reads does so once in each iteration of one loop,
//! behind a wait for the phase of that iteration.

use std::collections::BTreeSet;

use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// The assumption about all responses.
const ASSUMPTION: &str = "a response of cluster launch control stays in shared memory until every warp that waits for it has read it";

/// Mbarriers at equal distances, which successive rounds use in turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Ring {
    variable: VariableId,
    first: i128,
    distance: i128,
    stages: i128,
}

/// What the roles of a kernel do with responses.
#[derive(Debug, Default)]
pub struct Responses {
    tried: BTreeSet<Ring>,
    /// The CTAs that get responses, and how many roles try.
    told: BTreeSet<u32>,
    trying: u32,
    /// For each read of a response: the rings at which the warp has waited before it, for the phase
    /// of the same iteration. One of them has to be the ring of a response.
    asked: Vec<(BTreeSet<Ring>, Location)>,
}

impl Responses {
    /// Notes what a role does with responses, and removes the marks for that from its lines.
    pub fn settle(&mut self, lines: &mut Vec<Line>) -> Result<(), Obstacle> {
        let mut loops = 0;
        self.block(lines, None, 0, &mut loops)
    }

    /// Checks that what all roles do fits together. Returns the assumption if there are responses.
    pub fn check(&self, ctas: u32) -> Result<Option<&'static str>, Obstacle> {
        if self.tried.is_empty() && self.asked.is_empty() {
            return Ok(None);
        }
        let place = self
            .asked
            .first()
            .map(|(_, location)| location.clone())
            .unwrap_or_default();
        if self.trying != 1 || self.told.len() != ctas as usize {
            return refuse(
                "not one warp takes over clusters for all CTAs of its own: their responses may differ",
                &place,
            );
        }
        match self
            .asked
            .iter()
            .find(|(rings, _)| rings.is_disjoint(&self.tried))
        {
            Some((_, location)) => refuse(
                "a response of cluster launch control is read without a wait for the round that it is of",
                location,
            ),
            None => Ok(Some(ASSUMPTION)),
        }
    }

    fn block(
        &mut self,
        lines: &mut Vec<Line>,
        index: Option<u32>,
        depth: u32,
        loops: &mut u32,
    ) -> Result<(), Obstacle> {
        let mut waited = BTreeSet::new();
        let (mut asks, mut tries) = (false, BTreeSet::new());
        for line in &mut *lines {
            match line {
                Line::Action { action, location } => match (action, index) {
                    (Action::Wait { object, parity }, Some(index)) => {
                        waited.extend(
                            ring(object, index).filter(|ring| is_round(ring, parity, index)),
                        );
                    }
                    (Action::Asked, Some(_)) if depth == 1 && !asks => {
                        asks = true;
                        self.asked.push((waited.clone(), location.clone()));
                    }
                    (Action::Tried { object }, Some(index))
                        if depth == 1 && tries.insert(object.rank) =>
                    {
                        let Some(ring) = ring(object, index) else {
                            return refuse(
                                "the mbarriers of responses of cluster launch control are not used in turn",
                                location,
                            );
                        };
                        self.tried.insert(ring);
                    }
                    (Action::Asked | Action::Tried { .. }, _) => {
                        return refuse(
                            "cluster launch control is used elsewhere than once in each iteration of a loop",
                            location,
                        );
                    }
                    _ => {}
                },
                Line::For { index, body, .. } => {
                    self.block(body, Some(*index), depth + 1, loops)?;
                }
                Line::If {
                    then, otherwise, ..
                } => {
                    // A branch inside of a loop is not taken in every iteration.
                    let inside = if index.is_some() { depth + 1 } else { depth };
                    for side in [then, otherwise] {
                        self.block(side, None, inside, loops)?;
                    }
                }
                Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
            }
        }
        if asks || !tries.is_empty() {
            *loops += 1;
            if *loops > 1 {
                return refuse(
                    "a warp uses cluster launch control in several loops",
                    &Location::default(),
                );
            }
        }
        if !tries.is_empty() {
            self.trying += 1;
            self.told.extend(tries);
        }
        lines.retain(|line| {
            !matches!(
                line,
                Line::Action {
                    action: Action::Asked | Action::Tried { .. },
                    ..
                }
            )
        });
        Ok(())
    }
}

/// The ring whose mbarrier of round `index` is this object.
fn ring(object: &Object, index: u32) -> Option<Ring> {
    let mut parts = object.offset.parts.iter();
    let (distance, stages) = match (parts.next(), parts.next()) {
        (None, _) => (0, 1),
        (Some((Atomic::Remainder(inner, stages), distance)), None)
            if **inner == Number::of(Atomic::Index(index)) =>
        {
            (*distance, *stages)
        }
        _ => return None,
    };
    Some(Ring {
        variable: object.variable,
        first: object.offset.constant,
        distance,
        stages,
    })
}

/// Whether a wait with this parity is for the phase of round `index`.
fn is_round(ring: &Ring, parity: &Number, index: u32) -> bool {
    let expected = Number::of(Atomic::Index(index))
        .divided(ring.stages)
        .and_then(|round| round.remainder(2));
    expected.as_ref() == Some(parity)
}
