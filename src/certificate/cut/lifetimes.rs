//! Data that is used only while it has room, and pools that are whole in the end.
//!
//! # The conditions
//!
//! 1. *(in range)* every access, and every statement that gives room or takes it, is to elements of
//!    its buffer;
//! 2. *(once)* room begins and ends in classes of one member at most, outside loops, and no two
//!    statements give, or take, the room of one element; *(again)* where it does so inside loops, see
//!    [`rooms`](super::rooms);
//! 3. *(begins)* for every access to data that needs room, and for every end of room: some statement
//!    gives room to the element, and comes before it: earlier in the program of the same member, or
//!    with its member held at that point, the other one stops before;
//! 4. *(ends)* for every access and every end of room of its element: the end comes later in
//!    the program than what ends the access, or lies beyond a stop of its member's as long as the access
//!    lasts ([`Exposure`](super::artefact::Exposure), see [`races`](super::races));
//! 5. *(whole)* whoever takes from a pool that has to be whole in the end has given it all back at
//!    its own end.
//!
//! # Why that suffices
//!
//! By 2 an element gets room at most once in a run and loses it at most once, by 3 in this order. Held
//! at the point directly after the `acquire`, a member has done it and nothing later; nobody comes to the
//! access by then, so nobody does while it stands further back either: the system in which it is held
//! earlier lets nobody get further. So an access that is next or under way comes after the room begins.
//! By 4, and the argument of `races.rs`, no state has an access that lasts and an end of room that has
//! been done. So in every state in which an access is next or under way, there is room. By 5 nothing is
//! missing from a pool where everybody has finished.
//!
//! # Side conditions
//!
//! Where a protocol falls apart into independent copies (`copies.rs`), whatever gets room is an element
//! of its own copy, as is whatever is accessed (`races.rs`); so one copy is looked at.

use super::algebra;
use super::artefact::Moment;
use super::copies;
use super::count::Place;
use super::flow::Kind;
use super::flow::Lasting;
use super::flow::Step;
use super::pairs::Related;
use super::pools;
use super::races::Access;
use super::rule::Held;
use super::rule::Rule;
use super::rule::all_needed;
use super::state;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;

/// Where room begins or ends.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) access: Access,
    pub(super) begins: bool,
}

impl<'a> Rule<'a> {
    /// Data is used only while it has room.
    pub fn lifetimes(&mut self) -> Result<(), Unsupported> {
        self.copies_of_buffers()?;
        let accesses = self.exposed_accesses()?;
        let edges = self.edges_of_room()?;
        for edge in &edges {
            self.room_in_range(edge)?;
        }
        let again = self.made_again(&edges);
        for edge in edges.iter().filter(|e| again.contains(&e.access.buffer)) {
            self.in_turns(edge, &edges)?;
        }
        for (nth, a) in edges.iter().enumerate() {
            for b in edges.iter().skip(nth).skip(1) {
                let once = !again.contains(&a.access.buffer) && a.begins == b.begins;
                if once && self.may_meet(&a.access, &b.access) {
                    self.only_one_room(a, b)?;
                }
            }
        }
        let needs_room = |a: &&Access| self.protocol.buffers[a.buffer].backed;
        let needing: Vec<Access> = accesses.iter().filter(needs_room).copied().collect();
        let ends: Vec<Access> = edges
            .iter()
            .filter(|edge| !edge.begins)
            .map(|edge| edge.access)
            .collect();
        // Where room is made again, it begins and ends by turns.
        let first = ends.iter().filter(|end| !again.contains(&end.buffer));
        for access in needing.iter().chain(first) {
            self.room_begins(access, &edges)?;
        }
        for access in &needing {
            for end in &ends {
                if self.may_meet(access, end) {
                    let next: &[Edge] = match again.contains(&end.buffer) {
                        true => &edges,
                        false => &[],
                    };
                    self.room_ends(access, end, next)?;
                }
            }
        }
        for object in 0..self.protocol.objects.len() {
            let kind = &self.protocol.objects[object].kind;
            if matches!(kind, ObjectKind::Pool { returned: true, .. }) {
                for class in 0..self.classes.len() {
                    self.given_back(class, ObjectId(object))?;
                }
            }
        }
        Ok(())
    }

    /// Every copy has elements of its own in every buffer.
    fn copies_of_buffers(&mut self) -> Result<(), Unsupported> {
        let Some(extent) = copies::copies(self.protocol).extent else {
            return Ok(());
        };
        for (buffer, position) in copies::buffers(self.protocol)? {
            let buffer = &self.protocol.buffers[buffer];
            let (name, elements) = (&buffer.name, &buffer.extents[position]);
            self.enough_for_copies("copies_of", name, &extent, elements)?;
        }
        Ok(())
    }

