//! Decides one property of one protocol, and says what was found.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use warplock::deadline;
use warplock::encoding::search::Objective;
use warplock::hunt::excess;
use warplock::protocol::Expectation;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::ptx::Instead;
use warplock::ptx::Recovery;
use warplock::report::Finding;
use warplock::report::Word;
use warplock::report::expect;
use warplock::report::finding;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::Shared;
use warplock::verdict::cached_decision::Kept;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Decision;
use warplock::verdict::decision::Verdict;
use warplock::verdict::hazard;
use warplock::witness;

use super::Work;
use super::beside;
use crate::cache::Question;
use crate::commands::check::minimize;
use crate::commands::check::outcome::Outcome;
use crate::commands::lint;
use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::sources;

/// A decision about one protocol of a kernel, or about a protocol that somebody wrote.
struct Decided {
    protocol: Protocol,
    decision: Decision,
    /// The launch that fails, in words, if there is a counterexample and its launch is known.
    launch: Option<String>,
    /// Whether a counterexample was found and possibly no launch of the kernel has it.
    doubted: bool,
}

impl Work<'_> {
    pub(super) fn property(
        &self,
        bytes: &[u8],
        property: Property,
        narrowing: &Narrowing,
        shared: &Shared,
        expected: Option<(&Protocol, &Expectation)>,
    ) -> Result<(), Failure> {
        let left = self.order.timeout.saturating_sub(self.recovered_in);
        // The narrowing was given for this protocol. In another protocol of the kernel it may mean something else, or
        // nothing.
        let both = property == Property::Deadlock && *narrowing == Narrowing::default();
        if self.others.is_empty() || !both {
            let decided = self.decided(bytes, property, narrowing, shared, left)?;
            return self.told(decided, property, expected, None);
        }
        // The first protocol gets at most a quarter of the time, and then the others as much as they need. What is
        // left goes to the first protocol once more.
        let began = Instant::now();
        let within = |share: Duration| share.saturating_sub(began.elapsed());
        let share = (left / 4).min(FIRST_TIME);
        let first = self.decided(bytes, property, narrowing, shared, share)?;
        let Some(undecided) = undecided(&first) else {
            return self.told(first, property, expected, None);
        };
        let mut refused = None;
        let mut within_bounds = None;
        for (number, other) in (1u32..).zip(self.others) {
            let count = u32::try_from(self.others.len()).unwrap_or(u32::MAX);
            let most = share + (left - share) * number / count;
            let end = deadline::after(within(most));
            let lifted = match deadline::until(end, || other(undecided.clone())) {
                Ok(lifted) => lifted,
                Err(reason) => {
                    refused = reason;
                    continue;
                }
            };
            let work = Work {
                exact: lifted.exact,
                launches: &lifted.launches,
                recovery: Some(&lifted.recovery),
                kernel: self
                    .kernel
                    .map(|(file, source, _)| (file, source, lifted.lines.as_slice())),
                ..*self
            };
            let text = lifted.text.as_bytes();
            let shared = Shared::default();
            let Ok(decided) = work.decided(text, property, narrowing, &shared, within(most)) else {
                continue;
            };
            match decided.decision.verdict {
                // If one recovery shows that the kernel does something undefined, then a proof of another protocol,
                // which leaves that operation out, does not make it defined.
                Verdict::Proved(_) | Verdict::Bounded { .. } if first.decision.undefined => {}
                // The first protocol has a counterexample that may belong to a launch. The other protocol is proved
                // only under the assumption that no number wraps around, and the counterexample may be excluded just
                // by this assumption.
                Verdict::Proved(_)
                    if first.doubted
                        && let Some(assumed) = not_wrapping(&lifted.text) =>
                {
                    refused = Some(format!(
                        "the path's protocol is proved only under the assumption `{assumed}`, by which no number wraps around; \
                         the graph's protocol has a counterexample in which this may be false"
                    ));
                }
                Verdict::Proved(_) | Verdict::Refuted(_) => {
                    return work.told(decided, property, expected, None);
                }
                Verdict::Bounded { .. } => within_bounds = Some((decided, lifted)),
                Verdict::Unknown { .. } => {}
            }
        }
        // If the first decision ended well before its time was up, more time would not change it.
        let rest = within(left);
        let last = if first.decision.elapsed >= share / 5 * 4 && rest > left / 4 {
            self.decided(bytes, property, narrowing, shared, rest)?
        } else {
            first
        };
        if let (Verdict::Unknown { .. }, Some((decided, lifted))) =
            (&last.decision.verdict, within_bounds)
        {
            let work = Work {
                recovery: Some(&lifted.recovery),
                kernel: self
                    .kernel
                    .map(|(file, source, _)| (file, source, lifted.lines.as_slice())),
                ..*self
            };
            return work.told(decided, property, expected, None);
        }
        self.told(last, property, expected, refused.as_deref())
    }

    /// Decides a property of the protocol in a text, within a time.
    fn decided(
        &self,
        bytes: &[u8],
        property: Property,
        narrowing: &Narrowing,
        shared: &Shared,
        timeout: Duration,
    ) -> Result<Decided, Failure> {
        let mut protocol = sources::load_bytes(bytes, self.name, self.order.style)?;
        sources::narrow(&mut protocol, narrowing, self.name, self.order.style)?;
        let objectives = self.objectives(&protocol)?;
        let tell = self.teller();
        let settings = self.settings(timeout, objectives, &tell);
        let internal = |error: &dyn std::fmt::Display| self.internal(error);
        let mut decision = self.found(bytes, &protocol, narrowing, property, &settings, shared)?;
        if let Some((_, _, lines)) = self.kernel
            && property == Property::Deadlock
        {
            self.doubt_bytes(
                &protocol,
                narrowing,
                shared,
                (timeout, lines),
                &mut decision,
            )?;
        }
        let (mut launch, mut doubted) = (None, false);
        if !self.exact
            && let Verdict::Refuted(_) = decision.verdict
        {
            let left = settings.timeout.saturating_sub(decision.elapsed);
            let points: Vec<_> = self.launches.iter().map(|(_, at)| at.clone()).collect();
            let failing =
                verdict::first_failing(&protocol, narrowing, property, &points, &settings, left)
                    .map_err(|error| internal(&error))?;
            match failing {
                Some(failing) => {
                    launch = self
                        .launches
                        .get(failing.point)
                        .map(|(words, _)| words.clone());
                    (protocol, decision) = (failing.protocol, failing.decision);
                }
                None => {
                    doubt(&mut decision);
                    doubted = true;
                }
            }
        }
        Ok(Decided {
            protocol,
            decision,
            launch,
            doubted,
        })
    }

    /// Decides a property, or takes the decision from an earlier run.
    fn found(
        &self,
        bytes: &[u8],
        protocol: &Protocol,
        narrowing: &Narrowing,
        property: Property,
        settings: &Settings<'_>,
        shared: &Shared,
    ) -> Result<Decision, Failure> {
        let question = Question {
            text: bytes,
            narrowing,
            property,
            minimize: &self.order.minimize,
            kernel: self.order.kernel,
        };
        let cache = self.order.cache.as_ref();
        let began = Instant::now();
        let known = cache.and_then(|cache| cache.known(&question));
        let again = known.and_then(|kept| {
            (settings.tell)("checking what an earlier run found");
            kept.again(protocol, narrowing, property, settings, shared)
        });
        if let Some(decision) = again {
            return Ok(decision);
        }
        let settings = Settings {
            timeout: settings.timeout.saturating_sub(began.elapsed()),
            ..settings.clone()
        };
        let decision = verdict::decide_sharing(protocol, narrowing, property, &settings, shared)
            .map_err(|error| self.internal(&error))?;
        if let (Some(cache), Some(found)) = (cache, Kept::of(&decision)) {
            cache.keep(&question, &found);
        }
        Ok(decision)
    }

    /// Takes a proof back where a copy may deliver more bytes than its mbarrier still expects: then a proof about the
    /// protocol is none about the kernel.
    fn doubt_bytes(
        &self,
        protocol: &Protocol,
        narrowing: &Narrowing,
        shared: &Shared,
        (timeout, lines): (Duration, &[Option<usize>]),
        decision: &mut Decision,
    ) -> Result<(), Failure> {
        let proved = decision.verdict.is_proved();
        let within = matches!(decision.verdict, Verdict::Bounded { .. });
        if !(proved || within) || !hazard::applicable(protocol).contains(&Property::TxMismatch) {
            return Ok(());
        }
        let mut found = excess::excess(protocol);
        if found.is_none() && proved {
            let left = timeout.saturating_sub(decision.elapsed);
            let most = left.min(decision.elapsed.saturating_add(BYTES_TIME));
            let tell = self.teller();
            let settings = self.settings(most, None, &tell);
            let decide = |property| {
                verdict::decide_sharing(protocol, narrowing, property, &settings, shared)
                    .map_err(|error| self.internal(&error))
            };
            match decide(Property::TxMismatch)?.verdict {
                // In the protocol, the bytes of a copy arrive all at once; in the kernel, they may arrive in pieces.
                // If each copy belongs to one phase in all runs, copies of different phases are never in flight at
                // the same time, and then it does not matter in which pieces the bytes arrive.
                Verdict::Proved(_) => {
                    if decide(Property::EarlyCompletion)?.verdict.is_proved() {
                        return Ok(());
                    }
                }
                Verdict::Refuted(run) => {
                    found = excess::in_run(protocol, &run.input, &run.schedule);
                }
                Verdict::Bounded { .. } | Verdict::Unknown { .. } => {}
            }
        }
        let Some(span) = found else {
            decision.assumptions.push(BALANCED.to_owned());
            return Ok(());
        };
        let before = protocol.source.get(..span.start).unwrap_or_default();
        let line = lines.get(before.matches('\n').count()).copied().flatten();
        decision.verdict = Verdict::Unknown {
            reason: match line {
                Some(line) => format!("line {line}: {EXCESS}"),
                None => EXCESS.to_owned(),
            },
            span: Some(span),
        };
        Ok(())
    }

    fn objectives(&self, protocol: &Protocol) -> Result<Option<Vec<Objective>>, Failure> {
        match self.order.minimize.as_slice() {
            [] => Ok(None),
            order => minimize::objectives(protocol, order, self.name).map(Some),
        }
    }

    fn settings<'s>(
        &self,
        timeout: Duration,
        objectives: Option<Vec<Objective>>,
        tell: &'s (dyn Fn(&str) + Sync),
    ) -> Settings<'s> {
        Settings {
            timeout,
            objectives,
            cancel: &interrupt::CANCEL,
            tell,
            kernel: self.order.kernel,
        }
    }

    fn internal(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::Internal(format!("{}: {error}", self.name))
    }

    /// Reports a decision. `refused` says why the instructions could not be followed, if that was tried as well.
    fn told(
        &self,
        decided: Decided,
        property: Property,
        expected: Option<(&Protocol, &Expectation)>,
        refused: Option<&str>,
    ) -> Result<(), Failure> {
        let Decided {
            protocol,
            decision,
            launch,
            doubted: _,
        } = decided;
        let internal = |error: &dyn std::fmt::Display| self.internal(error);
        let mut outcome = Outcome::default();

        let mut finding =
            finding::finding(self.name, &protocol, &decision).map_err(|error| internal(&error))?;
        finding
            .notes
            .extend(launch.map(|words| format!("fails at the launch with {words}")));
        self.keep(&decision, &mut finding, &mut outcome);
        let wanted = self.order.counterexamples.saturating_sub(1);
        if let Verdict::Refuted(refutation) = &decision.verdict
            && wanted > 0
        {
            let left = self.order.timeout.saturating_sub(decision.elapsed);
            let tell = self.teller();
            let objectives = self.objectives(&protocol)?;
            let settings = self.settings(left, objectives, &tell);
            let others = verdict::further(&protocol, property, refutation, wanted, &settings, left)
                .map_err(|error| internal(&error))?;
            finding.notes.extend(others.note);
            for witness in others.witnesses {
                let mut further =
                    finding::further(&protocol, &witness).map_err(|error| internal(&error))?;
                further.witness = self.kept(&witness, &mut outcome);
                finding.further.push(further);
            }
        }
        finding.expectation = expected
            .map(|(protocol, expectation)| expect::compare(protocol, expectation, &finding));
        finding.assumptions.extend_from_slice(self.launched);
        finding.recovery = self.recovery.map(Recovery::name);
        match self.recovery {
            Some(Recovery::Path {
                instead: Some(Instead::Undecided(reason)),
            }) => finding.decided_instead(
                "along the instructions",
                "from the control-flow graph",
                reason,
            ),
            Some(Recovery::Graph {
                instead: Some(Instead::Undecided(reason)),
            }) => finding.decided_instead(
                "from the control-flow graph",
                "along the instructions",
                reason,
            ),
            Some(Recovery::Graph {
                instead: Some(Instead::Refused(reason)),
            }) => finding.recovered_instead(reason),
            _ => {}
        }
        if let Some(reason) = refused {
            finding.recovered_instead(reason);
        }
        if let Some(note) = self.note {
            // With a counterexample the note is superfluous: every line shown is one of the kernel.
            if finding.counterexample.is_none() {
                finding.notes.push(note.to_owned());
            }
        }
        if let Some((file, kernel, lines)) = self.kernel {
            finding.recovered_from(file, kernel, lines);
            finding.text_is(self.text_name);
            if self.order.sources {
                finding.sources = beside::sources(&finding, file, kernel);
            }
        }
        if matches!(finding.verdict, Word::Refuted | Word::Unknown) {
            finding
                .notes
                .extend(self.lints.iter().flat_map(|lints| lints()));
            // With other properties, these lints would repeat the same sentences.
            if self.kernel.is_none() && property == Property::Deadlock {
                let lints = lint::notes(&protocol, &finding);
                finding.notes.extend(lints);
            }
        }
        outcome.findings.push(finding);
        let unasked = expected.is_none() && self.order.properties.is_empty();
        if unasked && decision.undefined {
            // It is the bug, so it comes first. What the lints find is said with the other property.
            let work = Work {
                lints: None,
                ..*self
            };
            work.at_fault(&protocol)?;
        }
        (self.results)(outcome);
        Ok(())
    }

    /// A run does something undefined, so nothing else is known. Reports which property this run violates.
    fn at_fault(&self, protocol: &Protocol) -> Result<(), Failure> {
        let bytes = protocol.source.as_bytes();
        let shared = Shared::default();
        for property in hazard::applicable(protocol) {
            if !hazard::OF_UNDEFINED.contains(&property) {
                continue;
            }
            let (narrowing, left) = (&self.order.narrowing, self.order.timeout);
            let decided = self.decided(bytes, property, narrowing, &shared, left)?;
            if let Verdict::Refuted(_) = decided.decision.verdict {
                return self.told(decided, property, None, None);
            }
        }
        Ok(())
    }

    /// Writes the certificate or the witness, if it is asked for. The verdict stands even if writing fails.
    fn keep(&self, decision: &Decision, finding: &mut Finding, outcome: &mut Outcome) {
        match (&decision.verdict, &self.order.certificate) {
            (Verdict::Proved(proof), Some(folder)) => match files::certificate(proof, folder) {
                Ok(path) => finding.certificate = Some(path.display().to_string()),
                Err(failure) => outcome.failures.push(failure),
            },
            (Verdict::Refuted(refutation), _) => {
                finding.witness = self.kept(&refutation.witness, outcome);
            }
            _ => {}
        }
    }

    /// Writes a witness if that is asked for, and returns its path.
    fn kept(&self, witness: &witness::Witness, outcome: &mut Outcome) -> Option<String> {
        match write_witness(witness, self.order.witness.as_ref()?) {
            Ok(path) => Some(path.display().to_string()),
            Err(failure) => {
                outcome.failures.push(failure);
                None
            }
        }
    }
}

