//! Describes a wait for which too few members arrive.

use std::collections::BTreeMap;

use crate::protocol::StmtId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step::CellState;

use super::super::words;
use super::Absent;
use super::Sentence;
use super::history::Phase;
use super::obstacle::position;
use super::phrase::Change;
use super::phrase::times_word;
use super::sentence::SentenceWriter;
use super::sentence::text;

impl SentenceWriter<'_> {
    /// The sentence about a wait for which too few members arrive.
    pub fn short(&self, waiter: usize, op: &Op, absent: &[Absent]) -> Sentence {
        let name = self.name(waiter);
        let cell = self.instance().cell_name(op.cell);
        let line = self.line(op);
        let completed = self.obstacles.history().completed(op.cell);
        let expected = self.instance().cells[op.cell.0 as usize];
        let head = match (op.kind, self.cell(op), expected) {
            (OpKind::WaitParity(_), CellState::Uninitialized, _) => {
                text(format!("nobody initialises {cell}, for which {name} waits")).line(line)
            }
            (
                _,
                CellState::Mbarrier { pending, .. },
                CellStart::Mbarrier(all) | CellStart::Uninitialized(all),
            )
            | (_, CellState::Barrier { pending, .. }, CellStart::Barrier(all)) => {
                let there = all.saturating_sub(*pending);
                let some = self.some_came(waiter, op, there).filter(|_| there > 0);
                if let Some(some) = some {
                    some
                } else if let Some(parity) = self.repeated(waiter, op) {
                    text(format!(
                        "{name} waits for {cell} with parity {parity} twice in a row"
                    ))
                    .line(line)
                    .text(format!(
                        ", and {cell} has completed {} by then, so this wait needs another completion",
                        times_word(completed as i64)
                    ))
                } else if completed > 0 {
                    text(format!(
                        "{cell} completes {}, and {name} waits for one more",
                        times_word(completed as i64)
                    ))
                    .line(line)
                } else {
                    text(format!("nobody arrives at {cell}, for which {name} waits")).line(line)
                }
            }
            (OpKind::Sync(count), CellState::Named { registered, .. }, _) => {
                // How often each member arrived.
                let mut came: BTreeMap<usize, usize> = BTreeMap::new();
                for registration in registered {
                    *came.entry(registration.member as usize).or_default() += 1;
                }
                let mut often: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
                for (member, times) in came {
                    often.entry(times).or_default().push(member);
                }
                let who = often.iter().map(|(times, members)| match times {
                    1 => self.names(members),
                    _ => format!("{} {}", self.names(members), times_word(*times as i64)),
                });
                let head = text(format!(
                    "{cell} takes {count} threads, {} came ({}), and nobody else comes",
                    32 * registered.len(),
                    who.collect::<Vec<_>>().join(", ")
                ))
                .line(line);
                return self.rounds(head, op, absent);
            }
            (OpKind::Wait(..) | OpKind::WaitSwap { .. }, CellState::Semaphore(now), _) => {
                let helpers = self.obstacles.helpers(op.cell).iter();
                let mut others = helpers.filter(|h| h.member != waiter);
                let set = self.obstacles.setters(op.cell);
                let setter = set.iter().find(|(_, value, _)| value == now);
                let none = match (others.any(|h| h.planned > 0), self.changes(op)) {
                    (_, Change::Set) if setter.is_some() => "nobody sets it again",
                    (_, Change::Set) => "nobody sets it",
                    (true, Change::Both) => "nobody changes it any more",
                    (false, Change::Both) => "nobody changes it",
                    (true, Change::Added) => "no more is added to it",
                    (false, Change::Added) => "nobody adds to it",
                };
                let head = text(format!(
                    "{name} waits for {}",
                    words::awaited(self.instance(), op)
                ))
                .line(line);
                match setter {
                    Some((who, _, stmt)) => {
                        let who = match *who == waiter {
                            true => "it itself".to_owned(),
                            false => self.name(*who),
                        };
                        head.text(format!(", but {who} set {cell} to {now}"))
                            .line(self.line_of(*stmt))
                            .text(format!(", and {none}"))
                    }
                    None => head.text(format!(", but {cell} stays {now} and {none}")),
                }
            }
            (OpKind::Acquire(amount), CellState::Pool { available }, _) => {
                text(format!("{name} waits for {amount} of {cell}"))
                    .line(line)
                    .text(format!(
                        ", {available} {} available, and too little is given back",
                        if *available == 1 { "is" } else { "are" }
                    ))
            }
            _ => text(format!(
                "{name} waits for {}",
                words::awaited(self.instance(), op)
            ))
            .line(line),
        };
        if !absent.is_empty() {
            return head.text(": ").and(self.away(op, absent));
        }
        if let Some((number, value)) = self.programs.passed_by(waiter, op.cell) {
            return head
                .text(format!(
                    ": {name} itself does not, because `{}`",
                    self.header(number)
                ))
                .line(self.line_of(StmtId(number)))
                .text(format!(" returned {value} to it"));
        }
        let own = self.obstacles.helpers(op.cell);
        let own = own.iter().any(|h| h.member == waiter && h.ahead > 0);
        match op.kind {
            _ if own && !matches!(op.kind, OpKind::BarrierWait) => {
                head.text(format!(": only {name} itself would, after that wait"))
            }
            OpKind::BarrierWait => {
                let strangers = self.programs.strangers(op.cell);
                match strangers.is_empty() {
                    true => head.text(": nobody else ever does"),
                    false => head.text(format!(
                        ": {} {} no statement that arrives there",
                        self.names(&strangers),
                        if strangers.len() == 1 { "has" } else { "have" }
                    )),
                }
            }
            OpKind::WaitParity(_) if *self.cell(op) != CellState::Uninitialized => {
                head.and(self.nobody_left(op))
            }
            _ => head,
        }
    }

    /// The parity of a wait, if the previous wait of the same member had the same one.
    fn repeated(&self, waiter: usize, op: &Op) -> Option<u8> {
        let ops = &self.instance().members[waiter].ops;
        let before = ops.iter().take(position(self.obstacles.state(), waiter));
        let mut waits = before.filter(|o| o.cell == op.cell);
        let last = waits.rfind(|o| matches!(o.kind, OpKind::WaitParity(_)))?;
        match (op.kind, last.kind) {
            (OpKind::WaitParity(now), OpKind::WaitParity(then)) if now == then => {
                Some(u8::from(now))
            }
            _ => None,
        }
    }

    /// What happened in the generations of a named barrier without the waiting members.
    fn rounds(&self, head: Sentence, op: &Op, absent: &[Absent]) -> Sentence {
        let phases = self.obstacles.history().phases(op.cell);
        let completed = phases.len().saturating_sub(1);
        let OpKind::Sync(count) = op.kind else {
            return head;
        };
        let planned = self.obstacles.helpers(op.cell).iter();
        let planned = planned.fold(0_i64, |sum, helper| sum.saturating_add(helper.planned));
        let warps = (count / 32).max(1);
        if completed > 0 && planned % warps != 0 {
            let members = phases.iter().take(completed).flat_map(Phase::members);
            let mut members: Vec<usize> = members.collect();
            members.sort_unstable();
            members.dedup();
            return head.text(format!(
                ": {planned} warps come in all, {warps} for each completion, and {} completed {} before",
                self.names(&members),
                if completed == 1 {
                    "one".to_owned()
                } else {
                    completed.to_string()
                }
            ));
        }
        if !absent.is_empty() {
            return head.text(": ").and(self.away(op, absent));
        }
        let strangers = self.programs.strangers(op.cell);
        match strangers.is_empty() {
            true => head,
            false => head.text(format!(
                ": {} {} no statement for this barrier",
                self.names(&strangers),
                if strangers.len() == 1 { "has" } else { "have" }
            )),
        }
    }
}
