//! Warps that arrive at the cluster's barrier and end without a wait there.
//!
//! For example, `barrier.cluster.arrive; @p mbarrier.arrive ...; ret`. On an H200 such a warp is held at the end of its first lane,
//! until that phase of the cluster's barrier completes. An assembler may let the lanes end first that have nothing left to do. So
//! what the others do behind the arrival may never come, and a barrier of all threads waits for the warp. PTX says nothing about
//! it. (Measured: docs/crosschecks/hardware.md.)
//!
//! So whatever others may wait for is refused between such an arrival and the end.

use crate::ir::Location;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Role;
use crate::recover::tree::Obstacle;

const HELD: &str = "the warp does this after `barrier.cluster.arrive` and exits without `barrier.cluster.wait`: hardware may hold it \
                    back until the cluster's barrier completes. Put the wait before this, or the arrival after it";
const MET: &str = "the warp exits after `barrier.cluster.arrive` without `barrier.cluster.wait`: a barrier of all threads may wait for it";

/// What a warp may have done when it comes to a place, on some way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Way {
    /// It may come here.
    comes: bool,
    /// Its last arrival at the cluster's barrier may not have been waited for: where that is.
    arrived: Option<Location>,
    /// What it may have done since.
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
pub(super) fn refuse_held(roles: &[Role]) -> Result<(), Obstacle> {
    match roles.iter().find_map(|role| ended(role).done) {
        Some(location) => Err(obstacle(HELD, location)),
        None => Ok(()),
    }
}

/// Refuses that barriers of all threads, which others still come to, are taken not to wait for such a warp.
pub(super) fn refuse_met(role: &Role) -> Result<(), Obstacle> {
    match ended(role).arrived {
        Some(location) => Err(obstacle(MET, location)),
        None => Ok(()),
    }
}

fn obstacle(reason: &str, location: Location) -> Obstacle {
    Obstacle {
        reason: reason.to_owned(),
        location,
    }
}

/// With what a role may end.
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

/// With what the end of lines is come to; with what they are left is added.
fn walked(lines: &[Line], mut way: Way, returned: &mut Way) -> Way {
    for line in lines {
        match line {
            Line::Action { action, location } => match action {
                Action::ClusterArrive => (way.arrived, way.done) = (Some(location.clone()), None),
                Action::ClusterWait => (way.arrived, way.done) = (None, None),
                // Nobody waits for a wait.
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
                // What a round leaves is what the next one begins with. Two rounds tell all: nothing is forgotten but at a wait.
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
                // What follows is not come to.
                return way;
            }
        }
    }
    way
}
