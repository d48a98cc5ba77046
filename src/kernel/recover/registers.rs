//! Registers that warps give back to their CTA, and take from it, with `setmaxnreg`.
//!
//! For example, a producer gives registers back with `setmaxnreg.dec`, and `setmaxnreg.inc` of a consumer waits until
//! there are enough. The registers of a CTA are a pool, counted for one thread of each warp.
//!
//! At launch every thread has as many registers as `.maxnreg` says. Without it the compiler decides: as many as fit,
//! but no more than any `setmaxnreg.inc` asks for, since that would be undefined. No warp starts before all warps of
//! its CTA have their registers. `setmaxnreg` sets the number from then on. Waits for registers that certainly end
//! are left out, so that proofs stay small (see [`covered`]).
//!
//! Source: PTX ISA, "setmaxnreg".

use crate::ir::Kernel;
use crate::ir::Location;
use crate::recover::Shape;
use crate::recover::alike::only;
use crate::recover::alike::same;
use crate::recover::barrier_alignment::FullBarriers;
use crate::recover::family::each;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::tree::Obstacle;

/// The registers of a multiprocessor, and the most that a thread has.
const ALL: u32 = 1 << 16;
const MOST: u32 = 256;
/// Warps of a warpgroup.
const WARPS: u32 = 4;
/// Registers are given in steps of 8.
const STEP: u32 = 8;

/// What becomes of `setmaxnreg` in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// How registers that are taken and given back are counted.
    pub counted: Counted,
    /// Whether warps of a warpgroup ask for different numbers, not equally often, or by different
    /// instructions. PTX calls that undefined, but kernels do it. It is assumed, and printed, that
    /// hardware counts for each warp by itself.
    pub apart: bool,
}

/// How registers that are taken and given back are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// `setmaxnreg` does not occur, or changes nothing.
    Still,
    /// Everything that is taken has been given back before.
    Covered { launch: i128 },
    /// The registers are written as a pool of each CTA.
    Pool { launch: i128 },
    /// `setmaxnreg` stands in a loop or under a condition, and is assumed to find what it asks for.
    Assumed,
}

/// Registers per thread at launch.
fn at_launch(kernel: &Kernel, shape: Shape, roles: &[Role]) -> i128 {
    let threads = (shape.warps() * 32).max(1) * kernel.bounds.min_ctas.unwrap_or(1).clamp(1, 64);
    let fit = (ALL / threads).min(MOST);
    let given = kernel.bounds.max_registers.unwrap_or(fit).min(MOST);
    let given = i128::from(given / STEP * STEP);
    if kernel.bounds.max_registers.is_some() {
        return given;
    }
    let mut raised = given;
    for role in roles {
        each(&role.lines, &mut |action, _| {
            if let Action::SetMaxRegisters {
                count,
                increase: true,
            } = action
            {
                raised = raised.min(*count);
            }
        });
    }
    raised
}

/// Writes `setmaxnreg` as taking and giving back registers, or leaves it out.
pub fn settle(kernel: &Kernel, shape: Shape, roles: &mut [Role]) -> Result<Registers, Obstacle> {
    let launch = at_launch(kernel, shape, roles);
    let apart = apart(roles, shape);
    let settled = |counted| Ok(Registers { counted, apart });
    let mut found = false;
    let mut moves = Vec::new();
    for role in &*roles {
        let mut held = launch;
        let mut own = Vec::new();
        for line in &role.lines {
            match line {
                Line::Action {
                    action: Action::SetMaxRegisters { count, increase },
                    location,
                } => {
                    found = true;
                    own.push(change(held, *count, *increase, location)?);
                    held = *count;
                }
                other => {
                    let mut nested = false;
                    each(std::slice::from_ref(other), &mut |action, _| {
                        if let Action::SetMaxRegisters { count, .. } = action {
                            found = true;
                            nested |= *count != held;
                        }
                    });
                    if nested {
                        return settled(Counted::Assumed);
                    }
                }
            }
        }
        moves.push(own);
    }
    if !found {
        return settled(Counted::Still);
    }
    let full = FullBarriers::new(roles, shape);
    let covered = (0..shape.ctas()).all(|rank| covered(roles, &moves, rank, &full));
    for (role, moves) in roles.iter_mut().zip(moves) {
        let mut moves = moves.into_iter();
        replace(&mut role.lines, &mut |location| {
            let moved = moves.next().filter(|_| !covered)?;
            let action = match moved {
                0 => return None,
                1.. => Action::Take { count: moved },
                _ => Action::GiveBack { count: -moved },
            };
            Some(Line::Action {
                action,
                location: location.clone(),
            })
        });
        if !covered {
            let location = Location::default();
            let begin = [Action::Take { count: launch }, Action::Launched];
            let begin = begin.map(|action| Line::Action {
                action,
                location: location.clone(),
            });
            role.lines.splice(0..0, begin);
        }
    }
    settled(if covered {
        Counted::Covered { launch }
    } else {
        Counted::Pool { launch }
    })
}

