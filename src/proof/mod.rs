//! Proof search: guessing why a protocol cannot get stuck.
//!
//! Each rule of [`crate::certificate`] has a guesser here that looks for its artefact on random
//! small instances and has the checker try what fits. What is found counts for nothing until it
//! is written down as a certificate and checked from the protocol's text.

pub mod sample;
mod ticket;
mod turns;

use std::time::Duration;
use std::time::Instant;

use crate::certificate::discharge;
use crate::certificate::discharge::Answer;
use crate::certificate::discharge::Solver;
use crate::certificate::manifest::Argument;
use crate::certificate::program::Unsupported;
use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::instance::Instance;

/// How many random instances a guess has to survive.
const SAMPLES: usize = 250;

/// What came of looking for an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Guess {
    /// The checker proves this one.
    Found(Argument),
    /// None was found.
    Nothing {
        /// Why, as a lowercase sentence fragment.
        reason: String,
        /// Parameter values at which the search suspects a counterexample, none of them checked.
        suspects: Vec<Vec<i64>>,
    },
}

impl Guess {
    /// No argument, for this reason, and no suspicion.
    pub fn nothing(reason: impl Into<String>) -> Guess {
        Guess::Nothing {
            reason: reason.into(),
            suspects: Vec::new(),
        }
    }
}

/// Looks for an argument that the checker accepts, rule by rule. `tell` is told what is being
/// tried.
pub fn guess(protocol: &Protocol, limit: Duration, tell: &dyn Fn(&str)) -> Guess {
    let deadline = Instant::now() + limit;
    tell("sampling instances");
    let samples = sample::instances(protocol, SAMPLES, 0);
    let by_ticket = ticket::guess(protocol, &samples, deadline, tell);
    if matches!(by_ticket, Guess::Found(_)) {
        return by_ticket;
    }
    match turns::guess(protocol, &samples, deadline, tell) {
        Guess::Nothing { .. } => by_ticket,
        found => found,
    }
}

/// Whether the whole grid is resident in every sample.
fn whole_grid_fits(samples: &[(Input, Instance)]) -> bool {
    samples.iter().all(|(_, instance)| {
        instance.roles.iter().all(|role| {
            let resident = role.launch.as_ref().and_then(|plan| plan.resident);
            resident.is_none_or(|places| places >= role.members.len())
        })
    })
}

/// Ways to treat parameters with a listed set of values: symbolically, then one at a time.
fn listed_splits(protocol: &Protocol) -> Vec<bool> {
    let listed = protocol
        .params
        .iter()
        .any(|param| matches!(param.domain, Domain::Set(_)));
    if listed {
        vec![false, true]
    } else {
        vec![false]
    }
}

/// Whether the checker proves every obligation of an argument.
fn accepted(
    protocol: &Protocol,
    argument: &Argument,
    split: bool,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    let obligations = argument.obligations(protocol).map_err(uncovered)?;
    // One hard obligation must not use up the time of the other candidates.
    let each = if split {
        Duration::from_secs(10)
    } else {
        Duration::from_secs(4)
    };
    for obligation in &obligations {
        tell(&obligation.meaning);
        let left = deadline.saturating_duration_since(Instant::now()).min(each);
        match discharge::discharge(obligation, &Solver::BuiltIn, left) {
            Answer::Discharged => {}
            Answer::Fails => {
                return Err(format!(
                    "it does not hold that {}",
                    obligation.meaning.trim_end_matches('.')
                ));
            }
            Answer::Unknown(why) => {
                return Err(format!(
                    "the solver could not decide ({why}) that {}",
                    obligation.meaning.trim_end_matches('.')
                ));
            }
        }
    }
    Ok(())
}

/// Why a rule does not apply, as a lowercase fragment.
fn uncovered(refused: Unsupported) -> String {
    format!("the proof rules do not cover {refused}")
}
