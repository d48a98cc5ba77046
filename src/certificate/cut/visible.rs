//! Reads that see what was written before them.
//!
//! What a read has to see, and what it sees, is defined in
//! `crate::semantics::hazards::visibility`: knowledge of a write travels from release to acquire
//! where the scopes reach, and a write through the generic proxy is known to the async proxy where
//! a `fence.proxy.async` stands on the way.
//!
//! # The conditions
//!
//! 1. *(exposures)* as for races (`races.rs`), also for points at fences;
//! 2. *(edges)* whatever counts towards a wait is a release of its member, the wait an acquire,
//!    and the scope of each contains the other's member; a copy's landing reaches at cluster
//!    scope. (Whoever acquires sees what lands, at whatever scope; by 3 an arrival comes with it, which
//!    needs the scope anyway);
//! 3. *(deliveries)* a member's deliveries come directly after an arrival of its at the same
//!    element, with nothing of its on data between but the deliveries' own;
//! 4. *(pairs)* for a write and a read of one element: the read lies beyond a stop of its member's
//!    as long as the write lasts, or the write lies beyond a stop as long as the read does. Where
//!    the write goes through the generic proxy and the read through the async one, the former
//!    holds as long as the writer has not passed a fence after the end of the write, or holds of a
//!    fence before the read. Of one member: the read comes first in its program, or
//!    after what ends the write and, if need be, a fence.
//!
//! # Why every read sees
//!
//! Take a run, a write `w` with its end (or a fence after it), and call an event *ignorant* if
//! what it knows, by program order and along releases and acquires, does not hold `w` as seen (at
//! the fence: as seen through the async proxy). The ignorant events of a member come before all
//! others of its. They are a run of the system of the exposure, in which the member is held, or its
//! landing withheld: whatever counted towards an ignorant wait was ignorant, since by 2 the wait
//! has heard of it. So by point (a) of the rule no ignorant event lies beyond the stops. A read
//! that does is not ignorant: it sees `w`. If the write lies beyond a stop as long as the read
//! lasts, it is not before the read in any run.
//!
//! *What a wait has heard of.* At an mbarrier or a semaphore, everything since the beginning: only
//! what one member uses alone is ever set. At a named or split-phase barrier, its own generation;
//! but who registers for a generation has heard of the one before, since it waited for it itself
//! or, where another member's wait supports that, is beyond a stop while that one is held: this
//! same argument. Deliveries do not carry what their member knows; by 3 each counts with an
//! arrival that does.
//!
//! A member's own write it knows from the write itself, or from what ends it.
//!
//! # Side conditions
//!
//! Members of different copies meet at shared objects only, and those of one copy at these and its own; a pair
//! of accesses is one obligation for members of one copy and one for those of two (`pairs.rs`).
//!
//! Relaxed operations, also with fences of threads, are refused. What is ordered through a pool
//! counts for nothing: acquisitions hold nobody back in a cut.

use super::artefact::Moment;
use super::class::Class;
use super::count::Place;
use super::deferred;
use super::flow::Flow;
use super::flow::Kind;
use super::flow::Lasting;
use super::flow::Path;
use super::flow::Site;
use super::flow::Step;
use super::pairs::Related;
use super::pairs::Whose;
use super::races::Access;
use super::races::end;
use super::races::executed_with;
use super::rule::Held;
use super::rule::Rule;
use super::rule::all_needed;
use super::state::Setting;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::MemoryOrder;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Scope;
use crate::semantics::hazards::left_out;

/// The first fence between the proxies that is executed after what ends an access, whenever the
/// access is. What is not complete when the fence is executed is not shown by it.
pub fn fence_after(flow: &Flow, point: usize) -> Option<usize> {
    let Some(Moment::Point(from)) = end(flow, point) else {
        return None;
    };
    first_fence(flow, from, &flow.points[point].path)
}

/// The same after a wait.
pub fn fence_behind(flow: &Flow, wait: usize) -> Option<usize> {
    first_fence(flow, wait, &flow.points[wait].path)
}

