//! Multiplications that the four warps of a warpgroup carry out together: `wgmma.mma_async` is one operation of
//! all of them, so it is not done before each has issued it. Whoever waits until no multiplication is left
//! therefore knows that the other three have come as far.
//!
//! That is written as a barrier of the warpgroup: a warp arrives with the last multiplication before it waits.
//! It is left out where nobody needs it, because all four warps do the same anyway and do not compete with each other
//! for registers that they give back. Where they do not, and it is not
//! clear which multiplications are waited for, the kernel is refused: with less than the hardware waits for, a hang
//! would be missed, and with more, one would be made up.

use std::collections::BTreeMap;

use super::instruction::Done;
use crate::ptx::cta::program::Program;
use crate::ptx::cta::program::each;
use crate::ptx::cta::program::numbered;
use crate::ptx::cta::program::regroup;
use crate::ptx::cta::program::skeleton;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::statement::Rule;
use crate::ptx::warp::statement::Statement;

/// The warps of a warpgroup.
pub(in crate::ptx) const WARPS: u32 = 4;

impl Walker<'_, '_, '_> {
    /// Notes a multiplication, and waiting for all of them.
    pub fn multiply(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        lanes: u32,
        out: &mut Vec<Statement>,
    ) -> Done {
        let group = self.machine.warp / WARPS;
        if lanes != u32::MAX || (group + 1) * WARPS > self.machine.launch.warps() {
            let reason =
                "all 128 threads of a warpgroup have to carry this out, and some of them do not";
            return self.undefined(instruction, reason);
        }
        match (parts.get(1), instruction.operands.first()) {
            (Some(&"mma_async"), _) => self.push(out, instruction, Action::Multiply(group)),
            (Some(&"commit_group"), _) => self.push(out, instruction, Action::Grouped(group)),
            (Some(&"wait_group"), Some(Operand::Integer(0))) => {
                self.push(out, instruction, Action::Multiplied(group));
            }
            (Some(&"wait_group"), Some(Operand::Integer(left))) => {
                let left = i128::from(*left);
                self.push(out, instruction, Action::InFlight(group, left));
            }
            _ => {}
        }
        Ok(())
    }
}

/// What the four warps of a warpgroup have to do together, for each of them, by rank and number of the warpgroup:
/// multiplications, and how the registers that they have change.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Together(BTreeMap<(u32, u32), Vec<Vec<Statement>>>);

impl Together {
    /// Notes what a warp does.
    pub fn note(&mut self, rank: u32, warp: u32, statements: &[Statement]) {
        let common = |a: &Action| match a {
            Action::Multiply(_) => true,
            Action::Acquire(pool, _) | Action::Release(pool, _) => *pool == Pool::Registers,
            _ => false,
        };
        let own = numbered(&skeleton(statements, &common));
        self.0.entry((rank, warp / WARPS)).or_default().push(own);
    }

    /// Refuses warpgroups whose warps do not do the same, which is undefined.
    pub fn alike(&self) -> Result<(), Obstacle> {
        for warps in self.0.values() {
            let complete = warps.len() == WARPS as usize || warps.iter().all(Vec::is_empty);
            let alike = warps.windows(2).all(|two| two[0] == two[1]);
            if complete && alike {
                continue;
            }
            let reason = "all four warps of a warpgroup have to carry this out together, equally often, and they do \
                          not";
            let at = warps.iter().flatten().map(|s| s.at).min();
            let mut obstacle = Obstacle::new(at.unwrap_or(0), reason);
            obstacle.rule = Some(Rule::Together);
            return Err(obstacle);
        }
        Ok(())
    }
}

/// Whether this is about multiplications of a warpgroup.
pub(in crate::ptx) fn multiplies(action: &Action) -> bool {
    matches!(
        action,
        Action::Multiply(_)
            | Action::Multiplied(_)
            | Action::Grouped(_)
            | Action::InFlight(..)
            | Action::Issued(..)
            | Action::Landed(..)
    )
}

/// The statements with each wait for multiplications after the last one before it, and no others. Where some
/// waits leave multiplications in flight, nothing is left out.
pub(in crate::ptx) fn paired(statements: Vec<Statement>) -> Vec<Statement> {
    let mut flying = false;
    each(&statements, &mut |s| {
        flying |= matches!(s.action, Action::InFlight(..));
    });
    if flying {
        return statements;
    }
    closed(statements, &mut false)
}

