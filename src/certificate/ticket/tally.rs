//! Side condition 4 of the ticket rule: a wait's value is the sum of the smaller CTAs' additions.

use super::Fibre;
use super::Potential;
use super::Rule;
use super::Tally;
use crate::certificate::grid;
use crate::certificate::grid::Occurrence;
use crate::certificate::grid::Setting;
use crate::certificate::program::Event;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;

impl<'a> Rule<'a> {
    /// Side condition 4, by the argument that the artefact names.
    pub(super) fn tally(&mut self, wait: &Event) -> Result<(), Unsupported> {
        let tally = *self.artefact.tallies.get(&wait.stmt.0).ok_or_else(|| {
            Unsupported::at(wait.span, "the artefact has no argument for this wait")
        })?;
        match tally {
            Tally::Telescope(potential) => self.telescope(wait, potential),
            Tally::Block(each) => self.block(wait, each),
        }
    }

    /// An arbitrary CTA `c` at the wait, and the sum that the smaller CTAs have to add.
    fn at_wait(
        &self,
        wait: &Event,
    ) -> Result<(Setting<'a>, Vec<Term>, Occurrence, Term), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let occurrence = self.occurrence(&mut setting, wait, &c, "c")?;
        let value = grid::wait_value(&mut setting, wait, &occurrence.env)?;
        let initial = self.initial(&mut setting, wait, &occurrence.element)?;
        let own =
            self.added_before(&mut setting, wait, &c, &occurrence.env, &occurrence.element)?;
        let wanted = term::sub(&term::sub(&value, &initial), &own);
        Ok((setting, c, occurrence, wanted))
    }

    /// What a CTA itself adds to an element before it waits on the element.
    fn added_before(
        &self,
        setting: &mut Setting<'_>,
        wait: &Event,
        member: &[Term],
        env: &Env,
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let mut own = Vec::new();
        for add in self.adds_to(wait) {
            let (add_env, happens) = self.located_add(setting, add, member, element)?;
            let first = self.precedes(setting, (add, &add_env), (wait, env))?;
            let before = term::and([happens, first]);
            let amount = grid::amount(setting, add, &add_env)?;
            own.push(term::ite(&before, &amount, &term::int(0)));
        }
        Ok(term::sum(own))
    }

    /// An arbitrary CTA of the same fibre, not necessarily below `c`.
    fn other(
        &self,
        setting: &mut Setting<'_>,
        fibre: &Fibre,
        c: &[Term],
    ) -> Result<Vec<Term>, Unsupported> {
        let mut other = c.to_vec();
        for at in &fibre.counted {
            let x = setting.terms.constant(&format!("x_{at}"));
            let extent = self.extent(setting, *at)?;
            setting.facts.push(term::within(&term::int(0), &x, &extent));
            other[*at] = x;
        }
        Ok(other)
    }

    fn extent(&self, setting: &mut Setting<'_>, index: usize) -> Result<Term, Unsupported> {
        setting
            .terms
            .expr(&self.role.indices[index].extent, &Env::new())
    }

    fn telescope(&mut self, wait: &Event, potential: Potential) -> Result<(), Unsupported> {
        let fibre = self.fibre(wait)?;
        self.telescope_step(wait, &fibre, potential)?;
        for (round, level) in (0..fibre.counted.len()).zip(1..fibre.counted.len()) {
            self.telescope_carry(wait, &fibre, (round, level), potential)?;
        }
        self.telescope_sum(wait, &fibre, potential)
    }

    fn telescope_step(
        &mut self,
        wait: &Event,
        fibre: &Fibre,
        potential: Potential,
    ) -> Result<(), Unsupported> {
        let adds = self.adds_to(wait);
        let (mut setting, c, at_wait, _) = self.at_wait(wait)?;
        let mut k = self.other(&mut setting, fibre, &c)?;
        setting.facts.push(self.below(fibre, &k, &c));
        let added = self.additions(&mut setting, &adds, &k, &at_wait.element)?;
        let here = self.potential(&mut setting, (wait, fibre, potential), &k, &at_wait.element)?;
        past(fibre, &mut k);
        let next = self.potential(&mut setting, (wait, fibre, potential), &k, &at_wait.element)?;
        let growth = if fibre.descending {
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
        )
    }

    /// The carry from just past the end of the counted index at `level` to the next value of the previous index, at
    /// `round`.
    fn telescope_carry(
        &mut self,
        wait: &Event,
        fibre: &Fibre,
        (round, level): (usize, usize),
        potential: Potential,
    ) -> Result<(), Unsupported> {
        let (mut setting, c, at_wait, _) = self.at_wait(wait)?;
        let mut k = self.other(&mut setting, fibre, &c)?;
        for at in &fibre.counted[level..] {
            k[*at] = term::int(0);
        }
        // Only the rounds that the sum runs through count: for an ascending order, those before the round of `c`; for
        // a descending one, the round of `c` and those after it.
        let prefix = Fibre {
            counted: fibre.counted[..level].to_vec(),
            descending: false,
        };
        let earlier = self.below(&prefix, &k, &c);
        setting.facts.push(if fibre.descending {
            term::not(earlier)
        } else {
            earlier
        });
        k[fibre.counted[level]] = self.extent(&mut setting, fibre.counted[level])?;
        let end = self.potential(&mut setting, (wait, fibre, potential), &k, &at_wait.element)?;
        k[fibre.counted[level]] = term::int(0);
        let round = fibre.counted[round];
        k[round] = term::sum([k[round].clone(), term::int(1)]);
        let start = self.potential(&mut setting, (wait, fibre, potential), &k, &at_wait.element)?;
        let meaning = format!(
            "the value of `{}` does not change from one round to the next",
            self.quote(wait.span)
        );
        let name = single(&format!("telescope_carry{level}"), wait);
        self.conclude(name, meaning, setting, term::eq(&end, &start))
    }

