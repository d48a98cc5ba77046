//! What is known of the value of an element: what a semaphore counts, how many phases or
//! generations of a barrier are complete, how much of a pool is available.
//!
//! Everything said here holds in every state of every run, or in every state in which a member is at
//! a place of its program.
//!
//! *Everywhere.* A semaphore has at least its value at the start and at most that and everything that
//! is ever added. A barrier that expects `n` arrivals and has completed `v` generations has got `n * v`
//! arrivals, so `n * v` is at most the number of all that are ever made; bytes can only make it less.
//! A pool has something between nothing and its capacity, since nobody gives back more than they hold.
//!
//! *At a place.* (1) What the member itself has added is there. (2) Who has passed a wait knows what
//! it waited for: `v` waits at an element are for generations `v - 1 + first` and beyond (the
//! rule's *not behind*), the `k`th registration that is waited for is for generation `k` or later, and a
//! semaphore has at least the awaited value. (3) With a cut for the place, everybody has done at
//! most what lies before the stops, so no more has been added and no more generations are complete than
//! that allows. (4) A *floor* ([`Floor`]) is an operation of a class and an iteration, with a cut for the
//! member held before it, such that the place lies beyond its member's stop: so everybody of the class
//! has done the operation, and what they add up to it is there. (5) A pool has at most its capacity
//! less what the member holds.
//!
//! *Copies.* Where copies share objects, an element that each has for itself counts what members of its
//! own copy do, a shared one what those of all copies do. A floor then is two: one for the members of the copy
//! that the place is in, and one for those of all others, by where the member at the place stops while
//! one of theirs is held.
//!
//! A semaphore that is set anywhere in the text, whether one member alone uses it (`owned_semaphores.rs`) or it
//! counts in epochs (`epochs.rs`: what has been added is not its value), counts in none of these
//! ways, and nothing is said of it. Where an amount or a motion has no closed form, a fact is left
//! out.

use super::algebra;
use super::artefact::Floor;
use super::artefact::Hold;
use super::artefact::Stop;
use super::class::Class;
use super::count::Place;
use super::flow::Kind;
use super::flow::Path;
use super::polynomial::Polynomial;
use super::races::executed_with;
use super::rule::Held;
use super::rule::Rule;
use super::sharing;
use super::state;
use super::state::Copy;
use super::state::Element;
use super::state::Group;
use super::state::Resource;
use super::state::Setting;
use super::state::Spot;
use super::state::Tag;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::StmtKind;

/// An element and a name for its value.
pub(super) struct Valued {
    pub(super) element: Element,
    pub(super) value: Term,
}

/// How what is done at an element relates to its value `v`: `scale * arrivals` is at least
/// `each * v - start`, and at most `each * v - start + slack` if that is known.
struct Count {
    scale: i64,
    each: Expr,
    start: Expr,
    slack: Option<Expr>,
}

/// Some members of a class: how many in each copy, and which copies these are.
struct Whose {
    size: Expr,
    copy: Option<Copy>,
}

/// Members that have done an operation.
struct Reached<'a> {
    /// The class, and whether these are those of other copies.
    of: (usize, bool),
    /// What has to hold for that.
    when: Term,
    /// Where they are at least.
    group: Group<'a>,
    /// What the operation itself adds.
    itself: (Polynomial, Term),
}

