//! Reverses jump threading. A condition on the launch may be tested on one side of a branch and again after it, as in
//! `if (lane == 0) for (i = 0; i < n; i++) ..; for (i = 0; i < n; i++) ..`. Compilers then let the first test jump directly to
//! the target of the second test. After that the sides of the branch no longer join where they did, and their common code
//! seems to be on both sides.
//!
//! The condition depends on the launch only, so it has the same value for all lanes and at all times. So a case split decides
//! it before the branch: the branch is executed once with the condition true and once with it false, each time without the
//! edge that is not taken then. This is sound if the test is not reached again before the sides have finally joined.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::flow::End;
use super::lanes::Ways;
use super::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::value::Value;

/// A test on one side of a branch that may go past what both sides have in common.
pub(in crate::ptx) struct Test {
    block: usize,
    /// Where it goes if the condition holds, and where if not.
    ways: [usize; 2],
    condition: Condition,
}

impl<'m> Walker<'_, 'm, '_> {
    /// The test by which one of two sides that have blocks in common goes past these.
    pub fn tested_beside(
        &mut self,
        (yes, no, join): Ways,
        parts: &[(u32, Condition)],
        state: &State,
    ) -> Option<Test> {
        let sides = [yes, no].map(|way| self.flow.between(way, join));
        let common: BTreeSet<usize> = sides[0].intersection(&sides[1]).copied().collect();
        let plain = self.unrolling.is_empty() && self.inside.is_empty();
        if !plain || !self.touching(&common) {
            return None;
        }
        let assumed = self.machine.assumptions.clone();
        let (arrived, groups, unfinished) = (self.arrival_counts.met, self.groups, self.unfinished);
        let mut found = None;
        for (way, taken) in [(yes, true), (no, false)] {
            let lanes = parts.iter().filter_map(|(lanes, c)| match c {
                Condition::Constant(c) if *c == taken => Some(lanes & state.active),
                _ => None,
            });
            let side = state.narrowed(lanes.fold(0, |all, lanes| all | lanes));
            if side.active != 0 && found.is_none() {
                found = self.first_test(way, join, &common, side);
            }
        }
        (self.arrival_counts.met, self.groups, self.unfinished) = (arrived, groups, unfinished);
        // What the test says may be so only under what was assumed on the way.
        if found.is_none() {
            *self.machine.assumptions = assumed;
        }
        found
    }

    /// The first test on the path from a block, if one of its successors avoids these blocks.
    fn first_test(
        &mut self,
        from: usize,
        join: usize,
        avoided: &BTreeSet<usize>,
        mut state: State,
    ) -> Option<Test> {
        let mut block = from;
        while block != join && !avoided.contains(&block) && !self.flow.loops.contains_key(&block) {
            self.block(block, &mut state, &mut Vec::new()).ok()?;
            let (yes, no) = match self.flow.blocks.get(block)?.end {
                End::Goto(next) => {
                    block = next;
                    continue;
                }
                End::Branch(yes, no) => (yes, no),
            };
            let past = |way: usize| self.flow.between(way, join).is_disjoint(avoided);
            if past(yes) == past(no) {
                return None;
            }
            let instruction = self.last(block)?;
            let Value::Same(condition) = self.guard(instruction, &mut state) else {
                return None;
            };
            let known = matches!(condition, Condition::Constant(_));
            return (!known && !condition.tests() && !self.reads(&condition)).then_some(Test {
                block,
                ways: [yes, no],
                condition,
            });
        }
        None
    }

    /// Follows a branch with the outcome of a test on one of its sides decided before.
    pub fn unthreaded(
        &mut self,
        test: &Test,
        (block, (yes, no, join)): (usize, Ways),
        state: State,
        instruction: &Instruction<'m>,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        let follow = &mut |walker: &mut Self, holds: bool, side, out: &mut Vec<Statement>| {
            let [taken, other] = test.ways;
            let cut = if holds { other } else { taken };
            let function = walker.machine.function;
            let decided = walker.flow.with(function, &|from, way| {
                (from != test.block || way != cut).then_some(way)
            })?;
            let flow = std::mem::replace(&mut walker.flow, Rc::new(decided));
            let after = walker
                .branch(block, yes, no, side, out)
                .and_then(|(next, after)| walker.region(next, join, None, after, out));
            walker.flow = flow;
            after
        };
        self.either(test.condition.clone(), state, instruction, out, follow)
    }
}
