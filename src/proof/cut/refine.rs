//! Cases in which further parameters have one value each, if there is no proof of the whole.
//!
//! An assumption may bound a parameter, or at least one of two. For example, with
//! `TILES * K < K + S` and a number for `S`, `K` is small once `TILES` is 2. The values of a
//! bounded parameter are tried one by one. The checker then writes out loops that become short.
//! That the cases cover everything is an obligation of its own.

use std::time::Duration;
use std::time::Instant;

use super::Failure;
use super::case;
use super::narrowed;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Case;
use crate::certificate::cut::artefact::Cut;
use crate::proof::empty;
use crate::protocol::Domain;
use crate::protocol::Protocol;

/// A parameter with more values is not treated one value at a time.
const MAX_VALUES: i64 = 16;

/// The most cases of one combination of the split parameters.
const MAX_CASES: usize = 96;

/// Time for one question about the domain.
const QUESTION: Duration = Duration::from_millis(300);

/// The case of a combination of the split parameters. If there is no proof of it as a whole,
/// several cases.
pub(super) fn cases(
    protocol: &Protocol,
    (cut, base): (&Cut, Option<&Cut>),
    values: &[i64],
    deadline: Instant,
) -> Result<Vec<Case>, Failure> {
    let search = Refinement {
        protocol,
        cut,
        base,
        values,
        deadline,
    };
    search
        .attempt(&[])
        .map(|case| vec![case])
        .or_else(|failure| {
            let fixed = cut::cases::pairs(&cut.split, values);
            let mut found = Vec::new();
            let domain = narrowed(protocol, &fixed);
            if search.refine(&domain, &mut Vec::new(), &mut found) {
                // Without any values there are no cases to distinguish, but the combination has its
                // own.
                if found.is_empty() {
                    found.push(Case {
                        values: values.to_vec(),
                        empty: true,
                        ..Case::default()
                    });
                }
                Ok(found)
            } else {
                Err(failure)
            }
        })
}

struct Refinement<'a> {
    protocol: &'a Protocol,
    /// What is being built: the split, and what it shows.
    cut: &'a Cut,
    /// What was found before.
    base: Option<&'a Cut>,
    values: &'a [i64],
    deadline: Instant,
}

impl Refinement<'_> {
    /// A case for which the checker derives obligations.
    fn attempt(&self, further: &[(usize, i64)]) -> Result<Case, Failure> {
        let start = Case {
            values: self.values.to_vec(),
            further: further.to_vec(),
            ..Case::default()
        };
        let case = case(self.protocol, (self.cut, self.base), start, self.deadline)?;
        cut::one_case(self.protocol, self.cut, &case, String::new())
            .map_err(|refused| Failure::new(crate::proof::uncovered_in(self.protocol)(refused)))?;
        Ok(case)
    }

    /// Finds cases for all of a domain; `further` are the parameters with a value so far.
    fn refine(
        &self,
        domain: &Protocol,
        further: &mut Vec<(usize, i64)>,
        found: &mut Vec<Case>,
    ) -> bool {
        if Instant::now() >= self.deadline || found.len() >= MAX_CASES {
            return false;
        }
        if empty::is_empty(domain, QUESTION) {
            return true;
        }
        if !further.is_empty()
            && let Ok(case) = self.attempt(further)
        {
            found.push(case);
            return true;
        }
        let open: Vec<(usize, i64)> = open(domain);
        if let Some((at, lo)) = open.iter().find(|(at, lo)| bounded(domain, *at, *lo)) {
            return (*lo..=lo + MAX_VALUES)
                .all(|value| self.with(domain, (*at, value), further, found));
        }
        // It is bounded once the other one has neither of its two least values.
        let found_pair = open.iter().find_map(|(at, lo)| {
            let rest = from(domain, *at, lo + 2);
            let mut others = open.iter().filter(|(other, _)| other != at);
            let bounds = others.any(|(other, least)| bounded(&rest, *other, *least));
            bounds.then_some((*at, *lo, rest))
        });
        found_pair.is_some_and(|(at, lo, rest)| {
            self.with(domain, (at, lo), further, found)
                && self.with(domain, (at, lo + 1), further, found)
                && self.refine(&rest, further, found)
        })
    }

    fn with(
        &self,
        domain: &Protocol,
        (at, value): (usize, i64),
        further: &mut Vec<(usize, i64)>,
        found: &mut Vec<Case>,
    ) -> bool {
        let mut one = domain.clone();
        one.params[at].domain = Domain::Range(value, value);
        further.push((at, value));
        let all = self.refine(&one, further, found);
        further.pop();
        all
    }
}

/// The parameters with more than one value, and the least of each.
fn open(domain: &Protocol) -> Vec<(usize, i64)> {
    let params = domain.params.iter().enumerate();
    params
        .filter_map(|(at, param)| match param.domain {
            Domain::AtLeast(lo) => Some((at, lo)),
            Domain::Range(lo, hi) if lo < hi => Some((at, lo)),
            _ => None,
        })
        .collect()
}

/// Whether no value of a parameter is far from its least one.
fn bounded(domain: &Protocol, at: usize, lo: i64) -> bool {
    empty::is_empty(&from(domain, at, lo + MAX_VALUES + 1), QUESTION)
}

/// A domain without the values of a parameter below this one.
fn from(domain: &Protocol, at: usize, least: i64) -> Protocol {
    let mut rest = domain.clone();
    rest.params[at].domain = match rest.params[at].domain {
        Domain::Range(_, hi) => Domain::Range(least, hi),
        _ => Domain::AtLeast(least),
    };
    rest
}
