//! From an argument to a proof: written down as a certificate and checked.

use std::time::Duration;

use crate::certificate::cut;
use crate::certificate::known::Known;
use crate::certificate::manifest;
use crate::certificate::manifest::Argument;
use crate::certificate::manifest::Rejection;
use crate::proof::suspects;
use crate::protocol::Protocol;
use crate::text::Narrowing;

use super::Property;
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
/// that is not known.
///
/// # Errors
///
/// An argument that does not fit the protocol.
pub(super) fn check(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    argument: Argument,
    (each, known): (Duration, &Known),
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Checked, Rejection> {
    tell("checking the certificate");
    let engine = match &argument {
        Argument::Ticket(_) => "ticket rule",
        Argument::Turns(_) => "turn rule",
        Argument::Cut(_) => "cut rule",
        Argument::Counting(_) => "counting rule",
        Argument::Order(_) => "order rule",
        Argument::Separation(_) => "separation rule",
    };
    let (certificate, obligations) =
        manifest::issue(&protocol.source, narrowing, property.name(), argument)?;
    let found = manifest::check_knowing(&certificate, known, each, tell);
    match found {
        Ok(_) => Ok(Checked::Proved {
            proof: Box::new(Proof {
                certificate,
                obligations,
            }),
            engine,
        }),
        Err(Rejection::Open {
            name,
            meaning,
            reason,
        }) => {
            let open = obligations.iter().find(|o| o.name == name);
            let suspects = open.map(|o| suspects::suspects(protocol, &certificate.argument, o));
            let missing = match &certificate.argument {
                Argument::Cut(cut) => cut::missing(protocol, cut, &name),
                _ => None,
            };
            let reason = match missing {
                // What is missing may be time alone.
                Some(missing) if reason == "timeout" => format!("{missing}; {reason}"),
                Some(missing) => missing,
                None => reason,
            };
            Ok(Checked::Open {
                reason: format!(
                    "it could not be shown that {} ({reason})",
                    meaning.trim_end_matches('.')
                ),
                suspects: suspects.unwrap_or_default(),
            })
        }
        Err(other) => Err(other),
    }
}
