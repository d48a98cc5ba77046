//! Turns waits for the state of an own arrival into waits for a parity.
//!
//! For example, `b.wait(b.arrive())` waits for the phase in which the arrival has counted
//! ([`crate::recover::phase_tokens`]). Suppose that a thread's arrivals at an mbarrier are numbered from 0, and that
//! arrival `k` counts in phase `k`. Then the wait is one for the parity of `k`.
//!
//! So it has to be shown that the thread is *in step*: no phase `k` is complete before the thread has made arrival
//! `k`. For this, the loops of roles are compared to see how often others arrive. In a ring, the number of an arrival
//! has to determine its mbarrier.

mod by_warp;
mod in_step;
mod member;
mod rounds;
mod turns;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::init_before_use::inits_precede_uses;
use crate::recover::lower::Inputs;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::returns;
use crate::recover::shape::Shape;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

pub use by_warp::by_warp;
pub use in_step::in_step;
pub use member::Ring;

use in_step::retain;
use member::Member;
use member::Steps;
use rounds::Rounds;
use turns::at_most_once_more;
use turns::heaviest;
use turns::shapes;

const TOO_MANY: &str = "more may arrive in a round than a phase takes: which phase a state names depends on the schedule";
const UNEQUAL: &str = "others may arrive more than once more often than a warp that waits for the states of its arrivals";
const INITIALISED: &str = "an mbarrier whose phases warps wait for by states of arrivals is not initialised once, before all uses";

/// Turns waits for states into waits for parities, and marks of arrivals into marks of rounds.
pub fn settle(
    kernel: &Kernel,
    shape: Shape,
    roles: &mut [Role],
    inputs: &Inputs,
) -> Result<Vec<Ring>, Obstacle> {
    let mut rings = rings(roles, inputs);
    let declared = |variable: VariableId| kernel.variables.get(variable.0 as usize)?.arrivals;
    if !rings.is_empty() && !inits_precede_uses(roles, inputs, shape, &declared) {
        return refuse(INITIALISED, &Location::default());
    }
    for ring in &mut rings {
        (ring.steps, ring.warps) = checked(roles, inputs, ring)?;
    }
    for role in roles {
        let member = Member::new(role, inputs);
        let of = |object: &Object| rings.iter().find(|ring| member.hits(object, ring));
        let parity = |number: &Number, ring: &Ring, more: i128| {
            let stages = i128::try_from(ring.places.len()).ok()?;
            let turn = number.divided(stages)?;
            turn.plus(&Number::constant(more))?.remainder(2)
        };
        let mut failed = false;
        let mut lines = role.lines.clone();
        retain(&mut lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return true;
            };
            match action {
                Action::WaitOwn { object, number, .. } => {
                    let parity = of(object).and_then(|ring| parity(number, ring, 0));
                    failed |= parity.is_none();
                    *action = Action::Wait {
                        object: object.clone(),
                        parity: parity.unwrap_or_default(),
                    };
                    true
                }
                Action::Numbered { object, number, .. } => {
                    let Some(ring) = of(object).filter(|ring| member.awaits(ring)) else {
                        return false;
                    };
                    let before = parity(number, ring, 1);
                    failed |= before.is_none();
                    *action = Action::Round {
                        object: object.clone(),
                        before: before.filter(|_| ring.steps == Steps::Guarded),
                    };
                    true
                }
                _ => true,
            }
        });
        if failed {
            return refuse("a number is too large", &Location::default());
        }
        role.lines = lines;
    }
    Ok(rings)
}

/// The mbarriers that are waited for by states. All mbarriers that one wait may be at belong to one ring.
fn rings(roles: &[Role], inputs: &Inputs) -> Vec<Ring> {
    let mut rings: Vec<Ring> = Vec::new();
    for role in roles {
        let member = Member::new(role, inputs);
        every_line(&role.lines, &mut |line| {
            let Line::Action {
                action: Action::WaitOwn { object, .. },
                ..
            } = line
            else {
                return;
            };
            let mut ring = Ring {
                rank: object.rank,
                variable: object.variable,
                places: member.places(object).unwrap_or_default(),
                steps: Steps::Guarded,
                warps: None,
            };
            let (same, others) = rings.drain(..).partition(|other: &Ring| {
                (other.rank, other.variable) == (ring.rank, ring.variable)
                    && (other.places.is_empty() || !other.places.is_disjoint(&ring.places))
            });
            rings = others;
            let same: Vec<Ring> = same;
            ring.places
                .extend(same.into_iter().flat_map(|other| other.places));
            rings.push(ring);
        });
    }
    rings
}

