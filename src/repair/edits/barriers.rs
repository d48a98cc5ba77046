//! Edits of barriers: where they are initialised, and how many there are.

use crate::protocol::BinaryOp;
use crate::protocol::Span;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::ItemKind;
use crate::text::ast::Object;
use crate::text::ast::ObjectKind;
use crate::text::ast::Operation;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::tight;
use super::walk::blocks;
use super::walk::cell;
use super::walk::extent;

pub(super) fn add(found: &mut Found<'_>) {
    from_the_start(found);
    per_stage(found);
}

/// Initialises every barrier before the roles begin, and none inside a role.
fn from_the_start(found: &mut Found<'_>) {
    let mut replaced = Vec::new();
    for item in &found.file.items {
        if let ItemKind::Object(object) = &item.kind
            && let ObjectKind::Mbarrier {
                arrivals,
                explicit_init: true,
            } = &object.kind
        {
            let rest = Span {
                start: arrivals.span.end,
                end: item.span.end,
            };
            let text = found.slice(rest);
            let Some(close) = text.find('}') else {
                return;
            };
            replaced.push((rest, format!(" {}", &text[close..])));
        }
    }
    if replaced.is_empty() {
        return;
    }
    let mut ended = 0;
    for place in &found.places {
        // A statement that does nothing but initialise is removed, too.
        if place.stmt.span.start >= ended && only_initialises(place.stmt) {
            let span = extent(place.stmt);
            ended = span.end;
            replaced.push((line_of(found.source, span), String::new()));
        }
    }
    let what = "the barriers are initialised before the roles branch off".to_owned();
    found.add(Kind::Init, what, replaced);
}

fn only_initialises(stmt: &Stmt) -> bool {
    let inner: Vec<_> = blocks(stmt)
        .into_iter()
        .flat_map(|block| &block.stmts)
        .collect();
    match &stmt.kind {
        StmtKind::Operation {
            operation: Operation::Init,
            ..
        } => true,
        _ => !inner.is_empty() && inner.into_iter().all(only_initialises),
    }
}

/// A range, extended by the spaces before it and the line end after it.
fn line_of(source: &str, span: Span) -> Span {
    let before = source[..span.start].trim_end_matches([' ', '\t']).len();
    let end = match source[span.end..].strip_prefix('\n') {
        Some(_) => span.end + 1,
        None => span.end,
    };
    Span { start: before, end }
}

/// Replaces a single barrier for all stages by one barrier for each stage. Their index is the one that the same block
/// uses for an array of objects that exists already.
fn per_stage(found: &mut Found<'_>) {
    let objects: Vec<&Object> = found
        .file
        .items
        .iter()
        .filter_map(|item| match &item.kind {
            ItemKind::Object(object) => Some(object),
            _ => None,
        })
        .collect();
    for single in objects.iter().filter(|object| object.extents.is_empty()) {
        if !matches!(single.kind, ObjectKind::Mbarrier { .. }) {
            continue;
        }
        for family in objects.iter().filter(|object| object.extents.len() == 1) {
            if let Some(replaced) = split(found, single, family) {
                let what = format!("one `{}` for each `{}`", single.name.text, family.name.text);
                found.add(Kind::Stages, what, replaced);
            }
        }
    }
}

fn split(found: &Found<'_>, single: &Object, family: &Object) -> Option<Vec<(Span, String)>> {
    let extent = found.slice(family.extents.first()?.span);
    let after = |span: Span| Span {
        start: span.end,
        end: span.end,
    };
    let mut replaced = vec![(after(single.name.span), format!("[{extent}]"))];
    for place in &found.places {
        let Some(used) = cell(place.stmt).filter(|c| c.name.text == single.name.text) else {
            continue;
        };
        let mut siblings = place.block.stmts.iter().filter_map(cell);
        let sibling = siblings.find(|c| c.name.text == family.name.text)?;
        let index = sibling.index.first()?;
        replaced.push((
            after(used.name.span),
            format!("[{}]", found.slice(index.span)),
        ));
        if let StmtKind::Wait {
            comparison: None,
            value: Some(parity),
            ..
        } = &place.stmt.kind
        {
            replaced.push((parity.span, round(found, index)?));
        }
    }
    Some(replaced)
}

/// The parity of the round in which an index comes to a stage.
fn round(found: &Found<'_>, index: &Expr) -> Option<String> {
    match &index.kind {
        ExprKind::Binary(BinaryOp::Mod, number, stages) => Some(format!(
            "{} / {} % 2",
            tight(found.slice(number.span)),
            tight(found.slice(stages.span))
        )),
        ExprKind::Field(state, _) => Some(format!("{}.phase", state.text)),
        _ => None,
    }
}
