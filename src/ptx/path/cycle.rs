//! Chooses how to execute a loop: as a function of its iteration number (`induction.rs`), or one iteration after the
//! other. Some loops are given up.

use std::collections::BTreeSet;

use super::exits::Several;
use super::walk::Walker;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Rule;
use crate::ptx::warp::statement::Statement;

/// A loop: where it begins, its blocks, the one that leaves it, and where that goes.
pub(in crate::ptx) struct Loop {
    pub header: usize,
    pub blocks: BTreeSet<usize>,
    pub leaving: usize,
    pub inside: usize,
    pub outside: usize,
    /// The exits, if there are several. They join outside the loop.
    pub ways: Option<Several>,
}

type Next = Result<(usize, State), Obstacle>;

impl Walker<'_, '_, '_> {
    /// Goes through a loop.
    pub fn cycle(&mut self, header: usize, state: State, out: &mut Vec<Statement>) -> Next {
        let blocks = self.flow.loops.get(&header).cloned().unwrap_or_default();
        let mut entered = state;
        let kept = self.without_tests(&blocks, &mut entered);
        let number = |index: &usize| Register(u32::try_from(*index).unwrap_or(u32::MAX));
        let tested = kept.iter().map(|(index, _)| number(index)).collect();
        if !kept.is_empty() && self.keeps_going(tested, &blocks) {
            let reason = "how often this loop runs depends on a test of an mbarrier before it";
            return Err(Obstacle::new(self.place(header).0, reason));
        }
        let (next, mut after) = self.through(header, blocks, entered, out)?;
        for (index, value) in kept {
            if let Some(slot) = after.registers.get_mut(index) {
                *slot = value;
            }
        }
        Ok((next, after))
    }

    fn through(
        &mut self,
        header: usize,
        blocks: BTreeSet<usize>,
        state: State,
        out: &mut Vec<Statement>,
    ) -> Next {
        let mut ways = Vec::new();
        for block in &blocks {
            for next in self.flow.next(*block) {
                if !blocks.contains(&next) {
                    ways.push((*block, next));
                }
            }
        }
        let touching = self.touching(&blocks);
        let at = self.place(header).0;
        if self.rounds.contains(&header) {
            return Err(Obstacle::new(at, "two loops begin at the same place"));
        }
        let mut state = state;
        // Whose arrival was the last is not known after a loop that arrives, nor in its rounds.
        if self.arrives(&blocks) {
            state.arrivals.clear();
        }
        if let [(leaving, outside)] = ways.as_slice() {
            let inside = self.flow.next(*leaving);
            let inside = inside.into_iter().find(|b| blocks.contains(b));
            let one = Loop {
                header,
                leaving: *leaving,
                inside: inside.unwrap_or(header),
                outside: *outside,
                ways: None,
                blocks,
            };
            let depth = self.depth;
            self.rounds.push(header);
            if let Some(after) = self.polled(&one, &state, out) {
                self.rounds.pop();
                return Ok((one.outside, after));
            }
            let followed = self.followed_loop(&one, &state, out);
            self.rounds.pop();
            match followed {
                Ok(after) => return Ok((one.outside, after)),
                // What is undefined whatever else happens is not left out with the loop.
                Err(obstacle) if touching || obstacle.rule == Some(Rule::Together) => {
                    self.depth = depth;
                    if let Some((decided, statement)) = self.backs_off(&one, &state) {
                        let own = BTreeSet::new();
                        let after = self.waited_for(&one, &state, &statement, (&decided, &own));
                        out.push(statement);
                        return Ok((one.outside, after));
                    }
                    return self
                        .written_through(header, &one.blocks, &state, out)
                        .ok_or(obstacle);
                }
                Err(_) if self.endless(&one.blocks) => {
                    let reason = "no round of this loop changes the condition that ends it: it may never end";
                    return Err(Obstacle::new(at, reason));
                }
                Err(_) => self.depth = depth,
            }
            let mut after = state;
            let reason = "it changes in a loop that is not followed";
            self.none_leaves(&one.blocks, at, reason)?;
            self.give_up(&one.blocks, at, reason, &mut after);
            return Ok((one.outside, after));
        }
        if touching {
            if let Some(next) = self.written_through(header, &blocks, &state, out) {
                return Ok(next);
            }
            if let Some(followed) = self.left_anywhere(header, &blocks, &state, out) {
                return followed;
            }
            let reason = if self.data {
                "a loop with synchronization or shared memory is left in more than one place"
            } else {
                "a loop with synchronization is left in more than one place"
            };
            let at = ways
                .first()
                .and_then(|(b, _)| self.last(*b))
                .map_or(at, |i| i.at);
            return Err(Obstacle::new(at, reason));
        }
        if self.endless(&blocks) {
            let reason =
                "no round of this loop changes the condition that ends it: it may never end";
            return Err(Obstacle::new(at, reason).misused());
        }
        let Some(join) = self.behind_loop(header, &blocks) else {
            return Err(Obstacle::new(at, "this loop may never end").misused());
        };
        let between = self.flow.between(header, join);
        if self.touching(&between) {
            if let Some(followed) = self.left_anywhere(header, &blocks, &state, out) {
                return followed;
            }
            let reason = "where this loop is left decides about synchronization";
            return Err(Obstacle::new(at, reason));
        }
        let mut after = state;
        let reason = "it changes in a loop that is not followed";
        self.none_leaves(&between, at, reason)?;
        self.give_up(&between, at, reason, &mut after);
        Ok((join, after))
    }

    /// Goes through a loop that is left in several places.
    fn left_anywhere(
        &mut self,
        header: usize,
        blocks: &BTreeSet<usize>,
        state: &State,
        out: &mut Vec<Statement>,
    ) -> Option<Next> {
        let outside = self.behind_loop(header, blocks)?;
        let ways = match self.several(header, blocks) {
            Ok(ways) => ways,
            Err(obstacle) => return Some(Err(obstacle)),
        };
        let one = Loop {
            header,
            leaving: ways.decides_last(),
            inside: header,
            outside,
            ways: Some(ways),
            blocks: blocks.clone(),
        };
        let depth = self.depth;
        let assumed = self.machine.assumptions.clone();
        let guessing = self.machine.guessing;
        let (inside, around) = (self.inside.len(), self.around.len());
        self.rounds.push(header);
        let followed = self.summarized(&one, state);
        self.rounds.pop();
        self.machine.guessing = guessing;
        Some(match followed {
            Ok((after, statements)) => {
                out.extend(statements);
                Ok((outside, after))
            }
            Err(obstacle) => {
                self.depth = depth;
                self.inside.truncate(inside);
                self.around.truncate(around);
                *self.machine.assumptions = assumed;
                Err(obstacle)
            }
        })
    }

    fn arrives(&self, blocks: &BTreeSet<usize>) -> bool {
        let mut code = blocks.iter().flat_map(|b| self.code(*b));
        code.any(|i| i.opcode.starts_with("mbarrier.arrive") || i.opcode.starts_with("call"))
    }

    fn followed_loop(
        &mut self,
        one: &Loop,
        state: &State,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        let depth = self.depth;
        let first = match self.as_function(one, state) {
            Ok((after, statements)) => {
                out.extend(statements);
                return Ok(after);
            }
            Err(obstacle) => obstacle,
        };
        self.depth = depth;
        if let Some((after, statements)) = self.unrolled(one, state) {
            out.extend(statements);
            return Ok(after);
        }
        self.depth = depth;
        if self.touching(&one.blocks)
            && let Some((after, statements)) = self.rehearsed(one, state)
        {
            out.extend(statements);
            return Ok(after);
        }
        self.depth = depth;
        if self.touching(&one.blocks)
            && let Some((after, statements)) = self.begun(one, state)
        {
            out.extend(statements);
            return Ok(after);
        }
        self.depth = depth;
        Err(first)
    }

    /// Follows a loop as a function of its iteration.
    pub(super) fn as_function(
        &mut self,
        one: &Loop,
        state: &State,
    ) -> Result<(State, Vec<Statement>), Obstacle> {
        let assumed = self.machine.assumptions.clone();
        let guessing = self.machine.guessing;
        let summary = self.summarized(one, state);
        self.machine.guessing = guessing;
        if summary.is_err() {
            *self.machine.assumptions = assumed;
        }
        summary
    }

    pub(super) fn trouble(&self, one: &Loop, why: &str) -> Obstacle {
        let at = self.last(one.leaving).map_or(0, |i| i.at);
        Obstacle::new(at, why)
    }
}
