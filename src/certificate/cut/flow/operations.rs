//! The operations of a program: their places, the elements they use, and their effects.

use super::Lasting;
use super::Node;
use super::Path;
use super::builder::Builder;
use super::builder::Values;
use crate::certificate::cut::algebra;
use crate::certificate::cut::statements;
use crate::certificate::program::Unsupported;
use crate::protocol::ATOMIC;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::Qualifiers;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

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
    /// Works on a semaphore that nobody else uses, see `owned_semaphores.rs`.
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

    /// How much it takes from a pool or gives back to it, and whether it takes.
    pub fn pooled(&self, pool: ObjectId) -> Option<(&Expr, bool)> {
        match &self.kind {
            Kind::Acquire { amount } if self.object == pool => Some((amount, true)),
            Kind::Release { amount } if self.object == pool => Some((amount, false)),
            _ => None,
        }
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

impl Builder<'_> {
    /// An operation, or the two that a `sync` is. Its operands are evaluated before its index.
    pub(super) fn operation(
        &mut self,
        stmt: &Stmt,
        values: &mut Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Unsupported> {
        let Some(cell) = statements::cell_of(stmt) else {
            return Ok(());
        };
        if let StmtKind::Add { .. } | StmtKind::Set { .. } | StmtKind::Wait { .. } = stmt.kind
            && let Some(var) = self.own.var(cell.object)
        {
            self.own_semaphore(stmt, (cell, var), values, path, nodes);
            return Ok(());
        }
        let mut of = |operand: &Expr| self.evaluate(operand, values, path, stmt.span);
        let kind = match &stmt.kind {
            StmtKind::Arrive { count: weight, .. } | StmtKind::Add { amount: weight, .. } => {
                Kind::Arrive {
                    weight: of(weight),
                    commit: false,
                }
            }
            // It lands by itself, so whoever waits for it may count on it from here on.
            StmtKind::Commit { .. } => Kind::Arrive {
                weight: Expr::Int(1),
                commit: true,
            },
            StmtKind::BarArrive { count, .. } | StmtKind::Sync { count, .. } => {
                Kind::Register { count: of(count) }
            }
            StmtKind::BarrierArrive { .. } => Kind::Register {
                count: Expr::Int(1),
            },
            StmtKind::BarrierWait { .. } => Kind::Await,
            StmtKind::WaitParity { parity, .. } => Kind::WaitParity { parity: of(parity) },
            StmtKind::Wait {
                comparison, value, ..
            } => Kind::WaitValue {
                comparison: *comparison,
                value: of(value),
            },
            StmtKind::ExpectTx { bytes, .. } => Kind::Expect { bytes: of(bytes) },
            StmtKind::Copy { bytes, .. } | StmtKind::CompleteTx { bytes, .. } => {
                Kind::Deliver { bytes: of(bytes) }
            }
            StmtKind::Acquire { amount, .. } => Kind::Acquire { amount: of(amount) },
            StmtKind::Release { amount, .. } => Kind::Release { amount: of(amount) },
            StmtKind::Init { .. } => Kind::Init,
            StmtKind::Atomic { .. } | StmtKind::WaitSwap { .. } => {
                return Err(Unsupported::at(stmt.span, ATOMIC));
            }
            StmtKind::Set { .. } => {
                let what = "a reset of a semaphore that does not directly follow a wait for its value, \
                            or at which several wait";
                return Err(Unsupported::at(stmt.span, what));
            }
            // These work on no element.
            StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Access { .. }
            | StmtKind::Return
            | StmtKind::Break => return Ok(()),
        };
        if let StmtKind::Copy { touches, .. } = &stmt.kind {
            let how = (Lasting::Copy, true);
            self.touches(stmt, touches, how, values, path, nodes);
        }
        self.site(stmt, cell, kind, values, path, nodes);
        if let StmtKind::Sync { .. } = stmt.kind {
            self.site(stmt, cell, Kind::Await, values, path, nodes);
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

    /// An operation on a semaphore that nobody else uses.
    fn own_semaphore(
        &mut self,
        stmt: &Stmt,
        (cell, var): (&Cell, VarId),
        values: &mut Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) {
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
}
