//! Decides a property at one input by a search through every run.
//!
//! Some properties compare runs: for example, one operation belongs to different generations in two runs. So a state
//! here includes the history of completions, and there are more states than in a search for a deadlock.
//!
//! Members with equal programs are interchangeable. So states that differ only in which of these members did what are
//! searched once. If one of these members takes part in some way in some run, then each of them does so in some other
//! run. Hence participations are collected per group of such members.

use rustc_hash::FxHashMap;

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::semantics::data;
use crate::semantics::data::Data;
use crate::semantics::error::RunError;
use crate::semantics::explore::Options;
use crate::semantics::explore::SearchEnd;
use crate::semantics::input::Input;
use crate::semantics::inputs::Bounds;
use crate::semantics::inputs::Inputs;
use crate::semantics::instance::Instance;
use crate::semantics::pace::Pace;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::step::StepError;
use crate::semantics::step::Violation;
use crate::semantics::symmetry::Symmetry;
use crate::semantics::table::StateTable;
use crate::semantics::table::decode;
use crate::semantics::table::encode;

use super::Monitor;
use super::Participation;
use super::StateMonitor;
use super::judge::deviation;
use super::participation;

/// The run, or the two runs, that show a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// The first one.
    pub first: Vec<Action>,
    /// The second one, for a property of two runs.
    pub second: Option<Vec<Action>>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// Why it ended; [`SearchEnd::FoundStuck`] if it ended at a violation.
    pub end: SearchEnd,
    /// How many states it met.
    pub states: u64,
    /// A violation. No other one has shorter runs.
    pub found: Option<Runs>,
    /// An undefined action that violates another property. The search does not continue after it.
    pub undefined: Option<Violation>,
}

/// Searches every schedule of an instance for a violation. `data` has to be given for races and stale reads.
pub fn search(
    instance: &Instance,
    data: Option<&Data>,
    property: Property,
    options: &Options<'_>,
) -> Searched {
    if let (Property::StaleRead, Some(data)) = (property, data) {
        return super::stale::search(instance, data, options);
    }
    let symmetry = match options.symmetry {
        // Claims distinguish members that do the same.
        _ if property == Property::Assertion => Symmetry::none(),
        true => Symmetry::with_data(instance, data),
        false => Symmetry::none(),
    };
    let mut search = Search {
        instance,
        property,
        groups: symmetry.group_of(instance.members.len()),
        symmetry,
        monitor: Monitor::new(instance, property),
        state_monitor: StateMonitor::new(instance, data, property),
        table: StateTable::new(),
        parents: Vec::new(),
        seen: FxHashMap::default(),
        undefined: None,
        buffer: Vec::new(),
    };
    let initial = step::initial_with_history(instance);
    let found = search.shows(&initial);
    search.add(initial, 0);
    if found {
        let runs = Runs {
            first: Vec::new(),
            second: None,
        };
        return search.end(SearchEnd::FoundStuck, Some(runs));
    }
    search.run(options)
}

/// A participation that was seen, and the number of the state in which it was seen.
#[derive(Clone, Copy)]
struct Seen {
    number: usize,
    what: Participation,
}

struct Search<'i> {
    instance: &'i Instance,
    property: Property,
    symmetry: Symmetry,
    /// Per member: the first member that it is interchangeable with.
    groups: Vec<usize>,
    monitor: Monitor<'i>,
    state_monitor: StateMonitor<'i>,
    table: StateTable,
    parents: Vec<u32>,
    /// Per group and operation: the first participation.
    seen: FxHashMap<(usize, u32), Seen>,
    undefined: Option<Violation>,
    buffer: Vec<u8>,
}

