//! The normal form that the rules are about: programs with fewer loops and branches that do the same.
//!
//! A proof must not depend on which of several equal programs an author wrote. So the checker rewrites the
//! programs before any rule looks at them. It starts from the untouched text, and no certificate says how. A
//! rewriting never changes which operations a member does, nor their elements, amounts and order, but for the last two in the table, of
//! which the files say why they may:
//!
//! | before | after | why |
//! |---|---|---|
//! | `for i in a..b { B }`, `b - a` is at most 0 | nothing | no iteration |
//! | `for i in a..b { B }`, `b - a` is 1 | `i = a; B` | one iteration |
//! | `for i in a..b { B }`, `b - a` is 2 to 4, `i` is an index in a short `B` without loops | `i = a; B i = a + 1; B` and so on | so many iterations |
//! | `if c { for i in a..b { B } }`, `c` holds wherever `a < b` | the loop | where `c` does not hold, no iteration |
//! | `for i in a..b { B if c { break } }`, `c` implies `i >= b - 1` | `for i in a..b { B }` | nothing follows |
//! | `for i in 0..b { if i % m == r { B } }`, `r` is in `0..m` | `for k in 0..(b - r + m - 1) / m { i = m * k + r; B }` | `strided_loops.rs` |
//! | the same with `x = x + e` beside the branch, or on both of its sides | that loop with `x = x0 + e * i` in front of `B` | `strided_loops.rs` |
//! | `if n > 0 { B }`, `n` is a count | `for j in 0..min(1, n) { B }` | `rows.rs` |
//! | `if a < b { B } for i in a + 1..b { B }` | `for i in a..b { B }` | `B` does not mention `i` |
//! | `wait x[e] == s; B; x[e] = (s + 1) % S`, one for each `s` in `0..S` | `wait x[e] == s; B; x[e] += 1` | `wrapped.rs` |
//! | `t = fetch_add(c, 1); B`, or a loop of these, where nothing else is done with `c` | `B` of members numbered by `t` | `drawn.rs` |
//!
//! Parameters that have one value are replaced first (`constant_parameters.rs`), and elements `x[e * n + f]` get two indices (`delinearize.rs`). Lengths are compared as polynomials; whether one is never
//! negative is read off its shape and the domain.
//! Nothing moves past what could change it: bounds and conditions do not depend on what the loop assigns to, and a
//! body with a `break` of its own stays in its loop.
//!
//! The original program also evaluates the bounds and conditions that a rewriting removes. So such an expression
//! is removed only if its shape and the domain show that it is defined (`evident` in [`super::defined`]). All
//! other definedness is stated from the untouched text. A body that is removed never runs in the original either.

pub(super) mod constant_parameters;
mod delinearize;
mod drawn;
mod rows;
mod strided_loops;
#[cfg(test)]
mod tests;
mod wrapped;

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;

use super::cut::algebra;
use super::cut::break_elimination;
use super::cut::domain::never_negative;
use super::cut::polynomial::Polynomial;
use super::cut::statements;
use super::defined::evident;
use super::exact;
use super::once::once;
use super::once::says;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::Var;
use crate::protocol::VarId;

/// Expressions with more parts than these are not compared.
const MAX_SIZE: usize = 64;

/// Loops of more iterations than these are not unrolled.
const MOST_UNROLLED: i64 = 4;

/// Nor are loops of more statements.
const MOST_STATEMENTS: usize = 4;

/// The same protocol with its programs in normal form, and without what `drawn` and `wrapped` put something else in place of.
pub fn normal(protocol: &Protocol) -> Protocol {
    let indexed = drawn::indexed(&constant_parameters::replaced(protocol));
    rewritten(&wrapped::unwrapped(&delinearize::delinearized(&indexed)))
}

/// The same protocol with its programs in normal form, in which each member does what it did.
pub fn of_programs(protocol: &Protocol) -> Protocol {
    rewritten(&delinearize::delinearized(&constant_parameters::replaced(
        protocol,
    )))
}

