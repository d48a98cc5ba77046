//! Data that no two actors touch at once.
//!
//! An access lasts from the point at which it is next until its *end*. The end of a plain access is the access
//! itself. That of an asynchronous one is a `wait_group` for its group, or the landing of its copy or of a later
//! commit. So while an access lasts, its member stands at its end or before it, or that operation has not landed.
//!
//! # The conditions
//!
//! 1. *(in range)* every access is to an element of its buffer;
//! 2. *(exposure)* for an end there is a cut ([`Exposure`]): with the member held at the point,
//!    or with what it lands (and every commit of its from there on) withheld, everybody stops
//!    where the cut says;
//! 3. *(ordered)* for two accesses to one element, one of them a write: while one lasts, the other
//!    lies beyond a stop of its member's. Two of one member need that where the earlier is
//!    asynchronous, unless both are tensor-core work, which keeps its order.
//!
//! # Why no state has both under way
//!
//! A run of the protocol is a run of the unwrapped one (the rule's point (b)), in which arrivals
//! only add up. As long as a member has not passed a point, or something of its has not landed,
//! every step of the run is one of the system in which the member is held there, or that arrival
//! never comes. In that system nobody ever gets beyond the stops, by the rule's point (a). What
//! lies beyond a stop has not begun.
//!
//! *Withheld.* Commits of one member land in the order in which they are started and after its
//! copies, so while one of these is in flight, no later commit has landed. Other copies
//! may have. Nothing is withheld of somebody who does not get as far as the operation: every stop of
//! the member itself comes after it.
//!
//! *Ends.* A point or an operation ends an access if it comes after it in the text, in the same
//! iterations and under no further condition, so that it is executed whenever the access is. A
//! `wait_group 0` waits for the group if a `commit_group` stands between in the same way. Whatever
//! ends an access earlier only makes it shorter. An access without such an end has no exposure. Waits of
//! later iterations are the matter of `deferred.rs`.
//!
//! *Copies.* Data may depend on the number of a copy, and two members may belong to one copy or to two:
//! these are two obligations (`pairs.rs`). Where copies share objects (`sharing.rs`), the member
//! that is held marks its copy. What is left of the automorphisms leaves that copy alone, so there are
//! stops of its own members and stops of those of all other copies ([`Exposure::elsewhere`]), as in any
//! other cut. Where they share nothing (`copies.rs`), nothing orders what two of them do, so accesses of
//! two copies must be to different elements, unless both read.

use super::artefact::Exposure;
use super::artefact::Moment;
use super::class::Class;
use super::count::Counted;
use super::count::Place;
use super::domain::never_negative;
use super::flow::Flow;
use super::flow::Kind;
use super::flow::Lasting;
use super::flow::Path;
use super::flow::Step;
use super::pairs::Related;
use super::pairs::Whose;
use super::rule::Held;
use super::rule::Rule;
use super::rule::all_needed;
use super::state::Group;
use super::state::Setting;
use super::state::Spot;
use super::state::Withheld;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol;
use crate::protocol::Expr;

/// What ends an access. Nothing before it does, as far as the text shows.
pub fn end(flow: &Flow, point: usize) -> Option<Moment> {
    let this = &flow.points[point];
    let Step::Touch { write, lasting, .. } = &this.step else {
        return None;
    };
    match lasting {
        Lasting::Now => Some(Moment::Point(point)),
        Lasting::Copy => Some(Moment::Landing(this.after)),
        Lasting::Started { .. } => {
            let group = |at: usize| {
                let follows = executed_with(&flow.points[at].path, &this.path);
                follows && matches!(flow.points[at].step, Step::CommitGroup)
            };
            let waits = |at: &usize| {
                let there = &flow.points[*at];
                let Step::WaitGroup {
                    most, reads_only, ..
                } = there.step
                else {
                    return false;
                };
                most == Some(0)
                    && !(reads_only && *write)
                    && executed_with(&there.path, &this.path)
                    && (exact::next(point)..*at).any(group)
            };
            if let Some(wait) = (exact::next(point)..flow.points.len()).find(waits) {
                return Some(Moment::Point(wait));
            }
            let lands = |at: &usize| {
                let there = &flow.sites[*at];
                matches!(there.kind, Kind::Arrive { commit: true, .. })
                    && executed_with(&there.path, &this.path)
            };
            let commit = (this.after..flow.sites.len()).find(lands);
            commit.map(Moment::Landing)
        }
    }
}

