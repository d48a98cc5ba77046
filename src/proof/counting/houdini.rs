//! The largest inductive set of candidates, and the part of it that a proof needs.

use std::collections::BTreeSet;
use std::collections::HashSet;
use std::time::Instant;

use z3::Model;
use z3::Params;
use z3::SatResult;
use z3::Solver;
use z3::ast::Bool;

use super::Limits;
use super::candidates::candidates;
use super::candidates::size;
use super::simulate;
use crate::certificate::counting::Atom;
use crate::certificate::counting::Component;
use crate::certificate::counting::Fact;
use crate::certificate::counting::Invariant;
use crate::certificate::counting::State;
use crate::certificate::counting::System;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::fresh;
use crate::protocol::Protocol;

/// With more candidates than this no search ends in time.
const MOST_CANDIDATES: usize = 30_000;

/// What the candidates came to.
pub enum Outcome {
    /// These suffice.
    Enough(Invariant),
    /// They do not.
    Lacking(Lack),
}

/// What the facts do not show.
pub enum Lack {
    /// That nobody leaves the window.
    Window(String),
    /// That nobody gets stuck.
    Progress(String),
    /// Anything: there was no answer.
    Answer(String),
}

impl From<String> for Lack {
    fn from(why: String) -> Lack {
        Lack::Answer(why)
    }
}

/// The scripts of one search: everything is decided in one context.
struct Scripts {
    facts: Vec<Fact>,
    /// Runs of no step, of one step, and so on, from the start.
    start: Vec<String>,
    /// States in a row in which the well-formedness facts hold, and the step that follows.
    steps: String,
    /// One state, well formed.
    state: String,
}

/// Looks for facts with this window and depth.
///
/// # Errors
///
/// A protocol whose system cannot be written down.
pub fn search(
    protocol: &Protocol,
    component: &Component,
    window: usize,
    depth: usize,
    limits: Limits<'_>,
) -> Result<Outcome, Unsupported> {
    let system = component.system(protocol, window)?;
    if size(&system.layout) > MOST_CANDIDATES {
        let why = "too many locations and elements to count members at".to_owned();
        return Ok(Outcome::Lacking(Lack::Answer(why)));
    }
    let facts = candidates(&system.layout, &system.conditional());
    let facts: Vec<Fact> = match simulate::plausible(protocol, component, window, &facts, limits)? {
        Ok(alive) => alive.into_iter().map(|nth| facts[nth].clone()).collect(),
        Err(lack) => return Ok(Outcome::Lacking(lack)),
    };
    let scripts = scripts(protocol, component, window, depth, facts)?;
    Ok(fresh::context(|| solve(&scripts, window, depth, limits)))
}

/// The candidate's truth in a state.
fn label(candidate: usize, state: usize) -> String {
    format!("c_{candidate}_{state}")
}

fn scripts(
    protocol: &Protocol,
    component: &Component,
    window: usize,
    depth: usize,
    facts: Vec<Fact>,
) -> Result<Scripts, Unsupported> {
    let script = |first: bool, last: usize| -> Result<String, Unsupported> {
        let mut system = component.system(protocol, window)?;
        let states: Vec<State> = (0..=last)
            .map(|nth| system.state(&format!("_{nth}")))
            .collect();
        let mut asserted = system.facts.clone();
        if first {
            asserted.push(states[0].equals(&system.start()));
        }
        for pair in states.windows(2) {
            asserted.extend(system.well_formed(&pair[0]));
            asserted.push(system.step(&pair[0], &pair[1], None)?);
        }
        let mut labels = Vec::new();
        for (nth, state) in states.iter().enumerate() {
            for (candidate, fact) in facts.iter().enumerate() {
                let meaning = fact.term(&mut system, state)?;
                let label = label(candidate, nth);
                asserted.push(term::eq(&term::name(&label), &meaning));
                labels.push(label);
            }
        }
        if let Some(state) = states.last() {
            let well_formed = term::and(system.well_formed(state));
            if last == 0 && !first {
                asserted.push(well_formed);
                let transitions = system.transitions(state)?;
                let bad = transitions.iter().filter(|t| t.next.is_err());
                let bad = term::or(bad.map(|t| t.guard.clone()));
                let able = term::or(transitions.iter().map(|t| t.guard.clone()));
                let stuck = term::and([system.unfinished(state), term::not(able)]);
                asserted.push(term::eq(&term::name("bad"), &bad));
                asserted.push(term::eq(&term::name("stuck"), &stuck));
                labels.extend(["bad".to_owned(), "stuck".to_owned()]);
            } else {
                asserted.push(term::eq(&term::name("well_formed"), &well_formed));
                labels.push("well_formed".to_owned());
            }
        }
        text(&mut system, asserted, &labels)
    };
    Ok(Scripts {
        start: (0..depth)
            .map(|last| script(true, last))
            .collect::<Result<_, _>>()?,
        steps: script(false, depth)?,
        state: script(false, 0)?,
        facts,
    })
}

