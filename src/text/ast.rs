//! The syntax tree: what the text says, before any name means anything.
//!
//! The resolver turns it into a [`crate::protocol::Protocol`], the formatter back into text.

use crate::protocol::BinaryOp;
use crate::protocol::Comparison;
use crate::protocol::Progress;
use crate::protocol::RowOrder;
use crate::protocol::Span;

/// A whole text.
#[derive(Debug)]
pub(super) struct File {
    pub(super) header: Span,
    pub(super) name: Name,
    pub(super) items: Vec<Item>,
}

/// A name where it stands.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A declaration.
#[derive(Debug)]
pub(super) struct Item {
    /// The whole of it; for a role, the header without the brace.
    pub(super) span: Span,
    pub(super) kind: ItemKind,
}

#[derive(Debug)]
pub(super) enum ItemKind {
    Param {
        name: Name,
        domain: Domain,
    },
    Assume(Expr),
    Let(Let),
    Pattern {
        name: Name,
        shape: PatternShape,
    },
    Object(Object),
    Buffer {
        name: Name,
        extents: Vec<Expr>,
        /// Whether it says `memory: tensor`.
        tensor: bool,
    },
    Invariant {
        indices: Vec<(Name, Expr)>,
        condition: Expr,
    },
    Progress(Progress),
    Role(Role),
    Expect(Expect),
}

#[derive(Debug)]
pub(super) enum Domain {
    AtLeast(i64),
    Range(i64, i64),
    /// As written: in any order.
    Set(Vec<(i64, Span)>),
}

#[derive(Debug)]
pub(super) struct Let {
    pub(super) name: Name,
    /// Empty for a constant.
    pub(super) params: Vec<Name>,
    pub(super) body: Expr,
}

#[derive(Debug)]
pub(super) enum PatternShape {
    Free(Vec<Expr>),
    Defined(Vec<(Name, Expr)>, Expr),
}

#[derive(Debug)]
pub(super) struct Object {
    pub(super) name: Name,
    pub(super) extents: Vec<Expr>,
    /// Names for the indices, if it has any.
    pub(super) indices: Vec<Name>,
    pub(super) kind: ObjectKind,
    /// Where its elements are, as for a role.
    pub(super) place: Vec<(Name, Expr)>,
}

#[derive(Debug)]
pub(super) enum ObjectKind {
    /// `None`: `any`.
    Semaphore(Option<Expr>),
    Mbarrier {
        arrivals: Expr,
        /// Whether it says `init: explicit`.
        explicit_init: bool,
    },
    Named,
    /// Its arrivals.
    Barrier(Expr),
    Pool {
        capacity: Expr,
        /// Whether it says `release: mandatory`.
        returned: bool,
    },
}

#[derive(Debug)]
pub(super) struct Role {
    pub(super) name: Name,
    pub(super) indices: Vec<(Name, Expr)>,
    /// `Some` for a grid.
    pub(super) launch: Option<Launch>,
    /// Whether the members are marked as warps.
    pub(super) warp: bool,
    /// `cta E`, `cluster E`, `gpu E`, in this order, with what is left out missing.
    pub(super) place: Vec<(Name, Expr)>,
    pub(super) body: Block,
}

#[derive(Debug)]
pub(super) struct Launch {
    pub(super) order: Option<LaunchOrder>,
    pub(super) resident: Option<Resident>,
}

#[derive(Debug)]
pub(super) enum LaunchOrder {
    Ascending,
    Descending,
    Any,
    /// The keys, and whether each is descending.
    Keys(Vec<(Name, bool)>),
}

#[derive(Debug)]
pub(super) enum Resident {
    /// `1..`
    Open(Span),
    AtMost(Expr),
    All,
}

#[derive(Debug)]
pub(super) struct Expect {
    pub(super) property: Name,
    pub(super) verdict: Name,
    pub(super) at: Vec<(Name, i64, Span)>,
    pub(super) assuming: Vec<Expr>,
}

/// Statements between braces.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) open: Span,
    pub(super) stmts: Vec<Stmt>,
    pub(super) close: Span,
}

#[derive(Debug)]
pub(super) struct Stmt {
    /// The whole of it; for a compound statement, the header without the brace.
    pub(super) span: Span,
    /// The words behind dots after the first one.
    pub(super) qualifiers: Vec<Name>,
    pub(super) kind: StmtKind,
}

