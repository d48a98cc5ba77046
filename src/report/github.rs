//! Findings as workflow commands of GitHub Actions. Each becomes an annotation at its line.

use super::finding::Finding;
use super::finding::Word;

/// The workflow command for a finding, on one line.
pub fn line(finding: &Finding) -> String {
    let met = finding.expectation.as_ref().map(|expected| expected.met);
    let level = match (met, finding.verdict) {
        (Some(true), _) | (None, Word::Proved) => "notice",
        (Some(false), _) | (None, Word::Refuted) => "error",
        (None, Word::Bounded | Word::Unknown) => "warning",
    };
    let place = finding.place();
    let title = format!(
        "{}: {} {}",
        finding.protocol,
        finding.property,
        finding.verdict.as_str()
    );
    format!(
        "::{level} file={},line={},title={}::{}\n",
        property(&place.file),
        place.line,
        property(&title),
        message(&finding.summary)
    )
}

/// The workflow command for an error, on one line.
pub fn failure(text: &str) -> String {
    let text = text.trim_end();
    let text = text.strip_prefix("error: ").unwrap_or(text);
    format!("::error title=warplock::{}\n", message(text))
}

fn message(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
