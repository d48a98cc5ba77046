//! A grid's program as families of events.
//!
//! Control flow depends on inputs only. So a statement inside loops stands for the family of its executions: one
//! execution for each value of the enclosing loop variables at which the path condition holds. This module lists
//! these families for every wait and every increment. It also lists all expressions that the program evaluates,
//! because each has to be well defined.
//!
//! Suppose that the last statement of a loop's body sets a local variable to the loop variable. In an iteration, the
//! local variable then contains the loop variable's previous value, and after the loop its last value
//! ([`Bound::Previous`], [`Bound::Last`]).
//!
//! Side conditions, refused with a reason if they fail: `return` occurs only outside loops; there is no `break`; no
//! other value is carried from one iteration to the next; there is no barrier; and there is no reset, except for a
//! rule that asks for resets.

use std::collections::HashMap;
use std::collections::HashSet;

use super::exact;
use super::once::once;
use crate::protocol::ATOMIC;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::RowOrder;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

pub use crate::trusted::unsupported::Unsupported;

/// One enclosing loop of an event family.
#[derive(Debug, Clone, PartialEq)]
pub struct Binder {
    /// The loop variable.
    pub var: VarId,
    /// What it ranges over, with local variables replaced by their values.
    pub over: Iteration,
}

/// A name that the expressions of an event family use, and its meaning. Later names may refer to earlier ones. The
/// names of carried values are fresh: no two bounds share one.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// The variable of an enclosing loop.
    Loop(Binder),
    /// A local variable that holds the previous value of an enclosing loop's variable.
    Previous {
        /// The fresh name of that value.
        var: VarId,
        /// The enclosing loop.
        of: Binder,
        /// Its value in the first iteration.
        before: Expr,
    },
    /// A local variable that holds the last value of an earlier loop's variable.
    Last {
        /// The fresh name of that value.
        var: VarId,
        /// The earlier loop.
        of: Binder,
        /// Its value if the loop did not run.
        before: Expr,
    },
}

/// The direction in which a loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smaller values first.
    Up,
    /// Larger values first.
    Down,
    /// Unknown: any order.
    Open,
}

/// One step on the path from the top of the program to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The statement at this position of a block.
    Nth(usize),
    /// The body of a loop over this variable.
    Loop(VarId, Direction),
}

/// What an event does.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// Waits on a semaphore.
    Wait {
        /// How it compares.
        comparison: Comparison,
        /// The value that it compares with.
        value: Expr,
    },
    /// Adds to a semaphore.
    Add {
        /// The amount.
        amount: Expr,
    },
    /// Sets a semaphore.
    Set {
        /// The new value.
        value: Expr,
    },
}

/// A family of events: the executions of one statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The statement.
    pub stmt: StmtId,
    /// Where it stands.
    pub span: Span,
    /// What it does.
    pub kind: EventKind,
    /// The semaphore.
    pub cell: Cell,
    /// The names that its expressions use besides the role's indices.
    pub bounds: Vec<Bound>,
    /// The path condition over role indices and loop variables.
    pub condition: Expr,
    /// The path to the statement.
    pub place: Vec<Place>,
}

/// An expression that the program evaluates, and the condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The names it uses beside the role's indices.
    pub bounds: Vec<Bound>,
    /// The path condition under which it is evaluated.
    pub condition: Expr,
    /// The expression.
    pub expr: Expr,
    /// Where it stands.
    pub span: Span,
}

/// The families of a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// Waits and increments in text order.
    pub events: Vec<Event>,
    /// All expressions that the program evaluates.
    pub evaluations: Vec<Evaluation>,
}

/// Lists the event families of a role.
///
/// # Errors
///
/// Refuses programs outside the fragment named in the module comment.
pub fn summarize(protocol: &Protocol, role: &Role) -> Result<Program, Unsupported> {
    let program = summarize_with_sets(protocol, role)?;
    let mut events = program.events.iter();
    match events.find(|event| matches!(event.kind, EventKind::Set { .. })) {
        None => Ok(program),
        Some(set) => Err(Unsupported::at(
            set.span,
            "a semaphore that is set rather than incremented",
        )),
    }
}

