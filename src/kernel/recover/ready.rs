//! Whether all mbarriers are ready before anybody uses them, so that they may be declared instead of initialised.
//!
//! They are if every initialisation is done once, under no condition, before its warp meets others, and if every use comes
//! behind a meeting that its initialisation precedes: of the CTA for its own mbarriers, of the cluster for all. A warp has
//! met the cluster behind its wait, and everybody's initialisations precede that if they precede their arrivals.

use crate::recover::family::each;
use crate::recover::family::object_of;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Role;

/// How far a role has met others.
#[derive(Default)]
struct Met {
    arrived: bool,
    cta: bool,
    cluster: bool,
}

/// Whether mbarriers are ready before they are used, where a CTA has so many threads, in whole warps.
pub fn ready_before_use(roles: &[Role], threads: i128) -> bool {
    roles.iter().all(|role| {
        let mut met = Met::default();
        role.lines
            .iter()
            .all(|line| met.passes(line, role.rank, threads))
    })
}

impl Met {
    fn passes(&mut self, line: &Line, rank: u32, threads: i128) -> bool {
        match line {
            Line::Action { action, .. } => match action {
                Action::Init { .. } => !self.arrived && !self.cta,
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
                Action::SetMaxRegisters { .. } => true,
                Action::BarrierArrive { .. } => self.cta,
                other => self.may_use(other, rank),
            },
            Line::Let { .. } | Line::Assign { .. } | Line::Return => true,
            Line::For { body, .. } => self.all_of(body, rank),
            Line::If {
                then, otherwise, ..
            } => self.all_of(then, rank) && self.all_of(otherwise, rank),
        }
    }

    /// Whether lines under a condition or in a loop do no more than what is ready allows.
    fn all_of(&self, lines: &[Line], rank: u32) -> bool {
        let mut fine = true;
        each(lines, &mut |action, _| {
            let initialises = matches!(action, Action::Init { .. });
            fine &= self.cta && !initialises && self.may_use(action, rank);
        });
        fine
    }

    fn may_use(&self, action: &Action, rank: u32) -> bool {
        object_of(action).is_none_or(|object| self.cluster || self.cta && object.rank == rank)
    }
}
