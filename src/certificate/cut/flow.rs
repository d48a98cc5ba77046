//! The program of a class of identical members, with every local variable in closed form.
//!
//! A *class* is the members of a role that run the same program: index values that the program
//! looks at are enumerated or split off by comparisons, the others only multiply the size. In a
//! class's program every loop counts its iterations from 0 (short loops of known length are written
//! out), and every expression is over
//! parameters and iteration numbers only: a local variable is replaced by its closed form, whose
//! correctness is a list of [`Claim`]s, proved by induction over iterations.
//!
//! Refused, with the construct named: rows of a pattern, `break`, `return` inside a loop, and
//! local variables whose change per iteration has no closed form here.

use std::collections::BTreeSet;
use std::collections::HashMap;

use super::algebra;
use super::class;
use super::leave;
use super::lengths;
use super::own::Own;
use super::polynomial::Polynomial;
use super::split_phase;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::BufferId;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Fence;
use crate::protocol::Iteration;
use crate::protocol::ObjectId;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Qualifiers;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::Touch;
use crate::protocol::VarId;
use crate::protocol::Work;

/// Loops with no more iterations than this, a number, are written out, unless they carry variables
/// from one iteration to the next: those have closed forms that writing out would tear apart.
const MAX_WRITTEN_OUT: i64 = 8;

/// The most operations a class may have, and the most steps on data, where loops are written out.
const MAX_SITES: usize = 200;

/// A class's program.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The program, in order.
    pub nodes: Vec<Node>,
    /// Its operations, in text order.
    pub sites: Vec<Site>,
    /// What it does to data, in text order.
    pub points: Vec<Point>,
    /// Its loops.
    pub loops: Vec<Loop>,
    /// What has to hold for the closed forms to be right.
    pub claims: Vec<Claim>,
    /// Everything the program evaluates.
    pub evaluations: Vec<Claim>,
}

/// A piece of the program.
#[derive(Debug, Clone)]
pub enum Node {
    /// An operation, by its position in [`Flow::sites`].
    Site(usize),
    /// A step on data, by its position in [`Flow::points`].
    Point(usize),
    /// Runs one of two blocks.
    If {
        /// The condition.
        condition: Expr,
        /// Taken when it holds.
        then: Vec<Node>,
        /// Taken when it does not.
        otherwise: Vec<Node>,
    },
    /// Runs a loop, by its position in [`Flow::loops`].
    Loop(usize),
}

/// A loop.
#[derive(Debug, Clone)]
pub struct Loop {
    /// The number of the iteration, from 0.
    pub var: VarId,
    /// How many iterations; never negative.
    pub trips: Expr,
    /// The program of one iteration.
    pub body: Vec<Node>,
    /// The enclosing loops, outermost first.
    pub outer: Vec<usize>,
}

/// Where something stands: the loops around it and what must hold to get there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path {
    /// The enclosing loops, outermost first.
    pub loops: Vec<usize>,
    /// The conditions of the enclosing branches.
    pub conditions: Vec<Expr>,
}

/// An operation.
#[derive(Debug, Clone)]
pub struct Site {
    /// The statement.
    pub stmt: StmtId,
    /// Where it stands in the text.
    pub span: Span,
    /// Where it stands in the program.
    pub path: Path,
    /// The object it works on.
    pub object: ObjectId,
    /// Which element of it.
    pub index: Vec<Expr>,
    /// How it orders memory, as far as the text says so.
    pub memory: Qualifiers,
    /// What it does.
    pub kind: Kind,
}

/// A step on data: it blocks nobody and lets nobody go on, but it has a place among the operations.
#[derive(Debug, Clone)]
pub struct Point {
    /// The first of the steps that one execution of its statement consists of, by position.
    pub first: usize,
    /// Where it stands in the text.
    pub span: Span,
    /// Where it stands in the program.
    pub path: Path,
    /// How many operations come before it in the text.
    pub after: usize,
    /// What it does.
    pub step: Step,
}

/// What a step on data does.
#[derive(Debug, Clone)]
pub enum Step {
    /// It reads or writes an element of a buffer.
    Touch {
        /// The buffer.
        buffer: BufferId,
        /// Which element.
        index: Vec<Expr>,
        /// The same with nothing folded, for the question whether it is defined.
        whole: Vec<Expr>,
        /// Whether it writes.
        write: bool,
        /// How long it lasts.
        lasting: Lasting,
        /// Whether it goes through the async proxy.
        bulk: bool,
    },
    /// Orders the generic and the async proxy.
    ProxyFence,
    /// What is under way becomes a group.
    CommitGroup,
    /// Groups are waited for.
    WaitGroup {
        /// How many may be outstanding, with nothing folded.
        whole: Expr,
        /// The same, if it is a number.
        most: Option<i64>,
        /// Whether only what they read is waited for.
        reads_only: bool,
    },
    /// Data gets room, or loses it.
    Lifetime {
        /// The buffer.
        buffer: BufferId,
        /// The leading indices of the elements.
        index: Vec<Expr>,
        /// The same with nothing folded.
        whole: Vec<Expr>,
        /// Whether it gets room.
        begins: bool,
    },
    /// Something is claimed of every state in which a member is here.
    Assert {
        /// The condition, with nothing folded, in which names stand for values of elements.
        condition: Expr,
        /// These names and the elements.
        values: Vec<Value>,
    },
}

/// A name in a claim, and the element whose value it is.
#[derive(Debug, Clone)]
pub struct Value {
    /// The name.
    pub var: VarId,
    /// The object.
    pub object: ObjectId,
    /// Which element.
    pub index: Vec<Expr>,
    /// The same with nothing folded, for the question whether it is defined.
    pub whole: Vec<Expr>,
}

/// How long an access lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// The member itself does it before it goes on.
    Now,
    /// Until the delivery that the next operation starts has landed.
    Copy,
    /// It is started, and is under way until a later commit lands or its group is waited for.
    Started {
        /// Whether it follows earlier work of its member that is in order, too.
        in_order: bool,
    },
}

