//! Loops that are left in several places. One iteration that is not the last takes none of the ways out, so it is
//! followed with these cut away, and what keeps it inside is noted: the loop begins again as long as all of that
//! holds. The last iteration is followed by itself, with the ways back cut away: one of the ways out is taken in it.
//! Whichever it is, that is a branch after the loop.
//!
//! That is the whole condition only if each of the ways out is come to on the way through the iteration. A branch or a
//! loop inside that is not followed, because nothing in it seems to matter, must have none of them.

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

/// The ways out of a loop, and the control flow of its iterations.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Several {
    /// One iteration that is not the last: it ends where the function does.
    inner: Rc<Flow>,
    /// The last iteration, and what comes after the loop.
    last: Rc<Flow>,
    /// The blocks that decide, and whether they leave where their branch is taken.
    exits: BTreeMap<usize, bool>,
}

/// An iteration that is being followed without its ways out.
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
    /// The ways out of a loop, where each decides about this loop alone.
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

    /// Notes that an iteration does not take the way out after this block.
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

    /// Refuses blocks that are not followed where a loop is left from one of them: the way out is cut away, so they
    /// look as if they came back.
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

    /// Follows the last iteration, up to where all ways out meet.
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
