//! Names: the one namespace of a text and the scopes inside its roles.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use super::Reach;
use super::Resolver;
use super::Typed;
use crate::protocol::ObjectId;
use crate::protocol::ParamId;
use crate::protocol::PatternId;
use crate::protocol::Span;
use crate::protocol::Var;
use crate::protocol::VarId;
use crate::text::ast::Atomic;
use crate::text::ast::ItemKind;
use crate::text::ast::Name;
use crate::text::diagnostic::Diagnostic;
use crate::text::suggest::nearest;

/// The functions that need no declaration.
pub(in crate::text) const BUILT_IN: [&str; 4] = ["min", "max", "ceil_div", "abs"];

/// The functions that make a pipeline state, the producer's first.
pub(in crate::text) const PIPELINES: [&str; 2] = ["producer", "consumer"];

/// The reserved words that have a meaning of their own before a parenthesis.
const CALLED: [&str; 2] = ["count", "row"];

/// The name of the parameter that `resident 1..` declares.
pub(in crate::text) const RESIDENT: &str = "R";

/// What a name declared outside the roles stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Global {
    Param(ParamId),
    /// By position among the `let`s.
    Let(usize),
    /// A `let` whose own text is wrong; its uses are not reported again.
    Broken,
    Pattern(PatternId),
    Object(ObjectId),
    /// By position.
    Buffer(usize),
    Role,
}

impl Global {
    /// The kind, with its article.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Global::Param(_) => "a parameter",
            Global::Let(_) | Global::Broken => "a `let`",
            Global::Pattern(_) => "a pattern",
            Global::Object(_) => "a synchronization object",
            Global::Buffer(_) => "a buffer",
            Global::Role => "a role",
        }
    }
}

/// A name bound inside a role, a definition or a `let`.
#[derive(Debug, Clone)]
pub(super) struct Local<'f> {
    pub(super) name: &'f str,
    pub(super) span: Span,
    pub(super) binding: Binding,
}

/// What a local name stands for.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    /// A bound name that keeps its value; the words describe its kind.
    Fixed(VarId, &'static str),
    /// A local variable.
    Variable(VarId),
    /// A pipeline state: the variable that counts its advances, and its properties.
    Pipeline(VarId, Box<Pipeline>),
    /// A `let` inside a role: its meaning, and whether it was used before.
    Named(Box<Typed>, bool),
    /// A parameter of a `let`: the argument, and whether it was used before.
    Argument(Box<Typed>, bool),
}

impl Binding {
    /// What it is, with its article.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Binding::Fixed(_, what) => what,
            Binding::Variable(_) => "a variable",
            Binding::Pipeline(..) => "a pipeline state",
            Binding::Named(..) => "a `let`",
            Binding::Argument(..) => "a parameter of a `let`",
        }
    }
}

/// The properties of a pipeline state.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    /// Whether it is a producer's, whose first waits pass.
    pub(super) producer: bool,
    /// How many stages the pipeline has.
    pub(super) stages: Typed,
}

/// The places at which names are bound and used, for editors. The meaning of a protocol does not depend on this.
#[derive(Debug, Default)]
pub(in crate::text) struct Named {
    /// The names that are bound inside a declaration: the place and the kind of each, by the place where it begins.
    pub(in crate::text) bound: BTreeMap<usize, (Span, &'static str)>,
    /// Uses of names, by the place where each begins: the place of the use, and the place of the declaration.
    pub(in crate::text) used: BTreeMap<usize, (Span, Span)>,
    /// The expressions that bind a name for themselves.
    pub(in crate::text) counts: BTreeMap<usize, Span>,
    /// Where a grid declares the parameter of its residency.
    pub(in crate::text) residency: Option<Span>,
}

impl Named {
    /// A name is bound.
    fn binds(&mut self, span: Span, what: &'static str) {
        self.bound.insert(span.start, (span, what));
    }

