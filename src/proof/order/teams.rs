//! Guesses which members take turns at a ring, from which classes work there and how often in one iteration.

use super::Search;
use super::ranks::weight_of;
use crate::certificate::cut::count::Counted;
use crate::certificate::order::artefact::About;
use crate::certificate::order::artefact::Team;
use crate::certificate::order::artefact::Weight;
use crate::certificate::order::cases;
use crate::certificate::order::cases::Env;
use crate::certificate::order::polynomial::Polynomial;
use crate::certificate::order::ranks::Part;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

/// Teams with more classes are not looked for.
const MAX_TURNS: usize = 8;

/// The turns of a member. Its class has the ranks of its team, which increase by a fixed amount from one turn to the
/// next.
pub(super) struct Turn {
    /// The first class of its team.
    pub leader: usize,
    /// Its turn, and the number of turns.
    pub turn: i128,
    pub width: i128,
    /// The loop whose iterations are the turns, and the trip count of each inner loop in one of them.
    pub top: usize,
    pub inner: Vec<(usize, Polynomial)>,
}

impl Turn {
    /// The weight of a part, given the weights of the first class. The weight of the loop of turns is the increase
    /// from turn to turn.
    pub fn weight(
        &self,
        class: usize,
        part: Part,
        own: &dyn Fn(usize, Part) -> Result<Polynomial, Unsupported>,
    ) -> Result<Polynomial, Unsupported> {
        let rise = || own(class, Part::Loop(self.top));
        match part {
            Part::Loop(at) if at == self.top => {
                let mut sum = cases::fits(Polynomial::default().plus(self.width, &rise()?))?;
                for (at, trips) in &self.inner {
                    let inside = cases::fits(own(class, Part::Loop(*at))?.times(trips))?;
                    sum = cases::fits(sum.plus(-1, &inside))?;
                }
                Ok(sum)
            }
            Part::Loop(_) => own(class, part),
            Part::Site(_) => cases::fits(own(class, part)?.plus(self.turn, &rise()?)),
        }
    }
}

impl<'p> Search<'p> {
    /// The teams at rings where the number of arrivals otherwise differs from the expected one, or where it is
    /// otherwise unclear what waits are for.
    pub(super) fn teams(&self, unguarded: &[(usize, usize)]) -> Result<Vec<Team>, String> {
        let mut teams: Vec<Team> = Vec::new();
        for (nth, ring) in self.rule.rings.iter().enumerate() {
            let classes = self.of_role(ring.arriving());
            if classes.len() < 2 || self.all_of(&self.rule.counted(nth)).is_ok() {
                continue;
            }
            let found = self.team((nth, true), &classes, &teams, unguarded)?;
            teams.extend(found);
        }
        for (nth, ring) in self.rule.rings.iter().enumerate() {
            let mut classes: Vec<usize> = ring.waits.iter().map(|(class, _)| *class).collect();
            classes.dedup();
            let classes = self.of_role(classes);
            if classes.len() < 2 {
                continue;
            }
            let search = self.with_teams(&teams, unguarded)?;
            if classes.iter().all(|class| search.lag(nth, *class).is_ok()) {
                continue;
            }
            let found = self.team((nth, false), &classes, &teams, unguarded)?;
            teams.extend(found);
        }
        self.handed(&mut teams, unguarded)?;
        Ok(teams)
    }

    /// These classes, if all belong to one role and each has one member.
    fn of_role(&self, classes: Vec<usize>) -> Vec<usize> {
        let all = &self.rule.classes;
        let first = classes.first().and_then(|class| all.get(*class));
        let alike = |class: &usize| {
            let this = all.get(*class).zip(first);
            this.is_some_and(|(this, first)| this.role == first.role && this.size == Expr::Int(1))
        };
        match classes.len() <= MAX_TURNS && classes.iter().all(alike) {
            true => classes,
            false => Vec::new(),
        }
    }

