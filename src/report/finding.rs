//! A finding: the data model of a report about one property of one file. Every renderer uses it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeStruct;

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::semantics::input::Input;
use crate::verdict::NOTHING_TO_DECIDE;
use crate::verdict::decision::Decision;
use crate::verdict::decision::Proof;
use crate::verdict::decision::Refutation;
use crate::verdict::decision::Verdict;
use crate::witness;
use crate::witness::OrderEntry;
use crate::witness::ReplayError;
use crate::witness::StartEntry;
use crate::witness::Witness;

use super::argument;
use super::cited::Cited;
use super::cited::called;
use super::input;
use super::input::Pattern;
use super::legend;
use super::place;
use super::reason;
use super::stuck;
use super::stuck::Stuck;
use super::trace;
use super::trace::Event;

/// The four verdict words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Word {
    /// Holds for the whole domain.
    Proved,
    /// Fails at a concrete input.
    Refuted,
    /// No failure in a part of the domain.
    Bounded,
    /// Not known.
    Unknown,
}

impl Word {
    /// All of them.
    pub const ALL: [Word; 4] = [Word::Proved, Word::Refuted, Word::Bounded, Word::Unknown];

    /// As printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Word::Proved => "PROVED",
            Word::Refuted => "REFUTED",
            Word::Bounded => "BOUNDED",
            Word::Unknown => "UNKNOWN",
        }
    }
}

/// A verdict on one property of one file, with everything there is to say about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The file as the user named it.
    pub file: String,
    /// The protocol's name.
    pub protocol: String,
    /// The property's name.
    pub property: &'static str,
    /// The verdict.
    pub verdict: Word,
    /// What the first line says after the verdict.
    pub summary: String,
    /// Why the verdict is not `PROVED`; absent when it is.
    pub reason: Option<String>,
    /// The line of the text that the verdict is about, from 1.
    pub line: Option<usize>,
    /// The engine that decided.
    pub engine: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// The parameter values of the counterexample.
    pub parameters: Option<BTreeMap<String, i64>>,
    /// Everything the verdict rests on.
    pub assumptions: Vec<String>,
    /// Further findings.
    pub notes: Vec<String>,
    /// A suggestion for what to try next.
    pub hint: Option<String>,
    /// The reason without line numbers, if the property is not decided.
    #[serde(skip)]
    pub open: Option<String>,
    /// The folder of the certificate, if one was written.
    pub certificate: Option<String>,
    /// The file of the witness, if one was written.
    pub witness: Option<String>,
    /// The counterexample.
    pub counterexample: Option<Counterexample>,
    /// Further counterexamples at other places, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Further>,
    /// The proof.
    pub proof: Option<ProofReport>,
    /// The expectation that this verdict was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expectation: Option<Comparison>,
    /// The source line of the kernel that the verdict is about, if debug information is present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_line: Option<String>,
    /// How the protocol was recovered, if it was: `path` or `graph`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<&'static str>,
    /// The meaning of names of a recovered protocol that occur in the summary.
    #[serde(skip)]
    pub legend: Option<String>,
    /// The protocol's text, for renderers that quote it.
    #[serde(skip)]
    pub source: String,
    /// The kernel that the protocol was recovered from.
    #[serde(skip)]
    pub kernel: Option<Kernel>,
    /// Files that the kernel was compiled from, for renderers that quote them.
    #[serde(skip)]
    pub sources: Vec<SourceText>,
}

/// A file that a kernel was compiled from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    /// Its name, as in the comments of the protocol.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// The kernel that a protocol was recovered from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its file as the user named it.
    pub file: String,
    /// The name of the kernel's text, if the file contains something else from which the text was compiled.
    pub text: Option<String>,
    /// The line that the verdict is about.
    pub quoted: String,
    /// For each line of the protocol's text, the line of the kernel's text that it comes from.
    pub lines: Vec<Option<usize>>,
    /// These lines of the kernel's text and some around them, by number.
    pub excerpt: Vec<(usize, String)>,
}

/// How many lines around a relevant line of a kernel's text are kept, and how many lines in all.
const AROUND: usize = 4;
const EXCERPT: usize = 4000;

