//! `mbarrier.inval` ends the life of an mbarrier. A later use is undefined, so every use has to come before it in
//! every schedule.
//!
//! This is shown by a barrier of all threads between the use and the `mbarrier.inval`. Program order in one warp
//! is not enough, because other lanes may still be at the use. The barrier must stand in no branch and in no loop,
//! which might make no trip. Both programs must have the same barriers up to it, so that it is the same barrier in
//! both. Of a cluster barrier, the use has to come before the arrival, and `mbarrier.inval` after the wait that
//! follows. Between arrival and wait nobody is held up.
//!
//! If this holds, `mbarrier.inval` has no effect on the protocol and is left out. That no copy to the mbarrier is
//! still under way is assumed, and stated in the text.

use super::family::barrier;
use super::family::place;
use super::program::Followed;
use super::program::Full;
use super::program::Program;
use super::program::each;
use super::program::numbered;
use super::program::skeleton;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// Something that is done to an mbarrier.
struct Event<'s> {
    address: &'s Sum,
    at: usize,
    ends: bool,
    program: usize,
    /// How many statements of the program with barriers of all threads, or halves of one, come before, or around.
    stage: usize,
    looped: bool,
}

/// Leaves the ends of lives out, or says what may come after one. Returns whether there were some to which copies go.
pub(in crate::ptx) fn end_lives(
    followed: &mut Followed,
    launch: &Launch,
) -> Result<bool, Obstacle> {
    let full = Full::new(followed, launch);
    let meets = |action: &Action| match action {
        Action::ClusterArrive | Action::ClusterWait => true,
        action => launch.ranks() == 1 && full.is_met(action),
    };
    let mut events = Vec::new();
    for (number, program) in followed.programs.iter().enumerate() {
        listed(number, program, &meets, &mut events);
    }
    let mut flying = false;
    for end in events.iter().filter(|e| e.ends) {
        let refuse = |why: &str| Err(Obstacle::new(end.at, why));
        let Some(program) = followed.programs.get(end.program) else {
            continue;
        };
        if program.warps.len() > 1 {
            let several = Obstacle::new(end.at, "several warps end the life of one mbarrier");
            return Err(several.misused());
        }
        if end.looped {
            return refuse("an mbarrier whose life ends in a loop is not followed");
        }
        for other in &events {
            if std::ptr::eq(other, end) || !meet(other, end, followed) {
                continue;
            }
            let stages = |number: usize| {
                let program = followed.programs.get(number);
                let kept = program.map(|p| skeleton(&p.statements, &meets));
                numbered(&kept.unwrap_or_default())
            };
            let (mine, theirs) = (stages(end.program), stages(other.program));
            let before = (other.stage..end.stage).any(|from| {
                let length = holds(mine.get(from..end.stage).unwrap_or_default());
                let same = |length| mine.get(..from + length) == theirs.get(..from + length);
                length.is_some_and(same)
            });
            if !before {
                let mut obstacle = Obstacle::new(
                    end.at,
                    "the mbarrier may be used behind this: no barrier of all threads stands between",
                );
                obstacle.from = Some(other.at);
                return Err(obstacle);
            }
        }
    }
    for end in events.iter().filter(|e| e.ends) {
        for program in &followed.programs {
            each(&program.statements, &mut |s| {
                flying |= matches!(&s.action, Action::Copy(to, ..) | Action::Commit(to, _)
                    if near(to, program.rank, end.address, rank(end, followed), &followed.unknowns));
            });
        }
    }
    if events.iter().any(|e| e.ends) {
        for program in &mut followed.programs {
            let keep = |a: &Action| !matches!(a, Action::Inval(_));
            let statements = skeleton(&program.statements, &keep);
            *program = Program::of(program.rank, program.warps.clone(), statements);
        }
    }
    Ok(flying)
}

/// How many statements at the beginning are a barrier of all threads, whatever happens.
fn holds(statements: &[Statement]) -> Option<usize> {
    let mut actions = statements.iter().map(|s| &s.action);
    match (actions.next()?, actions.next()) {
        (Action::Sync(..), _) => Some(1),
        (Action::ClusterArrive, Some(Action::ClusterWait)) => Some(2),
        _ => None,
    }
}

fn rank(event: &Event<'_>, followed: &Followed) -> u32 {
    followed.programs.get(event.program).map_or(0, |p| p.rank)
}

fn meet(a: &Event<'_>, b: &Event<'_>, followed: &Followed) -> bool {
    let (first, second) = (rank(a, followed), rank(b, followed));
    near(a.address, first, b.address, second, &followed.unknowns)
}

/// Whether two addresses may be one mbarrier.
fn near(a: &Sum, of_a: u32, b: &Sum, of_b: u32, unknowns: &Unknowns) -> bool {
    let (Ok(a), Ok(b)) = (place(a, of_a, unknowns, 0), place(b, of_b, unknowns, 0)) else {
        return true;
    };
    let ((a_low, a_high), (b_low, b_high)) =
        (unknowns.1.range(&a.offset), unknowns.1.range(&b.offset));
    a.base == b.base && a.rank == b.rank && a_low <= b_high && b_low <= a_high
}

/// What a program does to mbarriers.
fn listed<'s>(
    number: usize,
    program: &'s Program,
    meets: &dyn Fn(&Action) -> bool,
    events: &mut Vec<Event<'s>>,
) {
    let mut stage = 0;
    for statement in &program.statements {
        let one = std::slice::from_ref(statement);
        let meeting = !skeleton(one, meets).is_empty();
        stage += usize::from(meeting);
        let looped = loops(one);
        each(one, &mut |s: &'s Statement| {
            if let Some(address) = barrier(&s.action) {
                let ends = matches!(s.action, Action::Inval(_));
                events.push(Event {
                    address,
                    at: s.at,
                    ends,
                    program: number,
                    stage,
                    looped: looped || meeting,
                });
            }
        });
    }
}

fn loops(statements: &[Statement]) -> bool {
    let mut found = false;
    each(statements, &mut |s| {
        found |= matches!(s.action, Action::For(..))
    });
    found
}
