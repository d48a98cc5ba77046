//! Members that never make an expected arrival, and the `if`, loop or exit that prevents it.

use std::collections::BTreeMap;
use std::ops::Range;

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
use super::straight::Turn;

/// A member whose program has a statement that could end the wait, and that does not execute it any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// The member.
    pub member: usize,
    /// What keeps it away.
    pub reason: Reason,
    /// How often the member has arrived in the open phase.
    pub came: i64,
}

/// What keeps a member away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The `if` with this number never holds for the member.
    NotHeld(usize),
    /// The `if` with this number always holds for the member, and the statement is in the other branch.
    Held(usize),
    /// The loop with this number makes no trip.
    NoTrip(usize),
    /// The member leaves before the statement with this number.
    Leaves(usize),
    /// The member helps at other elements only.
    Elsewhere,
    /// The member makes only this many arrivals in all, or adds or gives back only this much.
    Came(i64),
    /// The same as `Came`, because the `if` with this number held for the member only the third number of times, out
    /// of the fourth number.
    Skips(i64, usize, u64, u64),
    /// The atomic operation with this number returned this value, and the statement that would help follows after
    /// other values.
    Returned(usize, i64),
}

/// Answers questions about the programs of members.
pub struct Programs<'p> {
    protocol: &'p Protocol,
    instance: &'p Instance,
    reached: Vec<BTreeMap<StmtId, Reached>>,
    turns: &'p [Vec<Turn>],
}

/// A statement, and the statements around it, outermost first. For an `if`, the flag says whether the statement is in
/// the branch that is taken when the condition holds.
struct Found<'p> {
    stmt: &'p Stmt,
    around: Vec<(&'p Stmt, bool)>,
}