/// Lines of a text and some around them.
fn excerpt(text: &str, lines: &[Option<usize>]) -> Vec<(usize, String)> {
    let wanted: BTreeSet<usize> = lines.iter().flatten().copied().collect();
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else {
        return Vec::new();
    };
    let first = first.saturating_sub(AROUND).max(1);
    let near = |number: usize| {
        let (from, to) = (number.saturating_sub(AROUND), number.saturating_add(AROUND));
        wanted.range(from..=to).next().is_some()
    };
    (1..=last.saturating_add(AROUND))
        .zip(text.lines())
        .skip(first - 1)
        .filter(|(number, _)| near(*number))
        .take(EXCERPT)
        .map(|(number, line)| (number, line.to_owned()))
        .collect()
}

impl Finding {
    /// Sets the name of the kernel's text, so that its lines are not taken for lines of the file that it was compiled
    /// from.
    pub fn text_is(&mut self, name: &str) {
        if let Some(kernel) = self.kernel.as_mut().filter(|kernel| kernel.file != name) {
            kernel.text = Some(name.to_owned());
        }
    }

    /// Notes in which way the protocol was recovered, because the protocol that is recovered in the other way was not
    /// decided.
    pub fn decided_instead(&mut self, so: &str, otherwise: &str, undecided: &str) {
        self.notes.push(format!(
            "decided {so}, since the protocol {otherwise} led to no verdict: {undecided}"
        ));
    }

    /// Notes that the protocol was recovered from the control-flow graph, and why following the instructions failed.
    /// If the property is not decided, this failure becomes the reason, because it says more about the kernel.
    pub fn recovered_instead(&mut self, reason: &str) {
        let note = match (self.verdict, &mut self.reason) {
            (Word::Unknown, Some(undecided)) => {
                self.summary = reason.to_owned();
                self.open = None;
                let undecided = std::mem::replace(undecided, reason.to_owned());
                format!(
                    "nor is the protocol decided that is recovered from the control-flow graph: {undecided}"
                )
            }
            _ => format!(
                "recovered from the control-flow graph, as the instructions cannot be followed: {reason}"
            ),
        };
        self.notes.push(note);
    }

    /// Notes that the protocol was recovered from a kernel. `lines` gives the kernel line for each line of the
    /// protocol. The verdict is then about a line of the kernel.
    pub fn recovered_from(&mut self, file: &str, kernel: &str, lines: &[Option<usize>]) {
        let texts: Vec<&str> = self.source.lines().collect();
        let cited = |line: usize| {
            let at = line.checked_sub(1);
            let text = at.and_then(|at| texts.get(at));
            Cited {
                source: text.and_then(|text| place::named(text)),
                line: at.and_then(|at| lines.get(at).copied().flatten()),
            }
        };
        if let (Some(open), Some(reason)) = (&self.open, &mut self.reason) {
            let located =
                reason::located(open, &self.source, &|line| called(line, Some(&cited(line))));
            self.summary = self.summary.replace(reason.as_str(), &located);
            *reason = located;
        }
        let own = self.line.map(cited).unwrap_or_default();
        self.source_line = own.source;
        self.line = own.line;
        let quoted = self
            .line
            .and_then(|line| kernel.lines().nth(line.checked_sub(1)?));
        if let Some(counterexample) = &mut self.counterexample {
            counterexample.stuck.cite(cited);
            let events = counterexample.trace.iter_mut();
            for event in events.chain(&mut counterexample.second_trace) {
                event.kernel = event.line.map(cited);
            }
            self.summary = counterexample.summary();
            self.reason = Some(counterexample.stuck.sentence.clone());
        }
        for further in &mut self.further {
            further.stuck.cite(cited);
            for event in &mut further.trace {
                event.kernel = event.line.map(cited);
            }
        }
        if self.counterexample.is_some() {
            self.legend = legend::legend(&self.summary, &self.source);
        }
        self.kernel = Some(Kernel {
            file: file.to_owned(),
            text: None,
            quoted: quoted.unwrap_or_default().trim().replace('\t', " "),
            lines: lines.to_vec(),
            excerpt: excerpt(kernel, lines),
        });
    }
}

/// A counterexample, explained.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counterexample {
    /// The input in one line.
    pub input: String,
    /// In which sense it is the smallest.
    pub smallest: String,
    /// The patterns at this input.
    pub patterns: Vec<Pattern>,
    /// Row orders that matter.
    pub orders: Vec<OrderEntry>,
    /// Start values that the protocol leaves open.
    pub initial: Vec<StartEntry>,
    /// The state that the run ends in.
    #[serde(flatten)]
    pub stuck: Stuck,
    /// The run.
    pub trace: Vec<Event>,
    /// The other run, if the violation is a difference between two runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub second_trace: Vec<Event>,
}

