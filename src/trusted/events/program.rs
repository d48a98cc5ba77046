//! What the members of a role do to semaphores, in closed form.
//!
//! A member's program depends only on its indices. So each statement is done once for every choice of values of the loop
//! variables around it, if the loops have these values and the conditions around it hold: its *scope*. A variable is
//! replaced by what has been assigned to it. Behind a loop, and at its head, what the loop assigns to has no value; a use
//! of it is refused. A `return` outside of loops makes its condition one that fails for everything behind it.

use std::collections::HashMap;

use crate::protocol::BinaryOp;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Role;
use crate::protocol::RowOrder;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::trusted::exact;
use crate::trusted::unsupported::Unsupported;

/// The largest expression that a variable may stand for.
const LARGEST: usize = 500;

/// The program of a role.
#[derive(Debug)]
pub struct Program {
    /// What is done to semaphores, in text order.
    pub events: Vec<Event>,
    /// What is evaluated, where.
    pub evaluated: Vec<Evaluated>,
}

/// An expression, and where it is evaluated.
#[derive(Debug)]
pub struct Evaluated {
    /// What is around it.
    pub scope: Vec<Scope>,
    /// The expression.
    pub expr: Expr,
    /// Where it stands.
    pub span: Span,
}

/// A statement that does something to a semaphore.
#[derive(Debug, Clone)]
pub struct Event {
    /// What it does.
    pub kind: Kind,
    /// The semaphore, by position.
    pub object: usize,
    /// Its indices.
    pub index: Vec<Expr>,
    /// What is around it, the outermost first.
    pub scope: Vec<Scope>,
    /// Its place in the text.
    place: Vec<Step>,
    /// Where it stands.
    pub span: Span,
}

/// What is done to a semaphore.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Waits for a value.
    Wait(Comparison, Expr),
    /// Adds this much.
    Add(Expr),
}

/// Something around a statement.
#[derive(Debug, Clone)]
pub enum Scope {
    /// A loop.
    Loop(VarId, Iteration),
    /// A condition that holds.
    Holds(Expr),
}

/// A step of the way to a statement.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// The statement of this number in a block, or the branch of this number.
    Nth(usize),
    /// The body of the loop over this variable.
    Body(VarId, Direction),
}

/// The order in which a loop goes through its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Direction {
    /// The smallest first.
    Up,
    /// The largest first.
    Down,
    /// In an order that is not known.
    Open,
}

/// What two statements both have around them.
pub struct Common {
    /// Loops, the outermost first.
    pub loops: Vec<(VarId, Direction)>,
    /// Whether the first comes before the second in one iteration of all these loops.
    pub before: bool,
}

impl Event {
    /// The loops around it, the outermost first.
    pub fn loops(&self) -> impl Iterator<Item = VarId> {
        self.scope.iter().filter_map(|around| match around {
            Scope::Loop(var, _) => Some(*var),
            Scope::Holds(_) => None,
        })
    }

    /// Whether it waits.
    pub fn waits(&self) -> bool {
        matches!(self.kind, Kind::Wait(..))
    }

    /// The loops around this statement and another one, and which comes first.
    pub fn common(&self, other: &Event) -> Common {
        let mut loops = Vec::new();
        for pair in self.place.iter().zip(&other.place) {
            match pair {
                (Step::Body(var, direction), Step::Body(same, _)) if var == same => {
                    loops.push((*var, *direction));
                }
                (Step::Nth(a), Step::Nth(b)) if a == b => {}
                (Step::Nth(a), Step::Nth(b)) => {
                    let before = a < b;
                    return Common { loops, before };
                }
                _ => break,
            }
        }
        let before = false;
        Common { loops, before }
    }
}

/// The program of a role.
///
/// # Errors
///
/// Names the first construct that is not covered.
pub fn program(role: &Role) -> Result<Program, Unsupported> {
    let mut walk = Walk {
        fixed: role.indices.iter().map(|index| index.var).collect(),
        vars: HashMap::new(),
        scope: Vec::new(),
        left: Vec::new(),
        place: Vec::new(),
        program: Program {
            events: Vec::new(),
            evaluated: Vec::new(),
        },
    };
    walk.block(&role.body)?;
    Ok(walk.program)
}

