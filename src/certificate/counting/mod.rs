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

mod closed;
mod fact;
mod fold;
mod shape;
mod split;
mod system;
mod walk;

use serde::Deserialize;
use serde::Serialize;

pub use fact::Atom;
pub use fact::Fact;
pub use system::Layout;
pub use system::Origin;
pub use system::State;
pub use system::System;
pub use system::Transition;

use super::obligation::Obligation;
use super::program::Unsupported;
use super::term;
use super::term::Term;
use crate::protocol::Domain;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use fold::Known;
use shape::Family;
use shape::Group;

/// More combinations of parameter values than this are not treated one by one.
const MAX_CASES: usize = 64;

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

/// Groups that share mbarriers, at fixed values of some parameters.
#[derive(Debug, Clone)]
pub struct Component {
    /// The parameters that are fixed.
    pub fixed: Vec<(ParamId, i64)>,
    groups: Vec<Group>,
    families: Vec<Family>,
}

impl Component {
    /// Its transition system.
    ///
    /// # Errors
    ///
    /// Refuses groups that do not go through the same rounds.
    pub fn system<'p>(
        &self,
        protocol: &'p Protocol,
        window: usize,
    ) -> Result<System<'p>, Unsupported> {
        if window == 0 || window > MAX_WINDOW {
            return Err(Unsupported::whole("a window that is not supported"));
        }
        let (groups, families) = (self.groups.clone(), self.families.clone());
        System::new(protocol, &self.fixed, groups, families, window)
    }

    /// A window that is often wide enough: a member gets ahead by as many rounds as the rings
    /// between it and others have elements, and a ring that is filled is one that is emptied.
    pub fn usual_window(&self) -> usize {
        let sizes = || self.families.iter().map(|family| family.size as usize);
        let half = sizes().sum::<usize>().div_ceil(2);
        half.min(2 * sizes().max().unwrap_or(1) + 1).max(1)
    }
}

/// One combination of values: its groups, all of them, and the systems they form.
struct Case {
    fixed: Vec<(ParamId, i64)>,
    groups: Vec<Group>,
    families: Vec<Family>,
    components: Vec<Component>,
}

/// The systems of a protocol, in the order of [`Counting::systems`].
///
/// # Errors
///
/// Refuses a protocol outside the fragment, naming the construct.
pub fn components(
    protocol: &Protocol,
    enumerated: &[usize],
) -> Result<Vec<Component>, Unsupported> {
    let cases = cases(protocol, enumerated)?;
    Ok(cases.into_iter().flat_map(|case| case.components).collect())
}

fn cases(protocol: &Protocol, enumerated: &[usize]) -> Result<Vec<Case>, Unsupported> {
    if let Some(pattern) = protocol.patterns.first() {
        return Err(Unsupported::at(
            pattern.span,
            "a pattern in this proof rule",
        ));
    }
    for role in &protocol.roles {
        let whole = |resident: &Resident| *resident == Resident::All;
        if role.launch.as_ref().is_some_and(|l| !whole(&l.resident)) {
            return Err(Unsupported::at(
                role.span,
                "a grid that need not be resident as a whole",
            ));
        }
    }
    combinations(protocol, enumerated)?
        .into_iter()
        .map(|fixed| case(protocol, fixed))
        .collect()
}

fn combinations(
    protocol: &Protocol,
    enumerated: &[usize],
) -> Result<Vec<Vec<(ParamId, i64)>>, Unsupported> {
    if !enumerated.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Unsupported::whole("parameters enumerated out of order"));
    }
    let mut all = vec![Vec::new()];
    for at in enumerated {
        let values: Vec<i64> = match protocol.params.get(*at).map(|param| &param.domain) {
            Some(Domain::Set(values)) => values.clone(),
            Some(Domain::Range(lo, hi)) if hi.saturating_sub(*lo) < MAX_CASES as i64 => {
                (*lo..=*hi).collect()
            }
            _ => return Err(Unsupported::whole("a parameter with too many values")),
        };
        let mut more = Vec::new();
        for chosen in &all {
            for value in &values {
                let mut chosen: Vec<(ParamId, i64)> = chosen.clone();
                chosen.push((ParamId(*at), *value));
                more.push(chosen);
            }
        }
        if more.len() > MAX_CASES {
            return Err(Unsupported::whole("too many combinations of parameters"));
        }
        all = more;
    }
    Ok(all)
}

