//! Checks the lifetimes of mbarriers, which last from `mbarrier.init` to `mbarrier.inval`.
//!
//! It is undefined to initialise an mbarrier within its lifetime, or to use one after the end of its lifetime. So
//! each lifetime has to begin once, and to end after all of its uses, in every schedule. That is so if a full barrier
//! stands between each use and the end:
//!
//! ```text
//! warp 0: ..; wait bar 0; sync all; invalidate bar
//! warp 1: ..; arrive bar; sync all
//! ```
//!
//! Without a full barrier, phases may order a use and the end (see `waits_behind`). Otherwise the kernel is refused.
//! Second lifetimes of a place have already become mbarriers of their own. For lifetimes in each iteration of a loop
//! see [`crate::recover::loop_lifetimes`].
//!
//! Source: PTX ISA, "mbarrier.init", "mbarrier.inval".

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::alike::every;
use crate::recover::alike::only;
use crate::recover::alike::same;
use crate::recover::barrier_alignment::FullBarriers;
use crate::recover::cases::cases;
use crate::recover::family::object_of;
use crate::recover::family::places;
use crate::recover::loop_lifetimes::mbarriers_of_loops;
use crate::recover::lower::Inputs;
use crate::recover::number::Atomic;
use crate::recover::number::Range;
use crate::recover::rewrite::without;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::returns;
use crate::recover::shape::Shape;
use crate::recover::tree::Obstacle;

pub(super) const TWICE: &str =
    "an mbarrier is initialised more than once, which is undefined while it is one already";
const BEHIND: &str = "the mbarrier may be used behind this: no barrier of all threads stands between that use and this";
const LAST: &str = "other warps do not use an mbarrier any more when mbarrier.inval ends it";

/// An mbarrier of a CTA.
pub(super) type Place = (u32, VariableId, i128);

/// A use of mbarriers.
pub(super) struct Use<'a> {
    pub(super) action: &'a Action,
    pub(super) location: &'a Location,
    /// The line of the role in which it stands.
    pub(super) line: usize,
    /// Empty if they are not known.
    pub(super) places: BTreeSet<Place>,
    /// Whether it may be executed several times for one of these places.
    pub(super) repeated: bool,
}

/// A full barrier of the CTA or of the cluster in a role. `before` is the line of the arrival, `behind` that of the
/// wait.
pub(super) struct FullBarrier {
    /// A barrier, or a loop or branch in which only barriers are left.
    pub(super) bare: Line,
    pub(super) before: usize,
    pub(super) behind: usize,
}

impl FullBarrier {
    /// Whether the role certainly comes to the full barrier.
    pub(super) fn is_certain(&self) -> bool {
        matches!(self.bare, Line::Action { .. })
    }

    /// Whether two roles certainly meet behind line `behind` of the first one and before line
    /// `before` of the other.
    pub(super) fn is_between(mine: &[Self], behind: usize, theirs: &[Self], before: usize) -> bool {
        let first = mine
            .iter()
            .position(|barrier| barrier.is_certain() && barrier.before > behind);
        first.is_some_and(|at| Self::are_same(mine, theirs, at) && theirs[at].behind < before)
    }

    /// Whether two roles have the same full barriers up to number `at`, included.
    pub(super) fn are_same(mine: &[Self], theirs: &[Self], at: usize) -> bool {
        let bare = |barriers: &[Self]| -> Option<Vec<Line>> {
            let barriers = barriers.get(..=at)?.iter();
            Some(barriers.map(|barrier| barrier.bare.clone()).collect())
        };
        match (bare(mine), bare(theirs)) {
            (Some(mine), Some(theirs)) => same(&mine, &theirs),
            _ => false,
        }
    }
}

/// A role, and what it does to mbarriers.
pub(super) struct RoleUses<'a> {
    pub(super) role: &'a Role,
    pub(super) uses: Vec<Use<'a>>,
    pub(super) of_cta: Vec<FullBarrier>,
    of_cluster: Vec<FullBarrier>,
    /// The barriers at which all threads meet.
    full: FullBarriers,
}

/// Refuses lifetimes that begin twice or end too early. Removes the marks of their ends, since `mbarrier.inval`
/// signals nothing. Returns an assumption if one is needed.
pub fn settle(
    roles: &mut Vec<Role>,
    inputs: &Inputs,
    shape: Shape,
) -> Result<Option<&'static str>, Obstacle> {
    let anew = mbarriers_of_loops(roles);
    let mut assumption = None;
    for case in cases(roles) {
        assumption = settle_case(&case, &anew, inputs, shape)?.or(assumption);
    }
    let mut ended = false;
    for role in &mut *roles {
        let before = role.lines.clone();
        without(&mut role.lines, &|action| match action {
            Action::Invalidate { object } => {
                let offset = object.offset.as_constant();
                !offset.is_some_and(|offset| anew.contains(&(object.rank, object.variable, offset)))
            }
            _ => false,
        });
        ended |= role.lines != before;
    }
    if ended {
        merge(roles);
    }
    Ok(assumption)
}

