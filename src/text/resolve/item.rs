//! Declarations: parameters, patterns, objects and expectations.

use super::Reach;
use super::Resolver;
use super::names::Binding;
use super::names::Global;
use super::names::RESIDENT;
use crate::protocol;
use crate::protocol::Assumption;
use crate::protocol::Domain;
use crate::protocol::Expectation;
use crate::protocol::Initial;
use crate::protocol::ObjectId;
use crate::protocol::Param;
use crate::protocol::ParamId;
use crate::protocol::Pattern;
use crate::protocol::PatternId;
use crate::protocol::Property;
use crate::protocol::Span;
use crate::text::ast;
use crate::text::ast::Expect;
use crate::text::ast::Expr;
use crate::text::ast::Item;
use crate::text::ast::ItemKind;
use crate::text::ast::Name;
use crate::text::ast::PatternShape;
use crate::text::ast::Resident;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::counted;
use crate::text::format::expression;
use crate::text::suggest::nearest;

/// The verdict words an expectation may name.
pub(in crate::text) const VERDICTS: [&str; 4] = ["proved", "refuted", "bounded", "unknown"];

/// How many indices a family of objects may have.
const MAX_INDICES: usize = 4;

impl<'f> Resolver<'f> {
    /// Resolves declarations in text order. If only the scope is wanted (`whole` is false), roles are skipped, and so
    /// is everything that depends on them.
    pub(super) fn items(&mut self, items: &'f [Item], whole: bool) {
        self.note_declarations();
        let open = self.open_residency(items);
        for item in items {
            match &item.kind {
                ItemKind::Param { name, domain } => self.declare_param(name, domain),
                ItemKind::Let(it) => self.define(it),
                ItemKind::Pattern { name, shape } => self.pattern(name, shape, item.span),
                ItemKind::Assume(condition) if whole => {
                    let assumption = self.assumption(condition, Some(condition.span));
                    self.protocol.assumptions.push(assumption);
                }
                ItemKind::Object(object) if whole => self.object(object, item.span),
                ItemKind::Buffer {
                    name,
                    extents,
                    tensor,
                    unordered,
                } if whole => self.buffer(name, extents, (*tensor, *unordered), item.span),
                ItemKind::Invariant { indices, condition } if whole => {
                    self.invariant(indices, condition, item.span);
                }
                ItemKind::Progress(progress) if whole => {
                    self.protocol.progress.push((*progress, item.span));
                }
                ItemKind::Role(role) if whole => self.role(role, item.span),
                ItemKind::Expect(expect) if whole => self.expectation(expect, item.span),
                _ => {}
            }
        }
        if let Some(span) = open {
            self.protocol.params.push(Param {
                name: RESIDENT.to_owned(),
                domain: Domain::AtLeast(1),
                span,
            });
        }
    }

    /// Declares the parameter of a grid whose residency is open. It is the last parameter, and it is in scope
    /// everywhere, even in assumptions before the grid.
    fn open_residency(&mut self, items: &'f [Item]) -> Option<Span> {
        let mut open: Option<Span> = None;
        for item in items {
            let ItemKind::Role(role) = &item.kind else {
                continue;
            };
            let span = match role.launch.as_ref().map(|l| &l.resident) {
                Some(None) => item.span,
                Some(Some(Resident::Open(span))) => *span,
                _ => continue,
            };
            match open {
                None => open = Some(span),
                Some(first) => self.report(
                    Diagnostic::error(span, "two grids leave their residency open")
                        .label("expected `resident` and a value")
                        .related(first, "the first one")
                        .hint("declare a parameter for each, as in `param R1 in 1..` and `resident R1`"),
                ),
            }
        }
        let span = open?;
        if let Some(first) = self.declared.insert(RESIDENT, span) {
            self.report(
                Diagnostic::error(span, "open residency declares a parameter `R` of its own")
                    .label("expected no other `R`")
                    .related(first, "`R` is declared here")
                    .hint("write `resident R`"),
            );
            return None;
        }
        let count = items
            .iter()
            .filter(|item| matches!(item.kind, ItemKind::Param { .. }))
            .count();
        self.globals
            .insert(RESIDENT, (Global::Param(ParamId(count)), span));
        self.named.residency = Some(span);
        Some(span)
    }

