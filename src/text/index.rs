//! Where the names of a text are declared and used, for editors.
//!
//! The text need not be correct: parts that do not parse are skipped, and so are names that are not declared. The
//! names come from name resolution, so an editor and a verdict agree about them.

use std::collections::BTreeMap;

use super::ast::Block;
use super::ast::Else;
use super::ast::File;
use super::ast::ItemKind;
use super::ast::ObjectKind;
use super::ast::Stmt;
use super::ast::StmtKind;
use super::checked;
use super::parse;
use super::resolve;
use crate::protocol::Span;

/// The names of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// `protocol` and the name.
    pub header: Span,
    /// What is declared, in text order.
    pub names: Vec<Declared>,
    /// The `assume` declarations.
    pub assumptions: Vec<Span>,
}

/// A declared name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The name.
    pub name: String,
    /// The place of the declaration: the name itself, or `1..` for the parameter of a grid's residency.
    pub span: Span,
    /// What it is.
    pub kind: Kind,
    /// The declaration, or the statement that declares the name. For a role or a compound statement, only the header.
    pub declaration: Span,
    /// The region in which the name can be used. For a role, this is the whole role.
    pub region: Span,
    /// Where it is used, in text order.
    pub uses: Vec<Span>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A parameter.
    Param,
    /// A `let` without parameters.
    Constant,
    /// A `let` with parameters.
    Function,
    /// A pattern.
    Pattern,
    /// A semaphore, a barrier or a pool, in words.
    Object(&'static str),
    /// A buffer.
    Buffer,
    /// A role or a grid, in words.
    Role(&'static str),
    /// A name inside a role, a `let` or another declaration, in words.
    Local(&'static str),
}

impl Kind {
    /// In words, with an article.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Param => "a parameter",
            Kind::Constant => "a constant",
            Kind::Function => "a function",
            Kind::Pattern => "a pattern",
            Kind::Buffer => "a buffer",
            Kind::Object(words) | Kind::Role(words) | Kind::Local(words) => words,
        }
    }
}

impl Index {
    /// The name at a place: its declaration, and the place of this occurrence.
    pub fn at(&self, offset: usize) -> Option<(&Declared, Span)> {
        let touches = |span: &Span| span.start <= offset && offset <= span.end;
        self.names.iter().find_map(|name| {
            let mut places = std::iter::once(&name.span).chain(&name.uses);
            let place = places.find(|span| touches(span))?;
            Some((name, *place))
        })
    }

    /// The names that may be used at a place.
    pub fn visible(&self, offset: usize) -> impl Iterator<Item = &Declared> {
        self.names.iter().filter(move |name| match name.kind {
            Kind::Local(_) => {
                let within = name.region.start <= offset && offset <= name.region.end;
                within && name.span.end < offset
            }
            _ => true,
        })
    }
}

/// The names of a text, as far as the text parses; `None` if it has no header.
pub fn index(source: &str) -> Option<Index> {
    let source = checked(source.as_bytes()).ok()?;
    let file = parse::parse_partially(source)?;
    let found = resolve::names(source, &file);
    let mut layout = Layout::of(&file);
    layout.heads.extend(found.counts.values());
    layout.regions.extend(found.counts.values());

    let mut names: BTreeMap<usize, Declared> = BTreeMap::new();
    for (name, span, kind, declaration, region) in globals(&file) {
        names.entry(span.start).or_insert(Declared {
            name: name.to_owned(),
            span,
            kind,
            declaration,
            region,
            uses: Vec::new(),
        });
    }
    if let Some(span) = found.residency {
        let place = innermost(layout.heads.clone(), &[span.start]);
        let declaration = place.first().copied().flatten().unwrap_or(span);
        names.entry(span.start).or_insert(Declared {
            name: resolve::RESIDENT.to_owned(),
            span,
            kind: Kind::Param,
            declaration,
            region: declaration,
            uses: Vec::new(),
        });
    }
    let places: Vec<usize> = found.bound.keys().copied().collect();
    let declarations = innermost(layout.heads, &places);
    let regions = innermost(layout.regions, &places);
    let around = declarations.into_iter().zip(regions);
    for ((start, (span, what)), (declaration, region)) in found.bound.into_iter().zip(around) {
        let declaration = declaration.unwrap_or(span);
        names.entry(start).or_insert(Declared {
            name: source.get(span.start..span.end)?.to_owned(),
            span,
            kind: Kind::Local(what),
            declaration,
            region: region.unwrap_or(declaration),
            uses: Vec::new(),
        });
    }
    for (span, declared) in found.used.into_values() {
        if let Some(name) = names.get_mut(&declared.start) {
            name.uses.push(span);
        }
    }
    let assumptions = file.items.iter();
    let assumptions = assumptions.filter(|item| matches!(item.kind, ItemKind::Assume(_)));
    Some(Index {
        header: file.header,
        names: names.into_values().collect(),
        assumptions: assumptions.map(|item| item.span).collect(),
    })
}

