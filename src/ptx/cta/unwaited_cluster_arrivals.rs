//! Refuses warps that arrive at the cluster barrier and exit without a wait there. Hardware may keep such a warp until
//! the barrier completes, so operations in between may never happen. `warplock_kernel` has a measurement with its version
//! of this rule.

use super::program::Followed;
use super::program::Program;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;

const HELD: &str = "the warp does this after `barrier.cluster.arrive` and exits without `barrier.cluster.wait`: hardware may hold it \
                    back until the cluster's barrier completes. Put the wait before this, or the arrival after it";
const MET: &str = "the warp exits after `barrier.cluster.arrive` without `barrier.cluster.wait`: a barrier of all threads may wait for it";

/// Where a warp may have arrived without a wait since, and what it may have done after that.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    arrived: Option<usize>,
    done: Option<usize>,
}

impl Way {
    fn joined(self, other: Way) -> Way {
        Way {
            arrived: self.arrived.or(other.arrived),
            done: self.done.or(other.done),
        }
    }
}

/// Refuses what a warp may do between an arrival at the cluster's barrier and its end, if it does not wait there.
pub(super) fn refuse_unwaited_effects(followed: &Followed) -> Result<(), Obstacle> {
    let mut programs = followed.programs.iter();
    match programs.find_map(|program| ended(program).done) {
        Some(at) => Err(Obstacle::new(at, HELD).misused()),
        None => Ok(()),
    }
}

/// Refuses that barriers of all threads are taken not to wait for such a warp.
pub(super) fn refuse_unwaited_exit(followed: &Followed) -> Result<(), Obstacle> {
    let mut programs = followed.programs.iter();
    match programs.find_map(|program| ended(program).arrived) {
        Some(at) => Err(Obstacle::new(at, MET).misused()),
        None => Ok(()),
    }
}

fn ended(program: &Program) -> Way {
    walked(&program.statements, Way::default())
}

fn walked(statements: &[Statement], mut way: Way) -> Way {
    for statement in statements {
        match &statement.action {
            Action::ClusterArrive => (way.arrived, way.done) = (Some(statement.at), None),
            Action::ClusterWait => way = Way::default(),
            // Nobody waits for a wait.
            Action::Wait(..) | Action::WaitOwn(_) | Action::CounterWait(..) => {}
            Action::If(_, yes, no) => way = walked(yes, way).joined(walked(no, way)),
            Action::For(_, _, body) => {
                // Two rounds tell all: nothing is forgotten but at a wait.
                for _ in 0..2 {
                    way = way.joined(walked(body, way));
                }
            }
            _ if way.arrived.is_some() => {
                way.done.get_or_insert(statement.at);
            }
            _ => {}
        }
    }
    way
}