    fn declare_param(&mut self, name: &'f Name, domain: &ast::Domain) {
        let id = ParamId(self.protocol.params.len());
        let domain = match domain {
            ast::Domain::AtLeast(lo) => Domain::AtLeast(*lo),
            ast::Domain::Range(lo, hi) => Domain::Range(*lo, *hi),
            ast::Domain::Set(values) => {
                let mut sorted = values.clone();
                sorted.sort_by_key(|(value, span)| (*value, span.start));
                for pair in sorted.windows(2) {
                    if pair[0].0 == pair[1].0 {
                        self.report(
                            Diagnostic::error(pair[1].1, format!("{} is listed twice", pair[1].0))
                                .label("expected another value")
                                .related(pair[0].1, "first listed here"),
                        );
                    }
                }
                Domain::Set(sorted.into_iter().map(|(value, _)| value).collect())
            }
        };
        self.protocol.params.push(Param {
            name: name.text.clone(),
            domain,
            span: name.span,
        });
        self.declare(name, Global::Param(id));
    }

    /// A condition over parameters, worded as the formatter would print it.
    fn assumption(&mut self, condition: &'f Expr, span: Option<Span>) -> Assumption {
        Assumption {
            condition: self.truth(condition, Reach::Params("an assumption")),
            text: expression(condition),
            span,
        }
    }

    fn pattern(&mut self, name: &'f Name, shape: &'f PatternShape, span: Span) {
        let reach = Reach::Params("an extent");
        let (extents, definition) = match shape {
            PatternShape::Free(extents) => {
                let extents = extents.iter().map(|e| self.int(e, reach)).collect();
                (extents, None)
            }
            PatternShape::Defined(coordinates, condition) => {
                let extents = coordinates
                    .iter()
                    .map(|(_, e)| self.int(e, reach))
                    .collect();
                let vars = coordinates
                    .iter()
                    .map(|(name, _)| self.bind(name, |id| Binding::Fixed(id, "a coordinate")))
                    .collect();
                let condition = self.truth(condition, Reach::All);
                self.locals.clear();
                (extents, Some((vars, condition)))
            }
        };
        let extents: Vec<protocol::Expr> = extents;
        if !(1..=MAX_INDICES).contains(&extents.len()) {
            self.report(
                Diagnostic::error(
                    span,
                    format!(
                        "`{}` has {}",
                        name.text,
                        counted(extents.len(), "coordinate", "coordinates")
                    ),
                )
                .label(format!("expected 1 to {MAX_INDICES} coordinates")),
            );
        }
        let id = PatternId(self.protocol.patterns.len());
        self.protocol.patterns.push(Pattern {
            name: name.text.clone(),
            extents,
            definition,
            span,
        });
        self.declare(name, Global::Pattern(id));
    }

    /// The extents of a family.
    fn extents(&mut self, name: &Name, extents: &'f [Expr], span: Span) -> Vec<protocol::Expr> {
        let reach = Reach::Params("an extent");
        let extents: Vec<protocol::Expr> = extents.iter().map(|e| self.int(e, reach)).collect();
        if extents.len() > MAX_INDICES {
            self.report(
                Diagnostic::error(
                    span,
                    format!("`{}` has {} indices", name.text, extents.len()),
                )
                .label(format!("expected at most {MAX_INDICES}")),
            );
        }
        extents
    }

    fn buffer(
        &mut self,
        name: &'f Name,
        extents: &'f [Expr],
        (tensor, unordered): (bool, bool),
        span: Span,
    ) {
        let extents = self.extents(name, extents, span);
        let position = self.protocol.buffers.len();
        self.protocol.buffers.push(protocol::Buffer {
            name: name.text.clone(),
            extents,
            tensor,
            unordered,
            backed: false,
            span,
        });
        self.declare(name, Global::Buffer(position));
    }

    fn object(&mut self, object: &'f ast::Object, span: Span) {
        let extents = self.extents(&object.name, &object.extents, span);
        let kind = match &object.kind {
            ast::ObjectKind::Semaphore(None) => protocol::ObjectKind::Semaphore(Initial::Any),
            ast::ObjectKind::Semaphore(Some(value)) => {
                let value = self.int(value, Reach::Params("an initial value"));
                protocol::ObjectKind::Semaphore(Initial::Value(value))
            }
            ast::ObjectKind::Mbarrier {
                arrivals,
                explicit_init,
            } => {
                self.check_at_least_one(arrivals, "a phase");
                let arrivals = self.int(arrivals, Reach::Params("an arrival count"));
                protocol::ObjectKind::Mbarrier {
                    arrivals,
                    explicit_init: *explicit_init,
                }
            }
            ast::ObjectKind::Named => protocol::ObjectKind::Named,
            ast::ObjectKind::Barrier(arrivals) => {
                self.check_at_least_one(arrivals, "a generation");
                let arrivals = self.int(arrivals, Reach::Params("an arrival count"));
                protocol::ObjectKind::Barrier { arrivals }
            }
            ast::ObjectKind::Pool { capacity, returned } => {
                self.check_not_negative(capacity, "a pool holds");
                let capacity = self.int(capacity, Reach::Params("a capacity"));
                let returned = *returned;
                protocol::ObjectKind::Pool { capacity, returned }
            }
        };
        let home = self.home(object);
        let id = ObjectId(self.protocol.objects.len());
        self.protocol.objects.push(protocol::Object {
            name: object.name.text.clone(),
            extents,
            kind,
            home,
            span,
        });
        self.declare(&object.name, Global::Object(id));
    }

