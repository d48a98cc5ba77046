//! Edits of loops that have to agree with the loop of another role and do not.
//!
//! Two mistakes of an author show at several places of the recovered text. First, a loop may go over all tiles and
//! use the number of the tile for its stages and parities, although another role visits only the tiles of a pattern.
//! Second, a loop may be left in its middle. Recovery then writes the last round after the loop, under a condition of
//! its own.

use crate::protocol::Span;
use crate::text::ast::Iteration;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;
use crate::text::words;

use super::Found;
use super::Kind;
use super::guards::indentation;
use super::twins::origin;
use super::walk;
use super::walk::Place;
use super::walk::bounds;
use super::walk::extent;
use super::walk::synchronizes;

/// Spaces per level.
const LEVEL: &str = "    ";

/// Names for a variable that counts the rounds.
const COUNTERS: [&str; 3] = ["v", "visits", "visits_so_far"];

pub(super) fn add(found: &mut Found<'_>) {
    visited(found);
    rounds_of_others(found);
}

/// Changes loops over numbers that come from one line of a kernel. The new loops go over the row of a pattern. The
/// stages and parities then use the number of entries visited so far.
fn visited(found: &mut Found<'_>) {
    let rows = found
        .places
        .iter()
        .filter_map(|place| match &place.stmt.kind {
            StmtKind::For {
                over: Iteration::Row { .. },
                body,
                name,
                ..
            } => Some((place.role, name.span.end, body.open.start)),
            _ => None,
        });
    let rows: Vec<(usize, usize, usize)> = rows.collect();
    let loops: Vec<Place<'_>> = found
        .places
        .iter()
        .filter(|place| counted(place.stmt).is_some() && synchronizes(place.stmt))
        .copied()
        .collect();
    for (role, start, end) in rows {
        let over = found.slice(Span { start, end }).trim();
        let over = over.strip_prefix("in").unwrap_or(over).trim().to_owned();
        for (nth, first) in loops.iter().enumerate() {
            let line = line_of(found, first.stmt);
            let alike = |other: &&Place<'_>| line.is_some() && line_of(found, other.stmt) == line;
            if first.role == role || loops[..nth].iter().any(|other| alike(&other)) {
                continue;
            }
            let rest = loops[nth + 1..].iter().filter(alike);
            let all: Vec<Place<'_>> = std::iter::once(first).chain(rest).copied().collect();
            let replaced = all.iter().map(|place| along(found, place.stmt, &over));
            if let Some(replaced) = replaced.collect::<Option<Vec<_>>>() {
                let what = format!(
                    "the loop runs over {over}, and its stages and parities go by how many have come"
                );
                found.add(Kind::Trips, what, replaced);
            }
        }
    }
}

/// The variable of a loop that counts from 0.
fn counted(stmt: &Stmt) -> Option<&str> {
    match &stmt.kind {
        StmtKind::For { name, .. } => bounds(stmt).map(|_| name.text.as_str()),
        _ => None,
    }
}

/// The line of a kernel that a loop's header names.
fn line_of<'s>(found: &Found<'s>, stmt: &Stmt) -> Option<&'s str> {
    let open = walk::blocks(stmt).first()?.open;
    origin(found.source, open)
}

/// The loop, changed to go over a row.
fn along(found: &Found<'_>, stmt: &Stmt, over: &str) -> Option<(Span, String)> {
    let index = counted(stmt)?;
    let (_, body) = parts(found, stmt)?;
    let used: Vec<&str> = words::words(body).collect();
    let counter = COUNTERS.into_iter().find(|name| !used.contains(name))?;
    let pad = indentation(found.source, stmt.span.start);
    let body = renamed(body, index, counter);
    let by = format!(
        "var {counter} = 0\n{pad}for {index} in {over} {{{body}{LEVEL}{counter} = {counter} + 1\n{pad}}}"
    );
    Some((extent(stmt), by))
}

/// The text before the block of a loop, and the text of the block.
fn parts<'s>(found: &Found<'s>, stmt: &Stmt) -> Option<(&'s str, &'s str)> {
    let blocks = walk::blocks(stmt);
    let [block] = blocks.as_slice() else {
        return None;
    };
    let header = Span {
        start: stmt.span.start,
        end: block.open.start,
    };
    let body = Span {
        start: block.open.end,
        end: block.close.start,
    };
    Some((found.slice(header), found.slice(body)))
}

/// A text in which a variable has another name, except in comments.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        words::replaced(code, from, to) + comment
    });
    lines.collect()
}