/// Whether warps of a warpgroup do not ask for the same registers in the same order.
fn apart(roles: &[Role], shape: Shape) -> bool {
    // Two instructions that ask for the same number are still two instructions.
    let places = |role: &Role| {
        let mut places: Vec<u32> = Vec::new();
        each(&role.lines, &mut |action, location| {
            if let Action::SetMaxRegisters { .. } = action {
                places.push(location.line);
            }
        });
        places
    };
    let asking: Vec<(Vec<Line>, Vec<u32>)> = roles
        .iter()
        .map(|role| (only(&role.lines, &asks), places(role)))
        .collect();
    roles.iter().zip(&asking).any(|(role, asks)| {
        role.warps.iter().any(|warp| {
            let first = warp / WARPS * WARPS;
            (first..shape.warps().min(first + WARPS)).any(|warp| {
                let mut others = roles.iter().zip(&asking);
                let other = others
                    .find(|(other, _)| other.rank == role.rank && other.warps.contains(&warp));
                !other.is_some_and(|(_, (lines, places))| same(&asks.0, lines) && asks.1 == *places)
            })
        })
    })
}

fn asks(line: &Line) -> bool {
    matches!(
        line,
        Line::Action {
            action: Action::SetMaxRegisters { .. },
            ..
        }
    )
}

/// By how much a `setmaxnreg` changes the number of a thread's registers.
fn change(held: i128, count: i128, increase: bool, at: &Location) -> Result<i128, Obstacle> {
    let more = count - held;
    if more == 0 || (more > 0) == increase {
        return Ok(more);
    }
    Err(Obstacle::undefined(
        format!(
            "the warp has {held} registers per thread here, and `setmaxnreg` goes the other way to {count}: this is \
             undefined"
        ),
        at.clone(),
    ))
}

/// Replaces `setmaxnreg` by other lines. In loops and under conditions it changes nothing, and is
/// removed.
fn replace(lines: &mut Vec<Line>, with: &mut dyn FnMut(&Location) -> Option<Line>) {
    let mut all = Vec::new();
    for mut line in std::mem::take(lines) {
        match &mut line {
            Line::Action {
                action: Action::SetMaxRegisters { .. },
                location,
            } => {
                all.extend(with(location));
                continue;
            }
            other => {
                for block in other.blocks_mut() {
                    replace(block, &mut |_| None);
                }
            }
        }
        all.push(line);
    }
    *lines = all;
}

/// Whether waits for registers in a CTA certainly end.
///
/// They do if all of this holds:
///
/// - no warp gives registers back behind more full barriers than there are before the first take;
/// - up to its last `setmaxnreg` that changes its number, a warp does nothing but initialise mbarriers, take part in
///   full barriers and execute `setmaxnreg`, under no condition and in no loop;
/// - these full barriers are alike in all warps: the n-th one is of the CTA in all of them, or of the cluster in all;
/// - no warp gives registers back after it has taken some;
/// - what is given back suffices for everything that is taken.
///
/// Then a warp that takes has passed every full barrier that precedes a give-back. So everybody has come to these
/// barriers. A warp that still has to give back has nothing before it that blocks. So everything is given back
/// without anybody's help. In a stuck state no warp stands before such a wait, so no verdict changes.
fn covered(roles: &[Role], moves: &[Vec<i128>], rank: u32, full: &FullBarriers) -> bool {
    let mut balance = 0;
    // How many full barriers come before the last give-back, and before the first take.
    let (mut given, mut taken) = (0, usize::MAX);
    // All warps have the same full barriers in the same order. For each one: whether it is of the cluster.
    let mut kinds: Vec<bool> = Vec::new();
    for (role, moves) in roles
        .iter()
        .zip(moves)
        .filter(|(role, _)| role.rank == rank)
    {
        let warps = i128::try_from(role.warps.len()).unwrap_or(i128::MAX);
        let (mut meetings, mut took) = (0, false);
        let mut open = moves.iter().copied();
        let mut left = moves.iter().filter(|moved| **moved != 0).count();
        for line in &role.lines {
            if left == 0 {
                break;
            }
            let Line::Action { action, .. } = line else {
                return false;
            };
            let met = match action {
                Action::Init { .. } | Action::ClusterArrive => None,
                Action::ClusterWait => Some(true),
                Action::Sync { barrier, .. }
                    if barrier.as_constant() == Some(0) && full.is_met(action) =>
                {
                    Some(false)
                }
                Action::SetMaxRegisters { .. } => {
                    let moved = open.next().unwrap_or(0);
                    left -= usize::from(moved != 0);
                    balance -= moved.saturating_mul(warps);
                    if moved < 0 && took {
                        return false;
                    }
                    if moved < 0 {
                        given = given.max(meetings);
                    }
                    if moved > 0 {
                        (took, taken) = (true, taken.min(meetings));
                    }
                    None
                }
                _ => return false,
            };
            if let Some(kind) = met {
                if *kinds.get(meetings).unwrap_or(&kind) != kind {
                    return false;
                }
                if meetings == kinds.len() {
                    kinds.push(kind);
                }
                meetings += 1;
            }
        }
        if left > 0 {
            return false;
        }
    }
    balance >= 0 && given <= taken
}