impl Counterexample {
    /// The input and the failure, as they follow the verdict.
    fn summary(&self) -> String {
        match self.input.as_str() {
            "" => self.stuck.sentence.clone(),
            input => format!("at {input}: {}", self.stuck.sentence),
        }
    }
}

/// A counterexample besides the one that decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Further {
    /// The parameter values.
    pub parameters: BTreeMap<String, i64>,
    /// The input in one line.
    pub input: String,
    /// The state that the run ends in.
    #[serde(serialize_with = "brief", flatten)]
    pub stuck: Stuck,
    /// The run.
    pub trace: Vec<Event>,
    /// The file of the witness, if one was written.
    pub witness: Option<String>,
}

/// Writes of a further counterexample only why and where it hangs.
fn brief<S: Serializer>(stuck: &Stuck, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Stuck", 2)?;
    fields.serialize_field("sentence", &stuck.sentence)?;
    fields.serialize_field("blocked", &stuck.blocked)?;
    fields.end()
}

/// A proof, summarised.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProofReport {
    /// The rule.
    pub rule: &'static str,
    /// What the checker did to accept it.
    pub checked_by: String,
    /// The inputs that the proof covers.
    pub domain: String,
    /// The argument, one sentence each.
    pub argument: Vec<String>,
    /// What was shown, one sentence each.
    pub obligations: Vec<String>,
}

/// An `expect` line and whether it is met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The line of the text, from 1.
    pub line: usize,
    /// What is expected, as written.
    pub expected: String,
    /// What was found, in the same words.
    pub found: String,
    /// Whether these agree.
    pub met: bool,
}

/// Makes a finding of a decision.
///
/// # Errors
///
/// A counterexample that does not replay, which is a mistake in this program.
pub fn finding(
    file: &str,
    protocol: &Protocol,
    decision: &Decision,
) -> Result<Finding, ReplayError> {
    let mut finding = blank(file, protocol, decision.property);
    finding.engine = decision.engine;
    finding.seconds = seconds(decision.elapsed);
    finding.assumptions = decision.assumptions.clone();
    finding.notes = decision.notes.clone();
    match &decision.verdict {
        Verdict::Proved(proof) => proved(&mut finding, protocol, proof),
        Verdict::Refuted(refutation) => refuted(&mut finding, protocol, refutation)?,
        Verdict::Bounded { within, reason } => {
            finding.verdict = Word::Bounded;
            finding.open = Some(reason.clone());
            let located = reason::located(reason, &protocol.source, &|line| called(line, None));
            let no = match located.starts_with("no proof") {
                true => "",
                false => "no proof: ",
            };
            finding.summary = format!("no violation {within}; {no}{located}");
            finding.reason = Some(located);
            finding.hint = Some(reason::next(protocol, reason));
        }
        Verdict::Unknown { reason, span } => {
            unknown(&mut finding, protocol, reason, *span);
            // A statement that is wrong does not become right with more time.
            finding.hint = Some(match span {
                _ if decision.unfollowed => {
                    "other properties may be decided: docs/language.md says \
                                             which, under \"Results of atomic operations\""
                        .to_owned()
                }
                Some(_) => "the statement itself is at fault: correct it, or exclude such inputs \
                            (`assume` in the text, or --assume EXPR)"
                    .to_owned(),
                None if NOTHING_TO_DECIDE.contains(&reason.as_str()) => {
                    "change the domain (`param P in A..=B`) or the assumptions so that some \
                     parameter values are left"
                        .to_owned()
                }
                None => reason::next(protocol, reason),
            });
        }
    }
    Ok(finding)
}

/// What to try if a kernel's instructions could not be followed.
pub const TRY_VALUES: &str = "if it is about a number, fix the parameters that it depends on (--set param_3=V); \
     warplock trace runs the kernel at chosen values; docs/ptx/recovery.md says what is followed";

/// The finding about a kernel whose synchronization could not be recovered.
pub fn unrecovered(file: &str, entry: &str, property: Property, reason: &str) -> Finding {
    blank_of(file, entry, property, reason)
}

