//! Branches that all lanes take alike: both sides are walked, and what comes of them depends on the condition.

use std::collections::BTreeSet;

use super::Path;
use super::Purpose;
use super::Result;
use super::Walker;
use super::acts;
use super::refuse;
use crate::ir::BlockId;
use crate::ir::Location;
use crate::ir::Operand;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::recover::noted::Between;
use crate::recover::noted::note;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Statement;
use crate::recover::tree::Test;
use crate::recover::tree::Undecided;
use crate::recover::tree::not_known;
use crate::recover::tree::refuse_undecided;

impl Walker<'_> {
    /// A branch that all lanes take alike, as a term says.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn choice(
        &mut self,
        term: TermId,
        then: BlockId,
        otherwise: BlockId,
        join: Option<BlockId>,
        path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
        location: &Location,
    ) -> Result<Option<(BlockId, Path)>> {
        // What has been decided since the loop began is not asked again.
        match self.decided(term, path.condition) {
            Some(true) => return Ok(Some((then, path))),
            Some(false) => return Ok(Some((otherwise, path))),
            None => {}
        }
        let events = *self.events;
        let (merged, [first, second]) =
            self.both_answers(term, path, |walker, answer, side, out| {
                let to = if answer { then } else { otherwise };
                walker.region(to, join, side, out, depth + 1)
            })?;
        // Lanes may take such a branch differently, so that both sides doing the same is not the same.
        if self.purpose == Purpose::Together {
            *self.trusts_memory |= self.is_opaque(term);
        } else if self.looking.is_some() && !first.iter().chain(&second).any(acts) {
            // What a look has found may end the loop around it.
        } else if self.is_opaque(term) && !(first.is_empty() && second.is_empty()) {
            let what = not_known(term, self.terms, self.loaded);
            return refuse_undecided(Undecided::Branch, &what, location);
        }
        if first == second && first.iter().any(acts) {
            self.assume_alike(term, location);
        }
        self.decide(term, first, second, events, out, location)?;
        let (Some(path), Some(join)) = (merged, join) else {
            return Ok(None);
        };
        Ok(Some((join, path)))
    }

    /// What comes of a path where a term holds and where it does not, and what is done on the two sides.
    pub(super) fn both_answers(
        &mut self,
        term: TermId,
        path: Path,
        mut side: impl FnMut(&mut Self, bool, Path, &mut Vec<Statement>) -> Result<Option<Path>>,
    ) -> Result<(Option<Path>, [Vec<Statement>; 2])> {
        let condition = path.condition;
        let perhaps = path.position.perhaps;
        let mut path = path;
        path.position.perhaps = true;
        let not = self.terms.not(&term);
        let mut yes = path.clone();
        yes.condition = self.terms.binary(Binary::And, &condition, &term);
        let mut no = path;
        no.condition = self.terms.binary(Binary::And, &condition, &not);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let events = *self.events;
        let one = side(self, true, yes, &mut first)?;
        let between = *self.events;
        let open = self.noted.side((events, between));
        let two = side(self, false, no, &mut second);
        self.noted.joined(open);
        let two = two?;
        self.noted.choice(term, events, between, *self.events);
        let merged = match (one, two) {
            (Some(one), Some(two)) => {
                let mut path = self.chosen(term, one, two);
                path.condition = condition;
                path.position.perhaps = perhaps;
                Some(path)
            }
            (one, two) => one.or(two),
        };
        Ok((merged, [first, second]))
    }

    /// A branch whose lanes ask for several things, each of them the same for every lane that asks: once for each answer. With
    /// `asks`, the answer is kept for the branches below.
    pub(super) fn by_cases(
        &mut self,
        (case, asks): (TermId, bool),
        (at, condition, then, otherwise): (BlockId, Operand, BlockId, BlockId),
        path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
        location: &Location,
    ) -> Result<Option<(BlockId, Path)>> {
        let join = self.join(at);
        let events = *self.events;
        let mut behind = BTreeSet::new();
        let (merged, [first, second]) =
            self.both_answers(case, path, |walker, answer, side, out| {
                let known = walker.answers.len();
                if asks {
                    walker.answers.push((case, answer));
                }
                let end = walker.side(join, (at, condition, then, otherwise), side, out, depth);
                walker.answers.truncate(known);
                let end = end?;
                behind.extend(end.iter().map(|end| (end.mask, end.exited)));
                Ok(end)
            })?;
        if behind.len() > 1 {
            return refuse(
                "which lanes come behind a branch depends on the launch",
                location,
            );
        }
        self.decide(case, first, second, events, out, location)?;
        Ok(merged.and_then(|path| join.map(|join| (join, path))))
    }

    /// What comes of a branch in one case.
    fn side(
        &mut self,
        join: Option<BlockId>,
        (at, condition, then, otherwise): (BlockId, Operand, BlockId, BlockId),
        path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<Option<Path>> {
        let to = self.branch(at, condition, then, otherwise, path, out, depth + 1)?;
        let Some((to, path)) = to else {
            return Ok(None);
        };
        let end = self.region(to, join, path, out, depth + 1)?;
        match (join, end) {
            // Which lanes come to the end differs between the cases, and does not matter.
            (Some(join), Some(end)) if self.ends(join, Some(join)) => {
                self.region(join, None, end, out, depth + 1)
            }
            (_, end) => Ok(end),
        }
    }

    /// Writes an `if`, or a wait where the condition is the outcome of a test. `events` is how many events there were before
    /// the branch.
    pub(super) fn decide(
        &mut self,
        term: TermId,
        first: Vec<Statement>,
        second: Vec<Statement>,
        events: u64,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> Result<()> {
        if first == second {
            self.decided_by.insert(term);
            out.extend(first);
            return Ok(());
        }
        // A side that only aborts the kernel is never taken.
        let (test, passed, failed) = match self.terms.node(term) {
            Node::Atom(Atom::Test(test)) => (Some(*test), &first, &second),
            Node::Not(inner) => match self.terms.node(*inner) {
                Node::Atom(Atom::Test(test)) => (Some(*test), &second, &first),
                _ => (None, &first, &second),
            },
            _ => (None, &first, &second),
        };
        if let Some(test) = test.filter(|_| self.purpose == Purpose::Events) {
            let Test {
                awaited,
                events: then,
                ..
            } = self.tests[test as usize].clone();
            if let [Statement::Event(event), rest @ ..] = failed.as_slice()
                && event.kind == awaited.event()
                && rest == passed.as_slice()
            {
                if then != events {
                    let spared = (location.clone(), event.location.clone());
                    self.noted.decides(spared.clone(), then, events);
                    note(self.spared, spared, Some(Between::default()));
                }
                out.extend(failed.clone());
                return Ok(());
            }
            return refuse(
                "what is done depends on whether a test of an mbarrier passes",
                location,
            );
        }
        self.noted.branch(events, location);
        out.push(Statement::If {
            condition: term,
            then: first,
            otherwise: second,
            location: location.clone(),
        });
        Ok(())
    }

    /// Whether a path condition decides a term.
    pub(super) fn decided(&self, term: TermId, condition: TermId) -> Option<bool> {
        let mut work = vec![condition];
        while let Some(part) = work.pop() {
            if part == term {
                return Some(true);
            }
            match self.terms.node(part) {
                Node::Not(inner) if *inner == term => return Some(false),
                Node::Binary(Binary::And, a, b) => work.extend([*a, *b]),
                _ => {}
            }
            if let Node::Not(inner) = self.terms.node(term)
                && *inner == part
            {
                return Some(false);
            }
        }
        None
    }
}