#[derive(Debug)]
pub(super) enum StmtKind {
    /// Without a comparison: a parity wait; without a value: one at a split-phase barrier.
    Wait {
        cell: Cell,
        comparison: Option<Comparison>,
        value: Option<Expr>,
    },
    Arrive {
        cell: Cell,
        count: Option<Expr>,
    },
    /// Without a count: at a split-phase barrier.
    Sync {
        cell: Cell,
        count: Option<Expr>,
    },
    /// A reserved word, an object and perhaps an amount.
    Operation {
        operation: Operation,
        cell: Cell,
        amount: Option<Expr>,
        /// What data an `acquire` makes room for, or a `release` gives up.
        backing: Vec<Cell>,
    },
    /// `async copy target [completes cell bytes]`.
    Copy {
        target: Cell,
        completes: Option<Box<(Cell, Expr)>>,
    },
    /// `async verb reads ... writes ...`, the verb being another than `copy`.
    Async {
        verb: Name,
        reads: Vec<Cell>,
        writes: Vec<Cell>,
    },
    /// What it is about stands in the qualifiers.
    Fence,
    Assert {
        condition: Expr,
    },
    CommitGroup,
    WaitGroup {
        count: Expr,
        /// Whether it waits for the reads only.
        read: bool,
    },
    Advance {
        name: Name,
    },
    Elect {
        body: Block,
    },
    Repeat {
        count: Expr,
        body: Block,
    },
    /// `+=` (`add`) or `=`, on a semaphore or a variable.
    Update {
        cell: Cell,
        add: bool,
        value: Expr,
    },
    Var {
        name: Name,
        value: Expr,
    },
    Access {
        verb: &'static str,
        target: Cell,
    },
    If {
        condition: Expr,
        then: Block,
        otherwise: Option<Else>,
    },
    For {
        name: Name,
        over: Iteration,
        body: Block,
    },
    Return,
    Break,
}

/// An operation that is written as a word, its object and perhaps an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    ExpectTx,
    ArriveExpectTx,
    CompleteTx,
    Commit,
    Init,
    Acquire,
    Release,
}

impl Operation {
    /// The word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Operation::ExpectTx => "expect_tx",
            Operation::ArriveExpectTx => "arrive_expect_tx",
            Operation::CompleteTx => "complete_tx",
            Operation::Commit => "commit",
            Operation::Init => "init",
            Operation::Acquire => "acquire",
            Operation::Release => "release",
        }
    }

    /// Whether an amount follows the object.
    pub(super) fn has_amount(self) -> bool {
        !matches!(self, Operation::Commit | Operation::Init)
    }
}

#[derive(Debug)]
pub(super) enum Else {
    Block(Block),
    If(Box<Stmt>),
}

#[derive(Debug)]
pub(super) enum Iteration {
    Range {
        lo: Expr,
        hi: Expr,
        descending: bool,
    },
    Row {
        pattern: Name,
        row: Vec<Expr>,
        order: RowOrder,
        /// `row(...)` without the order.
        span: Span,
    },
}

/// `name[index, ...]`, or a bare name.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) name: Name,
    pub(super) index: Vec<Expr>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) span: Span,
    /// Longest way down to a leaf, counting this node.
    pub(super) depth: usize,
    pub(super) kind: ExprKind,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Int(i64),
    Bool(bool),
    Name(String),
    Call(Name, Vec<Expr>),
    Visits(Name, Vec<Expr>),
    /// `name.field`.
    Field(Name, Name),
    Neg(Box<Expr>),
    Not(Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Count {
        var: Name,
        lo: Box<Expr>,
        hi: Box<Expr>,
        body: Box<Expr>,
    },
}

impl ExprKind {
    /// The direct parts.
    pub(super) fn children(&self) -> Vec<&Expr> {
        match self {
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Field(..) => {
                Vec::new()
            }
            ExprKind::Call(_, parts) | ExprKind::Visits(_, parts) => parts.iter().collect(),
            ExprKind::Neg(e) | ExprKind::Not(e) => vec![e],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::If(c, a, b) => vec![c, a, b],
            ExprKind::Count { lo, hi, body, .. } => vec![lo, hi, body],
        }
    }
}
