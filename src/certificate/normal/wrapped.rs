//! Turns whose last member resets the semaphore.
//!
//! ```text
//! role cta[t in 0..T][s in 0..S] { wait x[t] == s  B  x[t] = (s + 1) % S }
//! ```
//!
//! Here `x[t]` counts 0, 1, ... up to `S - 1`, and then it is 0 for another launch. That gets stuck
//! only if it does with `x[t] += 1` in place of the assignment.
//!
//! *In general.* A semaphore begins at 0, and only one role uses it. The role waits for its index
//! `s`, which runs from 0 to below `S`. After the wait, in the same block, a statement executes at
//! most one of these: `x[e] = (s + 1) % S`, `x[e] = s + 1`, `x[e] += 1`, and, where `s == S - 1`,
//! `x[e] = 0`. The element `e` names every other index of the role and the variable of every loop
//! around. So for each `s` there is at most one execution of the wait at an element.
//!
//! *Why.* Take the protocol with `x[e] += 1`. An element has the value `v` once `v` executions have
//! added 1. As long as it has this value, only the execution for `s = v` passes its wait, and no
//! other one passes until this one has added. So an execution adds where the value is `s`, and the
//! value is `s + 1` after it, as in the protocol with the assignment. The two protocols differ only
//! after the execution for `s = S - 1`. By then all `S` executions have added at this element, so
//! nobody waits there any more. Hence both have the same runs.
//!
//! *Memory.* An addition passes on what was released before it (it continues the release sequence),
//! and an assignment does not. Here each wait acquires and each assignment releases, for the GPU at
//! least. So whoever gives a turn has seen what all turns before have released, and passes it on in
//! either case. With other orders or scopes nothing is changed.
//!
//! If something is claimed of a state, the value of the semaphore may matter. So nothing is changed
//! there.

use std::collections::HashSet;

use crate::certificate::claims;
use crate::certificate::cut::break_elimination;
use crate::certificate::cut::polynomial::Polynomial;
use crate::certificate::cut::statements;
use crate::certificate::exact;
use crate::certificate::program::free_vars;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::MemoryOrder;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Qualifiers;
use crate::protocol::Role;
use crate::protocol::Scope;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The protocol with additions in place of the assignments that reset the semaphore.
pub(super) fn unwrapped(protocol: &Protocol) -> Protocol {
    let mut unwrapped = protocol.clone();
    if claims::of_states(protocol) {
        return unwrapped;
    }
    for (nth, object) in protocol.objects.iter().enumerate() {
        let object_id = ObjectId(nth);
        let from_0 = object.kind == ObjectKind::Semaphore(Initial::Value(Expr::Int(0)));
        let mut roles = protocol.roles.iter().enumerate();
        let mut users = roles.by_ref().filter(|(_, r)| uses(&r.body, object_id) > 0);
        let (Some((at, role)), None) = (users.next(), users.next()) else {
            continue;
        };
        let turns = Turns {
            role,
            object: object_id,
            changed: break_elimination::changed(&role.body),
        };
        if from_0 && let Some(body) = turns.block(&unwrapped.roles[at].body, &mut Vec::new()) {
            unwrapped.roles[at].body = body;
        }
    }
    unwrapped
}

/// How many statements of a block, however deep, work on an object.
fn uses(body: &[Stmt], object: ObjectId) -> usize {
    let of = |stmt: &Stmt| match &stmt.kind {
        StmtKind::If {
            then, otherwise, ..
        } => [then, otherwise]
            .into_iter()
            .fold(0, |sum, block| exact::together(sum, uses(block, object))),
        StmtKind::For { body, .. } => uses(body, object),
        _ => usize::from(statements::cell_of(stmt).is_some_and(|cell| cell.object == object)),
    };
    let all = body.iter().map(of);
    all.fold(0, exact::together)
}

struct Turns<'p> {
    role: &'p Role,
    object: ObjectId,
    /// What the role's program assigns to.
    changed: Vec<VarId>,
}

