//! Certificates: proofs that can be checked without trusting the search that found them.
//!
//! A certificate names a rule and an *artefact*. The artefact is what the rule needs besides the text, such as a rank
//! for each wait. This folder derives every obligation of the rule from the protocol and the artefact, as SMT-LIB
//! text, and discharges the obligations. It imports neither [`crate::proof`], which guesses artefacts from concrete
//! runs, nor [`crate::encoding`], which looks for failures. Some rules have moved into the trusted kernel,
//! [`crate::trusted`].

// A number that does not fit is refused: none wraps, saturates or overflows where proofs are checked.
#![deny(clippy::arithmetic_side_effects)]
#![deny(clippy::disallowed_methods)]

pub mod argument;
pub mod arriver;
mod bounds_check;
pub mod case_split;
pub mod claims;
pub mod credit;
pub mod cut;
pub mod defined;
pub mod discharge;
pub mod elementary;
pub mod exhaustive;
pub mod grid;
mod ground;
mod in_step;
pub mod in_turn;
pub mod known;
mod linear;
pub mod manifest;
pub mod normal;
mod once;
pub mod order;
pub mod parts;
pub mod program;
pub mod separation;
mod sexpr;
mod sums;
pub mod ticket;
pub mod translate;
pub mod turns;
mod workers;

pub use crate::trusted::exact;
pub use crate::trusted::obligation;
pub use crate::trusted::term;

use crate::protocol::Domain;
use crate::protocol::Place;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Role;

/// The assumption under which CTAs that have not started do no harm.
pub const LAUNCH_ORDER: &str =
    "CTAs start in the declared launch order, which CUDA does not promise";

/// The assumptions of every verdict about a property of a protocol: its domain, its own assumptions, that the machine
/// makes progress, and, if this matters, how the machine orders memory.
pub fn environment(protocol: &Protocol, property: Property) -> Vec<String> {
    let mut all = Vec::new();
    for param in &protocol.params {
        all.push(match &param.domain {
            Domain::AtLeast(lo) => format!("{} >= {lo}", param.name),
            Domain::Range(lo, hi) => format!("{lo} <= {} <= {hi}", param.name),
            Domain::Set(values) => {
                let values: Vec<String> = values.iter().map(i64::to_string).collect();
                format!("{} in {{{}}}", param.name, values.join(", "))
            }
        });
    }
    all.extend(
        protocol
            .assumptions
            .iter()
            .map(|assumption| assumption.text.clone()),
    );
    all.extend(protocol.assumed().map(str::to_owned));
    all.push("a resident CTA that can go on eventually does".to_owned());
    all.push("semaphore operations are atomic and seen in one order by everyone".to_owned());
    if property == Property::StaleRead {
        all.push(
            "memory is causally ordered as in PTX, as far as docs/memory_model.md says".to_owned(),
        );
        if protocol.roles.iter().any(|role| role.place.cta.is_some()) {
            all.push(
                "what lands on an mbarrier is seen by every wait of the cluster that acquires, at \
                 whatever scope"
                    .to_owned(),
            );
        }
        let nowhere = |role: &&Role| role.place == Place::default() && role.launch.is_none();
        let nowhere = protocol.roles.iter().filter(nowhere);
        let names: Vec<&str> = nowhere.map(|role| role.name.as_str()).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            all.push(format!("the members of {names} are threads of one CTA"));
        }
    }
    all
}
