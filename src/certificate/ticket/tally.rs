//! Side condition 4 of the ticket rule: a wait's value is the sum of the smaller CTAs' additions.

use super::Rule;
use super::Tally;
use super::events;
use super::events::Occurrence;
use super::events::Setting;
use crate::certificate::program::Event;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;

impl<'a> Rule<'a> {
    /// Side condition 4, by the argument that the artefact names.
    pub(super) fn tally(&mut self, wait: &Event) -> Result<(), Unsupported> {
        let tally = *self.ticket.tallies.get(&wait.stmt.0).ok_or_else(|| {
            Unsupported::at(wait.span, "the artefact has no argument for this wait")
        })?;
        match tally {
            Tally::Telescope => self.telescope(wait),
            Tally::Block(each) => self.block(wait, each),
        }
    }

    /// An arbitrary CTA `c` at the wait, and the number it wants the smaller CTAs to add.
    fn at_wait(
        &self,
        wait: &Event,
    ) -> Result<(Setting<'a>, Vec<Term>, Occurrence, Term), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let occurrence = self.occurrence(&mut setting, wait, &c, "c")?;
        let value = events::wait_value(&mut setting, wait, &occurrence.env)?;
        let initial = self.initial(&mut setting, wait, &occurrence.element)?;
        let mut own = Vec::new();
        for add in self.adds_to(wait) {
            let (env, happens) = self.located_add(&mut setting, add, &c, &occurrence.element)?;
            let first = self.precedes(&mut setting, (add, &env), (wait, &occurrence.env))?;
            let before = term::and([happens, first]);
            let amount = events::amount(&mut setting, add, &env)?;
            own.push(term::ite(&before, &amount, &term::int(0)));
        }
        let wanted = term::sub(&term::sub(&value, &initial), &term::sum(own));
        Ok((setting, c, occurrence, wanted))
    }

    fn initial(
        &self,
        setting: &mut Setting<'_>,
        wait: &Event,
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let object = &self.protocol.objects[wait.cell.object.0];
        match &object.kind {
            ObjectKind::Semaphore(Initial::Value(value)) => setting.terms.expr(value, &Env::new()),
            ObjectKind::Semaphore(Initial::Any) => {
                let value = term::apply(&format!("initial_{}", object.name), element);
                setting.facts.push(term::le(&term::int(0), &value));
                Ok(value)
            }
            _ => Err(Unsupported::at(
                object.span,
                "an object that is not a semaphore",
            )),
        }
    }

    /// The range of the counted index that holds the CTAs below `c`: `lo <= x < hi`.
    fn smaller(
        &self,
        setting: &mut Setting<'_>,
        counted: usize,
        c: &[Term],
    ) -> Result<(Term, Term), Unsupported> {
        Ok(if self.ticket.descending[counted] {
            let extent = setting
                .terms
                .expr(&self.role.indices[counted].extent, &Env::new())?;
            (term::sum([c[counted].clone(), term::int(1)]), extent)
        } else {
            (term::int(0), c[counted].clone())
        })
    }

    fn telescope(&mut self, wait: &Event) -> Result<(), Unsupported> {
        let counted = self.counted(wait)?;
        let descending = self.ticket.descending[counted];
        let adds = self.adds_to(wait);

        let (mut setting, c, at_wait, _) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        let x = setting.terms.constant("x");
        setting.facts.push(term::within(&lo, &x, &hi));
        let mut other = c.clone();
        other[counted] = x.clone();
        let added = self.additions(&mut setting, &adds, &other, &at_wait.element)?;
        let here = self.value_at(&mut setting, wait, &other, &at_wait.element)?;
        other[counted] = term::sum([x, term::int(1)]);
        let next = self.value_at(&mut setting, wait, &other, &at_wait.element)?;
        let growth = if descending {
            term::sub(&here, &next)
        } else {
            term::sub(&next, &here)
        };
        let meaning = format!(
            "the value of `{}` grows by what each smaller CTA adds",
            self.quote(wait.span)
        );
        self.conclude(
            single("telescope_step", wait),
            meaning,
            setting,
            term::eq(&added, &growth),
        )?;

        let (mut setting, mut c, at_wait, wanted) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        c[counted] = lo;
        let first = self.value_at(&mut setting, wait, &c, &at_wait.element)?;
        c[counted] = hi;
        let last = self.value_at(&mut setting, wait, &c, &at_wait.element)?;
        let total = if descending {
            term::sub(&first, &last)
        } else {
            term::sub(&last, &first)
        };
        let meaning = format!(
            "`{}` waits for the sum over all smaller CTAs",
            self.quote(wait.span)
        );
        self.conclude(
            single("telescope_sum", wait),
            meaning,
            setting,
            term::eq(&wanted, &total),
        )
    }

    /// The wait's value as a function of the CTA, the element being fixed.
    fn value_at(
        &self,
        setting: &mut Setting<'_>,
        wait: &Event,
        member: &[Term],
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let Some((env, _)) = self.located(setting, wait, member, element)? else {
            return Err(Unsupported::at(
                wait.span,
                "a wait whose loop variables cannot be read off the element",
            ));
        };
        events::wait_value(setting, wait, &env)
    }

    fn block(&mut self, wait: &Event, each: i64) -> Result<(), Unsupported> {
        if each < 1 {
            return Err(Unsupported::whole(
                "a block of CTAs that add less than 1 each",
            ));
        }
        let counted = self.counted(wait)?;
        let descending = self.ticket.descending[counted];
        let adds = self.adds_to(wait);
        let nearest = |wanted: &Term| match each {
            1 => wanted.clone(),
            _ => term::apply("div", &[wanted.clone(), term::int(each)]),
        };

        let (mut setting, c, _, wanted) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        let exact = term::eq(
            &term::apply("mod", &[wanted.clone(), term::int(each)]),
            &term::int(0),
        );
        let size = nearest(&wanted);
        let goal = term::and([
            if each == 1 {
                term::boolean(true)
            } else {
                exact
            },
            term::le(&term::int(0), &size),
            term::le(&size, &term::sub(&hi, &lo)),
        ]);
        let meaning = format!(
            "`{}` waits for a number of smaller CTAs that exists",
            self.quote(wait.span)
        );
        self.conclude(single("block_size", wait), meaning, setting, goal)?;

        let (mut setting, c, at_wait, wanted) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        let size = nearest(&wanted);
        let x = setting.terms.constant("x");
        setting.facts.push(term::within(&lo, &x, &hi));
        let near = if descending {
            term::lt(&x, &term::sum([lo, size]))
        } else {
            term::le(&term::sub(&hi, &size), &x)
        };
        let mut other = c.clone();
        other[counted] = x;
        let added = self.additions(&mut setting, &adds, &other, &at_wait.element)?;
        let goal = term::eq(&added, &term::ite(&near, &term::int(each), &term::int(0)));
        let meaning = format!(
            "just the nearest smaller CTAs add to what `{}` waits on",
            self.quote(wait.span)
        );
        self.conclude(single("block_members", wait), meaning, setting, goal)
    }
}
fn single(name: &str, event: &Event) -> String {
    format!("{name}_s{}", event.stmt.0)
}