fn rewritten(protocol: &Protocol) -> Protocol {
    let rewriter = Rewriter {
        protocol,
        indices: strided_loops::indices(protocol),
        vars: RefCell::new(protocol.vars.clone()),
        statements: Cell::new(protocol.stmt_count),
    };
    let mut normal = protocol.clone();
    for role in &mut normal.roles {
        role.body = rewriter.block(&role.body);
    }
    normal.vars = rewriter.vars.into_inner();
    normal.stmt_count = rewriter.statements.get();
    normal
}

struct Rewriter<'p> {
    protocol: &'p Protocol,
    /// Indices of roles, and how many values they have.
    indices: HashMap<VarId, i64>,
    /// The variables of the protocol, and new ones.
    vars: RefCell<Vec<Var>>,
    /// How many statements have a number.
    statements: Cell<usize>,
}

/// A loop over a range.
struct Loop<'s> {
    var: VarId,
    lo: &'s Expr,
    hi: &'s Expr,
    descending: bool,
    body: &'s [Stmt],
}

fn range(stmt: &Stmt) -> Option<Loop<'_>> {
    match &stmt.kind {
        StmtKind::For {
            var,
            over: Iteration::Range { lo, hi, descending },
            body,
        } => Some(Loop {
            var: *var,
            lo,
            hi,
            descending: *descending,
            body,
        }),
        _ => None,
    }
}

