//! Findings as JUnit XML: a suite for each file, a case for each property.
//!
//! The format has five elements and one way of escaping, so it is written here.

use std::fmt::Write;

use super::finding::Finding;
use super::finding::Word;

/// One document. Errors are a suite of their own.
pub fn document(findings: &[Finding], failures: &[String]) -> String {
    let mut files: Vec<&str> = Vec::new();
    for finding in findings {
        if !files.contains(&finding.file.as_str()) {
            files.push(&finding.file);
        }
    }
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"warplock\">\n",
    );
    for file in files {
        let here = findings.iter().filter(|finding| finding.file == file);
        let here: Vec<&Finding> = here.collect();
        let failed = here
            .iter()
            .filter(|f| problem(f) == Some("failure"))
            .count();
        let errors = here.iter().filter(|f| problem(f) == Some("error")).count();
        let seconds: f64 = here.iter().map(|finding| finding.seconds).sum();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\" time=\"{seconds:.3}\">",
            escaped(file),
            here.len()
        );
        for finding in here {
            case(&mut out, finding);
        }
        out.push_str("  </testsuite>\n");
    }
    if !failures.is_empty() {
        let count = failures.len();
        let _ = writeln!(
            out,
            "  <testsuite name=\"warplock\" tests=\"{count}\" failures=\"0\" errors=\"{count}\">"
        );
        for failure in failures {
            let text = escaped(failure.trim_end());
            let _ = writeln!(
                out,
                "    <testcase name=\"run\" classname=\"warplock\">\n      <error type=\"failure\">{text}</error>\n    </testcase>"
            );
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// The element for a finding that is no success.
fn problem(finding: &Finding) -> Option<&'static str> {
    match (&finding.expectation, finding.verdict) {
        (Some(expected), _) => (!expected.met).then_some("failure"),
        (None, Word::Proved) => None,
        (None, Word::Refuted) => Some("failure"),
        (None, Word::Bounded | Word::Unknown) => Some("error"),
    }
}

fn case(out: &mut String, finding: &Finding) {
    let place = finding.place();
    let _ = write!(
        out,
        "    <testcase name=\"{}\" classname=\"{}\" file=\"{}\" line=\"{}\" time=\"{:.3}\"",
        finding.property,
        escaped(&finding.protocol),
        escaped(&place.file),
        place.line,
        finding.seconds
    );
    let Some(element) = problem(finding) else {
        out.push_str("/>\n");
        return;
    };
    let word = finding.verdict.as_str();
    let _ = writeln!(
        out,
        ">\n      <{element} type=\"{word}\" message=\"{}\">",
        escaped(&finding.summary)
    );
    if let Some(counterexample) = &finding.counterexample {
        for event in &counterexample.trace {
            let line = event.line.and_then(|line| finding.place_of(line));
            let line = line.map_or_else(String::new, |p| format!(" ({}:{})", p.file, p.line));
            let _ = writeln!(
                out,
                "{} {}{}",
                escaped(&event.member),
                escaped(&event.what),
                escaped(&line)
            );
        }
    }
    let _ = writeln!(out, "      </{element}>\n    </testcase>");
}

/// Escapes text for content and attributes. XML allows no control characters except for blanks.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
