//! Loops that test an mbarrier and sleep for a while if it is not ready yet, as the C++ wrappers have them before
//! `try_wait`: how long they sleep depends on clocks and on how often they have tested.
//!
//! Such a loop is left by a test that succeeds and in no other way, and what it does between two tests ends by itself and
//! tells nobody anything. So whichever of its branches are taken, it waits. Instructions that lanes carry out together are refused:
//! they wait for lanes that may have taken another branch, or have left.

use std::collections::BTreeSet;

use super::cycle::Loop;
use super::lanes::is_exchange;
use super::walk::Walker;
use crate::ptx::operations::instruction::watches;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::value::Value;

impl Walker<'_, '_, '_> {
    /// What such a loop waits for, and what is known when it is left.
    pub fn backs_off(&mut self, one: &Loop, state: &State) -> Option<(State, Statement)> {
        // From the beginning of a round there is one way to where the loop may be left.
        let mut way = vec![one.header];
        while let Some(block) = way.last()
            && *block != one.leaving
        {
            let [next] = self.flow.next(*block)[..] else {
                return None;
            };
            if way.contains(&next) || !one.blocks.contains(&next) {
                return None;
            }
            way.push(next);
        }
        let looks = |i: &Instruction<'_>| i.has("try_wait") || i.has("test_wait");
        let mut tests = Vec::new();
        for block in &one.blocks {
            for instruction in self.code(*block) {
                if looks(instruction) && way.contains(block) && instruction.guard.is_none() {
                    tests.push(instruction);
                } else if self.touches(instruction)
                    || together(instruction)
                    || watches(instruction) && !instruction.has("nanosleep")
                {
                    return None;
                }
            }
        }
        let inner = |(header, blocks): (&usize, &BTreeSet<usize>)| {
            *header != one.header && blocks.is_subset(&one.blocks)
        };
        let [test] = tests[..] else {
            return None;
        };
        if self.flow.loops.iter().any(inner) {
            return None;
        }
        let (at, location) = (test.at, test.location);
        let mut start = state.clone();
        self.give_up(&one.blocks, at, "it changes while waiting", &mut start);
        let mut out = Vec::new();
        for block in way {
            self.block(block, &mut start, &mut out).ok()?;
        }
        let Value::Same(again) = self.again(one, &mut start) else {
            return None;
        };
        let Condition::Passed(test) = again.negated() else {
            return None;
        };
        if !out.is_empty() {
            return None;
        }
        let statement = Statement {
            action: test.wait(),
            at,
            location,
            memory: test.memory,
        };
        Some((start, statement))
    }
}

/// Whether lanes of a warp, or warps, carry an instruction out together, or see who else is there.
fn together(instruction: &Instruction<'_>) -> bool {
    let kinds = ["activemask", "sync", "aligned"];
    is_exchange(instruction) || kinds.iter().any(|kind| instruction.has(kind))
}
