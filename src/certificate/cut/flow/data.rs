//! The steps of a program on data. They never block and wake no member, but each has a place among the operations.
//!
//! In the indices of data, the number of a copy is not replaced by a value, since copies may share data.

use super::Node;
use super::Path;
use super::builder::Builder;
use super::builder::Values;
use crate::protocol::BufferId;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Fence;
use crate::protocol::ObjectId;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::Touch;
use crate::protocol::VarId;
use crate::protocol::Work;

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
    /// The work under way becomes a group.
    CommitGroup,
    /// Waits for groups.
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

impl Builder<'_> {
    /// What a statement does to data and nothing else.
    pub(super) fn work(
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

    pub(super) fn touches(
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
}