    /// The same search with teams.
    fn with_teams(
        &self,
        teams: &[Team],
        unguarded: &[(usize, usize)],
    ) -> Result<Search<'p>, String> {
        let parts = super::Parts {
            teams: teams.to_vec(),
            ..self.parts.clone()
        };
        let rule = parts.rule(self.protocol, unguarded, &[]);
        Ok(Search {
            rule: rule.map_err(super::uncovered)?,
            parts,
            ..*self
        })
    }

    /// A team of these classes at a ring: in the order of their indices, in the reverse order, or rotated.
    fn team(
        &self,
        (ring, arrives): (usize, bool),
        classes: &[usize],
        known: &[Team],
        unguarded: &[(usize, usize)],
    ) -> Result<Option<Team>, String> {
        let Some(each) = self.each(ring, arrives, classes[0]) else {
            return Ok(None);
        };
        let mut orders = Vec::new();
        for back in [false, true] {
            for first in 0..classes.len() {
                let mut order = classes.to_vec();
                if back {
                    order.reverse();
                }
                order.rotate_left(first);
                if !orders.contains(&order) {
                    orders.push(order);
                }
            }
        }
        for classes in orders {
            let team = Team {
                ring,
                arrives,
                classes,
                each: each.clone(),
                after: Vec::new(),
            };
            let all = [known, std::slice::from_ref(&team)].concat();
            let Ok(search) = self.with_teams(&all, unguarded) else {
                return Ok(None);
            };
            if search.fits(&team) {
                return Ok(Some(team));
            }
            self.stop()?;
        }
        Ok(None)
    }

    /// Whether a team of the rule satisfies the conditions at its ring.
    fn fits(&self, team: &Team) -> bool {
        let ring = &self.rule.rings[team.ring];
        let mut squads = ring.squads.iter();
        let squad =
            squads.find(|squad| squad.classes == team.classes && squad.arrives == team.arrives);
        let claims = squad.map(|squad| self.rule.team(team.ring, ring, squad));
        if claims.is_none_or(|claims| self.all_of(&claims).is_err()) {
            return false;
        }
        match team.arrives {
            true => {
                self.all_of(&self.rule.counted(team.ring)).is_ok()
                    && self.all_of(&self.rule.arrivals_at(ring)).is_ok()
            }
            false => {
                let lags: Vec<_> = team
                    .classes
                    .iter()
                    .map(|c| self.lag(team.ring, *c))
                    .collect();
                let same = |lag: &Result<_, String>| {
                    let of =
                        |lag: &crate::certificate::order::artefact::Lag| (lag.rounds, lag.arrivals);
                    lag.as_ref().ok().map(of)
                };
                lags.iter()
                    .all(|lag| lag.is_ok() && same(lag) == same(&lags[0]))
            }
        }
    }

    /// How often a class arrives, or waits, at a ring in one iteration of its outermost loop.
    fn each(&self, ring: usize, arrives: bool, class: usize) -> Option<Weight> {
        let this = self.rule.classes.get(class)?;
        let ring = &self.rule.rings[ring];
        let sites: Vec<usize> = match arrives {
            true => ring.arrivals_of(class).collect(),
            false => ring.waits_of(class).collect(),
        };
        let top = *this.flow.sites[*sites.first()?].path.loops.first()?;
        let mut sum = Polynomial::default();
        for site in sites {
            let body = &this.flow.loops[top].body;
            let count = this.flow.total(body, Counted::Site(site))?;
            let value = cases::value(&count, &Env::new()).ok()?;
            let [(facts, value)] = &value[..] else {
                return None;
            };
            if !facts.is_empty() {
                return None;
            }
            sum = sum.plus(1, value).ok()?;
        }
        weight_of(&sum)
    }

    /// Names the waits that hand turns over, if there are any.
    fn handed(&self, teams: &mut Vec<Team>, unguarded: &[(usize, usize)]) -> Result<(), String> {
        for nth in 0..teams.len() {
            if teams[nth].arrives {
                continue;
            }
            for candidate in self.hands(&teams[nth]) {
                let mut all = teams.clone();
                all[nth].after = candidate;
                let Ok(search) = self.with_teams(&all, unguarded) else {
                    continue;
                };
                let Ok(lags) = search.lags() else { break };
                let mut hands = all[nth].classes.iter().zip(&all[nth].after);
                let shown = |(class, after): (&usize, &usize)| {
                    let about = About::Handed(*class, *after, all[nth].ring);
                    search.links(about, &[], &lags).is_ok()
                };
                if hands.all(shown) {
                    *teams = all;
                    break;
                }
                self.stop()?;
            }
        }
        Ok(())
    }

    /// The waits at other rings that may hand turns over. For each class, the one at the same place is taken.
    fn hands(&self, team: &Team) -> Vec<Vec<usize>> {
        let rule = &self.rule;
        let Some(first) = rule.classes.get(team.classes[0]) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for site in 0..first.flow.sites.len() {
            let hands = |class: &usize| {
                let of = (*class, site);
                let mut rings = rule.rings.iter().enumerate();
                rings.any(|(nth, ring)| {
                    let mbarrier = matches!(
                        self.protocol.objects[ring.object].kind,
                        ObjectKind::Mbarrier { .. }
                    );
                    nth != team.ring && mbarrier && ring.waits.contains(&of)
                })
            };
            if team.classes.iter().all(hands) {
                all.push(vec![site; team.classes.len()]);
            }
        }
        all
    }

    /// The turns of every class that is in a team, if all classes of the team have the same loops and operations.
    pub(super) fn turns(&self) -> Vec<Option<Turn>> {
        let rule = &self.rule;
        let of = |class: usize| {
            let teams = &self.parts.teams;
            let team = teams.iter().find(|team| team.classes.contains(&class))?;
            let leader = *team.classes.first()?;
            let shape = |class: usize| {
                let flow = &rule.classes[class].flow;
                let sites = flow.sites.iter().map(|site| site.path.loops.clone());
                (flow.loops.len(), sites.collect::<Vec<_>>())
            };
            if team
                .classes
                .iter()
                .any(|other| shape(*other) != shape(leader))
            {
                return None;
            }
            let this = &rule.classes[class];
            let ring = &rule.rings[team.ring];
            let site = match team.arrives {
                true => ring.arrivals_of(class).next(),
                false => ring.waits_of(class).next(),
            };
            let top = *this.flow.sites[site?].path.loops.first()?;
            let mut inner = Vec::new();
            for (nth, inside) in this.flow.loops.iter().enumerate() {
                if inside.outer.first() != Some(&top) {
                    continue;
                }
                let mut trips = Polynomial::number(1);
                for at in inside.outer.iter().skip(1).chain([&nth]) {
                    let value = cases::value(&this.flow.loops[*at].trips, &Env::new()).ok()?;
                    let [(facts, value)] = &value[..] else {
                        return None;
                    };
                    trips = trips.times(value).ok().filter(|_| facts.is_empty())?;
                }
                inner.push((nth, trips));
            }
            let turn = team.classes.iter().position(|other| *other == class)?;
            Some(Turn {
                leader,
                turn: i128::try_from(turn).ok()?,
                width: i128::try_from(team.classes.len()).ok()?,
                top,
                inner,
            })
        };
        (0..rule.classes.len()).map(of).collect()
    }
}
