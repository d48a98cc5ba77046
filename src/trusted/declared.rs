//! What a protocol declares: the values of its parameters, its assumptions, and that its objects mean something.

use super::expression::Names;
use super::expression::parameter;
use super::member::Goal;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use crate::protocol::Domain;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;

/// The parameters, what holds of them, and what has to hold.
#[derive(Debug)]
pub struct Declared {
    /// The parameters.
    pub params: Vec<Term>,
    /// What holds of them: the domain and the assumptions.
    pub facts: Vec<Term>,
    /// What has to hold of them.
    pub goals: Vec<Goal>,
}

impl Declared {
    /// What a protocol declares.
    ///
    /// # Errors
    ///
    /// An expression without a term.
    pub fn new(protocol: &Protocol) -> Result<Declared, Unsupported> {
        let mut declared = Declared {
            params: protocol.params.iter().map(parameter).collect(),
            facts: Vec::new(),
            goals: Vec::new(),
        };
        declared.domain(protocol);
        declared.assumptions(protocol)?;
        declared.objects(protocol)?;
        Ok(declared)
    }

    pub(super) fn names(&self) -> Names {
        Names::new(self.params.clone(), Vec::new())
    }

    pub(super) fn conclude(
        &mut self,
        name: &'static str,
        meaning: String,
        names: &Names,
        goal: Term,
    ) {
        if goal == term::boolean(true) {
            return;
        }
        let mut facts = self.facts.clone();
        facts.extend(names.division(&[]));
        self.goals.push(Goal {
            name,
            meaning,
            facts,
            goal,
            functions: Vec::new(),
        });
    }

    fn domain(&mut self, protocol: &Protocol) {
        for (param, value) in protocol.params.iter().zip(&self.params) {
            self.facts.push(match &param.domain {
                Domain::AtLeast(lo) => term::le(&term::int(*lo), value),
                Domain::Range(lo, hi) => term::and([
                    term::le(&term::int(*lo), value),
                    term::le(value, &term::int(*hi)),
                ]),
                Domain::Set(values) => {
                    term::or(values.iter().map(|v| term::eq(value, &term::int(*v))))
                }
            });
        }
    }

    /// An assumption is evaluated where those before it hold.
    fn assumptions(&mut self, protocol: &Protocol) -> Result<(), Unsupported> {
        for assumption in &protocol.assumptions {
            let mut names = self.names();
            let defined = names.defined(&assumption.condition)?;
            self.conclude(
                "defined",
                "an assumption is defined".to_owned(),
                &names,
                defined,
            );
            let holds = names.term(&assumption.condition)?;
            self.facts.push(holds);
            self.facts.extend(names.division(&[]));
        }
        Ok(())
    }

    /// Declarations mean something, also of what nobody uses.
    fn objects(&mut self, protocol: &Protocol) -> Result<(), Unsupported> {
        for object in &protocol.objects {
            let mut names = self.names();
            let mut defined = Vec::new();
            let mut exists = Vec::new();
            for extent in &object.extents {
                defined.push(names.defined(extent)?);
                exists.push(term::le(&term::int(1), &names.term(extent)?));
            }
            let (number, least) = match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    (Some(arrivals), Some(1))
                }
                ObjectKind::Pool { capacity, .. } => (Some(capacity), Some(0)),
                ObjectKind::Semaphore(Initial::Value(value)) => (Some(value), None),
                ObjectKind::Semaphore(Initial::Any) | ObjectKind::Named => (None, None),
            };
            if let Some(number) = number {
                defined.push(names.defined(number)?);
                if let Some(least) = least {
                    let enough = term::le(&term::int(least), &names.term(number)?);
                    defined.push(term::or([term::not(term::and(exists)), enough]));
                }
            }
            let meaning = format!("the declaration of `{}` is defined", object.name);
            self.conclude("declared", meaning, &names, term::and(defined));
        }
        Ok(())
    }
}
