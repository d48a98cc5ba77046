//! Transactions, asynchronous work, split-phase barriers, pools and elected threads.

use super::Members;
use super::Reach;
use super::Resolver;
use super::cell::Kind;
use super::names::Global;
use crate::protocol::Backed;
use crate::protocol::BinaryOp;
use crate::protocol::BufferId;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Touch;
use crate::protocol::Work;
use crate::text::ast;
use crate::text::ast::Block;
use crate::text::ast::ItemKind;
use crate::text::ast::Operation;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::counted;
use crate::text::format::cell_text;

impl<'f> Resolver<'f> {
    /// Resolves a word with an object and perhaps an amount. Not for `arrive_expect_tx`, which becomes two
    /// statements.
    pub(super) fn operation(
        &mut self,
        operation: Operation,
        cell: &'f ast::Cell,
        amount: Option<&'f ast::Expr>,
    ) -> StmtKind {
        let wanted = match operation {
            Operation::Acquire | Operation::Release => Kind::Pool,
            _ => Kind::Mbarrier,
        };
        let name = &cell.name;
        let (cell, found) = self.cell(cell, &[wanted]);
        let amount = match amount {
            Some(amount) => {
                self.check_not_negative(amount, &format!("`{}` takes", operation.word()));
                self.int(amount, Reach::All)
            }
            None => Expr::Int(0),
        };
        match operation {
            Operation::ExpectTx | Operation::ArriveExpectTx => StmtKind::ExpectTx {
                cell,
                bytes: amount,
            },
            Operation::CompleteTx => StmtKind::CompleteTx {
                cell,
                bytes: amount,
            },
            Operation::Commit => StmtKind::Commit { cell },
            Operation::Init => {
                if found.is_some() {
                    self.check_explicit_init(name, &cell);
                }
                StmtKind::Init { cell }
            }
            Operation::Acquire => StmtKind::Acquire { cell, amount },
            Operation::Release => StmtKind::Release { cell, amount },
        }
    }

    fn check_explicit_init(&mut self, name: &ast::Name, cell: &Cell) {
        let object = &self.protocol.objects[cell.object.0];
        let declared = object.span;
        if let ObjectKind::Mbarrier {
            explicit_init: false,
            ..
        } = object.kind
        {
            self.report(
                Diagnostic::error(
                    name.span,
                    format!("`{}` is initialised from the beginning", name.text),
                )
                .label("expected an mbarrier with explicit initialisation")
                .related(declared, "declared here")
                .hint(format!(
                    "declare it with `mbarrier {} {{ arrivals: ..., init: explicit }}`",
                    name.text
                )),
            );
        }
    }

    /// `async copy target`, with or without an mbarrier that it completes.
    pub(super) fn copy_to(
        &mut self,
        target: &'f ast::Cell,
        completes: Option<&'f (ast::Cell, ast::Expr)>,
    ) -> StmtKind {
        let touches = self.target(target, true).into_iter().collect();
        let text = cell_text(target);
        let Some((cell, bytes)) = completes else {
            return StmtKind::Access {
                verb: "async copy".to_owned(),
                target: text,
                work: Work::Async(touches),
            };
        };
        let (cell, _) = self.cell(cell, &[Kind::Mbarrier]);
        self.check_not_negative(bytes, "a copy delivers");
        StmtKind::Copy {
            cell,
            bytes: self.int(bytes, Reach::All),
            target: text,
            touches,
        }
    }

    /// Resolves the data that gets room, or loses it.
    pub(super) fn backing(&mut self, backing: &'f [ast::Cell], begins: bool) -> StmtKind {
        let mut data = Vec::new();
        for target in backing {
            let name = &target.name;
            self.note_use(&name.text, name.span);
            let Some((Global::Buffer(position), _)) = self.globals.get(name.text.as_str()) else {
                self.report(
                    Diagnostic::error(name.span, format!("`{}` is not declared data", name.text))
                        .label("expected a buffer")
                        .hint(format!("declare it with `buffer {}`", name.text)),
                );
                continue;
            };
            let position = *position;
            let index = self.index_of(&target.index);
            let buffer = &mut self.protocol.buffers[position];
            buffer.backed = true;
            let (extents, declared) = (buffer.extents.len(), buffer.span);
            if index.len() > extents {
                let most = counted(extents, "index", "indices");
                self.report(
                    Diagnostic::error(
                        target.span,
                        format!("`{}` has {most}, not {}", name.text, index.len()),
                    )
                    .label(format!("expected at most {most}"))
                    .related(declared, "declared here"),
                );
            }
            data.push(Backed {
                buffer: BufferId(position),
                index,
            });
        }
        let texts: Vec<String> = backing.iter().map(cell_text).collect();
        StmtKind::Access {
            verb: "backing".to_owned(),
            target: texts.join(", "),
            work: Work::Lifetime { data, begins },
        }
    }