    /// The place of the elements of an object.
    fn home(&mut self, object: &'f ast::Object) -> Option<protocol::Home> {
        let named = object.indices.iter();
        let indices: Vec<_> = named
            .map(|name| self.bind(name, |id| Binding::Fixed(id, "an index of the barrier")))
            .collect();
        let place = self.place(&object.place);
        self.locals.clear();
        (!object.place.is_empty()).then_some(protocol::Home { indices, place })
    }

    fn expectation(&mut self, expect: &'f Expect, span: Span) {
        let known = Property::ALL.map(Property::name);
        self.check_word(&expect.property, "property", &known);
        self.check_word(&expect.verdict, "verdict", &VERDICTS);
        if !expect.at.is_empty() && expect.verdict.text != "refuted" {
            self.report(
                Diagnostic::error(expect.verdict.span, "only a refutation has values")
                    .label("expected `refuted` before `at`")
                    .hint("a condition under which a verdict holds is written `assuming E`"),
            );
        }
        let mut at: Vec<(ParamId, i64)> = Vec::new();
        for (name, value, place) in &expect.at {
            let Some(id) = self.param(name) else {
                continue;
            };
            if at.iter().any(|(other, _)| *other == id) {
                self.report(
                    Diagnostic::error(name.span, format!("`{}` is given twice", name.text))
                        .label("expected another parameter"),
                );
            }
            if self.outside(id, *value) {
                self.report(
                    Diagnostic::error(
                        *place,
                        format!("{value} is not in the domain of `{}`", name.text),
                    )
                    .label("expected a value of the domain"),
                );
            }
            at.push((id, *value));
        }
        let assuming = expect
            .assuming
            .iter()
            .map(|e| self.assumption(e, Some(e.span)))
            .collect();
        self.protocol.expectations.push(Expectation {
            property: expect.property.text.clone(),
            verdict: expect.verdict.text.clone(),
            at,
            assuming,
            span,
        });
    }

    /// Whether a value is outside of a declared domain. `R` is the last parameter and has no entry yet.
    fn outside(&self, id: ParamId, value: i64) -> bool {
        match self.protocol.params.get(id.0).map(|p| &p.domain) {
            Some(Domain::AtLeast(lo)) => value < *lo,
            Some(Domain::Range(lo, hi)) => !(*lo..=*hi).contains(&value),
            Some(Domain::Set(values)) => !values.contains(&value),
            None => value < 1,
        }
    }

    fn check_word(&mut self, word: &Name, what: &str, known: &[&str]) {
        if known.contains(&word.text.as_str()) {
            return;
        }
        let diagnostic = Diagnostic::error(word.span, format!("`{}` is not a {what}", word.text))
            .label(format!("expected a {what}"));
        self.report(match nearest(&word.text, known.iter().copied()) {
            Some(close) => diagnostic.did_you_mean(close),
            None => diagnostic.hint(format!("one of: {}", known.join(", "))),
        });
    }

    /// Reports a literal below 1 where a count is needed.
    pub(super) fn check_at_least_one(&mut self, e: &Expr, what: &str) {
        if super::expr::literal(e).is_some_and(|v| v < 1) {
            self.report(
                Diagnostic::error(e.span, format!("{what} needs at least one arrival"))
                    .label("expected 1 or more"),
            );
        }
    }

    /// Reports a literal below 0 where an amount is needed.
    pub(super) fn check_not_negative(&mut self, e: &Expr, what: &str) {
        if super::expr::literal(e).is_some_and(|v| v < 0) {
            self.report(
                Diagnostic::error(e.span, format!("{what} no negative amount"))
                    .label("expected 0 or more"),
            );
        }
    }
}
