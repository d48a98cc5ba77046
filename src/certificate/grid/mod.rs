//! Parts that the rules for grids over semaphores share.
//!
//! A *rule* derives obligations about arbitrary CTAs, loop iterations and elements. This folder provides them:
//!
//! - settings in which the parameters are in their domain (`Frame::setting`);
//! - arbitrary CTAs and executions, and the one execution that touches an element (`events.rs`);
//! - the order of loops and programs (`order.rs`);
//! - the obligations that every rule has: everything is well defined (`well_defined.rs`), and CTAs that are not
//!   resident do no harm (`residency.rs`).

mod events;
mod order;
mod residency;
mod well_defined;

pub(super) use events::Occurrence;
pub(super) use events::Setting;
pub(super) use events::amount;
pub(super) use events::same_element;
pub(super) use events::wait_value;
pub use residency::Residency;

use std::ops::Deref;
use std::ops::DerefMut;

use super::obligation::Obligation;
use super::program;
use super::program::Event;
use super::program::EventKind;
use super::program::Program;
use super::program::Unsupported;
use super::term;
use super::term::Term;
use super::translate::Env;
use super::translate::Translator;
use crate::protocol::Domain;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Span;

/// The grid, if the protocol is one grid over semaphores.
///
/// # Errors
///
/// Refuses other roles beside it and objects other than semaphores.
pub fn the_grid(protocol: &Protocol) -> Result<&Role, Unsupported> {
    let [role] = protocol.roles.as_slice() else {
        return Err(Unsupported::whole(format!(
            "{} roles where the rule takes one grid",
            protocol.roles.len()
        )));
    };
    if role.launch.is_none() {
        return Err(Unsupported::at(role.span, "a role that is not a grid"));
    }
    for object in &protocol.objects {
        if !matches!(object.kind, ObjectKind::Semaphore(_)) {
            return Err(Unsupported::at(
                object.span,
                "an object that is not a semaphore",
            ));
        }
    }
    Ok(role)
}

/// Every combination of the set-valued parameters, or the single empty one.
pub(super) fn combinations(protocol: &Protocol, split: bool) -> Vec<Vec<(ParamId, i64)>> {
    let mut all = vec![Vec::new()];
    if split {
        for (at, param) in protocol.params.iter().enumerate() {
            if let Domain::Set(values) = &param.domain {
                all = all
                    .into_iter()
                    .flat_map(|chosen: Vec<(ParamId, i64)>| {
                        values.iter().map(move |value| {
                            let mut chosen = chosen.clone();
                            chosen.push((ParamId(at), *value));
                            chosen
                        })
                    })
                    .collect();
            }
        }
    }
    all
}

/// A grid's program, and the obligations derived about it so far.
pub(super) struct Frame<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) role: &'a Role,
    pub(super) program: &'a Program,
    /// Parameters with a fixed value: none, or one combination of several.
    fixed: Vec<(ParamId, i64)>,
    /// The number of this combination.
    nth: usize,
    pub(super) all: Vec<Obligation>,
}

/// An artefact of a rule, together with the grid's program.
pub(super) struct Over<'a, A> {
    frame: Frame<'a>,
    pub(super) artefact: &'a A,
}

impl<'a, A> Deref for Over<'a, A> {
    type Target = Frame<'a>;

    fn deref(&self) -> &Frame<'a> {
        &self.frame
    }
}

impl<A> DerefMut for Over<'_, A> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.frame
    }
}

/// `a < b` lexicographically.
pub(super) fn lexicographic(a: &[Term], b: &[Term]) -> Term {
    let mut alternatives = Vec::new();
    let mut equal = Vec::new();
    for (x, y) in a.iter().zip(b) {
        alternatives.push(term::and(equal.iter().cloned().chain([term::lt(x, y)])));
        equal.push(term::eq(x, y));
    }
    term::or(alternatives)
}

/// The obligations that a rule derives from its artefact, for every combination of the parameters that are split.
pub(super) fn derived<A>(
    protocol: &Protocol,
    split: bool,
    artefact: &A,
    derive: impl Fn(&mut Over<'_, A>) -> Result<(), Unsupported>,
) -> Result<Vec<Obligation>, Unsupported> {
    let role = the_grid(protocol)?;
    let program = program::summarize(protocol, role)?;
    let mut all = Vec::new();
    for (nth, fixed) in combinations(protocol, split).into_iter().enumerate() {
        let frame = Frame::new(protocol, role, &program, fixed, nth);
        let mut rule = Over { frame, artefact };
        derive(&mut rule)?;
        all.append(&mut rule.frame.all);
    }
    Ok(all)
}

impl<'a> Frame<'a> {
    /// A frame without obligations.
    pub(super) fn new(
        protocol: &'a Protocol,
        role: &'a Role,
        program: &'a Program,
        fixed: Vec<(ParamId, i64)>,
        nth: usize,
    ) -> Frame<'a> {
        Frame {
            protocol,
            role,
            program,
            fixed,
            nth,
            all: Vec::new(),
        }
    }

    pub(in crate::certificate) fn waits(&self) -> Vec<&'a Event> {
        self.program
            .events
            .iter()
            .filter(|e| matches!(e.kind, EventKind::Wait { .. }))
            .collect()
    }

    pub(in crate::certificate) fn adds_to(&self, wait: &Event) -> Vec<&'a Event> {
        let same = |e: &&Event| e.cell.object == wait.cell.object;
        let adds = |e: &&Event| matches!(e.kind, EventKind::Add { .. });
        self.program
            .events
            .iter()
            .filter(same)
            .filter(adds)
            .collect()
    }

    /// A fresh setting in which the parameters are in their domain.
    pub(in crate::certificate) fn setting(&self) -> Result<Setting<'a>, Unsupported> {
        let mut terms = Translator::new(self.protocol, &self.fixed);
        let mut facts = terms.domain();
        for assumption in &self.protocol.assumptions {
            facts.push(terms.expr(&assumption.condition, &Env::new())?);
        }
        Ok(Setting {
            terms,
            facts,
            positions: Vec::new(),
        })
    }

    pub(in crate::certificate) fn conclude(
        &mut self,
        name: String,
        meaning: String,
        mut setting: Setting<'_>,
        goal: Term,
    ) -> Result<(), Unsupported> {
        Unsupported::unless_in_time()?;
        if goal.to_string() == "true" {
            return Ok(());
        }
        setting.facts.extend(setting.terms.axioms()?);
        let case = if self.fixed.is_empty() {
            String::new()
        } else {
            let values: Vec<String> = self
                .fixed
                .iter()
                .map(|(id, value)| format!("{} = {value}", self.protocol.params[id.0].name))
                .collect();
            format!(" Case {}.", values.join(", "))
        };
        let prefix = if self.fixed.is_empty() {
            String::new()
        } else {
            format!("case{}_", self.nth)
        };
        self.all.push(Obligation {
            name: format!("{prefix}{:03}_{name}", self.all.len()),
            meaning: format!("{meaning}.{case}"),
            declarations: setting.terms.declarations(),
            hypotheses: setting.facts,
            goal,
            split: Vec::new(),
        });
        Ok(())
    }

    /// The text at a span, on one line.
    pub(in crate::certificate) fn quote(&self, span: Span) -> String {
        let text = self.protocol.source.get(span.start..span.end).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
