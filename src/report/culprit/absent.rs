//! Members that should arrive and never do, and the `if`, loop or exit that prevents it.

use std::collections::BTreeMap;

use crate::protocol::Cell;
use crate::protocol::ObjectId;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::semantics::input::Input;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::step::CellState;
use crate::semantics::unfold;
use crate::semantics::unfold::Reached;

use super::obstacle::Obstacles;
use super::obstacle::position;

/// A member whose program has a statement that would help, and that does not help any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Who.
    pub member: usize,
    /// What keeps it away.
    pub reason: Reason,
}

/// What keeps a member away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The `if` with this number and span never holds for it.
    NotHeld(usize),
    /// The `if` with this number always holds for it, and the statement is in the other branch.
    Held(usize),
    /// The loop with this number makes no trip.
    NoTrip(usize),
    /// It leaves before the statement with this number.
    Leaves(usize),
    /// It helps at other elements only.
    Elsewhere,
    /// It came so often in all.
    Came(i64),
}

/// What is asked about the programs of members.
pub struct Programs<'p> {
    protocol: &'p Protocol,
    instance: &'p Instance,
    reached: Vec<BTreeMap<StmtId, Reached>>,
}

/// A statement and what stands around it, outermost first; of an `if`, whether it is in the branch
/// that is taken when the condition holds.
struct Found<'p> {
    stmt: &'p Stmt,
    around: Vec<(&'p Stmt, bool)>,
}

impl<'p> Programs<'p> {
    /// Without an input, what keeps a member away is not known.
    pub fn new(
        protocol: &'p Protocol,
        instance: &'p Instance,
        input: Option<&Input>,
    ) -> Programs<'p> {
        let reached = input.and_then(|input| unfold::reached(protocol, input).ok());
        Programs {
            protocol,
            instance,
            reached: reached.unwrap_or_default(),
        }
    }

    /// The members whose programs could help at a cell and that do not help any more, and have
    /// not been counted in its open phase, ascending.
    pub fn absent(&self, obstacles: &Obstacles<'_>, waiter: usize, cell: CellId) -> Vec<Absent> {
        let Some((object, _)) = self.instance.cell_place(cell) else {
            return Vec::new();
        };
        let init = obstacles.state().cells[cell.0 as usize] == CellState::Uninitialized;
        let open = obstacles.history().open(cell);
        let mut all = Vec::new();
        for (position, role) in self.protocol.roles.iter().enumerate() {
            let mut helpful = Vec::new();
            find(&role.body, object, init, &mut Vec::new(), &mut helpful);
            if helpful.is_empty() {
                continue;
            }
            let Some(layout) = self.instance.roles.get(position) else {
                continue;
            };
            for member in layout.members.clone().filter(|member| *member != waiter) {
                let own = obstacles.helpers(cell);
                let own = own.iter().find(|helper| helper.member == member);
                let comes = own.is_some_and(|own| match init {
                    true => own.sets,
                    false => own.ahead != 0 || own.sets,
                });
                let counted = open.is_some_and(|open| open.arrivals(member) > 0);
                if comes || counted {
                    continue;
                }
                let planned = own.map_or(0, |own| own.planned);
                if planned != 0 && !init {
                    let reason = Reason::Came(planned);
                    all.push(Absent { member, reason });
                } else if let Some(reason) = self.away(member, &helpful) {
                    all.push(Absent { member, reason });
                }
            }
        }
        all
    }

    /// The roles without a statement that could help at a cell.
    pub fn strangers(&self, cell: CellId) -> Vec<usize> {
        let Some((object, _)) = self.instance.cell_place(cell) else {
            return Vec::new();
        };
        let roles = self.protocol.roles.iter().zip(&self.instance.roles);
        let without = roles.filter(|(role, _)| {
            let mut helpful = Vec::new();
            find(&role.body, object, false, &mut Vec::new(), &mut helpful);
            helpful.is_empty()
        });
        without
            .flat_map(|(_, layout)| layout.members.clone())
            .collect()
    }

    /// What keeps a member from every one of these statements.
    fn away(&self, member: usize, statements: &[Found<'_>]) -> Option<Reason> {
        let ops = &self.instance.members[member].ops;
        let runs = |found: &&Found<'_>| ops.iter().any(|op| op.stmt == found.stmt.id);
        if statements.iter().any(|found| runs(&found)) {
            return Some(Reason::Elsewhere);
        }
        let first = statements.first()?;
        let reached = self.reached.get(member)?;
        for (stmt, then) in &first.around {
            let id = stmt.id;
            let Some(came) = reached.get(&id).filter(|came| came.times > 0) else {
                return Some(Reason::Leaves(id.0));
            };
            match (&stmt.kind, then) {
                (StmtKind::For { .. }, _) if came.taken == 0 => return Some(Reason::NoTrip(id.0)),
                (StmtKind::If { .. }, true) if came.taken == 0 => {
                    return Some(Reason::NotHeld(id.0));
                }
                (StmtKind::If { .. }, false) if came.taken == came.times => {
                    return Some(Reason::Held(id.0));
                }
                _ => {}
            }
        }
        Some(Reason::Leaves(first.stmt.id.0))
    }

    /// Whether a member has done all it does.
    pub fn has_ended(&self, obstacles: &Obstacles<'_>, member: usize) -> bool {
        position(obstacles.state(), member) >= self.instance.members[member].ops.len()
    }
}

/// The statements of a block that end waits on elements of an object, or that initialise them.
fn find<'p>(
    body: &'p [Stmt],
    object: ObjectId,
    init: bool,
    around: &mut Vec<(&'p Stmt, bool)>,
    out: &mut Vec<Found<'p>>,
) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                for (block, holds) in [(then, true), (otherwise, false)] {
                    around.push((stmt, holds));
                    find(block, object, init, around, out);
                    around.pop();
                }
            }
            StmtKind::For { body, .. } => {
                around.push((stmt, true));
                find(body, object, init, around, out);
                around.pop();
            }
            kind => {
                if helped(kind, init).is_some_and(|cell| cell.object == object) {
                    out.push(Found {
                        stmt,
                        around: around.clone(),
                    });
                }
            }
        }
    }
}

/// Where a statement helps.
fn helped(kind: &StmtKind, init: bool) -> Option<&Cell> {
    match kind {
        StmtKind::Init { cell } if init => Some(cell),
        _ if init => None,
        StmtKind::Add { cell, .. }
        | StmtKind::Set { cell, .. }
        | StmtKind::Arrive { cell, .. }
        | StmtKind::Sync { cell, .. }
        | StmtKind::BarArrive { cell, .. }
        | StmtKind::Commit { cell }
        | StmtKind::BarrierArrive { cell }
        | StmtKind::Release { cell, .. } => Some(cell),
        _ => None,
    }
}