    /// A name is used.
    pub(super) fn uses(&mut self, span: Span, declared: Span) {
        self.used.insert(span.start, (span, declared));
    }
}

/// What a name stands for.
pub(super) enum Meaning {
    Global(Global),
    /// Position among the locals.
    Local(usize),
}

impl<'f> Resolver<'f> {
    /// Notes where every name is declared and reports those declared twice or built in.
    pub(super) fn note_declarations(&mut self) {
        let file = self.file;
        for item in &file.items {
            let name = match &item.kind {
                ItemKind::Param { name, .. } | ItemKind::Pattern { name, .. } => name,
                ItemKind::Let(it) => {
                    let name = it.name.text.as_str();
                    let called = PIPELINES.contains(&name) || CALLED.contains(&name);
                    let called = called || Atomic::from_word(name).is_some();
                    if called && !it.params.is_empty() {
                        self.report_built_in(&it.name);
                    }
                    &it.name
                }
                ItemKind::Object(it) => &it.name,
                ItemKind::Buffer { name, .. } => name,
                ItemKind::Role(it) => &it.name,
                ItemKind::Assume(_)
                | ItemKind::Invariant { .. }
                | ItemKind::Progress(_)
                | ItemKind::Expect(_) => continue,
            };
            self.note_declaration(name);
        }
    }

    fn note_declaration(&mut self, name: &'f Name) {
        if BUILT_IN.contains(&name.text.as_str()) {
            self.report_built_in(name);
        }
        match self.declared.entry(&name.text) {
            Entry::Vacant(entry) => {
                entry.insert(name.span);
            }
            Entry::Occupied(entry) => {
                let first = *entry.get();
                self.report_duplicate(name, first);
            }
        }
    }

    fn report_duplicate(&mut self, name: &Name, first: Span) {
        self.report(
            Diagnostic::error(name.span, format!("`{}` is declared twice", name.text))
                .label("expected a name that is not in use")
                .related(first, "first declared here")
                .hint("all names of a text share one namespace: rename one of the two"),
        );
    }

    fn report_built_in(&mut self, name: &Name) {
        self.report(
            Diagnostic::error(name.span, format!("`{}` is a built-in function", name.text))
                .label("expected a name that is not in use"),
        );
    }

    /// Brings a declared name into scope. The first declaration of a name wins.
    pub(super) fn declare(&mut self, name: &'f Name, global: Global) {
        self.globals
            .entry(&name.text)
            .or_insert((global, name.span));
    }

    /// Binds a local name to a new variable of the protocol.
    pub(super) fn bind(&mut self, name: &'f Name, binding: impl FnOnce(VarId) -> Binding) -> VarId {
        self.check_free(name);
        let id = self.fresh(&name.text, name.span);
        self.enter(name, binding(id));
        id
    }

    /// Brings a local name into scope.
    pub(super) fn enter(&mut self, name: &'f Name, binding: Binding) {
        self.named.binds(name.span, binding.words());
        self.locals.push(Local {
            name: &name.text,
            span: name.span,
            binding,
        });
    }

    /// Creates a bound name of its own.
    pub(super) fn fresh(&mut self, name: &str, span: Span) -> VarId {
        self.protocol.vars.push(Var {
            name: name.to_owned(),
            span,
        });
        VarId(self.protocol.vars.len() - 1)
    }

    /// Reports a local name that hides another.
    pub(super) fn check_free(&mut self, name: &'f Name) {
        if BUILT_IN.contains(&name.text.as_str()) {
            return self.report_built_in(name);
        }
        let hidden = self.locals[self.floor..]
            .iter()
            .find(|l| l.name == name.text)
            .map(|l| l.span)
            .or_else(|| self.declared.get(name.text.as_str()).copied());
        if let Some(first) = hidden
            && first != name.span
        {
            self.report_duplicate(name, first);
        }
    }