impl Search<'_> {
    fn run(&mut self, options: &Options<'_>) -> Searched {
        let limit = options.max_states.min(u64::from(u32::MAX) - 1);
        let mut number = 0;
        let mut pace = Pace::new(options, self.instance);
        while number < self.table.len() {
            let state = decode(self.instance, self.table.get(number), true);
            for action in step::enabled(self.instance, &state) {
                if pace.is_over(self.table.len()) {
                    return self.end(SearchEnd::Cancelled, None);
                }
                // Checked for every action, because one state of many members has many successors.
                let full = self.table.bytes() > options.max_bytes;
                if full || self.table.len() as u64 > limit {
                    return self.end(SearchEnd::StateLimit, None);
                }
                if let Some(runs) = self.action(number, &state, action) {
                    return self.end(SearchEnd::FoundStuck, Some(runs));
                }
            }
            number += 1;
        }
        self.end(SearchEnd::Exhausted, None)
    }

    fn end(&self, end: SearchEnd, found: Option<Runs>) -> Searched {
        Searched {
            end,
            states: self.table.len() as u64,
            found,
            undefined: self.undefined.clone(),
        }
    }

    /// Whether a state shows a violation by itself.
    fn shows(&self, state: &State) -> bool {
        self.state_monitor.state(state).is_some() || self.monitor.state(state).is_some()
    }

    /// Performs an action in the state of this number.
    fn action(&mut self, number: usize, state: &State, action: Action) -> Option<Runs> {
        let before = self.monitor.before(state, action);
        let mut next = state.clone();
        let shown = match step::apply(self.instance, &mut next, action) {
            Ok(()) => {
                if let Some(what) = participation(self.instance, state, action, self.property)
                    && let Some(runs) = self.takes_part(number, what)
                {
                    return Some(runs);
                }
                self.monitor.after(before, &next).is_some()
            }
            Err(StepError::Violation(violation)) => {
                if self.monitor.undefined(&violation).is_none() {
                    self.undefined.get_or_insert(violation);
                    return None;
                }
                return Some(self.run_to(number));
            }
            // `enabled` lists no other action.
            Err(StepError::NotEnabled(_)) => return None,
        };
        if shown || self.shows(&next) {
            return Some(self.run_to(number));
        }
        self.add(next, number);
        None
    }

    fn takes_part(&mut self, number: usize, what: Participation) -> Option<Runs> {
        let key = (self.groups[what.member], what.op);
        let seen = *self.seen.entry(key).or_insert(Seen { number, what });
        if seen.what.count == what.count {
            return None;
        }
        let runs = self.two_runs(seen, Seen { number, what });
        // If the runs cannot be found again, a violation was seen nevertheless, and it must not be dropped. The run
        // that is returned instead is no counterexample, and the replay will say so.
        Some(runs.unwrap_or_else(|| Runs {
            first: self.trace(number).0,
            second: None,
        }))
    }

    /// A run that shows each participation, with the same member in both runs.
    fn two_runs(&self, one: Seen, other: Seen) -> Option<Runs> {
        let (first, one) = self.run_of(one)?;
        let (second, other) = self.run_of(other)?;
        // Renames the member in the second run, so that both runs are about the same member.
        let second: Vec<Action> = second
            .into_iter()
            .map(|action| swapped(action, one.member, other.member))
            .collect();
        let other = Participation {
            member: one.member,
            ..other
        };
        deviation(one, other)?;
        Some(Runs {
            first,
            second: Some(second),
        })
    }

    /// A run that ends with the participation that was seen, by any member of its group.
    fn run_of(&self, seen: Seen) -> Option<(Vec<Action>, Participation)> {
        let (mut trace, state) = self.trace(seen.number);
        for action in step::enabled(self.instance, &state) {
            let found = participation(self.instance, &state, action, self.property);
            if let Some(what) = found
                && self.groups[what.member] == self.groups[seen.what.member]
                && (what.op, what.count) == (seen.what.op, seen.what.count)
            {
                trace.push(action);
                return Some((trace, what));
            }
        }
        None
    }

    /// A run to the state of this number, continued by one action that shows a violation.
    fn run_to(&self, number: usize) -> Runs {
        let (mut first, state) = self.trace(number);
        for action in step::enabled(self.instance, &state) {
            let before = self.monitor.before(&state, action);
            let mut next = state.clone();
            let shown = match step::apply(self.instance, &mut next, action) {
                Ok(()) => self.monitor.after(before, &next).is_some() || self.shows(&next),
                Err(StepError::Violation(v)) => self.monitor.undefined(&v).is_some(),
                Err(StepError::NotEnabled(_)) => false,
            };
            if shown {
                first.push(action);
                break;
            }
        }
        Runs {
            first,
            second: None,
        }
    }

    fn add(&mut self, mut state: State, parent: usize) {
        self.symmetry.represent(&mut state);
        encode(&state, &mut self.buffer);
        if self.table.insert(&self.buffer) {
            self.parents.push(parent as u32);
        }
    }

    /// A run to one of the states that the state of this number represents, and that state.
    fn trace(&self, number: usize) -> (Vec<Action>, State) {
        let mut path = Vec::new();
        let mut at = number;
        while at != 0 {
            path.push(at);
            at = self.parents[at] as usize;
        }
        let mut state = step::initial_with_history(self.instance);
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
}