    fn edges_of_room(&mut self) -> Result<Vec<Edge>, Unsupported> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (point, at) in this.flow.points.iter().enumerate() {
                let Step::Lifetime { buffer, begins, .. } = &at.step else {
                    continue;
                };
                all.push(Edge {
                    access: Access {
                        class,
                        point,
                        buffer: buffer.0,
                        write: true,
                        lasting: Lasting::Now,
                        bulk: false,
                    },
                    begins: *begins,
                });
            }
        }
        let classes: Vec<usize> = all.iter().map(|edge| edge.access.class).collect();
        for class in 0..self.classes.len() {
            if classes.contains(&class) {
                let mut setting = self.setting()?;
                let size = &self.classes[class].size;
                let size = setting.terms.expr(size, &Env::new())?;
                self.conclude(
                    format!("one_c{class}"),
                    format!("there is at most one {}", self.classes[class].name),
                    setting,
                    term::le(&size, &term::int(1)),
                )?;
            }
        }
        Ok(all)
    }

    fn room_in_range(&mut self, edge: &Edge) -> Result<(), Unsupported> {
        let (class, point) = (edge.access.class, edge.access.point);
        let at = &self.classes[class].flow.points[point];
        let Step::Lifetime { index, whole, .. } = &at.step else {
            return Ok(());
        };
        let buffer = &self.protocol.buffers[edge.access.buffer];
        let mut setting = self.setting_of(class)?;
        let env = self.member_at_point(&mut setting, class, point, "at")?;
        let mut needed = Vec::new();
        for e in whole {
            setting.terms.well_defined(e, &env, &[], &mut needed)?;
        }
        let mut goals = vec![all_needed(needed)];
        for (extent, e) in buffer.extents.iter().zip(index) {
            let extent = self.value(&mut setting, extent)?;
            let index = setting.terms.expr(e, &env)?;
            goals.push(term::within(&term::int(0), &index, &extent));
        }
        let what = self.quote(at.span);
        self.conclude(
            format!("room_in_buffer_c{class}_p{point}"),
            format!("`{what}` stays in `{}`", buffer.name),
            setting,
            term::and(goals),
        )
    }

    fn only_one_room(&mut self, a: &Edge, b: &Edge) -> Result<(), Unsupported> {
        let (a, b) = (&a.access, &b.access);
        let setting = if a.class == b.class {
            // One member, outside loops: perhaps two parts of one statement.
            let mut setting = self.setting_of(a.class)?;
            let env = self.member_at_point(&mut setting, a.class, a.point, "at")?;
            let path = &self.classes[b.class].flow.points[b.point].path;
            let conditions = setting.conditions(path, &env)?;
            setting.facts.extend(conditions);
            for (x, y) in self.index_of(a).iter().zip(self.index_of(b)) {
                let (x, y) = (setting.terms.expr(x, &env)?, setting.terms.expr(y, &env)?);
                setting.facts.push(term::eq(&x, &y));
            }
            setting
        } else {
            self.two_members(a, b, Related::Together)?.0
        };
        self.conclude_room(
            "room_once",
            a,
            b,
            "are not both for one element",
            setting,
            term::boolean(false),
        )
    }

    /// Some statement gives room before.
    fn room_begins(&mut self, access: &Access, edges: &[Edge]) -> Result<(), Unsupported> {
        let this = &self.classes[access.class];
        let mut setting = self.setting_of(access.class)?;
        let env = self.member_at_point(&mut setting, access.class, access.point, "at")?;
        let here = Held {
            class: access.class,
            place: Place::Point(access.point),
            env: &env,
        };
        let mut ways = Vec::new();
        for edge in edges.iter().filter(|edge| edge.begins) {
            let begin = &edge.access;
            let first = &self.classes[begin.class];
            let at = &first.flow.points[begin.point];
            if !self.may_meet(begin, access) {
                continue;
            }
            let mut values = match begin.class == access.class {
                true => env.clone(),
                // Nothing may be assumed of a class that may be empty: what is told apart by an
                // open index is not looked at. All of this is about one copy.
                false => {
                    let number = this.number.as_ref().map(|(var, _)| &env[var]);
                    self.known_indices(&mut setting, first, number)?
                }
            };
            let index = self.index_of(begin);
            let open = |e: &Expr| first.free.iter().any(|(var, _)| algebra::mentions(e, *var));
            if begin.class != access.class && at.path.conditions.iter().chain(index).any(open) {
                continue;
            }
            let size = setting.terms.expr(&first.size, &Env::new())?;
            let mut all = vec![term::le(&term::int(1), &size)];
            // Inside loops, the first iteration.
            all.extend(self.begun(&mut setting, first, &at.path.loops, &mut values)?);
            all.extend(setting.conditions(&at.path, &values)?);
            for (x, y) in index.iter().zip(self.index_of(access)) {
                let (x, y) = (
                    setting.terms.expr(x, &values)?,
                    setting.terms.expr(y, &env)?,
                );
                all.push(term::eq(&x, &y));
            }
            if begin.class == access.class {
                all.push(self.follows(&mut setting, here, begin.point, &values)?);
            } else {
                let moment = Moment::Point(begin.point);
                let Some(exposure) = self.exposed_until(begin.class, moment) else {
                    continue;
                };
                let held = self.held_at(exposure, &values)?;
                let stops = &exposure.stops[access.class];
                all.push(self.stopped(&mut setting, stops, held, here)?);
            }
            ways.push(term::and(all));
        }
        let what = self.quote(this.flow.points[access.point].span);
        let buffer = &self.protocol.buffers[access.buffer].name;
        self.conclude(
            format!("room_begins_c{}_p{}", access.class, access.point),
            format!(
                "in {}, `{what}` comes after room is made for `{buffer}`",
                this.name
            ),
            setting,
            term::or(ways),
        )
    }

    /// An access is over when room ends.
    fn room_ends(
        &mut self,
        access: &Access,
        end: &Access,
        next: &[Edge],
    ) -> Result<(), Unsupported> {
        let (mut setting, goal, left, right) = if access.class == end.class {
            let (mut setting, left, right) = self.one_member(access, end)?;
            let there = Held {
                class: end.class,
                place: Place::Point(end.point),
                env: &right,
            };
            let goal = match (access.lasting, self.exposed(access)) {
                (Lasting::Now, _) => self.follows(&mut setting, there, access.point, &left)?,
                (_, Some(exposure)) => match exposure.at {
                    Moment::Point(wait) => self.follows(&mut setting, there, wait, &left)?,
                    Moment::Landing(_) => {
                        let held = self.held_at(exposure, &left)?;
                        self.stopped(&mut setting, &exposure.own, held, there)?
                    }
                },
                (_, None) => term::boolean(false),
            };
            (setting, goal, left, right)
        } else {
            let (mut setting, left, right) = self.two_members(access, end, Related::Together)?;
            let goal = match self.exposed(access) {
                Some(exposure) => {
                    let held = self.held_at(exposure, &left)?;
                    let there = Held {
                        class: end.class,
                        place: Place::Point(end.point),
                        env: &right,
                    };
                    self.stopped(&mut setting, &exposure.stops[end.class], held, there)?
                }
                None => term::boolean(false),
            };
            (setting, goal, left, right)
        };
        let mut ways = vec![goal];
        for begin in next.iter().filter(|edge| edge.begins) {
            ways.extend(self.comes_after_next(
                &mut setting,
                (access, &left),
                (end, &right),
                &begin.access,
            )?);
        }
        let goal = term::or(ways);
        self.conclude_room(
            "room_ends",
            access,
            end,
            "come in this order",
            setting,
            goal,
        )
    }

    fn conclude_room(
        &mut self,
        name: &str,
        a: &Access,
        b: &Access,
        what: &str,
        setting: state::Setting<'a>,
        goal: term::Term,
    ) -> Result<(), Unsupported> {
        let text = |x: &Access| {
            let class = &self.classes[x.class];
            let text = self.quote(class.flow.points[x.point].span);
            format!("`{text}` of {}", class.name)
        };
        let meaning = format!("{} and {} {what}", text(a), text(b));
        let before = self.all.len();
        self.conclude(
            format!("{name}_c{}_p{}_c{}_p{}", a.class, a.point, b.class, b.point),
            meaning,
            setting,
            goal,
        )?;
        self.note_missing(before, &[a], None);
        Ok(())
    }

    /// A member has nothing of a pool left when it has finished.
    fn given_back(&mut self, class: usize, object: ObjectId) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let pool = |kind: &Kind| matches!(kind, Kind::Acquire { .. } | Kind::Release { .. });
        let mut sites = this.flow.sites.iter();
        if !sites.any(|site| site.object == object && pool(&site.kind)) {
            return Ok(());
        }
        let declared = &self.protocol.objects[object.0];
        let extents: Vec<Expr> = declared.extents.iter().map(|e| self.fix(e)).collect();
        let mut setting = self.setting_of(class)?;
        let element = setting.any_element(object, &extents)?;
        let held = pools::held(this, (object, &element.index), Place::End)?;
        let held = setting.terms.expr(&held, &element.env)?;
        self.conclude(
            format!("given_back_c{class}_{}", declared.name),
            format!(
                "{} has given back all of `{}` when it has finished",
                this.name, declared.name
            ),
            setting,
            term::eq(&held, &term::int(0)),
        )
    }
}