/// What an operation does.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Counts towards a generation of a barrier or adds to a semaphore.
    Arrive {
        /// How much.
        weight: Expr,
        /// Whether it does so once what its member started before is done.
        commit: bool,
    },
    /// Registers at a named or split-phase barrier.
    Register {
        /// Threads that complete a generation of a named barrier; 1 for a split-phase barrier,
        /// whose count is declared.
        count: Expr,
    },
    /// Blocks until the generation of the registration just before has completed.
    Await,
    /// Blocks until a pool has so much, and takes it.
    Acquire {
        /// How much.
        amount: Expr,
    },
    /// Gives back to a pool.
    Release {
        /// How much.
        amount: Expr,
    },
    /// Initialises an mbarrier.
    Init,
    /// Works on a semaphore that nobody else uses, see `own.rs`.
    Own,
    /// Makes the phase in progress expect bytes.
    Expect {
        /// How many.
        bytes: Expr,
    },
    /// Delivers bytes, now or some time later.
    Deliver {
        /// How many.
        bytes: Expr,
    },
    /// Blocks while the phase bit equals the parity.
    WaitParity {
        /// The parity.
        parity: Expr,
    },
    /// Blocks until a semaphore compares so with the value.
    WaitValue {
        /// How.
        comparison: Comparison,
        /// With what.
        value: Expr,
    },
}

impl Site {
    /// Whether two operations may work on one element: not if an index is a different number.
    pub fn may_meet(&self, other: &Site) -> bool {
        let differ = |pair: (&Expr, &Expr)| matches!(pair, (Expr::Int(a), Expr::Int(b)) if a != b);
        self.object == other.object && !self.index.iter().zip(&other.index).any(differ)
    }
}

impl Kind {
    /// Whether a member can be held here by what others have not done yet. An acquisition is
    /// another matter: what others do may also take away.
    pub fn blocks(&self) -> bool {
        matches!(
            self,
            Kind::Await | Kind::WaitParity { .. } | Kind::WaitValue { .. }
        )
    }

    /// How many arrivals it adds to its element.
    pub fn arrivals(&self) -> Option<Expr> {
        match self {
            Kind::Arrive { weight, .. } => Some(weight.clone()),
            Kind::Register { .. } => Some(Expr::Int(1)),
            _ => None,
        }
    }

    /// How many bytes it delivers to its element.
    pub fn bytes(&self) -> Option<Expr> {
        match self {
            Kind::Deliver { bytes } => Some(bytes.clone()),
            _ => None,
        }
    }
}

/// An expression about one place of the program: a truth that must hold whenever a run is there,
/// or an expression that is evaluated there.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Where.
    pub path: Path,
    /// The expression.
    pub expr: Expr,
    /// What it is about.
    pub about: String,
    /// The statement it belongs to.
    pub span: Span,
}

impl Flow {
    /// Whether a wait is preceded at once by a registration at its element, in the same place.
    pub fn follows_registration(&self, site: usize) -> bool {
        let at = &self.sites[site];
        let before = self.sites[..site].iter().rev().find(|s| s.may_meet(at));
        before.is_some_and(|s| {
            matches!(s.kind, Kind::Register { .. }) && s.path == at.path && s.index == at.index
        })
    }

    /// Whether every registration at elements that a registration may meet is followed at once by
    /// a wait for it: of the same statement, or (split-phase) the next operation on that object,
    /// in the same place and on the same element.
    pub fn always_awaits(&self, site: usize) -> bool {
        let at = &self.sites[site];
        let related: Vec<&Site> = self.sites.iter().filter(|s| s.may_meet(at)).collect();
        related.iter().enumerate().all(|(nth, this)| {
            let wait = |other: &Site| {
                matches!(other.kind, Kind::Await)
                    && other.path == this.path
                    && other.index == this.index
            };
            !matches!(this.kind, Kind::Register { .. })
                || related.get(nth + 1).is_some_and(|next| wait(next))
        })
    }
}

/// Derives the program of a class from a role's statements. `known` are the values of indices, and which
/// of them numbers copies, which stays as it is where data is named; `fixed` those of parameters, `own` the variables that stand for semaphores. `any_length`: whether
/// loops whose length depends on a loop around are as long as they may be.
pub fn flow(
    protocol: &Protocol,
    body: &[Stmt],
    (known, number): (&HashMap<VarId, Expr>, Option<VarId>),
    fixed: &[(ParamId, i64)],
    own: &Own,
    any_length: bool,
) -> Result<Flow, Unsupported> {
    let mut builder = Builder {
        any_length,
        number,
        protocol,
        fixed,
        own,
        next: own.next(protocol),
        flow: Flow {
            nodes: Vec::new(),
            sites: Vec::new(),
            points: Vec::new(),
            loops: Vec::new(),
            claims: Vec::new(),
            evaluations: Vec::new(),
        },
    };
    let mut values = known.clone();
    for (var, start) in own.starts(protocol) {
        values.insert(var, at_fixed(&start, fixed));
    }
    let nodes = builder.block(body, &mut values, &Path::default())?;
    builder.flow.nodes = nodes;
    Ok(builder.flow)
}

/// An expression with parameters replaced by the values they are fixed at.
pub fn at_fixed(expr: &Expr, fixed: &[(ParamId, i64)]) -> Expr {
    algebra::rewrite(expr, &|_| None, &|id| {
        let value = fixed.iter().find(|(known, _)| *known == id)?;
        Some(Expr::Int(value.1))
    })
}

/// Whether an expression over parameters cannot be negative, by its shape and the domain.
pub fn never_negative(protocol: &Protocol, expr: &Expr) -> bool {
    least(protocol, expr).is_some_and(|least| least >= 0)
}

