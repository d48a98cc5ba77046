//! Candidate values for a counterexample, from obligations of a proof that do not hold.

use std::time::Duration;

use crate::certificate::argument::Argument;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::cases;
use crate::certificate::obligation::Obligation;
use crate::protocol::Domain;
use crate::protocol::Protocol;

use super::model;

/// How long the search for parameter values may take.
const LIMIT: Duration = Duration::from_secs(3);

/// Parameter values at which this obligation of a proof by cuts fails. None of them is checked.
pub fn suspects(protocol: &Protocol, argument: &Argument, open: &Obligation) -> Vec<Vec<i64>> {
    let Argument::Cut(cut) = argument else {
        return Vec::new();
    };
    let Some(case) = case_of(cut, &open.name) else {
        return Vec::new();
    };
    let fixed = cases::fixed(&cut.split, case);
    let names: Vec<String> = protocol
        .params
        .iter()
        .map(|param| format!("param_{}", param.name))
        .collect();
    let tight = protocol.tightened();
    let whole = |values: Vec<Option<i64>>| -> Option<Vec<i64>> {
        let each = values.into_iter().enumerate().map(|(at, value)| {
            let known = fixed.iter().find(|(id, _)| id.0 == at);
            known.map(|(_, value)| *value).or(value).or_else(|| {
                // The obligation does not depend on it.
                match &tight.params[at].domain {
                    Domain::AtLeast(lo) | Domain::Range(lo, _) => Some(*lo),
                    Domain::Set(all) => all.first().copied(),
                }
            })
        });
        each.collect()
    };
    model::failing(open, &names, LIMIT)
        .into_iter()
        .filter_map(whole)
        .collect()
}

/// The case that an obligation with this name is about; `None` if it is about all.
fn case_of<'a>(cut: &'a Cut, obligation: &str) -> Option<&'a Case> {
    if let [only] = &cut.cases[..] {
        return Some(only);
    }
    let (number, _) = obligation.strip_prefix("case_")?.split_once('_')?;
    cut.cases.get(number.parse::<usize>().ok()?)
}
