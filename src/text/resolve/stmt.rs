//! Statements: which object they work on, and scopes of blocks.

use super::Reach;
use super::Resolver;
use super::cell::Kind;
use super::names::Binding;
use super::pipeline::pipeline;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::PatternId;
use crate::protocol::Qualifiers;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;
use crate::text::ast;
use crate::text::ast::Block;
use crate::text::ast::Else;
use crate::text::ast::Name;
use crate::text::ast::Operation;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::counted;
use crate::text::format::cell_text;
use crate::text::format::expression;
use crate::text::format::works_on;

impl<'f> Resolver<'f> {
    /// Resolves a block. Names bound in it end with it.
    pub(super) fn block(&mut self, block: &'f Block) -> Vec<Stmt> {
        let outer = self.locals.len();
        let stmts = block.stmts.iter().flat_map(|s| self.stmt(s)).collect();
        self.locals.truncate(outer);
        stmts
    }

    /// Resolves a statement to one or more statements.
    fn stmt(&mut self, stmt: &'f ast::Stmt) -> Vec<Stmt> {
        let mut all = self.unqualified(stmt);
        if !matches!(stmt.kind, ast::StmtKind::Fence) {
            self.qualify(&stmt.qualifiers, &mut all);
        }
        all
    }

    fn unqualified(&mut self, stmt: &'f ast::Stmt) -> Vec<Stmt> {
        let span = stmt.span;
        match &stmt.kind {
            ast::StmtKind::Elect { body } => self.elect(body, span),
            ast::StmtKind::Sync { cell, count: None } => self.sync(cell, span),
            ast::StmtKind::Operation {
                operation: Operation::ArriveExpectTx,
                cell,
                amount: Some(bytes),
                ..
            } => vec![
                self.numbered(span, |r| {
                    r.operation(Operation::ExpectTx, cell, Some(bytes))
                }),
                self.numbered(span, |r| r.arrive(cell, None)),
            ],
            ast::StmtKind::Operation {
                operation,
                cell,
                amount,
                backing,
            } if !backing.is_empty() => {
                let gives = *operation == Operation::Release;
                let moves = |r: &mut Self| {
                    r.numbered(span, |r| r.operation(*operation, cell, amount.as_ref()))
                };
                let data = |r: &mut Self| r.numbered(span, |r| r.backing(backing, !gives));
                // The data has room between the two statements.
                if gives {
                    vec![data(self), moves(self)]
                } else {
                    vec![moves(self), data(self)]
                }
            }
            ast::StmtKind::Let { name, value } => self.local(name, value, span),
            _ => vec![self.numbered(span, |r| r.stmt_kind(stmt))],
        }
    }

    /// A statement with the next number.
    pub(super) fn numbered(
        &mut self,
        span: Span,
        kind: impl FnOnce(&mut Self) -> StmtKind,
    ) -> Stmt {
        let id = StmtId(self.protocol.stmt_count);
        self.protocol.stmt_count += 1;
        let kind = kind(self);
        Stmt {
            id,
            span,
            memory: Qualifiers::default(),
            kind,
        }
    }

