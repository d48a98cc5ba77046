//! Exports a protocol, for all values of its parameters, as constrained Horn clauses in SMT-LIB 2.
//!
//! Members that run the same program are counted by location and round. Rounds are counted from the slowest member
//! on. So thread counts and trip counts remain unknowns (`system`). A protocol that does not fit into such a system
//! is refused.
//!
//! A system consists of groups that share barriers. For each system, a predicate describes the reachable states and
//! their parameters. It contains the start, and it is closed under the steps. Three things must not be in it: a stuck
//! state; more arrivals than expected; and a member that is further ahead than the window, because the system does
//! not describe such states. The conditions under which the system is that of the protocol (`side_conditions`) are
//! clauses without a predicate. Then `sat` means that nothing hangs. `unsat` means that one of these conditions is
//! violated, or that one of the three things can be reached; it does not say which. So it is no counterexample.

mod cases;
mod closed;
mod enumerated;
mod explain;
mod fold;
mod shape;
mod side_conditions;
mod split;
mod state;
mod steps;
mod system;
mod walk;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Refused;
use cases::Component;
use cases::components;
use state::State;
use steps::Transition;
use system::System;

use crate::certificate::obligation::Obligation;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Translator;
use crate::protocol::Protocol;

/// The clauses of a protocol. `window` is how many rounds a member may be ahead. If it is not given, a window is used
/// that is often wide enough.
///
/// # Errors
///
/// Refuses a protocol outside the fragment, naming the construct.
pub fn clauses(protocol: &Protocol, window: Option<usize>) -> Result<String, Refused> {
    let mut refused = None;
    for enumerated in enumerated::choices(protocol) {
        match components(protocol, &enumerated) {
            Ok(components) => {
                let windows = components.iter().map(|component| {
                    let usual = || component.usual_window();
                    window.unwrap_or_else(usual)
                });
                return written(protocol, &enumerated, &components, windows);
            }
            // The last error is reported, because it says most about what is missing: with more parameters
            // enumerated, fewer errors are left.
            Err(unsupported) => refused = Some(unsupported),
        }
    }
    let none = || Unsupported::whole("no parameters to treat one by one");
    Err(refused.unwrap_or_else(none).into())
}

fn written(
    protocol: &Protocol,
    enumerated: &[usize],
    components: &[Component],
    windows: impl Iterator<Item = usize>,
) -> Result<String, Refused> {
    let mut writer = Writer::default();
    for obligation in side_conditions::groundwork(protocol, enumerated)? {
        writer.groundwork(&obligation)?;
    }
    for (nth, (component, window)) in components.iter().zip(windows).enumerate() {
        writer.system(protocol, nth, component, window)?;
    }
    let (declarations, clauses) = (writer.declarations, writer.clauses);
    Ok(format!(
        "; {}: sat means that nothing hangs, whatever the parameters. unsat means that one of the\n\
         ; clauses that end in false is broken; it is no counterexample.\n\
         (set-logic HORN)\n{declarations}{clauses}(check-sat)\n",
        protocol.name
    ))
}

#[derive(Default)]
struct Writer {
    declarations: String,
    clauses: String,
}

impl Writer {
    /// Adds a condition under which the system is that of the protocol. No predicate occurs in it.
    fn groundwork(&mut self, obligation: &Obligation) -> Result<(), Unsupported> {
        let mut facts = obligation.hypotheses.clone();
        facts.push(term::not(obligation.goal.clone()));
        let names = names(&obligation.declarations, &facts)?;
        self.clause(&obligation.meaning, &names, facts, &term::boolean(false));
        Ok(())
    }

