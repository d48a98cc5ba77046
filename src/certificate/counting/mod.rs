//! The counting rule: why threads that go round a loop over barriers never hang.
//!
//! Members that run the same program are interchangeable, so a state is *how many* are at each
//! location and in which round; and rounds are counted from the slowest member's, the *base*, so
//! that nothing but the base grows with the number of rounds. How `system` does this is said there.
//!
//! # The rule
//!
//! The protocol is cut into *systems*: groups of members that share mbarriers or semaphores. For
//! each system the artefact names a *window*, the largest number of rounds that a member may be
//! ahead, and a list of [`Fact`]s. The protocol is free of deadlock if, for each system and every
//! value of the parameters,
//!
//! 1. *(well defined)* everything the protocol evaluates means what the interpreter computes,
//!    elements are in range, every mbarrier expects and every arrival is at least one, and no
//!    addition is negative;
//! 2. *(closed forms)* the element, parity and value that an operation names in round `r`, and the
//!    value of a variable that the loop carries, are those functions of `r` that the system uses; all
//!    groups of a system that have a loop have the same number of rounds;
//! 3. *(initiation)* the facts hold at the start;
//! 4. *(consecution)* where the facts hold, they hold after every step (with a depth `k > 1`: where
//!    they have held for `k` states in a row; then initiation covers the first `k` states);
//! 5. *(window)* where they hold, no member can take a step that leads out of the window, and nobody
//!    arrives where fewer arrivals are pending;
//! 6. *(progress)* where they hold and some member has not finished, some step is possible.
//!
//! # Why it is sound
//!
//! *Every run of the protocol is one of the system.* Call the steps of the system that pass an
//! operation whose condition does not hold, take a member without a loop along, or move the base
//! *silent*. A state of the protocol corresponds to a state of the system if the same members are
//! before the same operations, elements have the same phases, arrivals and values, and no silent
//! step is possible. (A member that has finished is in the round after the last one, or went along
//! with the base.) The start corresponds to what silent steps make of the start. A step of the
//! protocol is, by (2), a step of the system from the corresponding state: somebody is at lag 0, or
//! the base could move. After it, silent steps lead to a corresponding state again; there are only
//! finitely many of them, since each brings a member or the base forward, and (5) excludes that one
//! leaves the window. The facts hold in all states on the way, by (3) and (4).
//!
//! *Nothing is undefined,* by (1) and (5): the only undefined effect of these operations is an
//! arrival beyond what is pending. (Overflow of a counter is outside the model.)
//!
//! *Progress.* In a stuck state of the protocol some member has not finished and none can do its
//! operation. In the corresponding state of the system no silent step is possible either, against (6).
//!
//! *Systems are independent.* They share no element, so a stuck state of the whole is stuck in every
//! system that has unfinished members. A member of a grid that is declared to be resident as a whole
//! can start at any time, so in a stuck state all have started.
//!
//! # What is refused
//!
//! Grids that need not be resident as a whole, semaphores that are set, used as a ring or of unknown
//! value at the start, named barriers, patterns, loops in loops, `break`, an index used other than in
//! comparisons, an element that is neither fixed nor the next of a ring.

mod accounting;
mod cases;
mod closed;
mod explain;
mod fact;
mod fold;
mod shape;
mod split;
mod state;
mod steps;
mod system;
mod walk;

use serde::Deserialize;
use serde::Serialize;

pub use accounting::Passed;
pub use cases::Component;
pub use cases::components;
pub use fact::Atom;
pub use fact::Fact;
pub use state::Layout;
pub use state::State;
pub use steps::Origin;
pub use steps::Transition;
pub use system::System;

use super::obligation::Obligation;
use super::program::Unsupported;
use super::term;
use super::term::Term;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use cases::cases;

/// The largest window and depth that an artefact may name.
const MAX_WINDOW: usize = 64;
const MAX_DEPTH: usize = 8;

/// What the search found and this module re-derives the obligations from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counting {
    /// The parameters, by position, that are treated one value at a time.
    pub enumerated: Vec<usize>,
    /// Per combination of their values, per system: what holds there.
    pub systems: Vec<Invariant>,
}

