//! The result for an observed hang: whether it was reached, and which member each observed thread is.

use serde::Serialize;

use crate::observation::Labelled;
use crate::observation::Observation;
use crate::observation::bind::Bound;
use crate::observation::bind::Is;
use crate::observation::bind::Texts;
use crate::observation::bind::waits;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::semantics::step;
use crate::verdict::decision::Decision;
use crate::verdict::decision::Verdict;
use crate::verdict::hang::Answer;
use crate::witness;
use crate::witness::ReplayError;

use super::finding;
use super::finding::Finding;
use super::style::Style;
use super::text;
use super::text::Detail;
use super::text::visible;
use super::words::joined;

/// The possible answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A run of the kernel leads to the observed state.
    Reached,
    /// No run of the kernel leads there.
    Excluded,
    /// The search found no such run.
    NotFound,
    /// The kernel's synchronization could not be recovered, or no line of the observation belongs to it.
    Unknown,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 4] = [
        Outcome::Reached,
        Outcome::Excluded,
        Outcome::NotFound,
        Outcome::Unknown,
    ];

    /// As printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Reached => "REACHED",
            Outcome::Excluded => "EXCLUDED",
            Outcome::NotFound => "NOT FOUND",
            Outcome::Unknown => "UNKNOWN",
        }
    }
}

/// An observed hang, explained.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The file of the kernel.
    pub file: String,
    /// The protocol's name.
    pub protocol: String,
    /// The answer.
    pub outcome: Outcome,
    /// The text that follows the answer on the first line.
    pub summary: String,
    /// Threads that were seen, one sentence each.
    pub seen: Vec<String>,
    /// Barriers that were seen, one sentence each.
    pub barriers: Vec<String>,
    /// Conclusions that help with the search for the cause.
    pub notes: Vec<String>,
    /// The run to the observed state or to another hang of the kernel, or the proof that there is none.
    pub finding: Option<Finding>,
    /// Whether this run ends in the observed state.
    pub is_that: bool,
}

/// Where a protocol was recovered from.
#[derive(Debug, Clone, Copy)]
pub struct Kernel<'a> {
    /// Its file.
    pub file: &'a str,
    /// Its text.
    pub source: &'a str,
    /// For each line of the protocol, the line of that text.
    pub lines: &'a [Option<usize>],
}

/// Puts an answer into words.
///
/// # Errors
///
/// A counterexample that does not replay, which is a mistake in this program.
pub fn report(
    file: &str,
    protocol: &Protocol,
    kernel: Option<Kernel<'_>>,
    bound: &Bound<'_>,
    answer: &Answer,
) -> Result<Report, ReplayError> {
    let finding = |decision: &Decision| -> Result<Finding, ReplayError> {
        let mut finding = finding::finding(file, protocol, decision)?;
        finding.hint = None;
        if let Some(kernel) = kernel {
            finding.recovered_from(kernel.file, kernel.source, kernel.lines);
        }
        Ok(finding)
    };
    let members = match answer {
        Answer::Reached(decision) => waiting(protocol, bound, decision)?,
        _ => Vec::new(),
    };
    let mut report = Report {
        file: file.to_owned(),
        protocol: protocol.name.clone(),
        outcome: Outcome::NotFound,
        summary: String::new(),
        seen: seen(bound, &members),
        barriers: barriers(bound.observation),
        notes: [notes(bound), unused(protocol, bound.observation)].concat(),
        finding: None,
        is_that: false,
    };
    let other = match answer {
        Answer::Reached(decision) => {
            let finding = finding(decision)?;
            report.outcome = Outcome::Reached;
            report.summary = finding.summary.clone();
            report.is_that = true;
            report.finding = Some(finding);
            &None
        }
        Answer::NeverStuck(decision) => {
            let finding = finding(decision)?;
            report.outcome = Outcome::Excluded;
            report.summary = format!(
                "no run of this kernel gets stuck: freedom from deadlock is proved {}",
                finding.summary
            );
            report.notes.push(
                "the cause lies elsewhere: a launch that does not meet the assumptions, a memory fault, \
                 another kernel or the host that this one waits for, or a build of another source"
                    .to_owned(),
            );
            report.finding = Some(finding);
            &None
        }
        Answer::Explored { other } => {
            report.outcome = Outcome::Excluded;
            report.summary =
                "no run leads there: every schedule of every input was explored".to_owned();
            other
        }
        Answer::Open { reason } => {
            report.outcome = Outcome::Unknown;
            report.summary = (*reason).to_owned();
            &None
        }
        Answer::NotFound {
            within,
            other,
            reason,
        } => {
            report.summary = format!("no run that leads there was found {within}");
            if let Some(reason) = reason {
                report.notes.push(format!(
                    "no hang of this kernel was found, and that there is none is not proved: {reason}"
                ));
            }
            report.notes.push(
                "this is no proof: larger values were not tried, and not every schedule; --set P=V searches at \
                 the values of the launch, --timeout searches further"
                    .to_owned(),
            );
            other
        }
    };
    if kernel.is_some() && report.is_that {
        report.notes.push(
            "lines of the trace are those of the protocol that `warplock lift` prints".to_owned(),
        );
    }
    if let Some(decision) = other {
        let finding = finding(decision)?;
        report.notes.push(format!(
            "the kernel hangs in another state: {}",
            finding.summary
        ));
        report.finding = Some(finding);
    }
    Ok(report)
}