/// The same for one case, in which the launch decides about no lifetime.
fn settle_case(
    roles: &[Role],
    anew: &BTreeSet<Place>,
    inputs: &Inputs,
    shape: Shape,
) -> Result<Option<&'static str>, Obstacle> {
    let lives = uses_by_role(roles, inputs, shape);
    begin_once(&lives, anew)?;
    let mut ended: BTreeSet<Place> = BTreeSet::new();
    let mut assumption = None;
    for life in &lives {
        let others = |one: &&Use<'_>| ends(one.action) && one.places.is_disjoint(anew);
        for end in life.uses.iter().filter(others) {
            let refuse = |reason: &str| Obstacle::new(reason, end.location.clone());
            let again = end.places.iter().any(|place| !ended.insert(*place));
            if again || end.repeated || life.role.warps.len() > 1 {
                return Err(refuse(
                    "the life of an mbarrier ends more than once here, which is undefined",
                ));
            }
            if life.goes_on_behind(end) {
                return Err(refuse(BEHIND));
            }
            for other in lives.iter().filter(|other| !life.ends_behind(end, other)) {
                // This role may wait for an arrival of the other one. A wait for a state stands
                // behind that arrival.
                let by_state = other.uses.iter().any(|one| {
                    matches!(one.action, Action::WaitOwn { .. })
                        && !one.places.is_disjoint(&end.places)
                });
                if by_state || !life.waits_behind(end, other) {
                    return Err(refuse(BEHIND));
                }
                assumption = Some(LAST);
            }
        }
    }
    Ok(assumption)
}

/// What roles do to mbarriers.
pub(super) fn uses_by_role<'a>(
    roles: &'a [Role],
    inputs: &Inputs,
    shape: Shape,
) -> Vec<RoleUses<'a>> {
    let full = FullBarriers::new(roles, shape);
    let lives = roles.iter().map(|role| RoleUses::new(role, inputs, &full));
    lives.collect()
}

pub(super) fn ends(action: &Action) -> bool {
    matches!(action, Action::Invalidate { .. })
}