/// Why the property is not decided; `None` if it is.
fn undecided(decided: &Decided) -> Option<String> {
    match &decided.decision.verdict {
        Verdict::Bounded { reason, .. } | Verdict::Unknown { reason, .. } => Some(reason.clone()),
        Verdict::Proved(_) | Verdict::Refuted(_) => None,
    }
}

/// The first assumption of a recovered text that says that no number wraps around, if there is one.
fn not_wrapping(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    lines.find_map(|line| {
        let (assumed, why) = line.strip_prefix("assume ")?.split_once("//")?;
        why.contains("wrap around").then(|| assumed.trim())
    })
}

/// Why a counterexample of a recovered protocol may be none of its kernel.
pub const INEXACT: &str = "the recovered protocol has a counterexample, but possibly no launch has it: parameters may depend on \
    each other, patterns may be ones that no memory contents give, a warp may wait for warps that have ended, or the kernel may \
    abort first";

/// How long the first of several protocols is decided before the others are tried. Most are decided in much less.
const FIRST_TIME: Duration = Duration::from_secs(10);

/// The assumption that is reported with a proof whose protocol may deliver excess bytes, because the absence of them
/// could not be proved. And how much longer than the proof the attempt to prove that absence may take.
const BALANCED: &str = "no copy delivers more bytes than the phase of its mbarrier still expects";
const BYTES_TIME: Duration = Duration::from_secs(3);

/// Why the result is unknown for a kernel whose protocol is proved.
const EXCESS: &str = "this delivers more bytes than the phase of its mbarrier still expects; whether that phase is ever complete then \
    depends on how many bytes the hardware counts at once";

/// Turns a refutation into an unknown result: the counterexample is one of the recovered protocol, and possibly no
/// launch has it.
pub fn doubt(decision: &mut Decision) {
    if let Verdict::Refuted(_) = decision.verdict {
        decision.verdict = Verdict::Unknown {
            reason: INEXACT.to_owned(),
            span: None,
        };
    }
}

/// Writes a witness. Its file name consists of the protocol, the property and a digest of the content.
fn write_witness(witness: &witness::Witness, folder: &Path) -> Result<PathBuf, Failure> {
    let content = witness
        .to_json()
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let digest = witness::sha256_hex(content.as_bytes());
    let short = digest.get(..12).unwrap_or(&digest);
    let path = folder.join(format!(
        "{}-{}-{short}.json",
        witness.protocol, witness.property
    ));
    files::write(&path, content.as_bytes())?;
    Ok(path)
}
