//! Turns an argument into a checked proof: issues a certificate and checks it.

use std::time::Duration;

use crate::certificate::argument::Argument;
use crate::certificate::cut;
use crate::certificate::known::Known;
use crate::certificate::manifest;
use crate::certificate::manifest::Rejection;
use crate::certificate::normal;
use crate::proof::suspects;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text::Narrowing;

use super::decision::Proof;

/// What came of an argument.
pub(super) enum Checked {
    /// The checker accepts it.
    Proved {
        /// The certificate and its obligations.
        proof: Box<Proof>,
        /// Which rule.
        engine: &'static str,
    },
    /// An obligation was left open.
    Open {
        /// Why, as a lowercase fragment.
        reason: String,
        /// Parameter values at which it fails, if it does: counterexamples perhaps.
        suspects: Vec<Vec<i64>>,
    },
}

/// Writes an argument down and has the checker decide, with so much time for each obligation
/// that is not known. Where the checker does not accept what the search found, for whatever reason, there is
/// no proof: the reason is kept, and something else may still decide.
pub(super) fn check(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    argument: Argument,
    (each, known): (Duration, &Known),
    tell: &(dyn Fn(&str) + Sync),
) -> Checked {
    tell("checking the certificate");
    let engine = argument.checker();
    let issued = manifest::issue(&protocol.source, narrowing, property.name(), argument);
    let (certificate, obligations) = match issued {
        Ok(issued) => issued,
        Err(rejection) => return rejected(&rejection),
    };
    let found = manifest::check_knowing(&certificate, known, each, tell);
    match found {
        Ok(_) => Checked::Proved {
            proof: Box::new(Proof {
                certificate,
                obligations,
            }),
            engine,
        },
        Err(Rejection::Open {
            name,
            meaning,
            reason,
        }) => {
            let open = obligations.iter().find(|o| o.name == name);
            let suspects = open.map(|o| suspects::suspects(protocol, &certificate.argument, o));
            let missing = match &certificate.argument {
                Argument::Cut(cut) => cut::missing(&normal::normal(protocol), cut, &name),
                _ => None,
            };
            let reason = match missing {
                // What is missing may be time alone.
                Some(missing) if reason == "timeout" => format!("{missing}; {reason}"),
                Some(missing) => missing,
                None => reason,
            };
            Checked::Open {
                reason: format!(
                    "it could not be shown that {} ({reason})",
                    meaning.trim_end_matches('.')
                ),
                suspects: suspects.unwrap_or_default(),
            }
        }
        Err(other) => rejected(&other),
    }
}

fn rejected(rejection: &Rejection) -> Checked {
    Checked::Open {
        reason: match rejection {
            Rejection::Late => "the time was up before a proof was checked".to_owned(),
            _ => format!("a proof was found, and the checker does not accept it: {rejection}"),
        },
        suspects: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::certificate::cut::artefact::Cut;
    use crate::certificate::cut::artefact::Shows;
    use crate::text;

    /// Whatever the search finds, the checker has the last word, and that is a verdict.
    #[test]
    fn what_does_not_fit_is_no_proof() {
        let source =
            "protocol p mbarrier m { arrivals: 1 } role a { arrive m } role b { wait m 0 }";
        let protocol = text::load(source.as_bytes()).unwrap();
        let argument = Argument::Cut(Cut {
            split: Vec::new(),
            shows: Shows::Nothing,
            order: None,
            cases: Vec::new(),
        });
        let known = (Duration::from_secs(9), &Known::default());
        let narrowing = Narrowing::default();
        let found = check(
            &protocol,
            &narrowing,
            Property::Deadlock,
            argument,
            known,
            &|_| {},
        );
        let Checked::Open { reason, .. } = found else {
            panic!("proved");
        };
        insta::assert_snapshot!(reason, @"a proof was found, and the checker does not accept it: the rule does not apply to the protocol: cases that do not cover the domain");
    }
}
