//! The translator: from the resolved protocol to classes of members, rings of elements, and what members do.
//!
//! A *class* is a part of a role: the members whose indices lie in given ranges. All run one program. What they do
//! something to are *rings* of elements (`rings.rs`).
//!
//! The program is that of the text. What has no effect on synchronization is left out (work on data); a statement
//! that arrives and blocks becomes two acts.

use std::collections::BTreeSet;

use super::certificate::Certificate;
use super::certificate::Counter;
use super::rings::Builder;
pub use super::rings::Ring;
use super::unsupported::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Role;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// More classes than this are not looked at.
const MAX_CLASSES: usize = 64;

/// The classes, rings and programs of a protocol.
#[derive(Debug, Clone)]
pub struct System<'p> {
    /// The protocol.
    pub protocol: &'p Protocol,
    /// Members by what they do.
    pub classes: Vec<Class>,
    /// Elements by how they are gone through.
    pub rings: Vec<Ring>,
}

/// Members with one program.
#[derive(Debug, Clone)]
pub struct Class {
    /// For readers.
    pub name: String,
    /// The role, by position.
    pub role: usize,
    /// The values of its indices.
    pub ranges: Vec<Range>,
    /// What members do.
    pub body: Vec<Node>,
    /// How many loops there are.
    pub loops: usize,
    /// How many waits there are.
    pub waits: usize,
}

/// The values of an index: from `lo` to below the extent and, where it is there, `hi`.
#[derive(Debug, Clone)]
pub struct Range {
    /// The index.
    pub var: VarId,
    /// The first value.
    pub lo: i64,
    /// One past the last value.
    pub hi: Option<i64>,
    /// How many values the index has.
    pub extent: Expr,
}

impl Range {
    /// One past the greatest value that is known not to be exceeded.
    fn end(&self) -> Option<i64> {
        let extent = match self.extent {
            Expr::Int(extent) => Some(extent),
            _ => None,
        };
        [self.hi, extent].into_iter().flatten().min()
    }

    /// The only value.
    pub fn only(&self) -> Option<i64> {
        let end = self.end()?;
        (self.lo.checked_add(1) == Some(end)).then_some(self.lo)
    }
}

/// A part of a program.
#[derive(Debug, Clone)]
pub enum Node {
    /// A variable gets a value.
    Assign(VarId, Expr, Span),
    /// One of two blocks.
    Branch(Expr, Vec<Node>, Vec<Node>, Span),
    /// A loop.
    Loop(Loop),
    /// Something is done to an element.
    Act(Act),
}

/// A loop over integers.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Its number in the class, in text order.
    pub number: usize,
    /// The variable.
    pub var: VarId,
    /// The least value.
    pub lo: Expr,
    /// One past the greatest.
    pub hi: Expr,
    /// Whether it goes down.
    pub descending: bool,
    /// What is repeated.
    pub body: Vec<Node>,
    /// Where it stands.
    pub span: Span,
}

/// What is done to an element.
#[derive(Debug, Clone)]
pub struct Act {
    /// The ring.
    pub ring: usize,
    /// The indices.
    pub index: Vec<Expr>,
    /// What is done.
    pub doing: Doing,
    /// Where it stands.
    pub span: Span,
}

/// What is done to an element.
#[derive(Debug, Clone)]
pub enum Doing {
    /// Arrives, now or some time later.
    Arrive(Amount),
    /// Expects bytes.
    Expect(Expr),
    /// Delivers bytes, now or some time later.
    Deliver(Expr),
    /// Waits while the phase has this parity. With the number of the wait in the class.
    Parity(Expr, usize),
    /// Waits for what the last arrival was for.
    Own(usize),
    /// Waits until the value is at least this, or just this.
    Value(Expr, Comparison, usize),
    /// Takes so much of a pool, as soon as there is so much.
    Take(Expr),
    /// Gives so much back.
    Give(Expr),
}

/// How much an arrival is.
#[derive(Debug, Clone)]
pub enum Amount {
    /// One.
    One,
    /// This much, which has to be what the certificate says.
    Given(Expr),
    /// The one that initialises an mbarrier.
    Init,
    /// One of so many threads of a named barrier, 32 for each arrival.
    Threads(Expr),
}

