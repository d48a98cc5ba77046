//! Condition 4: nobody is behind. Before a wait for generation `g > 1` the member has waited at that element
//! for `g - 1`, and before it does what belongs to generation `g > 1`, generation `g - 1` has completed.
//!
//! The member knows that in one of three ways: by a wait of its own, because it does this only once
//! per element, or by somebody else's wait (`supports.rs`).

use super::Rule;
use crate::certificate::cut::artefact::Generation;
use crate::certificate::cut::artefact::Support;
use crate::certificate::cut::count::Counted;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::state;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

impl<'a> Rule<'a> {
    /// Before a wait for generation `g > 1`, the member has waited for generation `g - 1`.
    pub(super) fn not_behind(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let known = self.chosen(class, site)?;
        let same = |other: &Generation| {
            let there = this.flow.sites.get(other.site);
            other.class == class && there.is_some_and(|s| s.object == at.object)
        };
        if !(0..=1).contains(&known.first) {
            return Err(Unsupported::at(at.span, "a wait that skips a generation"));
        }
        if known.all {
            // Each of the member's waits at the element takes the next generation.
            let alike = |g: &&Generation| g.all && g.first == known.first;
            let all = self.case.generations.iter().filter(|g| same(g));
            if !all.clone().all(|g| alike(&g)) {
                return Err(Unsupported::at(at.span, "waits numbered in different ways"));
            }
            return Ok(());
        }
        let moves = || state::moves(this, site);
        let motion = this.flow.motion(site).ok_or_else(moves)?;
        let Counted::Iteration(level) = motion.level else {
            // Numbered by its own executions: the one before was done.
            return Ok(());
        };
        if at.path.conditions.is_empty() && at.path.loops.last() == Some(&level) {
            return Ok(());
        }
        // The step that was last at the same element executed the wait too.
        let (mut setting, env) = self.at_operation(class, site)?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        setting.facts.push(term::lt(&term::int(1), &generation));
        let clock = this
            .flow
            .before(Place::Site(site), motion.level)
            .ok_or_else(moves)?;
        let back = match &motion.moving {
            None => Expr::Int(1),
            Some((_, course)) => match course.period() {
                Some(period) => period,
                None => return Ok(()),
            },
        };
        let now = setting.terms.expr(&clock, &env)?;
        let back = setting.terms.expr(&back, &Env::new())?;
        let (mut earlier, inside) = setting.iterations(this, &at.path, "earlier")?;
        let depth = at.path.loops.iter().position(|l| *l == level).unwrap_or(0);
        setting.facts.extend(inside[..=depth].iter().cloned());
        for inner in at.path.loops.iter().skip(depth).skip(1) {
            let var = this.flow.loops[*inner].var;
            earlier.insert(var, env[&var].clone());
        }
        let then = setting.terms.expr(&clock, &earlier)?;
        setting.facts.push(term::eq(&then, &term::sub(&now, &back)));
        let mut goals = setting.conditions(&at.path, &earlier)?;
        for inner in at.path.loops.iter().skip(depth).skip(1) {
            let trips = setting
                .terms
                .expr(&this.flow.loops[*inner].trips, &earlier)?;
            let var = this.flow.loops[*inner].var;
            goals.push(term::within(&term::int(0), &env[&var], &trips));
        }
        let what = self.quote(at.span);
        let name = &this.name;
        self.conclude(
            format!("not_behind_c{class}_s{site}"),
            format!("in {name}, `{what}` was also done one round earlier"),
            setting,
            term::and(goals),
        )
    }

    /// What belongs to generation `g > 1` happens after generation `g - 1` has completed.
    pub fn joins(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        if matches!(at.kind, Kind::Register { .. })
            && self.numbered(class, site)? == (1, 1)
            && this.flow.always_awaits(site)
        {
            // Its earlier registrations at the element were all followed by a wait for them, and
            // it registers for the next generation each time.
            return Ok(());
        }
        let case = self.case;
        let split_phase = matches!(
            self.protocol.objects[at.object.0].kind,
            ObjectKind::Barrier { .. }
        );
        // At a split-phase barrier a second arrival without a wait is undefined in any case.
        let supports: Vec<&Support> = case
            .supports
            .iter()
            .filter(|s| s.class == class && s.site == site && !split_phase)
            .collect();
        if !supports.is_empty() {
            self.supported(&supports)
        } else if matches!(
            at.kind,
            Kind::Arrive { .. } | Kind::Expect { .. } | Kind::Deliver { .. }
        ) {
            self.waited_or_once(class, site)
        } else {
            self.only_once(class, site)
        }
    }

    pub(super) fn at_mbarrier(&self, class: usize, site: usize) -> bool {
        let object = self.classes[class].flow.sites[site].object;
        matches!(
            self.protocol.objects[object.0].kind,
            ObjectKind::Mbarrier { .. }
        )
    }

    /// The member has itself waited for the generation before, or does it once per element. After
    /// `v` waits of one operation at an element, the last of them was for generation `v - 1 + first`
    /// at least, since a member waits for later and later ones.
    fn waited_or_once(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let moves = || state::moves(this, site);
        let (mut setting, env) = self.at_operation(class, site)?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        let mut ways = vec![term::le(&generation, &term::int(1))];
        for (wait, other) in this.flow.sites.iter().enumerate() {
            if !matches!(other.kind, Kind::WaitParity { .. }) || !other.may_meet(at) {
                continue;
            }
            let known = self.chosen(class, wait)?;
            let waits = if known.all {
                self.visits_of(this, site, |k| matches!(k, Kind::WaitParity { .. }))
            } else {
                this.flow.visits(wait, &at.index, Place::Site(site))
            };
            let waits = setting.terms.expr(&waits.ok_or_else(moves)?, &env)?;
            let reached = term::sum([waits.clone(), term::int(known.first)]);
            ways.push(term::and([
                term::le(&term::int(1), &waits),
                term::le(&generation, &reached),
            ]));
        }
        let what = self.quote(at.span);
        self.conclude(
            format!("waited_c{class}_s{site}"),
            format!(
                "in {}, `{what}` comes after a wait of its own for the round before",
                this.name
            ),
            setting,
            term::or(ways),
        )
    }

    /// Nothing orders it, but the member does it once per element.
    fn only_once(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let (mut setting, env) = self.at_operation(class, site)?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        let what = self.quote(this.flow.sites[site].span);
        self.conclude(
            format!("once_c{class}_s{site}"),
            format!("in {}, `{what}` happens once per element", this.name),
            setting,
            term::le(&generation, &term::int(1)),
        )
    }

    /// A member arrives at a split-phase barrier and waits there by turns.
    pub(super) fn alternates(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        if self.protocol.objects[at.object.0].kind == ObjectKind::Named {
            return Ok(());
        }
        let moves = || state::moves(this, site);
        let registers = |k: &Kind| matches!(k, Kind::Register { .. });
        let awaits = |k: &Kind| matches!(k, Kind::Await);
        let arrived = self.visits_of(this, site, registers).ok_or_else(moves)?;
        let waited = self.visits_of(this, site, awaits).ok_or_else(moves)?;
        let (mut setting, env) = self.at_operation(class, site)?;
        let arrived = setting.terms.expr(&arrived, &env)?;
        let waited = setting.terms.expr(&waited, &env)?;
        let open = term::int(i64::from(awaits(&at.kind)));
        let what = self.quote(at.span);
        self.conclude(
            format!("alternates_c{class}_s{site}"),
            format!(
                "in {}, every arrival is waited for before the next, at `{what}`",
                this.name
            ),
            setting,
            term::eq(&arrived, &term::sum([waited, open])),
        )
    }
}