impl<'a> Rule<'a> {
    /// What holds of a value in every state. False for an element of which nothing is known.
    pub(super) fn known_everywhere(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
    ) -> Result<(), Unsupported> {
        let object = valued.element.object;
        let value = &valued.value;
        match &self.protocol.objects[object.0].kind {
            ObjectKind::Pool { capacity, .. } => {
                let capacity = self.value(setting, capacity)?;
                setting.facts.push(term::le(&term::int(0), value));
                setting.facts.push(term::le(value, &capacity));
                return Ok(());
            }
            ObjectKind::Semaphore(_) => {}
            _ => setting.facts.push(term::le(&term::int(0), value)),
        }
        let Some(count) = self.counts(object) else {
            return Ok(());
        };
        if let ObjectKind::Semaphore(_) = &self.protocol.objects[object.0].kind {
            let start = setting.terms.expr(&count.start, &Env::new())?;
            setting.facts.push(term::le(&start, value));
        }
        // All copies; at an element that each has for itself, those of one.
        let tag = valued.element.copy.unwrap_or(Tag::Unmarked);
        let end = |class: &'a Class| {
            let copies = class.copies.clone();
            Group::at_end(class, copies.map(|count| Copy { tag, count }))
        };
        let all: Vec<Group<'a>> = self.classes.iter().map(end).collect();
        self.at_most(setting, valued, &count, &all);
        Ok(())
    }

    /// What holds of a value while a member is at a place, by its own doing.
    pub(super) fn known_by_itself(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
    ) -> Result<(), Unsupported> {
        let object = valued.element.object;
        match &self.protocol.objects[object.0].kind {
            ObjectKind::Pool { capacity, .. } => {
                if let Some(holds) = self.holdings(setting, valued, at)? {
                    let capacity = self.value(setting, capacity)?;
                    let left = term::sub(&capacity, &holds);
                    setting.facts.push(term::le(&valued.value, &left));
                }
                return Ok(());
            }
            ObjectKind::Semaphore(_) => {
                if self.counts(object).is_some() {
                    self.awaited_values(setting, valued, at)?;
                }
            }
            ObjectKind::Mbarrier { .. } => self.awaited_phases(setting, valued, at)?,
            ObjectKind::Named | ObjectKind::Barrier { .. } => {
                self.awaited_generations(setting, valued, at)?;
            }
        }
        if let Some(count) = self.counts(object) {
            let own = [self.alone(at)];
            self.at_least(setting, valued, &count, &own, Vec::new(), Vec::new());
        }
        Ok(())
    }

    /// What holds of a value while a member is at a place with a cut.
    pub(super) fn known_by_cut(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
        (stops, elsewhere): (&[Vec<Stop>], &[Vec<Stop>]),
    ) -> Result<(), Unsupported> {
        let Some(count) = self.counts(valued.element.object) else {
            return Ok(());
        };
        let (others, _) = self.others(setting, stops, at)?;
        let (away, _) = self.elsewhere(setting, elsewhere, at)?;
        let all = [self.alone(at)].into_iter().chain(others).chain(away);
        let all: Vec<Group<'a>> = all.collect();
        self.at_most(setting, valued, &count, &all);
        Ok(())
    }

    /// What holds of a value at a place because of what everybody has done by then.
    pub(super) fn known_by_floors(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
        floors: &[&Floor],
    ) -> Result<(), Unsupported> {
        let object = valued.element.object;
        let Some(count) = self.counts(object) else {
            return Ok(());
        };
        let mut reached: Vec<Reached<'a>> = Vec::new();
        for floor in floors {
            let wrong = || Unsupported::whole("a floor that does not fit");
            let by = self.classes.get(floor.by).ok_or_else(wrong)?;
            let site = by.flow.sites.get(floor.site).ok_or_else(wrong)?;
            let weight = site.kind.arrivals().ok_or_else(wrong)?;
            if site.object != object {
                continue;
            }
            for (whose, when, env) in self.floor(setting, floor, at)? {
                let mut same = Vec::new();
                for (x, y) in site.index.iter().zip(&valued.element.index) {
                    let (x, y) = (
                        setting.terms.expr(x, &env)?,
                        setting.terms.expr(y, &valued.element.env)?,
                    );
                    same.push(term::eq(&x, &y));
                }
                let one = term::ite(&term::and(same), &term::int(1), &term::int(0));
                let group = Group::new(
                    by,
                    whose.size.clone(),
                    vec![Spot::always(Place::Site(floor.site), env)],
                    whose.copy.clone(),
                );
                // Those of other copies have nothing to do with what a copy has for itself.
                let Some(members) = setting.counting(&group, &valued.element) else {
                    continue;
                };
                let each = algebra::mul(Expr::Int(count.scale), weight.clone());
                let itself = Polynomial::of(&algebra::mul(each, members));
                let elsewhere = matches!(&whose.copy, Some(copy) if copy.tag == Tag::Unmarked);
                reached.push(Reached {
                    of: (floor.by, elsewhere),
                    when,
                    group,
                    itself: (itself, one),
                });
            }
        }
        // Each for itself, and one of each class together.
        let mut all = (Vec::new(), vec![self.alone(at)], Vec::new());
        let mut seen = Vec::new();
        for Reached {
            of,
            when,
            group,
            itself,
        } in reached
        {
            let again = Group::new(
                group.class,
                group.size.clone(),
                group.spots.clone(),
                group.copy.clone(),
            );
            let alone = [self.alone(at), again];
            let (given, done) = (vec![when.clone()], vec![itself.clone()]);
            self.at_least(setting, valued, &count, &alone, done, given);
            if !seen.contains(&of) {
                seen.push(of);
                all.0.push(when);
                all.1.push(group);
                all.2.push(itself);
            }
        }
        if seen.len() > 1 {
            self.at_least(setting, valued, &count, &all.1, all.2, all.0);
        }
        Ok(())
    }

    /// That everybody of a class, or of a part of it, has done an operation up to some iterations.
    /// Returns the part, the condition, and the iterations.
    fn floor(
        &self,
        setting: &mut Setting<'a>,
        floor: &Floor,
        at: Held<'_>,
    ) -> Result<Vec<(Whose, Term, Env)>, Unsupported> {
        let wrong = || Unsupported::whole("a floor without a cut");
        let by = &self.classes[floor.by];
        let hold = self.held(floor.by, floor.site).ok_or_else(wrong)?;
        let clock = self.form(setting, &floor.clock, at)?;
        let end = setting.clock_end(by, floor.site)?;
        let path = &by.flow.sites[floor.site].path;
        let (env, inside) = setting.iterations(by, path, "done")?;
        let own = setting.clock(by, floor.site, &env)?;
        // That iteration exists, so its numbers may be named.
        let exists = term::within(&term::int(0), &clock, &end);
        setting.facts.push(term::or([
            term::not(exists.clone()),
            term::and(inside.into_iter().chain([term::eq(&own, &clock)])),
        ]));
        let mut there = vec![exists];
        there.extend(setting.conditions(path, &env)?);
        let from = Held {
            class: floor.by,
            place: Place::Site(floor.site),
            env: &env,
        };
        let mut all = Vec::new();
        for (whose, stops) in self.parts_of(floor.by, hold, at.class) {
            let stops = stops.get(at.class).ok_or_else(wrong)?;
            let stopped = self.stopped(setting, stops, from, at)?;
            let holds = term::and(there.iter().cloned().chain([stopped]));
            all.push((whose, holds, env.clone()));
        }
        Ok(all)
    }

    /// The members of a class beside one of another, in parts, and where that other one stops while one of
    /// the part is held: those of its copy, and those of all others.
    fn parts_of(&self, by: usize, hold: &'a Hold, other: usize) -> Vec<(Whose, &'a [Vec<Stop>])> {
        let (one, at) = (&self.classes[by], &self.classes[other]);
        let size = one.size.clone();
        let beside = match by == other {
            true => algebra::sub(size.clone(), Expr::Int(1)),
            false => size.clone(),
        };
        let part = |size, copy| Whose { size, copy };
        let copies = |tag, count| Some(Copy { tag, count });
        match (&one.copies, &at.copies) {
            (None, None) => vec![(part(beside, None), &hold.stops[..])],
            (None, Some(_)) => vec![(part(size, None), &hold.elsewhere[..])],
            (Some(count), None) => {
                let all = copies(Tag::Unmarked, count.clone());
                vec![(part(size, all), &hold.stops[..])]
            }
            (Some(count), Some(_)) if one.is_kind_of(at) => {
                let others = algebra::sub(count.clone(), Expr::Int(1));
                vec![
                    (
                        part(beside, copies(Tag::Marked, Expr::Int(1))),
                        &hold.stops[..],
                    ),
                    (
                        part(size, copies(Tag::Unmarked, others)),
                        &hold.elsewhere[..],
                    ),
                ]
            }
            (Some(count), Some(_)) => {
                let all = copies(Tag::Unmarked, count.clone());
                vec![(part(size, all), &hold.elsewhere[..])]
            }
        }
    }

    /// How an object counts. `None` if nothing is said of it.
    fn counts(&self, object: ObjectId) -> Option<Count> {
        let own = |class: &Class| {
            let mut sites = class.flow.sites.iter();
            sites.any(|s| s.object == object && matches!(s.kind, Kind::Own))
        };
        let zero = Expr::Int(0);
        let slack = |each: &Expr| {
            let prompt = self.is_prompt(object);
            prompt.then(|| algebra::sub(each.clone(), Expr::Int(1)))
        };
        match &self.protocol.objects[object.0].kind {
            ObjectKind::Semaphore(Initial::Value(start)) => {
                let counts = !self.classes.iter().any(own) && !self.is_set(object);
                counts.then(|| Count {
                    scale: 1,
                    each: Expr::Int(1),
                    start: self.fix(start),
                    slack: Some(zero),
                })
            }
            ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                let each = self.fix(arrivals);
                Some(Count {
                    scale: 1,
                    slack: slack(&each),
                    each,
                    start: zero,
                })
            }
            ObjectKind::Named => {
                let mut counts = Vec::new();
                for class in self.classes {
                    for (site, at) in class.flow.sites.iter().enumerate() {
                        if at.object == object && matches!(at.kind, Kind::Register { .. }) {
                            counts.push(state::named_count(class, site).ok()?);
                        }
                    }
                }
                let each = counts.first()?.clone();
                counts.iter().all(|c| *c == each).then(|| Count {
                    scale: state::WARP,
                    slack: slack(&each),
                    each,
                    start: zero,
                })
            }
            ObjectKind::Semaphore(Initial::Any) | ObjectKind::Pool { .. } => None,
        }
    }

    /// Whether a semaphore is set somewhere in the text. Then it does not only grow, and a reset
    /// need not be one of the operations of a class: `epochs.rs` makes it an assignment.
    pub(super) fn is_set(&self, object: ObjectId) -> bool {
        let mut set = false;
        for role in &self.protocol.roles {
            sharing::cells(&role.body, &mut |stmt, at, _| {
                set |= at == object.0 && matches!(stmt.kind, StmtKind::Set { .. });
            });
        }
        set
    }

    /// Whether an object counts nothing but arrivals that are made at once.
    fn is_prompt(&self, object: ObjectId) -> bool {
        let later = |kind: &Kind| {
            matches!(
                kind,
                Kind::Expect { .. } | Kind::Deliver { .. } | Kind::Arrive { commit: true, .. }
            )
        };
        let mut sites = self.classes.iter().flat_map(|class| &class.flow.sites);
        !sites.any(|site| site.object == object && later(&site.kind))
    }

    fn alone(&self, at: Held<'_>) -> Group<'a> {
        Group::new(
            &self.classes[at.class],
            Expr::Int(1),
            vec![Spot::always(at.place, at.env.clone())],
            None,
        )
    }

    /// That no more is there than these have done.
    fn at_most(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        count: &Count,
        groups: &[Group<'a>],
    ) {
        let need = needed(valued, count);
        let (element, scale) = (&valued.element, count.scale);
        // Without a closed form there is no such fact.
        if let Ok(left) = setting.balance(groups, element, Resource::Arrivals, scale, need) {
            setting.facts.push(term::le(&term::int(0), &left));
        }
    }

    /// That at least what these and `more` have done is there, if `given`.
    fn at_least(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        count: &Count,
        groups: &[Group<'a>],
        more: Vec<(Polynomial, Term)>,
        given: Vec<Term>,
    ) {
        let Some(slack) = &count.slack else {
            return;
        };
        let mut need = needed(valued, count);
        need.push((Polynomial::of(slack), term::int(1)));
        let none = Polynomial::default();
        need.extend(more.into_iter().map(|(p, times)| (none.minus(&p), times)));
        let (element, scale) = (&valued.element, count.scale);
        if let Ok(left) = setting.balance(groups, element, Resource::Arrivals, scale, need) {
            let reached = term::le(&left, &term::int(0));
            setting
                .facts
                .push(term::or([term::not(term::and(given)), reached]));
        }
    }

    /// What the member holds of a pool.
    fn holdings(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
    ) -> Result<Option<Term>, Unsupported> {
        let element = &valued.element;
        let this = &self.classes[at.class];
        let mut values = at.env.clone();
        values.extend(element.env.iter().map(|(v, t)| (*v, t.clone())));
        let mut holds = Vec::new();
        for (nth, site) in this.flow.sites.iter().enumerate() {
            let Some((amount, taken)) = site.pooled(element.object) else {
                continue;
            };
            let loops = site.path.loops.iter();
            let mut vars = loops.map(|l| this.flow.loops[*l].var);
            let visits = this.flow.visits(nth, &element.index, at.place);
            let Some(visits) = visits.filter(|_| !vars.any(|v| algebra::mentions(amount, v)))
            else {
                return Ok(None);
            };
            let visits = setting.terms.expr(&visits, &values)?;
            let amount = setting.terms.expr(amount, &Env::new())?;
            let all = setting.terms.product(&amount, &visits);
            holds.push(if taken {
                all
            } else {
                term::sub(&term::int(0), &all)
            });
        }
        Ok(Some(term::sum(holds)))
    }

    /// Waits at a semaphore that the member has passed in the same iterations.
    fn awaited_values(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
    ) -> Result<(), Unsupported> {
        let flow = &self.classes[at.class].flow;
        let none = Path::default();
        let path = flow.path(at.place).unwrap_or(&none);
        for (nth, site) in flow.sites.iter().enumerate() {
            let Kind::WaitValue { value, .. } = &site.kind else {
                continue;
            };
            let before = at.place != Place::Site(nth) && flow.comes_after(at.place, nth);
            if site.object != valued.element.object || !before || !executed_with(&site.path, path) {
                continue;
            }
            let mut given = Vec::new();
            for (x, y) in site.index.iter().zip(&valued.element.index) {
                let (x, y) = (
                    setting.terms.expr(x, at.env)?,
                    setting.terms.expr(y, &valued.element.env)?,
                );
                given.push(term::eq(&x, &y));
            }
            let wanted = setting.terms.expr(value, at.env)?;
            let reached = term::le(&wanted, &valued.value);
            setting
                .facts
                .push(term::or([term::not(term::and(given)), reached]));
        }
        Ok(())
    }

    /// Phases of an mbarrier that the member has waited for.
    fn awaited_phases(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
    ) -> Result<(), Unsupported> {
        let class = &self.classes[at.class];
        let waits = |k: &Kind| matches!(k, Kind::WaitParity { .. });
        for (nth, site) in class.flow.sites.iter().enumerate() {
            if site.object != valued.element.object || !waits(&site.kind) {
                continue;
            }
            let known = self.chosen(at.class, nth)?;
            let done = if known.all {
                self.visited(setting, valued, at, &waits)?
            } else {
                self.visited(setting, valued, at, &|k| std::ptr::eq(k, &site.kind))?
            };
            if let Some(done) = done {
                let reached =
                    term::sum([done.clone(), term::int(exact::difference(known.first, 1)?)]);
                setting.facts.push(term::or([
                    term::le(&done, &term::int(0)),
                    term::le(&reached, &valued.value),
                ]));
            }
        }
        Ok(())
    }

    /// Generations that the member has registered and waited for.
    fn awaited_generations(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
    ) -> Result<(), Unsupported> {
        let awaits = |k: &Kind| matches!(k, Kind::Await);
        if let Some(done) = self.visited(setting, valued, at, &awaits)? {
            setting.facts.push(term::le(&done, &valued.value));
        }
        Ok(())
    }

    /// How often the member has done operations of a kind on an element.
    fn visited(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        at: Held<'_>,
        wanted: &dyn Fn(&Kind) -> bool,
    ) -> Result<Option<Term>, Unsupported> {
        let element = &valued.element;
        let flow = &self.classes[at.class].flow;
        let mut values = at.env.clone();
        values.extend(element.env.iter().map(|(v, t)| (*v, t.clone())));
        let mut sum = Vec::new();
        for (nth, site) in flow.sites.iter().enumerate() {
            if site.object == element.object && wanted(&site.kind) {
                let Some(visits) = flow.visits(nth, &element.index, at.place) else {
                    return Ok(None);
                };
                sum.push(setting.terms.expr(&visits, &values)?);
            }
        }
        Ok(Some(term::sum(sum)))
    }
}

/// What has to be done at an element for its value.
fn needed(valued: &Valued, count: &Count) -> Vec<(Polynomial, Term)> {
    let none = Polynomial::default();
    vec![
        (Polynomial::of(&count.each), valued.value.clone()),
        (none.minus(&Polynomial::of(&count.start)), term::int(1)),
    ]
}