impl<'p> System<'p> {
    /// Translates a protocol.
    ///
    /// # Errors
    ///
    /// Names the first construct that the kernel does not know.
    pub fn new(
        protocol: &'p Protocol,
        certificate: &Certificate,
    ) -> Result<System<'p>, Unsupported> {
        if let Some(pattern) = protocol.patterns.first() {
            return Err(Unsupported::at(pattern.span, "a pattern"));
        }
        let mut builder = Builder::new(protocol);
        let mut pieces = Vec::new();
        for (position, role) in protocol.roles.iter().enumerate() {
            if role
                .launch
                .as_ref()
                .is_some_and(|launch| launch.resident != Resident::All)
            {
                return Err(Unsupported::at(
                    role.span,
                    "a grid that need not be resident as a whole",
                ));
            }
            for ranges in ranges(position, role, certificate)? {
                pieces.push((position, ranges));
            }
        }
        if pieces.len() > MAX_CLASSES {
            return Err(Unsupported::whole("too many classes"));
        }
        for (position, ranges) in &pieces {
            builder.note(&protocol.roles[*position].body, ranges);
        }
        let mut classes = Vec::new();
        for (position, ranges) in pieces {
            let role = &protocol.roles[position];
            let mut walk = Walk {
                builder: &mut builder,
                ranges: &ranges,
                class: classes.len(),
                loops: 0,
                waits: 0,
            };
            let body = walk.block(&role.body)?;
            let (loops, waits) = (walk.loops, walk.waits);
            let name = name(protocol, role, &ranges);
            classes.push(Class {
                name,
                role: position,
                ranges,
                body,
                loops,
                waits,
            });
        }
        Ok(System {
            protocol,
            classes,
            rings: builder.rings(),
        })
    }

    /// Whether it matters in which order a ring is arrived at: not so for a semaphore that nobody waits for.
    pub fn in_turn(&self, ring: usize) -> bool {
        let waits = |class: &Class| counted(&class.body).contains(&Counter::Awaited(ring));
        !matches!(self.kind(ring), ObjectKind::Semaphore(_)) || self.classes.iter().any(waits)
    }

    /// The ring of the initialisations of a ring's elements, if there are any: otherwise they exist from the beginning.
    ///
    /// # Errors
    ///
    /// A ring that there is not, or elements that nobody initialises.
    pub fn inits(&self, ring: usize) -> Result<Option<usize>, Unsupported> {
        let this = self.rings.get(ring).ok_or_else(super::unsupported::unfit)?;
        let ObjectKind::Mbarrier { explicit_init, .. } = self.kind(ring) else {
            return Ok(None);
        };
        if !explicit_init || this.init {
            return Ok(None);
        }
        let of = |all: &Ring| all.init && (all.object, &all.at) == (this.object, &this.at);
        let found = self.rings.iter().position(of);
        let nobody = || Unsupported::whole("an mbarrier that nobody initialises");
        found.map(Some).ok_or_else(nobody)
    }

    /// The kind of a ring's object.
    pub fn kind(&self, ring: usize) -> &'p ObjectKind {
        &self.protocol.objects[self.rings[ring].object].kind
    }
}

fn name(protocol: &Protocol, role: &Role, ranges: &[Range]) -> String {
    let mut name = role.name.clone();
    for range in ranges
        .iter()
        .filter(|range| range.lo > 0 || range.hi.is_some())
    {
        let index = &protocol.vars[range.var.0].name;
        name.push_str(&match range.only() {
            Some(value) => format!("[{index} = {value}]"),
            None => format!("[{index} >= {}]", range.lo),
        });
    }
    name
}

/// The classes of a role: every combination of the pieces of its indices.
fn ranges(
    position: usize,
    role: &Role,
    certificate: &Certificate,
) -> Result<Vec<Vec<Range>>, Unsupported> {
    let mut all = vec![Vec::new()];
    for (at, index) in role.indices.iter().enumerate() {
        let mut splits = certificate.splits.iter();
        let split = splits.find(|split| split.role == position && split.index == at);
        let cuts = split.map_or(&[][..], |split| &split.at);
        if !cuts.windows(2).all(|pair| pair[0] < pair[1])
            || cuts.first().is_some_and(|cut| *cut <= 0)
        {
            return Err(Unsupported::whole("pieces of an index that do not ascend"));
        }
        let begins = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().map(Some).chain([None]);
        let mut more = Vec::new();
        for (lo, hi) in begins.zip(ends) {
            for ranges in &all {
                let mut ranges: Vec<Range> = Vec::clone(ranges);
                let (var, extent) = (index.var, index.extent.clone());
                ranges.push(Range {
                    var,
                    lo,
                    hi,
                    extent,
                });
                more.push(ranges);
            }
        }
        if more.len() > MAX_CLASSES {
            return Err(Unsupported::at(role.span, "too many classes"));
        }
        all = more;
    }
    Ok(all)
}

