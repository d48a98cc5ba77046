//! Parameters that are treated one value at a time.
//!
//! Those with a finite range that is split have one case for each combination of their values.
//! Where the assumptions bound other parameters too, or bound one of two whichever is large, a
//! combination may have several cases in which further parameters have one value each. Then an
//! obligation says that there are no other values: whatever satisfies the domain and the assumptions has
//! the values of one of the cases.

use super::View;
use super::artefact::Case;
use super::artefact::Cut;
use super::domain::MAX_CASES;
use super::domain::few;
use super::rule::Rule;
use crate::certificate::obligation::Obligation;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

/// The parameters that have one value in a case.
pub fn fixed(split: &[usize], case: &Case) -> Vec<(ParamId, i64)> {
    let mut all = pairs(split, &case.values);
    all.extend(
        case.further
            .iter()
            .map(|(at, value)| (ParamId(*at), *value)),
    );
    all
}

/// Parameters with their values.
pub fn pairs(split: &[usize], values: &[i64]) -> Vec<(ParamId, i64)> {
    split
        .iter()
        .zip(values)
        .map(|(at, value)| (ParamId(*at), *value))
        .collect()
}

/// All combinations of the values of these parameters, in lexicographic order.
///
/// # Errors
///
/// Refuses a parameter without a finite range, and too many combinations.
pub fn combinations(protocol: &Protocol, split: &[usize]) -> Result<Vec<Vec<i64>>, Unsupported> {
    let mut all = vec![Vec::new()];
    for at in split {
        let values: Vec<i64> = match protocol.params.get(*at).map(|p| &p.domain) {
            Some(Domain::Range(lo, hi)) if few(*lo, *hi) => (*lo..=*hi).collect(),
            Some(Domain::Set(values)) => values.clone(),
            _ => {
                return Err(Unsupported::whole(
                    "a split of a parameter that is not finite",
                ));
            }
        };
        if all
            .len()
            .checked_mul(values.len())
            .is_none_or(|n| n > MAX_CASES)
        {
            return Err(Unsupported::whole("more cases than are tried"));
        }
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<i64>| {
                values.iter().map(move |value| {
                    let mut chosen = chosen.clone();
                    chosen.push(*value);
                    chosen
                })
            })
            .collect();
    }
    Ok(all)
}

/// That the cases cover the domain: they are exactly the combinations of the split parameters'
/// values, or an obligation says so.
///
/// # Errors
///
/// Refuses cases that leave out a combination, or are about none.
pub fn coverage(protocol: &Protocol, cut: &Cut) -> Result<Vec<Obligation>, Unsupported> {
    let wrong = || Unsupported::whole("cases that do not cover the domain");
    let mut rest = &cut.cases[..];
    let mut all = Vec::new();
    for (nth, values) in combinations(protocol, &cut.split)?.iter().enumerate() {
        let own = rest.iter().take_while(|case| case.values == *values);
        let (own, later) = rest.split_at(own.count());
        rest = later;
        match own {
            [] => return Err(wrong()),
            [whole] if whole.further.is_empty() => {}
            several => all.extend(covered(protocol, cut, several, format!("cover_{nth}_"))?),
        }
    }
    if !rest.is_empty() || cut.cases.len() > MAX_CASES {
        return Err(wrong());
    }
    Ok(all)
}

/// That these cases cover a combination of the split parameters' values.
fn covered(
    protocol: &Protocol,
    cut: &Cut,
    cases: &[Case],
    prefix: String,
) -> Result<Vec<Obligation>, Unsupported> {
    let none = Case::default();
    let view = View::new(protocol, None)?;
    let fixed = pairs(&cut.split, &cases[0].values);
    let mut rule = Rule::new(&view, fixed, [&[], &[]], &none, cut.shows, prefix);
    rule.assumptions()?;
    let mut setting = rule.setting()?;
    let mut ways = Vec::new();
    for case in cases {
        let mut equal = Vec::new();
        for (at, value) in &case.further {
            if *at >= protocol.params.len() || cut.split.contains(at) {
                return Err(Unsupported::whole(
                    "a case of a parameter that is not there",
                ));
            }
            let param = setting
                .terms
                .expr(&Expr::Param(ParamId(*at)), &Env::new())?;
            equal.push(term::eq(&param, &term::int(*value)));
        }
        ways.push(term::and(equal));
    }
    rule.conclude(
        "values".to_owned(),
        "the parameters have the values of one of the cases".to_owned(),
        setting,
        term::or(ways),
    )?;
    Ok(rule.all)
}
