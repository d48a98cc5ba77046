//! The lives of mbarriers: from `mbarrier.init` to `mbarrier.inval`.
//!
//! To initialise an mbarrier that is one already is undefined, and so is every use behind the end of its life. So each is
//! initialised once, and what ends a life comes behind all uses, whatever the schedule: behind a meeting of all threads that
//! each use comes before.
//!
//! ```text
//! warp 0: ..; wait bar 0; sync all; invalidate bar
//! warp 1: ..; arrive bar; sync all
//! ```
//!
//! To stand behind a use in the same warp is not enough, as other lanes may still be there. A meeting counts that stands in no
//! loop and under no condition, and up to which both warps have the same meetings. For a cluster barrier the use comes before
//! the arrival.
//!
//! The end of a life then tells nobody anything, and its mark is taken out.
//!
//! Source: PTX ISA, "mbarrier.init", "mbarrier.inval".

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::family::object_of;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::number::Atomic;
use crate::recover::number::Range;
use crate::recover::shape::Shape;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;
use crate::recover::sketch::Role;
use crate::recover::sketch::every_line;
use crate::recover::tree::Obstacle;
use crate::recover::write::counts;

const TWICE: &str =
    "an mbarrier is initialised more than once, which is undefined while it is one already";
const BEHIND: &str = "the mbarrier may be used behind this: no barrier of all threads stands between that use and this";

/// An mbarrier of a CTA.
type Place = (u32, VariableId, i128);

/// What is done to mbarriers.
struct Use<'a> {
    action: &'a Action,
    location: &'a Location,
    /// The number of the line of the role in which it stands.
    line: usize,
    places: BTreeSet<Place>,
    /// Whether it may be done several times to one of these places.
    repeated: bool,
}

/// A barrier of all threads of the CTA or of the cluster, and between which lines of the role it is.
struct Meeting {
    barrier: i128,
    before: usize,
    behind: usize,
}

/// A role with what it does to mbarriers.
struct Life<'a> {
    role: &'a Role,
    uses: Vec<Use<'a>>,
    of_cta: Vec<Meeting>,
    of_cluster: Vec<Meeting>,
}

/// Refuses lives that begin twice or may end too early, and takes out what marks their ends.
pub fn settle(roles: &mut Vec<Role>, inputs: &Inputs, shape: Shape) -> Result<(), Obstacle> {
    let threads = i128::from(shape.warps()) * 32;
    let lives: Vec<Life<'_>> = roles
        .iter()
        .map(|role| Life::new(role, inputs, threads))
        .collect();
    begin_once(&lives)?;
    let mut ended: BTreeSet<Place> = BTreeSet::new();
    for life in &lives {
        for end in life.uses.iter().filter(|one| ends(one.action)) {
            let refuse = |reason: &str| Obstacle {
                reason: reason.to_owned(),
                location: end.location.clone(),
            };
            let again = end.places.iter().any(|place| !ended.insert(*place));
            if again || end.repeated || life.role.warps.len() > 1 {
                return Err(refuse(
                    "the life of an mbarrier ends more than once here, which is undefined",
                ));
            }
            if !lives.iter().all(|other| life.ends_behind(end, other)) {
                return Err(refuse(BEHIND));
            }
        }
    }
    drop(lives);
    if !ended.is_empty() {
        for role in &mut *roles {
            without_ends(&mut role.lines);
        }
        merge(roles);
    }
    Ok(())
}

fn ends(action: &Action) -> bool {
    matches!(action, Action::Invalidate { .. })
}

/// Roles of a CTA that do the same are one.
fn merge(roles: &mut Vec<Role>) {
    let mut merged: Vec<Role> = Vec::new();
    for role in std::mem::take(roles) {
        let same = merged
            .iter_mut()
            .find(|other| other.rank == role.rank && other.lines == role.lines);
        match same {
            Some(other) => {
                other.warps.extend(role.warps);
                other.warps.sort_unstable();
            }
            None => merged.push(role),
        }
    }
    *roles = merged;
}

fn without_ends(lines: &mut Vec<Line>) {
    for line in &mut *lines {
        for block in line.blocks_mut() {
            without_ends(block);
        }
    }
    lines.retain(|line| match line {
        Line::Action { action, .. } => !ends(action),
        Line::For { body, .. } => !body.is_empty(),
        Line::If {
            then, otherwise, ..
        } => !(then.is_empty() && otherwise.is_empty()),
        _ => true,
    });
}

