//! Condition 5: the cut for an operation that must not be overtaken.
//!
//! One member is held before the operation. Everybody else is then blocked or finished at the stops
//! that the certificate names. So no run gets beyond these stops as long as the member is held
//! (point (a) of the rule). What has arrived up to the stops has not completed the generation after
//! the one that the operation is about.

use super::Held;
use super::Rule;
use crate::certificate::cut::artefact::Hold;
use crate::certificate::cut::artefact::Stop;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::state::Group;
use crate::certificate::cut::state::Setting;
use crate::certificate::cut::state::Spot;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;

impl<'a> Rule<'a> {
    /// While a member is held before an operation, its element does not complete the generation
    /// `above` the operation's own.
    pub(super) fn not_ahead(
        &mut self,
        class: usize,
        site: usize,
        above: i64,
    ) -> Result<(), Unsupported> {
        self.hold(class, site, Some(above))
    }

    /// The cut for an operation. No other one is looked at.
    pub fn held(&self, class: usize, site: usize) -> Option<&'a Hold> {
        let classes = self.classes.len();
        let apart = self.copies.shares || self.ordered.is_some();
        let elsewhere = if apart { classes } else { 0 };
        let fits = |h: &Hold| h.stops.len() == classes && h.elsewhere.len() == elsewhere;
        let mut holds = self.case.holds.iter();
        holds.find(|h| h.class == class && h.site == site && fits(h))
    }

    /// Where the members of a class stop, if they may work on the elements of the member that is
    /// held: those of its copy, if they belong to copies.
    pub fn stops_of(&self, hold: &'a Hold, class: usize) -> Option<&'a [Stop]> {
        let other = &self.classes[class];
        let marked = other.copies.is_none() || other.is_kind_of(&self.classes[hold.class]);
        hold.stops.get(class).filter(|_| marked).map(|s| &s[..])
    }

    /// A cut. `above`: what its element must not have completed by then.
    pub fn hold(
        &mut self,
        class: usize,
        site: usize,
        above: Option<i64>,
    ) -> Result<(), Unsupported> {
        let classes = self.classes;
        let this = &classes[class];
        let at = &this.flow.sites[site];
        let hold = self.held(class, site).ok_or_else(|| {
            Unsupported::at(at.span, "an operation for which the certificate has no cut")
        })?;
        if self.follows_by_renaming(hold, above) {
            return Ok(());
        }
        let mut setting = self.setting_of(class)?;
        let env = setting.member_at(this, site, "held")?;
        let mut groups = vec![Group::new(
            this,
            Expr::Int(1),
            vec![Spot::always(Place::Site(site), env.clone())],
            self.marked(class),
        )];
        let from = Held {
            class,
            place: Place::Site(site),
            env: &env,
        };
        let (others, mut crews) = self.others(&mut setting, &hold.stops, from)?;
        let first = groups.len();
        groups.extend(others);
        let (others, more) = self.elsewhere(&mut setting, &hold.elsewhere, from)?;
        groups.extend(others);
        crews.extend(more);
        let later = self.later_copies(&mut setting, &hold.elsewhere, from)?;
        let mut goals = self.blocked(&mut setting, &groups, first, &crews)?;
        if let Some(above) = above {
            // An arrival that bytes belong to must itself be missing.
            let arrivals_only = matches!(at.kind, Kind::Arrive { .. });
            let place = (class, site);
            goals.push(self.lacks(&mut setting, &groups, place, &env, above, arrivals_only)?);
        }
        goals.extend(self.blocked_later(&mut setting, groups, later)?);
        let what = self.quote(at.span);
        self.conclude(
            format!("cut_c{class}_s{site}"),
            format!(
                "while a member of {} is held at `{what}`, everybody else stops at the places that the proof names{}",
                this.name,
                if above.is_some() {
                    ", and the element it looks at does not run ahead"
                } else {
                    ""
                }
            ),
            setting,
            term::and(goals),
        )
    }

    /// That everybody in these groups, from `first` on, who is not at the end is blocked.
    pub fn blocked(
        &self,
        setting: &mut Setting<'a>,
        groups: &[Group<'a>],
        first: usize,
        crews: &[(usize, Term)],
    ) -> Result<Vec<Term>, Unsupported> {
        let mut goals = Vec::new();
        for (group, (position, none)) in groups[first..].iter().zip(crews) {
            for spot in &group.spots {
                if let Place::Site(site) = spot.place {
                    let at = (*position, site);
                    let copy = group.copy.as_ref().map(|copy| copy.tag);
                    let blocked = self.lacks_in(copy, setting, groups, at, &spot.env, 0, false)?;
                    let when = spot.when.clone();
                    goals.push(term::or([none.clone(), term::not(when), blocked]));
                }
            }
        }
        Ok(goals)
    }

    /// That everybody in the second symbolic copy is blocked or finished.
    fn blocked_later(
        &self,
        setting: &mut Setting<'a>,
        mut groups: Vec<Group<'a>>,
        later: Vec<(usize, Group<'a>)>,
    ) -> Result<Vec<Term>, Unsupported> {
        if later.is_empty() {
            return Ok(Vec::new());
        }
        let first = groups.len();
        let none = term::not(self.is_number(setting, 1)?);
        let mut crews = Vec::new();
        for (shadow, group) in later {
            let size = setting.terms.expr(&group.size, &Env::new())?;
            let nobody = term::or([none.clone(), term::le(&size, &term::int(0))]);
            crews.push((shadow, nobody));
            groups.push(group);
        }
        self.blocked(setting, &groups, first, &crews)
    }
}
