//! Whether all mbarriers are initialised before anybody uses them. Then the text declares them as initialised from
//! the beginning. One of two conditions has to hold.
//!
//! - Every initialisation is executed once, under no condition, before its warp meets others at a barrier. Every use
//!   comes behind a full barrier: one of the CTA for the CTA's own mbarriers, one of the cluster for those of other
//!   CTAs. At the cluster's barrier, a warp has to initialise before it arrives, and may use when it has waited.
//! - Every mbarrier is initialised once, under no condition, maybe later. Every use of it comes behind a full barrier
//!   that follows its initialisation, so nobody can tell whether it was initialised at the beginning. A condition
//!   that the launch decides is allowed here: each case is examined by itself ([`cases`]), and what is used in a case
//!   has to be initialised in it.

use std::collections::BTreeMap;

use crate::ir::VariableId;
use crate::recover::cases::cases;
use crate::recover::family::object_of;
use crate::recover::lower::Inputs;
use crate::recover::mbarrier_lifetimes::Place;
use crate::recover::mbarrier_lifetimes::RoleUses;
use crate::recover::mbarrier_lifetimes::uses_by_role;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::shape::Shape;

/// Whom a role has certainly met so far, at full barriers.
#[derive(Clone)]
struct Met<'a> {
    declared: &'a dyn Fn(VariableId) -> Option<u32>,
    arrived: bool,
    cta: bool,
    cluster: bool,
}

/// Whether all mbarriers are ready before they are used. Those of variables that `declared` knows
/// are ready from the launch on.
pub fn inits_precede_uses(
    roles: &[Role],
    inputs: &Inputs,
    shape: Shape,
    declared: &dyn Fn(VariableId) -> Option<u32>,
) -> bool {
    let threads = i128::from(shape.warps()) * 32;
    ready_before_use(roles, threads, declared)
        || cases(roles)
            .iter()
            .all(|case| initialised_before_use(case, inputs, shape, declared))
}

/// The first condition: all mbarriers are ready behind the first full barrier. A CTA has `threads` threads, in whole
/// warps.
///
/// This does not look for the initialisation of an mbarrier that is used. It checks that none is initialised later or
/// under a condition. So it cannot be asked of a single case, in which fewer may be initialised.
fn ready_before_use(
    roles: &[Role],
    threads: i128,
    declared: &dyn Fn(VariableId) -> Option<u32>,
) -> bool {
    roles.iter().all(|role| {
        let mut met = Met {
            declared,
            arrived: false,
            cta: false,
            cluster: false,
        };
        let mut lines = role.lines.iter();
        lines.all(|line| met.passes(line, role.rank, threads, false))
    })
}

/// The second condition: every mbarrier is initialised once, under no condition, and used only behind a full barrier
/// that follows its initialisation.
fn initialised_before_use(
    roles: &[Role],
    inputs: &Inputs,
    shape: Shape,
    declared: &dyn Fn(VariableId) -> Option<u32>,
) -> bool {
    let lives = uses_by_role(roles, inputs, shape);
    let mut begun: BTreeMap<Place, (usize, usize)> = BTreeMap::new();
    for (number, life) in lives.iter().enumerate() {
        for one in &life.uses {
            if !matches!(one.action, Action::Init { .. }) {
                continue;
            }
            let always = matches!(life.role.lines.get(one.line), Some(Line::Action { .. }));
            let mut places = one.places.iter();
            let (Some(place), None) = (places.next(), places.next()) else {
                return false;
            };
            let again = begun.insert(*place, (number, one.line)).is_some();
            if !always || again || one.repeated || life.role.warps.len() > 1 {
                return false;
            }
        }
    }
    let is_ready = |place: &Place, life: &RoleUses<'_>, line: usize| {
        declared(place.1).is_some()
            || begun
                .get(place)
                .is_some_and(|(number, begin)| lives[*number].met_between(*begin, life, line))
    };
    lives.iter().all(|life| {
        life.uses.iter().all(|one| {
            let begins = matches!(one.action, Action::Init { .. });
            let ready = || {
                let mut places = one.places.iter();
                places.all(|place| is_ready(place, life, one.line))
            };
            begins || !one.places.is_empty() && ready()
        })
    })
}

impl Met<'_> {
    /// Whether a line uses only mbarriers that are ready. A line inside of another one may be
    /// executed never, or several times.
    fn passes(&mut self, line: &Line, rank: u32, threads: i128, inside: bool) -> bool {
        match line {
            Line::Action { action, .. } => match action {
                Action::Init { .. } => !self.arrived && !self.cta && !inside,
                Action::Sync {
                    barrier,
                    threads: counted,
                } => {
                    let all =
                        barrier.as_constant() == Some(0) && counted.as_constant() == Some(threads);
                    self.cta |= all;
                    all || self.cta
                }
                Action::ClusterArrive => {
                    self.arrived = true;
                    true
                }
                Action::ClusterWait => {
                    self.cta = true;
                    self.cluster = true;
                    true
                }
                Action::SetMaxRegisters { .. }
                | Action::Take { .. }
                | Action::GiveBack { .. }
                | Action::Launched => true,
                Action::BarrierArrive { .. } => self.cta,
                other => self.may_use(other, rank),
            },
            Line::Let { .. } | Line::Assign { .. } | Line::Return => true,
            Line::For { .. } | Line::If { .. } => {
                let mut ends = Vec::new();
                for block in line.blocks() {
                    let mut within = self.clone();
                    let mut lines = block.iter();
                    if !lines.all(|line| within.passes(line, rank, threads, true)) {
                        return false;
                    }
                    ends.push(within);
                }
                self.arrived |= ends.iter().any(|end| end.arrived);
                // A warp that meets others under a condition may meet them earlier than a warp that
                // does not.
                let decided = matches!(line, Line::If { .. });
                let always = decided && ends.iter().all(|end| end.cta);
                if !self.cta && !always && ends.iter().any(|end| end.cta) {
                    return false;
                }
                if matches!(line, Line::If { .. }) {
                    self.cta |= ends.iter().all(|end| end.cta);
                    self.cluster |= ends.iter().all(|end| end.cluster);
                }
                true
            }
        }
    }

    fn may_use(&self, action: &Action, rank: u32) -> bool {
        object_of(action).is_none_or(|object| {
            (self.declared)(object.variable).is_some()
                || self.cluster
                || self.cta && object.rank == rank
        })
    }
}
