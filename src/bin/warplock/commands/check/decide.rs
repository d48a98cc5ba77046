//! Decides the properties of one file.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use warplock::certificate::manifest;
use warplock::protocol::Expectation;
use warplock::protocol::Protocol;
use warplock::report::Finding;
use warplock::report::expect;
use warplock::report::finding;
use warplock::report::style::Style;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::Property;
use warplock::verdict::Shared;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Decision;
use warplock::verdict::decision::Verdict;
use warplock::verdict::hazard;
use warplock::witness;

use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::kernels;
use crate::kernels::Kernels;
use crate::kernels::Text;
use crate::progress::Progress;
use crate::sources;

use super::Wanted;
use super::minimize;
use super::outcome::Outcome;

/// What to decide about every file.
pub struct Order {
    /// The properties; empty: `deadlock`, or with `expect` whatever the file expects.
    pub properties: Vec<Wanted>,
    /// Which inputs.
    pub narrowing: Narrowing,
    /// Which entries of kernels, and how they are launched.
    pub kernels: Kernels,
    /// Time for each property.
    pub timeout: Duration,
    /// What to make small.
    pub minimize: Vec<String>,
    /// How many counterexamples to list.
    pub counterexamples: usize,
    /// Where certificates go.
    pub certificate: Option<PathBuf>,
    /// Where witnesses go.
    pub witness: Option<PathBuf>,
    /// Whether to decide what the file expects, rather than the properties.
    pub expect: bool,
    /// The emphasis of diagnostics.
    pub style: Style,
    /// Where it is said what is being done.
    pub progress: Progress,
}

/// Decides everything about one file.
pub fn file(order: &Order, number: usize, path: &Path) -> Outcome {
    let name = sources::name_of(path);
    order.progress.begin(number, &name);
    let mut outcome = Outcome::default();
    let work = Work {
        order,
        number,
        name: &name,
    };
    let done = interrupt::guarded(|| work.file(path, &mut outcome));
    if let Err(failure) = done {
        outcome.failures.push(failure);
    }
    order.progress.end(number);
    outcome
}

struct Work<'a> {
    order: &'a Order,
    number: usize,
    name: &'a str,
}