/// Joins a loop and its last round to one loop that runs as often as a loop of another role.
fn rounds_of_others(found: &mut Found<'_>) {
    let mut others: Vec<(usize, Option<String>, &str)> = Vec::new();
    for place in &found.places {
        let Some((_, hi)) = bounds(place.stmt).filter(|_| counted(place.stmt).is_some()) else {
            continue;
        };
        let around = found.around(place).pop();
        let guard = around.and_then(|stmt| match &stmt.kind {
            StmtKind::If {
                condition, then, ..
            } if then.stmts.len() == 1 => Some(found.slice(condition.span).to_owned()),
            _ => None,
        });
        others.push((place.role, guard, found.slice(hi.span)));
    }
    for place in found.places.clone() {
        let Some(rest) = last_round(found, &place) else {
            continue;
        };
        let (Some(index), Some((_, body))) = (counted(place.stmt), parts(found, place.stmt)) else {
            continue;
        };
        let pad = indentation(found.source, place.stmt.span.start);
        for (role, guard, hi) in others.iter().filter(|(role, ..)| *role != place.role) {
            let single = format!("for {index} in 0..{hi} {{{body}}}");
            let by = match guard {
                Some(guard) => format!("if {guard} {{\n{pad}{single}\n{pad}}}"),
                None => single,
            };
            let name = walk::roles(found.file).nth(*role);
            let name = name.map_or("another role", |(_, role)| role.name.text.as_str());
            let what = format!(
                "the loop runs up to {hi}, as often as that of `{name}`, and its last round is no longer apart"
            );
            let span = Span {
                start: place.stmt.span.start,
                end: rest.end,
            };
            found.replace(Kind::Trips, what, span, by);
        }
    }
}

/// The extent of the statement directly after a loop, if this statement does the same as one round of the loop: it
/// comes from the same lines.
fn last_round(found: &Found<'_>, place: &Place<'_>) -> Option<Span> {
    counted(place.stmt).filter(|_| synchronizes(place.stmt))?;
    let next = place.block.stmts.get(place.at + 1)?;
    let round = lines(found, place.stmt);
    let same = round.iter().all(Option::is_some) && round == lines(found, next);
    (same && !round.is_empty()).then(|| extent(next))
}

/// The kernel lines of the synchronizing statements in the blocks of a statement.
fn lines<'s>(found: &Found<'s>, stmt: &Stmt) -> Vec<Option<&'s str>> {
    let whole = extent(stmt);
    let inside = found.places.iter().filter(|place| {
        let at = place.stmt.span;
        whole.start <= at.start && at.end <= whole.end && walk::cell(place.stmt).is_some()
    });
    inside
        .map(|place| origin(found.source, place.stmt.span))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::text;

    use super::super::Stuck;
    use super::super::all;

    /// The texts that result from those edits whose description contains this.
    fn edited(source: &str, what: &str) -> Vec<String> {
        let file = text::syntax(source).expect("a text");
        let edits = all(source, &file, &Stuck::default());
        let edits = edits.iter().filter(|edit| edit.what.contains(what));
        let texts: Vec<String> = edits.map(|edit| edit.apply(source)).collect();
        for text in &texts {
            text::load(text.as_bytes()).expect("a text with a meaning");
        }
        texts
    }

    #[test]
    fn all_loops_of_a_line_go_along_the_row() {
        let source = "protocol p
param N in 1..
pattern seen[2, N]
mbarrier b[2] { arrivals: 1 }
mbarrier e[2] { arrivals: 2 }
role load {
    var v = 0
    for i in row(seen, 0) ascending {
        arrive b[v % 2]
        v = v + 1
    }
}
role math {
    for i in 0..N {  // k.cu:3
        wait b[i % 2] i / 2 % 2  // with i, k.cu:4
    }
}
role store {
    for i in 0..N {  // k.cu:3
        wait b[i % 2] i / 2 % 2  // k.cu:4
    }
}
";
        let texts = edited(source, "over row(seen, 0) ascending, and");
        let [text] = texts.as_slice() else {
            panic!("{texts:?}");
        };
        let whole = "    var v = 0
    for i in row(seen, 0) ascending {  // k.cu:3
        wait b[v % 2] v / 2 % 2  // with i, k.cu:4
        v = v + 1
    }
";
        assert!(text.contains(whole), "{text}");
        assert_eq!(text.matches("for i in row(seen, 0)").count(), 3, "{text}");
    }

    #[test]
    fn the_last_round_goes_back_into_its_loop() {
        let source = "protocol p
param N in 1..
mbarrier b { arrivals: 1 }
role load {
    if N > 1 {
        for i in 0..N - 1 {
            arrive b
        }
    }
}
role math {
    for i in 0..N {  // k.cu:3
        wait b i % 2  // k.cu:4
    }
    if N > 2 {  // k.cu:3
        wait b N % 2  // k.cu:4
    }
}
role other {
    for i in 0..N {  // k.cu:3
        wait b i % 2  // k.cu:4
    }
    if N > 2 {  // k.cu:3
        wait b N % 2  // k.cu:5
    }
}
";
        let texts = edited(source, "no longer apart");
        let back = "role math {
    if N > 1 {
    for i in 0..N - 1 {  // k.cu:3
        wait b i % 2  // k.cu:4
    }
    }
}
";
        assert!(texts.iter().any(|text| text.contains(back)), "{texts:?}");
        let other = source.split("role other").nth(1).unwrap();
        assert!(texts.iter().all(|text| text.ends_with(other)), "{texts:?}");
    }
}