/// What holds in every state of a system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// The largest lag.
    pub window: usize,
    /// How many states in a row the induction assumes.
    pub depth: usize,
    /// The facts, beside those of being well formed.
    pub facts: Vec<Fact>,
}
/// Derives every obligation of the rule for this protocol and artefact.
///
/// # Errors
///
/// Refuses a protocol outside the fragment and an artefact that does not fit it.
pub fn obligations(
    protocol: &Protocol,
    counting: &Counting,
) -> Result<Vec<Obligation>, Unsupported> {
    let mut rule = Rule {
        protocol,
        case: String::new(),
        all: Vec::new(),
    };
    let cases = cases(protocol, &counting.enumerated)?;
    let wanted: usize = cases.iter().map(|case| case.components.len()).sum();
    if wanted != counting.systems.len() {
        return Err(Unsupported::whole(
            "an artefact for another number of systems",
        ));
    }
    let mut invariants = counting.systems.iter();
    for case in &cases {
        rule.name_case(&case.fixed);
        rule.closed_forms(case)?;
        for (component, invariant) in case.components.iter().zip(&mut invariants) {
            rule.system(component, invariant)?;
        }
    }
    Ok(rule.all)
}

/// The obligations that do not depend on what holds in the systems: conditions 1 and 2.
///
/// # Errors
///
/// Refuses a protocol outside the fragment.
pub fn groundwork(
    protocol: &Protocol,
    enumerated: &[usize],
) -> Result<Vec<Obligation>, Unsupported> {
    let mut rule = Rule {
        protocol,
        case: String::new(),
        all: Vec::new(),
    };
    for case in cases(protocol, enumerated)? {
        rule.name_case(&case.fixed);
        rule.closed_forms(&case)?;
    }
    Ok(rule.all)
}

struct Rule<'p> {
    protocol: &'p Protocol,
    /// Which values of the enumerated parameters, for readers.
    case: String,
    all: Vec<Obligation>,
}

impl<'p> Rule<'p> {
    fn name_case(&mut self, fixed: &[(ParamId, i64)]) {
        let values: Vec<String> = fixed
            .iter()
            .map(|(id, value)| format!("{} = {value}", self.protocol.params[id.0].name))
            .collect();
        self.case = if values.is_empty() {
            String::new()
        } else {
            format!(" Case {}.", values.join(", "))
        };
    }

    fn conclude(
        &mut self,
        name: &str,
        meaning: String,
        system: &mut System<'p>,
        mut hypotheses: Vec<Term>,
        goal: Term,
    ) -> Result<(), Unsupported> {
        Unsupported::unless_in_time()?;
        if goal == term::boolean(true) {
            return Ok(());
        }
        hypotheses.extend(system.terms.axioms()?);
        self.all.push(Obligation {
            name: format!("{:03}_{name}", self.all.len()),
            meaning: format!("{meaning}.{}", self.case),
            declarations: system.terms.declarations(),
            hypotheses,
            goal,
            split: Vec::new(),
        });
        Ok(())
    }

    fn system(&mut self, component: &Component, invariant: &Invariant) -> Result<(), Unsupported> {
        if invariant.depth == 0 || invariant.depth > MAX_DEPTH {
            return Err(Unsupported::whole("a depth that is not supported"));
        }
        self.initiation(component, invariant)?;
        let origins = {
            let mut system = component.system(self.protocol, invariant.window)?;
            let state = system.state("");
            let mut origins: Vec<Origin> = system
                .transitions(&state)?
                .iter()
                .map(|t| t.origin)
                .collect();
            origins.sort_unstable();
            origins.dedup();
            origins
        };
        for origin in origins {
            self.consecution(component, invariant, origin)?;
            self.window(component, invariant, origin)?;
        }
        self.progress(component, invariant)
    }