/// The same, for a rule that supports statements which set a semaphore.
///
/// # Errors
///
/// As for [`summarize`].
pub fn summarize_with_sets(protocol: &Protocol, role: &Role) -> Result<Program, Unsupported> {
    let mut walk = Walk {
        program: Program::default(),
        next: protocol.vars.len(),
    };
    let mut path = Path {
        bounds: Vec::new(),
        condition: Expr::Bool(true),
        place: Vec::new(),
        locals: HashMap::new(),
    };
    walk.block(&role.body, &mut path)?;
    Ok(walk.program)
}

#[derive(Clone)]
struct Path {
    bounds: Vec<Bound>,
    condition: Expr,
    place: Vec<Place>,
    /// The values of local variables; `None` if a loop or a branch may have changed the variable.
    locals: HashMap<VarId, Option<Expr>>,
}

struct Walk {
    program: Program,
    /// The number of the next fresh name.
    next: usize,
}

impl Walk {
    /// Walks a block and returns the condition under which it leaves the program.
    fn block(&mut self, block: &[Stmt], path: &mut Path) -> Result<Expr, Unsupported> {
        let outer = path.condition.clone();
        let mut left = Expr::Bool(false);
        for (nth, stmt) in block.iter().enumerate() {
            path.place.push(Place::Nth(nth));
            let leaves = self.statement(stmt, path)?;
            path.place.pop();
            if leaves != Expr::Bool(false) {
                path.condition =
                    Expr::all([path.condition.clone(), Expr::Not(Box::new(leaves.clone()))]);
                left = match left {
                    Expr::Bool(false) => leaves,
                    left => Expr::binary(BinaryOp::Or, left, leaves),
                };
            }
        }
        path.condition = outer;
        Ok(left)
    }

    fn statement(&mut self, stmt: &Stmt, path: &mut Path) -> Result<Expr, Unsupported> {
        let never = Expr::Bool(false);
        // A statement that is executed at most once needs no loop variable to distinguish its executions.
        if let Some((amount, body)) = once(stmt) {
            let condition = Expr::binary(BinaryOp::Ge, amount.clone(), Expr::Int(1));
            return self.branch(stmt.span, &condition, body, &[], path);
        }
        match &stmt.kind {
            StmtKind::Wait {
                cell,
                comparison,
                value,
            } => {
                let value = self.evaluate(value, path, stmt.span)?;
                let kind = EventKind::Wait {
                    comparison: *comparison,
                    value,
                };
                self.event(stmt, cell, kind, path)?;
            }
            StmtKind::Add { cell, amount } => {
                let amount = self.evaluate(amount, path, stmt.span)?;
                self.event(stmt, cell, EventKind::Add { amount }, path)?;
            }
            StmtKind::Access { .. } => {}
            StmtKind::Assign { var, value } => {
                let value = self.evaluate(value, path, stmt.span)?;
                path.locals.insert(*var, Some(value));
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                return self.branch(stmt.span, condition, then, otherwise, path);
            }
            StmtKind::For { var, over, body } => self.repeat(stmt.span, *var, over, body, path)?,
            StmtKind::Return => {
                if path
                    .bounds
                    .iter()
                    .any(|bound| matches!(bound, Bound::Loop(_)))
                {
                    return Err(Unsupported::at(stmt.span, "`return` inside a loop"));
                }
                return Ok(Expr::Bool(true));
            }
            StmtKind::Break => return Err(Unsupported::at(stmt.span, "`break`")),
            StmtKind::Atomic { .. } | StmtKind::WaitSwap { .. } => {
                return Err(Unsupported::at(stmt.span, ATOMIC));
            }
            StmtKind::Set { cell, value } => {
                let value = self.evaluate(value, path, stmt.span)?;
                self.event(stmt, cell, EventKind::Set { value }, path)?;
            }
            StmtKind::Arrive { .. }
            | StmtKind::WaitParity { .. }
            | StmtKind::Sync { .. }
            | StmtKind::BarArrive { .. }
            | StmtKind::ExpectTx { .. }
            | StmtKind::CompleteTx { .. }
            | StmtKind::Copy { .. }
            | StmtKind::Commit { .. }
            | StmtKind::Init { .. }
            | StmtKind::BarrierArrive { .. }
            | StmtKind::BarrierWait { .. } => {
                return Err(Unsupported::at(
                    stmt.span,
                    "a barrier beside the semaphores",
                ));
            }
            StmtKind::Acquire { .. } | StmtKind::Release { .. } => {
                return Err(Unsupported::at(stmt.span, "a pool beside the semaphores"));
            }
        }
        Ok(never)
    }