impl Work<'_> {
    fn file(&self, path: &Path, outcome: &mut Outcome) -> Result<(), Failure> {
        if kernels::is_kernel(path) {
            return self.kernels(path, outcome);
        }
        self.protocol(&sources::read(path)?, &self.order.properties, outcome)
    }

    /// Lifts every entry that is asked for, and decides the protocols as if they had been written.
    fn kernels(&self, path: &Path, outcome: &mut Outcome) -> Result<(), Failure> {
        let tell = |what: &str| self.order.progress.tell(self.number, what);
        // Races are decided of a text of their own, so that accesses which are not followed are in
        // nobody else's way.
        let (mut data, plain): (Vec<Wanted>, Vec<Wanted>) =
            self.order.properties.iter().partition(|w| about_data(**w));
        let all = plain.contains(&Wanted::All);
        if all {
            data = [Property::Race, Property::StaleRead]
                .map(Wanted::One)
                .into();
        }
        let wanted = match (data.as_slice(), plain.as_slice()) {
            ([], _) => Text::Bare,
            (_, []) => Text::WithData,
            _ => Text::Both,
        };
        let kernels = &self.order.kernels;
        let lifted = kernels.lift(path, wanted, self.order.style, &tell)?;
        let several = lifted.len() > 1;
        for kernel in lifted {
            let name = if several {
                format!("{}:{}", self.name, kernel.entry)
            } else {
                self.name.to_owned()
            };
            let work = Work {
                name: &name,
                ..*self
            };
            match (kernel.data, wanted) {
                (Some(with_data), _) => {
                    work.recovered(&kernel.entry, &kernel.protocol, &plain, outcome)?;
                    // What is asked of everything is not said of what there is none of.
                    let none = match (&kernel.protocol, &with_data) {
                        (Err(_), _) => true,
                        (_, Ok(text)) => !text.contains("\nbuffer "),
                        (_, Err(_)) => false,
                    };
                    if !(all && none) {
                        work.recovered(&kernel.entry, &with_data, &data, outcome)?;
                    }
                }
                (None, Text::WithData) => {
                    work.recovered(&kernel.entry, &kernel.protocol, &data, outcome)?;
                }
                (None, _) => work.recovered(&kernel.entry, &kernel.protocol, &plain, outcome)?,
            }
        }
        Ok(())
    }

    /// Decides these properties of a recovered protocol.
    fn recovered(
        &self,
        entry: &str,
        protocol: &Result<String, String>,
        wanted: &[Wanted],
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let before = outcome.findings.len();
        match protocol {
            Ok(text) => {
                self.protocol(text.as_bytes(), wanted, outcome)?;
                for finding in outcome.findings.iter_mut().skip(before) {
                    finding.notes.extend(kernels::found_in_source(finding));
                    let lines = if wanted.iter().copied().any(about_data) {
                        "lines are those of the protocol that `warplock lift --data` prints"
                    } else {
                        "lines are those of the protocol that `warplock lift` prints"
                    };
                    finding.notes.push(lines.to_owned());
                }
            }
            Err(reason) => {
                let mut properties: Vec<Property> = Vec::new();
                for wanted in wanted {
                    match wanted {
                        Wanted::All => properties.extend(Property::ALL),
                        Wanted::One(property) => properties.push(*property),
                    }
                }
                if properties.is_empty() {
                    properties.push(Property::Deadlock);
                }
                for property in properties {
                    outcome
                        .findings
                        .push(finding::unrecovered(self.name, entry, property, reason));
                }
            }
        }
        Ok(())
    }

    fn protocol(
        &self,
        bytes: &[u8],
        wanted: &[Wanted],
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let protocol = sources::load_bytes(bytes, self.name, self.order.style)?;
        if self.order.expect {
            return self.expectations(bytes, &protocol, outcome);
        }
        let mut properties: Vec<Property> = Vec::new();
        for wanted in wanted {
            match wanted {
                Wanted::All => properties.extend(hazard::applicable(&protocol)),
                Wanted::One(property) => properties.push(*property),
            }
        }
        if properties.is_empty() {
            properties.push(Property::Deadlock);
        }
        let shared = Shared::default();
        for property in properties {
            let narrowing = &self.order.narrowing;
            let finding = self.property(bytes, property, narrowing, &shared, outcome)?;
            outcome.findings.push(finding);
        }
        Ok(())
    }

    fn expectations(
        &self,
        bytes: &[u8],
        protocol: &Protocol,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let wanted = |expectation: &&Expectation| {
            let properties = &self.order.properties;
            let named = |wanted: &Wanted| match wanted {
                Wanted::All => true,
                Wanted::One(property) => property.name() == expectation.property,
            };
            properties.is_empty() || properties.iter().any(named)
        };
        let expectations: Vec<&Expectation> = protocol.expectations.iter().filter(wanted).collect();
        if expectations.is_empty() {
            outcome.without_expectations = Some(self.name.to_owned());
        }
        let shared = Shared::default();
        for expectation in expectations {
            let Some(property) = Property::from_name(&expectation.property) else {
                let message = format!("{}: no property {}", self.name, expectation.property);
                return Err(Failure::input(message));
            };
            let mut narrowing = self.order.narrowing.clone();
            let assuming = expectation.assuming.iter().map(|a| a.text.clone());
            narrowing.assume.extend(assuming);
            let mut finding = self.property(bytes, property, &narrowing, &shared, outcome)?;
            finding.expectation = Some(expect::compare(protocol, expectation, &finding));
            outcome.findings.push(finding);
        }
        Ok(())
    }

    fn property(
        &self,
        bytes: &[u8],
        property: Property,
        narrowing: &Narrowing,
        shared: &Shared,
        outcome: &mut Outcome,
    ) -> Result<Finding, Failure> {
        let mut protocol = sources::load_bytes(bytes, self.name, self.order.style)?;
        sources::narrow(&mut protocol, narrowing, self.name, self.order.style)?;
        let objectives = match self.order.minimize.as_slice() {
            [] => None,
            order => Some(minimize::objectives(&protocol, order, self.name)?),
        };
        let tell = |what: &str| self.order.progress.tell(self.number, what);
        let settings = Settings {
            timeout: self.order.timeout,
            objectives,
            cancel: &interrupt::CANCEL,
            tell: &tell,
        };
        let internal =
            |error: &dyn std::fmt::Display| Failure::Internal(format!("{}: {error}", self.name));
        let decision = verdict::decide_sharing(&protocol, narrowing, property, &settings, shared)
            .map_err(|error| internal(&error))?;
        let mut finding =
            finding::finding(self.name, &protocol, &decision).map_err(|error| internal(&error))?;
        self.keep(&decision, &mut finding, outcome);
        let wanted = self.order.counterexamples.saturating_sub(1);
        if let Verdict::Refuted(refutation) = &decision.verdict
            && wanted > 0
        {
            let left = self.order.timeout.saturating_sub(decision.elapsed);
            let others = verdict::further(&protocol, property, refutation, wanted, &settings, left)
                .map_err(|error| internal(&error))?;
            finding.notes.extend(others.note);
            for witness in others.witnesses {
                let mut further =
                    finding::further(&protocol, &witness).map_err(|error| internal(&error))?;
                further.witness = self.kept(&witness, outcome);
                finding.further.push(further);
            }
        }
        Ok(finding)
    }

    /// Writes the certificate or the witness where one is wanted. The verdict stands even if
    /// that fails.
    fn keep(&self, decision: &Decision, finding: &mut Finding, outcome: &mut Outcome) {
        match (&decision.verdict, &self.order.certificate) {
            (Verdict::Proved(proof), Some(folder)) => {
                match manifest::write(&proof.certificate, &proof.obligations, folder) {
                    Ok(path) => finding.certificate = Some(path.display().to_string()),
                    Err(error) => outcome.failures.push(Failure::input(format!(
                        "cannot write the certificate: {error}"
                    ))),
                }
            }
            (Verdict::Refuted(refutation), _) => {
                finding.witness = self.kept(&refutation.witness, outcome);
            }
            _ => {}
        }
    }

    /// Writes a witness where one is wanted; its path.
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

/// Whether a property is about what is read and written.
fn about_data(wanted: Wanted) -> bool {
    matches!(wanted, Wanted::One(Property::Race | Property::StaleRead))
}

/// Writes a witness under a name made of what it is about and a digest of its content.
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
