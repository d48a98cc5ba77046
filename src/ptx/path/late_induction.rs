//! Peels loops whose registers change by a constant step, or periodically, only after some first iterations. For
//! example, a ring advances by one more stage in the second iteration. The first iterations are written before the loop
//! as nested branches. The remaining loop is treated like any other.

use super::cycle::Loop;
use super::rehearse::Entry;
use super::walk::Walker;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// How many iterations are written in front of a loop.
const MOST_FIRST: usize = 8;

/// How many iterations are followed to see how many are first ones.
const MOST_FOLLOWED: usize = 40;

impl Walker<'_, '_, '_> {
    /// Follows a loop with its first iterations in front of it.
    pub fn begun(&mut self, one: &Loop, state: &State) -> Option<(State, Vec<Statement>)> {
        // Inside of another loop it would be done again in each round that is followed of that.
        if self.asks || one.ways.is_some() || self.rounds.len() > 1 {
            return None;
        }
        let (depth, groups) = (self.depth, self.groups);
        let assumed = self.machine.assumptions.clone();
        let numbers = self.numbers.len();
        let first = self.first_ones(one, state);
        self.depth = depth;
        self.machine.assumptions.clone_from(&assumed);
        let mut statements = Vec::new();
        match self.in_front(one, state.clone(), first?, &mut statements) {
            Ok(after) => Some((after, statements)),
            Err(_) => {
                self.depth = depth;
                self.groups = groups;
                self.numbers.truncate(numbers);
                *self.machine.assumptions = assumed;
                None
            }
        }
    }

    /// After how many iterations everything that is known goes on evenly or comes around.
    fn first_ones(&mut self, one: &Loop, state: &State) -> Option<usize> {
        let entry = Entry::of(&self.written(&one.blocks), state)?;
        let mut seen = vec![entry.first()?];
        for _ in 0..MOST_FOLLOWED {
            let depth = self.depth;
            let next = self.next_of(one, state, seen.last()?);
            self.depth = depth;
            let next = next?;
            // What is not known by its value any more would only grow from here on.
            let plain = |value: &Integer| value.constants().is_some();
            let first = seen.first()?;
            let grows = |(register, value): (&Register, &Integer)| {
                first.get(register).is_some_and(plain) && !plain(value)
            };
            if next.iter().any(grows) {
                return None;
            }
            seen.push(next);
            self.rehearse()?;
        }
        let registers = seen.first()?.keys();
        let first = registers.filter_map(|register| {
            let values = seen
                .iter()
                .map(|now| now.get(register)?.constants().map(|lanes| lanes[0]));
            values.collect::<Option<Vec<i128>>>()
        });
        let first = first.map(|values| begins_to_come_around(&values)).max()?;
        // From the second round on the warp has the registers that the first one has left it.
        let moves = one.blocks.iter().flat_map(|block| self.code(*block));
        let moves = moves.filter(|i| i.parts().next() == Some("setmaxnreg"));
        let first = first.max(moves.count().min(1));
        (1..=MOST_FIRST).contains(&first).then_some(first)
    }

    fn in_front(
        &mut self,
        one: &Loop,
        mut state: State,
        first: usize,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        if first == 0 {
            // As at the beginning of any loop, what an iteration leaves to the next one is not what the first one finds.
            state.arrivals.clear();
            if !self.without_tests(&one.blocks, &mut state).is_empty() {
                return Err(self.trouble(one, "a loop begins with a test of an mbarrier"));
            }
            let depth = self.depth;
            let (after, statements) = match self.as_function(one, &state) {
                Ok(done) => done,
                Err(obstacle) => {
                    self.depth = depth;
                    self.rehearsed(one, &state).ok_or(obstacle)?
                }
            };
            out.extend(statements);
            return Ok(after);
        }
        self.numbers.push(None);
        let decided = self.region(one.header, one.leaving, Some(one.header), state, out);
        self.numbers.pop();
        let mut decided = decided?;
        self.block(one.leaving, &mut decided, out)?;
        let (Value::Same(again), Some(instruction)) =
            (self.again(one, &mut decided), self.last(one.leaving))
        else {
            return Err(self.trouble(one, "how often this loop runs is not followed"));
        };
        self.either(
            again,
            decided,
            instruction,
            out,
            &mut |walker, holds, side, out| {
                if !holds {
                    return Ok(side);
                }
                walker.numbers.push(None);
                let ended = walker.region(one.inside, one.header, None, side, out);
                walker.numbers.pop();
                walker.in_front(one, ended?, first - 1, out)
            },
        )
    }
}

/// The first place from which on numbers go on by the same step, or come around, at least twice.
fn begins_to_come_around(values: &[i128]) -> usize {
    let even = |rest: &[i128]| rest.windows(3).all(|w| w[1] - w[0] == w[2] - w[1]);
    let around = |rest: &[i128]| {
        let around = |period: &usize| (*period..rest.len()).all(|i| rest[i] == rest[i - period]);
        (1..=rest.len() / 2).any(|period| around(&period))
    };
    let goes_on = |start: &usize| {
        let rest = values.get(*start..).unwrap_or_default();
        even(rest) || around(rest)
    };
    (0..values.len()).find(goes_on).unwrap_or(values.len())
}