fn case(protocol: &Protocol, fixed: Vec<(ParamId, i64)>) -> Result<Case, Unsupported> {
    let known = Known {
        params: fixed.iter().copied().collect(),
        ..Known::default()
    };
    let mut programs = Vec::new();
    for role in &protocol.roles {
        for part in split::parts(protocol, role, &known)? {
            let program = walk::walk(&part, &role.body)?;
            programs.push((part, program));
        }
    }
    let (groups, families) = shape::close(programs)?;
    let components = connected(&groups, &families)
        .into_iter()
        .map(|members| component(&fixed, &groups, &families, &members))
        .collect();
    Ok(Case {
        fixed,
        groups,
        families,
        components,
    })
}

/// The groups that share families, directly or through others; groups that use none are left out.
fn connected(groups: &[Group], families: &[Family]) -> Vec<Vec<usize>> {
    let mut label: Vec<usize> = (0..families.len()).collect();
    let used = |group: &Group| -> Vec<usize> {
        let ops = group.before.iter().chain(&group.round).chain(&group.after);
        ops.map(|op| op.family).collect()
    };
    for group in groups {
        let used = used(group);
        for family in used.iter().skip(1) {
            let (from, to) = (label[*family], label[used[0]]);
            for l in label.iter_mut().filter(|l| **l == from) {
                *l = to;
            }
        }
    }
    let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
    for (nth, group) in groups.iter().enumerate() {
        let Some(first) = used(group).first().map(|family| label[*family]) else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| *known == first) {
            Some((_, members)) => members.push(nth),
            None => all.push((first, vec![nth])),
        }
    }
    all.into_iter().map(|(_, members)| members).collect()
}

fn component(
    fixed: &[(ParamId, i64)],
    groups: &[Group],
    families: &[Family],
    members: &[usize],
) -> Component {
    let mut kept: Vec<usize> = Vec::new();
    let mut own: Vec<Group> = members.iter().map(|nth| groups[*nth].clone()).collect();
    for group in &mut own {
        let before = group.before.iter_mut();
        for op in before.chain(&mut group.round).chain(&mut group.after) {
            op.family = match kept.iter().position(|family| *family == op.family) {
                Some(position) => position,
                None => {
                    kept.push(op.family);
                    kept.len() - 1
                }
            };
        }
    }
    Component {
        fixed: fixed.to_vec(),
        groups: own,
        families: kept.iter().map(|nth| families[*nth].clone()).collect(),
    }
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

    /// What a step is, in words.
    pub fn origin_name(&self, origin: Origin, source: &str) -> String {
        match origin {
            Origin::Shift => "the move of the base".to_owned(),
            Origin::Location(group, location) => {
                let name = &self.groups[group].name;
                format!("{} of {name}", self.location_name(group, location, source))
            }
        }
    }

    fn location_name(&self, group: usize, location: usize, source: &str) -> String {
        let [before, round, _] = self.layout.groups[group];
        let members = &self.groups[group];
        let op = if location < before {
            members.before.get(location)
        } else if location < before + round.max(1) {
            members.round.get(location - before)
        } else {
            members.after.get(location - before - round.max(1) + 1)
        };
        match op {
            Some(op) => {
                let text = source.get(op.span.start..op.span.end).unwrap_or("?");
                let text: Vec<&str> = text.split_whitespace().collect();
                format!("`{}`", text.join(" "))
            }
            None => "the end".to_owned(),
        }
    }

    fn place_name(&self, [group, location, lag]: [usize; 3], source: &str) -> String {
        let Some(members) = self.groups.get(group) else {
            return "?".to_owned();
        };
        let what = self.location_name(group, location, source);
        let round = plus("b", lag as i64);
        format!("{} is at {what} in round {round}", members.name)
    }

    /// That an element has gone on by this many phases more than the base suggests, or that it has
    /// not.
    fn reached(&self, element: [usize; 2], value: i64, yes: bool) -> String {
        let name = self.element_name(element);
        let [family, distance] = element;
        let size = self.families.get(family).map_or(1, |family| family.size);
        if self.is_semaphore(family) {
            let bound = if yes { "at least" } else { "less than" };
            let round = plus("b", value);
            return format!("{name} has grown by {bound} what the rounds before {round} add");
        }
        let not = if yes { "" } else { "not " };
        if self.families.get(family).is_some_and(|f| !f.turning) {
            return format!("{name} has {not}completed {value} phases");
        }
        let round = plus(
            "b",
            (distance as i64).saturating_add(size.saturating_mul(value - 1)),
        );
        format!("{name} has {not}completed the phase of round {round}")
    }

    fn element_name(&self, [family, distance]: [usize; 2]) -> String {
        let Some(family) = self.families.get(family) else {
            return "?".to_owned();
        };
        let object = &self.terms.protocol().objects[family.object.0].name;
        let index = |at: usize, value: &i64| {
            if family.moving == Some(at) {
                let first = if *value == 0 {
                    String::new()
                } else {
                    format!("{value} + ")
                };
                let place = plus("b", distance as i64 + family.origin);
                let place = if place == "b" {
                    place
                } else {
                    format!("({place})")
                };
                format!("[{first}{place} % {}]", family.size)
            } else {
                format!("[{value}]")
            }
        };
        let indices = family.first.iter().enumerate();
        let indices: String = indices.map(|(at, value)| index(at, value)).collect();
        format!("{object}{indices}")
    }
}

