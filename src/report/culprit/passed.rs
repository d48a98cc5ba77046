//! Describes phases, bytes and values that a member has missed.

use super::super::words;
use super::Sentence;
use super::obstacle::Lapped;
use super::obstacle::position;
use super::phrase::Change;
use super::phrase::bytes_word;
use super::phrase::phases_word;
use super::sentence::LISTED;
use super::sentence::SentenceWriter;
use super::sentence::text;
use crate::protocol::StmtId;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;

impl SentenceWriter<'_> {
    /// The sentence about a phase that is over.
    pub fn lapped(&self, waiter: usize, op: &Op, lapped: Lapped) -> Sentence {
        let name = self.name(waiter);
        let cell = self.instance().cell_name(op.cell);
        let Lapped { awaited, completed } = lapped;
        let phases = self.obstacles.history().phases(op.cell);
        let from = usize::try_from(awaited).unwrap_or(0);
        let over = phases.get(from..phases.len().saturating_sub(1));
        let over = over.unwrap_or_default();
        let came: Vec<&(usize, i64, StmtId)> = over.iter().flat_map(|p| &p.came).collect();
        let mut by: Vec<usize> = came.iter().map(|(who, _, _)| *who).collect();
        by.sort_unstable();
        by.dedup();
        let by = match by.is_empty() {
            true => "others".to_owned(),
            false => self.names(&by),
        };
        let at = came.last().map(|(_, _, stmt)| self.line_of(*stmt));
        if awaited < 0 {
            let out = text(format!("{name} first waits for {cell} with parity 1"))
                .line(self.line(op))
                .text(format!(
                    ". On a new mbarrier that wait passes at once, but {by} has completed phase 0"
                ));
            let out = match at {
                Some(at) => out.line(at),
                None => out,
            };
            // The member that completed the phase may itself have gone ahead of a completion.
            let mut ahead = over.iter().filter_map(|phase| phase.after);
            let other = ahead
                .next_back()
                .filter(|o| o.member != waiter && o.cell != op.cell);
            return match other {
                Some(ahead) => out
                    .text(format!(
                        ", after its own first wait, for {} with parity 1",
                        self.instance().cell_name(ahead.cell)
                    ))
                    .line(self.line_of(ahead.stmt))
                    .text(", had passed at once, too. One of these two waits is for the wrong parity or comes too early"),
                None if self.starts_free(waiter, op) => out.text(format!(
                    ": it arrives there too early, or should arrive at another element than {cell}"
                )),
                None => out.text(". A first wait for a completion uses parity 0"),
            };
        }
        let out = text(format!(
            "{name} is lapped: it still waits for phase {awaited} of {cell}"
        ))
        .line(self.line(op))
        .text(format!(
            ", but {by} completed {}",
            phases_word(awaited, completed - 1)
        ));
        let out = match at {
            Some(at) => out.line(at),
            None => out,
        };
        out.text(format!(" without waiting for {name}"))
    }

    /// Whether a member has passed another element of the same object at once, by the same statement. This shows that
    /// elements are meant to be free from the start.
    fn starts_free(&self, member: usize, op: &Op) -> bool {
        let object = |op: &Op| self.instance().cell_place(op.cell).map(|place| place.0);
        let ops = &self.instance().members[member].ops;
        let done = ops.iter().take(position(self.obstacles.state(), member));
        let mut others =
            done.filter(|o| o.stmt == op.stmt && o.cell != op.cell && o.kind == op.kind);
        others.any(|other| object(other) == object(op))
    }

    /// The sentence about bytes that nobody delivers.
    pub fn bytes(&self, waiter: usize, op: &Op, missing: i64) -> Sentence {
        let cell = self.instance().cell_name(op.cell);
        let open = self.open(op);
        let expected = missing.saturating_add(open.delivered);
        let out = text(format!("{cell} expects {}", bytes_word(expected)));
        let out = match open.expects {
            Some((stmt, _)) => out.line(self.line_of(stmt)),
            None => out,
        };
        let out = match open.delivers {
            Some((stmt, _)) => out
                .text(format!(" and gets {}", open.delivered))
                .line(self.line_of(stmt))
                .text(format!(": nobody delivers the other {missing}")),
            None => out.text(" that nobody delivers"),
        };
        out.text(format!("; {} waits for it", self.name(waiter)))
            .line(self.line(op))
    }

    /// The sentence about more bytes than expected.
    pub fn surplus(&self, waiter: usize, op: &Op, surplus: i64) -> Sentence {
        let cell = self.instance().cell_name(op.cell);
        let phases = self.obstacles.history().phases(op.cell);
        let delivers = phases.iter().rev().find_map(|phase| phase.delivers);
        let expects = phases.iter().rev().find_map(|phase| phase.expects);
        let mut out = text(format!("{cell} gets more bytes than it expects: "));
        if let (Some((to, bytes)), Some((from, expected))) = (delivers, expects) {
            out = out
                .text(format!("{bytes} by each copy"))
                .line(self.line_of(to))
                .text(format!(" where {expected} are expected"))
                .line(self.line_of(from))
                .text(", so that ");
        }
        out.text(format!(
            "phase {} is {} over and never completes; {} waits for it",
            phases.len().saturating_sub(1),
            bytes_word(surplus),
            self.name(waiter)
        ))
        .line(self.line(op))
    }

    /// The sentence about an exact value that was passed.
    pub fn passed(&self, waiter: usize, op: &Op, additions: &[(usize, i64)]) -> Sentence {
        let name = self.name(waiter);
        let cell = self.instance().cell_name(op.cell);
        let mut out = text(format!(
            "{name} waits for {}",
            words::awaited(self.instance(), op)
        ))
        .line(self.line(op))
        .text(", but ");
        let start = self.obstacles.start(op.cell).unwrap_or(0);
        let mut first = true;
        let setters = self.obstacles.setters(op.cell);
        let alone = additions.is_empty() && setters.is_empty();
        if start != 0 || alone {
            out = out.text(format!("{cell} starts at {start}"));
            first = false;
        }
        for (who, amount) in additions.iter().take(LISTED) {
            let who_name = match *who == waiter {
                true => format!("{name} itself"),
                false => self.name(*who),
            };
            let and = if first { "" } else { " and " };
            out = out.text(format!("{and}{who_name} has already added {amount}"));
            if let Some(line) = self.added(*who, op) {
                out = out.line(line);
            }
            first = false;
        }
        for (who, value, stmt) in setters.iter().take(LISTED) {
            let and = if first { "" } else { " and " };
            let who = match *who == waiter {
                true => format!("{name} itself"),
                false => self.name(*who),
            };
            out = out
                .text(format!("{and}{who} set it to {value}"))
                .line(self.line_of(*stmt));
            first = false;
        }
        if additions.is_empty() && !alone && self.changes(op) == Change::Set {
            return out.text(", and nobody sets it again");
        }
        match additions.len().saturating_sub(LISTED) {
            0 if alone => out.text(" and never goes down"),
            0 => out.text(format!(", and {cell} never goes down")),
            more => out.text(format!(" and {more} more have, and {cell} never goes down")),
        }
    }

    /// Where a member last added to a cell.
    fn added(&self, member: usize, op: &Op) -> Option<usize> {
        let ops = &self.instance().members[member].ops;
        let done = ops.iter().take(position(self.obstacles.state(), member));
        let mut adds = done.filter(|o| o.cell == op.cell && matches!(o.kind, OpKind::Add(_)));
        adds.next_back().map(|o| self.line(o))
    }
}