/// A wait stays without a multiplication before it where some may be under way (`pending`) that stand elsewhere, or that
/// have not been made a group: it does not wait for these.
fn closed(statements: Vec<Statement>, pending: &mut bool) -> Vec<Statement> {
    let mut all: Vec<Statement> = Vec::new();
    let mut open: Option<usize> = None;
    let mut committed = false;
    for statement in statements {
        let block = matches!(statement.action, Action::For(..) | Action::If(..));
        match statement.action {
            // What stands in between and does not multiply leaves it as it is.
            _ if block && !about_products(&statement) => all.push(statement),
            Action::Grouped(_) => committed = true,
            Action::Multiplied(_) if open.is_none() && !*pending => {}
            Action::Multiplied(_) => {
                if let Some(before) = open.take().filter(|_| !committed) {
                    all.remove(before);
                }
                *pending = false;
                all.push(statement);
            }
            Action::For(unknown, times, body) => {
                let only = body.iter().any(|s| matches!(s.action, Action::Multiply(_)))
                    && body.iter().all(|s| {
                        matches!(
                            s.action,
                            Action::Multiply(_) | Action::Grouped(_) | Action::Touch(..)
                        )
                    })
                    && times.as_constant().is_some_and(|t| t > 0);
                if let Some(before) = open.take() {
                    all.remove(before);
                }
                if only {
                    let multiply = |s: &Statement| matches!(s.action, Action::Multiply(_));
                    let group = |s: &Statement| matches!(s.action, Action::Grouped(_));
                    let last = body.iter().rfind(|s| multiply(s)).cloned();
                    committed = body
                        .iter()
                        .rfind(|s| multiply(s) || group(s))
                        .is_some_and(group);
                    let gone = |s: &Statement| multiply(s) || group(s);
                    let rest: Vec<Statement> = body.into_iter().filter(|s| !gone(s)).collect();
                    if !rest.is_empty() {
                        all.push(Statement {
                            action: Action::For(unknown, times, rest),
                            ..statement
                        });
                    }
                    open = Some(all.len());
                    all.extend(last);
                    *pending = true;
                    continue;
                }
                // What one round leaves under way, the next one finds.
                let mut behind = *pending;
                closed(body.clone(), &mut behind);
                *pending |= behind;
                let body = closed(body, &mut pending.clone());
                if !body.is_empty() {
                    let action = Action::For(unknown, times, body);
                    all.push(Statement {
                        action,
                        ..statement
                    });
                }
            }
            Action::If(condition, yes, no) => {
                if let Some(before) = open.take() {
                    all.remove(before);
                }
                let (mut one, mut other) = (*pending, *pending);
                let (yes, no) = (closed(yes, &mut one), closed(no, &mut other));
                *pending = one || other;
                if !yes.is_empty() || !no.is_empty() {
                    let action = Action::If(condition, yes, no);
                    all.push(Statement {
                        action,
                        ..statement
                    });
                }
            }
            Action::Multiply(_) => {
                if let Some(before) = open {
                    all.remove(before);
                }
                open = Some(all.len());
                all.push(statement);
                committed = false;
                *pending = true;
            }
            _ => all.push(statement),
        }
    }
    if let Some(before) = open {
        all.remove(before);
    }
    all
}

/// Whether there is something about multiplications in a statement.
fn about_products(statement: &Statement) -> bool {
    let mut found = false;
    each(std::slice::from_ref(statement), &mut |s| {
        found |= multiplies(&s.action);
    });
    found
}

