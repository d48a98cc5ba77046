//! Compares a recovered protocol with the kernel, event by event.
//!
//! The roles of a protocol hold for every launch; the reference interpreter runs one launch. At launches that
//! are chosen so that loops run 0, 1, 2 and many rounds and branches go both ways, the roles are expanded into
//! lists of actions, the interpreter's traces are put into the same words, and the two must be equal. The
//! interpreter shares with the recovery the readers, the meaning of operations and the control-flow graph.
//!
//! Tests of an mbarrier outside of spin loops fail in these runs, so that every wait is made. What is not
//! compared: bytes of copies that only the tensor map knows, and events of a launch that the interpreter is not
//! sure of; such a launch counts as skipped.

mod act;
mod choose;
mod entries;
mod expand;
mod observe;
mod units;

use std::collections::BTreeMap;
use std::fmt;

pub use act::Act;
pub use act::Kind;
use act::gathered;
use entries::Entries;
use entries::Tests;

use crate::interpret::Launch;
use crate::interpret::Outcome;
use crate::interpret::Place;
use crate::interpret::Trace;
use crate::interpret::Waits;
use crate::interpret::run;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::recover::Shape;
use crate::recover::at_launch;
use crate::recover::at_launch::Words;
use crate::recover::lower::Inputs;
use crate::recover::role_ir::Role;
use crate::recover::tree::Arena;

/// How many launches are run at least, where there are inputs that differ.
const LEAST: usize = 6;
/// How many launches are tried at most.
const MOST: usize = 24;
/// How many operations the interpreter may execute at one launch, and at all together. What a launch that
/// does not come to its end costs of the latter: some more are tried, not all.
const STEPS: u64 = 600_000;
const ALL_STEPS: u64 = 4_000_000;
const ENDLESS: u64 = 1_000_000;

/// How far a protocol was compared with its kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validation {
    /// How many launches could not be run, or had events that depend on what is not known.
    pub skipped: usize,
    /// How many events were compared.
    pub events: usize,
    /// Why the first launch was skipped.
    pub reason: Option<String>,
    /// The launches at which every event of every warp was compared.
    pub compared: Vec<Compared>,
}

/// A launch at which every event was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The launch in words: the grid, and the parameters that matter.
    pub launch: String,
    /// What the inputs of the roles are there, by their numbers; `None` for one that does not occur.
    pub values: Vec<Option<i128>>,
    /// Whether it is a launch that a verdict is about: see [`at_launch::is_covered`].
    pub is_covered: bool,
}

/// Where a protocol differs from its kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The values of the launch.
    pub launch: String,
    pub cta: u32,
    pub warp: u32,
    /// The number of the event among those of the warp, from 0 on.
    pub event: usize,
    /// What the kernel does; `None` where it is done.
    pub kernel: Option<Act>,
    pub protocol: Option<Act>,
}

impl Difference {
    /// Where it is in the text that was read.
    pub fn location(&self) -> Location {
        let act = self.kernel.as_ref().or(self.protocol.as_ref());
        act.map(|act| act.location.clone()).unwrap_or_default()
    }
}

impl fmt::Display for Validation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "at {} launches, {} events",
            self.compared.len(),
            self.events
        )?;
        match (self.skipped, &self.reason) {
            (0, _) | (_, None) => Ok(()),
            (skipped, Some(reason)) => {
                let one: String = reason.chars().filter(|c| !c.is_control()).collect();
                write!(
                    formatter,
                    "; {skipped} other launches were left out, the first because: {one}"
                )
            }
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |act: &Option<Act>| match act {
            Some(act) => act.to_string(),
            None => "nothing more".to_owned(),
        };
        write!(
            formatter,
            "at {}, CTA {}, warp {}, event {}: the kernel does {}, the protocol says {}",
            self.launch,
            self.cta,
            self.warp,
            self.event,
            shown(&self.kernel),
            shown(&self.protocol)
        )
    }
}