    fn stmt_kind(&mut self, stmt: &'f ast::Stmt) -> StmtKind {
        match &stmt.kind {
            ast::StmtKind::Wait {
                cell,
                comparison,
                value,
            } => self.wait(cell, *comparison, value.as_ref()),
            ast::StmtKind::Arrive { cell, count } => self.arrive(cell, count.as_ref()),
            ast::StmtKind::Sync { cell, count } => {
                let (cell, _) = self.cell(cell, &[Kind::Named]);
                let count = match count {
                    Some(count) => self.threads(count),
                    None => Expr::Int(32),
                };
                StmtKind::Sync { cell, count }
            }
            ast::StmtKind::Operation {
                operation,
                cell,
                amount,
                ..
            } => self.operation(*operation, cell, amount.as_ref()),
            ast::StmtKind::Copy { target, completes } => self.copy_to(target, completes.as_deref()),
            ast::StmtKind::Async {
                verb,
                reads,
                writes,
            } => {
                let reads_of = reads.iter().map(|target| (target, false));
                let all = reads_of.chain(writes.iter().map(|target| (target, true)));
                let touches = all.filter_map(|(target, write)| self.target(target, write));
                let touches = touches.collect();
                StmtKind::Access {
                    verb: format!("async {}", verb.text),
                    target: works_on(reads, writes),
                    work: Work::Async(touches),
                }
            }
            ast::StmtKind::Fence => self.fence(&stmt.qualifiers, stmt.span),
            ast::StmtKind::Assert { condition } => self.assert(condition),
            ast::StmtKind::CommitGroup => StmtKind::Access {
                verb: "commit_group".to_owned(),
                target: String::new(),
                work: Work::CommitGroup,
            },
            ast::StmtKind::WaitGroup { count, read } => {
                self.check_not_negative(count, "`wait_group` takes");
                let most = self.int(count, Reach::All);
                let word = if *read { " read" } else { "" };
                StmtKind::Access {
                    verb: "wait_group".to_owned(),
                    target: format!("{}{word}", expression(count)),
                    work: Work::WaitGroup {
                        most,
                        reads_only: *read,
                    },
                }
            }
            ast::StmtKind::Advance { name } => self.advance(name),
            // These become no statement of their own.
            ast::StmtKind::Elect { .. } | ast::StmtKind::Let { .. } => StmtKind::Return,
            ast::StmtKind::Atomic {
                name,
                kept,
                operation,
                cell,
                operands,
            } => self.atomic(name, *kept, *operation, cell, operands),
            ast::StmtKind::WaitSwap {
                cell,
                expected,
                new,
            } => {
                let (cell, _) = self.cell(cell, &[Kind::Semaphore]);
                StmtKind::WaitSwap {
                    cell,
                    expected: self.int(expected, Reach::All),
                    new: self.int(new, Reach::All),
                }
            }
            ast::StmtKind::Repeat { count, body } => {
                let hi = self.int(count, Reach::All);
                let var = self.fresh("repeat", stmt.span);
                self.loops += 1;
                let body = self.block(body);
                self.loops -= 1;
                let over = Iteration::Range {
                    lo: Expr::Int(0),
                    hi,
                    descending: false,
                };
                StmtKind::For { var, over, body }
            }
            ast::StmtKind::Update { cell, add, value } => self.update(cell, *add, value),
            ast::StmtKind::Var { name, value } => {
                if let Some((producer, stages)) = pipeline(value) {
                    return self.pipeline(name, producer, stages, value.span);
                }
                let value = self.int(value, Reach::All);
                let var = self.bind(name, Binding::Variable);
                StmtKind::Assign { var, value }
            }
            ast::StmtKind::Access { verb, target } => {
                let touch = self.target(target, *verb != "read");
                StmtKind::Access {
                    verb: (*verb).to_owned(),
                    target: cell_text(target),
                    work: Work::Now(touch.into_iter().collect()),
                }
            }
            ast::StmtKind::If {
                condition,
                then,
                otherwise,
            } => StmtKind::If {
                condition: self.truth(condition, Reach::All),
                then: self.block(then),
                otherwise: match otherwise {
                    None => Vec::new(),
                    Some(Else::Block(block)) => self.block(block),
                    Some(Else::If(stmt)) => self.stmt(stmt),
                },
            },
            ast::StmtKind::For { name, over, body } => self.iteration(name, over, body),
            ast::StmtKind::Return => StmtKind::Return,
            ast::StmtKind::Break => {
                if self.loops == 0 {
                    self.report(
                        Diagnostic::error(stmt.span, "`break` stands outside every loop")
                            .label("expected a loop around it")
                            .hint("`return` leaves the role"),
                    );
                }
                StmtKind::Break
            }
        }
    }

    fn iteration(&mut self, name: &'f Name, over: &'f ast::Iteration, body: &'f Block) -> StmtKind {
        let over = match over {
            ast::Iteration::Range { lo, hi, descending } => Iteration::Range {
                lo: self.int(lo, Reach::All),
                hi: self.int(hi, Reach::All),
                descending: *descending,
            },
            ast::Iteration::Row {
                pattern,
                row,
                order,
                span,
            } => {
                let coordinates = self.index_of(row);
                Iteration::Row {
                    pattern: self.row_pattern(pattern, coordinates.len(), *span),
                    row: coordinates,
                    order: *order,
                }
            }
        };
        let var = self.bind(name, |id| Binding::Fixed(id, "a loop variable"));
        self.loops += 1;
        let body = self.block(body);
        self.loops -= 1;
        self.locals.pop();
        StmtKind::For { var, over, body }
    }

    fn row_pattern(&mut self, name: &'f Name, found: usize, span: Span) -> PatternId {
        let Some(id) = self.pattern_named(name, Reach::All) else {
            return PatternId(0);
        };
        let pattern = &self.protocol.patterns[id.0];
        let wanted = pattern.extents.len().saturating_sub(1);
        if found != wanted {
            let declared = pattern.span;
            self.report(
                Diagnostic::error(
                    span,
                    format!(
                        "a row of `{}` is named by {}, not {found}",
                        name.text,
                        counted(wanted, "coordinate", "coordinates")
                    ),
                )
                .label(format!("expected {wanted}: every coordinate but the last"))
                .related(declared, "declared here"),
            );
        }
        id
    }

