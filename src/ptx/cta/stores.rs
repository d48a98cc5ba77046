//! The number of bytes of tensor copies from shared memory, which PTX does not say. A box is assumed to consist of the
//! bytes that threads have written, from its first byte up to the end of these or to the box of another such copy.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::boxes::Range;
use super::program::Program;
use super::program::each;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;

/// What is known of a shared variable of a CTA.
#[derive(Debug, Default)]
struct Used {
    /// What threads write.
    written: Vec<(i128, i128)>,
    /// Where boxes begin.
    begun: BTreeSet<i128>,
}

/// Says of every tensor copy out of shared memory how much it takes, and whether there are any.
pub(in crate::ptx) fn taken(
    programs: &mut [Program],
    unknowns: &Unknowns,
) -> Result<bool, Obstacle> {
    let mut used: BTreeMap<(u32, String), Used> = BTreeMap::new();
    for program in programs.iter() {
        each(&program.statements, &mut |s| {
            let Action::Touch(how @ (How::Write | How::Drain), area) = &s.action else {
                return;
            };
            let Some(range) = Range::of(&area.address, program.rank, unknowns) else {
                return;
            };
            let there = used.entry((range.rank, range.base.clone())).or_default();
            match how {
                How::Write => {
                    let bytes = |at: i128| area.bytes.iter().map(move |b| (b.0 + at, b.1 + at));
                    there.written.extend(range.all().flat_map(bytes));
                }
                _ if area.bytes.is_empty() => there.begun.extend(range.all()),
                _ => {}
            }
        });
    }
    for one in used.values_mut() {
        one.written =
            crate::ptx::operations::access::merged(std::mem::take(&mut one.written)).to_vec();
    }
    for program in programs {
        fill(&mut program.statements, program.rank, &used, unknowns)?;
    }
    Ok(used.values().any(|one| !one.begun.is_empty()))
}

fn fill(
    statements: &mut [Statement],
    rank: u32,
    used: &BTreeMap<(u32, String), Used>,
    unknowns: &Unknowns,
) -> Result<(), Obstacle> {
    for statement in statements {
        match &mut statement.action {
            Action::For(_, _, body) => fill(body, rank, used, unknowns)?,
            Action::If(_, yes, no) => {
                fill(yes, rank, used, unknowns)?;
                fill(no, rank, used, unknowns)?;
            }
            Action::Touch(How::Drain, area) if area.bytes.is_empty() => {
                let range = Range::of(&area.address, rank, unknowns);
                let Some(bytes) = range.and_then(|range| length(&range, used)) else {
                    let reason = "how much of shared memory this tensor copy takes is not known: what \
                                  threads write there is not the same wherever it begins";
                    return Err(Obstacle::new(statement.at, reason));
                };
                area.bytes = [(0, bytes)].into();
            }
            _ => {}
        }
    }
    Ok(())
}

/// How long a box is that may begin in these places; none if that is not the same in all.
fn length(range: &Range, used: &BTreeMap<(u32, String), Used>) -> Option<i128> {
    let there = used.get(&(range.rank, range.base.clone()))?;
    let mut lengths = range.all().map(|at| {
        let (_, end) = there.written.iter().find(|w| w.0 <= at && at < w.1)?;
        let next = there.begun.range(at + 1..).next();
        Some(next.map_or(*end, |next| *end.min(next)) - at)
    });
    let first = lengths.next()??;
    lengths.all(|length| length == Some(first)).then_some(first)
}
