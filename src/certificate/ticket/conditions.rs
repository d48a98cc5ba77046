//! Side conditions 1 to 3 and 5 to 7 of the ticket rule, as obligations.

use std::collections::HashSet;

use super::Residency;
use super::Rule;
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
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::LaunchOrder;
use crate::protocol::ObjectKind;
use crate::protocol::Resident;

impl Rule<'_> {
    pub(super) fn assumptions_well_defined(&mut self) -> Result<(), Unsupported> {
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

    pub(super) fn declarations_well_defined(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        let mut exprs: Vec<&Expr> = Vec::new();
        exprs.extend(protocol.patterns.iter().flat_map(|p| &p.extents));
        exprs.extend(protocol.objects.iter().flat_map(|o| &o.extents));
        exprs.extend(self.role.indices.iter().map(|index| &index.extent));
        for object in &protocol.objects {
            if let ObjectKind::Semaphore(Initial::Value(value)) = &object.kind {
                exprs.push(value);
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

    pub(super) fn program_well_defined(&mut self) -> Result<(), Unsupported> {
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

    /// An event that touches the element a carried variable names is never in the first iteration,
    /// where that variable holds something else.
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

    pub(super) fn residency(&mut self) -> Result<(), Unsupported> {
        let Some(launch) = &self.role.launch else {
            return Err(Unsupported::at(self.role.span, "a role that is not a grid"));
        };
        if let Resident::AtMost(limit) = &launch.resident {
            let mut setting = self.setting()?;
            let limit = setting.terms.expr(limit, &Env::new())?;
            let goal = term::le(&term::int(1), &limit);
            self.conclude(
                "some_resident".to_owned(),
                "at least one CTA is resident".to_owned(),
                setting,
                goal,
            )?;
        }
        match (self.ticket.residency, &launch.resident, &launch.order) {
            (Residency::WholeGrid, Resident::All, _) => Ok(()),
            (Residency::WholeGrid, Resident::AtMost(limit), _) => {
                let mut setting = self.setting()?;
                let limit = setting.terms.expr(limit, &Env::new())?;
                let mut size = Vec::new();
                for index in &self.role.indices {
                    let extent = setting.terms.expr(&index.extent, &Env::new())?;
                    setting.facts.push(term::lt(&term::int(0), &extent));
                    size.push(extent);
                }
                let size = if size.len() == 1 {
                    size.remove(0)
                } else {
                    term::apply("*", &size)
                };
                let goal = term::le(&size, &limit);
                self.conclude(
                    "whole_grid_resident".to_owned(),
                    "the machine holds the whole grid".to_owned(),
                    setting,
                    goal,
                )
            }
            (Residency::LaunchOrder, _, LaunchOrder::Sorted(keys)) => {
                let order = self
                    .ticket
                    .order
                    .iter()
                    .map(|key| (key.index, key.descending));
                let agrees = order.eq(keys.iter().map(|key| (key.index, key.descending)));
                if agrees {
                    Ok(())
                } else {
                    Err(Unsupported::at(
                        self.role.span,
                        "CTAs do not start in the order of the tickets",
                    ))
                }
            }
            (Residency::LaunchOrder, _, LaunchOrder::Any) => Err(Unsupported::at(
                self.role.span,
                "CTAs may start in any order",
            )),
        }
    }

    /// Side condition 2.
    pub(super) fn one_fibre(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        let fibre = self.fibre(wait)?;
        if self.role.indices.len() == 1 {
            return Ok(());
        }
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let k = self.member(&mut setting, "k")?;
        let at_add = self.occurrence(&mut setting, add, &k, "k")?;
        setting.facts.push(events::same_element(&at_wait, &at_add));
        let goal = term::and(
            (0..c.len())
                .filter(|at| !fibre.counted.contains(at))
                .map(|at| term::eq(&c[at], &k[at])),
        );
        let meaning = format!(
            "CTAs of one element of `{}` differ in the counted indices only",
            self.protocol.objects[wait.cell.object.0].name
        );
        self.conclude(pair("one_fibre", wait, add), meaning, setting, goal)
    }

    /// Side condition 3.
    pub(super) fn settled(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let (env, happens) = self.located_add(&mut setting, add, &c, &at_wait.element)?;
        setting.facts.push(happens);
        let before = self.precedes(&mut setting, (add, &env), (wait, &at_wait.env))?;
        let after = self.precedes(&mut setting, (wait, &at_wait.env), (add, &env))?;
        let goal = term::or([before, after]);
        let meaning = format!(
            "program order decides between `{}` and `{}`",
            self.quote(wait.span),
            self.quote(add.span)
        );
        self.conclude(pair("settled", wait, add), meaning, setting, goal)
    }

    /// Side condition 5, for one addition and one waiting statement.
    pub(super) fn guarded(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        let fibre = self.fibre(wait)?;
        let mut setting = self.setting()?;
        let k = self.member(&mut setting, "k")?;
        let at_add = self.occurrence(&mut setting, add, &k, "k")?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        setting.facts.push(events::same_element(&at_wait, &at_add));
        setting.facts.push(term::not(self.below(&fibre, &k, &c)));
        let mut guards = Vec::new();
        for guard in self
            .waits()
            .into_iter()
            .filter(|g| g.cell.object == add.cell.object)
        {
            if let Some((env, happens)) = self.located(&mut setting, guard, &k, &at_add.element)? {
                let first = self.precedes(&mut setting, (guard, &env), (add, &at_add.env))?;
                guards.push(term::and([happens, first]));
            }
        }
        let meaning = format!(
            "`{}` is guarded by a wait on the same element",
            self.quote(add.span)
        );
        self.conclude(
            pair("guarded", wait, add),
            meaning,
            setting,
            term::or(guards),
        )
    }

    /// Side condition 6, for one waiting statement and one addition of a greater CTA.
    pub(super) fn followed(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        if !matches!(
            wait.kind,
            EventKind::Wait {
                comparison: Comparison::Equal,
                ..
            }
        ) {
            return Ok(());
        }
        let fibre = self.fibre(wait)?;
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let k = self.member(&mut setting, "k")?;
        let at_add = self.occurrence(&mut setting, add, &k, "k")?;
        setting.facts.push(events::same_element(&at_wait, &at_add));
        setting.facts.push(self.below(&fibre, &c, &k));
        let mut later = Vec::new();
        for own in self.adds_to(wait) {
            let (env, happens) = self.located_add(&mut setting, own, &c, &at_wait.element)?;
            let after = self.precedes(&mut setting, (wait, &at_wait.env), (own, &env))?;
            later.push(term::and([happens, after]));
        }
        let meaning = format!(
            "`{}` is followed by an addition of its own",
            self.quote(wait.span)
        );
        self.conclude(
            pair("followed", wait, add),
            meaning,
            setting,
            term::or(later),
        )
    }
}

fn pair(name: &str, wait: &Event, add: &Event) -> String {
    format!("{name}_s{}_s{}", wait.stmt.0, add.stmt.0)
}
