//! Multiplications that the four warps of a warpgroup carry out together: `wgmma.mma_async` is one operation of
//! all of them, so it is not done before each has issued it. Whoever waits until no multiplication is left
//! therefore knows that the other three have come as far.
//!
//! That is written as a barrier of the warpgroup: a warp arrives with the last multiplication before it waits.
//! It is left out where nobody needs it, because all four warps do the same anyway, and where it is not clear
//! which multiplications are waited for: then the warps of the text are less bound to each other than those of
//! the kernel.

use super::ast::Instruction;
use super::ast::Operand;
use super::machine::Launch;
use super::machine::State;
use super::program::Program;
use super::program::each;
use super::program::numbered;
use super::program::regroup;
use super::program::skeleton;
use super::statement::Action;
use super::statement::Obstacle;
use super::statement::Statement;
use super::walk::Walker;

/// The warps of a warpgroup.
pub(super) const WARPS: u32 = 4;

impl Walker<'_, '_, '_> {
    /// Notes a multiplication, and waiting for all of them.
    pub fn multiply(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        lanes: u32,
        state: &State,
        out: &mut Vec<Statement>,
    ) {
        let group = self.machine.warp / WARPS;
        if lanes != state.whole || (group + 1) * WARPS > self.machine.launch.warps() {
            return;
        }
        match (parts.get(1), instruction.operands.first()) {
            (Some(&"mma_async"), _) => self.push(out, instruction, Action::Multiply(group)),
            (Some(&"wait_group"), Some(Operand::Integer(0))) => {
                self.push(out, instruction, Action::Multiplied(group));
            }
            (Some(&"wait_group"), _) => self.push(out, instruction, Action::InFlight(group)),
            _ => {}
        }
    }
}

/// Whether this is about multiplications of a warpgroup.
pub(super) fn multiplies(action: &Action) -> bool {
    matches!(
        action,
        Action::Multiply(_) | Action::Multiplied(_) | Action::InFlight(_)
    )
}

/// The statements with each wait for multiplications behind the last one before it, and no others.
pub(super) fn paired(statements: Vec<Statement>) -> Vec<Statement> {
    let mut all: Vec<Statement> = Vec::new();
    let mut open: Option<usize> = None;
    for statement in statements {
        match statement.action {
            Action::Multiplied(_) if open.is_none() => {}
            Action::Multiplied(_) => {
                open = None;
                all.push(statement);
            }
            Action::For(unknown, times, body) => {
                let only = !body.is_empty()
                    && body.iter().all(|s| matches!(s.action, Action::Multiply(_)))
                    && times.as_constant().is_some_and(|t| t > 0);
                if let Some(before) = open.take() {
                    all.remove(before);
                }
                if only {
                    open = Some(all.len());
                    all.extend(body.into_iter().next_back());
                    continue;
                }
                let body = paired(body);
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
                let (yes, no) = (paired(yes), paired(no));
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
            }
            _ => all.push(statement),
        }
    }
    if let Some(before) = open {
        all.remove(before);
    }
    all
}

/// Leaves multiplications out where the four warps of a group do the same, or do not multiply alike.
///
/// Fails where they differ and wait with multiplications in flight: that binds them to each other in a
/// way that is not followed, and a protocol without it would have runs that the kernel does not have.
pub(super) fn needed(programs: &mut Vec<Program>, launch: &Launch) -> Result<(), Obstacle> {
    let mut dropped = Vec::new();
    for rank in 0..launch.ranks() {
        for group in 0..launch.warps() / WARPS {
            let warps = group * WARPS..(group + 1) * WARPS;
            let own: Vec<&Program> = programs
                .iter()
                .filter(|p| p.rank == rank && p.warps.iter().any(|w| warps.contains(w)))
                .collect();
            if own.len() > 1 {
                let mut flying = None;
                for program in &own {
                    each(&program.statements, &mut |s| {
                        if s.action == Action::InFlight(group) {
                            flying = flying.or(Some(s.at));
                        }
                    });
                }
                if let Some(at) = flying {
                    let reason = "the warps of this warpgroup do different things, and how far the \
                                  others are where it waits with multiplications in flight is not \
                                  followed";
                    return Err(Obstacle::new(at, reason));
                }
            }
            let shape = |p: &Program| numbered(&skeleton(&p.statements, &multiplies));
            let alike = own.windows(2).all(|two| shape(two[0]) == shape(two[1]));
            if own.len() < 2 || !alike {
                dropped.push((rank, group));
            }
        }
    }
    for program in programs.iter_mut() {
        let rank = program.rank;
        let gone = |action: &Action| match action {
            Action::Multiply(group) | Action::Multiplied(group) => {
                dropped.contains(&(rank, *group))
            }
            Action::InFlight(_) => true,
            _ => false,
        };
        let statements = without(std::mem::take(&mut program.statements), &gone);
        *program = Program::of(rank, std::mem::take(&mut program.warps), statements);
    }
    regroup(programs);
    Ok(())
}

/// Statements without some, and without loops and branches that are empty then.
pub(super) fn without(
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