/// Merges roles of a CTA that do the same.
pub fn merge(roles: &mut Vec<Role>) {
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

/// Refuses mbarriers that may be initialised more than once.
fn begin_once(lives: &[RoleUses<'_>], anew: &BTreeSet<Place>) -> Result<(), Obstacle> {
    let mut begun: BTreeSet<Place> = BTreeSet::new();
    for life in lives {
        let mut own: BTreeMap<Place, usize> = BTreeMap::new();
        for one in &life.uses {
            if !matches!(one.action, Action::Init { .. }) || !one.places.is_disjoint(anew) {
                continue;
            }
            let places = one.places.iter();
            let again = places
                .filter(|place| begun.contains(place) || own.insert(**place, one.line).is_some())
                .count();
            if again > 0 || one.repeated || life.role.warps.len() > 1 {
                return Err(Obstacle::new(TWICE, one.location.clone()));
            }
        }
        begun.extend(own.into_keys());
    }
    Ok(())
}

impl<'a> RoleUses<'a> {
    fn new(role: &'a Role, inputs: &Inputs, full: &FullBarriers) -> Self {
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
            if returns(std::slice::from_ref(line)) {
                break;
            }
            let Some(bare) = bare(line, &|action| full.is_met(action)) else {
                continue;
            };
            if !is_launched(&bare) {
                break;
            }
            of_cta.push(FullBarrier {
                bare,
                before: number,
                behind: number,
            });
        }
        for (number, line) in role.lines.iter().enumerate() {
            match line {
                Line::Action {
                    action: Action::ClusterArrive,
                    ..
                } => arrived = Some(number),
                Line::Action {
                    action: Action::ClusterWait,
                    ..
                } => {
                    let Some(before) = arrived.take() else { break };
                    of_cluster.push(FullBarrier {
                        bare: line.clone(),
                        before,
                        behind: number,
                    });
                }
                // These barriers may be executed any number of times.
                line if returns(std::slice::from_ref(line))
                    || bare(line, &of_cluster_barrier).is_some() =>
                {
                    break;
                }
                _ => {}
            }
        }
        Self {
            role,
            uses,
            of_cta,
            of_cluster,
            full: full.clone(),
        }
    }

    /// Whether the roles meet behind line `line` of this one and before line `use_of` of the other.
    pub(super) fn met_between(&self, line: usize, other: &Self, use_of: usize) -> bool {
        let met = |mine: &[FullBarrier], theirs: &[FullBarrier]| {
            FullBarrier::is_between(mine, line, theirs, use_of)
        };
        met(&self.of_cluster, &other.of_cluster)
            || self.role.rank == other.role.rank && met(&self.of_cta, &other.of_cta)
    }

    /// The last line of this role with a use of the mbarriers whose lifetime ends.
    fn last_use(&self, end: &Use<'_>) -> Option<usize> {
        let uses = self.uses.iter().filter(|one| {
            !std::ptr::eq(one.action, end.action) && !one.places.is_disjoint(&end.places)
        });
        uses.map(|one| one.line).max()
    }

    /// Whether this role itself uses the same mbarriers further down.
    fn goes_on_behind(&self, end: &Use<'_>) -> bool {
        let at = self
            .uses
            .iter()
            .position(|one| std::ptr::eq(one.action, end.action));
        let behind = at.and_then(|at| self.uses.get(at + 1..));
        behind
            .into_iter()
            .flatten()
            .any(|one| !ends(one.action) && !one.places.is_disjoint(&end.places))
    }

    /// Whether this role waits, before the end of a lifetime, for something that another role does
    /// behind its last use of the same mbarriers. This may be an arrival at an mbarrier, or a
    /// barrier of some warps. It is then assumed that the wait is for the last of these phases.
    fn waits_behind(&self, end: &Use<'_>, other: &RoleUses<'_>) -> bool {
        let Some(last) = other.last_use(end) else {
            return true;
        };
        let heard: BTreeSet<Place> = self
            .uses
            .iter()
            .filter(|one| {
                one.line < end.line
                    && matches!(one.action, Action::Wait { .. } | Action::WaitOwn { .. })
            })
            .flat_map(|one| one.places.iter().copied())
            .collect();
        // If all threads meet behind the end and before that use, the use comes too late.
        let behind = self
            .of_cta
            .iter()
            .position(|barrier| barrier.is_certain() && barrier.before > end.line);
        let late = behind
            .and_then(|at| other.of_cta.get(at))
            .is_some_and(|barrier| self.role.rank == other.role.rank && barrier.behind < last);
        if late {
            return false;
        }
        let of_life = |one: &Use<'_>| {
            !std::ptr::eq(one.action, end.action) && !one.places.is_disjoint(&end.places)
        };
        // If the line has several uses, each of them may be the last one.
        let uses = other.uses.iter().filter(|one| one.line == last);
        let lasts: Vec<&Action> = uses
            .filter(|one| of_life(one))
            .map(|one| one.action)
            .collect();
        let is_behind = |one: &Use<'_>| {
            let mut lasts = lasts.iter();
            lasts.all(|last| follows(&other.role.lines, last, one.action))
        };
        let told = other.uses.iter().any(|one| {
            let tells = matches!(
                one.action,
                Action::Arrive { .. } | Action::ArriveExpect { .. } | Action::Commit { .. }
            );
            tells && is_behind(one) && !one.places.is_disjoint(&heard)
        });
        let synced =
            |life: &RoleUses<'_>, lines: &dyn Fn(usize) -> bool| -> BTreeSet<(i128, i128)> {
                let mut found = BTreeSet::new();
                for (number, line) in life.role.lines.iter().enumerate() {
                    every_line(std::slice::from_ref(line), &mut |line| {
                        if let Line::Action {
                            action: Action::Sync { barrier, threads },
                            ..
                        } = line
                            && let (Some(barrier), Some(threads)) =
                                (barrier.as_constant(), threads.as_constant())
                            && lines(number)
                            && self.full.all_wait(barrier)
                        {
                            found.insert((barrier, threads));
                        }
                    });
                }
                found
            };
        let mine = synced(self, &|line| line < end.line);
        let theirs = synced(other, &|line| line > last);
        told || self.role.rank == other.role.rank && !mine.is_disjoint(&theirs)
    }

    /// Whether all threads meet between every use of the same mbarriers by another role, or this
    /// one, and an end of lifetime. [`FullBarriers`] says at which barriers they meet.
    ///
    /// It is not enough that the end stands behind a use in the same warp: other lanes may still be
    /// at the use. A full barrier of the cluster stands in no loop and under no condition, and the use
    /// has to come before its arrival. For full barriers of the CTA, both warps have to have the same
    /// full barriers up to the end, also in loops and under conditions that the launch alone decides.
    /// Then both have had equally many. The other warp has to come to one of them behind each of
    /// its uses ([`unmet`]).
    fn ends_behind(&self, end: &Use<'_>, other: &RoleUses<'_>) -> bool {
        let Some(last) = other.last_use(end) else {
            return true;
        };
        let (mine, theirs) = (&self.of_cluster, &other.of_cluster);
        let passed = mine
            .iter()
            .rposition(|barrier| barrier.is_certain() && barrier.behind < end.line);
        let apart = passed
            .is_some_and(|at| FullBarrier::are_same(mine, theirs, at) && last < theirs[at].before);
        let mut uses = other.uses.iter().filter(|one| {
            !std::ptr::eq(one.action, end.action) && !one.places.is_disjoint(&end.places)
        });
        apart || uses.all(|one| other.has_met(one, self, end.line))
    }

    /// Whether a use of this role certainly comes before a line of another role: both have the same
    /// full barriers up to that line, and this role comes to one of them behind the use.
    pub(super) fn has_met(&self, one: &Use<'_>, other: &Self, line: usize) -> bool {
        let passed = other
            .of_cta
            .iter()
            .rposition(|barrier| barrier.behind < line);
        let Some(at) = passed.filter(|_| self.role.rank == other.role.rank) else {
            return false;
        };
        if !FullBarrier::are_same(&self.of_cta, &other.of_cta, at)
            || one.line > self.of_cta[at].behind
        {
            return false;
        }
        let before = &self.role.lines[..=self.of_cta[at].behind];
        let mut left = Vec::new();
        unmet(before, &self.full, &mut left);
        !left.iter().any(|action| std::ptr::eq(*action, one.action))
    }
}