struct Walk {
    /// Names that nothing may be assigned to.
    fixed: Vec<VarId>,
    /// What variables stand for.
    vars: HashMap<VarId, Expr>,
    scope: Vec<Scope>,
    /// The conditions under which the member has not left.
    left: Vec<Scope>,
    place: Vec<Step>,
    program: Program,
}

impl Walk {
    fn block(&mut self, body: &[Stmt]) -> Result<(), Unsupported> {
        for (number, stmt) in body.iter().enumerate() {
            Unsupported::unless_in_time()?;
            self.place.push(Step::Nth(number));
            self.statement(stmt)?;
            self.place.pop();
        }
        Ok(())
    }

    /// Everything around this place.
    fn around(&self) -> Vec<Scope> {
        self.left.iter().chain(&self.scope).cloned().collect()
    }

    /// An expression that is evaluated here, over indices and loop variables.
    fn evaluated(&mut self, expr: &Expr, span: Span) -> Result<Expr, Unsupported> {
        let expr = expr.substitute(&|var| self.vars.get(&var).cloned());
        if size(&expr) > LARGEST {
            return Err(Unsupported::at(span, "a variable of too many parts"));
        }
        self.program.evaluated.push(Evaluated {
            scope: self.around(),
            expr: expr.clone(),
            span,
        });
        Ok(expr)
    }

