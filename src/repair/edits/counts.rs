//! Edits of counts: how many arrivals complete a barrier, and how many bytes a phase.

use itertools::Itertools;

use crate::protocol::BinaryOp;
use crate::protocol::Span;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::ItemKind;
use crate::text::ast::ObjectKind;
use crate::text::ast::Operation;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::tight;
use super::walk::arrives;
use super::walk::cell;
use super::walk::roles;

/// The threads of a warp, in which the counts of named barriers are written.
const WARP: i64 = 32;

/// With more roles at a barrier than this, only the sum over all of them is tried as a count.
const ROLES: usize = 3;

/// Operators whose sides are numbers of the same kind as their result.
const ARITHMETIC: [BinaryOp; 3] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul];

pub(super) fn add(found: &mut Found<'_>) {
    declared(found);
    named(found);
    bytes(found);
}

/// Edits the counts in declarations.
fn declared(found: &mut Found<'_>) {
    for item in &found.file.items {
        let ItemKind::Object(object) = &item.kind else {
            continue;
        };
        let (ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier(arrivals)) = &object.kind
        else {
            continue;
        };
        let name = &object.name.text;
        let alike = alike(found, name, arrivals);
        for count in [members(found, name), near(found, arrivals, 1)].concat() {
            let what = format!("`{name}` expects {count}");
            found.replace(Kind::Count, what, arrivals.span, count.clone());
            if !alike.is_empty() {
                let what = format!("`{name}` and what is called like it expect {count}");
                let all = alike.iter().chain([&arrivals.span]);
                let all = all.map(|span| (*span, count.clone())).collect();
                found.add(Kind::Count, what, all);
            }
        }
    }
}

/// The same counts of objects whose names differ only in numbers. For example, one barrier of a kernel is declared
/// once for each CTA.
fn alike(found: &Found<'_>, name: &str, count: &Expr) -> Vec<Span> {
    let peers = super::peers::peers(found, name);
    let counts = found.file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Object(object) if peers.contains(&object.name.text) => match &object.kind {
            ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier(arrivals) => Some(arrivals),
            _ => None,
        },
        _ => None,
    });
    let counts = counts.filter(|other| found.slice(other.span) == found.slice(count.span));
    counts.map(|other| other.span).collect()
}

/// Edits the counts of named barriers. Each use states the count, so all uses change together.
fn named(found: &mut Found<'_>) {
    let uses: Vec<(String, String, &Expr)> = found
        .places
        .iter()
        .filter_map(|place| match &place.stmt.kind {
            StmtKind::Sync {
                cell,
                count: Some(count),
            }
            | StmtKind::Arrive {
                cell,
                count: Some(count),
            } if is_named(found, &cell.name.text) => {
                let element = found.slice(cell.span).to_owned();
                Some((element, cell.name.text.clone(), count))
            }
            _ => None,
        })
        .collect();
    let elements: Vec<(String, String)> = uses
        .iter()
        .map(|(element, name, _)| (element.clone(), name.clone()))
        .unique()
        .collect();
    for (element, _) in elements {
        let spans: Vec<Span> = uses
            .iter()
            .filter(|(other, ..)| *other == element)
            .map(|(.., count)| count.span)
            .collect();
        let mut counts: Vec<String> = members_at(found, &element)
            .into_iter()
            .map(|count| match count.parse::<i64>() {
                Ok(warps) => warps.saturating_mul(WARP).to_string(),
                Err(_) => format!("{WARP} * {}", tight(&count)),
            })
            .collect();
        for (_, _, count) in uses.iter().filter(|(other, ..)| *other == element) {
            counts.extend(near(found, count, WARP));
            // The uses may state different counts.
            counts.push(found.slice(count.span).to_owned());
        }
        for count in counts {
            let what = format!("`{element}` takes {count} threads");
            let replaced = spans.iter().map(|span| (*span, count.clone()));
            found.add(Kind::Count, what, replaced.collect());
        }
    }
}

fn is_named(found: &Found<'_>, name: &str) -> bool {
    found.file.items.iter().any(|item| {
        matches!(&item.kind, ItemKind::Object(object)
            if object.name.text == name && matches!(object.kind, ObjectKind::Named))
    })
}

/// How many members arrive at an object, as far as the headers of the roles tell.
fn members(found: &Found<'_>, object: &str) -> Vec<String> {
    counted(found, &|name, _| name == object)
}

/// The same for one element, as it is written.
fn members_at(found: &Found<'_>, element: &str) -> Vec<String> {
    counted(found, &|_, text| text == element)
}

