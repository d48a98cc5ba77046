//! Decides whether any parameter values satisfy the domain and the assumptions. Without such values a search skips the
//! case, and no property of the protocol is decided.

use std::time::Duration;

use crate::certificate::discharge;
use crate::certificate::obligation;
use crate::certificate::term;
use crate::certificate::translate;
use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::unfold;

/// Whether no parameter values satisfy the domain and the assumptions; `false` when undecided.
pub fn is_empty(protocol: &Protocol, limit: Duration) -> bool {
    // The domain is rarely empty, and usually some small values show this at once.
    if (0..SMALL).any(|nth| unfold::check_params(protocol, &small(protocol, nth)).is_ok()) {
        return false;
    }
    let mut terms = translate::Translator::new(protocol, &[]);
    let mut hypotheses = terms.domain();
    for assumption in &protocol.assumptions {
        match terms.expr(&assumption.condition, &translate::Env::new()) {
            Ok(fact) => hypotheses.push(fact),
            Err(_) => return false,
        }
    }
    let empty = obligation::Obligation {
        name: "domain".to_owned(),
        meaning: "the domain is empty".to_owned(),
        declarations: terms.declarations(),
        hypotheses,
        goal: term::boolean(false),
        split: Vec::new(),
    };
    discharge::discharge(&empty, &discharge::Solver::BuiltIn, limit)
        == discharge::Answer::Discharged
}

/// How many small values of the parameters are looked at before a solver is asked.
const SMALL: usize = 4;

/// The nth value of every parameter, or its last one.
fn small(protocol: &Protocol, nth: usize) -> Vec<i64> {
    let params = protocol.params.iter();
    let above = |lo: i64| lo.checked_add_unsigned(nth as u64).unwrap_or(lo);
    let value = |domain: &Domain| match domain {
        Domain::AtLeast(lo) => above(*lo),
        Domain::Range(lo, hi) => above(*lo).min(*hi),
        Domain::Set(values) => {
            let at = values.get(nth).or(values.last());
            at.copied().unwrap_or(0)
        }
    };
    params.map(|param| value(&param.domain)).collect()
}
