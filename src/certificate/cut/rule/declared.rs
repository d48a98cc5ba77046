//! Condition 1 of the cut rule (*well defined*) for declarations: their expressions are defined for all
//! values of parameters, every copy has elements of its own, and every member is resident.
//!
//! An assumption has to be defined wherever the assumptions before it hold, and everything else wherever
//! all assumptions hold. An array without elements has no arrivals, so the number that it expects does
//! not matter. If the number of resident CTAs is limited, the whole grid has to fit. Otherwise resident
//! CTAs might wait for one that has not started.

use super::Rule;
use crate::certificate::cut::algebra;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::state::Setting;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Translator;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::Resident;

impl<'a> Rule<'a> {
    /// That every assumption is well defined wherever those before it hold.
    pub fn assumptions(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        for nth in 0..protocol.assumptions.len() {
            let mut terms = Translator::new(protocol, &self.fixed);
            let mut facts = terms.domain();
            for earlier in &protocol.assumptions[..nth] {
                facts.push(terms.expr(&earlier.condition, &Env::new())?);
            }
            let setting = Setting::new(protocol, terms, facts);
            let condition = &protocol.assumptions[nth].condition;
            let name = format!("defined_assumption_{nth}");
            self.require_defined(setting, &[condition], &Env::new(), name, "an assumption")?;
        }
        Ok(())
    }

    pub(super) fn declarations(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        if let Some(pattern) = protocol.patterns.first()
            && !matches!(self.shows, Shows::Nothing | Shows::Generations)
        {
            let what = "a block-sparse pattern, for this property";
            return Err(Unsupported::at(pattern.span, what));
        }
        self.assumptions()?;
        let mut exprs: Vec<Expr> = Vec::new();
        exprs.extend(protocol.objects.iter().flat_map(|o| o.extents.clone()));
        exprs.extend(protocol.patterns.iter().flat_map(|p| p.extents.clone()));
        let indices = protocol.roles.iter().flat_map(|r| &r.indices);
        exprs.extend(indices.map(|i| i.extent.clone()));
        for object in &protocol.objects {
            match &object.kind {
                ObjectKind::Semaphore(Initial::Value(value)) => exprs.push(value.clone()),
                ObjectKind::Semaphore(Initial::Any) => {
                    return Err(Unsupported::at(
                        object.span,
                        "a semaphore with an open initial value",
                    ));
                }
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    exprs.push(arrivals.clone());
                }
                ObjectKind::Named => {}
                ObjectKind::Pool { capacity, .. } => exprs.push(capacity.clone()),
            }
        }
        let exprs: Vec<Expr> = exprs.iter().map(|e| self.replaced(e)).collect();
        // Declarations have to be defined even if there is no copy.
        let setting = self.anywhere()?;
        let exprs: Vec<&Expr> = exprs.iter().collect();
        let name = "defined_declarations".to_owned();
        self.require_defined(setting, &exprs, &Env::new(), name, "every declaration")?;
        // Only arrays with elements count. All uses of others are out of range anyway.
        for object in &protocol.objects {
            let (least, what, amount) = match &object.kind {
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    (1, "expects at least one arrival", arrivals)
                }
                ObjectKind::Pool { capacity, .. } => (0, "has 0 or more", capacity),
                ObjectKind::Semaphore(_) | ObjectKind::Named => continue,
            };
            let mut setting = self.anywhere()?;
            for extent in &object.extents {
                let extent = self.value(&mut setting, extent)?;
                setting.facts.push(term::le(&term::int(1), &extent));
            }
            let amount = self.value(&mut setting, amount)?;
            self.conclude(
                format!("declares_{}", object.name),
                format!("`{}` {what}", object.name),
                setting,
                term::le(&term::int(least), &amount),
            )?;
        }
        Ok(())
    }

    /// That every member is resident from the beginning: a grid with a limit of resident members has no more than that.
    pub(super) fn residency(&mut self) -> Result<(), Unsupported> {
        for (position, role) in self.protocol.roles.iter().enumerate() {
            let Some(launch) = &role.launch else { continue };
            let Resident::AtMost(limit) = &launch.resident else {
                continue;
            };
            let mut setting = self.setting()?;
            let limit = self.value(&mut setting, limit)?;
            let mut size = Expr::Int(1);
            let copied = self.ordered.filter(|o| o.copied[position]);
            let extents = role.indices.iter().map(|index| &index.extent);
            for extent in extents.chain(copied.map(|o| &o.extent)) {
                let extent = self.fix(extent);
                let value = setting.terms.expr(&extent, &Env::new())?;
                setting.facts.push(term::le(&term::int(1), &value));
                size = algebra::mul(size, extent);
            }
            let size = setting.terms.expr(&size, &Env::new())?;
            self.conclude(
                format!("resident_{}", role.name),
                format!("all members of `{}` are resident at once", role.name),
                setting,
                term::le(&size, &limit),
            )?;
        }
        Ok(())
    }

    /// That every copy has elements of its own.
    pub(super) fn copies(&mut self) -> Result<(), Unsupported> {
        let Some(extent) = self.copies.extent.clone() else {
            return Ok(());
        };
        for (object, position) in self.copies.objects.clone() {
            let object = &self.protocol.objects[object];
            let (name, elements) = (&object.name, &object.extents[position]);
            self.enough_for_copies("copies", name, &extent, elements)?;
        }
        Ok(())
    }

    /// That there are at least as many elements as copies.
    pub fn enough_for_copies(
        &mut self,
        obligation: &str,
        name: &str,
        copies: &Expr,
        elements: &Expr,
    ) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let copies = self.value(&mut setting, copies)?;
        let elements = self.value(&mut setting, elements)?;
        self.conclude(
            format!("{obligation}_{name}"),
            format!("`{name}` has elements for every copy"),
            setting,
            term::le(&copies, &elements),
        )
    }

    /// Refuses copies for properties that are not shown of them. Copies that go in order (`ordered.rs`) may
    /// share data, so only freedom from deadlock and generations are shown of them. Of copies that share
    /// objects (`sharing.rs`), nothing is shown yet about the data that they give room to, or about when
    /// they exit.
    pub(super) fn shown_of_copies(&self) -> Result<(), Unsupported> {
        let fits = match self.shows {
            Shows::Nothing | Shows::Generations => true,
            Shows::Ordering | Shows::Visibility | Shows::Claims => self.ordered.is_none(),
            Shows::Lifetimes | Shows::Exits => self.ordered.is_none() && !self.copies.shares,
        };
        match fits {
            true => Ok(()),
            false => Err(Unsupported::whole(
                "copies that share objects, for this property",
            )),
        }
    }
}