/// A wait of which it is not clear which multiplications it is for.
fn unpaired(statements: &[Statement]) -> Option<usize> {
    let mut open = false;
    for statement in statements {
        match &statement.action {
            Action::Multiply(_) => open = true,
            Action::Multiplied(_) if !open => return Some(statement.at),
            Action::Multiplied(_) => open = false,
            Action::For(_, _, body) => {
                if let Some(at) = unpaired(body) {
                    return Some(at);
                }
            }
            Action::If(_, yes, no) => {
                if let Some(at) = unpaired(yes).or_else(|| unpaired(no)) {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Leaves out what binds the warps of a warpgroup to each other where the four do the same; and, where they differ, the
/// accesses of all multiplications but those of the warp that tells others of them.
///
/// What waits with multiplications in flight is left as it is, to be numbered later. Fails where the warps do not do that alike.
pub(in crate::ptx) fn needed(programs: &mut Vec<Program>, launch: &Launch) -> Result<(), Obstacle> {
    let mut dropped = Vec::new();
    // Warps whose multiplications are those of another warp, too.
    let mut followers: Vec<(u32, u32)> = Vec::new();
    for rank in 0..launch.ranks() {
        for group in 0..launch.warps() / WARPS {
            let warps = group * WARPS..(group + 1) * WARPS;
            let own: Vec<&Program> = programs
                .iter()
                .filter(|p| p.rank == rank && p.warps.iter().any(|w| warps.contains(w)))
                .collect();
            if equal(&own, &|a| !aside(a)) && !gives_back(&own) {
                dropped.push((rank, group));
                continue;
            }
            if let Some(at) = first(&own, &multiplies).filter(|_| !equal(&own, &multiplies)) {
                let reason =
                    "the warps of this warpgroup wait with different multiplications in flight";
                return Err(Obstacle::new(at, reason));
            }
            // Waits with some left in flight, and those beside them, are numbered later.
            let flying = first(&own, &|a| matches!(a, Action::InFlight(..))).is_some();
            let open = own.iter().find_map(|p| unpaired(&p.statements));
            if let Some(at) = open.filter(|_| !flying) {
                let reason = "the warps of this warpgroup do different things, and which multiplications they wait for \
                              here is not followed";
                return Err(Obstacle::new(at, reason));
            }
            let groups = |a: &Action| matches!(a, Action::CommitGroup(true));
            if let Some(at) = first(&own, &groups) {
                let Some(leader) = leader(&own) else {
                    let reason = "the warps of this warpgroup do different things, and which of them tells \
                                  others that its multiplications are done is not followed";
                    return Err(Obstacle::new(at, reason));
                };
                followers.extend(warps.filter(|w| *w != leader).map(|w| (rank, w)));
            }
        }
    }
    for program in std::mem::take(programs) {
        let rank = program.rank;
        for warp in program.warps {
            let follows = followers.contains(&(rank, warp));
            let gone = |action: &Action| match action {
                Action::Multiply(group)
                | Action::Multiplied(group)
                | Action::InFlight(group, _)
                | Action::Grouped(group) => dropped.contains(&(rank, *group)),
                action => follows && grouped(action),
            };
            let statements = without(program.statements.clone(), &gone);
            programs.push(Program::of(rank, vec![warp], statements));
        }
    }
    regroup(programs);
    Ok(())
}

/// Whether warps take something that not all of them may get, and give it back later: what one of them gives back then
/// another one may be waiting for, so that they do the same does not mean that they come as far.
fn gives_back(programs: &[&Program]) -> bool {
    let has = |which: &dyn Fn(&Action) -> bool| first(programs, which).is_some();
    has(&|a| matches!(a, Action::Acquire(..))) && has(&|a| matches!(a, Action::Release(..)))
}

/// Whether these programs do the same, as far as some actions go.
fn equal(programs: &[&Program], keep: &dyn Fn(&Action) -> bool) -> bool {
    let shape = |p: &Program| numbered(&skeleton(&p.statements, keep));
    programs
        .windows(2)
        .all(|two| shape(two[0]) == shape(two[1]))
}

/// Where the first of some actions is.
fn first(programs: &[&Program], which: &dyn Fn(&Action) -> bool) -> Option<usize> {
    let mut found = None;
    for program in programs {
        each(&program.statements, &mut |s| {
            if which(&s.action) {
                found = found.or(Some(s.at));
            }
        });
    }
    found
}

/// Whether this lets nobody wait or go on: it is about data, or makes an mbarrier.
fn aside(action: &Action) -> bool {
    matches!(
        action,
        Action::Init(..)
            | Action::Touch(..)
            | Action::Fence(_)
            | Action::CommitGroup(_)
            | Action::WaitGroup(..)
    )
}

/// Whether this is what a multiplication of a warpgroup reads, or a group of them.
fn grouped(action: &Action) -> bool {
    matches!(
        action,
        Action::Touch(How::Take, _) | Action::CommitGroup(true) | Action::WaitGroup(_, _, true)
    )
}

/// The only warp that tells others more than the rest of its warpgroup do.
fn leader(own: &[&Program]) -> Option<u32> {
    let shape = |p: &Program| numbered(&skeleton(&p.statements, &|a| !aside(a)));
    let shapes: Vec<Vec<Statement>> = own.iter().map(|p| shape(p)).collect();
    let at = (0..own.len()).find(|at| {
        let mut others = shapes.iter().enumerate().filter(|(other, _)| other != at);
        let Some((_, some)) = others.next() else {
            return false;
        };
        others.all(|(_, other)| other == some) && within(some, &shapes[*at])
    })?;
    match own[at].warps.as_slice() {
        [warp] => Some(*warp),
        _ => None,
    }
}

/// Whether statements are others without some arrivals.
fn within(some: &[Statement], all: &[Statement]) -> bool {
    let mut rest = some.iter().peekable();
    for statement in all {
        let same = rest
            .peek()
            .is_some_and(|other| match (&other.action, &statement.action) {
                (Action::For(u, n, small), Action::For(v, m, large)) => {
                    u == v && n == m && within(small, large)
                }
                (Action::If(c, yes, no), Action::If(d, more, else_more)) => {
                    c == d && within(yes, more) && within(no, else_more)
                }
                (one, other) => one == other,
            });
        if same {
            rest.next();
            continue;
        }
        let mut tells = true;
        each(std::slice::from_ref(statement), &mut |s| {
            tells &= matches!(
                s.action,
                Action::Arrive(..) | Action::If(..) | Action::For(..)
            );
        });
        if !tells {
            return false;
        }
    }
    rest.peek().is_none()
}

/// Statements without some, and without loops and branches that are empty then.
pub(in crate::ptx) fn without(
    statements: Vec<Statement>,
    gone: &dyn Fn(&Action) -> bool,
) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        let action = match statement.action {
            action if gone(&action) => continue,
            Action::For(unknown, times, body) => match without(body, gone) {
                body if body.is_empty() => continue,
                body => Action::For(unknown, times, body),
            },
            Action::If(condition, yes, no) => match (without(yes, gone), without(no, gone)) {
                (yes, no) if yes.is_empty() && no.is_empty() => continue,
                (yes, no) => Action::If(condition, yes, no),
            },
            other => other,
        };
        all.push(Statement {
            action,
            ..statement
        });
    }
    all
}
