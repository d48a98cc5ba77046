//! Walks the program of a group symbolically: its operations before, in and after its loop.
//!
//! Loops whose bounds are numbers are unrolled. One loop at the top level may have any upper bound; its iterations
//! are the *rounds*. A local variable that the loop changes is *carried*. In the loop's body, its name stands for its
//! value at the start of the round; after the loop, for its value at the end. All results are expressions over
//! parameters, the loop variable and carried variables.

use std::collections::HashMap;

use super::fold;
use super::fold::Known;
use super::split::Part;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::ATOMIC;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::ObjectId;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The most statements that are listed after unrolling.
const MAX_STATEMENTS: usize = 512;

/// A part of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before the loop.
    Before,
    /// In the loop's body.
    Round,
    /// After the loop.
    After,
}

/// An operation on an mbarrier or a semaphore.
#[derive(Debug, Clone)]
pub struct Raw {
    /// Where it stands.
    pub span: Span,
    /// In which phase.
    pub phase: Phase,
    /// The conditions under which it is executed.
    pub given: Vec<Expr>,
    /// The family.
    pub object: ObjectId,
    /// The element.
    pub index: Vec<Expr>,
    /// What it does.
    pub kind: RawKind,
}

/// What an operation does.
#[derive(Debug, Clone)]
pub enum RawKind {
    /// Arrives this often.
    Arrive(Expr),
    /// Waits for the phase bit to differ.
    Wait(Expr),
    /// Adds this much.
    Add(Expr),
    /// Waits for a value.
    Compare(Comparison, Expr),
}

/// An expression that the program evaluates.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// In which phase.
    pub phase: Phase,
    /// The conditions under which it is evaluated.
    pub given: Vec<Expr>,
    /// The expression.
    pub expr: Expr,
    /// The statement.
    pub span: Span,
}

/// The loop of unknown length.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// The loop variable.
    pub var: VarId,
    /// Its first value.
    pub lo: i64,
    /// One past its last value, over parameters.
    pub hi: Expr,
    /// Per carried variable: its first value, and its value after a round.
    pub carried: Vec<(VarId, i64, Expr)>,
    /// The loop.
    pub span: Span,
}

/// A group's program.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The operations of all phases, in order.
    pub raw: Vec<Raw>,
    /// The loop.
    pub rounds: Option<Rounds>,
    /// Everything evaluated on the way.
    pub evaluations: Vec<Evaluation>,
}

struct Walk<'a> {
    part: &'a Part,
    values: HashMap<VarId, Expr>,
    given: Vec<Expr>,
    phase: Phase,
    statements: usize,
    returned: bool,
    program: Program,
}

/// Walks the program of a group.
///
/// # Errors
///
/// A construct that the fragment does not contain, by name.
pub fn walk(part: &Part, body: &[Stmt]) -> Result<Program, Unsupported> {
    let mut walk = Walk {
        part,
        values: part.known.vars.clone(),
        given: Vec::new(),
        phase: Phase::Before,
        statements: 0,
        returned: false,
        program: Program::default(),
    };
    walk.block(body)?;
    Ok(walk.program)
}

