//! Findings as Markdown, for an issue or a summary: first a table, then the findings that need action, with their
//! evidence.

use std::fmt::Write;

use super::evidence;
use super::finding::Finding;
use super::finding::Word;
use super::style::Style;
use super::text;
use super::text::Detail;
use super::text::abridged;
use super::text::cell;
use super::text::visible;

/// How many characters of a summary are in the table.
const SHORT: usize = 120;

/// One document.
pub fn document(findings: &[Finding], failures: &[String], z3: &'static str) -> String {
    let mut out = String::new();
    if findings.is_empty() && failures.is_empty() {
        out.push_str("Nothing was decided.\n");
    }
    if !findings.is_empty() {
        out.push_str(
            "| verdict | property | protocol | file | |\n| --- | --- | --- | --- | --- |\n",
        );
    }
    for finding in findings {
        let place = finding.place();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| {} | {} | {} | {}:{} | {} |",
            finding.verdict.as_str(),
            finding.property,
            cell(&finding.protocol),
            cell(&place.file),
            place.line,
            cell(&abridged(&finding.summary, SHORT))
        );
    }
    let detail = Detail {
        style: Style::PLAIN,
        quiet: false,
        argument: false,
        chart: false,
        z3,
    };
    for finding in findings.iter().filter(|f| f.verdict != Word::Proved) {
        let title = format!(
            "{} {} of {}",
            finding.property,
            finding.verdict.as_str(),
            finding.protocol
        );
        let text = text::finding(finding, detail);
        let evidence = evidence::evidence(finding).unwrap_or_default();
        let _ = write!(out, "\n### {}\n\n{evidence}{}", cell(&title), fenced(&text));
    }
    for failure in failures {
        let _ = write!(out, "\n{}", fenced(failure));
    }
    out
}

/// Text between fences that the text itself cannot end.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let lines: Vec<String> = text.trim_end().lines().map(visible).collect();
    format!("{fence}text\n{}\n{fence}\n", lines.join("\n"))
}
