//! Obligations that every expression of a protocol is defined and stays in range.

use std::collections::HashSet;

use super::Frame;
use super::events;
use super::events::Setting;
use crate::certificate::program;
use crate::certificate::program::Bound;
use crate::certificate::program::Event;
use crate::certificate::program::EventKind;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Translator;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::Resident;

impl Frame<'_> {
    /// Obligations for the assumptions, the declarations and the program.
    pub(in crate::certificate) fn everything_well_defined(&mut self) -> Result<(), Unsupported> {
        self.assumptions_well_defined()?;
        self.declarations_well_defined()?;
        self.patterns_well_defined()?;
        self.program_well_defined()
    }

    fn patterns_well_defined(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        for pattern in &protocol.patterns {
            let Some((vars, condition)) = &pattern.definition else {
                continue;
            };
            let mut setting = self.setting()?;
            let mut env = Env::new();
            for (nth, (var, extent)) in vars.iter().zip(&pattern.extents).enumerate() {
                let value = setting.terms.constant(&format!("coordinate_{nth}"));
                let extent = setting.terms.expr(extent, &Env::new())?;
                setting
                    .facts
                    .push(term::within(&term::int(0), &value, &extent));
                env.insert(*var, value);
            }
            let what = format!("pattern `{}`", pattern.name);
            self.require_well_defined(setting, condition, &env, &what)?;
        }
        Ok(())
    }

    fn assumptions_well_defined(&mut self) -> Result<(), Unsupported> {
        for nth in 0..self.protocol.assumptions.len() {
            let mut terms = Translator::new(self.protocol, &self.fixed);
            let mut facts = terms.domain();
            for earlier in &self.protocol.assumptions[..nth] {
                facts.push(terms.expr(&earlier.condition, &Env::new())?);
            }
            let condition = &self.protocol.assumptions[nth].condition;
            self.require_well_defined(
                Setting {
                    terms,
                    facts,
                    positions: Vec::new(),
                },
                condition,
                &Env::new(),
                "an assumption",
            )?;
        }
        Ok(())
    }

    fn declarations_well_defined(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        let mut exprs: Vec<&Expr> = Vec::new();
        exprs.extend(protocol.patterns.iter().flat_map(|p| &p.extents));
        exprs.extend(protocol.objects.iter().flat_map(|o| &o.extents));
        exprs.extend(self.role.indices.iter().map(|index| &index.extent));
        for object in &protocol.objects {
            match &object.kind {
                ObjectKind::Semaphore(Initial::Value(value)) => exprs.push(value),
                ObjectKind::Semaphore(Initial::Any) => {}
                // The conditions on a declaration have to hold even if no statement uses the object.
                _ => {
                    return Err(Unsupported::at(
                        object.span,
                        "something else than a semaphore",
                    ));
                }
            }
        }
        if let Some(Resident::AtMost(limit)) = self.role.launch.as_ref().map(|l| &l.resident) {
            exprs.push(limit);
        }
        for expr in exprs {
            let setting = self.setting()?;
            self.require_well_defined(setting, expr, &Env::new(), "a declaration")?;
        }
        Ok(())
    }

    fn require_well_defined(
        &mut self,
        mut setting: Setting<'_>,
        expr: &Expr,
        env: &Env,
        what: &str,
    ) -> Result<(), Unsupported> {
        let mut needed = Vec::new();
        setting.terms.well_defined(expr, env, &[], &mut needed)?;
        if needed.is_empty() {
            return Ok(());
        }
        let goal = term::and(needed.into_iter().map(|requirement| {
            let given = term::and(requirement.given);
            term::or([term::not(given), requirement.needed])
        }));
        self.conclude(
            "well_defined".to_owned(),
            format!("{what} is well defined"),
            setting,
            goal,
        )
    }

    fn program_well_defined(&mut self) -> Result<(), Unsupported> {
        for evaluation in &self.program.evaluations {
            let mut setting = self.setting()?;
            let member = self.member(&mut setting, "c")?;
            let env = self.arbitrary(&mut setting, &evaluation.bounds, &member, "c")?;
            let condition = setting.terms.expr(&evaluation.condition, &env)?;
            setting.facts.push(condition);
            let what = format!("`{}`", self.quote(evaluation.span));
            self.require_well_defined(setting, &evaluation.expr, &env, &what)?;
        }
        for event in &self.program.events {
            let mut setting = self.setting()?;
            let member = self.member(&mut setting, "c")?;
            let occurrence = self.occurrence(&mut setting, event, &member, "c")?;
            let object = &self.protocol.objects[event.cell.object.0];
            let mut goals = Vec::new();
            for (extent, index) in object.extents.iter().zip(&occurrence.element) {
                let extent = setting.terms.expr(extent, &Env::new())?;
                goals.push(term::within(&term::int(0), index, &extent));
            }
            if let EventKind::Add { .. } = event.kind {
                let amount = events::amount(&mut setting, event, &occurrence.env)?;
                goals.push(term::le(&term::int(1), &amount));
            }
            goals.extend(self.carried(&mut setting, event, &occurrence.env)?);
            let meaning = format!("`{}` stays in range", self.quote(event.span));
            self.conclude(
                format!("in_range_s{}", event.stmt.0),
                meaning,
                setting,
                term::and(goals),
            )?;
        }
        Ok(())
    }

    /// The obligation that an event which touches the element that a carried variable names is never in the first
    /// iteration, in which this variable has another value.
    fn carried(
        &self,
        setting: &mut Setting<'_>,
        event: &Event,
        env: &Env,
    ) -> Result<Vec<Term>, Unsupported> {
        let mut used = HashSet::new();
        event
            .cell
            .index
            .iter()
            .for_each(|index| program::free_vars(index, &mut used));
        let mut goals = Vec::new();
        for (at, bound) in event.bounds.iter().enumerate() {
            if let Bound::Previous { var, of, .. } = bound
                && used.contains(var)
            {
                goals.push(self.past_first(setting, &event.bounds, at, of, env)?);
            }
        }
        Ok(goals)
    }
}
