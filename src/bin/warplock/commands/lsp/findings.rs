//! Diagnostics of a document, and code actions that fix them.

use std::collections::HashMap;

use lsp_types::CodeAction;
use lsp_types::CodeActionKind;
use lsp_types::CodeActionOrCommand;
use lsp_types::Diagnostic;
use lsp_types::DiagnosticRelatedInformation;
use lsp_types::DiagnosticSeverity;
use lsp_types::Location;
use lsp_types::NumberOrString;
use lsp_types::Range;
use lsp_types::TextEdit;
use lsp_types::Uri;
use lsp_types::WorkspaceEdit;
use warplock::protocol::Span;
use warplock::report::Finding;
use warplock::report::Word;
use warplock::text;

use super::document::Document;

/// The name of this program in diagnostics.
const SOURCE: &str = "warplock";

/// The diagnostics of a text: its mistakes, or if it has none, the verdicts about it.
pub fn diagnostics(document: &Document) -> Vec<Diagnostic> {
    match &document.loaded {
        Err(findings) => findings
            .iter()
            .map(|finding| mistake(document, finding))
            .collect(),
        Ok(_) => {
            let findings = document
                .verdicts
                .iter()
                .flat_map(|verdict| verdict.findings());
            findings
                .flat_map(|finding| decided(document, finding))
                .collect()
        }
    }
}

fn mistake(document: &Document, finding: &text::Diagnostic) -> Diagnostic {
    let mut message = finding.message.clone();
    if !finding.label.is_empty() && !message.contains(&finding.label) {
        message.push_str(&format!("\n{}", finding.label));
    }
    for hint in &finding.hints {
        message.push_str(&format!("\nhint: {hint}"));
    }
    let related = finding.related.iter();
    let related = related.map(|(span, label)| DiagnosticRelatedInformation {
        location: Location::new(document.uri.clone(), document.range(*span)),
        message: label.clone(),
    });
    let severity = match finding.severity {
        text::Severity::Error => DiagnosticSeverity::ERROR,
        text::Severity::Warning => DiagnosticSeverity::WARNING,
    };
    Diagnostic {
        range: document.range(finding.span),
        severity: Some(severity),
        source: Some(SOURCE.to_owned()),
        message,
        related_information: Some(related.collect()),
        ..Diagnostic::default()
    }
}

/// The diagnostics of a verdict: a counterexample, at the line at fault, and an expectation that is not met, at its
/// own line.
fn decided(document: &Document, finding: &Finding) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    let met = finding.expectation.as_ref().map(|expected| expected.met);
    let of = |line: usize, severity, message| Diagnostic {
        range: document.range(document.line(line)),
        severity: Some(severity),
        code: Some(NumberOrString::String(finding.property.to_owned())),
        source: Some(SOURCE.to_owned()),
        message,
        ..Diagnostic::default()
    };
    if finding.verdict == Word::Refuted {
        let severity = match met {
            Some(true) => DiagnosticSeverity::INFORMATION,
            _ => DiagnosticSeverity::ERROR,
        };
        let (property, summary) = (finding.property, &finding.summary);
        let message = format!("{property}: REFUTED {summary}");
        all.push(of(finding.line.unwrap_or(1), severity, message));
    }
    if let Some(expected) = finding
        .expectation
        .as_ref()
        .filter(|expected| !expected.met)
    {
        let message = format!("expected `{}`, got {}", expected.expected, expected.found);
        all.push(of(expected.line, DiagnosticSeverity::ERROR, message));
    }
    all
}

/// The fixes for mistakes within a range.
pub fn actions(document: &Document, range: Range) -> Vec<CodeActionOrCommand> {
    let Err(findings) = &document.loaded else {
        return Vec::new();
    };
    let asked = document.span(range);
    let touches = |span: Span| span.start <= asked.end && asked.start <= span.end;
    let mut actions = Vec::new();
    for finding in findings.iter().filter(|finding| touches(finding.span)) {
        let fixes = finding.hints.iter().filter_map(|hint| hint.fix.as_ref());
        for fix in fixes {
            let edit = edit(document, vec![(fix.span, fix.text.clone())]);
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: fix.title.clone(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![mistake(document, finding)]),
                edit: Some(edit),
                is_preferred: Some(fix.span == finding.span),
                ..CodeAction::default()
            }));
        }
    }
    actions
}

/// The edit that replaces some parts of a text.
pub fn edit(document: &Document, parts: Vec<(Span, String)>) -> WorkspaceEdit {
    let edits = parts.into_iter();
    let edits = edits.map(|(span, text)| TextEdit::new(document.range(span), text));
    // The LSP has this type for its keys. The hash of a URI does not change while it is a key.
    #[allow(clippy::mutable_key_type)]
    let changes: HashMap<Uri, Vec<TextEdit>> = [(document.uri.clone(), edits.collect())].into();
    WorkspaceEdit::new(changes)
}