/// The declarations outside of roles. For each: the name, the place of the name, its kind, the place of the
/// declaration without its block, and the place with it.
fn globals(file: &File) -> impl Iterator<Item = (&str, Span, Kind, Span, Span)> {
    file.items.iter().filter_map(|item| {
        let mut region = item.span;
        let (name, kind) = match &item.kind {
            ItemKind::Param { name, .. } => (name, Kind::Param),
            ItemKind::Let(it) if it.params.is_empty() => (&it.name, Kind::Constant),
            ItemKind::Let(it) => (&it.name, Kind::Function),
            ItemKind::Pattern { name, .. } => (name, Kind::Pattern),
            ItemKind::Buffer { name, .. } => (name, Kind::Buffer),
            ItemKind::Object(object) => {
                let words = match &object.kind {
                    ObjectKind::Semaphore(_) => "a semaphore",
                    ObjectKind::Mbarrier { .. } => "an mbarrier",
                    ObjectKind::Named => "a named barrier",
                    ObjectKind::Barrier(_) => "a split-phase barrier",
                    ObjectKind::Pool { .. } => "a pool",
                };
                (&object.name, Kind::Object(words))
            }
            ItemKind::Role(role) => {
                region.end = role.body.close.end;
                let words = match role.launch {
                    Some(_) => "a grid",
                    None => "a role",
                };
                (&role.name, Kind::Role(words))
            }
            ItemKind::Assume(_)
            | ItemKind::Invariant { .. }
            | ItemKind::Progress(_)
            | ItemKind::Expect(_) => return None,
        };
        Some((name.text.as_str(), name.span, kind, item.span, region))
    })
}

/// The nesting of a text.
#[derive(Default)]
struct Layout {
    /// Declarations and statements, compound ones without their blocks.
    heads: Vec<Span>,
    /// The regions in which names that are bound inside them may be used.
    regions: Vec<Span>,
}

impl Layout {
    fn of(file: &File) -> Layout {
        let mut layout = Layout::default();
        for item in &file.items {
            let mut region = item.span;
            layout.heads.push(item.span);
            if let ItemKind::Role(role) = &item.kind {
                region.end = role.body.close.end;
                layout.block(&role.body);
            }
            layout.regions.push(region);
        }
        layout
    }

    fn block(&mut self, block: &Block) {
        self.regions.push(Span {
            start: block.open.start,
            end: block.close.end,
        });
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.heads.push(stmt.span);
        match &stmt.kind {
            StmtKind::For { body, .. } => {
                self.regions.push(Span {
                    start: stmt.span.start,
                    end: body.close.end,
                });
                self.block(body);
            }
            StmtKind::Elect { body } | StmtKind::Repeat { body, .. } => self.block(body),
            StmtKind::If {
                then, otherwise, ..
            } => {
                self.block(then);
                match otherwise {
                    None => {}
                    Some(Else::Block(block)) => self.block(block),
                    Some(Else::If(stmt)) => self.stmt(stmt),
                }
            }
            _ => {}
        }
    }
}

/// For each of these places, in ascending order, the innermost span around it. Any two spans are nested or disjoint.
fn innermost(mut spans: Vec<Span>, places: &[usize]) -> Vec<Option<Span>> {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut spans = spans.into_iter().peekable();
    let mut around: Vec<Span> = Vec::new();
    let mut found = Vec::with_capacity(places.len());
    for &place in places {
        while let Some(span) = spans.next_if(|span| span.start <= place) {
            while around.last().is_some_and(|last| last.end <= span.start) {
                around.pop();
            }
            around.push(span);
        }
        while around.last().is_some_and(|last| last.end <= place) {
            around.pop();
        }
        found.push(around.last().copied());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "protocol p
param N in 1..
let twice(a) = a + a
semaphore turn = 0
grid cta[n in 0..N] launch n ascending resident 1.. {
    for i in 0..twice(N) {
        var x = R + i
        wait turn == x
    }
    for i in 0..count(k in 0..N where k < n) {
        turn += i
    }
}
";

    fn shown(index: &Index) -> String {
        let of = |span: &Span| SOURCE.get(span.start..span.end).unwrap_or("?");
        let line = |span: &Span| SOURCE[..span.start].matches('\n').count() + 1;
        let mut out = String::new();
        for name in &index.names {
            let uses: Vec<String> = name
                .uses
                .iter()
                .map(|span| line(span).to_string())
                .collect();
            out.push_str(&format!(
                "{} {} {}: {} [{}]\n",
                line(&name.span),
                name.name,
                name.kind.words(),
                of(&name.declaration),
                uses.join(" ")
            ));
            assert!(name.uses.iter().all(|span| of(span) == name.name));
        }
        out
    }

    #[test]
    fn names_know_their_declarations_and_uses() {
        insta::assert_snapshot!(shown(&index(SOURCE).unwrap()), @r"
        2 N a parameter: param N in 1.. [5 6 10]
        3 twice a function: let twice(a) = a + a [6]
        3 a a parameter of a `let`: let twice(a) = a + a [3 3]
        4 turn a semaphore: semaphore turn = 0 [8 11]
        5 cta a grid: grid cta[n in 0..N] launch n ascending resident 1.. []
        5 n an index of the role: grid cta[n in 0..N] launch n ascending resident 1.. [5 10]
        5 R a parameter: grid cta[n in 0..N] launch n ascending resident 1.. [7]
        6 i a loop variable: for i in 0..twice(N) [7]
        7 x a variable: var x = R + i [8]
        10 i a loop variable: for i in 0..count(k in 0..N where k < n) [11]
        10 k a counting variable: count(k in 0..N where k < n) [10]
        ");
    }

    #[test]
    fn a_name_is_visible_in_its_block() {
        let index = index(SOURCE).unwrap();
        let at = |text: &str| {
            let offset = SOURCE.find(text).unwrap();
            let visible = index
                .visible(offset)
                .filter(|name| matches!(name.kind, Kind::Local(_)));
            visible.map(|name| name.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(at("wait turn"), ["n", "i", "x"]);
        assert_eq!(at("turn += i"), ["n", "i"]);
        assert_eq!(at("< n)"), ["n", "i", "k"]);
        assert_eq!(at("semaphore"), Vec::<&str>::new());
    }

    #[test]
    fn names_of_a_text_with_errors_are_known() {
        let broken = SOURCE.replace("wait turn == x", "wait == unknown");
        let index = index(&broken).unwrap();
        assert!(index.names.iter().any(|name| name.name == "x"));
        assert!(super::index("role r {}").is_none());
    }
}