/// Collects the actions behind which these lines may have no full barrier of all threads. Returns
/// whether the lines certainly have one.
fn unmet<'a>(lines: &'a [Line], full: &FullBarriers, left: &mut Vec<&'a Action>) -> bool {
    lines.iter().rev().any(|line| match line {
        Line::Action { action, .. } => {
            left.push(action);
            full.is_met(action)
        }
        Line::For { body, .. } => {
            unmet(body, full, left);
            // It may have no iteration.
            false
        }
        Line::If {
            then, otherwise, ..
        } => {
            let met = unmet(then, full, left);
            unmet(otherwise, full, left) && met
        }
        Line::Let { .. } | Line::Assign { .. } | Line::Return => false,
    })
}

/// Whether an action is the other one, or follows it: further down in a block that has both, and
/// not on the other side of a branch. An action that follows in each iteration of a loop follows in
/// the last one.
fn follows(lines: &[Line], first: &Action, second: &Action) -> bool {
    let holds = |line: &Line, wanted: &Action| {
        let mut found = false;
        every_line(std::slice::from_ref(line), &mut |line| {
            found |= matches!(line, Line::Action { action, .. } if std::ptr::eq(action, wanted));
        });
        found
    };
    let place = |wanted: &Action| lines.iter().position(|line| holds(line, wanted));
    let (Some(at), Some(behind)) = (place(first), place(second)) else {
        return false;
    };
    match &lines[at] {
        _ if at != behind => at < behind,
        Line::For { body, .. } => follows(body, first, second),
        Line::If {
            then, otherwise, ..
        } => follows(then, first, second) || follows(otherwise, first, second),
        Line::Action { .. } => true,
        Line::Let { .. } | Line::Assign { .. } | Line::Return => false,
    }
}

/// A line reduced to some actions, with the loops and branches around them. `None` if it has none
/// of them.
pub(super) fn bare(line: &Line, which: &dyn Fn(&Action) -> bool) -> Option<Line> {
    let lines = only(
        std::slice::from_ref(line),
        &|line| matches!(line, Line::Action { action, .. } if which(action)),
    );
    lines.into_iter().next()
}

fn of_cluster_barrier(action: &Action) -> bool {
    matches!(action, Action::ClusterArrive | Action::ClusterWait)
}

/// Whether the launch alone decides how often the barriers in a bare line are executed.
pub(super) fn is_launched(line: &Line) -> bool {
    let mut lines = [line.clone()];
    let mut launched = true;
    every(&mut lines, &mut |number| {
        launched &= !number.has_variables();
    });
    launched
}

/// What a line of a role does to mbarriers.
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
                Action::Invalidate { object } | Action::Tried { object } => Some(object),
                action => object_of(action),
            };
            let Some(object) = object else { return };
            let places = places(&object.offset, range)
                .into_iter()
                .flatten()
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

/// Whether an object is another mbarrier in each iteration of a loop.
fn moves_with(object: &Object, index: u32) -> bool {
    object.offset.parts.contains_key(&Atomic::Index(index))
}
