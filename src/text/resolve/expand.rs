//! Expansion of `let`s, within bounds.
//!
//! The body of a `let` is resolved anew at each use, with the arguments in place of its parameters. So every counting
//! variable is bound once. The number of nodes and the depth of calls are bounded. So `let`s that double their size
//! repeatedly lead to an error, and do not exhaust memory.

use std::collections::HashMap;

use super::MAX_EXPANDED_DEPTH;
use super::MAX_NODES;
use super::Reach;
use super::Resolver;
use super::Type;
use super::Typed;
use super::names::Binding;
use super::names::Global;
use crate::protocol::Expr;
use crate::protocol::Span;
use crate::protocol::VarId;
use crate::text::ast;
use crate::text::ast::Let;
use crate::text::diagnostic::Diagnostic;
use crate::text::diagnostic::counted;

impl<'f> Resolver<'f> {
    /// Checks the body of a `let` once and brings the name into scope.
    pub(super) fn define(&mut self, it: &'f Let) {
        let before = self.diagnostics.len();
        let vars = self.protocol.vars.len();
        self.floor = self.locals.len();
        for name in &it.params {
            self.check_free(name);
            let some = Typed::leaf(Expr::Int(0), Type::Int);
            self.enter(name, Binding::Argument(Box::new(some), false));
        }
        self.expr(&it.body, Reach::All);
        self.locals.truncate(self.floor);
        self.floor = 0;
        self.protocol.vars.truncate(vars);
        let global = match self.diagnostics.len() == before {
            true => Global::Let(self.lets.len()),
            false => Global::Broken,
        };
        self.lets.push(it);
        self.declare(&it.name, global);
    }

    /// Expands a use of a `let`.
    pub(super) fn expand(
        &mut self,
        which: usize,
        span: Span,
        arguments: &'f [ast::Expr],
        reach: Reach,
    ) -> Typed {
        let it = self.lets[which];
        if !self.check_arity(&it.name.text, it.params.len(), arguments.len(), span) {
            return Typed::unknown();
        }
        let values: Vec<Typed> = arguments
            .iter()
            .map(|argument| self.expect_type(argument, Type::Int, reach))
            .collect();
        let floor = self.floor;
        let outer = self.call;
        self.call = Some(outer.unwrap_or(span));
        self.floor = self.locals.len();
        for (name, value) in it.params.iter().zip(values) {
            self.enter(name, Binding::Argument(Box::new(value), false));
        }
        let result = self.expr(&it.body, reach);
        self.locals.truncate(self.floor);
        self.floor = floor;
        self.call = outer;
        result
    }

    /// Reports a call with the wrong number of arguments.
    pub(super) fn check_arity(
        &mut self,
        name: &str,
        wanted: usize,
        found: usize,
        span: Span,
    ) -> bool {
        if wanted == found {
            return true;
        }
        let message = match (wanted, found) {
            (0, _) => format!("`{name}` is a constant and takes no arguments"),
            (_, 0) => format!("`{name}` is a function and is not called here"),
            _ => {
                let wanted = counted(wanted, "argument", "arguments");
                format!("`{name}` takes {wanted}, not {found}")
            }
        };
        self.report(Diagnostic::error(span, message).label(format!(
            "expected {}",
            counted(wanted, "argument", "arguments")
        )));
        false
    }

    /// The meaning of a parameter of a `let`, or of a `let` inside a role.
    pub(super) fn argument(&mut self, at: usize, span: Span) -> Typed {
        let (value, used) = match &mut self.locals[at].binding {
            Binding::Argument(value, used) | Binding::Named(value, used) => (value, used),
            _ => return Typed::unknown(),
        };
        let first = !*used;
        *used = true;
        let value = (**value).clone();
        if first {
            value
        } else {
            self.copy(&value, span)
        }
    }

    /// A copy with counting variables of its own.
    pub(super) fn copy(&mut self, value: &Typed, span: Span) -> Typed {
        let mut renamed = HashMap::new();
        match self.copy_expr(&value.expr, span, &mut renamed) {
            Some(expr) => Typed {
                expr,
                ty: value.ty,
                depth: value.depth,
            },
            None => Typed::unknown(),
        }
    }

    fn copy_expr(
        &mut self,
        expr: &Expr,
        span: Span,
        renamed: &mut HashMap<VarId, VarId>,
    ) -> Option<Expr> {
        if !self.spend(span) {
            return None;
        }
        let mut part =
            |e: &Expr, r: &mut HashMap<VarId, VarId>| self.copy_expr(e, span, r).map(Box::new);
        Some(match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => expr.clone(),
            Expr::Var(v) => Expr::Var(renamed.get(v).copied().unwrap_or(*v)),
            Expr::Neg(e) => Expr::Neg(part(e, renamed)?),
            Expr::Not(e) => Expr::Not(part(e, renamed)?),
            Expr::Binary(op, a, b) => Expr::Binary(*op, part(a, renamed)?, part(b, renamed)?),
            Expr::If(c, a, b) => Expr::If(part(c, renamed)?, part(a, renamed)?, part(b, renamed)?),
            Expr::Visits(p, at) => {
                let mut copies = Vec::with_capacity(at.len());
                for e in at {
                    copies.push(self.copy_expr(e, span, renamed)?);
                }
                Expr::Visits(*p, copies)
            }
            Expr::Count { var, lo, hi, body } => {
                let lo = part(lo, renamed)?;
                let hi = part(hi, renamed)?;
                let (name, at) = match self.protocol.vars.get(var.0) {
                    Some(v) => (v.name.clone(), v.span),
                    None => (String::new(), span),
                };
                let var_copy = self.fresh(&name, at);
                renamed.insert(*var, var_copy);
                let body = Box::new(self.copy_expr(body, span, renamed)?);
                Expr::Count {
                    var: var_copy,
                    lo,
                    hi,
                    body,
                }
            }
        })
    }

    /// Takes one node from the budget, or reports that it is spent.
    pub(super) fn spend(&mut self, span: Span) -> bool {
        if self.nodes > 0 {
            self.nodes -= 1;
            return true;
        }
        let span = self.call.unwrap_or(span);
        if !self.exhausted {
            self.exhausted = true;
            self.report(
                Diagnostic::error(
                    span,
                    format!("this protocol has more than {MAX_NODES} terms once its `let`s are expanded"),
                )
                .label("the limit is reached here")
                .hint("a `let` that uses its parameter twice doubles the argument: nest such calls less"),
            );
        }
        false
    }

    /// Reports an expression that is too deep once expanded.
    pub(super) fn too_deep(&mut self, span: Span) -> Typed {
        let span = self.call.unwrap_or(span);
        self.report(
            Diagnostic::error(
                span,
                format!(
                    "this nests more than {MAX_EXPANDED_DEPTH} levels deep once its `let`s are expanded"
                ),
            )
            .label("expected fewer calls within calls"),
        );
        Typed::unknown()
    }
}