    fn initiation(
        &mut self,
        component: &Component,
        invariant: &Invariant,
    ) -> Result<(), Unsupported> {
        for steps in 0..invariant.depth {
            let mut system = component.system(self.protocol, invariant.window)?;
            let mut hypotheses = system.facts.clone();
            let first = system.state("_0");
            hypotheses.push(first.equals(&system.start()));
            let mut last = first;
            for nth in 1..=steps {
                let next = system.state(&format!("_{nth}"));
                hypotheses.push(system.step(&last, &next, None)?);
                last = next;
            }
            let goal = system.holds(invariant, &last)?;
            let meaning = match steps {
                0 => "the facts hold at the start".to_owned(),
                _ => format!("the facts hold {steps} steps after the start"),
            };
            self.conclude(
                "initiation",
                meaning,
                &mut system,
                hypotheses,
                term::and(goal),
            )?;
        }
        Ok(())
    }

    fn consecution(
        &mut self,
        component: &Component,
        invariant: &Invariant,
        origin: Origin,
    ) -> Result<(), Unsupported> {
        let mut system = component.system(self.protocol, invariant.window)?;
        let mut hypotheses = system.facts.clone();
        let mut last = system.state("_0");
        for nth in 1..=invariant.depth {
            hypotheses.extend(system.holds(invariant, &last)?);
            let next = system.state(&format!("_{nth}"));
            let by = (nth == invariant.depth).then_some(origin);
            hypotheses.push(system.step(&last, &next, by)?);
            last = next;
        }
        let goal = system.holds(invariant, &last)?;
        let what = system.origin_name(origin, &self.protocol.source);
        let meaning = format!("the facts still hold after {what}");
        self.conclude(
            "consecution",
            meaning,
            &mut system,
            hypotheses,
            term::and(goal),
        )
    }

    fn window(
        &mut self,
        component: &Component,
        invariant: &Invariant,
        origin: Origin,
    ) -> Result<(), Unsupported> {
        let mut system = component.system(self.protocol, invariant.window)?;
        let state = system.state("");
        let mut hypotheses = system.facts.clone();
        hypotheses.extend(system.holds(invariant, &state)?);
        let transitions = system.transitions(&state)?;
        let bad = transitions
            .into_iter()
            .filter(|t| t.origin == origin && t.next.is_err());
        let goal = term::and(bad.map(|t| term::not(t.guard)));
        let what = system.origin_name(origin, &self.protocol.source);
        let meaning = format!(
            "{what} leads nobody more than {} rounds ahead, and no arrival is one too many",
            invariant.window
        );
        self.conclude("window", meaning, &mut system, hypotheses, goal)
    }

    fn progress(
        &mut self,
        component: &Component,
        invariant: &Invariant,
    ) -> Result<(), Unsupported> {
        let mut system = component.system(self.protocol, invariant.window)?;
        let state = system.state("");
        let mut hypotheses = system.facts.clone();
        hypotheses.extend(system.holds(invariant, &state)?);
        hypotheses.push(system.unfinished(&state));
        let guards = system.transitions(&state)?.into_iter().map(|t| t.guard);
        let goal = term::or(guards);
        let meaning = "whoever has not finished, somebody can go on".to_owned();
        self.conclude("progress", meaning, &mut system, hypotheses, goal)
    }
}
impl System<'_> {
    /// That the facts hold in a state and it is well formed.
    pub fn holds(
        &mut self,
        invariant: &Invariant,
        state: &State,
    ) -> Result<Vec<Term>, Unsupported> {
        let mut all = self.well_formed(state);
        for fact in &invariant.facts {
            all.push(fact.term(self, state)?);
        }
        Ok(all)
    }

    /// That one state follows another, by a step from this origin if one is given.
    pub fn step(
        &mut self,
        state: &State,
        next: &State,
        by: Option<Origin>,
    ) -> Result<Term, Unsupported> {
        let mut ways = Vec::new();
        for transition in self.transitions(state)? {
            if by.is_none_or(|origin| origin == transition.origin)
                && let Ok(after) = &transition.next
            {
                ways.push(term::and([transition.guard, next.equals(after)]));
            }
        }
        Ok(term::or(ways))
    }
}
