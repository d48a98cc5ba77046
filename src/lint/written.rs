//! Lint rules that need only the text.

use crate::protocol::Cell;
use crate::protocol::Object;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

use super::Found;

/// Where an object is first used in each way.
#[derive(Default, Clone, Copy)]
struct Uses {
    waits: Option<Span>,
    /// A statement that advances a phase and does not wait for it.
    arrives: Option<Span>,
    initialises: bool,
}

pub(super) fn look(found: &mut Found<'_>) {
    let protocol = found.protocol;
    let mut uses = vec![Uses::default(); protocol.objects.len()];
    for role in &protocol.roles {
        visit(&role.body, &mut uses);
    }
    for (object, uses) in protocol.objects.iter().zip(&uses) {
        one(found, object, *uses, protocol);
    }
}

fn one(found: &mut Found<'_>, object: &Object, uses: Uses, protocol: &Protocol) {
    let name = object.name.as_str();
    if let (Some(at), None) = (uses.waits, uses.arrives)
        && comes_to_be_waited_for(&object.kind)
    {
        found.add(
            "nobody-arrives",
            (name, at),
            format!(
                "somebody waits at `{name}` here, but no statement of the protocol arrives there"
            ),
            "add an arrival where the data is ready, or remove the wait",
        );
    }
    if let (None, Some(at)) = (uses.waits, uses.arrives)
        && comes_to_be_waited_for(&object.kind)
        && !asserted(protocol)
    {
        found.add(
            "never-waited",
            (name, at),
            format!("`{name}` is arrived at, but no statement of the protocol waits for it"),
            "if it says that a stage is free or full, whoever uses the stage next has to wait for it",
        );
    }
    let explicit = matches!(
        object.kind,
        ObjectKind::Mbarrier {
            explicit_init: true,
            ..
        }
    );
    if let Some(at) = uses.waits.or(uses.arrives)
        && explicit
        && !uses.initialises
    {
        found.add(
            "never-initialised",
            (name, at),
            format!("`{name}` is used, but no statement of the protocol initialises it"),
            "initialise it in one thread, before a barrier of all threads",
        );
    }
}

/// Whether the text contains a claim, which may be about the state of objects. Then objects need not be waited for.
fn asserted(protocol: &Protocol) -> bool {
    !protocol.invariants.is_empty() || !protocol.progress.is_empty()
}

/// Whether a wait is expected for objects of this kind. At a named barrier, a `sync` both arrives and waits. A
/// semaphore may be a counter that is read in another way.
fn comes_to_be_waited_for(kind: &ObjectKind) -> bool {
    match kind {
        ObjectKind::Mbarrier { .. } | ObjectKind::Barrier { .. } | ObjectKind::Named => true,
        ObjectKind::Semaphore(_) | ObjectKind::Pool { .. } => false,
    }
}

fn visit(body: &[Stmt], uses: &mut [Uses]) {
    for stmt in body {
        let at = |cell: &Cell, uses: &mut [Uses], change: &dyn Fn(&mut Uses)| {
            if let Some(uses) = uses.get_mut(cell.object.0) {
                change(uses);
            }
        };
        let waits = |uses: &mut Uses| uses.waits = uses.waits.or(Some(stmt.span));
        let arrives = |uses: &mut Uses| uses.arrives = uses.arrives.or(Some(stmt.span));
        match &stmt.kind {
            StmtKind::Wait { cell, .. }
            | StmtKind::WaitParity { cell, .. }
            | StmtKind::BarrierWait { cell } => at(cell, uses, &waits),
            StmtKind::Sync { cell, .. } => at(cell, uses, &|uses| {
                waits(uses);
                arrives(uses);
            }),
            StmtKind::Arrive { cell, .. }
            | StmtKind::BarArrive { cell, .. }
            | StmtKind::BarrierArrive { cell }
            | StmtKind::Commit { cell } => at(cell, uses, &arrives),
            StmtKind::Init { cell } => at(cell, uses, &|uses| uses.initialises = true),
            StmtKind::If {
                then, otherwise, ..
            } => {
                visit(then, uses);
                visit(otherwise, uses);
            }
            StmtKind::For { body, .. } => visit(body, uses),
            _ => {}
        }
    }
}
