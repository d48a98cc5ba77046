//! Prints diagnostics: the source line, the error, and what to do.

use ariadne::Color;
use ariadne::Config;
use ariadne::IndexType;
use ariadne::Label;
use ariadne::Report;
use ariadne::ReportKind;
use ariadne::Source;

use super::deceptive;
use super::diagnostic::Diagnostic;
use super::diagnostic::Severity;
use crate::protocol::Span;

/// Formats diagnostics about a text, one after the other, each ending with a line end.
///
/// `file_name` is only displayed. `color` asks for terminal escape sequences. Spans outside the source are moved to
/// its nearest end, and control characters of the source are replaced. So the result can be shown safely, whatever
/// the text was.
pub fn render(diagnostics: &[Diagnostic], file_name: &str, source: &str, color: bool) -> String {
    let shown: String = source.chars().map(visible).collect();
    let name: String = file_name.chars().map(visible).collect();
    let mut out = Vec::new();
    let cached = Source::from(shown.as_str());
    for diagnostic in diagnostics {
        if line(&shown, diagnostic.span).len() > MAX_LINE {
            brief(&mut out, diagnostic, &name, &shown);
            continue;
        }
        let report = report(diagnostic, &name, &shown, color);
        // Writing to memory cannot fail.
        let _ = report.write((name.clone(), &cached), &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The longest line, in bytes, that is shown.
const MAX_LINE: usize = 400;

/// Formats a diagnostic without its line, because the line is too long to be shown.
fn brief(out: &mut Vec<u8>, diagnostic: &Diagnostic, name: &str, source: &str) {
    let start = clamp(diagnostic.span, source).start;
    let number = source[..start].matches('\n').count() + 1;
    let column = start - line_start(source, start) + 1;
    let kind = match diagnostic.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
    };
    let mut text = format!(
        "{kind}: {}\n   at {name}:{number}:{column}\n",
        diagnostic.message
    );
    for hint in &diagnostic.hints {
        text.push_str(&format!("   Help: {hint}\n"));
    }
    out.extend_from_slice(text.as_bytes());
}

fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The line that a span begins in.
fn line(source: &str, span: Span) -> &str {
    let start = clamp(span, source).start;
    let end = source[start..]
        .find('\n')
        .map_or(source.len(), |n| start + n);
    &source[line_start(source, start)..end]
}

type Place = (String, std::ops::Range<usize>);

fn report(
    diagnostic: &Diagnostic,
    name: &str,
    source: &str,
    color: bool,
) -> Report<'static, Place> {
    let (kind, tint) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
    };
    let place = |span: Span| (name.to_owned(), clamp(span, source));
    let config = Config::new()
        .with_color(color)
        .with_index_type(IndexType::Byte);
    let mut labels = vec![(diagnostic.span, &diagnostic.label, tint)];
    let related = diagnostic.related.iter();
    let shown = related.filter(|(span, _)| line(source, *span).len() <= MAX_LINE);
    labels.extend(shown.map(|(span, label)| (*span, label, Color::Blue)));
    // In text order, so that nearby places share one excerpt.
    labels.sort_by_key(|(span, ..)| span.start);
    let labels = labels.into_iter().map(|(span, label, color)| {
        let place = Label::new(place(span)).with_color(color);
        match label.is_empty() {
            true => place,
            false => place.with_message(label),
        }
    });
    let mut report = Report::build(kind, place(diagnostic.span))
        .with_config(config)
        .with_message(&diagnostic.message)
        .with_labels(labels);
    report.with_helps(&diagnostic.hints);
    report.finish()
}

/// The part of a span on its first line, inside the source and on character boundaries.
fn clamp(span: Span, source: &str) -> std::ops::Range<usize> {
    let boundary = |at: usize| {
        let mut at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(span.start);
    let end = boundary(span.end).max(start);
    let line = source[start..end].find('\n').map_or(end, |n| start + n);
    start..line
}

/// The character. If it could disturb a terminal, another character of the same length in bytes.
fn visible(c: char) -> char {
    match (deceptive(c), c.len_utf8()) {
        (false, _) => c,
        (true, 1) => '?',
        (true, 2) => '\u{b7}',
        (true, _) => '\u{fffd}',
    }
}