    /// Resolves data that a statement works on: a declared buffer, or a name that is not declared.
    pub(super) fn target(&mut self, target: &'f ast::Cell, write: bool) -> Option<Touch> {
        let index = self.index_of(&target.index);
        let found = index.len();
        let name = &target.name;
        self.note_use(&name.text, name.span);
        let buffer = match self.globals.get(name.text.as_str()) {
            Some((Global::Buffer(position), _)) => *position,
            Some(_) => return None,
            None => {
                let is_later = self.file.items.iter().any(|item| {
                    matches!(&item.kind, ItemKind::Buffer { name: later, .. } if later.text == name.text)
                });
                if is_later {
                    let diagnostic = self.unknown(&name.text, name.span, Reach::All);
                    self.report(diagnostic);
                }
                return None;
            }
        };
        let id = BufferId(buffer);
        let buffer = &self.protocol.buffers[buffer];
        let (extents, declared) = (buffer.extents.len(), buffer.span);
        if found != extents {
            let wanted = counted(extents, "index", "indices");
            self.report(
                Diagnostic::error(
                    target.span,
                    format!("`{}` has {wanted}, not {found}", name.text),
                )
                .label(format!("expected {wanted}"))
                .related(declared, "declared here"),
            );
        }
        Some(Touch {
            buffer: id,
            index,
            write,
        })
    }

    /// A wait without a value.
    pub(super) fn split_wait(&mut self, cell: &'f ast::Cell) -> StmtKind {
        let (span, name) = (cell.span, cell_text(cell));
        let all = [Kind::Semaphore, Kind::Mbarrier, Kind::Barrier];
        let (cell, found) = self.cell(cell, &all);
        let missing = match found {
            Some(Kind::Semaphore) => (
                "a wait on a semaphore needs a value",
                format!("write `wait {name} == E` or `wait {name} >= E`"),
            ),
            Some(Kind::Mbarrier) => (
                "a wait on an mbarrier needs a parity",
                format!("write `wait {name} PARITY`; it blocks while the phase bit is PARITY"),
            ),
            _ => return StmtKind::BarrierWait { cell },
        };
        self.report(
            Diagnostic::error(span, missing.0)
                .label("expected more after it")
                .hint(missing.1),
        );
        StmtKind::BarrierWait { cell }
    }

    /// A `sync` without a count: an arrival and a wait.
    pub(super) fn sync(&mut self, cell: &'f ast::Cell, span: Span) -> Vec<Stmt> {
        let arrive = self.numbered(span, |r| {
            let (resolved, found) = r.cell(cell, &[Kind::Named, Kind::Barrier]);
            if found == Some(Kind::Named) {
                r.report(
                    Diagnostic::error(
                        cell.span,
                        "a named barrier needs a thread count at each use",
                    )
                    .label("expected a count after it")
                    .hint("write `sync bar[i] COUNT`, COUNT being a multiple of 32"),
                );
            }
            StmtKind::BarrierArrive { cell: resolved }
        });
        let wait = self.numbered(span, |r| {
            let (cell, _) = r.cell(cell, &[Kind::Named, Kind::Barrier]);
            StmtKind::BarrierWait { cell }
        });
        vec![arrive, wait]
    }

    /// Resolves `elect`: if members are threads, only the first thread executes the block.
    pub(super) fn elect(&mut self, body: &'f Block, span: Span) -> Vec<Stmt> {
        let several = match self.members {
            Members::One => return self.block(body),
            Members::Threads(index) => {
                let first = Expr::binary(BinaryOp::Eq, Expr::Var(index), Expr::Int(0));
                return vec![self.numbered(span, |r| StmtKind::If {
                    condition: first,
                    then: r.block(body),
                    otherwise: Vec::new(),
                })];
            }
            Members::Warps => "warps",
            Members::Ctas => "CTAs",
        };
        self.report(
            Diagnostic::error(
                span,
                format!("`elect` picks one of several threads, and the members here are {several}"),
            )
            .label("expected threads")
            .hint(
                "for one thread of each member leave `elect` out; for one member of all write \
                 `if i == 0 { ... }`",
            ),
        );
        self.block(body)
    }
}
