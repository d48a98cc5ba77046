//! Simulates one run of an instance under a scheduler.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::instance::Instance;
use super::step;
use super::step::Action;
use super::step::State;
use super::step::StepError;
use super::step::Violation;

/// Decides what happens next.
pub trait Scheduler {
    /// The next action, out of `enabled`: the actions that are possible, at least one. `None` ends the run.
    fn next(&mut self, enabled: &[Action]) -> Option<Action>;
}

/// Picks uniformly among what can happen; the same seed gives the same run everywhere.
#[derive(Debug, Clone)]
pub struct RandomScheduler {
    rng: ChaCha8Rng,
}

impl RandomScheduler {
    /// A scheduler with this seed.
    pub fn new(seed: u64) -> RandomScheduler {
        RandomScheduler {
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }
}

impl Scheduler for RandomScheduler {
    fn next(&mut self, enabled: &[Action]) -> Option<Action> {
        // Drawn as 64 bits, so that a run does not depend on the size of `usize`.
        let place = self.rng.random_range(0..enabled.len().max(1) as u64);
        enabled.get(place as usize).copied()
    }
}

/// Lets the members act in turn, one action each.
#[derive(Debug, Clone, Default)]
pub struct RoundRobin {
    next: usize,
}

impl Scheduler for RoundRobin {
    fn next(&mut self, enabled: &[Action]) -> Option<Action> {
        let ahead = enabled.iter().filter(|a| a.member() >= self.next);
        let action = ahead
            .min_by_key(|a| a.member())
            .or_else(|| enabled.iter().min_by_key(|a| a.member()))?;
        self.next = action.member() + 1;
        Some(*action)
    }
}

/// Plays a given list of actions.
#[derive(Debug, Clone)]
pub struct Script {
    actions: std::vec::IntoIter<Action>,
}

impl Script {
    /// A scheduler that plays these actions.
    pub fn new(actions: Vec<Action>) -> Script {
        Script {
            actions: actions.into_iter(),
        }
    }
}

impl Scheduler for Script {
    fn next(&mut self, _enabled: &[Action]) -> Option<Action> {
        self.actions.next()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every member has finished.
    Finished,
    /// Nothing can happen and not every member has finished.
    Stuck,
    /// The step limit was reached.
    StepLimit,
    /// The scheduler named no further action.
    ScheduleEnded,
    /// The scheduler named an action that cannot happen.
    NotEnabled(Action),
    /// The effect of the last action is undefined. The action is not part of the trace.
    Violation(Violation),
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What happened.
    pub trace: Vec<Action>,
    /// The state it led to.
    pub state: State,
    /// Why it ended there.
    pub end: RunEnd,
}

/// Runs an instance for at most `max_steps` actions.
pub fn simulate(instance: &Instance, scheduler: &mut dyn Scheduler, max_steps: usize) -> Run {
    let mut state = step::initial(instance);
    let mut trace = Vec::new();
    let end = loop {
        let enabled = step::enabled(instance, &state);
        if enabled.is_empty() {
            break if step::is_finished(instance, &state) {
                RunEnd::Finished
            } else {
                RunEnd::Stuck
            };
        }
        if trace.len() >= max_steps {
            break RunEnd::StepLimit;
        }
        let Some(action) = scheduler.next(&enabled) else {
            break RunEnd::ScheduleEnded;
        };
        match step::apply(instance, &mut state, action) {
            Ok(()) => trace.push(action),
            Err(StepError::NotEnabled(action)) => break RunEnd::NotEnabled(action),
            Err(StepError::Violation(violation)) => break RunEnd::Violation(violation),
        }
    };
    Run { trace, state, end }
}

#[cfg(test)]
mod tests {
    use crate::protocol::RowOrder;
    use crate::semantics::samples::*;
    use crate::semantics::unfold::instantiate;

    use super::*;

    #[test]
    fn seeds_repeat_and_scripts_replay() {
        let instance = instantiate(&jacobi(false), &plain(&[2, 3])).expect("a valid input");
        let run = simulate(&instance, &mut RandomScheduler::new(7), 1000);
        assert_eq!(run.end, RunEnd::Finished);
        assert_eq!(run, simulate(&instance, &mut RandomScheduler::new(7), 1000));
        assert_ne!(run, simulate(&instance, &mut RandomScheduler::new(8), 1000));
        assert_eq!(
            run,
            simulate(&instance, &mut Script::new(run.trace.clone()), 1000)
        );
        let half = run.trace[..10].to_vec();
        let cut = simulate(&instance, &mut Script::new(half), 1000);
        assert_eq!(cut.end, RunEnd::ScheduleEnded);
        assert_eq!(
            simulate(&instance, &mut RoundRobin::default(), 5).end,
            RunEnd::StepLimit
        );
    }

    #[test]
    fn round_robin_goes_around() {
        let instance = instantiate(&jacobi(false), &plain(&[1, 1])).expect("a valid input");
        let run = simulate(&instance, &mut RoundRobin::default(), 100);
        let members: Vec<usize> = run.trace.iter().map(|a| a.member()).collect();
        assert_eq!(members, [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn scripts_are_held_to_what_is_enabled() {
        let protocol = block_sparse(Lock::Own, false, RowOrder::Given);
        let instance = instantiate(&protocol, &input(&[2, 1, 2], &[[1, 0]])).expect("valid");
        let script = vec![Action::Launch(1)];
        let run = simulate(&instance, &mut Script::new(script), 10);
        assert_eq!(run.end, RunEnd::NotEnabled(Action::Launch(1)));
        let run = simulate(&instance, &mut RandomScheduler::new(0), 10);
        assert_eq!(run.end, RunEnd::Stuck);
    }
}
