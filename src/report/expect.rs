//! `expect` lines: the verdicts that a file expects, compared with the actual ones.

use crate::protocol::Expectation;
use crate::protocol::Protocol;
use crate::witness;

use super::finding::Comparison;
use super::finding::Finding;
use super::style::Style;
use super::text;

/// Compares a finding with the expectation it was made for.
pub fn compare(protocol: &Protocol, expectation: &Expectation, finding: &Finding) -> Comparison {
    let name = |at: usize| protocol.params.get(at).map_or("?", |p| p.name.as_str());
    let values = finding.parameters.as_ref();
    let mut met = finding.verdict.as_str().to_lowercase() == expectation.verdict;
    for (param, value) in &expectation.at {
        met &= values.and_then(|values| values.get(name(param.0))) == Some(value);
    }
    let mut found = finding.verdict.as_str().to_lowercase();
    if let Some(values) = values {
        // Those that are expected, or all if none is.
        let shown: Vec<String> = protocol
            .params
            .iter()
            .enumerate()
            .filter(|(at, _)| {
                expectation.at.is_empty() || expectation.at.iter().any(|(id, _)| id.0 == *at)
            })
            .filter_map(|(_, p)| Some(format!("{} = {}", p.name, values.get(&p.name)?)))
            .collect();
        if !shown.is_empty() {
            found.push_str(&format!(" at {}", shown.join(", ")));
        }
    }
    let span = expectation.span;
    let written = protocol.source.get(span.start..span.end).unwrap_or("");
    let words = written.split_whitespace();
    let words: Vec<&str> = words.skip_while(|word| *word == "expect").collect();
    Comparison {
        line: witness::line(&protocol.source, span),
        expected: words.join(" "),
        found,
        met,
    }
}

/// The line that says whether an expectation is met; `None` for a finding without one.
pub fn line(finding: &Finding, style: Style) -> Option<String> {
    let comparison = finding.expectation.as_ref()?;
    let place = format!("{}:{}", text::visible(&finding.file), comparison.line);
    Some(if comparison.met {
        format!("{}: ok: {}\n", style.bold(&place), comparison.expected)
    } else {
        format!(
            "{}: {}: expected `{}`, got {}: {}\n",
            style.bold(&place),
            style.bad("differs"),
            comparison.expected,
            comparison.found,
            finding.summary
        )
    })
}
