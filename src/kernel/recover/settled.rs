//! What lanes read in their own time although nobody writes it any more.
//!
//! ```text
//! warp 0: write word; sync 0 128
//! warp 1: sync 0 128; read word; if this is lane 0 { arrive full }
//! ```
//!
//! The other lanes of warp 1 may read the word after lane 0 has arrived, so the arrival tells nobody that they have. Here nobody has
//! to know. The walk marks what may be read late, behind each operation that tells others something. A mark is in nobody's way
//! if these bytes are only written before the first barrier of all threads of the CTA, which every warp comes to whichever way
//! it takes. The reads come after that barrier: where the lanes of a warp come together at a barrier, no mark is left of what
//! they read before. So all writes are done before it is read for the first time.
//!
//! Every other mark is refused.

use std::collections::BTreeSet;

use crate::interpret::Access;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::elements::dynamic;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;
use crate::recover::sketch::counts;
use crate::recover::sketch::every_line;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// Why a mark is refused.
pub const TELLS: &str = "this signals that the warp is done, but other lanes of it have read or written: put `bar.warp.sync` between their accesses and this";

/// The programs of the warps of a cluster, each with the rank of its CTA and its number.
type Programs = [(u32, u32, Vec<Line>)];

/// What is written to shared memory: the CTA, the variable, all places where it may begin, and the bytes from there. Without places
/// it may be anywhere in the variable.
struct Written {
    rank: u32,
    variable: VariableId,
    places: Option<BTreeSet<i128>>,
    bytes: Vec<(i128, i128)>,
    /// Whether it is done before the first barrier of its CTA.
    early: bool,
}

/// Takes out the marks that are in nobody's way, and refuses the others.
pub fn take_out(kernel: &Kernel, programs: &mut Programs, inputs: &Inputs) -> Result<(), Obstacle> {
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

/// Where a mark begins, its bytes from there, and where it stands.
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

/// Whether bytes from a place on may be written. Without a place they may be anywhere in the variable.
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
    // Bytes that are not known yet may reach everywhere.
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

/// Of each program, the line that is the first generation of a barrier of all threads: of the same barrier in all programs of a CTA.
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

/// The first line that is a barrier of so many threads, to which the warp comes whichever way it takes, and which barrier it is.
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
