//! Executes a loop one iteration after the other, if every branch is decided.

use std::collections::BTreeSet;

use super::cycle::Loop;
use super::walk::Walker;
use super::walk::only_accesses;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::both;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::value::Value;

/// Iterations that are written out one by one.
const MOST_UNROLLED: usize = 64;

impl Walker<'_, '_, '_> {
    /// Writes the iterations out, while each one is known to follow. Lanes may leave one by one, as
    /// long as they do nothing but read and write.
    pub fn unrolled(&mut self, one: &Loop, state: &State) -> Option<(State, Vec<Statement>)> {
        self.numbers.push(None);
        let done = self.one_by_one(one, state);
        self.numbers.pop();
        done
    }

    fn one_by_one(&mut self, one: &Loop, state: &State) -> Option<(State, Vec<Statement>)> {
        let mut state = state.clone();
        let mut out = Vec::new();
        let mut left: Vec<State> = Vec::new();
        for _ in 0..MOST_UNROLLED {
            state = self
                .region(one.header, one.leaving, Some(one.header), state, &mut out)
                .ok()?;
            self.block(one.leaving, &mut state, &mut out).ok()?;
            match self.again(one, &mut state) {
                Value::Same(Condition::Constant(false)) => {
                    if !left.is_empty() && (state.vague || !only_accesses(&out)) {
                        return None;
                    }
                    let at = self.place(one.header).0;
                    return Some((rejoined(state, &left, at), out));
                }
                Value::Same(Condition::Constant(true)) => {}
                Value::Mask(mask) => {
                    let mut done = state.clone();
                    done.active = state.active & !mask;
                    left.push(done);
                    state.active &= mask;
                }
                _ => return None,
            }
            state = self
                .region(one.inside, one.header, None, state, &mut out)
                .ok()?;
        }
        None
    }

    /// The first block after a loop that is on every path from an exit.
    pub fn behind_loop(&self, header: usize, blocks: &BTreeSet<usize>) -> Option<usize> {
        let mut join = self.flow.join(header);
        while let Some(block) = join {
            if !blocks.contains(&block) {
                break;
            }
            join = self.flow.join(block);
        }
        join
    }

    /// Goes through a loop one iteration after the other, whatever its shape, up to where all ways
    /// out meet. Fails where it goes on for too long.
    pub fn written_through(
        &mut self,
        header: usize,
        blocks: &BTreeSet<usize>,
        state: &State,
        out: &mut Vec<Statement>,
    ) -> Option<(usize, State)> {
        if self.unrolling.iter().any(|(other, _)| *other == header) {
            return None;
        }
        let join = self.behind_loop(header, blocks)?;
        let depth = self.depth;
        let assumed = self.machine.assumptions.clone();
        let before = self.groups;
        let mut statements = Vec::new();
        self.unrolling.push((header, 0));
        self.numbers.push(None);
        let after = self.region(header, join, None, state.clone(), &mut statements);
        self.unrolling.pop();
        self.numbers.pop();
        match after {
            Ok(after) => {
                out.extend(statements);
                Some((join, after))
            }
            Err(_) => {
                self.depth = depth;
                self.groups = before;
                *self.machine.assumptions = assumed;
                None
            }
        }
    }

    /// Whether a loop that is followed one iteration after the other begins with this block.
    pub fn begins_again(&mut self, block: usize) -> Result<bool, Obstacle> {
        let at = self.place(block).0;
        let Some((_, times)) = self
            .unrolling
            .iter_mut()
            .find(|(header, _)| *header == block)
        else {
            return Ok(false);
        };
        *times += 1;
        if *times > MOST_UNROLLED {
            return Err(Obstacle::new(
                at,
                "this loop runs too often to be written out",
            ));
        }
        Ok(true)
    }
}

/// What is known where lanes meet again that have left a loop one after the other.
fn rejoined(last: State, left: &[State], at: usize) -> State {
    let mut all = last;
    for state in left.iter().rev() {
        for (slot, other) in all.registers.iter_mut().zip(&state.registers) {
            if slot != other {
                *slot = Value::by_lane(state.active, other, slot, at).together();
            }
        }
        all.active |= state.active;
        all.apart = both(all.apart, state.apart);
        all.touched |= state.touched;
        all.held = all.held.filter(|held| state.held == Some(*held));
        all.relinquished |= state.relinquished;
        all.arrivals.retain(|a| state.arrivals.contains(a));
    }
    all
}
