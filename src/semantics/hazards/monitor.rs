//! Decides whether one action or one state violates a property.

use crate::protocol::Comparison;
use crate::protocol::Property;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Fetch;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::Delivery;
use crate::semantics::step::State;
use crate::semantics::step::Violation;
use crate::semantics::step::ViolationKind;

use super::Hazard;

/// How an operation takes part in the history of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Participation {
    /// Whose.
    pub member: usize,
    /// Which of its operations, from 0.
    pub op: u32,
    /// The element.
    pub cell: CellId,
    /// The generation, or for a wait the number of completions before it.
    pub count: u32,
}

/// How an action takes part, for a property that compares two runs. The state keeps history, and the action has to be
/// possible and defined.
pub fn participation(
    instance: &Instance,
    state: &State,
    action: Action,
    property: Property,
) -> Option<Participation> {
    let (member, op, cell, waits) = match action {
        Action::Launch(_) => return None,
        Action::Land(member, position) => {
            let landing = step::in_flight(state, member, position)?;
            (member, landing.op, landing.cell, false)
        }
        Action::Step(member) => {
            let op = step::next_op(instance, state, member)?;
            let waits = match op.kind {
                OpKind::WaitParity(_) => true,
                OpKind::Arrive(_)
                | OpKind::ExpectTx(_)
                | OpKind::CompleteTx(_)
                | OpKind::Sync(_)
                | OpKind::BarArrive(_)
                | OpKind::BarrierArrive => false,
                _ => return None,
            };
            (member, state.counters[member], op.cell, waits)
        }
    };
    let flat = cell.0 as usize;
    if state.cells[flat] == CellState::Uninitialized {
        return None;
    }
    let completed = *state.history.get(flat)?;
    let count = match property {
        Property::EarlyCompletion if !waits => completed.saturating_add(1),
        Property::EarlyPass if waits => completed,
        _ => return None,
    };
    Some(Participation {
        member,
        op,
        cell,
        count,
    })
}

/// Watches runs of one instance for violations of a property of single runs, except for races.
#[derive(Debug, Clone)]
pub struct Monitor<'i> {
    instance: &'i Instance,
    property: Property,
    /// Per cell: whether some operation sets it.
    is_set: Vec<bool>,
}

/// What has to be noted before an action, so that its effect can be judged afterwards.
#[derive(Debug, Clone, Default)]
pub struct Before {
    /// Members whose next operation is a wait on the action's cell that could pass.
    ready: Vec<usize>,
    surplus: Option<Hazard>,
}

/// Whether an operation may lower the value of a semaphore.
fn lowers(kind: OpKind) -> bool {
    match kind {
        OpKind::Set(_) | OpKind::WaitSwap { .. } => true,
        OpKind::Fetch(Fetch::Add(amount)) => amount < 0,
        OpKind::Fetch(_) => true,
        _ => false,
    }
}

