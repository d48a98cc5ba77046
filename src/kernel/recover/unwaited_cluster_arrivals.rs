//! Warps that arrive at the cluster's barrier and exit without waiting there.
//!
//! For example, `barrier.cluster.arrive; @p mbarrier.arrive ...; ret`. On an H200, the whole warp is blocked when its
//! first lane exits, until this phase of the cluster's barrier completes. The assembler may let lanes that have
//! nothing left to do exit first. Then what the other lanes do behind the arrival may never happen, and a barrier of
//! all threads waits for the warp. PTX says nothing about it. (Measured: docs/crosschecks/hardware.md.)
//!
//! So kernels are refused that do something between such an arrival and the exit that others may wait for.

use crate::ir::Location;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::tree::Obstacle;

const HELD: &str = "the warp does this after `barrier.cluster.arrive` and exits without `barrier.cluster.wait`: hardware may hold it \
                    back until the cluster's barrier completes. Put the wait before this, or the arrival after it";
const MET: &str = "the warp exits after `barrier.cluster.arrive` without `barrier.cluster.wait`: a barrier of all threads may wait for it";

/// What a warp may have done on the paths to a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Way {
    /// Whether it may come to this place.
    comes: bool,
    /// Where it last arrived at the cluster's barrier, if it may not have waited for that since.
    arrived: Option<Location>,
    /// Where it may have done something since that others may wait for.
    done: Option<Location>,
}

impl Way {
    fn joined(self, other: Way) -> Way {
        Way {
            comes: self.comes || other.comes,
            arrived: self.arrived.or(other.arrived),
            done: self.done.or(other.done),
        }
    }
}

/// Refuses what a warp may do between an arrival at the cluster's barrier and its end, if it does not wait there.
pub(super) fn refuse_unwaited_effects(roles: &[Role]) -> Result<(), Obstacle> {
    match roles.iter().find_map(|role| ended(role).done) {
        Some(location) => Err(obstacle(HELD, location)),
        None => Ok(()),
    }
}

/// Refuses a role that exits after such an arrival, if others still come to a barrier of all threads. That barrier
/// may wait for this warp.
pub(super) fn refuse_unwaited_exit(role: &Role) -> Result<(), Obstacle> {
    match ended(role).arrived {
        Some(location) => Err(obstacle(MET, location)),
        None => Ok(()),
    }
}

fn obstacle(reason: &str, location: Location) -> Obstacle {
    Obstacle::new(reason, location)
}

/// What a warp may have done when its role ends.
fn ended(role: &Role) -> Way {
    let mut returned = Way::default();
    let begin = Way {
        comes: true,
        ..Way::default()
    };
    let last = walked(&role.lines, begin, &mut returned);
    match last.comes {
        true => last.joined(returned),
        false => returned,
    }
}

/// What a warp may have done at the end of these lines. What it may have done at returns in them is added to
/// `returned`.
fn walked(lines: &[Line], mut way: Way, returned: &mut Way) -> Way {
    for line in lines {
        match line {
            Line::Action { action, location } => match action {
                Action::ClusterArrive => (way.arrived, way.done) = (Some(location.clone()), None),
                Action::ClusterWait => (way.arrived, way.done) = (None, None),
                // A wait is nothing that others wait for.
                Action::Wait { .. } | Action::WaitOwn { .. } | Action::CounterWait { .. } => {}
                _ if way.arrived.is_some() => {
                    way.done.get_or_insert_with(|| location.clone());
                }
                _ => {}
            },
            Line::If {
                then, otherwise, ..
            } => {
                let yes = walked(then, way.clone(), returned);
                let no = walked(otherwise, way, returned);
                way = match (yes.comes, no.comes) {
                    (true, false) => yes,
                    (false, true) => no,
                    _ => yes.joined(no),
                };
            }
            Line::For { body, .. } => {
                // An iteration begins with what the one before leaves. Two iterations show
                // everything, because only a wait removes anything.
                for _ in 0..2 {
                    let round = walked(body, way.clone(), returned);
                    way = match round.comes {
                        true => way.joined(round),
                        false => way,
                    };
                }
            }
            Line::Let { .. } | Line::Assign { .. } => {}
            Line::Return => {
                *returned = std::mem::take(returned).joined(way.clone());
                way = Way::default();
                // The lines behind are not reached.
                return way;
            }
        }
    }
    way
}
