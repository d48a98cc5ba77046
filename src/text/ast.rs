//! The syntax tree of a text, before name resolution.
//!
//! The resolver turns it into a [`crate::protocol::Protocol`], the formatter back into text.

use crate::protocol::BinaryOp;
use crate::protocol::COMPARE_AND_SWAP;
use crate::protocol::Comparison;
use crate::protocol::EXCHANGE;
use crate::protocol::FETCH_ADD;
use crate::protocol::Progress;
use crate::protocol::RowOrder;
use crate::protocol::Span;

/// What can be read off a pipeline state.
pub const FIELDS: [&str; 3] = ["index", "phase", "count"];

/// What stands before the order of an addition to a semaphore, and of a store.
pub const RED: &str = "red";
pub const ST: &str = "st";

/// A whole text.
#[derive(Debug)]
pub struct File {
    pub header: Span,
    pub name: Name,
    pub items: Vec<Item>,
}

/// A name, and its place in the text.
#[derive(Debug, Clone)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// A declaration.
#[derive(Debug)]
pub struct Item {
    /// The place of the whole declaration. For a role, only the header without the brace.
    pub span: Span,
    pub kind: ItemKind,
}

#[derive(Debug)]
pub enum ItemKind {
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
        /// Whether it says `orders: unknown`.
        unordered: bool,
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
pub enum Domain {
    AtLeast(i64),
    Range(i64, i64),
    /// The values in the order in which they are written.
    Set(Vec<(i64, Span)>),
}

#[derive(Debug)]
pub struct Let {
    pub name: Name,
    /// Empty for a constant.
    pub params: Vec<Name>,
    pub body: Expr,
}

#[derive(Debug)]
pub enum PatternShape {
    Free(Vec<Expr>),
    Defined(Vec<(Name, Expr)>, Expr),
}

#[derive(Debug)]
pub struct Object {
    pub name: Name,
    pub extents: Vec<Expr>,
    /// Names for the indices, if it has any.
    pub indices: Vec<Name>,
    pub kind: ObjectKind,
    /// Where its elements are, as for a role.
    pub place: Vec<(Name, Expr)>,
}

#[derive(Debug)]
pub enum ObjectKind {
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
pub struct Role {
    pub name: Name,
    pub indices: Vec<(Name, Expr)>,
    /// `Some` for a grid.
    pub launch: Option<Launch>,
    /// Whether the members are marked as warps.
    pub warp: bool,
    /// `cta E`, `cluster E`, `gpu E`, in this order. Each of them may be missing.
    pub place: Vec<(Name, Expr)>,
    pub body: Block,
}

#[derive(Debug)]
pub struct Launch {
    pub order: Option<LaunchOrder>,
    pub resident: Option<Resident>,
}

#[derive(Debug)]
pub enum LaunchOrder {
    Ascending,
    Descending,
    Any,
    /// The keys, and whether each is descending.
    Keys(Vec<(Name, bool)>),
}

#[derive(Debug)]
pub enum Resident {
    /// `1..`
    Open(Span),
    AtMost(Expr),
    All,
}

#[derive(Debug)]
pub struct Expect {
    pub property: Name,
    pub verdict: Name,
    pub at: Vec<(Name, i64, Span)>,
    pub assuming: Vec<Expr>,
}

/// Statements between braces.
#[derive(Debug)]
pub struct Block {
    pub open: Span,
    pub stmts: Vec<Stmt>,
    pub close: Span,
}

#[derive(Debug)]
pub struct Stmt {
    /// The place of the whole statement. For a compound statement, only the header without the brace.
    pub span: Span,
    /// The words that follow dots after the first word.
    pub qualifiers: Vec<Name>,
    pub kind: StmtKind,
}

#[derive(Debug)]
pub enum StmtKind {
    /// A parity wait if there is no comparison; a wait at a split-phase barrier if there is no value either.
    Wait {
        cell: Cell,
        comparison: Option<Comparison>,
        value: Option<Expr>,
    },
    Arrive {
        cell: Cell,
        count: Option<Expr>,
    },
    /// A `sync` at a split-phase barrier if there is no count.
    Sync {
        cell: Cell,
        count: Option<Expr>,
    },
    /// A reserved word, an object and perhaps an amount.
    Operation {
        operation: Operation,
        cell: Cell,
        amount: Option<Expr>,
        /// The data for which an `acquire` makes room, or whose room a `release` gives up.
        backing: Vec<Cell>,
    },
    /// `async copy target [completes cell bytes]`.
    Copy {
        target: Cell,
        completes: Option<Box<(Cell, Expr)>>,
    },
    /// `async verb reads ... writes ...`, with a verb other than `copy`.
    Async {
        verb: Name,
        reads: Vec<Cell>,
        writes: Vec<Cell>,
    },
    /// The qualifiers say which fence it is.
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
    /// `let name = fetch_add(s, E)` and the like.
    Atomic {
        name: Name,
        /// Whether it is a `let`; otherwise a `var`.
        kept: bool,
        operation: Atomic,
        cell: Cell,
        operands: Vec<Expr>,
    },
    /// `wait compare_and_swap(s, expected, new)`.
    WaitSwap {
        cell: Cell,
        expected: Expr,
        new: Expr,
    },
    Let {
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
pub enum Operation {
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
    pub fn word(self) -> &'static str {
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
    pub fn has_amount(self) -> bool {
        !matches!(self, Operation::Commit | Operation::Init)
    }
}

/// An atomic operation that returns the old value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    FetchAdd,
    Exchange,
    CompareAndSwap,
}

impl Atomic {
    /// All of them.
    pub const ALL: [Atomic; 3] = [Atomic::FetchAdd, Atomic::Exchange, Atomic::CompareAndSwap];

    /// The one that is written so.
    pub fn from_word(word: &str) -> Option<Atomic> {
        Atomic::ALL.into_iter().find(|known| known.word() == word)
    }

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Atomic::FetchAdd => FETCH_ADD,
            Atomic::Exchange => EXCHANGE,
            Atomic::CompareAndSwap => COMPARE_AND_SWAP,
        }
    }

    /// How many operands follow the semaphore.
    pub fn operands(self) -> usize {
        match self {
            Atomic::FetchAdd | Atomic::Exchange => 1,
            Atomic::CompareAndSwap => 2,
        }
    }
}

#[derive(Debug)]
pub enum Else {
    Block(Block),
    If(Box<Stmt>),
}

#[derive(Debug)]
pub enum Iteration {
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
pub struct Cell {
    pub name: Name,
    pub index: Vec<Expr>,
    pub span: Span,
}

#[derive(Debug)]
pub struct Expr {
    pub span: Span,
    /// The number of nodes on the longest path to a leaf, including this node.
    pub depth: usize,
    pub kind: ExprKind,
}

#[derive(Debug)]
pub enum ExprKind {
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
    pub fn children(&self) -> Vec<&Expr> {
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