    fn telescope_sum(
        &mut self,
        wait: &Event,
        fibre: &Fibre,
        potential: Potential,
    ) -> Result<(), Unsupported> {
        let (mut setting, mut c, at_wait, wanted) = self.at_wait(wait)?;
        let mut end = c.clone();
        for at in &fibre.counted {
            end[*at] = term::int(0);
        }
        let total = if fibre.descending {
            end[fibre.counted[0]] = self.extent(&mut setting, fibre.counted[0])?;
            past(fibre, &mut c);
            let first =
                self.potential(&mut setting, (wait, fibre, potential), &c, &at_wait.element)?;
            let last = self.potential(
                &mut setting,
                (wait, fibre, potential),
                &end,
                &at_wait.element,
            )?;
            term::sub(&first, &last)
        } else {
            let first = self.potential(
                &mut setting,
                (wait, fibre, potential),
                &end,
                &at_wait.element,
            )?;
            let last =
                self.potential(&mut setting, (wait, fibre, potential), &c, &at_wait.element)?;
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

    /// The potential at a CTA, for a fixed element.
    fn potential(
        &self,
        setting: &mut Setting<'_>,
        (wait, fibre, potential): (&Event, &Fibre, Potential),
        member: &[Term],
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let mut member = member.to_vec();
        if let (Potential::ValueBelow, Some(last)) = (potential, fibre.counted.last()) {
            member[*last] = term::sub(&member[*last], &term::int(1));
        }
        let Some((env, _)) = self.located(setting, wait, &member, element)? else {
            return Err(Unsupported::at(
                wait.span,
                "a wait whose loop variables cannot be read off the element",
            ));
        };
        let value = grid::wait_value(setting, wait, &env)?;
        if potential == Potential::ValueLessOwn {
            let own = self.added_before(setting, wait, &member, &env, element)?;
            return Ok(term::sub(&value, &own));
        }
        Ok(value)
    }

    /// The number of a CTA in its fibre, in ascending order.
    fn number(
        &self,
        setting: &mut Setting<'_>,
        fibre: &Fibre,
        member: &[Term],
    ) -> Result<Term, Unsupported> {
        let mut number = term::int(0);
        for (nth, at) in fibre.counted.iter().enumerate() {
            if nth > 0 {
                let extent = self.extent(setting, *at)?;
                number = setting.terms.product(&number, &extent);
            }
            number = term::sum([number, member[*at].clone()]);
        }
        Ok(number)
    }

    /// How many CTAs lie between `k` and `c`, including `k`.
    fn distance(
        &self,
        setting: &mut Setting<'_>,
        fibre: &Fibre,
        k: &[Term],
        c: &[Term],
    ) -> Result<Term, Unsupported> {
        let (k, c) = (
            self.number(setting, fibre, k)?,
            self.number(setting, fibre, c)?,
        );
        Ok(if fibre.descending {
            term::sub(&k, &c)
        } else {
            term::sub(&c, &k)
        })
    }

    fn block(&mut self, wait: &Event, each: i64) -> Result<(), Unsupported> {
        if each < 1 {
            return Err(Unsupported::whole(
                "a block of CTAs that add less than 1 each",
            ));
        }
        let fibre = self.fibre(wait)?;
        let adds = self.adds_to(wait);
        let nearest = |wanted: &Term| match each {
            1 => wanted.clone(),
            _ => term::apply("div", &[wanted.clone(), term::int(each)]),
        };

        let (mut setting, c, _, wanted) = self.at_wait(wait)?;
        let mut farthest = c.clone();
        for at in &fibre.counted {
            farthest[*at] = if fibre.descending {
                let extent = self.extent(&mut setting, *at)?;
                term::sub(&extent, &term::int(1))
            } else {
                term::int(0)
            };
        }
        let size = nearest(&wanted);
        let most = self.distance(&mut setting, &fibre, &farthest, &c)?;
        let exact = match each {
            1 => term::boolean(true),
            _ => term::eq(
                &term::apply("mod", &[wanted.clone(), term::int(each)]),
                &term::int(0),
            ),
        };
        let goal = term::and([
            exact,
            term::le(&term::int(0), &size),
            term::le(&size, &most),
        ]);
        let meaning = format!(
            "`{}` waits for a number of smaller CTAs that exists",
            self.quote(wait.span)
        );
        self.conclude(single("block_size", wait), meaning, setting, goal)?;

        let (mut setting, c, at_wait, wanted) = self.at_wait(wait)?;
        let size = nearest(&wanted);
        let k = self.other(&mut setting, &fibre, &c)?;
        setting.facts.push(self.below(&fibre, &k, &c));
        let distance = self.distance(&mut setting, &fibre, &k, &c)?;
        let near = term::le(&distance, &size);
        let added = self.additions(&mut setting, &adds, &k, &at_wait.element)?;
        let goal = term::eq(&added, &term::ite(&near, &term::int(each), &term::int(0)));
        let meaning = format!(
            "just the nearest smaller CTAs add to what `{}` waits on",
            self.quote(wait.span)
        );
        self.conclude(single("block_members", wait), meaning, setting, goal)
    }
}

/// Moves a CTA to the next value of its last counted index, perhaps past the end.
fn past(fibre: &Fibre, member: &mut [Term]) {
    if let Some(last) = fibre.counted.last() {
        member[*last] = term::sum([member[*last].clone(), term::int(1)]);
    }
}

fn single(name: &str, event: &Event) -> String {
    format!("{name}_s{}", event.stmt.0)
}
