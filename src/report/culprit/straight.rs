//! Programs that branch on results of atomic operations, reduced to the paths that members took in one run.
//!
//! For example, consider `if fetch_add(s, 1) == 3 { done += 1 }`. For a member that got 1, the operation `done += 1`
//! is not a part of its program any more. The future operations of a member are all those that it can still reach,
//! for any results.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::protocol::StmtId;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Member;
use crate::semantics::instance::Next;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;

use super::phrase::helping;

/// A run whose members have programs without branches. A program consists of the operations that the member did, and
/// then of all operations that it may still do.
pub struct Straight<'a> {
    pub instance: Cow<'a, Instance>,
    pub state: Cow<'a, State>,
    /// Per member: the results after which it no longer reaches some cells, in order.
    pub turns: Vec<Vec<Turn>>,
}

/// A result after which a member no longer comes to some cells.
pub struct Turn {
    /// The operation.
    pub stmt: StmtId,
    /// What it returned.
    pub returned: i64,
    /// The cells at which the member would have helped.
    pub passed: BTreeSet<CellId>,
}

/// The programs along the paths that a run took up to a state.
pub fn straight<'a>(instance: &'a Instance, schedule: &[Action], state: &'a State) -> Straight<'a> {
    let mut all = Straight {
        instance: Cow::Borrowed(instance),
        state: Cow::Borrowed(state),
        turns: Vec::new(),
    };
    if instance.members.iter().all(|member| member.next.is_empty()) {
        return all;
    }
    let ways = ways(instance, schedule);
    for (number, member) in instance.members.iter().enumerate() {
        let way = &ways[number];
        all.turns.push(turns(member, way, state.counters[number]));
        if member.next.is_empty() {
            continue;
        }
        let next = match state.counters[number] {
            NOT_STARTED => 0,
            place => place,
        };
        let mut ops: Vec<_> = way.iter().map(|did| member.ops[did.at as usize]).collect();
        let done = ops.len();
        ops.extend(reachable(member, next).map(|at| member.ops[at]));
        let own = &mut all.instance.to_mut().members[number];
        own.ops = ops;
        own.next = Vec::new();
        if state.counters[number] != NOT_STARTED {
            all.state.to_mut().counters[number] = u32::try_from(done).unwrap_or(NOT_STARTED);
        }
    }
    all
}

/// An operation that a member did.
struct Did {
    /// Its place in the program.
    at: u32,
    /// The value that it read.
    found: i64,
}

/// The operations that each member did, in order.
fn ways(instance: &Instance, schedule: &[Action]) -> Vec<Vec<Did>> {
    let mut ways: Vec<Vec<Did>> = instance.members.iter().map(|_| Vec::new()).collect();
    let mut state = step::initial(instance);
    for action in schedule {
        let member = action.member();
        let at = state.counters[member];
        let cell = step::next_op(instance, &state, member).map(|op| op.cell.0 as usize);
        let found = match cell.and_then(|cell| state.cells.get(cell)) {
            Some(CellState::Semaphore(value)) => *value,
            _ => 0,
        };
        if step::apply(instance, &mut state, *action).is_err() {
            break;
        }
        if matches!(action, Action::Step(_)) && state.counters[member] != at {
            ways[member].push(Did { at, found });
        }
    }
    ways
}

/// The places that can be reached from a place, including this place.
fn reachable(member: &Member, from: u32) -> impl Iterator<Item = usize> {
    let count = member.ops.len();
    let mut reached = vec![false; count];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        // After the last operation there is nothing.
        let Some(known) = reached.get_mut(at as usize) else {
            continue;
        };
        if !std::mem::replace(known, true) {
            open.extend(member.ways(at));
        }
    }
    (0..count).filter(move |at| reached[*at])
}

/// The results on a path after which the member no longer reaches cells where it would have helped.
fn turns(member: &Member, way: &[Did], end: u32) -> Vec<Turn> {
    let helped = |from: u32| -> BTreeSet<CellId> {
        let ops = reachable(member, from).map(|at| member.ops[at]);
        ops.filter(|op| helping(op.kind))
            .map(|op| op.cell)
            .collect()
    };
    let mut all = Vec::new();
    for (number, did) in way.iter().enumerate() {
        let Some(Next::By(ways)) = member.next.get(did.at as usize) else {
            continue;
        };
        let next = way.get(number + 1).map_or(end, |next| next.at);
        let still = helped(next);
        let passed: BTreeSet<CellId> = ways
            .iter()
            .flat_map(|(_, to)| helped(*to))
            .filter(|cell| !still.contains(cell))
            .collect();
        if !passed.is_empty() {
            all.push(Turn {
                stmt: member.ops[did.at as usize].stmt,
                returned: did.found,
                passed,
            });
        }
    }
    all
}