/// A number that an expression over parameters never falls below, by its shape and the domain.
fn least(protocol: &Protocol, expr: &Expr) -> Option<i64> {
    let go = |e: &Expr| least(protocol, e);
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Param(id) => {
            let declared = match &protocol.params[id.0].domain {
                Domain::AtLeast(lo) | Domain::Range(lo, _) => Some(*lo),
                Domain::Set(values) => values.first().copied(),
            };
            let assumed = protocol.assumptions.iter();
            let assumed = assumed.filter_map(|a| assumed_least(&a.condition, *id));
            declared.into_iter().chain(assumed).max()
        }
        Expr::Binary(BinaryOp::Sub, a, b) => match **b {
            Expr::Int(k) => go(a)?.checked_sub(k),
            _ => None,
        },
        Expr::Binary(BinaryOp::Add, a, b) => go(a)?.checked_add(go(b)?),
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let (a, b) = (go(a)?, go(b)?);
            if a >= 0 && b >= 0 {
                a.checked_mul(b)
            } else {
                None
            }
        }
        Expr::Count { .. } => Some(0),
        Expr::Binary(BinaryOp::Min, a, b) => Some(go(a)?.min(go(b)?)),
        Expr::Binary(BinaryOp::Max, a, b) => match (go(a), go(b)) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        },
        _ => None,
    }
}

/// A lower bound that an assumption states of a parameter.
fn assumed_least(condition: &Expr, id: ParamId) -> Option<i64> {
    match condition {
        Expr::Binary(BinaryOp::And, a, b) => {
            let both = [assumed_least(a, id), assumed_least(b, id)];
            both.into_iter().flatten().max()
        }
        Expr::Binary(op, a, b) => match (op, &**a, &**b) {
            (BinaryOp::Ge | BinaryOp::Eq, Expr::Param(p), Expr::Int(k)) if *p == id => Some(*k),
            (BinaryOp::Gt, Expr::Param(p), Expr::Int(k)) if *p == id => k.checked_add(1),
            _ => None,
        },
        _ => None,
    }
}

/// Whether one expression over parameters is never less than another.
fn never_less(protocol: &Protocol, a: &Expr, b: &Expr) -> bool {
    let difference = Polynomial::of(a).minus(&Polynomial::of(b)).to_expr();
    difference.is_some_and(|d| never_negative(protocol, &d))
}

/// An expression over parameters with maxima and comparisons decided where the domain does.
pub fn in_domain(protocol: &Protocol, expr: &Expr) -> Expr {
    let go = |e: &Expr| in_domain(protocol, e);
    match expr {
        Expr::Binary(BinaryOp::Max, a, b) => match (go(a), go(b)) {
            (Expr::Int(k), e) | (e, Expr::Int(k))
                if least(protocol, &e).is_some_and(|lo| lo >= k) =>
            {
                e
            }
            (a, b) if never_less(protocol, &a, &b) => a,
            (a, b) if never_less(protocol, &b, &a) => b,
            (a, b) => algebra::max(a, b),
        },
        Expr::Binary(BinaryOp::Min, a, b) => match (go(a), go(b)) {
            (a, b) if never_less(protocol, &a, &b) => b,
            (a, b) if never_less(protocol, &b, &a) => a,
            (a, b) => algebra::min(a, b),
        },
        Expr::Binary(op, a, b) => {
            let (a, b) = (go(a), go(b));
            // `a < b` holds whenever the least `b - a` is above 0.
            let above = |x: &Expr, y: &Expr, gap: i64| {
                let difference = algebra::sub(y.clone(), x.clone());
                least(protocol, &difference).is_some_and(|lo| lo >= gap)
            };
            let holds = match op {
                BinaryOp::Lt => above(&a, &b, 1),
                BinaryOp::Le => above(&a, &b, 0),
                BinaryOp::Gt => above(&b, &a, 1),
                BinaryOp::Ge => above(&b, &a, 0),
                _ => false,
            };
            let apart =
                matches!(op, BinaryOp::Eq | BinaryOp::Ne) && (above(&a, &b, 1) || above(&b, &a, 1));
            if holds || apart {
                Expr::Bool(*op != BinaryOp::Eq)
            } else {
                algebra::binary(*op, a, b)
            }
        }
        Expr::Not(e) => algebra::not(go(e)),
        Expr::If(c, a, b) => algebra::choose(go(c), go(a), go(b)),
        other => other.clone(),
    }
}

type Values = HashMap<VarId, Expr>;

struct Builder<'a> {
    protocol: &'a Protocol,
    fixed: &'a [(ParamId, i64)],
    own: &'a Own,
    any_length: bool,
    /// The index that numbers copies.
    number: Option<VarId>,
    next: usize,
    flow: Flow,
}

