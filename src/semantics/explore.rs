//! Exhaustive search through every schedule at one input, and through every input.
//!
//! The search is breadth first, so the first stuck state has a shortest trace. A violation is an operation whose
//! effect is undefined. The search does not continue after a violation, and reports the violation beside its result.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::protocol::Protocol;

use super::error::RunError;
use super::input::Input;
use super::inputs::Bounds;
use super::inputs::Inputs;
use super::instance::Instance;
use super::pace::Pace;
use super::step;
use super::step::Action;
use super::step::State;
use super::step::StepError;
use super::step::Violation;
use super::symmetry::Symmetry;
use super::table::StateTable;
use super::table::decode;
use super::table::encode;

/// What a search may do.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Whether states that differ only by interchangeable members count once.
    pub symmetry: bool,
    /// Whether the search ends at the first stuck state, or goes on to count all states.
    pub stop_at_stuck: bool,
    /// How many states may be stored, over all inputs of [`explore_all`]; at most `u32::MAX - 1`
    /// per input.
    pub max_states: u64,
    /// How many bytes the states of one input may take.
    pub max_bytes: usize,
    /// Ends the search soon after it becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// Ends the search soon after this time.
    pub deadline: Option<Instant>,
    /// Is called with the number of states so far from time to time.
    pub progress: Option<&'a dyn Fn(u64)>,
    /// Which stuck states count; all of them if this is not given. The function must not distinguish interchangeable
    /// members.
    pub accepts: Option<Accepts<'a>>,
}

/// Decides whether a state of an instance is one of those that the search looks for.
pub type Accepts<'a> = &'a dyn Fn(&Instance, &State) -> bool;

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            symmetry: true,
            stop_at_stuck: true,
            max_states: 100_000_000,
            max_bytes: usize::MAX,
            cancel: None,
            deadline: None,
            progress: None,
            accepts: None,
        }
    }
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchEnd {
    /// Everything was searched.
    Exhausted,
    /// A stuck state was found, and the options say that the search ends there.
    FoundStuck,
    /// The limit on states or their memory was reached.
    StateLimit,
    /// The search was cancelled, or its time was up.
    Cancelled,
}

/// What a search at one input found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explored {
    /// Why it ended.
    pub end: SearchEnd,
    /// How many states it met.
    pub states: u64,
    /// How many stuck states it met.
    pub stuck_states: u64,
    /// A shortest trace to a stuck state.
    pub stuck: Option<Vec<Action>>,
    /// A shortest trace to a violation, its last action being the violating one.
    pub violation: Option<(Vec<Action>, Violation)>,
}

/// Searches every schedule of an instance.
pub fn explore(instance: &Instance, options: &Options<'_>) -> Explored {
    let symmetry = if options.symmetry {
        Symmetry::of(instance)
    } else {
        Symmetry::none()
    };
    let mut search = Search {
        instance,
        symmetry,
        table: StateTable::new(),
        parents: Vec::new(),
        buffer: Vec::new(),
    };
    search.add(step::initial(instance), 0);
    let limit = options.max_states.min(u64::from(u32::MAX) - 1);
    let mut end = SearchEnd::Exhausted;
    let mut stuck_states = 0;
    let mut stuck = None;
    let mut violation = None;
    let mut number = 0;
    let mut pace = Pace::new(options, instance);
    'states: while number < search.table.len() {
        if search.table.len() as u64 > limit || search.table.bytes() > options.max_bytes {
            end = SearchEnd::StateLimit;
            break;
        }
        let state = decode(instance, search.table.get(number), false);
        let actions = step::enabled(instance, &state);
        let counts = |state| {
            options
                .accepts
                .is_none_or(|accepts| accepts(instance, state))
        };
        if actions.is_empty() && !step::is_finished(instance, &state) && counts(&state) {
            stuck_states += 1;
            stuck.get_or_insert(number);
            if options.stop_at_stuck {
                end = SearchEnd::FoundStuck;
                break;
            }
        }
        for action in actions {
            if pace.is_over(search.table.len()) {
                end = SearchEnd::Cancelled;
                break 'states;
            }
            let mut next = state.clone();
            match step::apply(instance, &mut next, action) {
                Ok(()) => search.add(next, number),
                Err(StepError::Violation(found)) => {
                    violation.get_or_insert((number, found));
                }
                // `enabled` lists no other action.
                Err(StepError::NotEnabled(_)) => {}
            }
        }
        number += 1;
    }
    Explored {
        end,
        states: search.table.len() as u64,
        stuck_states,
        stuck: stuck.map(|number| search.trace(number).0),
        violation: violation.map(|(number, found)| search.violating(number, found)),
    }
}