impl Rewriter<'_> {
    fn block(&self, body: &[Stmt]) -> Vec<Stmt> {
        let mut all: Vec<Stmt> = Vec::new();
        for stmt in body {
            for stmt in self.statement(stmt) {
                match all.last().and_then(|first| self.joined(first, &stmt)) {
                    Some(whole) => {
                        all.pop();
                        all.push(whole);
                    }
                    None => all.push(stmt),
                }
            }
        }
        all
    }

    fn statement(&self, stmt: &Stmt) -> Vec<Stmt> {
        let mut stmt = stmt.clone();
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                *then = self.block(then);
                *otherwise = self.block(otherwise);
            }
            StmtKind::For { body, .. } => *body = self.block(body),
            _ => return vec![stmt],
        }
        if let Some(only) = self.unguarded(&stmt) {
            stmt = only;
        }
        if let Some(all) = self.counted(&stmt) {
            return all;
        }
        if let Some(Loop { body, .. }) = range(&stmt)
            && body.last().is_some_and(|last| self.idle_exit(&stmt, last))
            && let StmtKind::For { body, .. } = &mut stmt.kind
        {
            body.pop();
        }
        let own = strided_loops::own(
            &stmt,
            self.protocol,
            &self.indices,
            &mut self.vars.borrow_mut(),
        );
        match own.map(<[Stmt; 1]>::try_from) {
            Some(Ok([own])) => stmt = own,
            // With what sets variables around it.
            Some(Err(all)) => return all,
            None => {}
        }
        self.short(&stmt).unwrap_or_else(|| vec![stmt])
    }

    /// A loop of no iteration or of one, without the loop.
    fn short(&self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let this = range(stmt)?;
        if break_elimination::breaks(this.body) || !self.evident(this.lo) || !self.evident(this.hi)
        {
            return None;
        }
        // Each iteration but the first begins with the lower bound, evaluated anew.
        let changed = break_elimination::changed(this.body);
        let again = changed.iter().any(|var| algebra::mentions(this.lo, *var));
        let trips = algebra::sub(this.hi.clone(), this.lo.clone());
        match self.difference(&trips, &Expr::Int(0))? {
            Expr::Int(..=0) => Some(Vec::new()),
            Expr::Int(1) => Some(self.unrolled(stmt, &this, 1)),
            Expr::Int(trips @ 2..=MOST_UNROLLED) if !again && tells_elements_apart(&this) => {
                Some(self.unrolled(stmt, &this, trips))
            }
            _ => None,
        }
    }

    /// The iterations of a loop, one after the other. Rules tell statements apart by their numbers, so only the first iteration
    /// keeps those that it has.
    fn unrolled(&self, stmt: &Stmt, this: &Loop<'_>, trips: i64) -> Vec<Stmt> {
        let mut order: Vec<i64> = (0..trips).collect();
        if this.descending {
            order.reverse();
        }
        let mut all = Vec::new();
        for nth in order {
            let copied = !all.is_empty();
            let begin = all.len();
            if says(this.body, this.var) {
                let value = algebra::add(this.lo.clone(), Expr::Int(nth));
                let kind = StmtKind::Assign {
                    var: this.var,
                    value,
                };
                let this = stmt.clone();
                all.push(Stmt { kind, ..this });
            }
            all.extend_from_slice(this.body);
            if copied {
                all[begin..]
                    .iter_mut()
                    .for_each(|stmt| stmt.id = self.number());
            }
        }
        all
    }

    /// A number for a statement.
    fn number(&self) -> StmtId {
        let number = self.statements.get();
        self.statements.set(exact::next(number));
        StmtId(number)
    }

    /// The loop of a branch that is taken wherever the loop goes around.
    fn unguarded(&self, stmt: &Stmt) -> Option<Stmt> {
        let StmtKind::If {
            condition,
            then,
            otherwise,
        } = &stmt.kind
        else {
            return None;
        };
        let ([only], []) = (&then[..], &otherwise[..]) else {
            return None;
        };
        let this = range(only)?;
        if ![condition, this.lo, this.hi]
            .iter()
            .all(|e| self.evident(e))
        {
            return None;
        }
        let trips = self.difference(this.hi, this.lo)?;
        let implied = |part: &Expr| {
            let above = self.above(part)?;
            self.never_less(&above, &trips).then_some(())
        };
        implied(condition).map(|()| only.clone())
    }

    /// A branch at the end of a loop that leaves it in its last iteration.
    fn idle_exit(&self, stmt: &Stmt, last: &Stmt) -> bool {
        let (
            Some(this),
            StmtKind::If {
                condition,
                then,
                otherwise,
            },
        ) = (range(stmt), &last.kind)
        else {
            return false;
        };
        let leaves =
            matches!(&then[..], [only] if only.kind == StmtKind::Break) && otherwise.is_empty();
        let changed = break_elimination::changed(this.body);
        let moves = |e: &Expr| changed.iter().any(|var| algebra::mentions(e, *var));
        if !leaves
            || !self.evident(condition)
            || [condition, this.lo, this.hi].iter().any(|e| moves(e))
            || changed.contains(&this.var)
        {
            return false;
        }
        // How far beyond the last iteration but one it is, at least 0 in the last one alone.
        let var = Expr::Var(this.var);
        let late = match this.descending {
            false => algebra::add(algebra::sub(var, this.hi.clone()), Expr::Int(1)),
            true => algebra::sub(this.lo.clone(), var),
        };
        if let Expr::Binary(BinaryOp::Eq, a, b) = condition {
            let ways = [self.difference(a, b), self.difference(b, a)];
            return ways
                .iter()
                .flatten()
                .any(|zero| self.never_less(&late, zero));
        }
        let above = self.above(condition);
        above.is_some_and(|above| self.never_less(&late, &algebra::sub(above, Expr::Int(1))))
    }

    /// A loop whose first iteration stands before it, as one loop.
    fn joined(&self, first: &Stmt, rest: &Stmt) -> Option<Stmt> {
        let this = range(rest)?;
        let changed = break_elimination::changed(this.body);
        let moves = |e: &Expr| changed.iter().any(|var| algebra::mentions(e, *var));
        let (condition, body) = match &first.kind {
            StmtKind::If {
                condition,
                then,
                otherwise,
            } if otherwise.is_empty() => (condition.clone(), &then[..]),
            _ => {
                let (amount, body) = once(first)?;
                let least = Expr::binary(BinaryOp::Ge, amount.clone(), Expr::Int(1));
                (least, body)
            }
        };
        let plain = [&condition, this.lo, this.hi];
        if this.descending
            || break_elimination::leaving(body).is_some()
            || says(this.body, this.var)
            || !plain.iter().all(|e| self.evident(e) && !moves(e))
            || !alike(body, this.body)
        {
            return None;
        }
        // The condition is that the loop from one iteration earlier goes around at all.
        let lo = algebra::sub(this.lo.clone(), Expr::Int(1));
        let above = self.above(&condition)?;
        let trips = algebra::sub(this.hi.clone(), lo.clone());
        if self.difference(&above, &trips)? != Expr::Int(0) {
            return None;
        }
        let over = Iteration::Range {
            lo: self.difference(&lo, &Expr::Int(0))?,
            hi: this.hi.clone(),
            descending: false,
        };
        let kind = StmtKind::For {
            var: this.var,
            over,
            body: this.body.to_vec(),
        };
        Some(Stmt {
            kind,
            ..rest.clone()
        })
    }

    /// What is at least 1 exactly where a comparison holds.
    fn above(&self, condition: &Expr) -> Option<Expr> {
        let Expr::Binary(op, a, b) = condition else {
            return None;
        };
        let difference = |a: &Expr, b: &Expr| self.difference(a, b);
        let one = || Expr::Int(1);
        match op {
            BinaryOp::Lt => difference(b, a),
            BinaryOp::Gt => difference(a, b),
            BinaryOp::Le => Some(algebra::add(difference(b, a)?, one())),
            BinaryOp::Ge => Some(algebra::add(difference(a, b)?, one())),
            // Of two that differ, and one of which is never less.
            BinaryOp::Ne => {
                let ways = [difference(a, b)?, difference(b, a)?];
                ways.into_iter()
                    .find(|way| never_negative(self.protocol, way))
            }
            _ => None,
        }
    }

    fn never_less(&self, a: &Expr, b: &Expr) -> bool {
        let apart = self.difference(a, b);
        apart.is_some_and(|apart| never_negative(self.protocol, &apart))
    }

    /// A difference, expanded.
    fn difference(&self, a: &Expr, b: &Expr) -> Option<Expr> {
        if size(a) > MAX_SIZE || size(b) > MAX_SIZE {
            return None;
        }
        Polynomial::of(a).minus(&Polynomial::of(b)).to_expr()
    }

    fn evident(&self, expr: &Expr) -> bool {
        evident(self.protocol, expr)
    }
}

