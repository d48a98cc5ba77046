//! Parameter values at which an obligation fails: where to search for a counterexample.
//!
//! An obligation may fail although the protocol is correct. So these values are only hints.

use std::time::Duration;
use std::time::Instant;

use z3::SatResult;
use z3::ast::Int;

use crate::certificate::obligation::Obligation;
use crate::certificate::term;
use crate::deadline;
use crate::fresh;

/// Time for one question.
const EACH: Duration = Duration::from_millis(500);

/// Values of the named integers at which the hypotheses hold and the goal does not. They are minimised in this time,
/// one name after the other. Names for which there is no time keep the values that the solver found first. A name
/// that the obligation does not use has no value.
pub fn failing(
    obligation: &Obligation,
    names: &[String],
    limit: Duration,
) -> Vec<Vec<Option<i64>>> {
    let deadline = deadline::after(limit);
    let script = obligation.script();
    let declared = |name: &String| {
        let used = format!("(declare-const {} Int)", term::name(name));
        obligation.declarations.contains(&used)
    };
    let names: Vec<Option<String>> = names
        .iter()
        .map(|name| declared(name).then(|| name.clone()))
        .collect();
    fresh::context(|| {
        let solver = z3::Solver::new();
        let mut params = z3::Params::new();
        params.set_u32("timeout", EACH.as_millis() as u32);
        params.set_bool("ctrl_c", false);
        solver.set_params(&params);
        solver.from_string(script.as_str());
        let integers: Vec<Option<Int>> = names
            .iter()
            .map(|name| name.as_ref().map(|name| Int::new_const(name.as_str())))
            .collect();
        let values = |solver: &z3::Solver| -> Option<Vec<Option<i64>>> {
            if solver.check() != SatResult::Sat {
                return None;
            }
            let model = solver.get_model()?;
            let value = |integer: &Option<Int>| match integer {
                Some(integer) => model.eval(integer, true)?.as_i64().map(Some),
                None => Some(None),
            };
            integers.iter().map(value).collect()
        };
        let Some(named) = values(&solver) else {
            return Vec::new();
        };
        let mut least = named.clone();
        for (at, integer) in integers.iter().enumerate() {
            let (Some(integer), Some(mut high)) = (integer, least[at]) else {
                continue;
            };
            // Nothing is known about values below. Parameters are rarely negative.
            let mut low = high.min(0);
            while low < high && Instant::now() < deadline {
                let Some(middle) = between(low, high) else {
                    break;
                };
                solver.push();
                solver.assert(integer.le(Int::from_i64(middle)));
                let found = values(&solver);
                solver.pop(1);
                match found {
                    Some(found) => {
                        high = found[at].unwrap_or(middle).min(middle);
                        least = found;
                    }
                    None => low = middle.checked_add(1).unwrap_or(high),
                }
            }
            solver.assert(integer.eq(Int::from_i64(high)));
        }
        let mut all = vec![least];
        if !all.contains(&named) {
            all.push(named);
        }
        all
    })
}

/// The number halfway between two, rounded down.
fn between(low: i64, high: i64) -> Option<i64> {
    let half = high.checked_sub(low)?.checked_div(2)?;
    low.checked_add(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_values_come_first() {
        let (x, y) = (term::name("x"), term::name("y"));
        let declare = |name: &str| format!("(declare-const {name} Int)");
        let obligation = Obligation {
            name: "test".to_owned(),
            meaning: "a test".to_owned(),
            declarations: vec![declare("x"), declare("y")],
            hypotheses: vec![term::le(&term::int(1000), &x), term::lt(&x, &y)],
            goal: term::boolean(false),
            split: Vec::new(),
        };
        let names = ["y", "x", "z"].map(str::to_owned);
        let found = failing(&obligation, &names, Duration::from_secs(10));
        assert_eq!(found[0], [Some(1001), Some(1000), None]);
    }
}