impl Turns<'_> {
    /// A block with all the uses, in which an addition gives the turn. `None` if the uses are
    /// others. `loops`: the variables of the loops around.
    fn block(&self, body: &[Stmt], loops: &mut Vec<VarId>) -> Option<Vec<Stmt>> {
        let using = |stmt: &&Stmt| uses(std::slice::from_ref(stmt), self.object) > 0;
        let places: Vec<usize> = (0..body.len()).filter(|at| using(&&body[*at])).collect();
        let mut changed = body.to_vec();
        match places[..] {
            [only] => {
                match &mut changed[only].kind {
                    StmtKind::For {
                        var, body: inner, ..
                    } => {
                        loops.push(*var);
                        *inner = self.block(inner, loops)?;
                    }
                    StmtKind::If {
                        then, otherwise, ..
                    } => match (uses(then, self.object), uses(otherwise, self.object)) {
                        (_, 0) => *then = self.block(then, loops)?,
                        (0, _) => *otherwise = self.block(otherwise, loops)?,
                        _ => return None,
                    },
                    _ => return None,
                }
                Some(changed)
            }
            [wait, set] => {
                let (cell, turn) = self.wait(&body[wait], loops)?;
                changed[set] = self.adds(&body[set], cell, turn)?;
                Some(changed)
            }
            _ => None,
        }
    }

    /// The element of a wait for a turn, and the index that says whose turn it is.
    fn wait<'s>(&self, stmt: &'s Stmt, loops: &[VarId]) -> Option<(&'s Cell, Turn)> {
        let StmtKind::Wait {
            cell,
            comparison: Comparison::Equal,
            value: Expr::Var(turn),
        } = &stmt.kind
        else {
            return None;
        };
        if !orders(stmt, MemoryOrder::acquires) {
            return None;
        }
        let mut indices = self.role.indices.iter();
        let own = indices.find(|index| index.var == *turn)?;
        let named = |var: VarId| cell.index.contains(&Expr::Var(var));
        let indices = self.role.indices.iter().map(|index| index.var);
        let others = indices.filter(|var| var != turn);
        let mut told = others.chain(loops.iter().copied());
        // Nothing else than these and parameters tells elements apart.
        let mut names = HashSet::new();
        cell.index.iter().for_each(|e| free_vars(e, &mut names));
        let fixed = names.iter().all(|var| !self.changed.contains(var)) && !names.contains(turn);
        let still = !self.changed.contains(turn);
        (told.all(named) && fixed && still).then(|| {
            let turn = Turn {
                number: Polynomial::of(&Expr::Var(*turn)),
                turns: Polynomial::of(&own.extent),
            };
            (cell, turn)
        })
    }

    /// A statement that gives the turn to the next one, by an addition.
    fn adds(&self, stmt: &Stmt, cell: &Cell, turn: Turn) -> Option<Stmt> {
        let one = |stmt: &Stmt, last: bool| {
            let given = match &stmt.kind {
                StmtKind::Set { cell: own, value } => own == cell && turn.is_next(value, last),
                StmtKind::Add { cell: own, amount } => own == cell && *amount == Expr::Int(1),
                _ => false,
            };
            let kind = StmtKind::Add {
                cell: cell.clone(),
                amount: Expr::Int(1),
            };
            let given = given && orders(stmt, MemoryOrder::releases);
            given.then(|| Stmt {
                kind,
                ..stmt.clone()
            })
        };
        let in_block = |block: &[Stmt], last: bool| {
            let mut all = block.to_vec();
            let mut found = 0_usize;
            for stmt in &mut all {
                if uses(std::slice::from_ref(stmt), self.object) > 0 {
                    *stmt = one(stmt, last)?;
                    found = exact::next(found);
                }
            }
            (found <= 1).then_some(all)
        };
        let StmtKind::If {
            condition,
            then,
            otherwise,
        } = &stmt.kind
        else {
            return one(stmt, false);
        };
        let kind = StmtKind::If {
            condition: condition.clone(),
            then: in_block(then, turn.is_last(condition))?,
            otherwise: in_block(otherwise, turn.is_not_last(condition))?,
        };
        Some(Stmt {
            kind,
            ..stmt.clone()
        })
    }
}

/// Whether a statement orders memory in this way, for the GPU at least. It does if order and scope
/// are not written.
fn orders(stmt: &Stmt, how: fn(MemoryOrder) -> bool) -> bool {
    let Qualifiers { order, scope } = stmt.memory;
    order.is_none_or(how) && !matches!(scope, Some(Scope::Cta | Scope::Cluster))
}

/// Whose turn it is, and how many turns there are.
struct Turn {
    number: Polynomial,
    turns: Polynomial,
}

impl Turn {
    /// Whether a value is that of the next turn, or 0 after the last one.
    fn is_next(&self, value: &Expr, last: bool) -> bool {
        let next = |e: &Expr| {
            let apart = Polynomial::of(e).minus(&self.number);
            apart.to_expr() == Some(Expr::Int(1))
        };
        match value {
            Expr::Int(0) if last => true,
            Expr::Binary(BinaryOp::Mod, x, turns) => {
                let apart = Polynomial::of(turns).minus(&self.turns);
                next(x) && apart.to_expr() == Some(Expr::Int(0))
            }
            Expr::If(condition, a, b) => {
                self.is_next(a, self.is_last(condition))
                    && self.is_next(b, self.is_not_last(condition))
            }
            value => next(value),
        }
    }

    /// Whether a condition says that it is the last turn.
    fn is_last(&self, condition: &Expr) -> bool {
        match condition {
            Expr::Binary(BinaryOp::Eq, a, b) => self.left(a, b) || self.left(b, a),
            Expr::Binary(BinaryOp::Ge, a, b) => self.left(a, b),
            Expr::Binary(BinaryOp::Le, a, b) => self.left(b, a),
            _ => false,
        }
    }

    /// Whether it is the last turn where a condition does not hold.
    fn is_not_last(&self, condition: &Expr) -> bool {
        match condition {
            Expr::Binary(BinaryOp::Ne, a, b) => self.left(a, b) || self.left(b, a),
            Expr::Binary(BinaryOp::Lt, a, b) => self.left(a, b),
            Expr::Binary(BinaryOp::Gt, a, b) => self.left(b, a),
            _ => false,
        }
    }

    /// Whether `b - a` is how many turns are left, as for `s` and `S - 1`.
    fn left(&self, a: &Expr, b: &Expr) -> bool {
        let left = self.turns.minus(&self.number);
        let apart = Polynomial::of(b).minus(&Polynomial::of(a));
        left.minus(&apart).to_expr() == Some(Expr::Int(1))
    }
}
