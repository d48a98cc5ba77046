//! Asynchronous work that some other `wait_group` waits for: one of a later iteration, or `wait_group k`
//! with further groups in between.
//!
//! The groups of a member are numbered from 1 in the order in which it makes them. What is started after
//! `n` `commit_group`s belongs to group `n + 1`. A `wait_group k` that is executed after `m` of them waits
//! for all but the last `k`, which are groups 1 to `m - k`. So it ends an access of group `n + 1` if
//!
//! > `0 <= k` and `n + 1 + k <= m`.
//!
//! Then `n < m`: the group has been made by then, and the wait comes after the access. How many
//! groups have been made at a place is a closed form ([`count`](super::count)). So this is one
//! inequality about one execution of the wait. Any execution will do, as long as it exists under
//! its conditions. If every iteration around the wait makes one group, the first execution for
//! which the inequality can hold is taken. Otherwise it is the first that follows the access, in
//! the same iteration of the loops around both or in the next one.
//!
//! # Side conditions
//!
//! How many groups have been made is known at both places. `k` does not depend on iterations. With
//! `read`, the access is a read. If there is no such execution, another end of the access has to
//! do.

use super::algebra;
use super::artefact::Moment;
use super::count::Counted;
use super::count::Place;
use super::flow::Flow;
use super::flow::Lasting;
use super::flow::Step;
use super::pairs::Whose;
use super::polynomial::Polynomial;
use super::races;
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

/// An execution of a wait that ends an access.
struct Ended {
    /// That it exists, and that it ends the access.
    holds: Term,
    /// The iterations and indices of the member there.
    env: Env,
}

/// The waits that may end an access of the same member, by position among the steps on data.
pub fn waits(flow: &Flow, point: usize) -> Vec<usize> {
    let this = &flow.points[point];
    let Step::Touch {
        write,
        lasting: Lasting::Started { .. },
        ..
    } = this.step
    else {
        return Vec::new();
    };
    // One in the same iteration comes before all others, unless there are some on the way.
    let wait = |at: &usize| matches!(flow.points[*at].step, Step::WaitGroup { .. });
    let soonest = match races::end(flow, point) {
        Some(Moment::Point(end)) => {
            let here = flow.points[end].path.loops == this.path.loops;
            here && !(exact::next(point)..end).any(|at| wait(&at))
        }
        _ => false,
    };
    let waits = flow.points.iter().enumerate().filter(|(at, there)| {
        let ends =
            matches!(there.step, Step::WaitGroup { reads_only, .. } if !(reads_only && write));
        ends && !soonest && !moves(flow, *at)
    });
    waits.map(|(at, _)| at).collect()
}

/// Whether the number of groups that a wait leaves depends on iterations.
fn moves(flow: &Flow, wait: usize) -> bool {
    let at = &flow.points[wait];
    let Step::WaitGroup { whole, .. } = &at.step else {
        return true;
    };
    let mut loops = at.path.loops.iter();
    loops.any(|l| algebra::mentions(whole, flow.loops[*l].var))
}

/// The number of groups made at a wait, minus the completed iterations of the innermost loop around
/// it, if the difference does not move.
fn numbered(flow: &Flow, wait: usize) -> Option<(usize, Expr)> {
    let path = &flow.points[wait].path;
    let level = *path.loops.last()?;
    let made = flow.before(Place::Point(wait), Counted::Groups)?;
    let clock = flow.before(Place::Point(wait), Counted::Iteration(level))?;
    let shift = Polynomial::of(&made).minus(&Polynomial::of(&clock));
    let shift = shift.to_expr()?;
    let mut loops = path.loops.iter();
    let still = !loops.any(|l| algebra::mentions(&shift, flow.loops[*l].var));
    still.then_some((level, shift))
}

/// Executions of a wait that follow an access: per loop around the wait its iteration there, over those of
/// the access.
fn following(flow: &Flow, point: usize, wait: usize) -> Vec<Vec<(usize, Expr)>> {
    let (first, at) = (&flow.points[point].path, &flow.points[wait].path);
    let pairs = first.loops.iter().zip(&at.loops);
    let common = pairs.take_while(|(a, b)| a == b).count();
    let same = (wait > point).then_some(None);
    let next = (0..common).rev().map(Some);
    let executions = same.into_iter().chain(next).map(|next| {
        let loops = at.loops.iter().enumerate();
        loops
            .map(|(depth, level)| {
                let own = Expr::Var(flow.loops[*level].var);
                let value = match next {
                    Some(next) if depth == next => algebra::add(own, Expr::Int(1)),
                    Some(next) if depth < next => own,
                    None if depth < common => own,
                    _ => Expr::Int(0),
                };
                (*level, value)
            })
            .collect()
    });
    executions.collect()
}

impl<'a> Rule<'a> {
    /// Executions of a wait that may end an access.
    fn ended_by(
        &self,
        setting: &mut Setting<'a>,
        (access, env): (&Access, &Env),
        wait: usize,
    ) -> Result<Vec<Ended>, Unsupported> {
        let flow = &self.classes[access.class].flow;
        let groups = |place| flow.before(place, Counted::Groups);
        let before = groups(Place::Point(access.point));
        let made = groups(Place::Point(wait));
        let (Step::WaitGroup { whole, .. }, Some(before), Some(made)) =
            (&flow.points[wait].step, before, made)
        else {
            return Ok(Vec::new());
        };
        // With so many groups made, the wait ends it.
        let least = algebra::add(algebra::add(before, Expr::Int(1)), self.fix(whole));
        let most = setting.terms.expr(&self.fix(whole), env)?;
        let some = term::le(&term::int(0), &most);
        let mut all = match numbered(flow, wait) {
            Some((level, shift)) => {
                let first = algebra::sub(least, shift);
                vec![self.first_at(setting, (access, env), wait, (level, first))?]
            }
            None => self.next_at(setting, (access, env), (wait, made), &least)?,
        };
        for ended in &mut all {
            let conditions = setting.conditions(&flow.points[wait].path, &ended.env)?;
            let known = [ended.holds.clone(), some.clone()];
            ended.holds = term::and(known.into_iter().chain(conditions));
        }
        Ok(all)
    }