    fn all(&mut self, exprs: &[Expr], span: Span) -> Result<Vec<Expr>, Unsupported> {
        let each = exprs.iter();
        each.map(|expr| self.evaluated(expr, span)).collect()
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Access { .. } => Ok(()),
            StmtKind::Wait {
                cell,
                comparison,
                value,
            } => {
                let index = self.all(&cell.index, span)?;
                let value = self.evaluated(value, span)?;
                self.event(Kind::Wait(*comparison, value), cell.object.0, index, span);
                Ok(())
            }
            StmtKind::Add { cell, amount } => {
                let index = self.all(&cell.index, span)?;
                let amount = self.evaluated(amount, span)?;
                self.event(Kind::Add(amount), cell.object.0, index, span);
                Ok(())
            }
            StmtKind::Assign { var, value } => {
                if self.fixed.contains(var) {
                    return Err(Unsupported::at(span, "an assignment to an index"));
                }
                let value = self.evaluated(value, span)?;
                self.vars.insert(*var, value);
                Ok(())
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => self.branch(condition, [then, otherwise], span),
            StmtKind::For { var, over, body } => self.looped(*var, over, body, span),
            StmtKind::Return => self.leave(span),
            StmtKind::Break
            | StmtKind::Set { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::WaitSwap { .. }
            | StmtKind::Arrive { .. }
            | StmtKind::WaitParity { .. }
            | StmtKind::Sync { .. }
            | StmtKind::BarArrive { .. }
            | StmtKind::ExpectTx { .. }
            | StmtKind::CompleteTx { .. }
            | StmtKind::Copy { .. }
            | StmtKind::Commit { .. }
            | StmtKind::Init { .. }
            | StmtKind::BarrierArrive { .. }
            | StmtKind::BarrierWait { .. }
            | StmtKind::Acquire { .. }
            | StmtKind::Release { .. } => Err(Unsupported::at(span, "this operation")),
        }
    }

    fn event(&mut self, kind: Kind, object: usize, index: Vec<Expr>, span: Span) {
        self.program.events.push(Event {
            kind,
            object,
            index,
            scope: self.around(),
            place: self.place.clone(),
            span,
        });
    }

    fn branch(
        &mut self,
        condition: &Expr,
        [then, otherwise]: [&[Stmt]; 2],
        span: Span,
    ) -> Result<(), Unsupported> {
        let holds = self.evaluated(condition, span)?;
        let fails = Expr::Not(Box::new(holds.clone()));
        let before = self.vars.clone();
        for (number, (guard, block)) in [(holds.clone(), then), (fails, otherwise)]
            .into_iter()
            .enumerate()
        {
            let other = std::mem::replace(&mut self.vars, before.clone());
            self.scope.push(Scope::Holds(guard));
            self.place.push(Step::Nth(number));
            self.block(block)?;
            self.place.pop();
            self.scope.pop();
            if number > 0 {
                let own = std::mem::take(&mut self.vars);
                self.vars = merged(&holds, other, &own);
            }
        }
        Ok(())
    }

    fn looped(
        &mut self,
        var: VarId,
        over: &Iteration,
        body: &[Stmt],
        span: Span,
    ) -> Result<(), Unsupported> {
        let (over, direction) = match over {
            Iteration::Range { lo, hi, descending } => {
                let (lo, hi) = (self.evaluated(lo, span)?, self.evaluated(hi, span)?);
                let descending = *descending;
                let direction = match descending {
                    true => Direction::Down,
                    false => Direction::Up,
                };
                (Iteration::Range { lo, hi, descending }, direction)
            }
            Iteration::Row {
                pattern,
                row,
                order,
            } => {
                let row = self.all(row, span)?;
                let direction = match order {
                    RowOrder::Ascending => Direction::Up,
                    RowOrder::Descending => Direction::Down,
                    RowOrder::Given | RowOrder::Any => Direction::Open,
                };
                let (pattern, order) = (*pattern, *order);
                let over = Iteration::Row {
                    pattern,
                    row,
                    order,
                };
                (over, direction)
            }
        };
        let mut changed = Vec::new();
        assigned(body, &mut changed);
        self.vars.retain(|var, _| !changed.contains(var));
        self.scope.push(Scope::Loop(var, over));
        self.place.push(Step::Body(var, direction));
        self.fixed.push(var);
        self.block(body)?;
        self.fixed.pop();
        self.place.pop();
        self.scope.pop();
        self.vars.retain(|var, _| !changed.contains(var));
        Ok(())
    }

    /// Nobody who comes here goes on.
    fn leave(&mut self, span: Span) -> Result<(), Unsupported> {
        let mut conditions = Vec::new();
        for around in &self.scope {
            match around {
                Scope::Holds(condition) => conditions.push(condition.clone()),
                Scope::Loop(..) => return Err(Unsupported::at(span, "a `return` in a loop")),
            }
        }
        let gone = Expr::all(conditions);
        self.left.push(Scope::Holds(Expr::Not(Box::new(gone))));
        Ok(())
    }
}

/// What variables stand for behind a branch. One without a value at the end of a block has none.
fn merged(
    holds: &Expr,
    then: HashMap<VarId, Expr>,
    otherwise: &HashMap<VarId, Expr>,
) -> HashMap<VarId, Expr> {
    let mut all = HashMap::new();
    for (var, a) in then {
        let Some(b) = otherwise.get(&var) else {
            continue;
        };
        let value = match a == *b {
            true => a,
            false => Expr::If(Box::new(holds.clone()), Box::new(a), Box::new(b.clone())),
        };
        all.insert(var, value);
    }
    all
}

/// What a block assigns to.
fn assigned(body: &[Stmt], found: &mut Vec<VarId>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { var, .. } => found.push(*var),
            StmtKind::If {
                then, otherwise, ..
            } => {
                assigned(then, found);
                assigned(otherwise, found);
            }
            StmtKind::For { body, .. } => assigned(body, found),
            // The others assign to nothing, or are refused.
            _ => {}
        }
    }
}

/// How many parts an expression has.
fn size(expr: &Expr) -> usize {
    let parts = expr.parts().into_iter();
    parts.fold(1, |sum, part| exact::together(sum, size(part)))
}

/// Writes an index as a name times 1 or -1, plus what does not have that name in it.
pub fn linear(expr: &Expr, var: VarId) -> Option<(bool, Expr)> {
    match expr {
        Expr::Var(name) if *name == var => Some((true, Expr::Int(0))),
        Expr::Neg(e) => {
            let (up, rest) = linear(e, var)?;
            Some((!up, Expr::Neg(Box::new(rest))))
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            match (mentions(a, var), mentions(b, var)) {
                (true, false) => {
                    let (up, rest) = linear(a, var)?;
                    Some((up, Expr::binary(*op, rest, (**b).clone())))
                }
                (false, true) => {
                    let (up, rest) = linear(b, var)?;
                    let up = up == (*op == BinaryOp::Add);
                    Some((up, Expr::binary(*op, (**a).clone(), rest)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a name occurs in an expression.
pub fn mentions(expr: &Expr, var: VarId) -> bool {
    *expr == Expr::Var(var) || expr.parts().into_iter().any(|part| mentions(part, var))
}
