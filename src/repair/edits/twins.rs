//! Edits of one kernel line that several roles contain.
//!
//! Recovery writes a kernel line once for each role that executes it. A comment after each statement names the line. A
//! change of the kernel line changes all of these statements. So an edit of one statement is applied to all statements of
//! the same kernel line that have the same text at that place.

use crate::protocol::Span;

use super::Edit;
use super::Found;
use super::order::whole_line;
use super::walk::Place;

/// The edits, each applied to all statements of its kernel line. An insertion may be meant for one role only, so such an edit
/// is also returned as it was.
pub(super) fn everywhere<'f>(
    found: &'f Found<'_>,
    edits: Vec<Edit>,
) -> impl Iterator<Item = Edit> + use<'f> {
    edits.into_iter().flat_map(move |edit| {
        let mut replaced = edit.replaced.clone();
        for (span, by) in &edit.replaced {
            let Some(place) = owner(found, *span) else {
                continue;
            };
            // If the edit itself changes the range already, this change is kept.
            for twin in others(found, &place, *span) {
                let apart = |(known, _): &(Span, String)| {
                    known.end <= twin.start && known.start < twin.start
                        || twin.end <= known.start && twin.start < known.start
                };
                if replaced.iter().all(apart) {
                    replaced.push((twin, by.clone()));
                }
            }
        }
        replaced.sort_by_key(|(span, _)| span.start);
        let new = edit.replaced.iter().all(|(span, _)| span.start == span.end);
        let more = replaced.len() > edit.replaced.len();
        let alone = (new && more).then(|| edit.clone());
        [Some(Edit { replaced, ..edit }), alone]
            .into_iter()
            .flatten()
    })
}

/// The innermost statement whose line contains a range.
fn owner<'s>(found: &Found<'s>, span: Span) -> Option<Place<'s>> {
    let line = |place: &&Place<'s>| {
        let line = whole(found.source, place.stmt.span);
        line.start <= span.start && span.end <= line.end
    };
    found.places.iter().rfind(line).copied()
}

/// The corresponding ranges in the other statements of the same kernel line.
fn others(found: &Found<'_>, place: &Place<'_>, span: Span) -> Vec<Span> {
    let Some(origin) = origin(found.source, place.stmt.span) else {
        return Vec::new();
    };
    let here = place.stmt.span;
    let changed = found.slice(span);
    let twins = found.places.iter().filter(|other| {
        other.stmt.span != here
            && std::mem::discriminant(&other.stmt.kind) == std::mem::discriminant(&place.stmt.kind)
            && self::origin(found.source, other.stmt.span) == Some(origin)
    });
    let mut all = Vec::new();
    for twin in twins {
        let there = twin.stmt.span;
        if span == whole_line(found.source, here) {
            if found.slice(there) == found.slice(here) {
                all.push(whole_line(found.source, there));
            }
            continue;
        }
        // At the same offset from the beginning of the statement, or else from its end.
        let from_start = span.start.checked_sub(here.start).map(|offset| {
            let start = there.start + offset;
            Span {
                start,
                end: start + (span.end - span.start),
            }
        });
        let from_end = here.end.checked_sub(span.start).and_then(|offset| {
            let start = there.end.checked_sub(offset)?;
            Some(Span {
                start,
                end: start + (span.end - span.start),
            })
        });
        let same = [from_start, from_end].into_iter().flatten().find(|range| {
            range.start >= there.start && range.end <= there.end && found.slice(*range) == changed
        });
        all.extend(same);
    }
    all
}

/// The kernel line that the comment after a statement names.
pub(super) fn origin(source: &str, span: Span) -> Option<&str> {
    let line = source.get(span.end..)?.lines().next()?;
    let place = line.rsplit_once("// ")?.1.trim();
    let (file, number) = place.rsplit_once(':')?;
    (file.contains('.') && number.parse::<usize>().is_ok()).then_some(place)
}

/// The line on which a statement begins.
fn whole(source: &str, span: Span) -> Span {
    let start = source[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source[span.start..]
        .find('\n')
        .map_or(source.len(), |at| span.start + at + 1);
    Span {
        start,
        end: end.max(span.end),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::text;

    use super::super::Stuck;
    use super::super::all;

    #[test]
    fn statements_of_one_line_change_together() {
        let source = "protocol p\nmbarrier b { arrivals: 2 }\nrole x {\n    wait b 0  // k.cu:7\n}\nrole y {\n    wait b 0  // k.cu:7\n}\nrole z {\n    wait b 0  // k.cu:9\n}\n";
        let file = text::syntax(source).expect("a text");
        let stuck = Stuck {
            roles: BTreeSet::new(),
            objects: BTreeSet::new(),
        };
        let edits = all(source, &file, &stuck);
        let changed: Vec<String> = edits
            .iter()
            .filter(|edit| edit.what.contains("other phase"))
            .map(|edit| edit.apply(source))
            .collect();
        assert!(
            changed
                .iter()
                .any(|text| text.matches("wait b 1  // k.cu:7").count() == 2
                    && text.contains("wait b 0  // k.cu:9"))
        );
        assert!(
            changed
                .iter()
                .all(|text| text.matches("wait b 1  // k.cu:7").count() != 1)
        );
    }
}