/// `b`, `b + 2`, `b - 1`.
fn plus(name: &str, value: i64) -> String {
    match value {
        0 => name.to_owned(),
        1.. => format!("{name} + {value}"),
        _ => format!("{name} - {}", value.unsigned_abs()),
    }
}

/// The argument in words, one sentence per line; with every fact, or how many there are.
fn explain(protocol: &Protocol, counting: &Counting, every: bool) -> Vec<String> {
    let mut lines = vec![
        "Members that run the same program are counted, not told apart, and rounds are counted \
         from that of the slowest member, b."
            .to_owned(),
    ];
    let Ok(components) = components(protocol, &counting.enumerated) else {
        return lines;
    };
    for (component, invariant) in components.iter().zip(&counting.systems) {
        let Ok(system) = component.system(protocol, invariant.window) else {
            continue;
        };
        let mut names: Vec<String> = system.groups.iter().map(|g| g.name.clone()).collect();
        let values = component.fixed.iter();
        names.extend(values.map(|(id, v)| format!("{} = {v}", protocol.params[id.0].name)));
        let rounds = match invariant.window {
            1 => "1 round".to_owned(),
            window => format!("{window} rounds"),
        };
        let steps = match invariant.depth {
            1 => "every step preserves".to_owned(),
            depth => format!("a step preserves if they held for {depth} states before it"),
        };
        let names = names.join(", ");
        let count = invariant.facts.len();
        lines.push(format!(
            "{names}: nobody is ever more than {rounds} ahead, and while somebody has not finished, \
             somebody can go on. That follows from {count} facts that {steps}{}",
            if every { ":" } else { "." }
        ));
        if every {
            let facts = invariant.facts.iter();
            lines.extend(facts.map(|fact| format!("  {}", fact.words(&system, &protocol.source))));
        }
    }
    lines
}

impl Counting {
    /// The argument in words, one sentence per line, with every fact.
    pub fn explain(&self, protocol: &Protocol) -> Vec<String> {
        explain(protocol, self, true)
    }

    /// The argument in words, without the facts.
    pub fn summary(&self, protocol: &Protocol) -> Vec<String> {
        explain(protocol, self, false)
    }
}
