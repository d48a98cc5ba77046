//! Reads that some lanes may make late, of bytes that nobody writes any more.
//!
//! ```text
//! warp 0: write word; sync 0 128
//! warp 1: sync 0 128; read word; if this is lane 0 { arrive full }
//! ```
//!
//! The other lanes of warp 1 may read the word after lane 0 has arrived. So a thread that waits for
//! the arrival does not know that they have read it. The text would show that it does. Here nobody
//! has to know, because nobody writes the word again.
//!
//! The walk marks bytes that may be read late, behind each operation that signals others. A mark
//! does no harm if these bytes are only written before the first barrier of all threads of the CTA,
//! to which every warp comes on every path. The marked reads come after that barrier, since no mark
//! remains of reads before a barrier at which the lanes of a warp come together. So all writes are
//! done before the first of these reads. Every other mark is refused.

use std::collections::BTreeSet;

use crate::interpret::Access;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::elements::dynamic;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// Why a mark is refused.
pub const TELLS: &str = "this signals that the warp is done, but other lanes of it have read or written: put `bar.warp.sync` between their accesses and this";

/// The programs of the warps of a cluster, each with the rank of its CTA and its number.
type Programs = [(u32, u32, Vec<Line>)];

/// A write to shared memory: the CTA, the variable, all places where it may begin, and the bytes
/// from there. Without places it may be anywhere in the variable.
struct Written {
    rank: u32,
    variable: VariableId,
    places: Option<BTreeSet<i128>>,
    bytes: Vec<(i128, i128)>,
    /// Whether it is certainly done before the first barrier of its CTA.
    early: bool,
}

/// Removes the marks that do no harm, and refuses the others.
pub fn refuse_late_reads(
    kernel: &Kernel,
    programs: &mut Programs,
    inputs: &Inputs,
) -> Result<(), Obstacle> {
    let mut has_marks = false;
    for (.., lines) in programs.iter() {
        every_line(lines, &mut |line| has_marks |= mark(line).is_some());
    }
    if !has_marks {
        return Ok(());
    }
    let first = first_barriers(programs);
    let mut written = Vec::new();
    for ((rank, _, lines), first) in programs.iter().zip(&first) {
        let counts = counts(lines);
        for (at, line) in lines.iter().enumerate() {
            let early = first.is_some_and(|first| at < first);
            every_line(std::slice::from_ref(line), &mut |line| {
                if let Line::Action {
                    action:
                        Action::Access {
                            place,
                            bytes,
                            access,
                        },
                    ..
                } = line
                    && !matches!(access, Access::Read | Access::ReadLater)
                {
                    written.push(Written {
                        rank: place.rank,
                        variable: dynamic(kernel, place.variable),
                        places: places(&place.offset, &|atomic| inputs.range_of(atomic, &counts)),
                        bytes: bytes.to_vec(),
                        early: early && place.rank == *rank && *access == Access::Write,
                    });
                }
            });
        }
    }
    for ((.., lines), first) in programs.iter().zip(&first) {
        for (at, line) in lines.iter().enumerate() {
            let behind = first.is_some_and(|first| at > first);
            let mut failure: Option<Location> = None;
            every_line(std::slice::from_ref(line), &mut |line| {
                let Some((place, bytes, location)) = mark(line) else {
                    return;
                };
                let variable = dynamic(kernel, place.variable);
                let place = (place.rank, variable, place.offset.as_constant());
                let in_the_way = |one: &Written| !one.early && meets(one, place, bytes);
                if !behind || written.iter().any(in_the_way) {
                    failure.get_or_insert_with(|| location.clone());
                }
            });
            if let Some(location) = failure {
                return refuse(TELLS, &location);
            }
        }
    }
    for (.., lines) in programs {
        without_marks(lines);
    }
    Ok(())
}

/// A mark: where the bytes begin, the bytes from there, and the place in the source.
type Mark<'l> = (&'l Object, &'l [(i128, i128)], &'l Location);

fn mark(line: &Line) -> Option<Mark<'_>> {
    match line {
        Line::Action {
            action: Action::Late { place, bytes },
            location,
        } => Some((place, bytes, location)),
        _ => None,
    }
}

fn without_marks(lines: &mut Vec<Line>) {
    lines.retain(|line| mark(line).is_none());
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        without_marks(block);
    }
}

/// Whether a write may reach bytes at a place. Without a place they may be anywhere in the
/// variable.
fn meets(
    written: &Written,
    (rank, variable, at): (u32, VariableId, Option<i128>),
    bytes: &[(i128, i128)],
) -> bool {
    if (written.rank, written.variable) != (rank, variable) {
        return false;
    }
    let (Some(places), Some(at)) = (&written.places, at) else {
        return true;
    };
    // Bytes that are not known yet may be any.
    if written.bytes.is_empty() {
        return true;
    }
    places.iter().any(|place| {
        written.bytes.iter().any(|(from, to)| {
            let (from, to) = (place + from, place + to);
            bytes
                .iter()
                .any(|(begin, end)| from < at + end && at + begin < to)
        })
    })
}

/// For each program, the line with the first generation of a barrier of all threads. All programs
/// of a CTA have to have the same barrier.
fn first_barriers(programs: &Programs) -> Vec<Option<usize>> {
    let warps = |rank: u32| programs.iter().filter(|(other, ..)| *other == rank).count();
    let found: Vec<Option<(usize, i128)>> = programs
        .iter()
        .map(|(rank, _, lines)| {
            let threads = i128::try_from(warps(*rank)).ok()? * 32;
            first_barrier(lines, threads)
        })
        .collect();
    let barrier = |one: &Option<(usize, i128)>| one.map(|(_, barrier)| barrier);
    programs
        .iter()
        .zip(&found)
        .map(|((rank, ..), one)| {
            let mut others = programs.iter().zip(&found);
            let is_common = others
                .all(|((other, ..), another)| other != rank || barrier(another) == barrier(one));
            one.filter(|_| is_common).map(|(at, _)| at)
        })
        .collect()
}

/// The first line that is a barrier of all threads and that the warp reaches on every path. Also
/// which barrier it is.
fn first_barrier(lines: &[Line], all: i128) -> Option<(usize, i128)> {
    let mut used = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        if let Line::Action {
            action: Action::Sync { barrier, threads },
            ..
        } = line
            && threads.as_constant() == Some(all)
            && let Some(barrier) = barrier.as_constant()
            && !used.contains(&barrier)
        {
            return Some((at, barrier));
        }
        let mut is_clear = true;
        every_line(std::slice::from_ref(line), &mut |line| match line {
            Line::Return => is_clear = false,
            Line::Action {
                action: Action::Sync { barrier, .. } | Action::BarrierArrive { barrier, .. },
                ..
            } => match barrier.as_constant() {
                Some(barrier) => {
                    used.insert(barrier);
                }
                None => is_clear = false,
            },
            _ => {}
        });
        if !is_clear {
            return None;
        }
    }
    None
}