/// An action with the names of two members exchanged.
pub(crate) fn swapped(action: Action, one: usize, other: usize) -> Action {
    let renamed = |member: usize| match member {
        m if m == one => other,
        m if m == other => one,
        m => m,
    };
    match action {
        Action::Launch(member) => Action::Launch(renamed(member)),
        Action::Step(member) => Action::Step(renamed(member)),
        Action::Land(member, position) => Action::Land(renamed(member), position),
    }
}

/// What a search through every input found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllSearched {
    /// Why it ended.
    pub end: SearchEnd,
    /// How many inputs were searched, the last one perhaps not to its end.
    pub inputs: u64,
    /// How many states they have together.
    pub states: u64,
    /// The first input with a violation.
    pub found: Option<(Input, Runs)>,
    /// An access that no state can show, if the property is about accesses and there is such an access.
    pub hidden: Option<data::Access>,
    /// An undefined action that violates another property, in words, and its place in the text.
    pub undefined: Option<(String, Option<Span>)>,
    /// Per statement number: its place in the text.
    pub spans: Vec<Span>,
}

/// Searches every schedule of every input at these parameters, those with the fewest entries
/// first, up to the first violation.
///
/// # Errors
///
/// An input that does not run.
pub fn search_all(
    protocol: &Protocol,
    params: &[i64],
    property: Property,
    bounds: &Bounds,
    options: &Options<'_>,
) -> Result<AllSearched, RunError> {
    let mut all = AllSearched {
        end: SearchEnd::Exhausted,
        inputs: 0,
        states: 0,
        found: None,
        hidden: None,
        undefined: None,
        spans: Vec::new(),
    };
    for item in Inputs::new(protocol, params, bounds)? {
        let (input, instance) = item?;
        let data = super::wanted_data(protocol, property, &input, &bounds.limits)?;
        let before = all.states;
        let progress = |states| {
            if let Some(progress) = options.progress {
                progress(before + states);
            }
        };
        let options = Options {
            max_states: options.max_states.saturating_sub(before),
            progress: Some(&progress),
            ..*options
        };
        let searched = search(&instance, data.as_ref(), property, &options);
        all.inputs += 1;
        all.states += searched.states;
        let hidden = StateMonitor::new(&instance, data.as_ref(), property);
        let hidden = hidden.hidden().copied();
        all.hidden = all.hidden.or(hidden);
        if let (None, Some(violation)) = (&all.undefined, searched.undefined) {
            let member = instance.member_name(violation.member);
            let span = instance.spans.get(violation.stmt.0).copied();
            all.undefined = Some((format!("{member}: {violation}"), span));
        }
        all.spans = instance.spans;
        if let Some(runs) = searched.found {
            all.found = Some((input, runs));
        }
        if searched.end != SearchEnd::Exhausted {
            all.end = searched.end;
            break;
        }
    }
    Ok(all)
}