/// The report if nothing can be searched.
pub fn unknown(
    file: &str,
    entry: &str,
    observation: &Observation,
    reason: &str,
    notes: Vec<String>,
) -> Report {
    let bound = Bound::unrelated(observation);
    Report {
        file: file.to_owned(),
        protocol: entry.to_owned(),
        outcome: Outcome::Unknown,
        summary: reason.to_owned(),
        seen: seen(&bound, &[]),
        barriers: barriers(observation),
        notes,
        finding: None,
        is_that: false,
    }
}

/// The report if an observation names none of the kernel's lines. Lists the lines that it could name.
pub fn unrelated(file: &str, protocol: &Protocol, texts: Texts<'_>, bound: &Bound<'_>) -> Report {
    let lines = waits(protocol, texts);
    let mut notes = notes(bound);
    notes.push(match lines.is_empty() {
        true => "this kernel waits nowhere".to_owned(),
        false => format!("this kernel waits at {}", joined(&lines)),
    });
    let mut report = unknown(
        file,
        &protocol.name,
        bound.observation,
        "what was seen is at no line at which this kernel waits",
        notes,
    );
    report.seen = seen(bound, &[]);
    report
}

/// The report if nothing can be said about a kernel, with the reason.
pub fn undecided(file: &str, protocol: &Protocol, bound: &Bound<'_>, reason: &str) -> Report {
    let (name, observation) = (&protocol.name, bound.observation);
    let mut report = unknown(file, name, observation, reason, notes(bound));
    report.seen = seen(bound, &[]);
    report
}

/// For each thread that was seen: the members that wait in this way at the end of the run.
fn waiting(
    protocol: &Protocol,
    bound: &Bound<'_>,
    decision: &Decision,
) -> Result<Vec<Vec<String>>, ReplayError> {
    let Verdict::Refuted(refutation) = &decision.verdict else {
        return Ok(Vec::new());
    };
    let replayed = witness::replay(protocol, &refutation.witness)?;
    let blocked = step::blocked(&replayed.instance, &replayed.state);
    let each = (0..bound.each.len()).map(|position| {
        let members = bound
            .members(position, &replayed.instance, &blocked)
            .unwrap_or_default();
        let words = members.iter().map(|b| {
            format!(
                "{} waits for {} {}, found {}",
                replayed.instance.member_name(b.member),
                replayed.instance.cell_name(b.op.cell),
                witness::wanted(b.op.kind),
                witness::shown(&replayed.instance, &b.cell)
            )
        });
        words.collect()
    });
    Ok(each.collect())
}

/// How many members are named for one thread.
const NAMED: usize = 2;

fn seen(bound: &Bound<'_>, members: &[Vec<String>]) -> Vec<String> {
    let all = bound.observation.seen.iter().zip(&bound.each).enumerate();
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (position, (seen, is)) in all {
        let what = match is {
            Is::Waiting(..) | Is::Somewhere(_) => match members.get(position) {
                Some(members) if !members.is_empty() => {
                    let more = members.len().saturating_sub(NAMED);
                    let mut words = members
                        .iter()
                        .take(NAMED)
                        .cloned()
                        .collect::<Vec<_>>()
                        .join("; ");
                    if more > 0 {
                        words.push_str(&format!("; and {more} more"));
                    }
                    words
                }
                _ => "waits there".to_owned(),
            },
            Is::Running(place) => format!("{place} is in this kernel, and it does not wait there"),
            Is::Elsewhere if seen.places.is_empty() => {
                "no line is known of it (`info line *ADDRESS` in the debugger says it)".to_owned()
            }
            Is::Elsewhere => "no line of this kernel".to_owned(),
        };
        let matters = match is {
            Is::Waiting(place, _) => Some(place),
            _ => None,
        };
        let place = visible(&format!("{}: {what}", seen.at(matters)));
        match lines.iter_mut().find(|(known, _)| *known == place) {
            Some((_, who)) => who.push(seen.who()),
            None => lines.push((place, vec![seen.who()])),
        }
    }
    let line = |(place, who): (String, Vec<String>)| {
        let more = who.len().saturating_sub(1);
        let first = &who[0];
        match more {
            0 => format!("{first} at {place}"),
            more => format!("{first} and {more} more like it at {place}"),
        }
    };
    lines.into_iter().map(line).collect()
}

