//! Resolution: names get their meaning, types are checked, `let`s are expanded.
//!
//! All names of a text are in one namespace, and each is visible from its declaration on. A part that is unknown or
//! has a type error is reported, and then replaced by a placeholder of unknown type. So resolution continues and
//! reports all errors at once.

mod asynchronous;
mod builtin;
mod cell;
mod claim;
mod expand;
mod expr;
mod item;
mod local;
mod memory;
mod names;
mod pipeline;
mod role;
mod stmt;

use std::collections::HashMap;

use super::ast::File;
use super::ast::ItemKind;
use super::ast::Let;
use super::diagnostic::Diagnostic;
use super::parse::MAX_DIAGNOSTICS;
use crate::protocol::Assumption;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::VarId;
pub(super) use item::VERDICTS;
pub(super) use names::BUILT_IN;
use names::Global;
use names::Local;
pub(super) use names::Named;
pub(super) use names::PIPELINES;
pub(super) use names::RESIDENT;

/// The most expression nodes of a protocol after its `let`s are expanded.
pub(super) const MAX_NODES: usize = 500_000;

/// The greatest depth of an expression after its `let`s are expanded.
pub(super) const MAX_EXPANDED_DEPTH: usize = 256;

/// The type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Int,
    Bool,
    /// Ill-formed, and already reported.
    Unknown,
}

/// A resolved expression.
#[derive(Debug, Clone)]
struct Typed {
    expr: Expr,
    ty: Type,
    /// The depth of the expression tree, counting the root.
    depth: usize,
}

/// The names that an expression may use.
#[derive(Debug, Clone, Copy)]
enum Reach {
    /// Everything in scope.
    All,
    /// Parameters and `let`s only; the words say what the expression is.
    Params(&'static str),
}

/// What a member of a role is; `elect` depends on it.
#[derive(Debug, Clone, Copy)]
enum Members {
    /// A single one.
    One,
    /// Threads, numbered by this innermost index.
    Threads(VarId),
    Warps,
    Ctas,
}

/// Resolves a whole text.
pub(super) fn resolve(source: &str, file: &File) -> Result<Protocol, Vec<Diagnostic>> {
    let mut resolver = Resolver::new(source, file);
    resolver.items(&file.items, true);
    resolver.finish()
}

/// Resolves an assumption in the scope of a protocol's parameters and `let`s. `file` is the
/// protocol's own syntax tree. New bound names are added to the protocol.
pub(super) fn resolve_assumption(
    protocol: &mut Protocol,
    file: &File,
    condition: &super::ast::Expr,
    text: String,
) -> Result<Assumption, Vec<Diagnostic>> {
    let mut resolver = Resolver::new("", file);
    resolver.protocol.vars.clone_from(&protocol.vars);
    resolver.items(&file.items, false);
    resolver.protocol.vars.truncate(protocol.vars.len());
    resolver.diagnostics.clear();
    let condition = resolver.truth(condition, Reach::Params("an assumption"));
    if !resolver.diagnostics.is_empty() {
        return Err(resolver.diagnostics);
    }
    protocol.vars = resolver.protocol.vars;
    Ok(Assumption {
        condition,
        text,
        span: None,
    })
}

/// The names of a text, as far as they are known.
pub(super) fn names(source: &str, file: &File) -> Named {
    let mut resolver = Resolver::new(source, file);
    resolver.items(&file.items, true);
    resolver.named
}

fn end_of_params(file: &File) -> Span {
    let mut items = file.items.iter().rev();
    let last = items.find(|item| matches!(item.kind, ItemKind::Param { .. }));
    let end = last.map_or(file.header, |item| item.span).end;
    Span { start: end, end }
}

struct Resolver<'f> {
    file: &'f File,
    /// Information about names that resolution collects.
    named: Named,
    /// The place directly after the last parameter, where another one could be declared.
    end_of_params: Span,
    protocol: Protocol,
    globals: HashMap<&'f str, (Global, Span)>,
    /// Where each name is declared, including names not yet in scope.
    declared: HashMap<&'f str, Span>,
    lets: Vec<&'f Let>,
    locals: Vec<Local<'f>>,
    /// The position of the first local that is visible. Inside a `let`, only its own locals are visible.
    floor: usize,
    /// What the members of the current role are.
    members: Members,
    /// The values of objects that the current claim is about.
    values: Option<Vec<(VarId, Cell)>>,
    /// Loops around the current statement.
    loops: usize,
    /// The number of nodes that may still be created.
    nodes: usize,
    /// Whether the limit on nodes has been reported.
    exhausted: bool,
    /// The number of nested calls, for the limit on recursion.
    depth: usize,
    /// Where the outermost `let` being expanded is used.
    call: Option<Span>,
    diagnostics: Vec<Diagnostic>,
}

impl<'f> Resolver<'f> {
    fn new(source: &str, file: &'f File) -> Resolver<'f> {
        Resolver {
            file,
            named: Named::default(),
            end_of_params: end_of_params(file),
            protocol: Protocol {
                name: file.name.text.clone(),
                source: source.to_owned(),
                params: Vec::new(),
                assumptions: Vec::new(),
                vars: Vec::new(),
                patterns: Vec::new(),
                objects: Vec::new(),
                buffers: Vec::new(),
                invariants: Vec::new(),
                progress: Vec::new(),
                roles: Vec::new(),
                expectations: Vec::new(),
                stmt_count: 0,
            },
            globals: HashMap::new(),
            declared: HashMap::new(),
            lets: Vec::new(),
            locals: Vec::new(),
            floor: 0,
            members: Members::One,
            values: None,
            loops: 0,
            nodes: MAX_NODES,
            exhausted: false,
            depth: 0,
            call: None,
            diagnostics: Vec::new(),
        }
    }

    fn finish(mut self) -> Result<Protocol, Vec<Diagnostic>> {
        if self.protocol.roles.is_empty() && self.diagnostics.is_empty() {
            self.report(
                Diagnostic::error(self.file.header, "this protocol has no role")
                    .label("expected a `role` or a `grid` after it"),
            );
        }
        if self.diagnostics.is_empty() {
            return Ok(self.protocol);
        }
        self.diagnostics.sort_by_key(|d| d.span.start);
        Err(self.diagnostics)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }
}
