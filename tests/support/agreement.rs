//! A verdict beside exhaustive search with the reference semantics at small values.

use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use warplock::hunt::grid;
use warplock::protocol::BinaryOp;
use warplock::protocol::Domain;
use warplock::protocol::Expr;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore_all;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Decision;
use warplock::verdict::decision::Verdict;

/// How far a search goes.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Parameters go up to this position of their domain.
    pub radius: i64,
    /// States per choice of parameter values.
    pub states: u64,
    /// Time for everything.
    pub time: Duration,
}

/// What exhaustive search found at small values.
#[derive(Debug, Default)]
pub struct Small {
    /// The first values with a stuck state.
    pub stuck: Option<Vec<i64>>,
    /// The first values at which a run is undefined or cannot be, and why.
    pub undefined: Option<(Vec<i64>, String)>,
    /// Choices of values that were searched to the end, or at which nothing can run.
    pub complete: usize,
}

fn bounds() -> Bounds {
    Bounds {
        max_initial: 2,
        limits: Limits {
            ops: 4_000,
            members: 64,
            cells: 400,
            work: 1_000_000,
        },
    }
}

/// Parameter values that assumptions leave far from the origin: those that are equated with a number
/// have it, the others are so far from their least.
fn pinned(protocol: &Protocol, radius: i64) -> Option<Vec<i64>> {
    let mut equal = Vec::new();
    let mut open: Vec<&Expr> = protocol.assumptions.iter().map(|a| &a.condition).collect();
    while let Some(condition) = open.pop() {
        match condition {
            Expr::Binary(BinaryOp::And, a, b) => open.extend([&**a, &**b]),
            Expr::Binary(BinaryOp::Eq, a, b) => {
                if let (Expr::Param(id), Expr::Int(value)) = (&**a, &**b) {
                    equal.push((id.0, *value));
                }
            }
            _ => {}
        }
    }
    // Near the origin they have been searched anyway.
    let least = |domain: &Domain| match domain {
        Domain::AtLeast(lo) | Domain::Range(lo, _) => *lo,
        Domain::Set(values) => values.first().copied().unwrap_or(0),
    };
    let far = |&(at, value): &(usize, i64)| value > least(&protocol.params[at].domain) + radius;
    equal.iter().any(far).then_some(())?;
    let each = protocol.params.iter().enumerate();
    let params: Vec<i64> = each
        .map(|(at, param)| {
            let known = equal.iter().find(|(known, _)| *known == at);
            known.map_or(least(&param.domain) + radius, |(_, value)| *value)
        })
        .collect();
    let open = params.len() > equal.len();
    (open || radius == 0).then_some(())?;
    unfold::check_params(protocol, &params)
        .is_ok()
        .then_some(params)
}

/// Searches the values near the origin of the domain, the nearest first, and those that assumptions
/// leave.
pub fn small(protocol: &Protocol, effort: Effort) -> Small {
    let deadline = Instant::now() + effort.time;
    let options = Options {
        max_states: effort.states,
        deadline: Some(deadline),
        ..Options::default()
    };
    let mut small = Small::default();
    for radius in 0..=effort.radius {
        let near = grid::points(protocol, radius);
        let all = near.into_iter().chain(pinned(protocol, radius));
        for params in all {
            if Instant::now() >= deadline {
                return small;
            }
            match explore_all(protocol, &params, &bounds(), &options) {
                Ok(found) => {
                    if let (Some((_, _, violation)), None) = (found.violation, &small.undefined) {
                        small.undefined = Some((params.clone(), violation.kind.to_string()));
                    }
                    if found.stuck.is_some() {
                        small.stuck = Some(params);
                        return small;
                    }
                    small.complete += usize::from(found.end == SearchEnd::Exhausted);
                }
                Err(error) => {
                    let text = error.to_string();
                    let large = text.contains("are needed") || text.contains("work");
                    small.complete += usize::from(!large);
                    if !large && small.undefined.is_none() {
                        small.undefined = Some((params, text));
                    }
                }
            }
        }
    }
    small
}

/// Decides, as `warplock check` does. An error is a disagreement between parts of the program.
pub fn decide(
    protocol: &Protocol,
    narrowing: &Narrowing,
    timeout: Duration,
) -> Result<Decision, String> {
    let settings = Settings {
        timeout,
        objectives: None,
        cancel: &AtomicBool::new(false),
        tell: &|_| {},
        kernel: false,
    };
    verdict::decide(protocol, narrowing, Property::Deadlock, &settings)
        .map_err(|error| format!("internal error: {error}"))
}

/// What a verdict says that the search does not bear out.
pub fn contradiction(
    protocol: &Protocol,
    decision: &Decision,
    small: &Small,
    effort: Effort,
) -> Option<String> {
    match &decision.verdict {
        Verdict::Proved(_) => match (&small.stuck, &small.undefined) {
            (Some(params), _) => Some(format!("PROVED, but stuck at {params:?}")),
            (None, Some((params, what))) => {
                Some(format!("PROVED, but undefined at {params:?}: {what}"))
            }
            (None, None) => None,
        },
        Verdict::Refuted(refutation) => {
            let params = &refutation.input.params;
            let options = Options {
                max_states: effort.states * 10,
                deadline: Some(Instant::now() + effort.time),
                ..Options::default()
            };
            let starts = refutation.input.initial.values().max().copied();
            let bounds = Bounds {
                max_initial: starts.unwrap_or(0).max(2),
                ..bounds()
            };
            let found = explore_all(protocol, params, &bounds, &options).ok()?;
            let fine = found.stuck.is_none() && found.end == SearchEnd::Exhausted;
            fine.then(|| format!("REFUTED at {params:?}, where nothing is stuck"))
        }
        Verdict::Bounded { within, .. } => {
            let params = small.stuck.as_ref()?;
            let radius = (0..=64).rev().find(|radius| {
                let all = grid::describe(protocol, *radius);
                within.strip_prefix(&all).is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(", open") || rest.starts_with(';')
                })
            })?;
            let region = grid::Region::of_radius(protocol, radius);
            region
                .contains(params)
                .then(|| format!("BOUNDED {within}, but stuck at {params:?}"))
        }
        Verdict::Unknown { .. } => None,
    }
}
