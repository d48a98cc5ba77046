//! Room for data that one member makes again and again, inside loops. For example, a persistent
//! kernel allocates an accumulator in tensor memory for every tile.
//!
//! # The conditions
//!
//! For a buffer whose room begins or ends inside a loop, they take the place of the condition
//! *(once)* of [`lifetimes`](super::lifetimes):
//!
//! 1. *(one member)* all of that is done by one member, at elements that do not depend on
//!    iterations; what may be for one element is for the same one;
//! 2. *(by turns)* where room begins, the member has begun it as often as it has ended it; where
//!    room ends, it has begun it once more than it has ended it;
//! 3. *(begins)* as there: an access comes after the room first begins, in the first iteration of
//!    the loops around that;
//! 4. *(ends)* for every access and every end of room of its element: the end comes only when the
//!    access is over, as there, *or* the access comes after room is made once more. The access may
//!    be later in the program of the same member. Or the member is held at a beginning that follows
//!    the end in its program, and the other one stops before the access.
//!
//! # Why that suffices
//!
//! By 2 an element has room once or not at all. It has none while its member is before the first
//! beginning, or between an end and the beginning that follows. Before the first beginning nobody
//! comes to an access, by 3. Now take an access that is next or under way, and an end that has been
//! done. By 4 there are two cases. The first one is that the end is not done while the access
//! lasts; it has been done, so this is not the case. The second one is that the access comes after
//! a beginning `b` that follows the end. While the member is at `b` or before it, nobody comes to
//! the access. So it has passed `b`. Hence it is not between that end and the next beginning, which
//! is `b` or an earlier one. That holds for every end, so the element has room.

use std::collections::BTreeSet;

use super::algebra;
use super::artefact::Moment;
use super::class::Class;
use super::count::Counted;
use super::count::Place;
use super::lifetimes::Edge;
use super::races::Access;
use super::rule::Held;
use super::rule::Rule;
use super::state::Setting;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;

impl<'a> Rule<'a> {
    /// The buffers whose room begins or ends inside a loop.
    pub(super) fn made_again(&self, edges: &[Edge]) -> BTreeSet<usize> {
        let inside = edges.iter().filter(|edge| {
            let flow = &self.classes[edge.access.class].flow;
            !flow.points[edge.access.point].path.loops.is_empty()
        });
        inside.map(|edge| edge.access.buffer).collect()
    }

    /// The room of an element begins and ends by turns.
    pub(super) fn in_turns(&mut self, edge: &Edge, edges: &[Edge]) -> Result<(), Unsupported> {
        let here = &edge.access;
        let this = &self.classes[here.class];
        let at = &this.flow.points[here.point];
        let refused = |what| Err(Unsupported::at(at.span, what));
        let moves = |e: &Expr| {
            let mut loops = this.flow.loops.iter();
            loops.any(|l| algebra::mentions(e, l.var))
        };
        if self.index_of(here).iter().any(moves) {
            return refused(
                "room for data inside a loop, of elements that depend on the iteration",
            );
        }
        let (mut begun, mut ended) = (Expr::Int(0), Expr::Int(0));
        for other in edges.iter().filter(|e| e.access.buffer == here.buffer) {
            if other.access.class != here.class {
                return refused(
                    "room for data that one role makes inside a loop and another one too",
                );
            }
            if !self.may_meet(here, &other.access) {
                continue;
            }
            if self.index_of(here) != self.index_of(&other.access) {
                return refused(
                    "room for data inside a loop, of elements that may be different ones",
                );
            }
            let counted = Counted::Step(other.access.point);
            let Some(times) = this.flow.before(Place::Point(here.point), counted) else {
                return refused("how often room has been made here");
            };
            let sum = if other.begins { &mut begun } else { &mut ended };
            *sum = algebra::add(sum.clone(), times);
        }
        let mut setting = self.setting_of(here.class)?;
        let env = self.member_at_point(&mut setting, here.class, here.point, "at")?;
        let begun = setting.terms.expr(&begun, &env)?;
        let ended = setting.terms.expr(&ended, &env)?;
        let open = term::int(i64::from(!edge.begins));
        let what = self.quote(at.span);
        self.conclude(
            format!("room_in_turns_c{}_p{}", here.class, here.point),
            format!(
                "in {}, room begins and ends by turns at `{what}`",
                this.name
            ),
            setting,
            term::eq(&begun, &term::sum([ended, open])),
        )
    }

    /// Goes to the first iteration of loops, which has to exist.
    pub(super) fn begun(
        &self,
        setting: &mut Setting<'a>,
        class: &Class,
        loops: &[usize],
        values: &mut Env,
    ) -> Result<Vec<Term>, Unsupported> {
        let mut all = Vec::new();
        for level in loops {
            let this = &class.flow.loops[*level];
            let trips = setting.terms.expr(&this.trips, values)?;
            all.push(term::le(&term::int(1), &trips));
            values.insert(this.var, term::int(0));
        }
        Ok(all)
    }

    /// The ways in which an access may come after room is made once more, by a statement that follows an
    /// end of room: later in the same iterations, or in the next one of a loop around both.
    pub(super) fn comes_after_next(
        &self,
        setting: &mut Setting<'a>,
        (access, env): (&Access, &Env),
        (end, then): (&Access, &Env),
        begin: &Access,
    ) -> Result<Vec<Term>, Unsupported> {
        let mut ways = Vec::new();
        if begin.class != end.class || !self.may_meet(begin, access) {
            return Ok(ways);
        }
        let this = &self.classes[begin.class];
        let flow = &this.flow;
        let (first, at) = (&flow.points[end.point].path, &flow.points[begin.point].path);
        let pairs = first.loops.iter().zip(&at.loops);
        let common = pairs.take_while(|(a, b)| a == b).count();
        // With nothing to count up, it has to follow the end.
        let depths = (begin.point > end.point).then_some(None);
        for depth in depths.into_iter().chain((0..common).map(Some)) {
            let mut values = then.clone();
            let mut all = Vec::new();
            let inner = match depth {
                None => common,
                Some(depth) => {
                    let around = &flow.loops[at.loops[depth]];
                    let next = term::sum([then[&around.var].clone(), term::int(1)]);
                    let trips = setting.terms.expr(&around.trips, then)?;
                    all.push(term::lt(&next, &trips));
                    values.insert(around.var, next);
                    exact::next(depth)
                }
            };
            all.extend(self.begun(setting, this, &at.loops[inner..], &mut values)?);
            all.extend(setting.conditions(at, &values)?);
            for (x, y) in self.index_of(begin).iter().zip(self.index_of(access)) {
                let (x, y) = (setting.terms.expr(x, &values)?, setting.terms.expr(y, env)?);
                all.push(term::eq(&x, &y));
            }
            let here = Held {
                class: access.class,
                place: Place::Point(access.point),
                env,
            };
            all.push(if begin.class == access.class {
                self.follows(setting, here, begin.point, &values)?
            } else {
                let moment = Moment::Point(begin.point);
                let Some(exposure) = self.exposed_until(begin.class, moment) else {
                    continue;
                };
                let held = self.held_at(exposure, &values)?;
                self.stopped(setting, &exposure.stops[access.class], held, here)?
            });
            ways.push(term::and(all));
        }
        Ok(ways)
    }
}