    /// The execution of a wait in the iteration `first` of the loop `level`, or in its first
    /// iteration if `first` is below 0, if it exists. As many groups have been made there as
    /// iterations are completed, plus a number that does not move. So this execution is enough.
    fn first_at(
        &self,
        setting: &mut Setting<'a>,
        (access, env): (&Access, &Env),
        wait: usize,
        (level, first): (usize, Expr),
    ) -> Result<Ended, Unsupported> {
        let this = &self.classes[access.class];
        let flow = &this.flow;
        let at = &flow.points[wait];
        let counted = |place| {
            let clock = flow.before(place, Counted::Iteration(level));
            clock.ok_or_else(|| Unsupported::at(at.span, "the number of iterations around this"))
        };
        let number = setting.unknown("wait");
        let first = setting.terms.expr(&first, env)?;
        let zero = term::int(0);
        let start = term::ite(&term::le(&zero, &first), &first, &zero);
        setting.facts.push(term::eq(&number, &start));
        let total = setting.terms.expr(&counted(Place::End)?, &Env::new())?;
        let exists = term::within(&zero, &number, &total);
        let (iterations, inside) = setting.iterations(this, &at.path, "wait")?;
        let mut values = env.clone();
        values.extend(iterations);
        let clock = setting.terms.expr(&counted(Place::Point(wait))?, &values)?;
        // Every number below the total is that of exactly one choice of iterations, so these may
        // be named without assuming anything.
        setting.facts.push(term::or([
            term::not(exists.clone()),
            term::and(inside.into_iter().chain([term::eq(&clock, &number)])),
        ]));
        Ok(Ended {
            holds: exists,
            env: values,
        })
    }

    /// The executions that follow in the same iterations and in the next ones, if they exist and as many
    /// groups as `least` have been made there.
    fn next_at(
        &self,
        setting: &mut Setting<'a>,
        (access, env): (&Access, &Env),
        (wait, made): (usize, Expr),
        least: &Expr,
    ) -> Result<Vec<Ended>, Unsupported> {
        let flow = &self.classes[access.class].flow;
        let mut found = Vec::new();
        for execution in following(flow, access.point, wait) {
            let mut values = env.clone();
            let mut all = Vec::new();
            for (level, value) in &execution {
                let this = &flow.loops[*level];
                let trips = setting.terms.expr(&this.trips, &values)?;
                let value = setting.terms.expr(value, env)?;
                all.push(term::within(&term::int(0), &value, &trips));
                values.insert(this.var, value);
            }
            let there = |var| {
                let mut loops = execution.iter();
                let found = loops.find(|(level, _)| flow.loops[*level].var == var);
                found.map(|(_, value)| value.clone())
            };
            let made = algebra::replace(&made, &there, &|_| None);
            // One polynomial, so that equal products cancel.
            let more = Polynomial::of(&made).minus(&Polynomial::of(least));
            let Some(more) = more.to_expr() else {
                continue;
            };
            let more = setting.terms.expr(&more, env)?;
            all.push(term::le(&term::int(0), &more));
            found.push(Ended {
                holds: term::and(all),
                env: values,
            });
        }
        Ok(found)
    }

    /// The ways in which a place of another member may lie beyond a stop, or one of the same member
    /// after the wait, as long as an access lasts that such a wait ends.
    pub(super) fn over_by_deferred(
        &self,
        setting: &mut Setting<'a>,
        (access, env): (&Access, &Env),
        there: (Held<'_>, Whose),
    ) -> Result<Vec<Term>, Unsupported> {
        let mut ways = Vec::new();
        for wait in waits(&self.classes[access.class].flow, access.point) {
            let until = (wait, wait);
            ways.extend(self.over_by(setting, (access, env), until, there)?);
        }
        Ok(ways)
    }

    /// The same by one wait, until a point that is executed whenever the wait is.
    pub(super) fn over_by(
        &self,
        setting: &mut Setting<'a>,
        (access, env): (&Access, &Env),
        (wait, until): (usize, usize),
        (there, whose): (Held<'_>, Whose),
    ) -> Result<Vec<Term>, Unsupported> {
        let mut ways = Vec::new();
        let stopped = match whose {
            Whose::Itself => None,
            Whose::Another(related) => {
                let exposure = self.exposed_until(access.class, Moment::Point(until));
                let stops = exposure.and_then(|e| self.stops_in(e, there.class, related));
                let Some(stops) = exposure.zip(stops) else {
                    return Ok(ways);
                };
                Some(stops)
            }
        };
        for ended in self.ended_by(setting, (access, env), wait)? {
            let over = match stopped {
                Some((exposure, stops)) => {
                    let held = self.held_at(exposure, &ended.env)?;
                    self.stopped(setting, stops, held, there)?
                }
                None => self.follows(setting, there, until, &ended.env)?,
            };
            ways.push(term::and([ended.holds, over]));
        }
        Ok(ways)
    }
}
