//! Pipeline states: a counter of advances, from which stage and phase are computed.

use super::Reach;
use super::Resolver;
use super::Type;
use super::Typed;
use super::expr::literal;
use super::names::Binding;
use super::names::Meaning;
use super::names::PIPELINES;
use super::names::Pipeline;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Span;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::text::ast;
use crate::text::ast::ExprKind;
use crate::text::ast::FIELDS;
use crate::text::ast::Name;
use crate::text::diagnostic::Diagnostic;
use crate::text::suggest::nearest;

/// If an expression makes a pipeline state: whether the state is a producer's, and the arguments.
pub(super) fn pipeline(value: &ast::Expr) -> Option<(bool, &[ast::Expr])> {
    let ExprKind::Call(name, arguments) = &value.kind else {
        return None;
    };
    let which = PIPELINES.iter().position(|known| *known == name.text)?;
    Some((which == 0, arguments))
}

impl<'f> Resolver<'f> {
    /// `var p = producer(S)` or `var c = consumer(S)`.
    pub(super) fn pipeline(
        &mut self,
        name: &'f Name,
        producer: bool,
        arguments: &'f [ast::Expr],
        span: Span,
    ) -> StmtKind {
        let word = PIPELINES[usize::from(!producer)];
        let stages = match arguments {
            [stages] if self.check_arity(word, 1, 1, span) => {
                if literal(stages).is_some_and(|v| v < 1) {
                    self.report(
                        Diagnostic::error(stages.span, "a pipeline has at least one stage")
                            .label("expected 1 or more"),
                    );
                }
                // Local names are not in scope here.
                let floor = self.floor;
                self.floor = self.locals.len();
                let reach = Reach::Params("the number of stages");
                let stages = self.expect_type(stages, Type::Int, reach);
                self.floor = floor;
                stages
            }
            _ => {
                self.check_arity(word, 1, arguments.len(), span);
                Typed::unknown()
            }
        };
        let pipeline = Box::new(Pipeline { producer, stages });
        let var = self.bind(name, |id| Binding::Pipeline(id, pipeline));
        let value = Expr::Int(0);
        StmtKind::Assign { var, value }
    }

    /// `p.index`, `p.phase` or `p.count`.
    pub(super) fn field(
        &mut self,
        name: &'f Name,
        field: &'f Name,
        span: Span,
        reach: Reach,
    ) -> Typed {
        let Some((var, pipeline)) = self.pipeline_named(name, reach) else {
            return Typed::unknown();
        };
        let count = Typed::leaf(Expr::Var(var), Type::Int);
        let stages = |r: &mut Self| r.copy(&pipeline.stages, span);
        let int = |value| Typed::leaf(Expr::Int(value), Type::Int);
        match field.text.as_str() {
            "count" => count,
            "index" => {
                let stages = stages(self);
                self.apply(BinaryOp::Mod, count, stages, span)
            }
            "phase" => {
                let stages = stages(self);
                let round = self.apply(BinaryOp::Div, count, stages, span);
                let round = match pipeline.producer {
                    true => self.apply(BinaryOp::Add, round, int(1), span),
                    false => round,
                };
                self.apply(BinaryOp::Mod, round, int(2), span)
            }
            other => {
                let diagnostic =
                    Diagnostic::error(field.span, format!("a pipeline state has no `{other}`"))
                        .label("expected `index`, `phase` or `count`");
                self.report(match nearest(other, FIELDS) {
                    Some(close) => diagnostic.did_you_mean(close),
                    None => diagnostic,
                });
                Typed::unknown()
            }
        }
    }

    /// `advance p`.
    pub(super) fn advance(&mut self, name: &'f Name) -> StmtKind {
        let Some((var, _)) = self.pipeline_named(name, Reach::All) else {
            return StmtKind::Return;
        };
        let value = Expr::binary(BinaryOp::Add, Expr::Var(var), Expr::Int(1));
        StmtKind::Assign { var, value }
    }

    /// Reports a pipeline state that stands where a value should.
    pub(super) fn bare_pipeline(&mut self, name: &str, span: Span) -> Typed {
        self.report(
            Diagnostic::error(span, format!("`{name}` is a pipeline state, not a value"))
                .label("expected a value")
                .hint(format!(
                    "use `{name}.index`, `{name}.phase` or, for how often it advanced, `{name}.count`"
                )),
        );
        Typed::unknown()
    }

    /// Reports an assignment to a pipeline state.
    pub(super) fn assigned_pipeline(&mut self, name: &Name, declared: Span) -> StmtKind {
        let text = &name.text;
        self.report(
            Diagnostic::error(
                name.span,
                format!("`{text}` is a pipeline state, not a variable"),
            )
            .label("expected a variable")
            .related(declared, "declared here")
            .hint(format!("`advance {text}` moves it to the next stage")),
        );
        StmtKind::Return
    }

    fn pipeline_named(&mut self, name: &Name, reach: Reach) -> Option<(VarId, Box<Pipeline>)> {
        let found = match self.look_up(&name.text, name.span, reach)? {
            Meaning::Local(at) => match &self.locals[at].binding {
                Binding::Pipeline(var, pipeline) => return Some((*var, pipeline.clone())),
                other => other.words(),
            },
            Meaning::Global(other) => other.kind(),
        };
        self.report(
            Diagnostic::error(
                name.span,
                format!("`{}` is {found}, not a pipeline state", name.text),
            )
            .label("expected a pipeline state")
            .hint("a pipeline state is declared with `var p = producer(S)` or `consumer(S)`"),
        );
        None
    }
}