fn text(
    system: &mut System<'_>,
    mut asserted: Vec<Term>,
    labels: &[String],
) -> Result<String, Unsupported> {
    asserted.extend(system.terms.axioms()?);
    let mut text = String::new();
    for line in system.terms.declarations() {
        text.push_str(&line);
        text.push('\n');
    }
    for label in labels {
        text.push_str(&format!("(declare-const {label} Bool)\n"));
    }
    for fact in asserted {
        text.push_str(&format!("(assert {fact})\n"));
    }
    Ok(text)
}

/// A script and the candidates' labels in it.
struct Query<'a> {
    solver: Solver,
    limits: Limits<'a>,
}

impl<'a> Query<'a> {
    fn new(script: &str, limits: Limits<'a>) -> Query<'a> {
        let solver = Solver::new();
        solver.from_string(script);
        Query { solver, limits }
    }

    /// Sat or unsat with these assumptions, or why there is no answer.
    fn check(&self, assumptions: &[Bool]) -> Result<SatResult, String> {
        if self.limits.over() {
            return Err("time limit".to_owned());
        }
        let left = self
            .limits
            .deadline
            .saturating_duration_since(Instant::now());
        let mut params = Params::new();
        let milliseconds = u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1);
        params.set_u32("timeout", milliseconds);
        params.set_u32("random_seed", 0);
        // Z3 would take the signal away from the program, which then gets an answer that is none.
        params.set_bool("ctrl_c", false);
        self.solver.set_params(&params);
        match self.solver.check_assumptions(assumptions) {
            SatResult::Unknown => Err(self
                .solver
                .get_reason_unknown()
                .unwrap_or_else(|| "no reason given".to_owned())),
            answer => Ok(answer),
        }
    }

    /// A state in which one of these fails although the assumptions hold.
    fn failure(&self, assumed: &[Bool], wanted: &[Bool]) -> Result<Option<Model>, String> {
        self.solver.push();
        for fact in assumed {
            self.solver.assert(fact);
        }
        let negated: Vec<Bool> = wanted.iter().map(Bool::not).collect();
        self.solver.assert(Bool::or(&negated));
        let answer = self.check(&[]);
        let model = match answer {
            Ok(SatResult::Sat) => self.solver.get_model(),
            _ => None,
        };
        self.solver.pop(1);
        match answer? {
            SatResult::Unsat => Ok(None),
            _ => match model {
                Some(model) => Ok(Some(model)),
                None => Err("the solver gave no model".to_owned()),
            },
        }
    }
}

fn bools(candidates: &[usize], state: usize) -> Vec<Bool> {
    let name = |c: &usize| Bool::new_const(label(*c, state));
    candidates.iter().map(name).collect()
}

fn refuted(model: &Model, label: &Bool) -> bool {
    model.eval(label, true).and_then(|value| value.as_bool()) == Some(false)
}

fn solve(scripts: &Scripts, window: usize, depth: usize, limits: Limits<'_>) -> Outcome {
    match fixpoint(scripts, window, depth, limits) {
        Ok(facts) => Outcome::Enough(Invariant {
            window,
            depth,
            facts,
        }),
        Err(why) => Outcome::Lacking(why),
    }
}

fn fixpoint(
    scripts: &Scripts,
    window: usize,
    depth: usize,
    limits: Limits<'_>,
) -> Result<Vec<Fact>, Lack> {
    let mut alive: Vec<usize> = (0..scripts.facts.len()).collect();
    // What one of the first states refutes is no invariant.
    for (last, script) in scripts.start.iter().enumerate() {
        let start = Query::new(script, limits);
        loop {
            let wanted = bools(&alive, last);
            let Some(model) = start.failure(&[], &wanted)? else {
                break;
            };
            drop_refuted(&mut alive, &model, &wanted)?;
        }
    }
    let steps = Query::new(&scripts.steps, limits);
    loop {
        let mut assumed = Vec::new();
        for state in 0..depth {
            assumed.extend(bools(&alive, state));
        }
        let wanted = bools(&alive, depth);
        let Some(model) = steps.failure(&assumed, &wanted)? else {
            break;
        };
        drop_refuted(&mut alive, &model, &wanted)?;
    }
    strongest(&scripts.facts, &mut alive);
    let state = Query::new(&scripts.state, limits);
    let assumed = bools(&alive, 0);
    let bad = Bool::new_const("bad").not();
    if state
        .failure(&assumed, std::slice::from_ref(&bad))?
        .is_some()
    {
        return Err(Lack::Window(format!(
            "a member might get more than {window} rounds ahead of another"
        )));
    }
    let stuck = Bool::new_const("stuck").not();
    if state
        .failure(&assumed, std::slice::from_ref(&stuck))?
        .is_some()
    {
        let why = "the facts found do not exclude a stuck state";
        return Err(Lack::Progress(why.to_owned()));
    }
    Ok(needed(scripts, &alive, depth, limits)?)
}