fn counted(found: &Found<'_>, wanted: &dyn Fn(&str, &str) -> bool) -> Vec<String> {
    // Per role that arrives: all of its members, or only the one that a guard admits.
    let mut here: Vec<(usize, bool)> = Vec::new();
    for place in &found.places {
        if let Some(cell) = cell(place.stmt)
            && arrives(place.stmt)
            && wanted(&cell.name.text, found.slice(cell.span))
        {
            here.push((place.role, place.guarded));
        }
    }
    let all: Vec<usize> = here.iter().map(|(role, _)| *role).unique().collect();
    // An index that chooses the element is not counted, because each element has its own members.
    let chooses = |role: usize, index: &str| {
        let mut places = found.places.iter().filter(|place| place.role == role);
        places.any(|place| {
            cell(place.stmt).is_some_and(|cell| {
                wanted(&cell.name.text, found.slice(cell.span))
                    && cell.index.iter().any(|e| found.slice(e.span) == index)
            })
        })
    };
    let sizes: Vec<Vec<&str>> = roles(found.file)
        .enumerate()
        .map(|(place, (_, role))| {
            let extents = role.indices.iter();
            let extents = extents.filter(|(name, _)| !chooses(place, &name.text));
            extents.map(|(_, e)| found.slice(e.span)).collect()
        })
        .collect();
    let size = |role: usize| match sizes.get(role).map(Vec::as_slice) {
        None | Some([]) => "1".to_owned(),
        Some([one]) => (*one).to_owned(),
        Some(several) => several.iter().map(|e| tight(e)).join(" * "),
    };
    let lone = |role: &usize| here.contains(&(*role, true));
    let mut counts = vec![total(all.iter().map(|role| size(*role)))];
    counts.push(total(all.iter().map(|role| match lone(role) {
        true => "1".to_owned(),
        false => size(*role),
    })));
    if all.len() <= ROLES {
        counts.extend(all.iter().map(|role| size(*role)));
    }
    counts.retain(|count| count != "0");
    counts
}

/// A sum in which the numbers are added up.
fn total(parts: impl Iterator<Item = String>) -> String {
    let mut number = 0_i64;
    let mut rest = Vec::new();
    for part in parts {
        match part.parse::<i64>() {
            Ok(value) => number = number.saturating_add(value),
            Err(_) => rest.push(part),
        }
    }
    if number != 0 || rest.is_empty() {
        rest.push(number.to_string());
    }
    rest.join(" + ")
}

/// The count plus or minus `step`, and each side of a sum or product.
pub(super) fn near(found: &Found<'_>, e: &Expr, step: i64) -> Vec<String> {
    let text = found.slice(e.span);
    let mut all = match &e.kind {
        ExprKind::Int(value) => vec![
            value.saturating_add(step).to_string(),
            value.saturating_sub(step).to_string(),
        ],
        _ => Vec::new(),
    };
    if let ExprKind::Binary(op, a, b) = &e.kind
        && ARITHMETIC.contains(op)
    {
        all.push(found.slice(a.span).to_owned());
        all.push(found.slice(b.span).to_owned());
    }
    if !matches!(e.kind, ExprKind::Int(_)) {
        all.push(format!("{text} + {step}"));
        all.push(format!("{text} - {step}"));
    }
    all
}

/// Makes expected and delivered bytes agree. Expectations are changed first, since a copy always delivers what it
/// copies.
fn bytes(found: &mut Found<'_>) {
    let mut expected = Vec::new();
    let mut delivered = Vec::new();
    for place in &found.places {
        match &place.stmt.kind {
            StmtKind::Operation {
                operation,
                cell,
                amount: Some(amount),
                ..
            } => match operation {
                Operation::ExpectTx | Operation::ArriveExpectTx => expected.push((cell, amount)),
                Operation::CompleteTx => delivered.push((cell, amount)),
                _ => {}
            },
            StmtKind::Copy {
                completes: Some(both),
                ..
            } => delivered.push((&both.0, &both.1)),
            _ => {}
        }
    }
    let texts = |all: &[(_, &Expr)]| -> Vec<String> {
        let texts = all
            .iter()
            .map(|(_, e): &(_, &Expr)| found.slice(e.span).to_owned());
        texts.unique().collect()
    };
    let offered = [texts(&delivered), texts(&expected)].concat();
    for (cell, amount) in expected.into_iter().chain(delivered) {
        for text in &offered {
            let element = found.slice(cell.span);
            let before = found.slice(amount.span);
            let what = format!("{text} bytes at `{element}`, not {before}");
            found.replace(Kind::Bytes, what, amount.span, text.clone());
        }
        // The sum of all deliveries to one element.
        let sum = found
            .places
            .iter()
            .filter_map(|place| match &place.stmt.kind {
                StmtKind::Copy {
                    completes: Some(both),
                    ..
                } if both.0.name.text == cell.name.text => Some(found.slice(both.1.span)),
                _ => None,
            });
        let sum: Vec<&str> = sum.collect();
        if sum.len() > 1 {
            let sum = sum.join(" + ");
            let what = format!("{sum} bytes at `{}`", found.slice(cell.span));
            found.replace(Kind::Bytes, what, amount.span, sum);
        }
    }
}