/// The meaning of the words of memory, and whether threads that wait on them can go on.
fn barriers(observation: &Observation) -> Vec<String> {
    let words = observation.barriers.iter().map(|barrier| {
        let Labelled {
            label,
            address,
            word,
        } = barrier;
        let waits = observation
            .seen
            .iter()
            .filter(|seen| seen.address.is_some() && seen.address == *address);
        let mut words = format!("{}: {}", visible(label), word.words());
        for seen in waits {
            if let Some(parity) = seen.parity {
                let what = match parity == word.phase {
                    true => "waits for that phase to end",
                    false => "waits for the phase before, which is over: it was on its way on",
                };
                words.push_str(&format!("; {} {what}", seen.who()));
            }
        }
        words
    });
    words.collect()
}

/// The note about words of memory that could not be used, because their barriers in the protocol are not known.
fn unused(protocol: &Protocol, observation: &Observation) -> Vec<String> {
    let barriers = protocol.objects.iter();
    let barriers = barriers.filter(|object| matches!(object.kind, ObjectKind::Mbarrier { .. }));
    let names: Vec<&str> = barriers.map(|object| object.name.as_str()).collect();
    let known = |label: &str| names.contains(&label.split('[').next().unwrap_or(label));
    let awaited = |address: u64| {
        let mut seen = observation.seen.iter();
        seen.any(|seen| seen.address == Some(address))
    };
    let mut strange = Vec::new();
    for barrier in &observation.barriers {
        let nobody = barrier.address.is_none_or(|address| !awaited(address));
        if !known(&barrier.label) && nobody && !strange.contains(&barrier.label) {
            strange.push(barrier.label.clone());
        }
    }
    if strange.is_empty() {
        return strange;
    }
    let labels = strange
        .iter()
        .map(|label| visible(label))
        .collect::<Vec<_>>();
    let words = match labels.len() {
        1 => "the word of",
        _ => "the words of",
    };
    vec![format!(
        "{words} {} not used: the protocol has no mbarrier of that name, and nobody who was seen waits there; its mbarriers are {}",
        labels.join(", ") + if labels.len() == 1 { " is" } else { " are" },
        names.join(", ")
    )]
}

fn notes(bound: &Bound<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let pcs = bound.observation.seen.iter();
    let pcs = pcs
        .filter(|seen| seen.places.is_empty() && seen.pc.is_some())
        .count();
    if pcs > 0 {
        let (them, lines) = match pcs {
            1 => ("1 thread has", "it"),
            _ => ("some threads have", "them"),
        };
        notes.push(format!(
            "{them} a program counter and no line: compile with -lineinfo, and add what `info line *ADDRESS` \
             prints for {lines}"
        ));
    }
    let unread = bound.observation.unread;
    if unread > 0 && bound.observation.seen.is_empty() {
        notes.push(format!(
            "{unread} lines of the observation were not understood"
        ));
    }
    notes
}

/// How many threads are listed.
const LISTED: usize = 8;

/// The report as text.
pub fn text(report: &Report, detail: Detail) -> String {
    let style = detail.style;
    let word = match report.outcome {
        Outcome::Reached => style.bad(report.outcome.as_str()),
        _ => style.bold(report.outcome.as_str()),
    };
    let mut out = format!(
        "{}: hang: {word} {}\n",
        style.bold(&visible(&report.file)),
        report.summary
    );
    if detail.quiet {
        return style.fitted(&out);
    }
    if let Some(finding) = report.finding.as_ref().filter(|_| report.is_that) {
        out.push_str(&text::place(finding, style));
    }
    let most = if style.verbose { usize::MAX } else { LISTED };
    listed(&mut out, style, "seen", &report.seen, most);
    listed(&mut out, style, "barriers", &report.barriers, most);
    listed(&mut out, style, "notes", &report.notes, usize::MAX);
    let used = style.height(&out);
    match &report.finding {
        Some(finding) if style.verbose => out.push_str(&text::details(finding, detail, used)),
        Some(finding) if report.is_that => {
            out.push_str(&text::chain_and_trace(finding, style, used));
        }
        Some(finding) if finding.proof.is_some() => {
            listed(
                &mut out,
                style,
                "assumptions",
                &finding.assumptions,
                usize::MAX,
            );
        }
        _ => {}
    }
    style.fitted(&out)
}

fn listed(out: &mut String, style: Style, title: &str, lines: &[String], most: usize) {
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("  {}\n", style.bold(&format!("{title}:"))));
    for line in lines.iter().take(most) {
        out.push_str(&format!("    {line}\n"));
    }
    if lines.len() > most {
        let more = lines.len() - most;
        out.push_str(&format!("    ... and {more} more (-v shows them)\n"));
    }
}