impl Walk<'_> {
    fn block(&mut self, body: &[Stmt]) -> Result<(), Unsupported> {
        for stmt in body {
            if self.returned {
                break;
            }
            self.statements = exact::next(self.statements);
            if self.statements > MAX_STATEMENTS {
                return Err(Unsupported::at(
                    stmt.span,
                    "a loop that is too long to write out",
                ));
            }
            self.statement(stmt)?;
        }
        Ok(())
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        let refuse = |what: &str| Err(Unsupported::at(stmt.span, what));
        match &stmt.kind {
            StmtKind::Access { .. } => Ok(()),
            StmtKind::Arrive { cell, count } => {
                let count = self.evaluate(count, stmt.span)?;
                self.operation(stmt, cell, RawKind::Arrive(count))
            }
            StmtKind::WaitParity { cell, parity } => {
                let parity = self.evaluate(parity, stmt.span)?;
                self.operation(stmt, cell, RawKind::Wait(parity))
            }
            StmtKind::Assign { var, value } => {
                let value = self.evaluate(value, stmt.span)?;
                self.values.insert(*var, value);
                Ok(())
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => self.branch(stmt, condition, then, otherwise),
            StmtKind::For { var, over, body } => {
                let Iteration::Range { lo, hi, descending } = over else {
                    return refuse("a loop over a row");
                };
                let lo = self.evaluate(lo, stmt.span)?;
                let hi = self.evaluate(hi, stmt.span)?;
                match (&lo, &hi) {
                    (Expr::Int(lo), Expr::Int(hi)) => {
                        let count = hi.checked_sub(*lo);
                        if count.is_none_or(|count| count > MAX_STATEMENTS as i64) {
                            return refuse("a loop that is too long to write out");
                        }
                        let mut values: Vec<i64> = (*lo..*hi).collect();
                        if *descending {
                            values.reverse();
                        }
                        for value in values {
                            self.values.insert(*var, Expr::Int(value));
                            self.block(body)?;
                            if self.returned {
                                break;
                            }
                        }
                        Ok(())
                    }
                    _ if self.phase == Phase::Round => refuse("a loop inside a loop"),
                    _ if self.program.rounds.is_some() => {
                        refuse("a second loop whose length is not a number")
                    }
                    _ if !self.given.is_empty() => refuse("a loop under a condition"),
                    _ if *descending => refuse("a descending loop whose length is not a number"),
                    _ => self.rounds(stmt, *var, lo, hi, body),
                }
            }
            StmtKind::Return if self.given.is_empty() && self.phase != Phase::Round => {
                self.returned = true;
                Ok(())
            }
            StmtKind::Return => refuse("`return` inside a loop or under a condition"),
            StmtKind::Break => refuse("`break`"),
            StmtKind::Wait {
                cell,
                comparison,
                value,
            } => {
                let value = self.evaluate(value, stmt.span)?;
                self.operation(stmt, cell, RawKind::Compare(*comparison, value))
            }
            StmtKind::Add { cell, amount } => {
                let amount = self.evaluate(amount, stmt.span)?;
                self.operation(stmt, cell, RawKind::Add(amount))
            }
            StmtKind::Set { .. } => refuse("a semaphore that is set"),
            StmtKind::Atomic { .. } | StmtKind::WaitSwap { .. } => refuse(ATOMIC),
            StmtKind::Sync { .. } | StmtKind::BarArrive { .. } => {
                refuse("a named barrier where members are counted")
            }
            StmtKind::BarrierArrive { .. } | StmtKind::BarrierWait { .. } => {
                refuse("a split-phase barrier where members are counted")
            }
            StmtKind::ExpectTx { .. }
            | StmtKind::CompleteTx { .. }
            | StmtKind::Copy { .. }
            | StmtKind::Commit { .. } => refuse("asynchronous work where members are counted"),
            StmtKind::Acquire { .. } | StmtKind::Release { .. } => refuse("a pool"),
            StmtKind::Init { .. } => refuse("an explicit initialisation"),
        }
    }

    fn rounds(
        &mut self,
        stmt: &Stmt,
        var: VarId,
        lo: Expr,
        hi: Expr,
        body: &[Stmt],
    ) -> Result<(), Unsupported> {
        let Expr::Int(lo) = lo else {
            return Err(Unsupported::at(
                stmt.span,
                "a loop that does not begin at a number",
            ));
        };
        if fold::mentions(&hi, &|_| true) {
            return Err(Unsupported::at(
                stmt.span,
                "a loop whose length is not over parameters",
            ));
        }
        let mut changed = Vec::new();
        assigned(body, &mut changed);
        let mut carried = Vec::new();
        for var in changed {
            let Some(first) = self.values.get(&var).cloned() else {
                // The variable is declared in the body.
                continue;
            };
            let Expr::Int(first) = first else {
                return Err(Unsupported::at(
                    stmt.span,
                    "a local variable that does not begin as a number",
                ));
            };
            carried.push((var, first, Expr::Var(var)));
            self.values.insert(var, Expr::Var(var));
        }
        self.values.insert(var, Expr::Var(var));
        let outside: Vec<VarId> = self.values.keys().copied().collect();
        self.phase = Phase::Round;
        self.block(body)?;
        self.phase = Phase::After;
        for (var, _, next) in &mut carried {
            if let Some(value) = self.values.insert(*var, Expr::Var(*var)) {
                *next = value;
            }
        }
        self.values.retain(|v, _| outside.contains(v) && *v != var);
        self.program.rounds = Some(Rounds {
            var,
            lo,
            hi,
            carried,
            span: stmt.span,
        });
        Ok(())
    }

    fn branch(
        &mut self,
        stmt: &Stmt,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
    ) -> Result<(), Unsupported> {
        let condition = self.evaluate(condition, stmt.span)?;
        if let Expr::Bool(value) = condition {
            return self.block(if value { then } else { otherwise });
        }
        let before = self.values.clone();
        self.given.push(condition.clone());
        self.block(then)?;
        self.given.pop();
        let after_then = std::mem::replace(&mut self.values, before);
        self.given.push(Expr::Not(Box::new(condition.clone())));
        self.block(otherwise)?;
        self.given.pop();
        let after_otherwise = std::mem::take(&mut self.values);
        for (var, a) in after_then {
            // A name that only one branch knows was declared in that branch.
            let Some(b) = after_otherwise.get(&var) else {
                continue;
            };
            let merged = if a == *b {
                a
            } else {
                Expr::If(
                    Box::new(condition.clone()),
                    Box::new(a),
                    Box::new(b.clone()),
                )
            };
            self.values.insert(var, merged);
        }
        Ok(())
    }

    /// The value of an expression at this place. Notes that the program evaluates it.
    fn evaluate(&mut self, expr: &Expr, span: Span) -> Result<Expr, Unsupported> {
        let open = self.part.open.as_ref();
        let decided = match open {
            Some(open) => open.decide(expr, &self.part.known),
            None => expr.clone(),
        };
        let known = Known {
            params: self.part.known.params.clone(),
            vars: self.values.clone(),
        };
        let value = fold::fold(&decided, &known);
        if fold::counts(&value) {
            return Err(Unsupported::at(
                span,
                "a pattern or a count where members are counted",
            ));
        }
        if let Some(open) = open
            && fold::mentions(&value, &|var| var == open.var)
        {
            return Err(Unsupported::at(
                span,
                "an index used otherwise than in a comparison",
            ));
        }
        if !matches!(value, Expr::Int(_) | Expr::Bool(_)) {
            self.program.evaluations.push(Evaluation {
                phase: self.phase,
                given: self.given.clone(),
                expr: value.clone(),
                span,
            });
        }
        Ok(value)
    }

    fn operation(&mut self, stmt: &Stmt, cell: &Cell, kind: RawKind) -> Result<(), Unsupported> {
        let mut index = Vec::new();
        for expr in &cell.index {
            index.push(self.evaluate(expr, stmt.span)?);
        }
        self.program.raw.push(Raw {
            span: stmt.span,
            phase: self.phase,
            given: self.given.clone(),
            object: cell.object,
            index,
            kind,
        });
        Ok(())
    }
}

/// The variables a block assigns to.
fn assigned(body: &[Stmt], found: &mut Vec<VarId>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { var, .. } if !found.contains(var) => found.push(*var),
            StmtKind::If {
                then, otherwise, ..
            } => {
                assigned(then, found);
                assigned(otherwise, found);
            }
            StmtKind::For { body, .. } => assigned(body, found),
            _ => {}
        }
    }
}

/// How many rounds a loop has, over parameters.
pub fn length(rounds: &Rounds) -> Expr {
    let difference = Expr::binary(BinaryOp::Sub, rounds.hi.clone(), Expr::Int(rounds.lo));
    let length = Expr::binary(BinaryOp::Max, difference, Expr::Int(0));
    fold::fold(&length, &Known::default())
}
