//! Condition 6: nobody is stuck. No choice of one place for each class leaves every class blocked or finished and
//! one of them blocked.
//!
//! That is one formula. For each class, an unknown says at which of its blocking operations the class stands, or that it is
//! at its end. More unknowns are the iterations of the loops around that place. The formula assumes that every class is
//! blocked at its place, or finished, and that one is not finished. A contradiction has to follow.
//!
//! Two kinds of classes are special. Classes that differ in a number only stand at one place together. A class that uses
//! pools is spread over several places (`pools.rs`).
//!
//! If copies, such as CTAs, go in the order of their numbers, the formula is stated twice. The first states that the first
//! unfinished copy is not stuck. The second is about the members that belong to no copy, when all copies have finished.

use std::collections::BTreeMap;

use super::Rule;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::state::FinishedCopies;
use crate::certificate::cut::state::Group;
use crate::certificate::cut::state::OtherCopies;
use crate::certificate::cut::state::Setting;
use crate::certificate::cut::state::Spot;
use crate::certificate::exact;
use crate::certificate::obligation::Split;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;

/// Per class, at which position of what a solver may tell apart the choice of its place is.
type Choices = BTreeMap<usize, usize>;

impl<'a> Rule<'a> {
    /// No choice of places, one per class, leaves everybody blocked or finished and somebody
    /// blocked. Where copies go in order: somebody of the first copy that is not finished, or of no
    /// copy, when all copies are.
    pub(super) fn progress(&mut self, finished: FinishedCopies) -> Result<(), Unsupported> {
        let classes = self.classes;
        let mut setting = self.finished_before(finished)?;
        setting.exact_products = (0..classes.len()).any(|class| self.uses_pools(class));
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut unfinished = Vec::new();
        let mut choices = Choices::new();
        let looked_at: Vec<usize> = (0..classes.len())
            .filter(|class| finished == FinishedCopies::Before || !self.is_copied(*class))
            .collect();
        let first = self.at_one_place();
        for &position in &looked_at {
            if first[position] != position {
                // Of all classes, those before it are looked at.
                let spots = groups.get(first[position]).map(|group| group.spots.clone());
                groups.push(self.everywhere(position, spots.unwrap_or_default()));
            } else if self.uses_pools(position) {
                let (group, open) = self.spread(&mut setting, position)?;
                groups.push(group);
                unfinished.push(open);
            } else {
                let (spots, open) = self.one_place(&mut setting, position, &mut choices)?;
                groups.push(self.everywhere(position, spots));
                if finished == FinishedCopies::All || self.is_first(position) {
                    unfinished.extend(open);
                }
            }
        }
        for (group, &position) in looked_at.iter().enumerate() {
            if first[position] != position {
                continue;
            }
            if self.uses_pools(position) {
                self.spread_blocked(&mut setting, &groups, position)?;
            } else {
                self.blocked_there(&mut setting, &groups, (group, position), &choices)?;
            }
        }
        setting.facts.push(term::or(unfinished));
        let name = match finished {
            FinishedCopies::Before => "progress",
            FinishedCopies::All => "progress_after_all_copies",
        };
        // The class with most places first.
        setting
            .split
            .sort_by_key(|split| std::cmp::Reverse(split.bound));
        let rings = std::mem::take(&mut setting.rings);
        setting.split.extend(rings);
        self.conclude(
            name.to_owned(),
            "no combination of places leaves a member blocked and no member able to go on"
                .to_owned(),
            setting,
            term::boolean(false),
        )
    }

    /// What the formula starts from: where copies go in order, which of them have finished.
    fn finished_before(&self, finished: FinishedCopies) -> Result<Setting<'a>, Unsupported> {
        let mut setting = self.setting()?;
        if self.ordered.is_some() {
            setting.other_copies = Some(OtherCopies {
                finished,
                later: Vec::new(),
            });
            if finished == FinishedCopies::Before {
                let number = self.is_number(&mut setting, 0)?;
                setting.facts.push(number);
            }
        }
        Ok(setting)
    }

    /// A class in all copies of its kind.
    fn everywhere(&self, position: usize, spots: Vec<Spot>) -> Group<'a> {
        let class = &self.classes[position];
        Group::new(class, class.size.clone(), spots, self.all_copies(position))
    }

    /// One of the places at which a class can be blocked, or its end. Also returns that the class has
    /// members and is not at its end, where it can be blocked at all.
    fn one_place(
        &self,
        setting: &mut Setting<'a>,
        position: usize,
        choices: &mut Choices,
    ) -> Result<(Vec<Spot>, Option<Term>), Unsupported> {
        let class = &self.classes[position];
        let stops: Vec<usize> = (0..class.flow.sites.len())
            .filter(|at| class.flow.sites[*at].kind.blocks())
            .collect();
        let choice = setting.terms.constant(&format!("place_{position}"));
        let last = exact::number(stops.len())?;
        let places = exact::sum(last, 1)?;
        let exists = self.exists(setting, position)?;
        setting
            .facts
            .push(term::within(&term::int(0), &choice, &term::int(places)));
        choices.insert(position, setting.split.len());
        setting.split.push(Split {
            integer: choice.clone(),
            bound: places,
            then: Vec::new(),
        });
        let mut spots = Vec::new();
        for (nth, site) in stops.iter().enumerate() {
            let when = term::eq(&choice, &term::int(nth as i64));
            let path = &class.flow.sites[*site].path;
            let (env, inside) = setting.iterations(class, path, &format!("blocked_{position}"))?;
            let conditions = setting.conditions(path, &env)?;
            setting.facts.push(term::or([
                term::not(when.clone()),
                term::and(inside.into_iter().chain(conditions)),
            ]));
            spots.push(Spot {
                when,
                place: Place::Site(*site),
                env,
            });
        }
        let end = term::eq(&choice, &term::int(last));
        let open = term::and([exists, term::not(end.clone())]);
        spots.push(Spot {
            when: end,
            place: Place::End,
            env: Env::new(),
        });
        Ok((spots, (!stops.is_empty()).then_some(open)))
    }

    /// Assumes that a class is blocked at the place that was chosen for it, if it has members.
    fn blocked_there(
        &self,
        setting: &mut Setting<'a>,
        groups: &[Group<'a>],
        (group, position): (usize, usize),
        choices: &Choices,
    ) -> Result<(), Unsupported> {
        let classes = self.classes;
        let group = &groups[group];
        let none = term::not(self.exists(setting, position)?);
        let copy = group.copy.as_ref().map(|copy| copy.tag);
        for (nth, spot) in group.spots.iter().enumerate() {
            let Place::Site(site) = spot.place else {
                continue;
            };
            let at = (position, site);
            let rings = setting.rings.len();
            let blocked = self.lacks_in(copy, setting, groups, at, &spot.env, 0, false)?;
            // Next where in a ring it is blocked, and where those are who could unblock it.
            let mut next: Vec<Term> = Vec::new();
            next.extend(setting.rings[rings..].iter().map(|r| r.integer.clone()));
            let object = classes[position].flow.sites[site].object;
            next.extend(choices.iter().filter_map(|(other, split)| {
                let mut sites = classes[*other].flow.sites.iter();
                let arrives = sites.any(|s| s.object == object && s.kind.arrivals().is_some());
                arrives.then(|| setting.split[*split].integer.clone())
            }));
            if let Some(split) = choices.get(&position) {
                let then = next.into_iter().map(|next| (nth as i64, next));
                setting.split[*split].then.extend(then);
            }
            let (none, when) = (none.clone(), spot.when.clone());
            setting
                .facts
                .push(term::or([none, term::not(when), blocked]));
        }
        Ok(())
    }
}
