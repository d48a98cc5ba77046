//! Elements of object families: which object a statement works on, and whether it may.

use super::Reach;
use super::Resolver;
use super::Type;
use super::names::Global;
use super::names::Meaning;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::text::ast;
use crate::text::ast::Name;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::counted;

/// The kind of object that a statement needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Semaphore,
    Mbarrier,
    Named,
    Barrier,
    Pool,
}

impl Kind {
    fn of(kind: &ObjectKind) -> Kind {
        match kind {
            ObjectKind::Semaphore(_) => Kind::Semaphore,
            ObjectKind::Mbarrier { .. } => Kind::Mbarrier,
            ObjectKind::Named => Kind::Named,
            ObjectKind::Barrier { .. } => Kind::Barrier,
            ObjectKind::Pool { .. } => Kind::Pool,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Semaphore => "a semaphore",
            Kind::Mbarrier => "an mbarrier",
            Kind::Named => "a named barrier",
            Kind::Barrier => "a split-phase barrier",
            Kind::Pool => "a pool",
        }
    }

    /// The operations that are possible on this kind of object.
    fn uses(self) -> &'static str {
        match self {
            Kind::Semaphore => {
                "a semaphore takes `wait s == E`, `wait s >= E`, `s += E` and `s = E`"
            }
            Kind::Mbarrier => "an mbarrier takes `arrive b` and `wait b PARITY`",
            Kind::Named => "a named barrier takes `sync b COUNT` and `arrive b COUNT`",
            Kind::Barrier => "a split-phase barrier takes `arrive b`, `wait b` and `sync b`",
            Kind::Pool => "a pool takes `acquire p AMOUNT` and `release p AMOUNT`",
        }
    }
}

impl<'f> Resolver<'f> {
    /// Indices or coordinates: integers that may use every name in scope.
    pub(super) fn index_of(&mut self, index: &'f [ast::Expr]) -> Vec<Expr> {
        let index = index.iter();
        index
            .map(|e| self.expect_type(e, Type::Int, Reach::All).expr)
            .collect()
    }

    /// An element of a family of one of these kinds, and its kind if it has one.
    pub(super) fn cell(&mut self, cell: &'f ast::Cell, wanted: &[Kind]) -> (Cell, Option<Kind>) {
        let index = self.index_of(&cell.index);
        let Some((object, kind)) = self.object_named(&cell.name, wanted) else {
            let object = ObjectId(0);
            return (Cell { object, index }, None);
        };
        let family = &self.protocol.objects[object.0];
        let (extents, declared) = (family.extents.len(), family.span);
        if index.len() != extents {
            let found = index.len();
            let wanted = counted(extents, "index", "indices");
            self.report(
                Diagnostic::error(
                    cell.span,
                    format!("`{}` has {wanted}, not {found}", cell.name.text),
                )
                .label(format!("expected {wanted}"))
                .related(declared, "declared here"),
            );
        }
        (Cell { object, index }, Some(kind))
    }

    fn object_named(&mut self, name: &'f Name, wanted: &[Kind]) -> Option<(ObjectId, Kind)> {
        let wanted_name = match wanted {
            [] => String::new(),
            [one] => one.name().to_owned(),
            [most @ .., last] => {
                let most: Vec<&str> = most.iter().map(|k| k.name()).collect();
                format!("{} or {}", most.join(", "), last.name())
            }
        };
        let id = match self.look_up(&name.text, name.span, Reach::All)? {
            Meaning::Global(Global::Object(id)) => id,
            Meaning::Global(other) => return self.wrong_kind(name, &wanted_name, other.kind()),
            Meaning::Local(_) => return self.wrong_kind(name, &wanted_name, "a local name"),
        };
        let object = &self.protocol.objects[id.0];
        let (kind, declared) = (Kind::of(&object.kind), object.span);
        if wanted.contains(&kind) {
            return Some((id, kind));
        }
        let found = format!("`{}` is {}, not {wanted_name}", name.text, kind.name());
        self.report(
            Diagnostic::error(name.span, found)
                .label(format!("expected {wanted_name}"))
                .related(declared, "declared here")
                .hint(kind.uses()),
        );
        None
    }
}