fn first_fence(flow: &Flow, from: usize, path: &Path) -> Option<usize> {
    let mut later = exact::next(from)..flow.points.len();
    later.find(|at| is_fence(flow, *at) && executed_with(&flow.points[*at].path, path))
}

/// The last one before an access, likewise.
fn fence_before(flow: &Flow, point: usize) -> Option<usize> {
    let path = &flow.points[point].path;
    let mut earlier = (0..point).rev();
    earlier.find(|at| is_fence(flow, *at) && executed_with(&flow.points[*at].path, path))
}

fn is_fence(flow: &Flow, point: usize) -> bool {
    matches!(flow.points[point].step, Step::ProxyFence)
}

/// Where a member runs, one part of it.
enum Part<'e> {
    /// A number that is written.
    Written(&'e Expr),
    /// That of every member for which nothing is written.
    Common,
    /// A place of its own.
    Own,
}

impl<'a> Rule<'a> {
    /// No read is stale.
    pub fn visible(&mut self) -> Result<(), Unsupported> {
        if let Some(reason) = left_out(self.protocol, Property::StaleRead) {
            return Err(Unsupported::whole(reason));
        }
        self.no_epochs()?;
        let accesses = self.exposed_accesses()?;
        self.edges()?;
        for class in 0..self.classes.len() {
            self.deliveries(class)?;
        }
        for write in accesses.iter().filter(|a| a.write) {
            for read in accesses.iter().filter(|a| !a.write) {
                if self.may_meet(write, read) {
                    self.seen_by_another(write, read)?;
                    self.seen_by_itself(write, read)?;
                }
            }
        }
        Ok(())
    }

    /// What a reset by one member orders for others is not followed: no operation of its class
    /// stands for it (`epochs.rs`).
    fn no_epochs(&self) -> Result<(), Unsupported> {
        let used = |object: ObjectId| {
            let mut sites = self.classes.iter().flat_map(|class| &class.flow.sites);
            sites.any(|site| site.object == object && !matches!(site.kind, Kind::Own))
        };
        for (nth, object) in self.protocol.objects.iter().enumerate() {
            if self.is_set(ObjectId(nth)) && used(ObjectId(nth)) {
                let what = "a counter that is reset for others, for this property";
                return Err(Unsupported::at(object.span, what));
            }
        }
        Ok(())
    }