/// Whether a condition on indices holds of all members of a class, or of none. What is decided is compared with
/// numbers alone, so it is defined.
fn decided(condition: &Expr, ranges: &[Range]) -> Option<bool> {
    match condition {
        Expr::Not(e) => decided(e, ranges).map(|holds| !holds),
        Expr::Binary(BinaryOp::And, a, b) => Some(decided(a, ranges)? && decided(b, ranges)?),
        Expr::Binary(BinaryOp::Or, a, b) => Some(decided(a, ranges)? || decided(b, ranges)?),
        Expr::Binary(op, a, b) => {
            let (Expr::Var(var), Expr::Int(number)) = (&**a, &**b) else {
                return None;
            };
            let range = ranges.iter().find(|range| range.var == *var)?;
            let below = |bound: i64| match range.end() {
                _ if bound <= range.lo => Some(false),
                Some(end) if end <= bound => Some(true),
                _ => None,
            };
            let next = number.checked_add(1)?;
            match op {
                BinaryOp::Lt => below(*number),
                BinaryOp::Ge => below(*number).map(|holds| !holds),
                BinaryOp::Le => below(next),
                BinaryOp::Gt => below(next).map(|holds| !holds),
                BinaryOp::Eq | BinaryOp::Ne => {
                    let equal = match (below(*number), below(next)) {
                        (Some(false), Some(true)) => true,
                        (Some(true), _) | (_, Some(false)) => false,
                        _ => return None,
                    };
                    Some(equal == (*op == BinaryOp::Eq))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The translation of one class.
struct Walk<'b, 'p> {
    builder: &'b mut Builder<'p>,
    ranges: &'b [Range],
    class: usize,
    loops: usize,
    waits: usize,
}

impl Walk<'_, '_> {
    fn block(&mut self, body: &[Stmt]) -> Result<Vec<Node>, Unsupported> {
        let mut nodes = Vec::new();
        for stmt in body {
            self.statement(stmt, &mut nodes)?;
        }
        Ok(nodes)
    }

    fn statement(&mut self, stmt: &Stmt, nodes: &mut Vec<Node>) -> Result<(), Unsupported> {
        let span = stmt.span;
        let refuse = |what: &str| Err(Unsupported::at(span, what));
        let wait = |walk: &mut Self| {
            let number = walk.waits;
            walk.waits = super::exact::next(number);
            number
        };
        match &stmt.kind {
            StmtKind::Assign { var, value } => nodes.push(Node::Assign(*var, value.clone(), span)),
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                if let Some(holds) = decided(condition, self.ranges) {
                    let block = if holds { then } else { otherwise };
                    nodes.extend(self.block(block)?);
                    return Ok(());
                }
                let (then, otherwise) = (self.block(then)?, self.block(otherwise)?);
                nodes.push(Node::Branch(condition.clone(), then, otherwise, span));
            }
            StmtKind::For { var, over, body } => {
                let Iteration::Range { lo, hi, descending } = over else {
                    return refuse("a loop over a row");
                };
                let number = self.loops;
                self.loops = super::exact::next(number);
                let body = self.block(body)?;
                nodes.push(Node::Loop(Loop {
                    number,
                    var: *var,
                    lo: lo.clone(),
                    hi: hi.clone(),
                    descending: *descending,
                    body,
                    span,
                }));
            }
            StmtKind::Access { .. } => {}
            StmtKind::Arrive {
                cell,
                count: amount,
            }
            | StmtKind::Add { cell, amount } => {
                let amount = Amount::Given(amount.clone());
                self.act(cell, Doing::Arrive(amount), span, nodes)?;
            }
            StmtKind::Commit { cell } | StmtKind::BarrierArrive { cell } => {
                self.act(cell, Doing::Arrive(Amount::One), span, nodes)?;
            }
            StmtKind::BarArrive { cell, count } | StmtKind::Sync { cell, count } => {
                let amount = Amount::Threads(count.clone());
                self.act(cell, Doing::Arrive(amount), span, nodes)?;
                if let StmtKind::Sync { .. } = &stmt.kind {
                    let number = wait(self);
                    self.act(cell, Doing::Own(number), span, nodes)?;
                }
            }
            StmtKind::BarrierWait { cell } => {
                let number = wait(self);
                self.act(cell, Doing::Own(number), span, nodes)?;
            }
            StmtKind::WaitParity { cell, parity } => {
                let number = wait(self);
                self.act(cell, Doing::Parity(parity.clone(), number), span, nodes)?;
            }
            StmtKind::Wait {
                cell,
                comparison,
                value,
            } => {
                let doing = Doing::Value(value.clone(), *comparison, wait(self));
                self.act(cell, doing, span, nodes)?;
            }
            StmtKind::Init { cell } => {
                self.act(cell, Doing::Arrive(Amount::Init), span, nodes)?;
            }
            StmtKind::ExpectTx { cell, bytes } => {
                self.act(cell, Doing::Expect(bytes.clone()), span, nodes)?
            }
            StmtKind::CompleteTx { cell, bytes } | StmtKind::Copy { cell, bytes, .. } => {
                self.act(cell, Doing::Deliver(bytes.clone()), span, nodes)?;
            }
            StmtKind::Acquire { cell, amount } => {
                self.act(cell, Doing::Take(amount.clone()), span, nodes)?;
            }
            StmtKind::Release { cell, amount } => {
                self.act(cell, Doing::Give(amount.clone()), span, nodes)?;
            }
            StmtKind::Set { .. } => return refuse("a reset"),
            StmtKind::Atomic { .. } => return refuse("the result of an atomic operation"),
            StmtKind::WaitSwap { .. } => return refuse("a compare-and-swap"),
            StmtKind::Return => return refuse("a `return`"),
            StmtKind::Break => return refuse("a `break`"),
        }
        Ok(())
    }

    fn act(
        &mut self,
        cell: &Cell,
        doing: Doing,
        span: Span,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Unsupported> {
        let kind = &self.builder.protocol.objects[cell.object.0].kind;
        let known = match (kind, &doing) {
            (
                ObjectKind::Mbarrier {
                    explicit_init: true,
                    ..
                },
                Doing::Arrive(Amount::Init),
            )
            | (
                ObjectKind::Mbarrier { .. },
                Doing::Arrive(Amount::One | Amount::Given(_))
                | Doing::Expect(_)
                | Doing::Deliver(_)
                | Doing::Parity(..),
            )
            | (ObjectKind::Named, Doing::Arrive(Amount::Threads(_)) | Doing::Own(_))
            | (ObjectKind::Barrier { .. }, Doing::Arrive(Amount::One) | Doing::Own(_))
            | (
                ObjectKind::Semaphore(Initial::Value(_)),
                Doing::Arrive(Amount::Given(_)) | Doing::Value(..),
            )
            | (ObjectKind::Pool { .. }, Doing::Take(_) | Doing::Give(_)) => true,
            (
                ObjectKind::Mbarrier { .. }
                | ObjectKind::Named
                | ObjectKind::Barrier { .. }
                | ObjectKind::Semaphore(_)
                | ObjectKind::Pool { .. },
                _,
            ) => false,
        };
        if !known {
            return Err(Unsupported::at(span, "this operation"));
        }
        let member = (self.class, self.ranges);
        let ring = self.builder.ring(cell, member, &doing, span)?;
        let index = cell.index.clone();
        nodes.push(Node::Act(Act {
            ring,
            index,
            doing,
            span,
        }));
        Ok(())
    }
}

/// What a block assigns to.
pub fn assigned(body: &[Node], found: &mut Vec<VarId>) {
    for node in body {
        match node {
            Node::Assign(var, ..) if !found.contains(var) => found.push(*var),
            Node::Assign(..) | Node::Act(_) => {}
            Node::Branch(_, then, otherwise, _) => {
                assigned(then, found);
                assigned(otherwise, found);
            }
            Node::Loop(looped) => assigned(&looped.body, found),
        }
    }
}

/// What a block counts.
pub fn counted(body: &[Node]) -> BTreeSet<Counter> {
    let mut all = BTreeSet::new();
    for node in body {
        match node {
            Node::Assign(..) => {}
            Node::Branch(_, then, otherwise, _) => {
                all.extend(counted(then));
                all.extend(counted(otherwise));
            }
            Node::Loop(looped) => {
                all.insert(Counter::Iterations(looped.number));
                all.extend(counted(&looped.body));
            }
            Node::Act(Act { ring, doing, .. }) => match doing {
                Doing::Arrive(_) | Doing::Expect(_) | Doing::Deliver(_) => all.extend([
                    Counter::Arrived(*ring),
                    Counter::Part(*ring),
                    Counter::ArrivedTurn(*ring),
                    Counter::ArrivedAt(*ring),
                    Counter::ArrivedLast(*ring),
                    Counter::Expected(*ring),
                    Counter::Owed(*ring),
                ]),
                Doing::Parity(..) | Doing::Own(_) | Doing::Value(..) => all.extend([
                    Counter::Awaited(*ring),
                    Counter::AwaitedTurn(*ring),
                    Counter::AwaitedAt(*ring),
                    Counter::AwaitedBit(*ring),
                ]),
                Doing::Take(_) | Doing::Give(_) => all.extend([Counter::Held(*ring)]),
            },
        }
    }
    all
}