impl<'i> Monitor<'i> {
    /// A monitor for one property.
    pub fn new(instance: &'i Instance, property: Property) -> Monitor<'i> {
        let mut is_set = vec![false; instance.cells.len()];
        for op in instance.members.iter().flat_map(|m| &m.ops) {
            is_set[op.cell.0 as usize] |= lowers(op.kind);
        }
        Monitor {
            instance,
            property,
            is_set,
        }
    }

    /// Looks at a state before an action.
    pub fn before(&self, state: &State, action: Action) -> Before {
        match self.property {
            Property::LappedWait => Before {
                ready: self.ready(state, action),
                surplus: None,
            },
            Property::TxMismatch => Before {
                ready: Vec::new(),
                surplus: self.surplus(state, action),
            },
            _ => Before::default(),
        }
    }

    /// The violation that an action shows. `state` is the state that the action led to.
    pub fn after(&self, before: Before, state: &State) -> Option<Hazard> {
        let lapped = before.ready.into_iter().find(|member| {
            self.awaited(state, *member).is_some() && !step::can_step(self.instance, state, *member)
        });
        let lapped = lapped.map(|member| Hazard::Lapped {
            member,
            op: state.counters[member],
        });
        lapped.or(before.surplus)
    }

    /// The violation that an undefined action shows.
    pub fn undefined(&self, violation: &Violation) -> Option<Hazard> {
        use ViolationKind::*;
        let property = match violation.kind {
            OverArrival { .. } | CountMismatch { .. } | ArrivedTwice | WaitWithoutArrival => {
                Property::OverArrival
            }
            Reinitialized => Property::Uninitialized,
            OverRelease { .. } => Property::Resources,
            // The integers of the language are unbounded. So a number that is too large for the search shows nothing.
            TxOverflow | SemaphoreOverflow | NotDefined | Unforeseen(_) => return None,
        };
        (property == self.property).then(|| Hazard::Undefined(violation.clone()))
    }

    /// The violation that a state shows.
    pub fn state(&self, state: &State) -> Option<Hazard> {
        match self.property {
            Property::LappedWait => self.overshot(state),
            Property::TxMismatch => self.unbalanced(state),
            Property::Uninitialized => self.unready(state),
            Property::Resources => self.too_much(state),
            _ => None,
        }
    }

    /// The cell of the wait that is the member's next operation, if this kind of wait can be lapped.
    fn awaited(&self, state: &State, member: usize) -> Option<CellId> {
        let op = step::next_op(self.instance, state, member)?;
        let lappable = matches!(
            op.kind,
            OpKind::WaitParity(_) | OpKind::Wait(Comparison::Equal, _)
        );
        lappable.then_some(op.cell)
    }

    fn ready(&self, state: &State, action: Action) -> Vec<usize> {
        let cell = step::works_on(self.instance, state, action).map(|(_, cell)| cell);
        let others = (0..self.instance.members.len()).filter(|m| *m != action.member());
        // In a landing, the member only completes earlier work. So the member itself may be waiting.
        let own = matches!(action, Action::Land(..)).then(|| action.member());
        others
            .chain(own)
            .filter(|member| {
                cell.is_some()
                    && self.awaited(state, *member) == cell
                    && step::can_step(self.instance, state, *member)
            })
            .collect()
    }

    fn surplus(&self, state: &State, action: Action) -> Option<Hazard> {
        let (member, stmt, cell, bytes) = match action {
            Action::Launch(_) => return None,
            Action::Step(member) => {
                let op = step::next_op(self.instance, state, member)?;
                let OpKind::CompleteTx(bytes) = op.kind else {
                    return None;
                };
                (member, op.stmt, op.cell, bytes)
            }
            Action::Land(member, position) => {
                let landing = step::in_flight(state, member, position)?;
                let Delivery::Bytes(bytes) = landing.delivery else {
                    return None;
                };
                (member, landing.stmt, landing.cell, bytes)
            }
        };
        match state.cells[cell.0 as usize] {
            CellState::Mbarrier { pending: 0, tx, .. } if 0 < tx && tx < bytes => {
                Some(Hazard::Surplus {
                    member,
                    stmt,
                    cell,
                    bytes,
                    missing: tx,
                })
            }
            _ => None,
        }
    }

    fn overshot(&self, state: &State) -> Option<Hazard> {
        (0..self.instance.members.len()).find_map(|member| {
            let op = step::next_op(self.instance, state, member)?;
            let cell = op.cell.0 as usize;
            match (op.kind, &state.cells[cell]) {
                (OpKind::Wait(Comparison::Equal, wanted), CellState::Semaphore(value))
                    if *value > wanted && !self.is_set[cell] =>
                {
                    Some(Hazard::Lapped {
                        member,
                        op: state.counters[member],
                    })
                }
                _ => None,
            }
        })
    }

    fn unbalanced(&self, state: &State) -> Option<Hazard> {
        if !step::enabled(self.instance, state).is_empty() {
            return None;
        }
        let flat = state.cells.iter().enumerate().find_map(|(at, cell)| {
            let CellState::Mbarrier { tx, .. } = cell else {
                return None;
            };
            (*tx != 0 && !self.makes_up(state, at, *tx)).then_some((at, *tx))
        });
        flat.map(|(at, bytes)| Hazard::Unbalanced {
            cell: CellId(at as u32),
            bytes,
        })
    }

    /// Whether some member has yet to do an operation that makes up for the unbalanced byte count of a cell.
    fn makes_up(&self, state: &State, cell: usize, bytes: i64) -> bool {
        let members = self.instance.members.iter().zip(&state.counters);
        members.into_iter().any(|(member, counter)| {
            let done = match *counter {
                step::NOT_STARTED => 0,
                done => done as usize,
            };
            let left = member.ops.iter().skip(done);
            left.filter(|op| op.cell.0 as usize == cell)
                .any(|op| match op.kind {
                    OpKind::Copy(_) | OpKind::CompleteTx(_) => bytes > 0,
                    OpKind::ExpectTx(_) => bytes < 0,
                    _ => false,
                })
        })
    }

    fn unready(&self, state: &State) -> Option<Hazard> {
        let raw = |cell: CellId| state.cells[cell.0 as usize] == CellState::Uninitialized;
        let landing = state.in_flight.iter().find(|landing| raw(landing.cell));
        if let Some(landing) = landing {
            return Some(Hazard::Unready {
                member: landing.member as usize,
                stmt: landing.stmt,
                cell: landing.cell,
            });
        }
        (0..self.instance.members.len()).find_map(|member| {
            let op = step::next_op(self.instance, state, member)?;
            // A copy or a commit uses its mbarrier only once it can land, and `init` is no use of it.
            let later = matches!(op.kind, OpKind::Init | OpKind::Copy(_) | OpKind::Commit);
            let uses = !later && op.kind.works_on_cell();
            (uses && raw(op.cell)).then_some(Hazard::Unready {
                member,
                stmt: op.stmt,
                cell: op.cell,
            })
        })
    }

    fn too_much(&self, state: &State) -> Option<Hazard> {
        (0..self.instance.members.len()).find_map(|member| {
            let op = step::next_op(self.instance, state, member)?;
            match (op.kind, self.instance.cells[op.cell.0 as usize]) {
                (OpKind::Acquire(amount), CellStart::Pool(capacity)) if amount > capacity => {
                    Some(Hazard::TooMuch {
                        member,
                        op: state.counters[member],
                        amount,
                        capacity,
                    })
                }
                _ => None,
            }
        })
    }
}
