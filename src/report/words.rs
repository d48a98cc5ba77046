//! Sentences about who waits for what, and why in vain.

use crate::protocol::Comparison;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step::CellState;

use super::obstacle::LISTED;
use super::obstacle::Obstacle;
use super::obstacle::Obstacles;
use super::obstacle::Vain;

/// How many names a sentence lists.
const NAMES: usize = 3;

/// Names in a sentence: `cta[0], cta[2] and 7 more`.
pub fn names(instance: &Instance, members: &[usize]) -> String {
    let shown = members.iter().take(NAMES);
    let shown: Vec<String> = shown.map(|m| instance.member_name(*m)).collect();
    match members.len().saturating_sub(NAMES) {
        0 => joined(&shown),
        // Not all are listed.
        _ if members.len() >= LISTED => format!("{} and more", shown.join(", ")),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// What an operation waits for: `dq[0] == 1`, `bar[0] to leave phase 0`, `64 threads at b[1]`.
pub fn awaited(instance: &Instance, op: &Op) -> String {
    let cell = instance.cell_name(op.cell);
    match op.kind {
        OpKind::Wait(Comparison::Equal, value) => format!("{cell} == {value}"),
        OpKind::Wait(Comparison::AtLeast, value) => format!("{cell} >= {value}"),
        OpKind::WaitParity(parity) => format!("{cell} to leave phase {}", u8::from(parity)),
        OpKind::Sync(count) => format!("{count} threads at {cell}"),
        OpKind::BarrierWait => format!("the others at {cell}"),
        OpKind::Acquire(amount) => format!("{amount} of {cell}"),
        OpKind::Add(_)
        | OpKind::Set(_)
        | OpKind::Arrive(_)
        | OpKind::BarArrive(_)
        | OpKind::ExpectTx(_)
        | OpKind::CompleteTx(_)
        | OpKind::Copy(_)
        | OpKind::Commit
        | OpKind::Init
        | OpKind::BarrierArrive
        | OpKind::Release(_) => format!("nothing at {cell}"),
    }
}

/// What there is instead: `dq[0] is 0`, `bar[0] has 1 arrival pending`.
pub fn present(obstacles: &Obstacles<'_>, cell: CellId) -> String {
    let instance = obstacles.instance();
    let name = instance.cell_name(cell);
    match &obstacles.state().cells[cell.0 as usize] {
        CellState::Semaphore(value) => format!("{name} is {value}"),
        CellState::Mbarrier { pending, phase, tx } => {
            let bytes = match tx {
                0 => String::new(),
                tx if *tx < 0 => format!(" and {} bytes too many", tx.unsigned_abs()),
                tx => format!(" and {tx} bytes missing"),
            };
            format!(
                "{name} is in phase {} with {} pending{bytes}",
                u8::from(*phase),
                arrivals(*pending)
            )
        }
        CellState::Uninitialized => format!("{name} is not initialised"),
        CellState::Barrier {
            pending, arrived, ..
        } => {
            let there: Vec<usize> = arrived.iter().map(|member| *member as usize).collect();
            let missing = arrivals(*pending);
            match there.is_empty() {
                true => format!("{name} lacks {missing}"),
                false => format!("{name} lacks {missing} ({} came)", names(instance, &there)),
            }
        }
        CellState::Pool { available } => format!("{available} of {name} are available"),
        CellState::Named { registered, .. } => {
            let there: Vec<usize> = registered.iter().map(|r| r.member as usize).collect();
            format!(
                "{} threads are there ({})",
                32 * there.len(),
                names(instance, &there)
            )
        }
    }
}

/// `1 arrival`, `2 arrivals`.
fn arrivals(count: i64) -> String {
    let noun = if count == 1 { "arrival" } else { "arrivals" };
    format!("{count} {noun}")
}

/// Why nothing changes any more, as a clause.
pub fn why(obstacles: &Obstacles<'_>, member: usize, obstacle: &Obstacle) -> String {
    let instance = obstacles.instance();
    match obstacle {
        Obstacle::Wait(op, Vain::Passed(additions)) => passed(obstacles, member, op, additions),
        Obstacle::Wait(op, Vain::Nobody) => format!("nobody else {} it", verb(op)),
        Obstacle::Wait(op, Vain::Done(others)) => format!(
            "nobody who is left {} it ({} did and will not again)",
            verb(op),
            names(instance, others)
        ),
        Obstacle::Wait(op, Vain::Others(others)) => {
            let first = others[0];
            let name = instance.member_name(first);
            let why = match obstacles.of(first) {
                Some(Obstacle::Wait(op, _)) => {
                    format!("itself waits for {}", awaited(instance, &op))
                }
                Some(Obstacle::Place(held)) => {
                    format!("cannot start: {}", held_by(instance, &held))
                }
                Some(Obstacle::Turn(next)) => format!(
                    "cannot start before {}, which has no place",
                    instance.member_name(next)
                ),
                None => "has not done so yet".to_owned(),
            };
            format!("{name}, which still {} it, {why}", verb(op))
        }
        Obstacle::Place(held) => held_by(instance, held),
        Obstacle::Turn(next) => format!("{} starts first", instance.member_name(*next)),
    }
}

/// One sentence, without a full stop, about a member that does not go on.
pub fn sentence(obstacles: &Obstacles<'_>, member: usize, obstacle: &Obstacle) -> String {
    let instance = obstacles.instance();
    let name = instance.member_name(member);
    let why = why(obstacles, member, obstacle);
    match obstacle {
        Obstacle::Wait(op, vain) => {
            let stays = match (vain, &obstacles.state().cells[op.cell.0 as usize]) {
                (Vain::Passed(_), _) => " and never goes down".to_owned(),
                (_, CellState::Semaphore(value)) => format!(" and stays {value}"),
                _ => " and nothing changes that".to_owned(),
            };
            format!(
                "{name} waits for {}, but {}{stays}: {why}",
                awaited(instance, op),
                present(obstacles, op.cell)
            )
        }
        Obstacle::Place(_) | Obstacle::Turn(_) => format!("{name} cannot start: {why}"),
    }
}

fn passed(obstacles: &Obstacles<'_>, member: usize, op: &Op, additions: &[(usize, i64)]) -> String {
    let instance = obstacles.instance();
    let start = obstacles.start(op.cell).unwrap_or(0);
    let mut parts = Vec::new();
    if start != 0 {
        parts.push(format!("it started at {start}"));
    }
    for (who, amount) in additions.iter().take(NAMES) {
        let name = instance.member_name(*who);
        let itself = if *who == member { " itself" } else { "" };
        parts.push(format!("{name}{itself} added {amount}"));
    }
    for (who, value) in obstacles.setters(op.cell).iter().take(NAMES) {
        parts.push(format!("{} set it to {value}", instance.member_name(*who)));
    }
    match additions.len().saturating_sub(NAMES) {
        0 => joined(&parts),
        more => format!("{} and {more} more added to it", parts.join(", ")),
    }
}

fn verb(op: &Op) -> &'static str {
    match op.kind {
        OpKind::WaitParity(_)
        | OpKind::Arrive(_)
        | OpKind::ExpectTx(_)
        | OpKind::CompleteTx(_)
        | OpKind::Copy(_)
        | OpKind::Commit
        | OpKind::Init
        | OpKind::BarrierArrive
        | OpKind::BarrierWait => "arrives at",
        OpKind::Acquire(_) | OpKind::Release(_) => "gives back to",
        OpKind::Sync(_) | OpKind::BarArrive(_) => "comes to",
        OpKind::Wait(..) | OpKind::Add(_) | OpKind::Set(_) => "adds to",
    }
}

fn held_by(instance: &Instance, held: &[usize]) -> String {
    match held {
        [] => "there is no place for it".to_owned(),
        [one] => format!("{} holds the only place", instance.member_name(*one)),
        many => format!("{} hold all places", names(instance, many)),
    }
}
