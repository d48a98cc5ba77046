//! The case rule: one parameter is split at a bound, and each part of the domain has an argument of its own.
//!
//! Example: a kernel with `for k in 0..K` does nothing at `K == 0`, and passes work on at `K >= 1`. In the two cases,
//! a member stops at different places while another one is held. So no single argument of the cut rule covers both.
//!
//! **Why it is sound.** Every value of the parameter is below the bound, or it is not. The two parts are the protocol
//! with its domain restricted accordingly. So a run at any values is a run of one of the two parts. A property of
//! every run of both parts is a property of every run of the whole.
//!
//! **Side conditions**, all checked here: the parameter exists, and both parts contain values of it, so that each
//! argument is about something; and each argument proves the property of its part. An argument that rests on how a
//! grid is launched is refused, because a certificate states this assumption only once. An argument without
//! obligations, such as a search, is refused by [`Argument::obligations`].

use serde::Deserialize;
use serde::Serialize;

use super::argument::Argument;
use super::normal;
use super::obligation::Obligation;
use super::program::Unsupported;
use crate::protocol::Domain;
use crate::protocol::Property;
use crate::protocol::Protocol;

/// Arguments for the two parts of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseSplit {
    /// The parameter, by position.
    pub param: usize,
    /// Its least value in the second part.
    pub from: i64,
    /// The argument for smaller values.
    pub below: Box<Argument>,
    /// The argument for this value and larger ones.
    pub above: Box<Argument>,
}

/// The protocol at values of a parameter below a bound, and at all others.
///
/// # Errors
///
/// A parameter that is not there, and a part without values.
pub fn parts(protocol: &Protocol, param: usize, from: i64) -> Result<[Protocol; 2], Unsupported> {
    let wrong = || Unsupported::whole("a case without values");
    let declared = protocol.params.get(param).ok_or_else(wrong)?;
    let last = from.checked_sub(1).ok_or_else(wrong)?;
    let [below, above] = match &declared.domain {
        Domain::AtLeast(lo) if *lo < from => [Domain::Range(*lo, last), Domain::AtLeast(from)],
        Domain::Range(lo, hi) if *lo < from && from <= *hi => {
            [Domain::Range(*lo, last), Domain::Range(from, *hi)]
        }
        _ => return Err(wrong()),
    };
    let part = |domain: Domain| {
        let mut part = protocol.clone();
        part.params[param].domain = domain;
        normal::normal(&part)
    };
    Ok([part(below), part(above)])
}

/// The obligations of both arguments.
///
/// # Errors
///
/// A split that does not fit the domain, or an argument that does not fit its part.
pub fn obligations(protocol: &Protocol, split: &CaseSplit) -> Result<Vec<Obligation>, Unsupported> {
    let [below, above] = parts(protocol, split.param, split.from)?;
    let mut all = Vec::new();
    for (name, part, argument) in [
        ("below", &below, &split.below),
        ("above", &above, &split.above),
    ] {
        if argument.residency().is_some() {
            return Err(Unsupported::whole(
                "a case whose proof assumes an order in which CTAs start",
            ));
        }
        // Whether the parts that such a rule leaves out are defined is shown only for the whole text.
        if let Argument::Separation(_) = argument.as_ref() {
            return Err(Unsupported::whole(
                "a case whose proof takes the protocol apart",
            ));
        }
        for mut obligation in argument.obligations(part)? {
            obligation.name = format!("{name}_{}", obligation.name);
            all.push(obligation);
        }
    }
    Ok(all)
}

/// Whether both arguments, once their obligations are discharged, prove a property of their part.
pub fn proves(protocol: &Protocol, split: &CaseSplit, property: Property) -> bool {
    let proved = |[below, above]: [Protocol; 2]| {
        split.below.proves(&below, property) && split.above.proves(&above, property)
    };
    parts(protocol, split.param, split.from).is_ok_and(proved)
}