struct Search<'i> {
    instance: &'i Instance,
    symmetry: Symmetry,
    table: StateTable,
    parents: Vec<u32>,
    buffer: Vec<u8>,
}

impl Search<'_> {
    fn add(&mut self, mut state: State, parent: usize) {
        self.symmetry.represent(&mut state);
        encode(&state, &mut self.buffer);
        if self.table.insert(&self.buffer) {
            self.parents.push(parent as u32);
        }
    }

    /// A run to one of the states that the stored state of this number represents, and that state. A stored state is
    /// the representative of its symmetry class. So the run is found anew, one action at a time.
    fn trace(&self, number: usize) -> (Vec<Action>, State) {
        let mut path = Vec::new();
        let mut at = number;
        while at != 0 {
            path.push(at);
            at = self.parents[at] as usize;
        }
        let mut state = step::initial(self.instance);
        let mut trace = Vec::new();
        let mut bytes = Vec::new();
        for number in path.into_iter().rev() {
            let wanted = self.table.get(number);
            for action in step::enabled(self.instance, &state) {
                let mut next = state.clone();
                if step::apply(self.instance, &mut next, action).is_err() {
                    continue;
                }
                let mut representative = next.clone();
                self.symmetry.represent(&mut representative);
                encode(&representative, &mut bytes);
                if bytes == wanted {
                    trace.push(action);
                    state = next;
                    break;
                }
            }
        }
        (trace, state)
    }

    /// A run to the violation that was found in the state of this number or in a state that it represents.
    fn violating(&self, number: usize, found: Violation) -> (Vec<Action>, Violation) {
        let (mut trace, state) = self.trace(number);
        for action in step::enabled(self.instance, &state) {
            let violation = step::apply(self.instance, &mut state.clone(), action);
            if let Err(StepError::Violation(violation)) = violation
                && (violation.stmt, violation.kind) == (found.stmt, found.kind)
            {
                trace.push(action);
                return (trace, violation);
            }
        }
        (trace, found)
    }
}

/// What a search through every input found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllExplored {
    /// Why it ended.
    pub end: SearchEnd,
    /// How many inputs were searched, the last one perhaps not to its end.
    pub inputs: u64,
    /// How many states they have together.
    pub states: u64,
    /// How many inputs have a stuck state.
    pub stuck_inputs: u64,
    /// The first stuck input and a shortest trace.
    pub stuck: Option<(Input, Vec<Action>)>,
    /// The first input with a violation, a trace to it and the violation.
    pub violation: Option<(Input, Vec<Action>, Violation)>,
}

/// Searches every schedule of every input at these parameters: every pattern, row order and open start value within
/// the bounds. Inputs with the fewest entries come first.
pub fn explore_all(
    protocol: &Protocol,
    params: &[i64],
    bounds: &Bounds,
    options: &Options<'_>,
) -> Result<AllExplored, RunError> {
    let mut all = AllExplored {
        end: SearchEnd::Exhausted,
        inputs: 0,
        states: 0,
        stuck_inputs: 0,
        stuck: None,
        violation: None,
    };
    for item in Inputs::new(protocol, params, bounds)? {
        let (input, instance) = item?;
        let before = all.states;
        let progress = |states| {
            if let Some(progress) = options.progress {
                progress(before + states);
            }
        };
        let found = explore(
            &instance,
            &Options {
                max_states: options.max_states.saturating_sub(before),
                progress: Some(&progress),
                ..*options
            },
        );
        all.inputs += 1;
        all.states += found.states;
        if let (Some((trace, violation)), None) = (found.violation, &all.violation) {
            all.violation = Some((input.clone(), trace, violation));
        }
        if let Some(trace) = found.stuck {
            all.stuck_inputs += 1;
            all.stuck.get_or_insert((input, trace));
        }
        if found.end != SearchEnd::Exhausted {
            all.end = found.end;
            break;
        }
    }
    Ok(all)
}