impl Builder<'_> {
    fn fresh(&mut self) -> VarId {
        self.next += 1;
        VarId(self.next - 1)
    }

    fn expr(&self, expr: &Expr, values: &Values) -> Expr {
        let replaced = algebra::substitute(expr, values);
        at_fixed(&replaced, self.fixed)
    }

    fn evaluate(&mut self, expr: &Expr, values: &Values, path: &Path, span: Span) -> Expr {
        let value = self.expr(expr, values);
        self.flow.evaluations.push(Claim {
            path: path.clone(),
            expr: self.whole(expr, values),
            about: "an expression".to_owned(),
            span,
        });
        value
    }

    /// An expression with nothing folded: folding may drop an operand that is undefined.
    fn whole(&self, expr: &Expr, values: &Values) -> Expr {
        algebra::replace(expr, &|v| values.get(&v).cloned(), &|id| {
            let known = self.fixed.iter().find(|(known, _)| *known == id)?;
            Some(Expr::Int(known.1))
        })
    }

    fn claim(&mut self, path: &Path, expr: Expr, about: String, span: Span) {
        if expr != Expr::Bool(true) {
            self.flow.claims.push(Claim {
                path: path.clone(),
                expr,
                about,
                span,
            });
        }
    }

    fn block(
        &mut self,
        body: &[Stmt],
        values: &mut Values,
        path: &Path,
    ) -> Result<Vec<Node>, Unsupported> {
        let mut nodes = Vec::new();
        for (nth, stmt) in body.iter().enumerate() {
            if let Some(mut rest) = leave::unfolded(stmt)? {
                rest.extend_from_slice(&body[nth + 1..]);
                nodes.extend(self.block(&rest, values, path)?);
                break;
            }
            if let Some(moved) = split_phase::moved(&body[nth..]) {
                let rest = [&moved[..], &body[nth + 2..]].concat();
                nodes.extend(self.block(&rest, values, path)?);
                break;
            }
            match &stmt.kind {
                StmtKind::Return if path.loops.is_empty() => break,
                StmtKind::Return => {
                    return Err(Unsupported::at(stmt.span, "a `return` inside a loop"));
                }
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    let leaves = |block: &[Stmt]| {
                        matches!(block.last().map(|s| &s.kind), Some(StmtKind::Return))
                    };
                    let rest = &body[nth + 1..];
                    let (mut then, mut otherwise) = (then.clone(), otherwise.clone());
                    let early = leaves(&then) || leaves(&otherwise);
                    let deeper = [&then, &otherwise].into_iter().find_map(|b| returns(b));
                    if let (false, false, Some(span)) = (early, rest.is_empty(), deeper) {
                        // What follows would have to be told apart by the inner branch.
                        return Err(Unsupported::at(span, "a `return` two branches deep"));
                    }
                    if early {
                        // What follows runs only on the branch that does not leave.
                        for block in [&mut then, &mut otherwise] {
                            if !leaves(block) {
                                block.extend(rest.iter().cloned());
                            }
                        }
                    }
                    nodes.push(self.branch(stmt, condition, &then, &otherwise, values, path)?);
                    if early {
                        break;
                    }
                }
                _ => self.stmt(stmt, values, path, &mut nodes)?,
            }
        }
        Ok(nodes)
    }

    fn branch(
        &mut self,
        stmt: &Stmt,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        values: &mut Values,
        path: &Path,
    ) -> Result<Node, Unsupported> {
        let condition = self.evaluate(condition, values, path, stmt.span);
        let condition = in_domain(self.protocol, &condition);
        let side = |holds: Expr| {
            let mut inner = path.clone();
            if holds != Expr::Bool(true) {
                inner.conditions.push(holds);
            }
            inner
        };
        let mut left = values.clone();
        let mut right = values.clone();
        // A branch that is never taken may hold what does not fit, such as an index out of range.
        let then = match condition {
            Expr::Bool(false) => Vec::new(),
            _ => self.block(then, &mut left, &side(condition.clone()))?,
        };
        let otherwise = match condition {
            Expr::Bool(true) => Vec::new(),
            _ => self.block(
                otherwise,
                &mut right,
                &side(algebra::not(condition.clone())),
            )?,
        };
        for (var, value) in values.iter_mut() {
            let (a, b) = (left[var].clone(), right[var].clone());
            *value = algebra::choose(condition.clone(), a, b);
        }
        Ok(Node::If {
            condition,
            then,
            otherwise,
        })
    }

    fn stmt(
        &mut self,
        stmt: &Stmt,
        values: &mut Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Unsupported> {
        match &stmt.kind {
            StmtKind::Arrive { cell, count } => {
                let weight = self.evaluate(count, values, path, stmt.span);
                let kind = Kind::Arrive {
                    weight,
                    commit: false,
                };
                self.site(stmt, cell, kind, values, path, nodes);
            }
            StmtKind::Add { .. } | StmtKind::Set { .. } | StmtKind::Wait { .. }
                if class::cell_of(stmt).is_some_and(|c| self.own.var(c.object).is_some()) =>
            {
                self.own_semaphore(stmt, values, path, nodes);
            }
            StmtKind::Add { cell, amount } => {
                let weight = self.evaluate(amount, values, path, stmt.span);
                let kind = Kind::Arrive {
                    weight,
                    commit: false,
                };
                self.site(stmt, cell, kind, values, path, nodes);
            }
            StmtKind::WaitParity { cell, parity } => {
                let parity = self.evaluate(parity, values, path, stmt.span);
                self.site(stmt, cell, Kind::WaitParity { parity }, values, path, nodes);
            }
            StmtKind::Wait {
                cell,
                comparison,
                value,
            } => {
                let value = self.evaluate(value, values, path, stmt.span);
                let kind = Kind::WaitValue {
                    comparison: *comparison,
                    value,
                };
                self.site(stmt, cell, kind, values, path, nodes);
            }
            StmtKind::BarArrive { cell, count } => {
                let count = self.evaluate(count, values, path, stmt.span);
                self.site(stmt, cell, Kind::Register { count }, values, path, nodes);
            }
            StmtKind::Sync { cell, count } => {
                let count = self.evaluate(count, values, path, stmt.span);
                self.site(stmt, cell, Kind::Register { count }, values, path, nodes);
                self.site(stmt, cell, Kind::Await, values, path, nodes);
            }
            StmtKind::Commit { cell } => {
                // It lands by itself, so whoever waits for it may count on it from here on.
                let weight = Expr::Int(1);
                let kind = Kind::Arrive {
                    weight,
                    commit: true,
                };
                self.site(stmt, cell, kind, values, path, nodes);
            }
            StmtKind::ExpectTx { cell, bytes } => {
                let bytes = self.evaluate(bytes, values, path, stmt.span);
                self.site(stmt, cell, Kind::Expect { bytes }, values, path, nodes);
            }
            StmtKind::Copy {
                cell,
                bytes,
                touches,
                ..
            } => {
                let how = (Lasting::Copy, true);
                self.touches(stmt, touches, how, values, path, nodes);
                let bytes = self.evaluate(bytes, values, path, stmt.span);
                self.site(stmt, cell, Kind::Deliver { bytes }, values, path, nodes);
            }
            StmtKind::CompleteTx { cell, bytes } => {
                let bytes = self.evaluate(bytes, values, path, stmt.span);
                self.site(stmt, cell, Kind::Deliver { bytes }, values, path, nodes);
            }
            StmtKind::BarrierArrive { cell } => {
                let count = Expr::Int(1);
                self.site(stmt, cell, Kind::Register { count }, values, path, nodes);
            }
            StmtKind::BarrierWait { cell } => {
                self.site(stmt, cell, Kind::Await, values, path, nodes);
            }
            StmtKind::Acquire { cell, amount } => {
                let amount = self.evaluate(amount, values, path, stmt.span);
                self.site(stmt, cell, Kind::Acquire { amount }, values, path, nodes);
            }
            StmtKind::Release { cell, amount } => {
                let amount = self.evaluate(amount, values, path, stmt.span);
                self.site(stmt, cell, Kind::Release { amount }, values, path, nodes);
            }
            StmtKind::Init { cell } => self.site(stmt, cell, Kind::Init, values, path, nodes),
            StmtKind::Access { verb, work, .. } => {
                self.work(stmt, verb, work, values, path, nodes);
            }
            StmtKind::Assign { var, value } => {
                let value = self.evaluate(value, values, path, stmt.span);
                values.insert(*var, value);
            }
            StmtKind::For { var, over, body } => {
                self.repeat(stmt, *var, over, body, values, path, nodes)?;
            }
            StmtKind::Set { .. } => {
                let what = "a reset of a semaphore that does not directly follow a wait for its value, \
                            or at which several wait";
                return Err(Unsupported::at(stmt.span, what));
            }
            StmtKind::Break => return Err(Unsupported::at(stmt.span, "`break`")),
            // `block` has taken these.
            StmtKind::Return | StmtKind::If { .. } => {}
        }
        Ok(())
    }

    fn site(
        &mut self,
        stmt: &Stmt,
        cell: &Cell,
        kind: Kind,
        values: &Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) {
        let index = cell
            .index
            .iter()
            .map(|e| self.evaluate(e, values, path, stmt.span))
            .collect();
        nodes.push(Node::Site(self.flow.sites.len()));
        self.flow.sites.push(Site {
            stmt: stmt.id,
            span: stmt.span,
            path: path.clone(),
            object: cell.object,
            index,
            memory: stmt.memory,
            kind,
        });
    }

    /// What a statement does to data and nothing else.
    fn work(
        &mut self,
        stmt: &Stmt,
        verb: &str,
        work: &Work,
        values: &Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) {
        let values = &self.of_data(values);
        match work {
            Work::Now(touches) => {
                self.touches(stmt, touches, (Lasting::Now, false), values, path, nodes);
            }
            Work::Async(touches) => {
                let in_order = verb == "async mma";
                // Without an mbarrier that it completes, a copy is no bulk copy.
                let how = (Lasting::Started { in_order }, verb != "async copy");
                self.touches(stmt, touches, how, values, path, nodes);
            }
            Work::CommitGroup => {
                let first = self.flow.points.len();
                self.point(stmt, first, Step::CommitGroup, path, nodes);
            }
            Work::WaitGroup { most, reads_only } => {
                let whole = self.whole(most, values);
                let most = match self.expr(most, values) {
                    Expr::Int(most) => Some(most),
                    _ => None,
                };
                let step = Step::WaitGroup {
                    whole,
                    most,
                    reads_only: *reads_only,
                };
                self.point(stmt, self.flow.points.len(), step, path, nodes);
            }
            Work::Fence(Fence::ProxyAsync) => {
                let first = self.flow.points.len();
                self.point(stmt, first, Step::ProxyFence, path, nodes);
            }
            Work::Assert(claim) => {
                let value = |(var, cell): &(VarId, Cell)| Value {
                    var: *var,
                    object: cell.object,
                    index: cell.index.iter().map(|e| self.expr(e, values)).collect(),
                    whole: cell.index.iter().map(|e| self.whole(e, values)).collect(),
                };
                let step = Step::Assert {
                    condition: self.whole(&claim.condition, values),
                    values: claim.values.iter().map(value).collect(),
                };
                self.point(stmt, self.flow.points.len(), step, path, nodes);
            }
            Work::Lifetime { data, begins } => {
                let first = self.flow.points.len();
                for backed in data {
                    let step = Step::Lifetime {
                        buffer: backed.buffer,
                        index: backed.index.iter().map(|e| self.expr(e, values)).collect(),
                        whole: backed.index.iter().map(|e| self.whole(e, values)).collect(),
                        begins: *begins,
                    };
                    self.point(stmt, first, step, path, nodes);
                }
            }
            // No rule uses these.
            Work::Fence(Fence::Threads(..)) => {}
        }
    }

    /// The values of variables where data is named.
    fn of_data(&self, values: &Values) -> Values {
        let mut values = values.clone();
        if let Some(number) = self.number {
            values.remove(&number);
        }
        values
    }

    fn touches(
        &mut self,
        stmt: &Stmt,
        touches: &[Touch],
        (lasting, bulk): (Lasting, bool),
        values: &Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) {
        let values = &self.of_data(values);
        let first = self.flow.points.len();
        for touch in touches {
            let index = touch.index.iter().map(|e| self.expr(e, values)).collect();
            let whole = touch.index.iter().map(|e| self.whole(e, values)).collect();
            let step = Step::Touch {
                buffer: touch.buffer,
                index,
                whole,
                write: touch.write,
                lasting,
                bulk: bulk && !self.protocol.buffers[touch.buffer.0].tensor,
            };
            self.point(stmt, first, step, path, nodes);
        }
    }

    fn point(&mut self, stmt: &Stmt, first: usize, step: Step, path: &Path, nodes: &mut Vec<Node>) {
        nodes.push(Node::Point(self.flow.points.len()));
        self.flow.points.push(Point {
            first,
            span: stmt.span,
            path: path.clone(),
            after: self.flow.sites.len(),
            step,
        });
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the pieces of one loop statement"
    )]
    fn repeat(
        &mut self,
        stmt: &Stmt,
        var: VarId,
        over: &Iteration,
        body: &[Stmt],
        values: &mut Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Unsupported> {
        let entries;
        let over = match over {
            Iteration::Range { .. } => over,
            Iteration::Row { .. } => {
                entries = self.entries(stmt, var, over, body)?;
                &entries
            }
        };
        let Iteration::Range { lo, hi, descending } = over else {
            return Err(Unsupported::at(stmt.span, "a loop over a pattern's row"));
        };
        let lo = self.evaluate(lo, values, path, stmt.span);
        let hi = self.evaluate(hi, values, path, stmt.span);
        let (lo, hi) = (in_domain(self.protocol, &lo), in_domain(self.protocol, &hi));
        if let (Expr::Int(lo), Expr::Int(hi)) = (&lo, &hi)
            && hi.saturating_sub(*lo) <= MAX_WRITTEN_OUT
            && !self.assigned(body).iter().any(|v| values.contains_key(v))
        {
            let mut numbers: Vec<i64> = (*lo..*hi).collect();
            if *descending {
                numbers.reverse();
            }
            let outside = values.clone();
            for number in numbers {
                // What an iteration declares is gone after it.
                let mut inside = outside.clone();
                inside.insert(var, Expr::Int(number));
                nodes.extend(self.written_out(stmt, body, &mut inside, path)?);
            }
            return Ok(());
        }
        let length = algebra::sub(hi.clone(), lo.clone());
        let trips = if never_negative(self.protocol, &length) {
            length
        } else {
            algebra::max(Expr::Int(0), length)
        };
        let around: Vec<VarId> = path.loops.iter().map(|l| self.flow.loops[*l].var).collect();
        let trips = lengths::length(&trips, &around, self.any_length).unwrap_or(trips);
        let nth = self.fresh();
        let first = |value: Expr| {
            if *descending {
                algebra::sub(algebra::sub(hi.clone(), Expr::Int(1)), value)
            } else {
                algebra::add(lo.clone(), value)
            }
        };
        let position = self.flow.loops.len();
        self.flow.loops.push(Loop {
            var: nth,
            trips: trips.clone(),
            body: Vec::new(),
            outer: path.loops.clone(),
        });
        let mut inner = path.clone();
        inner.loops.push(position);
        let carried: Vec<VarId> = self
            .assigned(body)
            .into_iter()
            .filter(|v| values.contains_key(v))
            .collect();
        let mut head = values.clone();
        head.insert(var, first(Expr::Var(nth)));
        let forms = self.closed_forms(stmt, body, &carried, &head, nth, &inner)?;
        let mut inside = head;
        inside.extend(forms.iter().map(|(v, form)| (*v, form.clone())));
        let nodes_inside = self.block(body, &mut inside, &inner)?;
        let next = algebra::add(Expr::Var(nth), Expr::Int(1));
        for (v, form) in &forms {
            let name = self.name(*v).to_owned();
            let start = algebra::at(form, nth, &Expr::Int(0));
            let entry = algebra::binary(BinaryOp::Eq, start, values[v].clone());
            self.claim(
                path,
                entry,
                format!("`{name}` has its closed form when the loop begins"),
                stmt.span,
            );
            let after = algebra::at(form, nth, &next);
            let step = algebra::binary(BinaryOp::Eq, inside[v].clone(), after);
            self.claim(
                &inner,
                step,
                format!("an iteration takes `{name}` to its closed form for the next"),
                stmt.span,
            );
            values.insert(*v, algebra::at(form, nth, &trips));
        }
        self.flow.loops[position].body = nodes_inside;
        nodes.push(Node::Loop(position));
        Ok(())
    }

    /// A loop over a row as one that has as many iterations. Which entry an iteration is for may
    /// matter to data only.
    fn entries(
        &mut self,
        stmt: &Stmt,
        var: VarId,
        over: &Iteration,
        body: &[Stmt],
    ) -> Result<Iteration, Unsupported> {
        let Iteration::Row { pattern, row, .. } = over else {
            return Ok(over.clone());
        };
        let declared = &self.protocol.patterns[pattern.0];
        let extent = declared.extents.last();
        let (Some(extent), false) = (extent, class::used(body, var).any()) else {
            let what = "an entry of a row that synchronization depends on";
            return Err(Unsupported::at(stmt.span, what));
        };
        let counted = self.fresh();
        let at = row.iter().cloned().chain([Expr::Var(counted)]);
        Ok(Iteration::Range {
            lo: Expr::Int(0),
            hi: Expr::Count {
                var: counted,
                lo: Box::new(Expr::Int(0)),
                hi: Box::new(extent.clone()),
                body: Box::new(Expr::Visits(*pattern, at.collect())),
            },
            descending: false,
        })
    }

    /// An operation on a semaphore that nobody else uses.
    fn own_semaphore(
        &mut self,
        stmt: &Stmt,
        values: &mut Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) {
        let Some(cell) = class::cell_of(stmt) else {
            return;
        };
        let Some(var) = self.own.var(cell.object) else {
            return;
        };
        let now = values[&var].clone();
        match &stmt.kind {
            StmtKind::Add { amount, .. } => {
                let amount = self.evaluate(amount, values, path, stmt.span);
                let grows = algebra::binary(BinaryOp::Ge, amount.clone(), Expr::Int(0));
                self.claim(
                    path,
                    grows,
                    "an addition is not negative".to_owned(),
                    stmt.span,
                );
                values.insert(var, algebra::add(now, amount));
            }
            StmtKind::Set { value, .. } => {
                let value = self.evaluate(value, values, path, stmt.span);
                values.insert(var, value);
            }
            StmtKind::Wait {
                comparison, value, ..
            } => {
                let value = self.evaluate(value, values, path, stmt.span);
                let op = match comparison {
                    Comparison::Equal => BinaryOp::Eq,
                    Comparison::AtLeast => BinaryOp::Ge,
                };
                let name = &self.protocol.objects[cell.object.0].name;
                let about = format!("`{name}`, which nobody else uses, has what is waited for");
                self.claim(path, algebra::binary(op, now, value), about, stmt.span);
            }
            _ => {}
        }
        self.site(stmt, cell, Kind::Own, values, path, nodes);
    }

    /// The name of a variable of the text, or of the object that it stands for.
    fn name(&self, var: VarId) -> &str {
        match self.own.object(var) {
            Some(object) => &self.protocol.objects[object.0].name,
            None => &self.protocol.vars[var.0].name,
        }
    }

    /// The variables a block assigns to, in a fixed order.
    fn assigned(&self, body: &[Stmt]) -> BTreeSet<VarId> {
        let mut all = BTreeSet::new();
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign { var, .. } => {
                    all.insert(*var);
                }
                StmtKind::Add { cell, .. } | StmtKind::Set { cell, .. } => {
                    all.extend(self.own.var(cell.object));
                }
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    all.extend(self.assigned(then));
                    all.extend(self.assigned(otherwise));
                }
                StmtKind::For { body, .. } => all.extend(self.assigned(body)),
                _ => {}
            }
        }
        all
    }

    /// One iteration of a loop that is written out.
    fn written_out(
        &mut self,
        stmt: &Stmt,
        body: &[Stmt],
        values: &mut Values,
        path: &Path,
    ) -> Result<Vec<Node>, Unsupported> {
        if self.flow.sites.len() > MAX_SITES || self.flow.points.len() > MAX_SITES {
            return Err(Unsupported::at(stmt.span, "so many operations"));
        }
        if returns(body).is_some() {
            return Err(Unsupported::at(stmt.span, "a `return` inside a loop"));
        }
        self.block(body, values, path)
    }

    /// Guesses the closed forms of the variables a loop changes, in terms of their values at its
    /// beginning and the number of the iteration. The claims say whether the guess is right.
    fn closed_forms(
        &mut self,
        stmt: &Stmt,
        body: &[Stmt],
        carried: &[VarId],
        head: &Values,
        nth: VarId,
        path: &Path,
    ) -> Result<Vec<(VarId, Expr)>, Unsupported> {
        if carried.is_empty() {
            return Ok(Vec::new());
        }
        // One iteration from unknown values: a dry run whose sites and claims are dropped.
        let mut symbols = HashMap::new();
        let mut values = head.clone();
        for var in carried {
            let symbol = self.fresh();
            symbols.insert(*var, symbol);
            values.insert(*var, Expr::Var(symbol));
        }
        let mut dry = Builder {
            number: self.number,
            protocol: self.protocol,
            fixed: self.fixed,
            own: self.own,
            any_length: self.any_length,
            next: self.next,
            flow: self.flow.clone(),
        };
        dry.block(body, &mut values, path)?;
        self.next = dry.next;
        let mut forms: Vec<(VarId, Expr)> = Vec::new();
        // What is known of one variable may be what another one's change needs.
        while forms.len() < carried.len() {
            let changes = Changes {
                symbols: &symbols,
                values: &values,
                nth,
            };
            // A variable may go with another: a phase with the index whose wrap flips it.
            let mut wraps = HashMap::new();
            for var in symbols.keys() {
                if let Some(modulus) = changes.wrap(*var) {
                    wraps.insert(*var, modulus);
                }
            }
            let open = carried.iter().filter(|v| symbols.contains_key(v));
            let found: Vec<(VarId, Expr)> = open
                .filter_map(|var| Some((*var, changes.form(*var, head, &wraps)?)))
                .collect();
            if found.is_empty() {
                let var = carried.iter().find(|v| symbols.contains_key(v));
                let name = var.map_or("?", |v| self.name(*v));
                return Err(Unsupported::at(
                    stmt.span,
                    format!("the way this loop changes `{name}`"),
                ));
            }
            let known: HashMap<VarId, Expr> = found
                .iter()
                .filter_map(|(var, form)| Some((symbols.remove(var)?, form.clone())))
                .collect();
            for value in values.values_mut() {
                *value = algebra::substitute(value, &known);
            }
            forms.extend(found);
        }
        forms.sort_by_key(|(var, _)| *var);
        Ok(forms)
    }
}

