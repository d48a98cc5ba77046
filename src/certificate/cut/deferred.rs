//! Asynchronous work that is waited for some iterations later: `wait_group k` with `k > 0`.
//!
//! `wait_group k` waits for all but the last `k` groups. Where a `commit_group` comes after an access, in
//! a loop around it and in every iteration of that, the access belongs to the group of its own iteration
//! `n` of the loop or an earlier one. By a `wait_group k` of the same loop in iteration `n + d` at least `d` further groups
//! have been made if it stands behind the `commit_group`, and `d - 1` if it stands before. With `d = k`,
//! or `d = k + 1`, these are `k`: the group of the access is not among the last `k`, and the wait ends it.
//! Other `commit_group`s only make it end earlier.
//!
//! # Side conditions
//!
//! The `commit_group` and the wait have the same loops around them, and these are around the access as
//! well. They stand under no condition that the access does not stand under, and under none that looks
//! at the number of the iteration of the innermost of these loops, so they are executed in all of its
//! iterations. With `read`, the
//! access is a read. Beyond the last iteration there is no such wait: then what ends the access
//! otherwise has to do.

use super::algebra;
use super::artefact::Moment;
use super::flow::Flow;
use super::flow::Lasting;
use super::flow::Path;
use super::flow::Step;
use super::races::Access;
use super::rule::Held;
use super::rule::Rule;
use super::state::Setting;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;

/// A wait that ends an access of an earlier iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferred {
    /// The wait, by position among the steps on data.
    pub wait: usize,
    /// In which loop, by position in the program.
    pub level: usize,
    /// How many iterations of it later.
    pub by: i64,
}

/// The wait of a later iteration that ends an access soonest, of the innermost loop that has one.
pub fn deferred(flow: &Flow, point: usize) -> Option<Deferred> {
    let depth = flow.points[point].path.loops.len();
    (1..=depth)
        .rev()
        .find_map(|depth| at_depth(flow, point, depth))
}

/// The same for the loop at a depth around the access.
fn at_depth(flow: &Flow, point: usize, depth: usize) -> Option<Deferred> {
    let this = &flow.points[point];
    let Step::Touch {
        write,
        lasting: Lasting::Started { .. },
        ..
    } = this.step
    else {
        return None;
    };
    let around = &this.path.loops[..depth];
    let level = *around.last()?;
    let var = flow.loops[level].var;
    let always = |path: &Path| {
        let conditions = &path.conditions;
        path.loops == around
            && this.path.conditions.starts_with(conditions)
            && !conditions.iter().any(|c| algebra::mentions(c, var))
    };
    let commit = (point + 1..flow.points.len()).find(|at| {
        let there = &flow.points[*at];
        matches!(there.step, Step::CommitGroup) && always(&there.path)
    })?;
    let waits = flow.points.iter().enumerate().filter_map(|(at, there)| {
        let Step::WaitGroup {
            most: Some(most @ 0..),
            reads_only,
            ..
        } = there.step
        else {
            return None;
        };
        let by = if at > commit {
            most
        } else {
            most.checked_add(1)?
        };
        let ends = by > 0 && !(reads_only && write) && always(&there.path);
        ends.then_some(Deferred {
            wait: at,
            level,
            by,
        })
    });
    waits.min_by_key(|deferred| (deferred.by, deferred.wait))
}

impl<'a> Rule<'a> {
    /// That a place of another member lies beyond a stop, or one of the same member behind the wait, as
    /// long as an access lasts that a later iteration waits for; `None` where there is no such wait.
    pub(super) fn over_by_deferred(
        &self,
        setting: &mut Setting<'a>,
        (access, env): (&Access, &Env),
        there: Held<'_>,
        same_member: bool,
    ) -> Result<Option<Term>, Unsupported> {
        let flow = &self.classes[access.class].flow;
        let Some(Deferred { wait, level, by }) = deferred(flow, access.point) else {
            return Ok(None);
        };
        let around = &flow.loops[level];
        // The iteration of the wait, if there is one.
        let later = term::sum([env[&around.var].clone(), term::int(by)]);
        let trips = setting.terms.expr(&around.trips, env)?;
        let exists = term::lt(&later, &trips);
        let mut values = env.clone();
        values.insert(around.var, later);
        let over = if same_member {
            self.follows(setting, there, wait, &values)?
        } else {
            let Some(exposure) = self.exposed_until(access.class, Moment::Point(wait)) else {
                return Ok(None);
            };
            let held = self.held_at(exposure, &values)?;
            self.stopped(setting, &exposure.stops[there.class], held, there)?
        };
        Ok(Some(term::and([exists, over])))
    }
}
