//! Teams: members that take turns at one ring. For example, each of two consumers processes every other tile.
//!
//! ```text
//! for t in 0..T { for k in 0..K { wait empty[..] ..  arrive full[..] } }                          // load, one member
//! for u in 0..(T + 1 - w) / 2 { for k in 0..K { wait full[..] ..  arrive empty[..] } }            // math[w], two members
//! ```
//!
//! A generation of `empty` needs one arrival, by either member of `math`. So neither of the two makes the arrivals 0,
//! 1, 2, ... in order: `math[w]` makes those of the tiles `2 * u + w`. The certificate names such a *team*
//! ([`Team`]): a ring, the classes in the order of their turns, and how often each of them arrives there, or waits
//! there, in one turn.
//!
//! # Numbers
//!
//! Let the team have `W` classes of one member each, and let class `w` make all its arrivals at the ring in one
//! outermost loop. An arrival in iteration `u` of this loop, after `d` others of the same iteration, has the number
//! `each * (W * u + w) + d`. It has to be shown that
//!
//! - `0 <= d < each`, where `d` is the number of arrivals that the member has made before, minus `each * u`;
//! - over its whole run, the member makes `each` arrivals for every iteration;
//! - *(wait)* for each arrival `j >= 0` that some member waits for: `j < W * a + each * w` for every `w`, where `a`
//!   is the number of arrivals that the member of class `w` makes.
//!
//! So no two arrivals of the team have the same number: by `d < each`, the number determines `W * u + w` and `d`, and
//! so `w` and `u`. And the arrival `j` of the last condition is made: let `j = each * (W * u + w) + d`. If class `w`
//! had no iteration `u`, then `a <= each * u`, and `j >= W * a + each * w`. The waits of a team are numbered in the
//! same way, without the last two conditions. All classes have the same lag.
//!
//! The rule is the same as before, with the team in place of one member that arrives at the ring. In count (2), it
//! counts as one. *Tidy* means: at an element with `c` complete generations, all arrivals that are meant for these
//! have been made, and none that is meant for a generation after the next one. States stay tidy for the reason that
//! the rule gives, because a team makes one arrival of each number. In a stuck state, some member of the team would
//! make the missing arrival, and that member is blocked before it.
//!
//! # What a member knows
//!
//! A chain goes from an arrival to events that its member has passed before. If a team makes an arrival, any of its
//! classes may have made it. So the chain has to hold for each of them. From there it continues with the last wait of
//! that *member*, not of the team. This is the last wait of the same iteration if the member has done one there, and
//! otherwise the last one of iteration `u - 1`. That the member has passed this wait says nothing about waits of the
//! others. So a chain about a wait of a team has to end at exactly this wait, or at a later one of the same member.
//! The number of a later one differs by a multiple of `each * W`.
//!
//! *Handed over.* A team may pass its turns on, as ping-pong kernels do. Then the certificate names a wait `h` of
//! each class, outside of conditions and inner loops. Chains ([`About::Handed`]) show the following for every turn
//! `t >= 1` in which a member has passed its `h`: the member of turn `t - 1` has passed its own `h`, and has done all
//! waits of that turn at the ring. By induction over `t`, all waits of turns before `t` have been passed. So after
//! `h`, a member knows this about the whole team. (A wait `h` may be skipped if there is nothing to wait for. It is
//! not skipped for `t >= 1`, because it is shown there that the wait is for an arrival.)
//!
//! *Made.* A chain may show that an arrival has been made, even if it cannot show that some member has waited for it.
//! This is sufficient under two conditions. The class of the chain's last link is the only one that arrives at the
//! ring, and it is not a team. Nothing that counts there can be in flight: no bytes are expected or delivered at this
//! object, and no arrival is a commit. Then each member of the class has made the arrival with the number of the
//! link, and all before it. An arrival is complete at once. So the generations that all of these were meant for are
//! complete.
//!
//! Teams are refused at named and split-phase barriers, with seats, with unfilled arrivals, and with bytes that
//! others bring.