    fn branch(
        &mut self,
        span: Span,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        path: &mut Path,
    ) -> Result<Expr, Unsupported> {
        let condition = self.evaluate(condition, path, span)?;
        let negated = Expr::Not(Box::new(condition.clone()));
        let mut on_true = path.clone();
        on_true.condition = Expr::all([path.condition.clone(), condition.clone()]);
        let mut on_false = path.clone();
        on_false.condition = Expr::all([path.condition.clone(), negated.clone()]);
        let left_true = self.block(then, &mut on_true)?;
        let left_false = self.block(otherwise, &mut on_false)?;
        let changed: HashSet<VarId> = on_true
            .locals
            .keys()
            .chain(on_false.locals.keys())
            .copied()
            .collect();
        for var in changed {
            let merged = match (on_true.locals.get(&var), on_false.locals.get(&var)) {
                (Some(Some(a)), Some(Some(b))) if a == b => Some(a.clone()),
                (Some(Some(a)), Some(Some(b))) => Some(Expr::If(
                    Box::new(condition.clone()),
                    Box::new(a.clone()),
                    Box::new(b.clone()),
                )),
                _ => None,
            };
            path.locals.insert(var, merged);
        }
        Ok(match (left_true, left_false) {
            (Expr::Bool(false), Expr::Bool(false)) => Expr::Bool(false),
            (a, Expr::Bool(false)) => Expr::all([condition, a]),
            (Expr::Bool(false), b) => Expr::all([negated, b]),
            (a, b) => Expr::If(Box::new(condition), Box::new(a), Box::new(b)),
        })
    }

    fn repeat(
        &mut self,
        span: Span,
        var: VarId,
        over: &Iteration,
        body: &[Stmt],
        path: &mut Path,
    ) -> Result<(), Unsupported> {
        let (over, direction) = match over {
            Iteration::Range { lo, hi, descending } => {
                let lo = self.evaluate(lo, path, span)?;
                let hi = self.evaluate(hi, path, span)?;
                let direction = if *descending {
                    Direction::Down
                } else {
                    Direction::Up
                };
                (
                    Iteration::Range {
                        lo,
                        hi,
                        descending: *descending,
                    },
                    direction,
                )
            }
            Iteration::Row {
                pattern,
                row,
                order,
            } => {
                let row = row
                    .iter()
                    .map(|e| self.evaluate(e, path, span))
                    .collect::<Result<Vec<_>, _>>()?;
                let direction = match order {
                    RowOrder::Ascending => Direction::Up,
                    RowOrder::Descending => Direction::Down,
                    RowOrder::Given | RowOrder::Any => Direction::Open,
                };
                (
                    Iteration::Row {
                        pattern: *pattern,
                        row,
                        order: *order,
                    },
                    direction,
                )
            }
        };
        let binder = Binder { var, over };
        let carried =
            carried(var, body).and_then(|local| Some((local, path.locals.get(&local)?.clone()?)));
        // Any other variable that the body assigns has no closed form at the start of an iteration, nor after the
        // loop.
        let mut assigned = HashSet::new();
        collect_assigned(body, &mut assigned);
        for local in &assigned {
            path.locals.insert(*local, None);
        }
        let mut inner = path.clone();
        inner.bounds.push(Bound::Loop(binder.clone()));
        inner.place.push(Place::Loop(var, direction));
        // Each carried value gets a name of its own. After the next loop, the same local variable has another value,
        // but expressions with the old one may still be in use.
        if let Some((local, before)) = &carried {
            let var = self.fresh();
            inner.locals.insert(*local, Some(Expr::Var(var)));
            inner.bounds.push(Bound::Previous {
                var,
                of: binder.clone(),
                before: before.clone(),
            });
        }
        if self.block(body, &mut inner)? != Expr::Bool(false) {
            return Err(Unsupported::at(span, "`return` inside a loop"));
        }
        if let Some((local, before)) = carried {
            let var = self.fresh();
            path.locals.insert(local, Some(Expr::Var(var)));
            path.bounds.push(Bound::Last {
                var,
                of: binder,
                before,
            });
        }
        Ok(())
    }