/// Refuses mbarriers that may be initialised more than once.
fn begin_once(lives: &[Life<'_>]) -> Result<(), Obstacle> {
    let mut begun: BTreeSet<Place> = BTreeSet::new();
    for life in lives {
        let mut own: BTreeMap<Place, usize> = BTreeMap::new();
        for one in &life.uses {
            if !matches!(one.action, Action::Init { .. }) {
                continue;
            }
            let places = one.places.iter();
            let again = places
                .filter(|place| begun.contains(place) || own.insert(**place, one.line).is_some())
                .count();
            if again > 0 || one.repeated || life.role.warps.len() > 1 {
                return Err(Obstacle {
                    reason: TWICE.to_owned(),
                    location: one.location.clone(),
                });
            }
        }
        begun.extend(own.into_keys());
    }
    Ok(())
}

impl<'a> Life<'a> {
    fn new(role: &'a Role, inputs: &Inputs, threads: i128) -> Self {
        let rounds = counts(&role.lines);
        let range = |atomic: &Atomic| inputs.range_of(atomic, &rounds);
        let mut uses = Vec::new();
        for (number, line) in role.lines.iter().enumerate() {
            listed(line, number, &mut Vec::new(), &range, &mut uses);
        }
        let mut of_cta = Vec::new();
        let mut of_cluster = Vec::new();
        let mut arrived = None;
        for (number, line) in role.lines.iter().enumerate() {
            let Line::Action { action, .. } = line else {
                // What is in there may be done any number of times.
                let mut meets = false;
                every_line(std::slice::from_ref(line), &mut |line| {
                    meets |= matches!(line, Line::Return)
                        || matches!(line, Line::Action { action, .. }
                            if matches!(action, Action::ClusterWait | Action::ClusterArrive)
                                || full(action, threads).is_some());
                });
                if meets {
                    break;
                }
                continue;
            };
            match action {
                Action::ClusterArrive => arrived = Some(number),
                Action::ClusterWait => {
                    let Some(before) = arrived.take() else { break };
                    of_cluster.push(Meeting {
                        barrier: 0,
                        before,
                        behind: number,
                    });
                }
                action => of_cta.extend(full(action, threads).map(|barrier| Meeting {
                    barrier,
                    before: number,
                    behind: number,
                })),
            }
        }
        Self {
            role,
            uses,
            of_cta,
            of_cluster,
        }
    }

    /// Whether every use of the same mbarriers by another role, or this one, comes before an end of life.
    fn ends_behind(&self, end: &Use<'_>, other: &Life<'_>) -> bool {
        let uses = other.uses.iter().filter(|one| {
            !std::ptr::eq(one.action, end.action) && !one.places.is_disjoint(&end.places)
        });
        let Some(last) = uses.map(|one| one.line).max() else {
            return true;
        };
        let separates = |mine: &[Meeting], theirs: &[Meeting]| {
            let passed = mine
                .iter()
                .filter(|meeting| meeting.behind < end.line)
                .count();
            let barriers = |all: &[Meeting]| -> Option<Vec<i128>> {
                let all = all.get(..passed)?.iter();
                Some(all.map(|meeting| meeting.barrier).collect())
            };
            let meets = passed.checked_sub(1).and_then(|last| theirs.get(last));
            barriers(theirs).is_some()
                && barriers(mine) == barriers(theirs)
                && meets.is_some_and(|meeting| last < meeting.before)
        };
        separates(&self.of_cluster, &other.of_cluster)
            || self.role.rank == other.role.rank && separates(&self.of_cta, &other.of_cta)
    }
}

/// The barrier at which all threads of the CTA meet.
fn full(action: &Action, threads: i128) -> Option<i128> {
    match action {
        Action::Sync {
            barrier,
            threads: counted,
        } if counted.as_constant() == Some(threads) => barrier.as_constant(),
        _ => None,
    }
}

/// What a line of a role does to mbarriers. What may mean any of them is left to who makes arrays of them, and refuses it.
fn listed<'a>(
    line: &'a Line,
    number: usize,
    loops: &mut Vec<u32>,
    range: &dyn Fn(&Atomic) -> Option<Range>,
    uses: &mut Vec<Use<'a>>,
) {
    match line {
        Line::Action { action, location } => {
            let object = match action {
                Action::Invalidate { object } => Some(object),
                action => object_of(action),
            };
            let Some(object) = object else { return };
            let Some(offsets) = places(&object.offset, range) else {
                return;
            };
            let places = offsets
                .into_iter()
                .map(|offset| (object.rank, object.variable, offset))
                .collect();
            uses.push(Use {
                action,
                location,
                line: number,
                places,
                repeated: !loops.iter().all(|index| moves_with(object, *index)),
            });
        }
        Line::For { index, body, .. } => {
            loops.push(*index);
            for line in body {
                listed(line, number, loops, range, uses);
            }
            loops.pop();
        }
        Line::If {
            then, otherwise, ..
        } => {
            for line in then.iter().chain(otherwise) {
                listed(line, number, loops, range, uses);
            }
        }
        Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
    }
}

/// Whether an object is another one in each round of a loop.
fn moves_with(object: &Object, index: u32) -> bool {
    object.offset.parts.contains_key(&Atomic::Index(index))
}
