//! Expressions: names, types and the built-in functions.

use super::MAX_EXPANDED_DEPTH;
use super::Reach;
use super::Resolver;
use super::Type;
use super::Typed;
use super::names::BUILT_IN;
use super::names::Binding;
use super::names::Global;
use super::names::Meaning;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Span;
use crate::text::ast;
use crate::text::ast::ExprKind;
use crate::text::ast::Name;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::counted;
use crate::text::operators::symbol;

impl Typed {
    pub(super) fn leaf(expr: Expr, ty: Type) -> Typed {
        Typed { expr, ty, depth: 1 }
    }

    pub(super) fn unknown() -> Typed {
        Typed::leaf(Expr::Int(0), Type::Unknown)
    }
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Type::Int => "an integer",
            Type::Bool => "a truth value",
            Type::Unknown => "an expression",
        }
    }
}

impl<'f> Resolver<'f> {
    /// An expression that has to be an integer.
    pub(super) fn int(&mut self, e: &'f ast::Expr, reach: Reach) -> Expr {
        self.expect_type(e, Type::Int, reach).expr
    }

    /// An expression that has to be a truth value.
    pub(super) fn truth(&mut self, e: &'f ast::Expr, reach: Reach) -> Expr {
        self.expect_type(e, Type::Bool, reach).expr
    }

    pub(super) fn expect_type(&mut self, e: &'f ast::Expr, wanted: Type, reach: Reach) -> Typed {
        let found = self.expr(e, reach);
        if found.ty == wanted || found.ty == Type::Unknown {
            return found;
        }
        let diagnostic = Diagnostic::error(e.span, format!("this is {}", found.ty.name()))
            .label(format!("expected {}", wanted.name()));
        self.report(match wanted {
            Type::Bool => diagnostic.hint("compare it with something, as in `x != 0`"),
            _ => diagnostic.hint("`if C then 1 else 0` makes an integer of a truth value"),
        });
        Typed::unknown()
    }

    /// Any expression.
    pub(super) fn expr(&mut self, e: &'f ast::Expr, reach: Reach) -> Typed {
        if !self.spend(e.span) {
            return Typed::unknown();
        }
        if self.depth >= MAX_EXPANDED_DEPTH {
            return self.too_deep(e.span);
        }
        self.depth += 1;
        let result = self.node(e, reach);
        self.depth -= 1;
        result
    }

    fn node(&mut self, e: &'f ast::Expr, reach: Reach) -> Typed {
        match &e.kind {
            ExprKind::Int(value) => Typed::leaf(Expr::Int(*value), Type::Int),
            ExprKind::Bool(value) => Typed::leaf(Expr::Bool(*value), Type::Bool),
            ExprKind::Name(name) if self.names_value(name) => {
                self.note_use(name, e.span);
                self.object_value(name, &[], e.span)
            }
            ExprKind::Name(name) => self.name(name, e.span, reach),
            ExprKind::Call(name, arguments) => self.call(name, arguments, e.span, reach),
            ExprKind::Visits(name, at) if self.names_value(&name.text) => {
                self.note_use(&name.text, name.span);
                self.object_value(&name.text, at, e.span)
            }
            ExprKind::Visits(name, at) => self.visits(name, at, e.span, reach),
            ExprKind::Field(name, field) => self.field(name, field, e.span, reach),
            ExprKind::Neg(inner) => {
                let inner = self.expect_type(inner, Type::Int, reach);
                self.build(e.span, Type::Int, [inner], |[a]| Expr::Neg(a))
            }
            ExprKind::Not(inner) => {
                let inner = self.expect_type(inner, Type::Bool, reach);
                self.build(e.span, Type::Bool, [inner], |[a]| Expr::Not(a))
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e.span, reach),
            ExprKind::If(c, a, b) => self.choice(c, a, b, e.span, reach),
            ExprKind::Count { var, lo, hi, body } => self.count(var, [lo, hi, body], e.span, reach),
        }
    }

    /// Builds an expression from its parts. The result is unknown if a part is unknown, or if the expression gets too
    /// deep.
    pub(super) fn build<const K: usize>(
        &mut self,
        span: Span,
        ty: Type,
        parts: [Typed; K],
        make: impl FnOnce([Box<Expr>; K]) -> Expr,
    ) -> Typed {
        let depth = 1 + parts.iter().map(|p| p.depth).max().unwrap_or(0);
        if depth > MAX_EXPANDED_DEPTH {
            return self.too_deep(span);
        }
        if parts.iter().any(|p| p.ty == Type::Unknown) {
            return Typed::unknown();
        }
        let expr = make(parts.map(|p| Box::new(p.expr)));
        Typed { expr, ty, depth }
    }