/// What one iteration does to the carried variables.
struct Changes<'a> {
    /// What stands for a variable's value at the beginning of the iteration.
    symbols: &'a HashMap<VarId, VarId>,
    /// The values at its end.
    values: &'a Values,
    /// The number of the iteration.
    nth: VarId,
}

/// How a variable changes in one iteration.
enum Change {
    /// It grows by this.
    Plus(Expr),
    /// It grows by this modulo that.
    Modulo(Expr, Expr),
}

impl Changes<'_> {
    fn free(&self, expr: &Expr) -> bool {
        !self.symbols.values().any(|s| algebra::mentions(expr, *s))
    }

    fn form(&self, var: VarId, head: &Values, wraps: &HashMap<VarId, Expr>) -> Option<Expr> {
        let entry = head[&var].clone();
        let nth = Expr::Var(self.nth);
        if let Some(modulus) = wraps.get(&var) {
            let sum = algebra::add(entry, nth);
            return Some(algebra::binary(BinaryOp::Mod, sum, modulus.clone()));
        }
        if let Some((index, modulus)) = self.flips_with(var, wraps) {
            let sum = algebra::add(head[&index].clone(), nth);
            let rounds = algebra::binary(BinaryOp::Div, sum, modulus);
            let flips = algebra::add(entry, rounds);
            return Some(algebra::binary(BinaryOp::Mod, flips, Expr::Int(2)));
        }
        if let Some((index, by, modulus)) = self.carries_from(var) {
            let sum = algebra::add(head[&index].clone(), algebra::sum(&by, self.nth, &nth)?);
            let rounds = algebra::binary(BinaryOp::Div, sum, modulus);
            let flips = algebra::add(entry, rounds);
            return Some(algebra::binary(BinaryOp::Mod, flips, Expr::Int(2)));
        }
        let after = &self.values[&var];
        if self.free(after) {
            // It holds what the iteration before has set.
            let before = algebra::sub(nth.clone(), Expr::Int(1));
            let set = algebra::at(after, self.nth, &before);
            let first = algebra::binary(BinaryOp::Eq, nth, Expr::Int(0));
            return Some(algebra::choose(first, entry, set));
        }
        match self.change(var, after)? {
            Change::Plus(by) => Some(algebra::add(entry, algebra::sum(&by, self.nth, &nth)?)),
            Change::Modulo(by, modulus) => {
                let total = algebra::add(entry, algebra::sum(&by, self.nth, &nth)?);
                Some(algebra::binary(BinaryOp::Mod, total, modulus))
            }
        }
    }

    /// The index, its growth and its modulus, if this variable is a bit that flips whenever the
    /// index wraps: `(bit + (index + growth) / modulus) % 2`.
    fn carries_from(&self, var: VarId) -> Option<(VarId, Expr, Expr)> {
        let Expr::Binary(BinaryOp::Mod, sum, two) = &self.values[&var] else {
            return None;
        };
        let Expr::Binary(BinaryOp::Add, own, rounds) = &**sum else {
            return None;
        };
        let Expr::Binary(BinaryOp::Div, grown, modulus) = &**rounds else {
            return None;
        };
        if **two != Expr::Int(2) || **own != Expr::Var(self.symbols[&var]) {
            return None;
        }
        self.symbols.iter().find_map(|(index, symbol)| {
            let (1, by) = algebra::linear(grown, *symbol)? else {
                return None;
            };
            (self.free(&by) && self.free(modulus)).then(|| (*index, by, (**modulus).clone()))
        })
    }

    fn change(&self, var: VarId, after: &Expr) -> Option<Change> {
        let symbol = self.symbols[&var];
        let own = Expr::Var(symbol);
        match after {
            Expr::If(c, a, b) if self.free(c) => {
                let merged = |a: Expr, b: Expr| algebra::choose((**c).clone(), a, b);
                match (self.change(var, a)?, self.change(var, b)?) {
                    (Change::Plus(a), Change::Plus(b)) => Some(Change::Plus(merged(a, b))),
                    (Change::Modulo(a, m), Change::Modulo(b, n)) if m == n => {
                        Some(Change::Modulo(merged(a, b), m))
                    }
                    (Change::Modulo(a, m), Change::Plus(b)) => {
                        Some(Change::Modulo(merged(a, b), m))
                    }
                    (Change::Plus(a), Change::Modulo(b, m)) => {
                        Some(Change::Modulo(merged(a, b), m))
                    }
                    _ => None,
                }
            }
            Expr::Binary(BinaryOp::Xor, a, b) => {
                let (inner, by) = if self.free(b) { (a, b) } else { (b, a) };
                match self.change(var, inner)? {
                    Change::Plus(Expr::Int(0)) if self.free(by) => {
                        Some(Change::Modulo((**by).clone(), Expr::Int(2)))
                    }
                    Change::Modulo(first, m) if self.free(by) && m == Expr::Int(2) => {
                        Some(Change::Modulo(algebra::add(first, (**by).clone()), m))
                    }
                    _ => None,
                }
            }
            Expr::Binary(BinaryOp::Mod, a, m) if self.free(m) => match self.change(var, a)? {
                Change::Plus(by) => Some(Change::Modulo(by, (**m).clone())),
                Change::Modulo(..) => None,
            },
            _ => match algebra::linear(after, symbol)? {
                (1, by) if self.free(&by) => Some(Change::Plus(by)),
                // `1 - phase`
                (-1, Expr::Int(1)) => Some(Change::Modulo(Expr::Int(1), Expr::Int(2))),
                (0, by) if by == own => Some(Change::Plus(Expr::Int(0))),
                _ => None,
            },
        }
    }

    /// The modulus of a variable that grows by ones and is 0 again when it has grown to it.
    fn wrap(&self, var: VarId) -> Option<Expr> {
        let symbol = self.symbols[&var];
        let grown = algebra::add(Expr::Var(symbol), Expr::Int(1));
        let (c, a, b) = match &self.values[&var] {
            Expr::If(c, a, b) => (c, a, b),
            Expr::Binary(BinaryOp::Mod, sum, m) if **sum == grown && self.free(m) => {
                return Some((**m).clone());
            }
            _ => return None,
        };
        let modulus = self.at_modulus(c, symbol)?;
        (**a == Expr::Int(0) && **b == grown).then_some(modulus)
    }

    /// `m`, if the condition says that `symbol + 1` is (or is at least) `m`.
    fn at_modulus(&self, condition: &Expr, symbol: VarId) -> Option<Expr> {
        let Expr::Binary(BinaryOp::Eq | BinaryOp::Ge, a, b) = condition else {
            return None;
        };
        let (1, beta) = algebra::linear(a, symbol)? else {
            return None;
        };
        // a = symbol + beta reaches b when symbol + 1 reaches b - beta + 1.
        let modulus = algebra::add(algebra::sub((**b).clone(), beta), Expr::Int(1));
        self.free(&modulus).then_some(modulus)
    }

    /// The index whose wrap flips this variable, and its modulus.
    fn flips_with(&self, var: VarId, wraps: &HashMap<VarId, Expr>) -> Option<(VarId, Expr)> {
        let Expr::If(c, a, b) = &self.values[&var] else {
            return None;
        };
        let own = Expr::Var(self.symbols[&var]);
        let flipped = [
            Expr::binary(BinaryOp::Xor, own.clone(), Expr::Int(1)),
            Expr::binary(BinaryOp::Xor, Expr::Int(1), own.clone()),
            Expr::binary(BinaryOp::Sub, Expr::Int(1), own.clone()),
        ];
        if **b != own || !flipped.contains(a) {
            return None;
        }
        wraps.iter().find_map(|(index, modulus)| {
            let reached = self.at_modulus(c, self.symbols[index])?;
            (reached == *modulus).then(|| (*index, modulus.clone()))
        })
    }
}

/// The first `return` anywhere in a block.
fn returns(body: &[Stmt]) -> Option<Span> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Return => Some(stmt.span),
        StmtKind::If {
            then, otherwise, ..
        } => returns(then).or_else(|| returns(otherwise)),
        StmtKind::For { body, .. } => returns(body),
        _ => None,
    })
}
