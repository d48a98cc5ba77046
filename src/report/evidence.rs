//! The evidence for a hang in an issue or a summary: the hypothesis, its predictions, what would refute it, and the run.

use super::cited::called;
use super::finding::Finding;
use super::finding::Word;
use super::ranges;
use super::stuck::Blocked;
use super::text::cell;

/// How many places of waits are listed.
const LISTED: usize = 6;

/// The paragraphs before the run, as Markdown; none if no run hangs.
pub(super) fn evidence(finding: &Finding) -> Option<String> {
    let counterexample = finding.counterexample.as_ref()?;
    let stuck = &counterexample.stuck;
    if finding.verdict != Word::Refuted || stuck.blocked.is_empty() {
        return None;
    }
    let at = match counterexample.input.as_str() {
        "" => "Any launch".to_owned(),
        input => format!("A launch with {}", cell(input)),
    };
    let places = ranges::together(&stuck.blocked, |b| &b.member, Blocked::is_like);
    let more = places.len().saturating_sub(LISTED);
    let mut waits: Vec<String> = places
        .into_iter()
        .take(LISTED)
        .map(|(who, run)| {
            let b = &run[0];
            let place = called(b.line, b.kernel.as_ref());
            let text = format!(
                "{who} at {place}, for {} {}, and finds {}",
                b.element, b.wants, b.value
            );
            format!("- {}\n", cell(&text))
        })
        .collect();
    if more > 0 {
        waits.push(format!("- and {more} more\n"));
    }
    let (file, entry) = match &finding.kernel {
        Some(kernel) => (
            kernel.file.as_str(),
            format!(" --entry {}", finding.protocol),
        ),
        None => (finding.file.as_str(), String::new()),
    };
    let parameters = finding.parameters.iter().flatten();
    let set: String = parameters
        .map(|(name, value)| format!(" --set {name}={value}"))
        .collect();
    let property = match finding.property {
        "deadlock" => String::new(),
        property => format!(" --property {property}"),
    };
    Some(format!(
        "**Theory.** {}.\n\n\
         **It predicts.** {at} can stop for ever, and then these wait:\n\n{}\n\
         **It does not explain your hang** if a debugger shows other waits, other lines or other phases of these barriers. \
         `warplock hang` compares what cuda-gdb prints with it.\n\n\
         **The run**, found by `warplock check{property}{entry}{set} {file}`:\n\n",
        cell(&stuck.sentence),
        waits.concat(),
    ))
}