use super::artefact::About;
use super::artefact::Lag;
use super::artefact::Team;
use super::artefact::behind;
use super::cases::Env;
use super::cases::fits;
use super::polynomial::Polynomial;
use super::rings::Ring;
use super::rings::Squad;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::equal;
use super::rule::push;
use super::scene;
use super::scene::At;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Kind;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

/// The most classes of a team.
const MAX_TURNS: usize = 64;

/// The known facts about a member's waits at a ring: the number of the last one.
pub(super) struct Last<'c> {
    /// The case.
    pub at: At<'c>,
    pub nth: Polynomial,
    /// Whether all waits before it have been passed, by all members of the team.
    pub all: bool,
    /// The polynomials that have to be at least 0 for this.
    pub claims: Vec<Polynomial>,
}

impl Squad {
    /// The number of its classes.
    fn width(&self) -> Result<i128, Unsupported> {
        exact::number(self.classes.len()).map(i128::from)
    }

    /// The iteration that a member is in.
    fn iteration<'e>(&self, turn: usize, class: &Class, env: &'e Env) -> Option<&'e Polynomial> {
        env.get(&class.flow.loops[self.tops[turn]].var)
    }

    /// How many turns the team has had before this iteration of a class.
    fn before(&self, turn: usize, iteration: &Polynomial) -> Result<Polynomial, Unsupported> {
        let all = fits(Polynomial::default().plus(self.width()?, iteration))?;
        let own = Polynomial::number(i128::from(exact::number(turn)?));
        fits(all.plus(1, &own))
    }

    /// The difference between the number of an arrival (or wait) of the team and how often its member has arrived (or
    /// waited) before.
    fn others(&self, turn: usize, iteration: &Polynomial) -> Result<Polynomial, Unsupported> {
        let turns = fits(self.before(turn, iteration)?.plus(-1, iteration))?;
        fits(self.each.times(&turns))
    }

    /// Whether a place comes after the wait that hands the turn over, in the same iteration.
    fn handed(&self, turn: usize, at: &At<'_>) -> bool {
        let inside = at.class.flow.sites[at.site].path.loops.first() == self.tops.get(turn);
        inside && self.after.get(turn).is_some_and(|after| at.site > *after)
    }
}

