//! Findings as text for people: the source line, what is wrong, and what to do.

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

/// Words findings about a text, one after the other, each ending with a line end.
///
/// `file_name` is only displayed. `color` asks for terminal escape sequences. Spans outside
/// the source are moved to its nearest end, and control characters of the source are replaced,
/// so the result is safe to show whatever the text was.
pub fn render(diagnostics: &[Diagnostic], file_name: &str, source: &str, color: bool) -> String {
    let shown: String = source.chars().map(visible).collect();
    let name: String = file_name.chars().map(visible).collect();
    let mut out = Vec::new();
    let cached = Source::from(shown.as_str());
    for diagnostic in diagnostics {
        let report = report(diagnostic, &name, &shown, color);
        // Writing to memory cannot fail.
        let _ = report.write((name.clone(), &cached), &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
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
    let mut main = Label::new(place(diagnostic.span)).with_color(tint);
    if !diagnostic.label.is_empty() {
        main = main.with_message(&diagnostic.label);
    }
    let related = diagnostic.related.iter().map(|(span, label)| {
        Label::new(place(*span))
            .with_message(label)
            .with_color(Color::Blue)
            .with_order(1)
    });
    let mut report = Report::build(kind, place(diagnostic.span))
        .with_config(config)
        .with_message(&diagnostic.message)
        .with_label(main)
        .with_labels(related);
    report.with_helps(&diagnostic.hints);
    report.finish()
}

/// A byte range inside the source, on character boundaries.
fn clamp(span: Span, source: &str) -> std::ops::Range<usize> {
    let boundary = |at: usize| {
        let mut at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(span.start);
    start..boundary(span.end).max(start)
}

/// The character, or one of as many bytes where it could disturb a terminal.
fn visible(c: char) -> char {
    match (deceptive(c), c.len_utf8()) {
        (false, _) => c,
        (true, 1) => '?',
        (true, 2) => '\u{b7}',
        (true, _) => '\u{fffd}',
    }
}
