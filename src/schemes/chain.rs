//! Explains why a run hangs, by a chain of waits from a blocked CTA to the reason.
//!
//! A blocked CTA waits for a value at a row tile. The visitor that has the current turn at this tile could change the
//! value. But it is blocked elsewhere, has not started, or does not exist. So following these visitors ends at a turn
//! without an owner, at a value that has passed already, at CTAs that never start, or in a cycle.

use super::judge::Judgement;
use super::visits::Turn;
use super::visits::Visit;

/// A CTA that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The CTA.
    pub n: u32,
    /// The row tile it waits at.
    pub m: u32,
    /// The value it waits for.
    pub wants: i64,
    /// The current value.
    pub now: i64,
}

/// Why no visitor changes the value of a row tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No visitor has this turn.
    NoOwner,
    /// The awaited value has passed already: another visitor with the same lock took this turn.
    Passed,
    /// Its owner, this CTA, is itself blocked, at the row tile of the next link.
    Blocked(u32),
    /// Its owner, this CTA, never starts: every place is held by a CTA that is blocked.
    NotStarted(u32),
    /// Its owner, this CTA, is blocked at a row tile already in the chain.
    Cycle(u32),
}

/// One link of a chain of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The waiting CTA.
    pub waiting: Waiting,
    /// Why it waits in vain.
    pub reason: Reason,
}

impl Judgement {
    /// What a CTA waits for at the end of the run shown; `None` if it finished or never started.
    pub fn waiting(&self, n: u32) -> Option<Waiting> {
        let state = &self.shown.state;
        let done = state.progress(n as usize)?;
        let Visit { m, lock } = self.visits.get(n as usize, done)?;
        Some(Waiting {
            n,
            m,
            wants: lock,
            now: state.value(m as usize),
        })
    }

    /// Every CTA that is blocked at the end of the run shown, ascending.
    pub fn blocked(&self) -> impl Iterator<Item = Waiting> + '_ {
        (0..self.visits.n_blocks() as u32).filter_map(|n| self.waiting(n))
    }

    /// The best CTA to begin an explanation with: the blocked CTA with the smallest index whose wait no other CTA could
    /// end, because the current turn has no owner or the awaited value has passed. If there is none, the first blocked
    /// CTA.
    pub fn first_blocked(&self) -> Option<Waiting> {
        let root =
            |waiting: &Waiting| matches!(self.reason(waiting), Reason::NoOwner | Reason::Passed);
        let found = self.blocked().find(root);
        found.or_else(|| self.blocked().next())
    }

    /// The chain of waits that begins with this one.
    pub fn chain(&self, from: Waiting) -> Vec<Link> {
        let mut chain: Vec<Link> = Vec::new();
        let mut waiting = from;
        loop {
            let mut reason = self.reason(&waiting);
            let next = match reason {
                Reason::Blocked(n) => self.waiting(n),
                _ => None,
            };
            let known = next.is_some_and(|next| {
                next == waiting || chain.iter().any(|link| link.waiting == next)
            });
            if let (true, Reason::Blocked(n)) = (known, reason) {
                reason = Reason::Cycle(n);
            }
            chain.push(Link { waiting, reason });
            match next {
                Some(next) if !known => waiting = next,
                _ => return chain,
            }
        }
    }

    /// Why no visitor lets a CTA pass.
    pub fn reason(&self, waiting: &Waiting) -> Reason {
        let state = &self.shown.state;
        if waiting.now > waiting.wants {
            return match waiting.wants < 0 {
                true => Reason::NoOwner,
                false => Reason::Passed,
            };
        }
        let is_owner = |turn: &&Turn| turn.lock == waiting.now && !state.is_taken(turn);
        match self.turns.at(waiting.m as usize).iter().find(is_owner) {
            None => Reason::NoOwner,
            Some(turn) => match state.progress(turn.n as usize) {
                Some(_) => Reason::Blocked(turn.n),
                None => Reason::NotStarted(turn.n),
            },
        }
    }
}