/// Checks who stays in step at a ring. Returns that, and how many warps arrive in a round. Refuses rings for which
/// neither of the following is known.
///
/// *Everybody waits.* A thread that waits after each of its arrivals makes at most one of them in each phase. If
/// everybody who arrives waits so, and together they make no more arrivals in a round than a phase takes, phase `k`
/// needs everybody's arrival `k`.
///
/// *Some only arrive*, as the producer of a ring does. Suppose that nobody makes more than one arrival more than a
/// thread that waits. Let this thread make `n` arrivals, and let arrival `k` count in a later phase than `k`. Then so
/// does each arrival behind it, up to the last one, `n - 1`. To come to its end, the thread needs `n + 1` complete
/// phases. But it makes `n` arrivals, and nobody makes more than `n + 1`. These are too few, so the thread hangs.
///
/// In the text, the thread waits for phase `k - 1` right before arrival `k`. If it is in step, that wait ends at
/// once. If it is not, it makes no arrival in the phase of the arrival before, and hangs for the same reason. Nobody
/// can distinguish this wait from the time before the arrival. So the kernel has a run that hangs exactly if the text
/// has one.
fn checked(
    roles: &[Role],
    inputs: &Inputs,
    ring: &Ring,
) -> Result<(Steps, Option<i128>), Obstacle> {
    let members: Vec<Member> = roles.iter().map(|role| Member::new(role, inputs)).collect();
    let place = first_wait(&members, ring);
    let most = arrivals(&members, ring)
        .ok_or(())
        .or_else(|()| refuse(INITIALISED, &place))?;
    let mut waiting = Vec::new();
    let mut others = Vec::new();
    let mut all = 0_i128;
    let mut rounds_of = 0_i128;
    let mut alike = true;
    let mut each = BTreeSet::new();
    for member in &members {
        if !member.touches(&member.role.lines, ring) {
            continue;
        }
        let mut rounds = Rounds {
            member,
            ring,
            class: None,
            most: 0,
            least: i128::MAX,
        };
        if member.awaits(ring) {
            rounds.block(&member.role.lines)?;
            rounds.numbered(&member.role.lines, &place)?;
            alike &= rounds.most == rounds.least;
            waiting.push(member);
        } else {
            others.push(member);
            rounds.most = heaviest(member, ring, &mut each)
                .ok_or(())
                .or_else(|()| refuse(TOO_MANY, &place))?;
            each.insert(rounds.most);
        }
        let warps = i128::try_from(member.role.warps.len()).unwrap_or(i128::MAX);
        all = all.saturating_add(rounds.most.saturating_mul(warps));
        rounds_of = rounds_of.saturating_add(warps);
    }
    if all > most {
        return refuse(TOO_MANY, &place);
    }
    let warps = (alike && each.len() <= 1 && all == most).then_some(rounds_of);
    if others.is_empty() {
        return Ok((Steps::Certain, warps));
    }
    for one in &waiting {
        // A role that returns early makes fewer arrivals than its loops say.
        if returns(&one.role.lines) {
            return refuse(UNEQUAL, &place);
        }
        for other in waiting.iter().chain(&others) {
            let fits = [false, true].into_iter().any(|by_turn| {
                let mine = shapes(one, ring, &one.role.lines, by_turn, &mut Vec::new());
                let theirs = shapes(other, ring, &other.role.lines, by_turn, &mut Vec::new());
                match (mine, theirs) {
                    (Some(mine), Some(theirs)) => at_most_once_more(&theirs, &mine, ring),
                    _ => false,
                }
            });
            if !fits {
                return refuse(UNEQUAL, &place);
            }
        }
    }
    Ok((Steps::Guarded, warps))
}

fn first_wait(members: &[Member], ring: &Ring) -> Location {
    let mut found = None;
    for member in members {
        every_line(&member.role.lines, &mut |line| {
            if let Line::Action { location, .. } = line
                && member.waits(line, ring).is_some()
            {
                found.get_or_insert_with(|| location.clone());
            }
        });
    }
    found.unwrap_or_default()
}

/// How many arrivals complete a phase of each mbarrier of a ring, each of which is initialised once.
fn arrivals(members: &[Member], ring: &Ring) -> Option<i128> {
    let mut found = BTreeMap::new();
    for member in members {
        let mut inside = Vec::new();
        initialised(member, ring, &member.role.lines, &mut inside, &mut found)?;
    }
    let counts: BTreeSet<i128> = found.values().copied().collect();
    let all = ring.places.iter().all(|place| found.contains_key(place));
    match counts.first() {
        Some(count) if counts.len() == 1 && all && !ring.places.is_empty() => Some(*count),
        _ => None,
    }
}

fn initialised(
    member: &Member,
    ring: &Ring,
    lines: &[Line],
    inside: &mut Vec<u32>,
    found: &mut BTreeMap<i128, i128>,
) -> Option<()> {
    for line in lines {
        if let Line::Action {
            action: Action::Init { object, count },
            ..
        } = line
            && member.hits(object, ring)
        {
            let moves = |index: &u32| object.offset.parts.contains_key(&Atomic::Index(*index));
            if !inside.iter().all(moves) {
                return None;
            }
            for place in member.places(object)? {
                // A second initialisation would restart the phases.
                if found.insert(place, *count).is_some() {
                    return None;
                }
            }
        }
        if let Line::For { index, .. } = line {
            inside.push(*index);
        }
        for block in line.blocks() {
            initialised(member, ring, block, inside, found)?;
        }
        if let Line::For { .. } = line {
            inside.pop();
        }
    }
    Some(())
}