    fn name(&mut self, name: &str, span: Span, reach: Reach) -> Typed {
        let global = match self.look_up(name, span, reach) {
            Some(Meaning::Global(global)) => global,
            Some(Meaning::Local(at)) => {
                return match self.locals[at].binding {
                    Binding::Fixed(id, _) | Binding::Variable(id) => {
                        Typed::leaf(Expr::Var(id), Type::Int)
                    }
                    Binding::Named(..) | Binding::Argument(..) => self.argument(at, span),
                    Binding::Pipeline(..) => self.bare_pipeline(name, span),
                };
            }
            None => return Typed::unknown(),
        };
        let hint = match global {
            Global::Param(id) => return Typed::leaf(Expr::Param(id), Type::Int),
            Global::Let(which) => return self.expand(which, span, &[], reach),
            Global::Broken => return Typed::unknown(),
            Global::Pattern(_) => format!("`{name}[n, m]` says whether a tile is visited"),
            Global::Object(_) => "its value can only be waited for".to_owned(),
            Global::Buffer(_) => "it is data, and this language has none".to_owned(),
            Global::Role => "how many members it has is the product of its extents".to_owned(),
        };
        self.report(
            Diagnostic::error(span, format!("`{name}` is {}, not a value", global.kind()))
                .label("expected a value")
                .hint(hint),
        );
        Typed::unknown()
    }

    fn call(
        &mut self,
        name: &'f Name,
        arguments: &'f [ast::Expr],
        span: Span,
        reach: Reach,
    ) -> Typed {
        if BUILT_IN.contains(&name.text.as_str()) {
            return self.built_in(&name.text, arguments, span, reach);
        }
        match self.look_up(&name.text, name.span, reach) {
            Some(Meaning::Global(Global::Let(which))) => self.expand(which, span, arguments, reach),
            Some(Meaning::Global(Global::Broken)) | None => Typed::unknown(),
            Some(Meaning::Global(Global::Pattern(_))) => {
                let hint = format!("write `{}[...]`, with brackets", name.text);
                let found = format!("`{}` is a pattern, not a function", name.text);
                self.report(
                    Diagnostic::error(name.span, found)
                        .label("expected a function")
                        .hint(hint),
                );
                Typed::unknown()
            }
            Some(Meaning::Global(other)) => self
                .wrong_kind(name, "a function", other.kind())
                .unwrap_or_else(Typed::unknown),
            Some(Meaning::Local(_)) => self
                .wrong_kind(name, "a function", "a local name")
                .unwrap_or_else(Typed::unknown),
        }
    }

