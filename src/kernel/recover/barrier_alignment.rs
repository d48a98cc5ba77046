//! Whether the warps of a CTA come to its barriers alike, and at which barriers all of them meet.
//!
//! For example, `bar.sync 0` waits for the threads of the CTA that have not exited. It does not
//! wait for a warp that exits without it. In the text it would. `bar.sync 1, 384` waits for 384
//! threads, exited or not, even if these are all threads of the CTA. It does so in the text as
//! well, so it does not matter which warps come to it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::recover::alike::only;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::every_line_mut;
use crate::recover::shape::Shape;

/// The barriers at which all threads of a CTA meet: whoever passes one knows that everybody has
/// come.
///
/// A barrier at which some warp arrives without waiting is none of these. Every arrival counts, so
/// a warp that arrives twice completes the barrier in place of another one. If everybody waits,
/// each warp is there once, because a waiting warp does not come again.
#[derive(Debug, Clone)]
pub struct FullBarriers {
    /// How many threads a CTA has, in whole warps.
    threads: i128,
    /// Where some warp arrives without waiting. `None` if that may be anywhere.
    arrived: Option<BTreeSet<i128>>,
}

impl FullBarriers {
    pub fn new(roles: &[Role], shape: Shape) -> Self {
        let mut arrived = Some(BTreeSet::new());
        for role in roles {
            every_line(&role.lines, &mut |line| {
                let Line::Action {
                    action: Action::BarrierArrive { barrier, .. },
                    ..
                } = line
                else {
                    return;
                };
                match (barrier.as_constant(), &mut arrived) {
                    (Some(barrier), Some(arrived)) => {
                        arrived.insert(barrier);
                    }
                    _ => arrived = None,
                }
            });
        }
        Self {
            threads: i128::from(shape.warps()) * 32,
            arrived,
        }
    }

    /// Whether an action waits at such a barrier.
    pub fn is_met(&self, action: &Action) -> bool {
        let Action::Sync { barrier, threads } = action else {
            return false;
        };
        threads.as_constant() == Some(self.threads)
            && barrier
                .as_constant()
                .is_some_and(|barrier| self.all_wait(barrier))
    }

    /// Whether every warp that comes to this barrier waits there.
    pub fn all_wait(&self, barrier: i128) -> bool {
        let arrived = self.arrived.as_ref();
        arrived.is_some_and(|arrived| !arrived.contains(&barrier))
    }
}

/// Whether all warps of a CTA come alike to the barriers that wait for all of its threads without
/// naming a number. Also whether all warps of the cluster come alike to its barrier. A CTA has
/// `warps` warps.
pub fn barriers_are_aligned(kernel: &Kernel, roles: &[Role], warps: u32) -> bool {
    let of_cluster =
        |action: &Action| matches!(action, Action::ClusterArrive | Action::ClusterWait);
    let is_full_barrier = is_full_barrier(warps);
    let uncounted = uncounted(kernel);
    let may_be_uncounted = |action: &Action| match (action, &uncounted) {
        (Action::Sync { barrier, .. }, Some(uncounted)) => barrier
            .as_constant()
            .is_none_or(|barrier| uncounted.contains(&barrier)),
        _ => true,
    };
    let of_cta = |action: &Action| {
        is_full_barrier(action) && !of_cluster(action) && may_be_uncounted(action)
    };
    let mut met: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    let mut met_by_cluster: Option<Vec<Line>> = None;
    roles.iter().all(|role| {
        let mine = full_barriers(&role.lines, &of_cta);
        let others = full_barriers(&role.lines, &of_cluster);
        *met.entry(role.rank).or_insert_with(|| mine.clone()) == mine
            && *met_by_cluster.get_or_insert_with(|| others.clone()) == others
    })
}

/// The barriers that some instruction uses without a number of threads. `None` if it may be any
/// barrier.
pub fn uncounted(kernel: &Kernel) -> Option<BTreeSet<i128>> {
    let operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    let barriers = operations.filter_map(|operation| match &operation.kind {
        OperationKind::Synchronization(Synchronization::BarrierSync {
            barrier,
            threads: None,
            ..
        }) => Some(match barrier {
            Operand::Constant(barrier) => i128::try_from(*barrier).ok(),
            Operand::Register(_) => None,
        }),
        _ => None,
    });
    barriers.collect()
}

/// Whether an action is part of a barrier of all threads: of a CTA with so many warps, or of the
/// cluster.
pub fn is_full_barrier(warps: u32) -> impl Fn(&Action) -> bool {
    let threads = i128::from(warps) * 32;
    move |action| match action {
        Action::Sync {
            threads: counted, ..
        } => counted.as_constant() == Some(threads),
        action => matches!(action, Action::ClusterArrive | Action::ClusterWait),
    }
}

/// The lines reduced to some barriers and returns, without places in the source and numbers of
/// loops.
pub fn full_barriers(lines: &[Line], which: &dyn Fn(&Action) -> bool) -> Vec<Line> {
    let mut left = only(lines, &|line| match line {
        Line::Action { action, .. } => which(action),
        line => matches!(line, Line::Return),
    });
    every_line_mut(&mut left, &mut |line| match line {
        Line::Action { location, .. } | Line::If { location, .. } => {
            *location = Location::default();
        }
        Line::For {
            index, location, ..
        } => {
            (*index, *location) = (0, Location::default());
        }
        Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
    });
    undivided(left)
}

/// The lines without branches whose sides are the same.
fn undivided(lines: Vec<Line>) -> Vec<Line> {
    let mut all = Vec::new();
    for mut line in lines {
        for block in line.blocks_mut() {
            *block = undivided(std::mem::take(block));
        }
        match line {
            Line::If {
                then, otherwise, ..
            } if then == otherwise => all.extend(then),
            line => all.push(line),
        }
    }
    all
}
