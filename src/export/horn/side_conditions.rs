//! The conditions under which the system of the clauses is that of the protocol.
//!
//! 1. *(well defined)* Every expression that the protocol evaluates has the value that the interpreter computes.
//!    Elements are in range, every mbarrier expects at least one arrival, every arrival counts at least one, and no
//!    addition is negative.
//! 2. *(closed forms)* The system describes by functions of `r` the element, parity and value that an operation uses
//!    in round `r`, and the value of each variable that the loop carries. These functions are right. All groups of a
//!    system that have a loop have the same number of rounds.

use super::cases::cases;
use super::system::System;
use crate::certificate::obligation::Obligation;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

/// Derives these conditions.
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

/// Collects the conditions.
pub(super) struct Rule<'p> {
    pub(super) protocol: &'p Protocol,
    /// The values of the enumerated parameters, for readers.
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