    /// That whatever counts towards a wait tells the member that waits.
    fn edges(&mut self) -> Result<(), Unsupported> {
        for class in 0..self.classes.len() {
            for site in 0..self.classes[class].flow.sites.len() {
                let from = &self.classes[class].flow.sites[site];
                let Some(sent) = self.released(from)? else {
                    continue;
                };
                for other in 0..self.classes.len() {
                    for wait in 0..self.classes[other].flow.sites.len() {
                        let to = &self.classes[other].flow.sites[wait];
                        if to.kind.blocks() && from.may_meet(to) {
                            let scope = sent.min(self.acquired(to)?);
                            self.edge((class, site), (other, wait), scope)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// How far an operation that counts towards waits passes on what its member knows.
    fn released(&self, site: &Site) -> Result<Option<Scope>, Unsupported> {
        let object = &self.protocol.objects[site.object.0].kind;
        let (order, scope) = match (&site.kind, object) {
            (Kind::Deliver { .. } | Kind::Arrive { commit: true, .. }, _) => {
                return Ok(Some(Scope::Cluster));
            }
            (Kind::Arrive { .. }, ObjectKind::Semaphore(_)) => (site.memory.order, Scope::Gpu),
            (Kind::Arrive { .. }, _) => (site.memory.order, Scope::Cta),
            // Whatever is written, it is both.
            (Kind::Register { .. }, ObjectKind::Named) => (None, Scope::Sys),
            (Kind::Register { .. }, _) => (site.memory.order, Scope::Sys),
            _ => return Ok(None),
        };
        if !order.unwrap_or(MemoryOrder::Release).releases() {
            let why = "an operation that releases nothing";
            return Err(Unsupported::at(site.span, why));
        }
        Ok(Some(site.memory.scope.unwrap_or(scope)))
    }

    /// From how far away a wait hears.
    fn acquired(&self, site: &Site) -> Result<Scope, Unsupported> {
        let (order, scope) = match &site.kind {
            Kind::WaitValue { .. } => (site.memory.order, Scope::Gpu),
            Kind::WaitParity { .. } => (site.memory.order, Scope::Cta),
            // Whatever is written, it acquires.
            _ => (None, Scope::Sys),
        };
        if !order.unwrap_or(MemoryOrder::Acquire).acquires() {
            return Err(Unsupported::at(site.span, "a wait that acquires nothing"));
        }
        Ok(site.memory.scope.unwrap_or(scope))
    }

    /// The scope contains both members.
    fn edge(
        &mut self,
        (class, site): (usize, usize),
        (other, wait): (usize, usize),
        scope: Scope,
    ) -> Result<(), Unsupported> {
        let (a, b) = (&self.classes[class], &self.classes[other]);
        let (from, to) = (&a.flow.sites[site], &b.flow.sites[wait]);
        let mut setting = self.setting_of(class)?;
        let exists = self.exists(&mut setting, other)?;
        setting.facts.push(exists);
        let left = self.indices(&mut setting, a, "left")?;
        let mut right = self.indices(&mut setting, b, "right")?;
        // Only members of one copy meet at what each copy has for itself.
        let private = self.copies.objects.contains_key(&from.object.0);
        if let (true, Some((x, _)), Some((y, _))) = (private, &a.number, &b.number) {
            setting.facts.push(term::eq(&left[x], &right[y]));
            right.insert(*y, left[x].clone());
        }
        let mut goals = Vec::new();
        if scope <= Scope::Gpu {
            self.same_part(
                &mut setting,
                (a, &left),
                (b, &right),
                Scope::Gpu,
                &mut goals,
            )?;
        }
        if scope <= Scope::Cluster {
            let part = Scope::Cluster;
            self.same_part(&mut setting, (a, &left), (b, &right), part, &mut goals)?;
        }
        if scope == Scope::Cta {
            self.same_part(
                &mut setting,
                (a, &left),
                (b, &right),
                Scope::Cta,
                &mut goals,
            )?;
        }
        let goal = term::and(goals);
        if goal == term::boolean(true) {
            return Ok(());
        }
        // Only if they work on one element.
        let at = self.iterations_at(&mut setting, class, &from.path, "left", left)?;
        let there = self.iterations_at(&mut setting, other, &to.path, "right", right)?;
        for (x, y) in from.index.iter().zip(&to.index) {
            let (x, y) = (setting.terms.expr(x, &at)?, setting.terms.expr(y, &there)?);
            setting.facts.push(term::eq(&x, &y));
        }
        let (what, with) = (self.quote(from.span), self.quote(to.span));
        self.conclude(
            format!("reaches_c{class}_s{site}_c{other}_s{wait}"),
            format!(
                "`{what}` of {} and `{with}` of {} are in each other's scope",
                a.name, b.name
            ),
            setting,
            goal,
        )
    }

    /// The indices of a member.
    pub(super) fn indices(
        &self,
        setting: &mut Setting<'a>,
        class: &Class,
        name: &str,
    ) -> Result<Env, Unsupported> {
        let mut env = self.free_indices(setting, class, name)?;
        let number = class.number.as_ref().map(|(var, _)| *var);
        for (var, value) in &class.known {
            if number != Some(*var) {
                env.insert(*var, setting.terms.expr(value, &Env::new())?);
            }
        }
        Ok(env)
    }

    fn part(&self, class: &Class, scope: Scope) -> Part<'a> {
        let role = &self.protocol.roles[class.role];
        let written = match scope {
            Scope::Cta => &role.place.cta,
            Scope::Cluster => &role.place.cluster,
            Scope::Gpu | Scope::Sys => &role.place.gpu,
        };
        match written {
            Some(written) => Part::Written(written),
            None if role.launch.is_some() && scope < Scope::Gpu => Part::Own,
            None => Part::Common,
        }
    }

    fn same_part(
        &self,
        setting: &mut Setting<'a>,
        (a, left): (&Class, &Env),
        (b, right): (&Class, &Env),
        scope: Scope,
        goals: &mut Vec<Term>,
    ) -> Result<(), Unsupported> {
        let mut needed = Vec::new();
        let mut number = |part: Part<'a>, env: &Env| match part {
            Part::Written(e) => {
                let e = self.fix(e);
                setting.terms.well_defined(&e, env, &[], &mut needed)?;
                Ok(Some(setting.terms.expr(&e, env)?))
            }
            Part::Common => Ok(Some(term::int(0))),
            Part::Own => Ok(None),
        };
        let one: Option<Term> = number(self.part(a, scope), left)?;
        let other = number(self.part(b, scope), right)?;
        goals.push(match (one, other) {
            (Some(one), Some(other)) if one == other => term::boolean(true),
            (Some(one), Some(other)) => term::eq(&one, &other),
            _ => term::boolean(false),
        });
        goals.push(all_needed(needed));
        Ok(())
    }

    /// Deliveries come directly after arrivals.
    fn deliveries(&self, class: usize) -> Result<(), Unsupported> {
        let flow = &self.classes[class].flow;
        for (nth, site) in flow.sites.iter().enumerate() {
            if !matches!(site.kind, Kind::Deliver { .. }) {
                continue;
            }
            let mut before = (0..nth).rev();
            let deliver = |k: &Kind| matches!(k, Kind::Deliver { .. });
            let arrival = before.find(|at| !deliver(&flow.sites[*at].kind));
            let between = |from: usize| {
                let mut points = flow.points.iter();
                let own = |step: &Step| {
                    matches!(
                        step,
                        Step::Touch {
                            lasting: Lasting::Copy,
                            ..
                        }
                    )
                };
                points.all(|p| p.after <= from || p.after > nth || own(&p.step))
            };
            let fits = arrival.is_some_and(|at| {
                let first = &flow.sites[at];
                let same = |s: &Site| {
                    s.path == first.path && s.object == first.object && s.index == first.index
                };
                matches!(first.kind, Kind::Arrive { .. })
                    && flow.sites[at..=nth].iter().all(same)
                    && between(at)
            });
            if !fits {
                return Err(Unsupported::at(
                    site.span,
                    "a delivery that does not come directly after an arrival",
                ));
            }
        }
        Ok(())
    }

    /// Whether a write is known only to the generic proxy, and the read goes through the async one.
    fn needs_fence(write: &Access, read: &Access) -> bool {
        !write.bulk && read.bulk
    }

    /// The waits of other iterations that end a write, each with the point from which on the write
    /// is known: the wait itself, or a fence after it if the read needs one.
    fn shown_by_waits(&self, write: &Access, read: &Access) -> Vec<(usize, usize)> {
        let flow = &self.classes[write.class].flow;
        let waits = deferred::waits(flow, write.point).into_iter();
        let fenced = Self::needs_fence(write, read);
        let until = |wait| {
            if fenced {
                fence_behind(flow, wait)
            } else {
                Some(wait)
            }
        };
        waits
            .filter_map(|wait| Some((wait, until(wait)?)))
            .collect()
    }

    /// A write and a read of two members.
    fn seen_by_another(&mut self, write: &Access, read: &Access) -> Result<(), Unsupported> {
        for related in self.related(write, read) {
            self.seen_by(write, read, related)?;
        }
        Ok(())
    }

    fn seen_by(
        &mut self,
        write: &Access,
        read: &Access,
        related: Related,
    ) -> Result<(), Unsupported> {
        let (mut setting, left, right) = self.two_members(write, read, related)?;
        let classes = self.classes;
        let at = |place: usize| Held {
            class: read.class,
            place: Place::Point(place),
            env: &right,
        };
        // From where on the write is known, and which of the reader's steps has to hear of it.
        let mut known = Vec::new();
        if Self::needs_fence(write, read) {
            let fence = fence_after(&classes[write.class].flow, write.point);
            let held = fence.and_then(|f| self.exposed_until(write.class, Moment::Point(f)));
            known.extend(held.map(|held| (held, read.point)));
            let fence = fence_before(&classes[read.class].flow, read.point);
            known.extend(self.exposed(write).zip(fence));
        } else {
            known.extend(self.exposed(write).map(|held| (held, read.point)));
        }
        let mut ways = Vec::new();
        for (exposure, hears) in known {
            if let Some(stops) = self.stops_in(exposure, read.class, related) {
                let held = self.held_at(exposure, &left)?;
                ways.push(self.stopped(&mut setting, stops, held, at(hears))?);
            }
        }
        for (wait, until) in self.shown_by_waits(write, read) {
            let way = self.over_by(
                &mut setting,
                (write, &left),
                (wait, until),
                (at(read.point), Whose::Another(related)),
            )?;
            ways.extend(way);
        }
        let other = Held {
            class: write.class,
            place: Place::Point(write.point),
            env: &left,
        };
        if let Some(exposure) = self.exposed(read)
            && let Some(stops) = self.stops_in(exposure, write.class, related)
        {
            let held = self.held_at(exposure, &right)?;
            ways.push(self.stopped(&mut setting, stops, held, other)?);
        }
        let other = (other, Whose::Another(related));
        ways.extend(self.over_by_deferred(&mut setting, (read, &right), other)?);
        self.conclude_seen("seen", (write, read), Some(related), setting, ways)
    }

    /// A write and a read of one member.
    fn seen_by_itself(&mut self, write: &Access, read: &Access) -> Result<(), Unsupported> {
        let fence = Self::needs_fence(write, read);
        if write.class != read.class || write.lasting == Lasting::Now && !fence {
            return Ok(());
        }
        let (mut setting, left, right) = self.one_member(write, read)?;
        let reads = Held {
            class: read.class,
            place: Place::Point(read.point),
            env: &right,
        };
        let writes = Held {
            class: write.class,
            place: Place::Point(write.point),
            env: &left,
        };
        let mut ways = vec![self.follows(&mut setting, writes, read.point, &right)?];
        if fence {
            let after = fence_after(&self.classes[write.class].flow, write.point);
            if let Some(after) = after {
                ways.push(self.follows(&mut setting, reads, after, &left)?);
            }
        } else if let Some(exposure) = self.exposed(write) {
            ways.push(match exposure.at {
                Moment::Point(wait) => self.follows(&mut setting, reads, wait, &left)?,
                Moment::Landing(_) => {
                    let held = self.held_at(exposure, &left)?;
                    self.stopped(&mut setting, &exposure.own, held, reads)?
                }
            });
        }
        for (wait, until) in self.shown_by_waits(write, read) {
            let there = (reads, Whose::Itself);
            ways.extend(self.over_by(&mut setting, (write, &left), (wait, until), there)?);
        }
        self.conclude_seen("seen_itself", (write, read), None, setting, ways)
    }

    fn conclude_seen(
        &mut self,
        name: &str,
        (write, read): (&Access, &Access),
        related: Option<Related>,
        setting: Setting<'a>,
        ways: Vec<Term>,
    ) -> Result<(), Unsupported> {
        let text = |x: &Access| self.quote(self.classes[x.class].flow.points[x.point].span);
        let (what, by) = (text(write), text(read));
        let whose = &self.classes[write.class].name;
        let reader = match related {
            Some(related) => related.whose(&self.classes[read.class].name),
            None => "the same member".to_owned(),
        };
        let suffix = related.map_or("", Related::suffix);
        let before = self.all.len();
        self.conclude(
            format!(
                "{name}_c{}_p{}_c{}_p{}{suffix}",
                write.class, write.point, read.class, read.point
            ),
            format!("`{by}` of {reader} sees `{what}` of {whose} or comes before it"),
            setting,
            term::or(ways),
        )?;
        let news = self.lacks_news(write, read, related);
        self.note_missing(before, &[write, read], Some(news));
        Ok(())
    }
}