    /// A name that occurs nowhere in the protocol.
    fn fresh(&mut self) -> VarId {
        let fresh = VarId(self.next);
        self.next = exact::next(self.next);
        fresh
    }

    fn event(
        &mut self,
        stmt: &Stmt,
        cell: &Cell,
        kind: EventKind,
        path: &Path,
    ) -> Result<(), Unsupported> {
        let index = cell
            .index
            .iter()
            .map(|e| self.evaluate(e, path, stmt.span))
            .collect::<Result<Vec<_>, _>>()?;
        self.program.events.push(Event {
            stmt: stmt.id,
            span: stmt.span,
            kind,
            cell: Cell {
                object: cell.object,
                index,
            },
            bounds: path.bounds.clone(),
            condition: path.condition.clone(),
            place: path.place.clone(),
        });
        Ok(())
    }

    /// Replaces local variables by their values, and records that the program evaluates the result.
    fn evaluate(&mut self, expr: &Expr, path: &Path, span: Span) -> Result<Expr, Unsupported> {
        let mut used = HashSet::new();
        free_vars(expr, &mut used);
        if used
            .iter()
            .any(|var| matches!(path.locals.get(var), Some(None)))
        {
            return Err(Unsupported::at(
                span,
                "a local variable whose value is carried through a loop",
            ));
        }
        let expr = expr.substitute(&|var| path.locals.get(&var).cloned().flatten());
        self.program.evaluations.push(Evaluation {
            bounds: path.bounds.clone(),
            condition: path.condition.clone(),
            expr: expr.clone(),
            span,
        });
        Ok(expr)
    }
}

/// The local variable that the last statement of a body sets to the loop variable, if no other statement of the body
/// sets it.
fn carried(loop_var: VarId, body: &[Stmt]) -> Option<VarId> {
    let (last, earlier) = body.split_last()?;
    let StmtKind::Assign { var, value } = &last.kind else {
        return None;
    };
    let mut assigned = HashSet::new();
    collect_assigned(earlier, &mut assigned);
    (*value == Expr::Var(loop_var) && !assigned.contains(var)).then_some(*var)
}

fn collect_assigned(block: &[Stmt], into: &mut HashSet<VarId>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Assign { var, .. } => {
                into.insert(*var);
            }
            StmtKind::If {
                then, otherwise, ..
            } => {
                collect_assigned(then, into);
                collect_assigned(otherwise, into);
            }
            StmtKind::For { body, .. } => collect_assigned(body, into),
            _ => {}
        }
    }
}

/// Adds every bound name that occurs in an expression, counting variables included.
pub fn free_vars(expr: &Expr, into: &mut HashSet<VarId>) {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => {}
        Expr::Var(var) => {
            into.insert(*var);
        }
        Expr::Neg(e) | Expr::Not(e) => free_vars(e, into),
        Expr::Binary(_, a, b) => {
            free_vars(a, into);
            free_vars(b, into);
        }
        Expr::If(c, a, b) => {
            free_vars(c, into);
            free_vars(a, into);
            free_vars(b, into);
        }
        Expr::Visits(_, at) => at.iter().for_each(|e| free_vars(e, into)),
        Expr::Count { lo, hi, body, .. } => {
            free_vars(lo, into);
            free_vars(hi, into);
            free_vars(body, into);
        }
    }
}