    /// Looks a name up; reports it when it is unknown.
    pub(super) fn look_up(&mut self, name: &str, span: Span, reach: Reach) -> Option<Meaning> {
        let local = self.locals[self.floor..]
            .iter()
            .rposition(|l| l.name == name);
        if let Some(at) = local {
            let at = self.floor + at;
            self.named.uses(span, self.locals[at].span);
            return Some(Meaning::Local(at));
        }
        if let Some((global, declared)) = self.globals.get(name) {
            self.named.uses(span, *declared);
            return Some(Meaning::Global(*global));
        }
        let diagnostic = self.unknown(name, span, reach);
        self.report(diagnostic);
        None
    }

    /// Notes a use of a declared name that was not looked up by `look_up`.
    pub(super) fn note_use(&mut self, name: &str, span: Span) {
        if let Some((_, declared)) = self.globals.get(name) {
            self.named.uses(span, *declared);
        }
    }

    pub(super) fn unknown(&self, name: &str, span: Span, reach: Reach) -> Diagnostic {
        if let Some(later) = self.declared.get(name) {
            return Diagnostic::error(span, format!("`{name}` is used before its declaration"))
                .label("expected a name declared above")
                .related(*later, "declared here")
                .hint("move the declaration up");
        }
        let diagnostic =
            Diagnostic::error(span, format!("unknown name `{name}`")).label("not declared");
        let locals = self.locals[self.floor..].iter().map(|l| l.name);
        let known = locals.chain(self.globals.keys().copied()).chain(BUILT_IN);
        let mut known: Vec<&str> = known.collect();
        known.sort_unstable();
        match (nearest(name, known), reach) {
            _ if PIPELINES.contains(&name) => diagnostic.hint(format!(
                "a pipeline state is declared with `var p = {name}(S)`"
            )),
            _ if Atomic::from_word(name).is_some() => diagnostic.hint(format!(
                "its result is named by a statement: `let t = {name}(s, ...)`"
            )),
            (Some(close), _) => diagnostic.did_you_mean(close),
            (None, Reach::Params(what)) => {
                diagnostic.hint(format!("{what} may use parameters and `let`s only"))
            }
            (None, Reach::All) if name == RESIDENT => {
                diagnostic.hint("`R` is declared by a grid with `resident 1..`")
            }
            (None, Reach::All) => {
                let declaration = format!("param {name} in 1..");
                let hint = format!("a value that may vary is declared with `{declaration}`");
                let title = format!("declare `{declaration}`");
                let place = self.end_of_params;
                diagnostic
                    .hint(hint)
                    .fix(title, place, format!("\n{declaration}"))
            }
        }
    }

    /// Looks up a name that has to be a parameter.
    pub(super) fn param(&mut self, name: &Name) -> Option<ParamId> {
        match self.look_up(&name.text, name.span, Reach::All)? {
            Meaning::Global(Global::Param(id)) => Some(id),
            Meaning::Global(other) => self.wrong_kind(name, "a parameter", other.kind()),
            Meaning::Local(_) => self.wrong_kind(name, "a parameter", "a local name"),
        }
    }

    /// Looks up a name that has to be a pattern.
    pub(super) fn pattern_named(&mut self, name: &Name, reach: Reach) -> Option<PatternId> {
        match self.look_up(&name.text, name.span, reach)? {
            Meaning::Global(Global::Pattern(id)) => Some(id),
            Meaning::Global(other) => self.wrong_kind(name, "a pattern", other.kind()),
            Meaning::Local(_) => self.wrong_kind(name, "a pattern", "a local name"),
        }
    }

    /// Reports a name of the wrong kind.
    pub(super) fn wrong_kind<T>(&mut self, name: &Name, wanted: &str, found: &str) -> Option<T> {
        self.report(
            Diagnostic::error(
                name.span,
                format!("`{}` is {found}, not {wanted}", name.text),
            )
            .label(format!("expected {wanted}")),
        );
        None
    }
}