    fn wait(
        &mut self,
        cell: &'f ast::Cell,
        comparison: Option<Comparison>,
        value: Option<&'f ast::Expr>,
    ) -> StmtKind {
        let Some(value) = value else {
            return self.split_wait(cell);
        };
        let wanted = match comparison {
            Some(_) => Kind::Semaphore,
            None => Kind::Mbarrier,
        };
        let (cell, _) = self.cell(cell, &[wanted]);
        let number = self.int(value, Reach::All);
        match comparison {
            Some(comparison) => StmtKind::Wait {
                cell,
                comparison,
                value: number,
            },
            None => {
                self.check_bit(value, "a parity");
                StmtKind::WaitParity {
                    cell,
                    parity: number,
                }
            }
        }
    }

    fn arrive(&mut self, cell: &'f ast::Cell, count: Option<&'f ast::Expr>) -> StmtKind {
        let span = cell.span;
        let (cell, kind) = self.cell(cell, &[Kind::Mbarrier, Kind::Named, Kind::Barrier]);
        match (kind, count) {
            (Some(Kind::Barrier), None) => StmtKind::BarrierArrive { cell },
            (Some(Kind::Barrier), Some(count)) => {
                self.report(
                    Diagnostic::error(count.span, "a member arrives once at a split-phase barrier")
                        .label("expected no count")
                        .hint("an mbarrier takes `arrive b COUNT`"),
                );
                StmtKind::BarrierArrive { cell }
            }
            (Some(Kind::Named), Some(count)) => StmtKind::BarArrive {
                cell,
                count: self.threads(count),
            },
            (Some(Kind::Named), None) => {
                self.report(
                    Diagnostic::error(span, "a named barrier needs a thread count at each use")
                        .label("expected a count after it")
                        .hint("write `arrive bar[i] COUNT`, COUNT being a multiple of 32"),
                );
                StmtKind::BarArrive {
                    cell,
                    count: Expr::Int(32),
                }
            }
            (_, None) => StmtKind::Arrive {
                cell,
                count: Expr::Int(1),
            },
            (_, Some(count)) => {
                self.check_at_least_one(count, "`arrive`");
                StmtKind::Arrive {
                    cell,
                    count: self.int(count, Reach::All),
                }
            }
        }
    }

    /// The thread count of a named barrier.
    fn threads(&mut self, count: &'f ast::Expr) -> Expr {
        if super::expr::literal(count).is_some_and(|v| v < 1 || v % 32 != 0) {
            self.report(
                Diagnostic::error(count.span, "a named barrier counts whole warps")
                    .label("expected a positive multiple of 32"),
            );
        }
        self.int(count, Reach::All)
    }

    fn update(&mut self, cell: &'f ast::Cell, add: bool, value: &'f ast::Expr) -> StmtKind {
        let number = self.int(value, Reach::All);
        let name = &cell.name;
        let local = self.locals.iter().rposition(|l| l.name == name.text);
        if let Some(at) = local {
            return self.assign(cell, at, add, number);
        }
        if !add && cell.index.is_empty() && !self.declared.contains_key(name.text.as_str()) {
            let unknown = format!("unknown name `{}`", name.text);
            self.report(
                Diagnostic::error(name.span, unknown)
                    .label("not declared")
                    .hint(format!(
                        "a variable is declared with `var {} = ...`",
                        name.text
                    )),
            );
            return StmtKind::Return;
        }
        let (target, _) = self.cell(cell, &[Kind::Semaphore]);
        if !add {
            return StmtKind::Set {
                cell: target,
                value: number,
            };
        }
        if super::expr::literal(value).is_some_and(|v| v < 0) {
            self.report(
                Diagnostic::error(value.span, "a semaphore is never decreased")
                    .label("expected 0 or more")
                    .hint("`s = E` resets it"),
            );
        }
        StmtKind::Add {
            cell: target,
            amount: number,
        }
    }

    fn assign(&mut self, cell: &'f ast::Cell, at: usize, add: bool, value: Expr) -> StmtKind {
        let name = &cell.name;
        let (binding, declared) = (self.locals[at].binding.clone(), self.locals[at].span);
        self.named.uses(name.span, declared);
        let what = binding.words();
        let (var, fixed) = match binding {
            Binding::Variable(var) => (var, false),
            Binding::Fixed(var, _) => (var, true),
            Binding::Pipeline(..) => return self.assigned_pipeline(name, declared),
            Binding::Named(..) => (VarId(0), true),
            Binding::Argument(..) => return StmtKind::Return,
        };
        if fixed {
            self.report(
                Diagnostic::error(
                    name.span,
                    format!("`{}` is {what}, not a variable", name.text),
                )
                .label("expected a variable declared with `var`")
                .related(declared, "bound here"),
            );
        } else if !cell.index.is_empty() {
            self.report(
                Diagnostic::error(
                    cell.span,
                    format!("variable `{}` has no indices", name.text),
                )
                .label("expected the name alone"),
            );
        } else if add {
            self.report(
                Diagnostic::error(cell.span, "`+=` is for semaphores")
                    .label("expected a semaphore")
                    .hint(format!("write `{0} = {0} + ...`", name.text)),
            );
        }
        StmtKind::Assign { var, value }
    }
}
