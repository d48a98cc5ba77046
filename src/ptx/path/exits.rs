//! Loops with several exits.
//!
//! An iteration that is not the last takes no exit. So it is executed symbolically with the exit edges removed, and the
//! conditions under which it stays inside are collected: the loop continues as long as all of them hold. The last iteration is
//! executed separately, with the back edges removed. It takes one of the exits. In the protocol this is a branch after the loop.
//!
//! The collected conditions are complete only if the execution reaches each exit. A branch or an inner loop that is skipped,
//! because it does not seem to matter, must not contain an exit.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::cycle::Loop;
use super::flow::End;
use super::flow::Flow;
use super::walk::Walker;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::value::Value;

/// The exits of a loop, and the control flow of its iterations.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Several {
    /// One iteration that is not the last: it ends where the function does.
    inner: Rc<Flow>,
    /// The last iteration, and what comes after the loop.
    last: Rc<Flow>,
    /// The blocks that decide, and whether they leave where their branch is taken.
    exits: BTreeMap<usize, bool>,
}

/// An iteration that is being executed without its exits.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Inside {
    exits: BTreeMap<usize, bool>,
    /// How many conditions there were around where it began.
    around: usize,
    lanes: u32,
    /// What keeps it inside.
    stays: Condition,
}

impl Several {
    /// The last block that decides whether the loop is left.
    pub fn decides_last(&self) -> usize {
        self.exits.keys().last().copied().unwrap_or(0)
    }
}

impl Walker<'_, '_, '_> {
    /// The exits of a loop, if each of them leaves this loop only.
    pub fn several(&self, header: usize, blocks: &BTreeSet<usize>) -> Result<Several, Obstacle> {
        let mut exits = BTreeMap::new();
        for block in blocks {
            let Some(End::Branch(yes, no)) = self.flow.blocks.get(*block).map(|b| b.end) else {
                continue;
            };
            if blocks.contains(&yes) && blocks.contains(&no) {
                continue;
            }
            let mut inner = self.flow.loops.iter();
            if inner.any(|(other, all)| {
                *other != header && blocks.contains(other) && all.contains(block)
            }) {
                let at = self.last(*block).map_or(0, |i| i.at);
                let reason = "this leaves two loops at once";
                return Err(Obstacle::new(at, reason));
            }
            exits.insert(*block, !blocks.contains(&yes));
        }
        let function = self.machine.function;
        let end = self.flow.exit();
        let inner = self.flow.with(function, &|block, way| match way {
            _ if !blocks.contains(&block) => Some(way),
            way if way == header => Some(end),
            way => blocks.contains(&way).then_some(way),
        })?;
        let leaving = self.leaving(header, blocks);
        let last = self.flow.with(function, &|block, way| match way {
            _ if !blocks.contains(&block) => Some(way),
            way => (!blocks.contains(&way) || leaving.contains(&way)).then_some(way),
        })?;
        Ok(Several {
            inner: Rc::new(inner),
            last: Rc::new(last),
            exits,
        })
    }

    /// The blocks of a loop from which it can be left without beginning again.
    fn leaving(&self, header: usize, blocks: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        loop {
            let before = found.len();
            for block in blocks {
                let mut ways = self.flow.next(*block).into_iter();
                if ways.any(|to| !blocks.contains(&to) || to != header && found.contains(&to)) {
                    found.insert(*block);
                }
            }
            if found.len() == before {
                found.remove(&header);
                return found;
            }
        }
    }

    /// Follows an iteration that is not the last. Returns what keeps it inside, too.
    pub fn stays_inside(
        &mut self,
        header: usize,
        ways: &Several,
        state: State,
        out: &mut Vec<Statement>,
    ) -> Result<(State, Condition), Obstacle> {
        let flow = std::mem::replace(&mut self.flow, Rc::clone(&ways.inner));
        self.inside.push(Inside {
            exits: ways.exits.clone(),
            around: self.around.len(),
            lanes: state.active,
            stays: Condition::Constant(true),
        });
        let end = self.flow.exit();
        let after = self.region(header, end, Some(header), state, out);
        let stays = self.inside.pop().map(|inside| inside.stays);
        self.flow = flow;
        Ok((after?, stays.unwrap_or(Condition::Constant(true))))
    }

    /// Notes that an iteration does not take the exit after this block.
    pub fn not_left(&mut self, block: usize, state: &mut State) -> Result<(), Obstacle> {
        let found = self.inside.last();
        let Some((taken, lanes, around)) = found.and_then(|inside| {
            let taken = *inside.exits.get(&block)?;
            Some((taken, inside.lanes, inside.around))
        }) else {
            return Ok(());
        };
        let Some(instruction) = self.last(block) else {
            return Ok(());
        };
        let value = self.guard(instruction, state);
        let value = if taken { value } else { value.negated() };
        let mut obstacle = Obstacle::new(instruction.at, "");
        let condition = match value {
            Value::Same(condition) => condition,
            Value::Lost(loss) => {
                obstacle.from = Some(loss.at);
                obstacle.reason = format!("where this loop is left is not known: {}", loss.why);
                return Err(obstacle);
            }
            _ => {
                obstacle.reason =
                    "lanes of one warp leave this loop in different places".to_owned();
                return Err(obstacle);
            }
        };
        if self.reads(&condition) || condition.tests() {
            obstacle.reason = "where this loop is left depends on memory that is read".to_owned();
            return Err(obstacle);
        }
        if state.active != lanes || state.vague {
            obstacle.reason = "only some lanes of the warp leave this loop here".to_owned();
            return Err(obstacle);
        }
        state.facts.assume(&condition.negated());
        let mut left = condition;
        for around in self.around.iter().skip(around) {
            left = around.clone().and(left);
        }
        if let Some(inside) = self.inside.last_mut() {
            inside.stays = inside.stays.clone().and(left.negated());
        }
        Ok(())
    }

    /// Refuses skipped blocks with an exit of a loop among them. The exit edge is removed, so they would seem to have none.
    pub fn none_leaves(
        &self,
        blocks: &BTreeSet<usize>,
        from: usize,
        why: &str,
    ) -> Result<(), Obstacle> {
        let found = self.inside.iter().find_map(|inside| {
            let mut exits = inside.exits.keys();
            exits.find(|block| blocks.contains(block))
        });
        let Some(block) = found else {
            return Ok(());
        };
        let at = self.last(*block).map_or(from, |i| i.at);
        let reason = format!("where this loop is left is not known: {why}");
        let mut obstacle = Obstacle::new(at, reason);
        obstacle.from = Some(from);
        Err(obstacle)
    }

    /// Executes the last iteration, up to the block at which all exits join.
    pub fn last_round(
        &mut self,
        one: &Loop,
        ways: &Several,
        state: State,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        let flow = std::mem::replace(&mut self.flow, Rc::clone(&ways.last));
        let after = self.region(one.header, one.outside, Some(one.header), state, out);
        self.flow = flow;
        after
    }
}