impl<'p> Programs<'p> {
    /// Prepares the answers. If the input is not known, the reasons why members stay away are not known either.
    pub fn new(
        protocol: &'p Protocol,
        instance: &'p Instance,
        input: Option<&Input>,
        turns: &'p [Vec<Turn>],
    ) -> Programs<'p> {
        let reached = input.and_then(|input| unfold::reached(protocol, input).ok());
        Programs {
            protocol,
            instance,
            reached: reached.unwrap_or_default(),
            turns,
        }
    }

    /// The members whose programs have statements that could help at a cell, ascending. Only those are listed that do
    /// not help any more and were not counted in the open phase. If there are none, members that were counted but
    /// came too seldom are listed.
    pub fn absent(&self, obstacles: &Obstacles<'_>, waiter: usize, cell: CellId) -> Vec<Absent> {
        let Some((object, _)) = self.instance.cell_place(cell) else {
            return Vec::new();
        };
        let init = obstacles.state().cells[cell.0 as usize] == CellState::Uninitialized;
        let open = obstacles.history().open(cell);
        let by_others: Vec<StmtId> = open
            .iter()
            .flat_map(|open| open.came.iter().map(|(_, _, stmt)| *stmt))
            .collect();
        let mut away = Vec::new();
        let mut too_seldom = Vec::new();
        for (members, mut helpful) in self.helping(object, init) {
            // Statements by which other members arrived come first, because this member should have arrived there,
            // too.
            helpful.sort_by_key(|found| !by_others.contains(&found.stmt.id));
            for member in members {
                let came = open.map_or(0, |open| open.arrivals(member));
                // The waiting member itself may have arrived too seldom.
                if (member == waiter && came == 0) || (init && came > 0) {
                    continue;
                }
                let own = obstacles.helpers(cell);
                let own = own.iter().find(|helper| helper.member == member);
                let comes = own.is_some_and(|own| match init {
                    true => own.initialises,
                    false => own.ahead != 0 || !own.sets.is_empty(),
                });
                if comes {
                    continue;
                }
                let planned = own.map_or(0, |own| own.planned);
                let reason = if came > 0 {
                    self.prevented(member, &helpful)
                } else if let Some((stmt, value)) = self.passed_by(member, cell) {
                    Some(Reason::Returned(stmt, value))
                } else if planned != 0 && !init {
                    let skips = self.skips(member, &helpful, planned);
                    Some(skips.unwrap_or(Reason::Came(planned)))
                } else {
                    self.away(member, &helpful)
                };
                let Some(reason) = reason else { continue };
                let of = match came {
                    0 => &mut away,
                    _ => &mut too_seldom,
                };
                of.push(Absent {
                    member,
                    reason,
                    came,
                });
            }
        }
        // A member that was counted is to blame only if no other member is missing. At a named barrier, such a member
        // waits there itself.
        let named = matches!(
            obstacles.state().cells[cell.0 as usize],
            CellState::Named { .. }
        );
        match away.is_empty() && !named {
            true => too_seldom,
            false => away,
        }
    }

    /// For each role that has statements which could help at an object: its members, and these statements.
    fn helping(
        &self,
        object: ObjectId,
        init: bool,
    ) -> impl Iterator<Item = (Range<usize>, Vec<Found<'p>>)> + '_ {
        let roles = self.protocol.roles.iter().zip(&self.instance.roles);
        roles.filter_map(move |(role, layout)| {
            let mut helpful = Vec::new();
            find(&role.body, object, init, &mut Vec::new(), &mut helpful);
            (!helpful.is_empty()).then(|| (layout.members.clone(), helpful))
        })
    }

    /// The reason, if an `if` around a helpful statement held for a member only sometimes.
    fn skips(&self, member: usize, helpful: &[Found<'_>], planned: i64) -> Option<Reason> {
        let reached = self.reached.get(member)?;
        helpful.iter().find_map(|found| {
            let mut guards = found.around.iter().rev();
            guards.find_map(|(stmt, _)| {
                let came = reached.get(&stmt.id)?;
                let partly = matches!(stmt.kind, StmtKind::If { .. })
                    && 0 < came.taken
                    && came.taken < came.times;
                partly.then_some(Reason::Skips(planned, stmt.id.0, came.taken, came.times))
            })
        })
    }

    /// The members that were not counted in the open phase of a cell because they skip a helpful statement sometimes,
    /// although other members, which were counted, execute it each time.
    pub fn seldom(&self, obstacles: &Obstacles<'_>, waiter: usize, cell: CellId) -> Vec<Absent> {
        let Some((object, _)) = self.instance.cell_place(cell) else {
            return Vec::new();
        };
        let Some(open) = obstacles.history().open(cell) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (members, helpful) in self.helping(object, false) {
            let planned = |member: usize| {
                let own = obstacles.helpers(cell).iter();
                own.filter(|helper| helper.member == member)
                    .map(|helper| helper.planned)
                    .sum::<i64>()
            };
            let skips = |member: usize| self.skips(member, &helpful, planned(member));
            let (counted, others): (Vec<usize>, Vec<usize>) =
                members.partition(|member| open.arrivals(*member) > 0);
            if !counted.iter().any(|member| skips(*member).is_none()) {
                continue;
            }
            for member in others.into_iter().filter(|member| *member != waiter) {
                if let Some(reason) = skips(member) {
                    all.push(Absent {
                        member,
                        reason,
                        came: 0,
                    });
                }
            }
        }
        all
    }

    /// The atomic operation whose result led a member past every operation that would have helped at a cell, and that
    /// result.
    pub fn passed_by(&self, member: usize, cell: CellId) -> Option<(usize, i64)> {
        let mut turns = self.turns.get(member)?.iter();
        let turn = turns.rfind(|turn| turn.passed.contains(&cell))?;
        Some((turn.stmt.0, turn.returned))
    }

    /// The members of roles without a statement that could help at a cell.
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

    /// The reason why a member executes none of these statements.
    fn away(&self, member: usize, statements: &[Found<'_>]) -> Option<Reason> {
        let ops = &self.instance.members[member].ops;
        let runs = |found: &&Found<'_>| ops.iter().any(|op| op.stmt == found.stmt.id);
        if statements.iter().any(|found| runs(&found)) {
            return Some(Reason::Elsewhere);
        }
        if self.reached.get(member).is_none() {
            // For programs that use results, it is not known how often a member came to an `if`.
            return Some(Reason::Leaves(statements.first()?.stmt.id.0));
        }
        self.prevented(member, statements)
    }

    /// The reason why a member does not execute one of these statements: the one that it came closest to, and of
    /// several the first.
    fn prevented(&self, member: usize, statements: &[Found<'_>]) -> Option<Reason> {
        let reached = self.reached.get(member)?;
        let ops = &self.instance.members[member].ops;
        let mut closest: Option<(usize, Reason)> = None;
        for found in statements {
            if ops.iter().any(|op| op.stmt == found.stmt.id) {
                continue;
            }
            let passed = found
                .around
                .iter()
                .enumerate()
                .find_map(|(depth, (stmt, then))| {
                    let id = stmt.id;
                    let Some(came) = reached.get(&id).filter(|came| came.times > 0) else {
                        return Some((depth, Reason::Leaves(id.0)));
                    };
                    match (&stmt.kind, then) {
                        (StmtKind::For { .. }, _) if came.taken == 0 => {
                            Some((depth, Reason::NoTrip(id.0)))
                        }
                        (StmtKind::If { .. }, true) if came.taken == 0 => {
                            Some((depth, Reason::NotHeld(id.0)))
                        }
                        (StmtKind::If { .. }, false) if came.taken == came.times => {
                            Some((depth, Reason::Held(id.0)))
                        }
                        _ => None,
                    }
                });
            let leaves = (found.around.len(), Reason::Leaves(found.stmt.id.0));
            let (depth, reason) = passed.unwrap_or(leaves);
            if closest.is_none_or(|(deepest, _)| depth > deepest) {
                closest = Some((depth, reason));
            }
        }
        closest.map(|(_, reason)| reason)
    }

    /// Whether a member has no operation left.
    pub fn has_ended(&self, obstacles: &Obstacles<'_>, member: usize) -> bool {
        position(obstacles.state(), member) >= self.instance.members[member].ops.len()
    }
}

/// The statements of a block that could end waits on elements of an object, or that initialise them.
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

/// The element at which a statement helps.
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
        | StmtKind::Atomic { cell, .. }
        | StmtKind::Release { cell, .. } => Some(cell),
        _ => None,
    }
}
