//! Decides whether the domain has any values. If assumptions contradict each other, as `assume N >= 5` and `assume N <
//! 5`, every property holds, so a proof would say nothing.

use std::time::Duration;

use z3::Params;
use z3::SatResult;
use z3::Solver;
use z3::ast::Int;

use crate::encoding::evaluate::Evaluator;
use crate::encoding::value::Num;
use crate::fresh;
use crate::proof::empty;
use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::unfold;

/// Values of each parameter, from its least, that are tried before a solver is asked.
const SMALL: u32 = 16;

/// How many values ranges inside assumptions are written out for.
const WIDTH: i64 = 64;

/// The reasons for which nothing is decided where no parameter values are known.
pub const NOTHING_TO_DECIDE: [&str; 2] = [
    "no parameter values satisfy the declared domain and the assumptions: there is nothing to decide about",
    "no parameter values were found that satisfy the declared domain and the assumptions: there may be nothing to \
     decide about",
];

/// What is known of the parameter values that satisfy the domain and the assumptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inputs {
    /// There are some.
    Some,
    /// There are none.
    None,
    /// Neither has been found out.
    Open,
}

impl Inputs {
    /// Looks for parameter values. Those that a solver finds are checked by the semantics.
    pub fn of(protocol: &Protocol, limit: Duration) -> Inputs {
        let tight = protocol.tightened();
        let allowed = |params: &[i64]| unfold::check_params(protocol, params).is_ok();
        // Values as they stand, and as powers of two, which sizes tend to be.
        let mut small = (0..SMALL).flat_map(|nth| {
            let steps = [i64::from(nth), 1i64 << nth];
            steps.map(|step| near(&tight, step))
        });
        if small.any(|params| allowed(&params)) {
            return Inputs::Some;
        }
        if empty::is_empty(protocol, limit) {
            return Inputs::None;
        }
        match solved(protocol, limit) {
            Some(params) if allowed(&params) => Inputs::Some,
            _ => Inputs::Open,
        }
    }

    /// Why nothing is proved where this is all that is known.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Inputs::Some => None,
            Inputs::None => Some(NOTHING_TO_DECIDE[0]),
            Inputs::Open => Some(NOTHING_TO_DECIDE[1]),
        }
    }
}

/// Every parameter as far from its least value, or its last one.
fn near(protocol: &Protocol, step: i64) -> Vec<i64> {
    let value = |domain: &Domain| match domain {
        Domain::AtLeast(lo) => lo.saturating_add(step),
        Domain::Range(lo, hi) => lo.saturating_add(step).min(*hi),
        Domain::Set(values) => {
            let at = usize::try_from(step).ok().and_then(|at| values.get(at));
            at.or(values.last()).copied().unwrap_or(0)
        }
    };
    protocol.params.iter().map(|p| value(&p.domain)).collect()
}

/// Parameter values of a model.
fn solved(protocol: &Protocol, limit: Duration) -> Option<Vec<i64>> {
    // Assumptions are about parameters only.
    let bare = Protocol {
        patterns: Vec::new(),
        ..protocol.clone()
    };
    fresh::context(|| {
        let evaluator = Evaluator::new(&bare, &[], WIDTH, false);
        let solver = Solver::new();
        let mut params = Params::new();
        let milliseconds = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        params.set_u32("timeout", milliseconds);
        params.set_bool("ctrl_c", false);
        solver.set_params(&params);
        for constraint in &evaluator.constraints {
            solver.assert(constraint);
        }
        if solver.check() != SatResult::Sat {
            return None;
        }
        let model = solver.get_model()?;
        let value = |term: &Int| model.eval(term, true)?.as_i64();
        let values = evaluator.params.iter().map(|param| match param {
            Num::Known(value) => Some(*value),
            Num::Term(term) => value(term),
        });
        values.collect()
    })
}
