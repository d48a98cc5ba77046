//! The formatter: one layout for every text of the same meaning.
//!
//! It prints the syntax tree, so the result parses to the same tree, and formatting it again
//! changes nothing. Lines are never broken.

mod expr;
mod lines;
mod stmt;

pub(super) use expr::cell_text;
pub(super) use expr::expression;
pub(super) use stmt::works_on;

use super::ast::Domain;
use super::ast::Expect;
use super::ast::Expr;
use super::ast::File;
use super::ast::Item;
use super::ast::ItemKind;
use super::ast::Launch;
use super::ast::LaunchOrder;
use super::ast::Name;
use super::ast::ObjectKind;
use super::ast::PatternShape;
use super::ast::Resident;
use super::ast::Role;
use super::token::Comment;
use lines::Lines;

/// The text of a syntax tree, with the comments of the text it came from.
pub(super) fn file(source: &str, file: &File, comments: &[Comment]) -> String {
    let mut lines = Lines::new(source, comments);
    let header = format!("protocol {}", file.name.text);
    lines.line(header, file.header.start, file.header.end);
    lines.set_apart();
    for item in &file.items {
        if let ItemKind::Role(role) = &item.kind {
            lines.set_apart();
            stmt::compound(&mut lines, &role_header(role), item.span.start, &role.body);
            lines.set_apart();
        } else {
            lines.line(item_text(item), item.span.start, item.span.end);
        }
    }
    lines.finish()
}

fn item_text(item: &Item) -> String {
    match &item.kind {
        ItemKind::Param { name, domain } => format!("param {} in {}", name.text, values(domain)),
        ItemKind::Assume(condition) => format!("assume {}", expression(condition)),
        ItemKind::Let(it) => {
            let names: Vec<&str> = it.params.iter().map(|p| p.text.as_str()).collect();
            let params = match names.is_empty() {
                true => String::new(),
                false => format!("({})", names.join(", ")),
            };
            format!("let {}{params} = {}", it.name.text, expression(&it.body))
        }
        ItemKind::Pattern { name, shape } => match shape {
            PatternShape::Free(extents) => {
                format!("pattern {}[{}]", name.text, expr::list(extents))
            }
            PatternShape::Defined(coordinates, condition) => {
                let coordinates: Vec<String> = coordinates
                    .iter()
                    .map(|(name, extent)| format!("{} in 0..{}", name.text, expression(extent)))
                    .collect();
                let coordinates = coordinates.join(", ");
                let condition = expression(condition);
                format!("pattern {}[{coordinates}] = {condition}", name.text)
            }
        },
        ItemKind::Object(object) => {
            let family = if object.indices.is_empty() {
                family(&object.name, &object.extents)
            } else {
                let indices = object.indices.iter().zip(&object.extents);
                let indices: Vec<String> = indices
                    .map(|(name, extent)| format!("{} in 0..{}", name.text, expression(extent)))
                    .collect();
                format!("{}[{}]", object.name.text, indices.join(", "))
            };
            match &object.kind {
                ObjectKind::Semaphore(None) => format!("semaphore {family} = any"),
                ObjectKind::Semaphore(Some(value)) => {
                    format!("semaphore {family} = {}", expression(value))
                }
                ObjectKind::Mbarrier {
                    arrivals,
                    explicit_init,
                } => {
                    let init = if *explicit_init {
                        ", init: explicit"
                    } else {
                        ""
                    };
                    let arrivals = expression(arrivals);
                    let place = place(&object.place);
                    format!("mbarrier {family} {{ arrivals: {arrivals}{init} }}{place}")
                }
                ObjectKind::Barrier(arrivals) => {
                    format!("barrier {family} {{ arrivals: {} }}", expression(arrivals))
                }
                ObjectKind::Pool { capacity, returned } => {
                    let returned = if *returned {
                        " { release: mandatory }"
                    } else {
                        ""
                    };
                    format!("pool {family} = {}{returned}", expression(capacity))
                }
                ObjectKind::Named => format!("named {family}"),
            }
        }
        ItemKind::Progress(progress) => progress.text().to_owned(),
        ItemKind::Invariant { indices, condition } => {
            let indices = indices
                .iter()
                .map(|(name, extent)| format!("[{} in 0..{}] ", name.text, expression(extent)));
            let indices: String = indices.collect();
            format!("invariant {indices}{}", expression(condition))
        }
        ItemKind::Buffer {
            name,
            extents,
            tensor,
            unordered,
        } => {
            let memory = match (tensor, unordered) {
                (false, false) => "",
                (true, false) => " { memory: tensor }",
                (false, true) => " { orders: unknown }",
                (true, true) => " { memory: tensor, orders: unknown }",
            };
            format!("buffer {}{memory}", family(name, extents))
        }
        ItemKind::Role(role) => role_header(role),
        ItemKind::Expect(expect) => expectation(expect),
    }
}

