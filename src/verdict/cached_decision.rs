//! A decision that was found before, made again.
//!
//! A proof was found for a protocol yesterday, and today somebody asks the same of the same text. What is kept of a proof is
//! its argument: the certificate is issued anew for the text at hand, and checked. What is kept of a counterexample is the
//! witness: it is replayed on the protocol at hand. The verdict itself is not kept. So whoever damages or forges what is
//! kept can cost a verdict, and cannot make one. Remarks, and in which sense a counterexample is the smallest, are
//! taken as they were kept, if they are single lines: so none of them looks like a verdict of another file.

use std::time::Duration;
use std::time::Instant;

use serde::Deserialize;
use serde::Serialize;

use crate::certificate;
use crate::certificate::argument::Argument;
use crate::deadline;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text::Narrowing;
use crate::witness;
use crate::witness::Witness;

use super::INPUTS;
use super::ahead;
use super::checked;
use super::checked::Checked;
use super::deadlock;
use super::deadlock::Settings;
use super::decision::Decision;
use super::decision::Refutation;
use super::decision::Verdict;
use super::inputs::Inputs;
use super::shared::Shared;

/// What a decision can be made again from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
// There are few of these, each read or written once.
#[expect(clippy::large_enum_variant)]
pub enum Kept {
    /// Of a proof.
    Proved {
        /// What the checker needs beside the text.
        argument: Argument,
        /// Remarks.
        notes: Vec<String>,
    },
    /// Of a counterexample.
    Refuted {
        /// The input and the run.
        witness: Box<Witness>,
        /// In which sense it is the smallest, as a sentence.
        smallest: String,
        /// Remarks.
        notes: Vec<String>,
    },
}

impl Kept {
    /// What to keep of a decision. Those that another run may improve on are not kept.
    pub fn of(decision: &Decision) -> Option<Kept> {
        let notes = decision.notes.clone();
        match &decision.verdict {
            Verdict::Proved(proof) => Some(Kept::Proved {
                argument: proof.certificate.argument.clone(),
                notes,
            }),
            Verdict::Refuted(refutation) => Some(Kept::Refuted {
                witness: Box::new(refutation.witness.clone()),
                smallest: refutation.smallest.clone(),
                notes,
            }),
            Verdict::Bounded { .. } | Verdict::Unknown { .. } => None,
        }
    }

    /// Whether all words that are kept can be printed as they are.
    fn is_printable(&self) -> bool {
        let (notes, smallest) = match self {
            Kept::Proved { notes, .. } => (notes, None),
            Kept::Refuted {
                notes, smallest, ..
            } => (notes, Some(smallest)),
        };
        let mut all = notes.iter().chain(smallest);
        all.all(|text| !text.chars().any(char::is_control))
    }

    /// The decision about this protocol, if what is kept shows it. `narrowing` is what has already been applied.
    pub fn again(
        self,
        protocol: &Protocol,
        narrowing: &Narrowing,
        property: Property,
        settings: &Settings<'_>,
        shared: &Shared,
    ) -> Option<Decision> {
        if !self.is_printable() {
            return None;
        }
        let started = Instant::now();
        let end = deadline::after(settings.timeout);
        let found = deadline::until(end, || match self {
            Kept::Proved { argument, notes } => {
                // As where a proof is found: it says nothing where there may be no input.
                if Inputs::of(protocol, INPUTS) != Inputs::Some {
                    return None;
                }
                let time: (Duration, _) = (settings.timeout, &shared.known);
                let found =
                    checked::check(protocol, narrowing, property, argument, time, settings.tell);
                let Checked::Proved { proof, engine } = found else {
                    return None;
                };
                let assumptions = proof.certificate.assumptions.clone();
                Some((Verdict::Proved(proof), engine, assumptions, notes))
            }
            Kept::Refuted {
                witness,
                smallest,
                mut notes,
            } => {
                let replayed = witness::replay(protocol, &witness).ok()?;
                if replayed.property != property {
                    return None;
                }
                notes.push(REPLAYED.to_owned());
                let refutation = Refutation {
                    input: replayed.input,
                    schedule: replayed.schedule,
                    witness: *witness,
                    smallest,
                };
                let assumptions = match property {
                    Property::Deadlock => deadlock::assumptions(protocol),
                    _ => certificate::environment(protocol, property),
                };
                let verdict = Verdict::Refuted(Box::new(refutation));
                Some((verdict, ENGINE, assumptions, notes))
            }
        });
        let (verdict, engine, assumptions, notes) = found?;
        let mut decision = Decision {
            property,
            verdict,
            undefined: false,
            unfollowed: false,
            engine,
            elapsed: started.elapsed(),
            assumptions,
            notes,
        };
        deadline::until(end, || {
            ahead::doubt(protocol, narrowing, settings, shared, &mut decision);
        });
        Some(decision)
    }
}

/// What is to be said of a counterexample that an earlier run found.
const REPLAYED: &str =
    "an earlier run found this counterexample, and that it is the smallest; here it is replayed";

/// Who decides where a counterexample is replayed.
const ENGINE: &str = "replay of a kept counterexample";
