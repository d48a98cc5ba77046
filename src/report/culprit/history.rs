//! The history of every barrier in a run, phase by phase.

use rustc_hash::FxHashMap;

use crate::protocol::StmtId;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::Delivery;

/// The events of one phase or generation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phase {
    /// The members that arrived, with the number of arrivals and the statement, in the order of the arrivals.
    pub came: Vec<(usize, i64, StmtId)>,
    /// How many bytes were delivered.
    pub delivered: i64,
    /// The last statement that delivered bytes.
    pub delivers: Option<(StmtId, i64)>,
    /// The last statement that expected bytes.
    pub expects: Option<(StmtId, i64)>,
    /// A wait for parity 1 that passed at once on a new mbarrier, if its member arrived in this phase afterwards.
    pub after: Option<AtOnce>,
}

/// A wait for parity 1 that passed before its mbarrier had completed any phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtOnce {
    /// The member that waited.
    pub member: usize,
    /// The mbarrier.
    pub cell: CellId,
    /// The wait.
    pub stmt: StmtId,
}

impl Phase {
    /// The number of arrivals of a member.
    pub fn arrivals(&self, member: usize) -> i64 {
        let own = self.came.iter().filter(|(who, _, _)| *who == member);
        own.fold(0, |sum, (_, count, _)| sum.saturating_add(*count))
    }

    /// The members that arrived, each once, in order.
    pub fn members(&self) -> Vec<usize> {
        let mut members: Vec<usize> = self.came.iter().map(|(who, _, _)| *who).collect();
        members.sort_unstable();
        members.dedup();
        members
    }
}

/// Per element: its phases. The last one is open.
#[derive(Debug, Clone, Default)]
pub struct History {
    cells: FxHashMap<CellId, Vec<Phase>>,
}

impl History {
    /// Runs a schedule up to its end, or up to an action that is not possible.
    pub fn of(instance: &Instance, schedule: &[Action]) -> History {
        let mut cells: FxHashMap<CellId, Vec<Phase>> = FxHashMap::default();
        let mut at_once: FxHashMap<usize, AtOnce> = FxHashMap::default();
        let mut state = step::initial_with_history(instance);
        for action in schedule {
            let Some((stmt, cell)) = step::works_on(instance, &state, *action) else {
                if step::apply(instance, &mut state, *action).is_err() {
                    break;
                }
                continue;
            };
            let member = action.member();
            let landing = match action {
                Action::Land(member, position) => step::in_flight(&state, *member, *position),
                Action::Launch(_) | Action::Step(_) => None,
            };
            let op = step::next_op(instance, &state, member).copied();
            let before = state.history[cell.0 as usize];
            if step::apply(instance, &mut state, *action).is_err() {
                break;
            }
            let phases = cells.entry(cell).or_insert_with(|| vec![Phase::default()]);
            let first = phases.len() == 1;
            if let Some(open) = phases.last_mut() {
                let arrived = open.came.len();
                match (landing.map(|l| l.delivery), op.map(|op| op.kind)) {
                    (Some(Delivery::Bytes(bytes)), _) | (None, Some(OpKind::CompleteTx(bytes))) => {
                        open.delivered = open.delivered.saturating_add(bytes);
                        open.delivers = Some((stmt, bytes));
                    }
                    (Some(Delivery::Arrival), _)
                    | (
                        None,
                        Some(OpKind::BarrierArrive | OpKind::Sync(_) | OpKind::BarArrive(_)),
                    ) => open.came.push((member, 1, stmt)),
                    (None, Some(OpKind::Arrive(count))) => open.came.push((member, count, stmt)),
                    (None, Some(OpKind::ExpectTx(bytes))) => open.expects = Some((stmt, bytes)),
                    (None, Some(OpKind::WaitParity(true))) if first => {
                        at_once.insert(member, AtOnce { member, cell, stmt });
                    }
                    (None, _) => {}
                }
                if open.came.len() > arrived {
                    open.after = at_once.get(&member).copied().or(open.after);
                }
            }
            if state.history[cell.0 as usize] != before {
                phases.push(Phase::default());
            }
        }
        History { cells }
    }

    /// The phases of an element. The last one is open. Empty if nothing happened to the element.
    pub fn phases(&self, cell: CellId) -> &[Phase] {
        self.cells.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// How many phases of an element have completed.
    pub fn completed(&self, cell: CellId) -> usize {
        self.phases(cell).len().saturating_sub(1)
    }

    /// The open phase of an element.
    pub fn open(&self, cell: CellId) -> Option<&Phase> {
        self.phases(cell).last()
    }
}