fn blank(file: &str, protocol: &Protocol, property: Property) -> Finding {
    Finding {
        source: protocol.source.clone(),
        reason: None,
        ..blank_of(file, &protocol.name, property, "")
    }
}

fn blank_of(file: &str, protocol: &str, property: Property, reason: &str) -> Finding {
    Finding {
        file: file.to_owned(),
        protocol: protocol.to_owned(),
        property: property.name(),
        verdict: Word::Unknown,
        summary: reason.to_owned(),
        reason: Some(reason.to_owned()),
        line: None,
        engine: "none",
        seconds: 0.0,
        parameters: None,
        assumptions: Vec::new(),
        notes: Vec::new(),
        hint: None,
        open: None,
        certificate: None,
        witness: None,
        counterexample: None,
        further: Vec::new(),
        proof: None,
        expectation: None,
        source_line: None,
        legend: None,
        source: String::new(),
        recovery: None,
        kernel: None,
        sources: Vec::new(),
    }
}

fn proved(finding: &mut Finding, protocol: &Protocol, proof: &Proof) {
    let rule = proof.certificate.argument.rule();
    let domain = argument::domain(protocol);
    finding.verdict = Word::Proved;
    finding.summary = match proof.certificate.argument.searched() {
        Some(searched) => format!("{domain}: by exhaustive search of {}", searched.extent()),
        None => format!(
            "{domain}: all {} obligations of the {} hold",
            proof.obligations.len(),
            proof.certificate.argument.checker()
        ),
    };
    finding.proof = Some(ProofReport {
        rule,
        checked_by: proof.certificate.argument.checked_by(),
        domain,
        argument: argument::explain(protocol, &proof.certificate.argument),
        obligations: proof
            .obligations
            .iter()
            .map(|o| format!("{}: {}", o.name, o.meaning))
            .collect(),
    });
}

fn refuted(
    finding: &mut Finding,
    protocol: &Protocol,
    refutation: &Refutation,
) -> Result<(), ReplayError> {
    let replayed = witness::replay(protocol, &refutation.witness)?;
    let stuck = stuck::shown(protocol, &replayed);
    let input = input::sentence(protocol, &replayed.input);
    finding.verdict = Word::Refuted;
    finding.reason = Some(stuck.sentence.clone());
    finding.line = stuck.line;
    finding.parameters = Some(parameters(protocol, &replayed.input));
    let counterexample = Counterexample {
        input,
        smallest: refutation.smallest.clone(),
        patterns: input::patterns(protocol, &replayed.input),
        orders: refutation.witness.orders.clone(),
        initial: refutation.witness.initial.clone(),
        stuck,
        trace: trace::trace(&protocol.source, &replayed.instance, &replayed.schedule),
        second_trace: replayed.second.as_ref().map_or_else(Vec::new, |second| {
            trace::trace(&protocol.source, &replayed.instance, second)
        }),
    };
    finding.summary = counterexample.summary();
    finding.counterexample = Some(counterexample);
    Ok(())
}

/// A further counterexample.
///
/// # Errors
///
/// The witness does not replay, which is a mistake in this program.
pub fn further(protocol: &Protocol, witness: &Witness) -> Result<Further, ReplayError> {
    let replayed = witness::replay(protocol, witness)?;
    let stuck = stuck::shown(protocol, &replayed);
    Ok(Further {
        parameters: parameters(protocol, &replayed.input),
        input: input::sentence(protocol, &replayed.input),
        stuck,
        trace: trace::trace(&protocol.source, &replayed.instance, &replayed.schedule),
        witness: None,
    })
}

fn unknown(finding: &mut Finding, protocol: &Protocol, reason: &str, span: Option<Span>) {
    finding.verdict = Word::Unknown;
    finding.open = Some(reason.to_owned());
    let located = reason::located(reason, &protocol.source, &|line| called(line, None));
    finding.summary = located.clone();
    finding.reason = Some(located);
    finding.line = span.map(|span| witness::line(&protocol.source, span));
}

/// The values of the parameters by name.
pub fn parameters(protocol: &Protocol, input: &Input) -> BTreeMap<String, i64> {
    let names = protocol.params.iter().map(|p| p.name.clone());
    names.zip(input.params.iter().copied()).collect()
}

/// Seconds, to the millisecond.
fn seconds(elapsed: Duration) -> f64 {
    elapsed.as_millis() as f64 / 1000.0
}