    fn visits(&mut self, name: &'f Name, at: &'f [ast::Expr], span: Span, reach: Reach) -> Typed {
        let mut parts = Vec::with_capacity(at.len());
        for e in at {
            parts.push(self.expect_type(e, Type::Int, reach));
        }
        let Some(pattern) = self.pattern_named(name, reach) else {
            return Typed::unknown();
        };
        if let Reach::Params(what) = reach {
            let shown = self.call.unwrap_or(span);
            self.report(
                Diagnostic::error(shown, format!("{what} depends on pattern `{}`", name.text))
                    .label("expected parameters and `let`s over parameters only"),
            );
            return Typed::unknown();
        }
        let wanted = self.protocol.patterns[pattern.0].extents.len();
        if parts.len() != wanted {
            let found = parts.len();
            let declared = self.protocol.patterns[pattern.0].span;
            self.report(
                Diagnostic::error(
                    span,
                    format!(
                        "`{}` has {}, not {found}",
                        name.text,
                        counted(wanted, "coordinate", "coordinates")
                    ),
                )
                .label(format!(
                    "expected {}",
                    counted(wanted, "coordinate", "coordinates")
                ))
                .related(declared, "declared here"),
            );
            return Typed::unknown();
        }
        let depth = 1 + parts.iter().map(|p| p.depth).max().unwrap_or(0);
        if depth > MAX_EXPANDED_DEPTH {
            return self.too_deep(span);
        }
        if parts.iter().any(|p| p.ty == Type::Unknown) {
            return Typed::unknown();
        }
        let expr = Expr::Visits(pattern, parts.into_iter().map(|p| p.expr).collect());
        Typed {
            expr,
            ty: Type::Bool,
            depth,
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        a: &'f ast::Expr,
        b: &'f ast::Expr,
        span: Span,
        reach: Reach,
    ) -> Typed {
        use BinaryOp::*;
        let (operand, result) = match op {
            And | Or => (Type::Bool, Type::Bool),
            Eq | Ne | Lt | Le | Gt | Ge => (Type::Int, Type::Bool),
            Add | Sub | Mul | Div | Mod | Min | Max | Xor => (Type::Int, Type::Int),
        };
        let left = self.operand(op, a, operand, reach);
        let right = self.operand(op, b, operand, reach);
        match op {
            Div | Mod => self.check_divisor(b),
            Xor => {
                self.check_bit(a, "`^`");
                self.check_bit(b, "`^`");
            }
            _ => {}
        }
        self.build(span, result, [left, right], |[a, b]| Expr::Binary(op, a, b))
    }

    fn operand(&mut self, op: BinaryOp, e: &'f ast::Expr, wanted: Type, reach: Reach) -> Typed {
        let found = self.expr(e, reach);
        if found.ty == wanted || found.ty == Type::Unknown {
            return found;
        }
        let diagnostic = Diagnostic::error(
            e.span,
            format!("`{}` does not take {}", symbol(op), found.ty.name()),
        )
        .label(format!("expected {}", wanted.name()));
        self.report(match op {
            BinaryOp::Eq | BinaryOp::Ne => {
                diagnostic.hint("truth values are combined with `&&`, `||` and `!`")
            }
            BinaryOp::And | BinaryOp::Or => {
                diagnostic.hint("compare it with something, as in `x != 0`")
            }
            _ => diagnostic.hint("`if C then 1 else 0` makes an integer of a truth value"),
        });
        Typed::unknown()
    }

    fn choice(
        &mut self,
        c: &'f ast::Expr,
        a: &'f ast::Expr,
        b: &'f ast::Expr,
        span: Span,
        reach: Reach,
    ) -> Typed {
        let condition = self.expect_type(c, Type::Bool, reach);
        let then = self.expr(a, reach);
        let otherwise = self.expr(b, reach);
        let ty = then.ty;
        if ty != otherwise.ty && ty != Type::Unknown && otherwise.ty != Type::Unknown {
            self.report(
                Diagnostic::error(b.span, format!("this branch is {}", otherwise.ty.name()))
                    .label(format!("expected {}", ty.name()))
                    .related(a.span, format!("this branch is {}", ty.name())),
            );
            return Typed::unknown();
        }
        self.build(span, ty, [condition, then, otherwise], |[c, a, b]| {
            Expr::If(c, a, b)
        })
    }

    fn count(
        &mut self,
        var: &'f Name,
        [lo, hi, body]: [&'f ast::Expr; 3],
        span: Span,
        reach: Reach,
    ) -> Typed {
        let lo = self.expect_type(lo, Type::Int, reach);
        let hi = self.expect_type(hi, Type::Int, reach);
        let id = self.bind(var, |id| Binding::Fixed(id, "a counting variable"));
        self.named.counts.insert(span.start, span);
        let body = self.expect_type(body, Type::Bool, reach);
        self.locals.pop();
        self.build(span, Type::Int, [lo, hi, body], |[lo, hi, body]| {
            Expr::Count {
                var: id,
                lo,
                hi,
                body,
            }
        })
    }

    pub(super) fn check_divisor(&mut self, e: &ast::Expr) {
        if literal(e).is_some_and(|v| v <= 0) {
            self.report(
                Diagnostic::error(e.span, "the divisor is not positive")
                    .label("expected 1 or more")
                    .hint("`/` rounds toward minus infinity and needs a positive divisor"),
            );
        }
    }

    /// Reports a literal other than 0 and 1 where a bit is needed.
    pub(super) fn check_bit(&mut self, e: &ast::Expr, what: &str) {
        if let Some(value) = literal(e).filter(|v| !(0..=1).contains(v)) {
            self.report(
                Diagnostic::error(e.span, format!("{what} takes 0 or 1, not {value}"))
                    .label("expected 0 or 1"),
            );
        }
    }
}

/// The value of an expression that is an integer literal.
pub(super) fn literal(e: &ast::Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Int(value) => Some(*value),
        ExprKind::Neg(inner) => match inner.kind {
            ExprKind::Int(value) => Some(-value),
            _ => None,
        },
        _ => None,
    }
}