fn size(expr: &Expr) -> usize {
    let parts: &[&Expr] = match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => &[],
        Expr::Neg(e) | Expr::Not(e) => &[e],
        Expr::Binary(_, a, b) => &[a, b],
        Expr::If(c, a, b) => &[c, a, b],
        // More than is compared.
        Expr::Visits(..) | Expr::Count { .. } => return usize::MAX,
    };
    let mut sizes = parts.iter().map(|part| size(part));
    let sum = sizes.try_fold(1_usize, |sum, part| sum.checked_add(part));
    sum.unwrap_or(usize::MAX)
}

/// Whether a loop is short, and its variable an index: then each iteration is about elements of its own.
fn tells_elements_apart(this: &Loop<'_>) -> bool {
    let plain = |stmt: &Stmt| !matches!(stmt.kind, StmtKind::For { .. } | StmtKind::If { .. });
    let indexed = |stmt: &Stmt| {
        let cell = statements::cell_of(stmt);
        cell.is_some_and(|cell| cell.index.contains(&Expr::Var(this.var)))
    };
    this.body.len() <= MOST_STATEMENTS
        && this.body.iter().all(plain)
        && this.body.iter().any(indexed)
        && !break_elimination::changed(this.body).contains(&this.var)
}

/// Whether two blocks are the same but for where they stand.
fn alike(a: &[Stmt], b: &[Stmt]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.memory == b.memory
                && match (&a.kind, &b.kind) {
                    (
                        StmtKind::If {
                            condition,
                            then,
                            otherwise,
                        },
                        StmtKind::If {
                            condition: other,
                            then: others_then,
                            otherwise: others_otherwise,
                        },
                    ) => {
                        condition == other
                            && alike(then, others_then)
                            && alike(otherwise, others_otherwise)
                    }
                    // A variable of its own has another number in either.
                    (StmtKind::For { .. }, _) | (_, StmtKind::For { .. }) => false,
                    (a, b) => a == b,
                }
        })
}