/// ` cta E cluster E gpu E`, as far as it is written.
fn place(place: &[(Name, Expr)]) -> String {
    let place = place.iter();
    place
        .map(|(word, value)| format!(" {} {}", word.text, expression(value)))
        .collect()
}

fn family(name: &Name, extents: &[Expr]) -> String {
    match extents.is_empty() {
        true => name.text.clone(),
        false => format!("{}[{}]", name.text, expr::list(extents)),
    }
}

fn values(domain: &Domain) -> String {
    match domain {
        Domain::AtLeast(lo) => format!("{lo}.."),
        Domain::Range(lo, hi) => format!("{lo}..={hi}"),
        Domain::Set(values) => {
            let values: Vec<String> = values.iter().map(|(v, _)| v.to_string()).collect();
            format!("{{{}}}", values.join(", "))
        }
    }
}

fn role_header(role: &Role) -> String {
    let indices: String = role
        .indices
        .iter()
        .map(|(name, extent)| format!("[{} in 0..{}]", name.text, expression(extent)))
        .collect();
    let place = place(&role.place);
    match &role.launch {
        Some(launch) => {
            let launch = launch_text(launch);
            format!("grid {}{indices}{launch}{place}", role.name.text)
        }
        None => {
            let warp = if role.warp { " warp" } else { "" };
            format!("role {}{indices}{warp}{place}", role.name.text)
        }
    }
}

fn launch_text(launch: &Launch) -> String {
    let direction = |descending: &bool| {
        if *descending {
            "descending"
        } else {
            "ascending"
        }
    };
    let order = match &launch.order {
        None => String::new(),
        Some(LaunchOrder::Ascending) => " launch ascending".to_owned(),
        Some(LaunchOrder::Descending) => " launch descending".to_owned(),
        Some(LaunchOrder::Any) => " launch any".to_owned(),
        Some(LaunchOrder::Keys(keys)) => {
            let keys: Vec<String> = keys
                .iter()
                .map(|(name, descending)| format!("{} {}", name.text, direction(descending)))
                .collect();
            format!(" launch {}", keys.join(", "))
        }
    };
    match &launch.resident {
        None => order,
        Some(Resident::Open(_)) => format!("{order} resident 1.."),
        Some(Resident::All) => format!("{order} resident all"),
        Some(Resident::AtMost(bound)) => format!("{order} resident {}", expression(bound)),
    }
}

fn expectation(expect: &Expect) -> String {
    let mut text = format!("expect {}: {}", expect.property.text, expect.verdict.text);
    if !expect.at.is_empty() {
        let values: Vec<String> = expect
            .at
            .iter()
            .map(|(name, value, _)| format!("{} = {value}", name.text))
            .collect();
        text = format!("{text} at {}", values.join(", "));
    }
    if !expect.assuming.is_empty() {
        text = format!("{text} assuming {}", expr::list(&expect.assuming));
    }
    text
}