impl Rule<'_> {
    /// Makes teams of classes.
    ///
    /// # Errors
    ///
    /// A team that is not valid.
    pub(super) fn gather(&mut self, teams: &[Team]) -> Result<(), Unsupported> {
        for team in teams {
            let squad = self.squad(team)?;
            self.rings[team.ring].squads.push(squad);
        }
        Ok(())
    }

    fn squad(&self, team: &Team) -> Result<Squad, Unsupported> {
        let none = || Unsupported::whole("a team that is none");
        let ring = self.rings.get(team.ring).ok_or_else(none)?;
        let mbarrier = matches!(
            self.protocol.objects[ring.object].kind,
            ObjectKind::Mbarrier { .. }
        );
        let plain = ring.bringing.is_empty() && ring.unfilled.is_empty();
        let several = (2..=MAX_TURNS).contains(&team.classes.len());
        if !mbarrier
            || !several
            || ring.count.is_some()
            || !ring.seats.is_empty()
            || team.arrives && !plain
        {
            return Err(none());
        }
        let mut tops = Vec::new();
        for (turn, class) in team.classes.iter().enumerate() {
            let this = self.classes.get(*class).ok_or_else(none)?;
            let again = team.classes[..turn].contains(class);
            let sites: Vec<usize> = match team.arrives {
                true => ring.arrivals_of(*class).collect(),
                false => ring.waits_of(*class).collect(),
            };
            let mut loops = sites
                .iter()
                .map(|at| this.flow.sites[*at].path.loops.first());
            let top = *loops.next().flatten().ok_or_else(none)?;
            if again
                || ring.team(*class, team.arrives).is_some()
                || loops.any(|other| other != Some(&top))
            {
                return Err(none());
            }
            tops.push(top);
        }
        if !team.after.is_empty() {
            let mut all = team.classes.iter().zip(&team.after).zip(&tops);
            let hands = |((class, after), top): ((&usize, &usize), &usize)| {
                let site = self.classes[*class].flow.sites.get(*after);
                let waits = |site: &crate::certificate::cut::flow::Site| {
                    matches!(site.kind, Kind::WaitParity { .. })
                        && site.path.loops == [*top]
                        && site.path.conditions.is_empty()
                };
                // A wait that ends a program is at no ring.
                let mut rings = self.rings.iter();
                site.is_some_and(waits)
                    && !ring.waits.contains(&(*class, *after))
                    && rings.any(|ring| ring.waits.contains(&(*class, *after)))
            };
            if team.arrives || team.after.len() != team.classes.len() || !all.all(hands) {
                return Err(none());
            }
        }
        Ok(Squad {
            arrives: team.arrives,
            classes: team.classes.clone(),
            each: super::weight_of(&team.each, self.protocol)?,
            tops,
            after: team.after.clone(),
        })
    }

    /// The number of a member's next arrival or wait at a ring. The member is before the operation, and it has
    /// arrived or waited there this often.
    pub(super) fn number(
        &self,
        (ring, class, arrives): (&Ring, usize, bool),
        this: &Class,
        env: &Env,
        done: &Polynomial,
    ) -> Result<Polynomial, Unsupported> {
        let Some((squad, turn)) = ring.team(class, arrives) else {
            return Ok(done.clone());
        };
        let outside = || Unsupported::whole("what a team does outside its loop");
        let iteration = squad.iteration(turn, this, env).ok_or_else(outside)?;
        fits(done.plus(1, &squad.others(turn, iteration)?))
    }

    /// The number of a wait, by cases. The member stands before it.
    pub(super) fn waiting<'c>(
        &self,
        ring: &Ring,
        class: usize,
        at: &At<'c>,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let done = at.done(ring.waits_of(class))?.into_iter();
        done.map(|(at, done)| {
            let number = self.number((ring, class, false), at.class, &at.env, &done)?;
            Ok((at, number))
        })
        .collect()
    }

    /// The last wait of a member at a ring, by cases.
    pub(super) fn last_wait<'c>(
        &self,
        ring: &Ring,
        class: usize,
        at: &At<'c>,
    ) -> Result<Vec<Last<'c>>, Unsupported> {
        let mut all = Vec::new();
        for (at, done) in at.done(ring.waits_of(class))? {
            let last = fits(done.less(1))?;
            let Some((squad, turn)) = ring.team(class, false) else {
                all.push(Last {
                    at,
                    nth: last,
                    all: true,
                    claims: Vec::new(),
                });
                continue;
            };
            let Some(iteration) = squad.iteration(turn, at.class, &at.env).cloned() else {
                // Nothing is known about the wait: there is none.
                all.push(Last {
                    at,
                    nth: Polynomial::number(-1),
                    all: true,
                    claims: Vec::new(),
                });
                continue;
            };
            let here = fits(last.plus(1, &squad.others(turn, &iteration)?))?;
            if squad.handed(turn, &at) {
                all.push(Last {
                    at,
                    nth: here,
                    all: true,
                    claims: Vec::new(),
                });
                continue;
            }
            let begun = fits(done.plus(-1, &fits(squad.each.times(&iteration))?))?;
            let none = fits(Polynomial::default().plus(-1, &begun))?;
            let earlier = fits(iteration.less(1))?;
            let there = fits(last.plus(1, &squad.others(turn, &earlier)?))?;
            let left = fits(squad.each.plus(-1, &begun))?;
            let some = fits(begun.less(1))?;
            for (fact, nth, claim) in [(some, here, left), (none, there, begun)] {
                let mut at = at.clone();
                at.scene.know(fact);
                if at.scene.possible() {
                    all.push(Last {
                        at,
                        nth,
                        all: false,
                        claims: vec![claim],
                    });
                }
            }
        }
        Ok(all)
    }

    /// The polynomials that have to be at least 0 for a wait with this number to have been passed, given what is
    /// known about a member of a class.
    pub(super) fn has_passed(
        &self,
        ring: &Ring,
        class: usize,
        last: &Last<'_>,
        nth: &Polynomial,
    ) -> Result<Vec<Polynomial>, Unsupported> {
        let later = fits(last.nth.plus(-1, nth))?;
        let mut claims = last.claims.clone();
        if let Some((squad, _)) = ring.team(class, false)
            && !last.all
        {
            let turns = fits(Polynomial::default().plus(squad.width()?, &squad.each))?;
            match later.split(&turns) {
                Some((rounds, rest)) if rest == Polynomial::default() => claims.push(rounds),
                _ => claims.push(fits(Polynomial::default().plus(-1, &later))?),
            }
        }
        claims.push(later);
        Ok(claims)
    }

    /// How many arrivals a team would make if each of its classes made as many as this one. For a class without a
    /// team, the number of its arrivals.
    pub(super) fn total(
        &self,
        ring: &Ring,
        class: usize,
        sites: impl Iterator<Item = usize>,
    ) -> Result<Expr, Unsupported> {
        let total = scene::before(self.class(class), Place::End, sites)?;
        self.of_team(ring, class, total, 0)
    }

    /// The same for the number after that of the last arrival of a class.
    pub(super) fn behind_last(&self, ring: &Ring, class: usize) -> Result<Expr, Unsupported> {
        let sites = ring.arrivals_of(class);
        let total = scene::before(self.class(class), Place::End, sites)?;
        let width = match ring.team(class, true) {
            Some((squad, _)) => exact::number(squad.classes.len())?,
            None => 1,
        };
        self.of_team(ring, class, total, exact::difference(1, width)?)
    }

    fn of_team(
        &self,
        ring: &Ring,
        class: usize,
        total: Expr,
        turns: i64,
    ) -> Result<Expr, Unsupported> {
        let Some((squad, turn)) = ring.team(class, true) else {
            return Ok(total);
        };
        let width = exact::number(squad.classes.len())?;
        let turns = exact::sum(exact::number(turn)?, turns)?;
        let mut sum = Expr::binary(BinaryOp::Mul, Expr::Int(width), total);
        for (product, times) in squad.each.terms() {
            let times = i64::try_from(times).map_err(|_| exact::too_large())?;
            let mut part = Expr::Int(exact::product(times, turns)?);
            for unknown in product {
                let super::polynomial::Unknown::Param(at) = unknown else {
                    return Err(Unsupported::whole("a team over no parameters"));
                };
                let at = Expr::Param(crate::protocol::ParamId(*at));
                part = Expr::binary(BinaryOp::Mul, part, at);
            }
            sum = Expr::binary(BinaryOp::Add, sum, part);
        }
        Ok(sum)
    }

    /// The obligations about teams.
    pub fn teams(&self, lags: &[Lag]) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (nth, ring) in self.rings.iter().enumerate() {
            for squad in &ring.squads {
                all.extend(self.team(nth, ring, squad)?);
                if squad.arrives {
                    continue;
                }
                let lag = |class: &usize| behind(lags, *class, nth);
                let first = lag(&squad.classes[0])?;
                for class in &squad.classes {
                    if lag(class)? != first {
                        return Err(Unsupported::whole("a team that waits for different rounds"));
                    }
                }
            }
        }
        Ok(all)
    }

    /// The obligations about one team at a ring.
    pub fn team(&self, nth: usize, ring: &Ring, squad: &Squad) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        let object = &self.protocol.objects[ring.object];
        let none = Env::new();
        for (turn, class) in squad.classes.iter().enumerate() {
            let this = &self.classes[*class];
            let name = format!("team_l{nth}_c{class}");
            let what = format!(
                "{} is one of those that take turns at `{}`",
                this.name, object.name
            );
            for (scene, size) in self.scene.value(&this.size, &none)? {
                equal(&mut all, &name, &what, &scene, &fits(size.less(1))?)?;
            }
            let sites: Vec<usize> = match squad.arrives {
                true => ring.arrivals_of(*class).collect(),
                false => ring.waits_of(*class).collect(),
            };
            for site in &sites {
                for at in self.scene.at(this, *site)? {
                    for (at, done) in at.done(sites.iter().copied())? {
                        let Some(iteration) = squad.iteration(turn, this, &at.env) else {
                            return Err(Unsupported::whole("what a team does outside its loop"));
                        };
                        let before = fits(squad.each.times(iteration))?;
                        let begun = fits(done.plus(-1, &before))?;
                        let left = fits(fits(squad.each.plus(-1, &begun))?.less(1))?;
                        push(&mut all, &name, what.clone(), &at.scene, begun);
                        push(&mut all, &name, what.clone(), &at.scene, left);
                    }
                }
            }
            if !squad.arrives {
                continue;
            }
            let total = scene::before(this, Place::End, sites.into_iter())?;
            for (scene, total) in self.scene.value(&total, &none)? {
                let trips = &this.flow.loops[squad.tops[turn]].trips;
                for (scene, trips) in scene.value(trips, &none)? {
                    let wanted = fits(squad.each.times(&trips))?;
                    let apart = fits(total.plus(-1, &wanted))?;
                    equal(&mut all, &name, &what, &scene, &apart)?;
                }
            }
        }
        Ok(all)
    }

    /// The chains that show that teams hand their turns over.
    pub(super) fn handing(&self) -> Vec<About> {
        let mut all = Vec::new();
        for (nth, ring) in self.rings.iter().enumerate() {
            for squad in &ring.squads {
                let pairs = squad.classes.iter().zip(&squad.after);
                all.extend(pairs.map(|(class, after)| About::Handed(*class, *after, nth)));
            }
        }
        all
    }

    /// How many turns the team of a member has had before the member's current turn. The member stands before the
    /// wait that hands the turn over.
    pub(super) fn turns_before(
        &self,
        ring: usize,
        class: usize,
        at: &At<'_>,
    ) -> Result<Polynomial, Unsupported> {
        let none = || Unsupported::whole("a turn of no team");
        let ring = self.rings.get(ring).ok_or_else(none)?;
        let (squad, turn) = ring.team(class, false).ok_or_else(none)?;
        let iteration = squad.iteration(turn, at.class, &at.env).ok_or_else(none)?;
        squad.before(turn, iteration)
    }

    /// The polynomials that have to be at least 0 for the following: a member is in the turn with this number of its
    /// team, it has passed the wait that hands the turn over, and it has done all its waits of this turn.
    pub(super) fn has_had(
        &self,
        ring: usize,
        class: usize,
        at: &At<'_>,
        turns: &Polynomial,
    ) -> Result<Vec<(scene::Scene, Vec<Polynomial>)>, Unsupported> {
        let ring = &self.rings[ring];
        let refuse = || vec![(at.scene.clone(), vec![Polynomial::number(-1)])];
        let Some((squad, turn)) = ring.team(class, false) else {
            return Ok(refuse());
        };
        let iteration = squad.iteration(turn, at.class, &at.env).cloned();
        let Some(iteration) = iteration.filter(|_| squad.handed(turn, at)) else {
            return Ok(refuse());
        };
        let apart = fits(squad.before(turn, &iteration)?.plus(-1, turns))?;
        let other = fits(Polynomial::default().plus(-1, &apart))?;
        let mut all = Vec::new();
        for (at, done) in at.done(ring.waits_of(class))? {
            let next = fits(iteration.plus(1, &Polynomial::number(1)))?;
            let wanted = fits(squad.each.times(&next))?;
            let begun = fits(done.plus(-1, &wanted))?;
            all.push((at.scene, vec![apart.clone(), other.clone(), begun]));
        }
        Ok(all)
    }

    /// Whether an arrival is complete as soon as it is known to have been made, given all classes that arrive at a
    /// ring.
    pub fn at_once(&self, ring: &Ring, class: usize) -> bool {
        let alone = ring.arriving() == [class] && class < self.classes.len();
        let mbarrier = matches!(
            self.protocol.objects[ring.object].kind,
            ObjectKind::Mbarrier { .. }
        );
        let mut sites = self.classes.iter().flat_map(|class| &class.flow.sites);
        let later = |kind: &Kind| match kind {
            Kind::Arrive { commit, .. } => *commit,
            Kind::Expect { .. } | Kind::Deliver { .. } => true,
            _ => false,
        };
        alone
            && mbarrier
            && ring.squads.iter().all(|squad| !squad.arrives)
            && !sites.any(|site| site.object.0 == ring.object && later(&site.kind))
    }
}