/// Compares roles with the kernel at concrete launches.
///
/// # Errors
///
/// The first event in which they differ.
pub fn validate(
    kernel: &Kernel,
    shape: Shape,
    roles: &[Role],
    inputs: &Inputs,
    arena: &mut Arena,
) -> Result<Validation, Box<Difference>> {
    let mut validation = Validation::default();
    let tests = Tests::new(inputs, &mut arena.terms);
    let choice = choose::choose(kernel, shape, roles, (inputs, &tests), arena, (LEAST, MOST));
    let mut steps = 0;
    for chosen in choice {
        // Who asked for it is told that the time is over.
        if arena.over.is_some_and(|over| over()) {
            break;
        }
        if steps >= ALL_STEPS || validation.compared.len() + validation.skipped >= MOST {
            break;
        }
        if !chosen.wanted && validation.compared.len() >= LEAST {
            break;
        }
        let mut skip = |reason: String| {
            validation.skipped += 1;
            validation.reason.get_or_insert(reason);
        };
        let mut launch = chosen.launch;
        launch.max_steps = STEPS;
        let place = |block: &BlockId, index: &u32| Place {
            block: *block,
            index: *index,
        };
        let answered = &arena.shared_words.answered;
        if !answered.is_empty() {
            launch.waits = Waits::Meet;
            let places = answered.iter();
            launch.handed_over = places.map(|(block, index)| place(block, index)).collect();
        }
        launch.accesses = arena.accesses;
        launch.by_mbarriers = by_mbarriers(inputs, arena);
        let unwritten = arena.unwritten.loads.iter();
        launch.unwritten = unwritten
            .map(|(block, index)| place(block, index))
            .collect();
        let trace = match run(kernel, &launch) {
            Ok(trace) => trace,
            Err(stop) => {
                steps += ENDLESS;
                skip(stop.to_string());
                continue;
            }
        };
        steps += trace.steps;
        if let Some(reason) = unusable(&trace) {
            skip(reason);
            continue;
        }
        let mut unknown: Option<String> = None;
        let mut events = 0;
        for role in roles {
            let entries = Entries {
                terms: &arena.terms,
                memories: &inputs.memories,
                functions: &inputs.functions,
                tests: &tests,
                launch: &launch,
            };
            let Some(expected) = expand::expand(role, &chosen.values, entries, &trace.layout)
            else {
                unknown.get_or_insert("a role has no value at this launch".to_owned());
                continue;
            };
            for warp in &role.warps {
                let warps = trace
                    .ctas
                    .get(role.rank as usize)
                    .map(|cta| cta.warps.as_slice());
                let Some(seen) = warps.and_then(|warps| warps.get(*warp as usize)) else {
                    continue;
                };
                match observe::observe(kernel, &launch, seen) {
                    Ok(seen) => {
                        let together = || differ(&gathered(&seen), &gathered(&expected));
                        if let Some(event) =
                            differ(&seen, &expected).filter(|_| together().is_some())
                        {
                            return Err(Box::new(Difference {
                                launch: at_launch::shown(kernel, &launch, &chosen.words),
                                cta: role.rank,
                                warp: *warp,
                                event,
                                kernel: seen.get(event).cloned(),
                                protocol: expected.get(event).cloned(),
                            }));
                        }
                        events += seen.len();
                    }
                    Err(reason) => {
                        unknown.get_or_insert(reason);
                    }
                }
            }
        }
        match unknown {
            None => {
                let conditions = &arena.decided_by;
                let is_covered =
                    at_launch::is_covered(inputs, conditions, &launch, &mut arena.terms);
                validation.compared.push(Compared {
                    launch: at_launch::shown(kernel, &launch, &chosen.words),
                    values: chosen.values,
                    is_covered,
                });
            }
            Some(reason) => {
                validation.skipped += 1;
                validation.reason.get_or_insert(reason);
            }
        }
        validation.events += events;
    }
    Ok(validation)
}

/// The loads of words that warps hand over by mbarriers, with what they read as long as there is more, and then.
fn by_mbarriers(inputs: &Inputs, arena: &Arena) -> BTreeMap<(Place, u32), (u64, u64)> {
    let loads = arena
        .ring_words
        .as_ref()
        .map(|ring_words| &ring_words.loads);
    let found = inputs.ring_word_loops.iter().filter_map(|by| {
        let (block, index, result) = loads?.get(by.load as usize)?.place;
        Some(((Place { block, index }, result), by.words))
    });
    found.collect()
}

/// Why the trace of a whole launch says nothing.
fn unusable(trace: &Trace) -> Option<String> {
    match &trace.outcome {
        Outcome::Finished => None,
        Outcome::Stuck(_) => Some("a warp does not come to its end".to_owned()),
        Outcome::Trap { .. } => Some("the kernel aborts".to_owned()),
        Outcome::Undefined { what, .. } => Some(format!("undefined behaviour: {what}")),
    }
}

/// The first act in which two lists differ.
fn differ(seen: &[Act], expected: &[Act]) -> Option<usize> {
    let length = seen.len().max(expected.len());
    (0..length).find(|at| match (seen.get(*at), expected.get(*at)) {
        (Some(seen), Some(expected)) => !seen.kind.agrees(&expected.kind),
        _ => true,
    })
}

/// A launch that is run, and the values of the inputs at it.
struct Chosen {
    launch: Launch,
    values: Vec<Option<i128>>,
    words: Words,
    /// Whether it makes the roles do what other launches do not. The others are there to fill up.
    wanted: bool,
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_entries;