    fn system(
        &mut self,
        protocol: &Protocol,
        nth: usize,
        component: &Component,
        window: usize,
    ) -> Result<(), Unsupported> {
        let mut system = component.system(protocol, window)?;
        let state = system.state("");
        let transitions = system.transitions(&state)?;
        let start = system.start();
        let facts = system.facts.clone();
        let axioms = system.terms.axioms()?;
        let all = || {
            let guards = transitions.iter().map(|t| t.guard.clone());
            let next = transitions.iter().filter_map(|t| t.next.as_ref().ok());
            let next = next.flat_map(|next| next.all().cloned().collect::<Vec<_>>());
            let fixed = facts.iter().chain(&axioms).cloned();
            let all: Vec<Term> = guards.chain(next).chain(fixed).collect();
            all
        };
        let names = names(&system.terms.declarations(), &all())?;
        let predicate = format!("reached_{nth}");
        let params = free_parameters(&system.terms, &names);
        let reached = |values: &mut dyn Iterator<Item = &Term>| {
            let arguments = params.iter().cloned().chain(values.cloned());
            term::apply(&predicate, &arguments.collect::<Vec<_>>())
        };
        let place: Vec<&Term> = params.iter().chain(state.all()).collect();
        self.declare(&predicate, place.len());
        let here = reached(&mut state.all());
        let mut body = facts;
        body.extend(axioms.iter().cloned());
        self.clause("The start", &names, body, &reached(&mut start.all()));
        let given = |guard: Term| {
            let facts = [here.clone(), guard];
            facts.into_iter().chain(axioms.iter().cloned()).collect()
        };
        for transition in &transitions {
            let what = system.origin_name(transition.origin, &protocol.source);
            let (meaning, head) = match &transition.next {
                Ok(next) => (format!("After {what}"), reached(&mut next.all())),
                Err(why) => (format!("Never at {what}: {why}"), term::boolean(false)),
            };
            self.clause(&meaning, &names, given(transition.guard.clone()), &head);
        }
        let stuck = self.stuck(&system, &state, &transitions);
        self.clause(
            "Never: some member has not finished and no member can go on",
            &names,
            given(stuck),
            &term::boolean(false),
        );
        Ok(())
    }

    fn stuck(&self, system: &System<'_>, state: &State, transitions: &[Transition]) -> Term {
        let guards = transitions.iter().map(|t| t.guard.clone());
        term::and([system.unfinished(state), term::not(term::or(guards))])
    }

    fn declare(&mut self, predicate: &str, places: usize) {
        let sorts = vec!["Int"; places].join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.declarations,
            "(declare-fun {predicate} ({sorts}) Bool)"
        );
    }

    fn clause(&mut self, meaning: &str, names: &[String], body: Vec<Term>, head: &Term) {
        let body = term::and(body);
        let names: Vec<String> = names.iter().map(|name| format!("({name} Int)")).collect();
        let clause = match names.is_empty() {
            true => format!("(=> {body} {head})"),
            false => format!("(forall ({}) (=> {body} {head}))", names.join(" ")),
        };
        let meaning: Vec<&str> = meaning.split_whitespace().collect();
        // Writing to a string cannot fail.
        let _ = writeln!(self.clauses, "; {}\n(assert {clause})", meaning.join(" "));
    }
}

/// The parameters that are not fixed.
fn free_parameters(terms: &Translator<'_>, names: &[String]) -> Vec<Term> {
    let params = terms.protocol().params.iter();
    let params = params.map(|param| format!("param_{}", param.name));
    let free = params.filter(|param| names.contains(param));
    free.map(|param| term::name(&param)).collect()
}

/// The integers that these declarations declare.
///
/// # Errors
///
/// Refuses terms in which a declared function occurs: clauses have no unknown functions.
fn names(declarations: &[String], terms: &[Term]) -> Result<Vec<String>, Unsupported> {
    let texts: Vec<String> = terms.iter().map(Term::to_string).collect();
    let words: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split([' ', '(', ')']))
        .collect();
    let mut names = Vec::new();
    for line in declarations {
        let mut parts = line.split_whitespace();
        match (parts.next(), parts.next()) {
            (Some("(declare-const"), Some(name)) => names.push(name.to_owned()),
            (_, Some(name)) if words.contains(name) => {
                let reason = format!("an unknown function, {name}, which clauses do not have");
                return Err(Unsupported::whole(reason));
            }
            _ => {}
        }
    }
    Ok(names)
}
