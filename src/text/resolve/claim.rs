//! Claims (`assert`, `invariant`): conditions in which the name of an object stands for its value.

use super::Reach;
use super::Resolver;
use super::Type;
use super::Typed;
use super::names::Binding;
use super::names::Global;
use crate::protocol::Cell;
use crate::protocol::Claim;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::Invariant;
use crate::protocol::Span;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;
use crate::text::ast;
use crate::text::ast::Name;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::counted;
use crate::text::format::expression;

impl<'f> Resolver<'f> {
    pub(super) fn assert(&mut self, condition: &'f ast::Expr) -> StmtKind {
        let claim = self.claim(condition);
        StmtKind::Access {
            verb: "assert".to_owned(),
            target: claim.text.clone(),
            work: Work::Assert(claim),
        }
    }

    pub(super) fn invariant(
        &mut self,
        indices: &'f [(Name, ast::Expr)],
        condition: &'f ast::Expr,
        span: Span,
    ) {
        let extents: Vec<Expr> = indices
            .iter()
            .map(|(_, extent)| self.int(extent, Reach::Params("an extent")))
            .collect();
        let mut bound = Vec::with_capacity(extents.len());
        for ((name, _), extent) in indices.iter().zip(extents) {
            let var = self.bind(name, |id| Binding::Fixed(id, "an index of the invariant"));
            bound.push(Index { var, extent });
        }
        let claim = self.claim(condition);
        self.locals.clear();
        self.protocol.invariants.push(Invariant {
            indices: bound,
            claim,
            span,
        });
    }

    fn claim(&mut self, condition: &'f ast::Expr) -> Claim {
        self.values = Some(Vec::new());
        let resolved = self.truth(condition, Reach::All);
        let values = self.values.take().unwrap_or_default();
        self.check_indices(&resolved, &values, condition.span);
        Claim {
            condition: resolved,
            values,
            text: expression(condition),
        }
    }

    /// Whether a name is that of an object whose value may be used here.
    pub(super) fn names_value(&self, name: &str) -> bool {
        let is_local = self.locals.iter().any(|local| local.name == name);
        let is_object = matches!(self.globals.get(name), Some((Global::Object(_), _)));
        self.values.is_some() && is_object && !is_local
    }

    /// The value of an element. It gets a bound name of its own.
    pub(super) fn object_value(&mut self, name: &str, at: &'f [ast::Expr], span: Span) -> Typed {
        let Some((Global::Object(object), _)) = self.globals.get(name) else {
            return Typed::unknown();
        };
        let object = *object;
        let family = &self.protocol.objects[object.0];
        let (extents, declared) = (family.extents.len(), family.span);
        let index = self.index_of(at);
        if index.len() != extents {
            let (wanted, found) = (counted(extents, "index", "indices"), index.len());
            self.report(
                Diagnostic::error(span, format!("`{name}` has {wanted}, not {found}"))
                    .label(format!("expected {wanted}"))
                    .related(declared, "declared here"),
            );
            return Typed::unknown();
        }
        let var = self.fresh(name, span);
        let cell = Cell { object, index };
        self.values.get_or_insert_default().push((var, cell));
        Typed::leaf(Expr::Var(var), Type::Int)
    }

    /// The value of an element is looked up once per state. So its index must not depend on a counting variable or on
    /// another element.
    fn check_indices(&mut self, condition: &Expr, values: &[(VarId, Cell)], span: Span) {
        let mut varies: Vec<VarId> = values.iter().map(|(var, _)| *var).collect();
        counted_names(condition, &mut varies);
        let indices = values.iter().flat_map(|(_, cell)| &cell.index);
        if indices.into_iter().any(|index| mentions(index, &varies)) {
            self.report(
                Diagnostic::error(
                    span,
                    "an index in a claim depends on a count or on an object",
                )
                .label("expected parameters and names of the role or the invariant")
                .hint("`invariant [i in 0..N] C` claims `C` for every `i`"),
            );
        }
    }
}

/// The parts of an expression.
fn parts(e: &Expr) -> Vec<&Expr> {
    match e {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => Vec::new(),
        Expr::Neg(a) | Expr::Not(a) => vec![a],
        Expr::Binary(_, a, b) => vec![a, b],
        Expr::If(a, b, c) => vec![a, b, c],
        Expr::Visits(_, at) => at.iter().collect(),
        Expr::Count { lo, hi, body, .. } => vec![lo, hi, body],
    }
}

fn counted_names(e: &Expr, into: &mut Vec<VarId>) {
    if let Expr::Count { var, .. } = e {
        into.push(*var);
    }
    for part in parts(e) {
        counted_names(part, into);
    }
}

fn mentions(e: &Expr, names: &[VarId]) -> bool {
    matches!(e, Expr::Var(var) if names.contains(var))
        || parts(e).into_iter().any(|part| mentions(part, names))
}
