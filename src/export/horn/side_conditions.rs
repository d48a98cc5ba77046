//! What has to hold for the system to be that of the protocol.
//!
//! 1. *(well defined)* Everything the protocol evaluates means what the interpreter computes, elements are in range,
//!    every mbarrier expects and every arrival is at least one, and no addition is negative.
//! 2. *(closed forms)* The element, parity and value that an operation names in round `r`, and the value of a variable
//!    that the loop carries, are those functions of `r` that the system uses; all groups of a system that have a loop
//!    have the same number of rounds.

use super::cases::cases;
use super::system::System;
use crate::certificate::obligation::Obligation;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

/// Derives them.
///
/// # Errors
///
/// Refuses a protocol outside the fragment.
pub fn groundwork(
    protocol: &Protocol,
    enumerated: &[usize],
) -> Result<Vec<Obligation>, Unsupported> {
    let mut rule = Rule {
        protocol,
        case: String::new(),
        all: Vec::new(),
    };
    for case in cases(protocol, enumerated)? {
        rule.name_case(&case.fixed);
        rule.closed_forms(&case)?;
    }
    Ok(rule.all)
}

/// Collects what has to hold.
pub(super) struct Rule<'p> {
    pub(super) protocol: &'p Protocol,
    /// Which values of the enumerated parameters, for readers.
    case: String,
    all: Vec<Obligation>,
}

impl<'p> Rule<'p> {
    fn name_case(&mut self, fixed: &[(ParamId, i64)]) {
        let values: Vec<String> = fixed
            .iter()
            .map(|(id, value)| format!("{} = {value}", self.protocol.params[id.0].name))
            .collect();
        self.case = if values.is_empty() {
            String::new()
        } else {
            format!(" Case {}.", values.join(", "))
        };
    }

    pub(super) fn conclude(
        &mut self,
        name: &str,
        meaning: String,
        system: &mut System<'p>,
        mut hypotheses: Vec<Term>,
        goal: Term,
    ) -> Result<(), Unsupported> {
        Unsupported::unless_in_time()?;
        if goal == term::boolean(true) {
            return Ok(());
        }
        hypotheses.extend(system.terms.axioms()?);
        self.all.push(Obligation {
            name: format!("{:03}_{name}", self.all.len()),
            meaning: format!("{meaning}.{}", self.case),
            declarations: system.terms.declarations(),
            hypotheses,
            goal,
            split: Vec::new(),
        });
        Ok(())
    }
}
