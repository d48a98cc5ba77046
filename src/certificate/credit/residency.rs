//! Grids of which not all CTAs are resident: the CTAs that a wait is for must have started.
//!
//! For example, CTA `n` waits for `state[n - 1]`, and CTAs start in ascending order. So the CTA that it waits for has
//! started before.

use super::Credit;
use super::Rule;
use crate::certificate::grid;
use crate::certificate::grid::Residency;
use crate::certificate::program::EventKind;
use crate::certificate::program::Program;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::LaunchOrder;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

/// Why a CTA that has not started does no harm; `None` if no reason is needed. CTAs of a grid without waits never keep
/// a place. So with [`Residency::WholeGrid`] no reason is needed if no grid waits, and with
/// [`Residency::LaunchOrder`] if no wait is for a grid that waits.
pub fn residency(protocol: &Protocol, credit: &Credit) -> Option<Residency> {
    fn waits(body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match &stmt.kind {
            StmtKind::Wait { .. } => true,
            StmtKind::If {
                then, otherwise, ..
            } => waits(then) || waits(otherwise),
            StmtKind::For { body, .. } => waits(body),
            _ => false,
        })
    }
    let places = |role: &Role| role.launch.is_some() && waits(&role.body);
    let mut supplies = credit
        .waits
        .iter()
        .flat_map(|w| w.alternatives.iter().flatten());
    let needed = match credit.residency {
        Residency::WholeGrid => protocol.roles.iter().any(places),
        Residency::LaunchOrder => supplies.any(|s| protocol.roles.get(s.role).is_some_and(places)),
    };
    needed.then_some(credit.residency)
}

/// Whether a program has a wait.
pub(super) fn waits_somewhere(program: &Program) -> bool {
    let mut events = program.events.iter();
    events.any(|event| matches!(event.kind, EventKind::Wait { .. }))
}

impl Rule<'_> {
    /// If CTAs do not all start at once: obligations that each member which a wait is for has started, or can start
    /// without the waiting member.
    pub(super) fn started(&mut self, nth: usize) -> Result<(), Unsupported> {
        if self.credit.residency == Residency::WholeGrid {
            return Ok(());
        }
        let (role, at) = self.waits[nth];
        let wait = self.event(role, at)?;
        for supply in self.credit.waits[nth].alternatives.iter().flatten() {
            let add = self.event(supply.role, supply.event)?;
            let frame = &self.frames[supply.role];
            let Some(launch) = &frame.role.launch else {
                continue;
            };
            if !waits_somewhere(frame.program) {
                continue;
            }
            if supply.role != role {
                let what = "a wait for CTAs of another grid, which need not have started";
                return Err(Unsupported::at(wait.span, what));
            }
            let LaunchOrder::Sorted(keys) = &launch.order else {
                let what = "CTAs that start in any order";
                return Err(Unsupported::at(frame.role.span, what));
            };
            let mut setting = frame.setting()?;
            let waiting = self.waiting(&mut setting, nth)?;
            let (values, among) = self.named(&mut setting, supply, &waiting, "p")?;
            let Some((env, happens)) = frame.executed(&mut setting, add, &values)? else {
                return Err(Unsupported::whole("values for other names than there are"));
            };
            setting.facts.extend([among, happens]);
            for (index, wanted) in add.cell.index.iter().zip(&waiting.element) {
                let index = setting.terms.expr(index, &env)?;
                setting.facts.push(term::eq(&index, wanted));
            }
            let (mut theirs, mut own) = (Vec::new(), Vec::new());
            for key in keys {
                let index = frame.role.indices.get(key.index).map(|index| index.var);
                let missing = || Unsupported::at(frame.role.span, "a key that is no index");
                let index = index.ok_or_else(missing)?;
                let signed = |env: &Env| {
                    let value = env.get(&index).ok_or_else(missing)?;
                    Ok(match key.descending {
                        true => term::sub(&term::int(0), value),
                        false => value.clone(),
                    })
                };
                theirs.push(signed(&env)?);
                own.push(signed(&waiting.env)?);
            }
            let same = theirs.iter().zip(&own).map(|(a, b)| term::eq(a, b));
            let goal = term::or([
                grid::lexicographic(&theirs, &own),
                term::and(same.collect::<Vec<Term>>()),
            ]);
            let frame = &mut self.frames[role];
            let meaning = format!(
                "whoever `{}` is for has started when it is waited for",
                frame.quote(wait.span)
            );
            let name = format!("started_s{}_s{}", wait.stmt.0, add.stmt.0);
            frame.conclude(name, meaning, setting, goal)?;
        }
        Ok(())
    }
}
