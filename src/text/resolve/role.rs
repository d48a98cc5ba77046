//! Roles and grids: their indices, launch order and residency.

use super::Members;
use super::Reach;
use super::Resolver;
use super::names::Binding;
use super::names::Global;
use crate::protocol;
use crate::protocol::Expr;
use crate::protocol::Index;
use crate::protocol::Launch;
use crate::protocol::LaunchKey;
use crate::protocol::LaunchOrder;
use crate::protocol::ParamId;
use crate::protocol::Place;
use crate::protocol::Resident;
use crate::protocol::Span;
use crate::text::ast;
use crate::text::ast::Name;
use crate::text::ast::Role;
use crate::text::diagnostic::Diagnostic;

use super::names::RESIDENT;

impl<'f> Resolver<'f> {
    pub(super) fn role(&mut self, role: &'f Role, span: Span) {
        let extents: Vec<Expr> = role
            .indices
            .iter()
            .map(|(_, extent)| self.int(extent, Reach::Params("an extent")))
            .collect();
        let launch = role.launch.as_ref().map(|launch| Launch {
            order: self.launch_order(launch.order.as_ref(), &role.indices, span),
            resident: self.resident(launch.resident.as_ref()),
        });
        let mut indices = Vec::with_capacity(extents.len());
        for ((name, _), extent) in role.indices.iter().zip(extents) {
            let var = self.bind(name, |id| Binding::Fixed(id, "an index of the role"));
            indices.push(Index { var, extent });
        }
        let place = self.place(&role.place);
        self.members = match (indices.last(), &role.launch, role.warp) {
            (None, ..) => Members::One,
            (_, Some(_), _) => Members::Ctas,
            (_, None, true) => Members::Warps,
            (Some(index), None, false) => Members::Threads(index.var),
        };
        let body = self.block(&role.body);
        self.locals.clear();
        self.protocol.roles.push(protocol::Role {
            name: role.name.text.clone(),
            indices,
            launch,
            place,
            body,
            span,
        });
        self.declare(&role.name, Global::Role);
    }

    /// The CTA, cluster and GPU of a role, as far as the text states them.
    pub(super) fn place(&mut self, words: &'f [(Name, ast::Expr)]) -> Place {
        let mut place = Place::default();
        for (word, value) in words {
            let value = Some(self.int(value, Reach::All));
            match word.text.as_str() {
                "cta" => place.cta = value,
                "cluster" => place.cluster = value,
                _ => place.gpu = value,
            }
        }
        place
    }

    fn resident(&mut self, resident: Option<&'f ast::Resident>) -> Resident {
        match resident {
            Some(ast::Resident::All) => Resident::All,
            Some(ast::Resident::AtMost(bound)) => {
                if super::expr::literal(bound).is_some_and(|v| v < 1) {
                    self.report(
                        Diagnostic::error(bound.span, "nothing can run with no CTA resident")
                            .label("expected 1 or more"),
                    );
                }
                Resident::AtMost(self.int(bound, Reach::Params("residency")))
            }
            Some(ast::Resident::Open(_)) | None => {
                let id = match self.globals.get(RESIDENT) {
                    Some((Global::Param(id), _)) => *id,
                    _ => ParamId(0),
                };
                Resident::AtMost(Expr::Param(id))
            }
        }
    }

    fn launch_order(
        &mut self,
        order: Option<&'f ast::LaunchOrder>,
        indices: &'f [(Name, ast::Expr)],
        span: Span,
    ) -> LaunchOrder {
        let all = |descending| {
            let keys = (0..indices.len()).map(|index| LaunchKey { index, descending });
            LaunchOrder::Sorted(keys.collect())
        };
        match order {
            None | Some(ast::LaunchOrder::Any) => LaunchOrder::Any,
            Some(ast::LaunchOrder::Ascending) => all(false),
            Some(ast::LaunchOrder::Descending) => all(true),
            Some(ast::LaunchOrder::Keys(keys)) => self.launch_keys(keys, indices, span),
        }
    }

    fn launch_keys(
        &mut self,
        keys: &'f [(Name, bool)],
        indices: &'f [(Name, ast::Expr)],
        span: Span,
    ) -> LaunchOrder {
        let mut sorted: Vec<LaunchKey> = Vec::new();
        for (name, descending) in keys {
            let place = indices.iter().position(|(i, _)| i.text == name.text);
            let Some(index) = place else {
                self.report(
                    Diagnostic::error(
                        name.span,
                        format!("`{}` is not an index of this grid", name.text),
                    )
                    .label("expected one of the grid's indices"),
                );
                continue;
            };
            self.named.uses(name.span, indices[index].0.span);
            if sorted.iter().any(|key| key.index == index) {
                self.report(
                    Diagnostic::error(name.span, format!("`{}` is listed twice", name.text))
                        .label("expected every index once"),
                );
            }
            sorted.push(LaunchKey {
                index,
                descending: *descending,
            });
        }
        for (at, (name, _)) in indices.iter().enumerate() {
            if !sorted.iter().any(|key| key.index == at) {
                self.report(
                    Diagnostic::error(span, format!("the launch order leaves `{}` out", name.text))
                        .label("expected every index once")
                        .related(name.span, "this index")
                        .hint("the order in which CTAs start has to be total, or `launch any`"),
                );
            }
        }
        LaunchOrder::Sorted(sorted)
    }
}
