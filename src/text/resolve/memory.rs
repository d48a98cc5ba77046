//! Orders and scopes of statements, and fences.

use super::Resolver;
use crate::protocol::Fence;
use crate::protocol::MemoryOrder;
use crate::protocol::Qualifiers;
use crate::protocol::Scope;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Work;
use crate::text::ast::Name;
use crate::text::diagnostic::Diagnostic;

/// The qualifiers that a kind of statement may have.
struct Allowed {
    orders: &'static [MemoryOrder],
    /// Whether a scope may follow.
    scope: bool,
}

const ACQUIRING: &[MemoryOrder] = &[MemoryOrder::Relaxed, MemoryOrder::Acquire];
const RELEASING: &[MemoryOrder] = &[MemoryOrder::Relaxed, MemoryOrder::Release];
const UPDATING: &[MemoryOrder] = &[
    MemoryOrder::Relaxed,
    MemoryOrder::Release,
    MemoryOrder::AcquireRelease,
];
const FETCHING: &[MemoryOrder] = &MemoryOrder::ALL;
const SWAPPING: &[MemoryOrder] = &[
    MemoryOrder::Relaxed,
    MemoryOrder::Acquire,
    MemoryOrder::AcquireRelease,
];
const FENCING: &[MemoryOrder] = &[
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcquireRelease,
];

fn allowed(kind: &StmtKind) -> Allowed {
    let (orders, scope): (&[MemoryOrder], bool) = match kind {
        StmtKind::Wait { .. } | StmtKind::WaitParity { .. } => (ACQUIRING, true),
        StmtKind::Arrive { .. } | StmtKind::Set { .. } => (RELEASING, true),
        StmtKind::Add { .. } => (UPDATING, true),
        StmtKind::Atomic { .. } => (FETCHING, true),
        StmtKind::WaitSwap { .. } => (SWAPPING, true),
        StmtKind::BarrierArrive { .. } => (RELEASING, false),
        _ => (&[], false),
    };
    Allowed { orders, scope }
}

impl Resolver<'_> {
    /// Gives a statement the order and scope that follow its first word. `arrive_expect_tx` becomes two statements;
    /// its arrival gets them.
    pub(super) fn qualify(&mut self, words: &[Name], all: &mut [Stmt]) {
        let (Some(first), Some(stmt)) = (words.first(), all.last_mut()) else {
            return;
        };
        let allowed = allowed(&stmt.kind);
        if allowed.orders.is_empty() {
            self.report(
                Diagnostic::error(first.span, "this statement takes no order and no scope")
                    .label("expected no `.` before it")
                    .hint("`wait`, `arrive`, `red`, `st` and what returns the old value do, on semaphores and mbarriers"),
            );
            return;
        }
        stmt.memory = self.qualifiers(words, &allowed);
    }

    /// `fence.proxy.async`, or `fence.ORDER.SCOPE`.
    pub(super) fn fence(&mut self, words: &[Name], span: Span) -> StmtKind {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let target = texts.join(".");
        let fence = if texts == ["proxy", "async"] {
            Fence::ProxyAsync
        } else {
            let findings = self.diagnostics.len();
            let found = self.qualifiers(
                words,
                &Allowed {
                    orders: FENCING,
                    scope: true,
                },
            );
            let (Some(order), Some(scope)) = (found.order, found.scope) else {
                // The errors of its words have been reported already.
                if self.diagnostics.len() > findings {
                    return StmtKind::Return;
                }
                self.report(
                    Diagnostic::error(span, "a fence says what it orders and for whom")
                        .label("expected an order and a scope")
                        .hint("write `fence.acq_rel.gpu`, or `fence.proxy.async`"),
                );
                return StmtKind::Return;
            };
            Fence::Threads(order, scope)
        };
        StmtKind::Access {
            verb: format!("fence.{target}"),
            target: String::new(),
            work: Work::Fence(fence),
        }
    }

    /// An order, a scope, or both.
    fn qualifiers(&mut self, words: &[Name], allowed: &Allowed) -> Qualifiers {
        let mut found = Qualifiers::default();
        for word in words {
            let text = word.text.as_str();
            let order = allowed.orders.iter().find(|order| order.name() == text);
            let scope = Scope::ALL.into_iter().find(|scope| scope.name() == text);
            match (order, scope) {
                (Some(order), _) if found == Qualifiers::default() => found.order = Some(*order),
                (_, Some(scope)) if allowed.scope && found.scope.is_none() => {
                    found.scope = Some(scope);
                }
                _ => {
                    let orders = allowed.orders.iter().map(|order| order.name());
                    let orders: Vec<&str> = orders.collect();
                    let known = MemoryOrder::ALL.iter().any(|order| order.name() == text);
                    let what = match known || scope.is_some() {
                        true => format!("`{text}` does not belong here"),
                        false => format!("`{text}` is no order and no scope"),
                    };
                    let scopes = match allowed.scope {
                        true => ", then a scope: `cta`, `cluster`, `gpu`, `sys`",
                        false => "; a barrier has no scope of its own",
                    };
                    let orders = orders.join("`, `");
                    self.report(
                        Diagnostic::error(word.span, what)
                            .label("expected an order, a scope, or an order and a scope")
                            .hint(format!("the orders are `{orders}`{scopes}")),
                    );
                }
            }
        }
        found
    }
}