/// Whether what stands on one path later in the text is executed, in the same iterations, whenever
/// what stands on another is.
pub(super) fn executed_with(path: &Path, whenever: &Path) -> bool {
    whenever.loops.starts_with(&path.loops) && whenever.conditions.starts_with(&path.conditions)
}

/// An access of a member.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) class: usize,
    pub(super) point: usize,
    pub(super) buffer: usize,
    pub(super) write: bool,
    pub(super) lasting: Lasting,
    pub(super) bulk: bool,
}

impl Access {
    fn is_in_order(&self) -> bool {
        self.lasting == (Lasting::Started { in_order: true })
    }
}

impl<'a> Rule<'a> {
    /// No two accesses to one element, one of them a write, are ever under way together.
    pub fn ordered(&mut self) -> Result<(), Unsupported> {
        let accesses = self.exposed_accesses()?;
        for (nth, a) in accesses.iter().enumerate() {
            for b in &accesses[nth..] {
                if (a.write || b.write) && self.may_meet(a, b) {
                    self.apart(a, b)?;
                    self.in_turn(a, b)?;
                }
            }
        }
        Ok(())
    }

    /// Every access, with what is stated of them shown.
    pub(super) fn exposed_accesses(&mut self) -> Result<Vec<Access>, Unsupported> {
        self.defined_buffers()?;
        for class in 0..self.classes.len() {
            self.defined_data(class)?;
        }
        let accesses = self.accesses();
        for access in &accesses {
            self.in_range(access)?;
        }
        for nth in 0..self.case.exposures.len() {
            self.exposure(nth)?;
        }
        Ok(accesses)
    }

