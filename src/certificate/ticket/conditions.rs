//! Side conditions 2, 3, 5, 6 and 7 of the ticket rule, as obligations.

use super::Residency;
use super::Rule;
use crate::certificate::grid;
use crate::certificate::program::Event;
use crate::certificate::program::EventKind;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::protocol::Comparison;
use crate::protocol::LaunchOrder;

impl Rule<'_> {
    /// Side condition 7.
    pub(super) fn residency(&mut self) -> Result<(), Unsupported> {
        self.some_resident()?;
        if self.artefact.residency == Residency::WholeGrid {
            return self.whole_grid();
        }
        let LaunchOrder::Sorted(keys) = &self.launch()?.order else {
            return Err(Unsupported::at(
                self.role.span,
                "CTAs may start in any order",
            ));
        };
        let order = self
            .artefact
            .order
            .iter()
            .map(|key| (key.index, key.descending));
        if order.eq(keys.iter().map(|key| (key.index, key.descending))) {
            Ok(())
        } else {
            Err(Unsupported::at(
                self.role.span,
                "CTAs do not start in the order of the tickets",
            ))
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
        setting.facts.push(grid::same_element(&at_wait, &at_add));
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
        setting.facts.push(grid::same_element(&at_wait, &at_add));
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
        setting.facts.push(grid::same_element(&at_wait, &at_add));
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
