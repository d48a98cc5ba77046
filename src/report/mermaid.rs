//! A counterexample as text for Mermaid: a sequence chart.
//!
//! Source of the syntax: <https://mermaid.js.org/syntax/sequenceDiagram.html>.

use std::fmt::Write;

use super::chart::Chart;
use super::chart::chart;
use super::finding::Finding;
use super::text::cell;

/// How many of the last steps a chart shows. Viewers reject long texts.
const STEPS: usize = 60;

/// The charts of all counterexamples as Markdown: each in a fence of its own, which issue trackers draw.
pub fn document(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let verdict = finding.verdict.as_str();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}**{} of {}: {verdict}** {}",
            if out.is_empty() { "" } else { "\n" },
            finding.property,
            cell(&finding.protocol),
            cell(&finding.summary)
        );
        if let Some(counterexample) = &finding.counterexample {
            let chart = sequence(&chart(counterexample));
            let _ = write!(out, "\n```mermaid\n{chart}```\n");
        }
    }
    match out.is_empty() {
        true => "Nothing was decided.\n".to_owned(),
        false => out,
    }
}

/// The sequence chart: members, then elements, with the actions as arrows from one to the other.
fn sequence(chart: &Chart) -> String {
    let mut out = String::from("sequenceDiagram\n");
    let hidden = chart.steps.len().saturating_sub(STEPS);
    let shown = &chart.steps[hidden..];
    // Writing to a string cannot fail.
    for (at, lane) in chart.lanes.iter().enumerate() {
        let _ = writeln!(out, "  participant m{at} as {}", escaped(lane));
    }
    for (at, element) in chart.elements.iter().enumerate() {
        let _ = writeln!(out, "  participant e{at} as {}", escaped(element));
    }
    if hidden > 0 {
        let before: usize = chart.steps[..hidden].iter().map(|step| step.count).sum();
        let _ = writeln!(out, "  Note over m0: {before} earlier steps");
    }
    // The name is repeated only if the lane is not that of a single member.
    let said = |lane: usize, who: &str, what: &str| match chart.lanes.get(lane) {
        Some(name) if name == who => escaped(what),
        _ => escaped(&format!("{who} {what}")),
    };
    for step in shown {
        let what = said(step.lane, &step.who, &step.what);
        let _ = match &step.left {
            Some((element, _)) => writeln!(out, "  m{}->>e{element}: {what}", step.lane),
            None => writeln!(out, "  Note over m{}: {what}", step.lane),
        };
    }
    for wait in &chart.waits {
        let what = said(wait.lane, &wait.who, &wait.what);
        let _ = writeln!(out, "  m{}-xe{}: {what}", wait.lane, wait.element);
    }
    out
}

/// Text in a message. `;` ends a message, `#` begins an entity.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            ';' | '#' | '<' | '>' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