    fn accesses(&self) -> Vec<Access> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (point, at) in this.flow.points.iter().enumerate() {
                if let Step::Touch {
                    buffer,
                    write,
                    lasting,
                    bulk,
                    ..
                } = &at.step
                {
                    all.push(Access {
                        class,
                        point,
                        buffer: buffer.0,
                        write: *write,
                        lasting: *lasting,
                        bulk: *bulk,
                    });
                }
            }
        }
        all
    }

    /// That the extents of every buffer have values.
    fn defined_buffers(&mut self) -> Result<(), Unsupported> {
        for buffer in &self.protocol.buffers {
            let extents: Vec<Expr> = buffer.extents.iter().map(|e| self.replaced(e)).collect();
            let extents: Vec<&Expr> = extents.iter().collect();
            let name = format!("defined_{}", buffer.name);
            let what = format!("every extent of `{}`", buffer.name);
            self.require_defined(self.setting()?, &extents, &Env::new(), name, &what)?;
        }
        Ok(())
    }

    /// The same for every number of groups, which is never below 0, and for where the members run.
    fn defined_data(&mut self, class: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        for (nth, point) in this.flow.points.iter().enumerate() {
            let Step::WaitGroup { whole, .. } = &point.step else {
                continue;
            };
            let mut setting = self.setting_of(class)?;
            let env = self.member_at_point(&mut setting, class, nth, "at")?;
            let what = format!("`{}`", self.quote(point.span));
            let name = format!("defined_group_c{class}_p{nth}");
            let mut needed = Vec::new();
            setting.terms.well_defined(whole, &env, &[], &mut needed)?;
            let mut goal = all_needed(needed);
            let mut meaning = format!("{what} is well defined");
            if !never_negative(self.protocol, whole) {
                let most = setting.terms.expr(whole, &env)?;
                goal = term::and([goal, term::le(&term::int(0), &most)]);
                meaning.push_str(" and leaves 0 or more groups");
            }
            self.conclude(name, meaning, setting, goal)?;
        }
        self.defined_place(class)
    }

    /// The same for where the members of a class run.
    pub(super) fn defined_place(&mut self, class: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let place = &self.protocol.roles[this.role].place;
        let mut setting = self.setting_of(class)?;
        let env = self.indices(&mut setting, this, "at")?;
        let what = format!("where {} runs", this.name);
        let name = format!("defined_place_c{class}");
        self.defined_parts(place, (setting, &env), name, &what)
    }

    /// The same for the parts of a place.
    pub(super) fn defined_parts(
        &mut self,
        place: &protocol::Place,
        (setting, env): (Setting<'a>, &Env),
        name: String,
        what: &str,
    ) -> Result<(), Unsupported> {
        let parts = [&place.cta, &place.cluster, &place.gpu];
        let parts = parts.into_iter().flatten().map(|e| self.replaced(e));
        let parts: Vec<Expr> = parts.collect();
        let parts: Vec<&Expr> = parts.iter().collect();
        self.require_defined(setting, &parts, env, name, what)
    }

    /// A member at a step on data, in arbitrary iterations, with arbitrary values of the indices
    /// that operations do not tell apart.
    pub(super) fn member_at_point(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        point: usize,
        name: &str,
    ) -> Result<Env, Unsupported> {
        let this = &self.classes[class];
        let env = self.free_indices(setting, this, name)?;
        self.iterations_at(setting, class, &this.flow.points[point].path, name, env)
    }

    /// Arbitrary values of the indices that operations do not tell apart, and of the number of the copy.
    pub(super) fn free_indices(
        &self,
        setting: &mut Setting<'a>,
        this: &Class,
        name: &str,
    ) -> Result<Env, Unsupported> {
        let mut env = Env::new();
        for (var, extent) in &this.free {
            let index = setting.unknown(&format!("{name}_index"));
            let extent = setting.terms.expr(extent, &Env::new())?;
            let inside = term::within(&term::int(0), &index, &extent);
            setting.facts.push(inside);
            env.insert(*var, index);
        }
        if let Some((var, copies)) = &this.number {
            let number = setting.unknown(&format!("{name}_copy"));
            let copies = setting.terms.expr(copies, &Env::new())?;
            let inside = term::within(&term::int(0), &number, &copies);
            setting.facts.push(inside);
            env.insert(*var, number);
        }
        for (comparison, holds) in &this.compared {
            let comparison = setting.terms.expr(&self.fix(comparison), &env)?;
            let fact = if *holds {
                comparison
            } else {
                term::not(comparison)
            };
            setting.facts.push(fact);
        }
        Ok(env)
    }

    pub(super) fn iterations_at(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        path: &Path,
        name: &str,
        mut env: Env,
    ) -> Result<Env, Unsupported> {
        let (iterations, inside) = setting.iterations(&self.classes[class], path, name)?;
        setting.facts.extend(inside);
        env.extend(iterations);
        let conditions = setting.conditions(path, &env)?;
        setting.facts.extend(conditions);
        Ok(env)
    }

    pub(super) fn element_of(
        &self,
        setting: &mut Setting<'a>,
        access: &Access,
        env: &Env,
    ) -> Result<Vec<Term>, Unsupported> {
        let index = self.index_of(access).iter();
        index.map(|e| setting.terms.expr(e, env)).collect()
    }

    fn in_range(&mut self, access: &Access) -> Result<(), Unsupported> {
        let (class, point) = (access.class, access.point);
        let at = &self.classes[class].flow.points[point];
        let Step::Touch { whole, .. } = &at.step else {
            return Ok(());
        };
        let buffer = &self.protocol.buffers[access.buffer];
        let mut setting = self.setting_of(class)?;
        let env = self.member_at_point(&mut setting, class, point, "at")?;
        let mut needed = Vec::new();
        for e in whole {
            setting.terms.well_defined(e, &env, &[], &mut needed)?;
        }
        let mut goals = vec![all_needed(needed)];
        let element = self.element_of(&mut setting, access, &env)?;
        for (extent, index) in buffer.extents.iter().zip(&element) {
            let extent = self.value(&mut setting, extent)?;
            goals.push(term::within(&term::int(0), index, &extent));
        }
        let what = self.quote(at.span);
        self.conclude(
            format!("in_buffer_c{class}_p{point}"),
            format!(
                "in {}, `{what}` stays in `{}`",
                self.classes[class].name, buffer.name
            ),
            setting,
            term::and(goals),
        )
    }

    fn place_of(&self, class: usize, moment: Moment) -> Result<Place, Unsupported> {
        let wrong = || Unsupported::whole("an exposure of something that does not exist");
        let flow = &self.classes.get(class).ok_or_else(wrong)?.flow;
        match moment {
            Moment::Point(at) if at < flow.points.len() => Ok(Place::Point(at)),
            Moment::Landing(at) => {
                let kind = &flow.sites.get(at).ok_or_else(wrong)?.kind;
                match kind {
                    Kind::Deliver { .. } | Kind::Arrive { commit: true, .. } => Ok(Place::Site(at)),
                    _ => Err(wrong()),
                }
            }
            Moment::Point(_) => Err(wrong()),
        }
    }

    /// A cut for an end: everybody is blocked where it says.
    pub(super) fn exposure(&mut self, nth: usize) -> Result<(), Unsupported> {
        let (case, classes) = (self.case, self.classes);
        let Exposure {
            class,
            at,
            stops,
            elsewhere,
            own,
        } = &case.exposures[nth];
        let place = self.place_of(*class, *at)?;
        let away = if self.copies.shares { classes.len() } else { 0 };
        if stops.len() != classes.len() || elsewhere.len() != away {
            return Err(Unsupported::whole("an exposure that leaves out a class"));
        }
        let this = &classes[*class];
        let mut setting = self.setting_of(*class)?;
        let path = this.flow.path(place).cloned().unwrap_or_default();
        let env = self.iterations_at(&mut setting, *class, &path, "held", Env::new())?;
        let held = Held {
            class: *class,
            place,
            env: &env,
        };
        let mut goals = Vec::new();
        let mut spots = vec![Spot {
            when: term::boolean(true),
            place,
            env: env.clone(),
        }];
        let mut withheld = None;
        if let Moment::Landing(site) = *at {
            spots = self.stops(&mut setting, *class, own, held)?;
            let clock = setting.clock(this, site, &env)?;
            for spot in &spots {
                if spot.place == Place::End {
                    continue;
                }
                let stop = Held {
                    class: *class,
                    place: spot.place,
                    env: &spot.env,
                };
                let later = self.beyond(&mut setting, stop, site, &clock)?;
                goals.push(term::or([term::not(spot.when.clone()), later]));
            }
            withheld = Some(Withheld {
                site,
                env: env.clone(),
            });
        }
        let mut groups = vec![Group {
            class: this,
            size: Expr::Int(1),
            spots,
            spread: None,
            withheld,
            copy: self.marked(*class),
        }];
        let (others, mut crews) = self.others(&mut setting, stops, held)?;
        // The member is held, or it stops like everybody else.
        let first = match at {
            Moment::Point(_) => 1,
            Moment::Landing(_) => {
                crews.insert(0, (*class, term::boolean(false)));
                0
            }
        };
        groups.extend(others);
        let (others, more) = self.elsewhere(&mut setting, elsewhere, held)?;
        groups.extend(others);
        crews.extend(more);
        goals.extend(self.blocked(&mut setting, &groups, first, &crews)?);
        let (name, what) = match *at {
            Moment::Point(point) => {
                let what = self.quote(this.flow.points[point].span);
                let meaning = format!("a member of {} is held at `{what}`", this.name);
                (format!("p{point}"), meaning)
            }
            Moment::Landing(site) => {
                let what = self.quote(this.flow.sites[site].span);
                let meaning = format!("`{what}` of a member of {} has not landed", this.name);
                (format!("l{site}"), meaning)
            }
        };
        self.conclude(
            format!("exposure_c{class}_{name}"),
            format!("while {what}, everybody stops at the places that the proof names"),
            setting,
            term::and(goals),
        )
    }

    /// The cut for an access.
    pub(super) fn exposed(&self, access: &Access) -> Option<&'a Exposure> {
        let end = end(&self.classes[access.class].flow, access.point)?;
        self.exposed_until(access.class, end)
    }

    /// The cut for an end.
    pub(super) fn exposed_until(&self, class: usize, end: Moment) -> Option<&'a Exposure> {
        let mut all = self.case.exposures.iter();
        all.find(|e| e.class == class && e.at == end)
    }

    /// Where the member of an access is while it lasts, if there is a cut for it.
    pub(super) fn held_at<'e>(
        &self,
        exposure: &Exposure,
        env: &'e Env,
    ) -> Result<Held<'e>, Unsupported> {
        Ok(Held {
            class: exposure.class,
            place: self.place_of(exposure.class, exposure.at)?,
            env,
        })
    }

    /// The indices of an access, or the leading ones of what gets room.
    pub(super) fn index_of(&self, access: &Access) -> &'a [Expr] {
        match &self.classes[access.class].flow.points[access.point].step {
            Step::Touch { index, .. } | Step::Lifetime { index, .. } => index,
            _ => &[],
        }
    }

    /// Whether two accesses may be to one element: not if an index is a different number.
    pub(super) fn may_meet(&self, a: &Access, b: &Access) -> bool {
        let index = |x: &Access| self.index_of(x);
        let differ = |pair: (&Expr, &Expr)| matches!(pair, (Expr::Int(a), Expr::Int(b)) if a != b);
        a.buffer == b.buffer && !index(a).iter().zip(index(b)).any(differ)
    }

    /// Accesses of two members.
    fn apart(&mut self, a: &Access, b: &Access) -> Result<(), Unsupported> {
        for related in self.related(a, b) {
            let (mut setting, left, right) = self.two_members(a, b, related)?;
            let mut ways = Vec::new();
            for ((x, env), (y, at)) in [((a, &left), (b, &right)), ((b, &right), (a, &left))] {
                let other = Held {
                    class: y.class,
                    place: Place::Point(y.point),
                    env: at,
                };
                if let Some(exposure) = self.exposed(x)
                    && let Some(stops) = self.stops_in(exposure, y.class, related)
                {
                    let held = self.held_at(exposure, env)?;
                    ways.push(self.stopped(&mut setting, stops, held, other)?);
                }
                let other = (other, Whose::Another(related));
                ways.extend(self.over_by_deferred(&mut setting, (x, env), other)?);
            }
            self.conclude_pair("apart", (a, b), Some(related), setting, ways)?;
        }
        Ok(())
    }

    /// Accesses of one member.
    fn in_turn(&mut self, a: &Access, b: &Access) -> Result<(), Unsupported> {
        let now = |x: &Access| x.lasting == Lasting::Now;
        if a.class != b.class || now(a) && now(b) || a.is_in_order() && b.is_in_order() {
            return Ok(());
        }
        let (mut setting, left, right) = self.one_member(a, b)?;
        let mut ways = Vec::new();
        for ((x, env), (y, at)) in [((a, &left), (b, &right)), ((b, &right), (a, &left))] {
            let other = Held {
                class: y.class,
                place: Place::Point(y.point),
                env: at,
            };
            match (x.lasting, self.exposed(x)) {
                (Lasting::Now, _) => ways.push(self.follows(&mut setting, other, x.point, env)?),
                (_, Some(exposure)) => ways.push(match exposure.at {
                    Moment::Point(point) => self.follows(&mut setting, other, point, env)?,
                    Moment::Landing(_) => {
                        let held = self.held_at(exposure, env)?;
                        self.stopped(&mut setting, &exposure.own, held, other)?
                    }
                }),
                _ => {}
            }
            let other = (other, Whose::Itself);
            ways.extend(self.over_by_deferred(&mut setting, (x, env), other)?);
        }
        self.conclude_pair("in_turn", (a, b), None, setting, ways)
    }

    /// Whether a place of a member comes after one of its steps on data in given iterations, in
    /// which that is known not to be skipped.
    pub(super) fn follows(
        &self,
        setting: &mut Setting<'a>,
        at: Held<'_>,
        point: usize,
        env: &Env,
    ) -> Result<Term, Unsupported> {
        let this = &self.classes[at.class];
        let step = &this.flow.points[point];
        let text = match at.place {
            Place::Point(other) => point < other,
            Place::Site(site) => step.after <= site,
            Place::End => true,
        };
        let Some(level) = step.path.loops.last() else {
            return Ok(term::boolean(text));
        };
        let counted = |place| {
            let clock = this.flow.before(place, Counted::Iteration(*level));
            clock.ok_or_else(|| Unsupported::at(step.span, "the number of iterations around this"))
        };
        let done = setting.terms.expr(&counted(at.place)?, at.env)?;
        let own = setting.terms.expr(&counted(Place::Point(point))?, env)?;
        let path = this.flow.path(at.place);
        let inside = path.is_some_and(|path| path.loops.contains(level));
        Ok(if inside && text {
            term::le(&own, &done)
        } else {
            term::lt(&own, &done)
        })
    }

    pub(super) fn conclude_pair(
        &mut self,
        name: &str,
        (a, b): (&Access, &Access),
        related: Option<Related>,
        setting: Setting<'a>,
        ways: Vec<Term>,
    ) -> Result<(), Unsupported> {
        let of = |x: &Access| -> (&'a Class, String) {
            let class = &self.classes[x.class];
            (class, self.quote(class.flow.points[x.point].span))
        };
        let ((one, what), (other, with)) = (of(a), of(b));
        let who = match related {
            Some(related) => {
                let whose = related.whose(&other.name);
                format!("`{what}` of {} and `{with}` of {whose}", one.name)
            }
            None => format!("`{what}` and `{with}` of one member of {}", one.name),
        };
        let before = self.all.len();
        let suffix = related.map_or("", Related::suffix);
        self.conclude(
            format!(
                "{name}_c{}_p{}_c{}_p{}{suffix}",
                a.class, a.point, b.class, b.point
            ),
            format!("{who} are never under way at one element together"),
            setting,
            term::or(ways),
        )?;
        let edge = self.lacks_edge(a, b, related);
        self.note_missing(before, &[a, b], Some(edge));
        Ok(())
    }
}