fn drop_refuted(alive: &mut Vec<usize>, model: &Model, wanted: &[Bool]) -> Result<(), String> {
    let before = alive.len();
    let mut labels = wanted.iter();
    alive.retain(|_| labels.next().is_some_and(|label| !refuted(model, label)));
    if alive.len() == before {
        return Err("the solver's model refutes nothing".to_owned());
    }
    Ok(())
}

/// Leaves out what another fact implies: fewer facts are quicker to check and to read.
fn strongest(facts: &[Fact], alive: &mut Vec<usize>) {
    let known: HashSet<&Fact> = alive.iter().map(|nth| &facts[*nth]).collect();
    let holds = |fact: Fact| known.contains(&fact);
    let implied = |fact: &Fact| match fact {
        Fact::Always(Atom::AtLeast(e, v)) => holds(Fact::Always(Atom::AtLeast(*e, v + 1))),
        Fact::Always(Atom::AtMost(e, v)) => holds(Fact::Always(Atom::AtMost(*e, v - 1))),
        Fact::Always(Atom::Gap(a, b, v)) => holds(Fact::Always(Atom::Gap(*a, *b, v - 1))),
        Fact::When(given, then) => match given.as_slice() {
            [Atom::AtLeast(e, v)] => {
                holds(Fact::Always(Atom::AtMost(*e, v - 1)))
                    || holds(Fact::When(vec![Atom::AtLeast(*e, v - 1)], *then))
            }
            [Atom::AtMost(e, v)] => {
                holds(Fact::Always(Atom::AtLeast(*e, v + 1)))
                    || holds(Fact::When(vec![Atom::AtMost(*e, v + 1)], *then))
            }
            _ => false,
        },
        _ => false,
    };
    let weaker: HashSet<usize> = alive
        .iter()
        .copied()
        .filter(|nth| implied(&facts[*nth]))
        .collect();
    alive.retain(|nth| !weaker.contains(nth));
}

/// The facts that the proof needs: those of the last conditions' unsatisfiable cores, and what they need
/// in turn to be inductive.
fn needed(
    scripts: &Scripts,
    alive: &[usize],
    depth: usize,
    limits: Limits<'_>,
) -> Result<Vec<Fact>, String> {
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let state = Query::new(&scripts.state, limits);
    for goal in ["bad", "stuck"] {
        let negated = Bool::new_const(goal).not();
        kept.extend(core(&state, &kept, alive, 1, &negated)?);
    }
    let steps = Query::new(&scripts.steps, limits);
    let well_formed = Bool::new_const("well_formed");
    kept.extend(core(&steps, &kept, alive, depth, &well_formed)?);
    let mut done = BTreeSet::new();
    while let Some(next) = kept.difference(&done).next().copied() {
        let goal = Bool::new_const(label(next, depth));
        let more = core(&steps, &kept, alive, depth, &goal)?;
        kept.extend(more);
        done.insert(next);
    }
    Ok(kept
        .into_iter()
        .map(|candidate| scripts.facts[candidate].clone())
        .collect())
}

/// Which candidates a goal follows from; those that are kept anyway if they suffice.
fn core(
    query: &Query<'_>,
    kept: &BTreeSet<usize>,
    alive: &[usize],
    states: usize,
    goal: &Bool,
) -> Result<Vec<usize>, String> {
    let kept: Vec<usize> = kept.iter().copied().collect();
    for available in [kept.as_slice(), alive] {
        let mut names = Vec::new();
        let mut assumptions = Vec::new();
        for state in 0..states {
            for candidate in available {
                names.push(*candidate);
                assumptions.push(Bool::new_const(label(*candidate, state)));
            }
        }
        assumptions.push(goal.not());
        if query.check(&assumptions)? == SatResult::Unsat {
            let core = query.solver.get_unsat_core();
            let used = names
                .iter()
                .zip(&assumptions)
                .filter(|(_, label)| core.contains(label))
                .map(|(name, _)| *name);
            return Ok(used.collect());
        }
    }
    Err("the facts found are not inductive together".to_owned())
}
