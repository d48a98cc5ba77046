//! Searches every run of one instance for a stale read.
//!
//! Which writes a read sees depends on the path to a state. So a state is searched once for each combination of writes
//! that its members and objects may know of. Interchangeable members are not merged.

use std::collections::VecDeque;

use crate::semantics::data::Data;
use crate::semantics::explore::Options;
use crate::semantics::explore::SearchEnd;
use crate::semantics::instance::Instance;
use crate::semantics::pace::Pace;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::step::StepError;
use crate::semantics::step::Violation;
use crate::semantics::table::StateTable;
use crate::semantics::table::encode;

use super::search::Runs;
use super::search::Searched;
use super::visibility::Knowledge;
use super::visibility::Visibility;

/// The most memory in bytes for the states that were met, and for those that have yet to be looked at. States are
/// large here, because each contains what is known about writes.
const MEMORY: usize = 1 << 28;
const OPEN_MEMORY: usize = 1 << 31;

/// Searches every schedule of an instance for a stale read.
pub(super) fn search(instance: &Instance, data: &Data, options: &Options<'_>) -> Searched {
    let mut search = Search {
        instance,
        visibility: Visibility::new(instance, data),
        table: StateTable::new(),
        parents: Vec::new(),
        open: VecDeque::new(),
        undefined: None,
        buffer: Vec::new(),
        bytes: 0,
    };
    if search.visibility.is_trivial() {
        return search.end(SearchEnd::Exhausted, None);
    }
    let state = step::initial_with_history(instance);
    let (known, stale) = search.visibility.start(&state, false);
    search.add(state, known, None);
    match stale {
        Some(_) => search.end(SearchEnd::FoundStuck, Some(Vec::new())),
        None => search.run(options),
    }
}

struct Search<'i> {
    instance: &'i Instance,
    visibility: Visibility<'i>,
    table: StateTable,
    /// Per state: the state before it, and the action that led from there.
    parents: Vec<Option<(usize, Action)>>,
    /// States whose actions have not been looked at, from the oldest.
    open: VecDeque<(usize, State, Knowledge)>,
    undefined: Option<Violation>,
    buffer: Vec<u8>,
    /// The total length of the states that were met.
    bytes: usize,
}

impl Search<'_> {
    fn run(&mut self, options: &Options<'_>) -> Searched {
        let mut pace = Pace::new(options, self.instance);
        let weight = self.visibility.weight();
        while let Some((number, state, known)) = self.open.pop_front() {
            for action in step::enabled(self.instance, &state) {
                if pace.is_over(self.table.len()) {
                    return self.end(SearchEnd::Cancelled, None);
                }
                // Checked for every action, because one state of many members has many successors.
                let open = self.open.len().saturating_mul(weight);
                let full = self.bytes > MEMORY || open > OPEN_MEMORY;
                if full || self.table.len() as u64 > options.max_states {
                    return self.end(SearchEnd::StateLimit, None);
                }
                let (mut next, mut told) = (state.clone(), known.clone());
                match step::apply(self.instance, &mut next, action) {
                    Ok(()) => {}
                    Err(StepError::Violation(violation)) => {
                        self.undefined.get_or_insert(violation);
                        continue;
                    }
                    Err(StepError::NotEnabled(_)) => continue,
                }
                let stale = self.visibility.follow(&mut told, &state, action, &next);
                if stale.is_some() {
                    let mut run = self.run_to(number);
                    run.push(action);
                    return self.end(SearchEnd::FoundStuck, Some(run));
                }
                self.add(next, told, Some((number, action)));
            }
        }
        self.end(SearchEnd::Exhausted, None)
    }

    fn add(&mut self, state: State, known: Knowledge, parent: Option<(usize, Action)>) {
        encode(&state, &mut self.buffer);
        known.encode(&mut self.buffer);
        if self.table.insert(&self.buffer) {
            self.bytes += self.buffer.len();
            self.open.push_back((self.parents.len(), state, known));
            self.parents.push(parent);
        }
    }

    fn run_to(&self, mut number: usize) -> Vec<Action> {
        let mut run = Vec::new();
        while let Some((before, action)) = self.parents[number] {
            run.push(action);
            number = before;
        }
        run.reverse();
        run
    }

    fn end(&self, end: SearchEnd, found: Option<Vec<Action>>) -> Searched {
        Searched {
            end,
            states: self.table.len() as u64,
            found: found.map(|first| Runs {
                first,
                second: None,
            }),
            undefined: self.undefined.clone(),
        }
    }
}
