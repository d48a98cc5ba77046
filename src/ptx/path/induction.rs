//! Induction over the iterations of a loop. An iteration is executed from the guessed state, and has to end in the
//! guessed state of the next iteration. Then it stands for all iterations.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::cycle::Loop;
use super::exits::Several;
use super::flow::End;
use super::forms::Closed;
use super::forms::trips;
use super::guess::Guess;
use super::guess::PROVISIONAL;
use super::stays::asks_no_more;
use super::stays::follows;
use super::walk::Walker;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::both;
use crate::ptx::warp::rewrite::replaced;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// How often a guess is weakened.
const MOST_GUESSES: usize = 12;

/// One iteration up to the decision, and from there to the next.
pub(in crate::ptx) struct Round {
    pub decided: State,
    /// Under which condition another iteration follows.
    pub again: Value,
    pub above: Vec<Statement>,
    pub ended: State,
    pub below: Vec<Statement>,
}

impl Walker<'_, '_, '_> {
    pub(super) fn summarized(
        &mut self,
        one: &Loop,
        state: &State,
    ) -> Result<(State, Vec<Statement>), Obstacle> {
        let guess = self.guessed(one, state)?;
        let mut closed = match guess {
            Guess::Waits(found) => {
                let (statement, decided, own) = *found;
                let after = self.waited_for(one, state, &statement, (&decided, &own));
                return Ok((after, vec![statement]));
            }
            Guess::Closed(closed) => closed,
        };
        let number = self.machine.unknowns.fresh(Meaning::Iteration(0));
        for _ in 0..MOST_GUESSES {
            let depth = self.depth;
            match self.checked(one, state, &closed, number)? {
                Ok(done) => return Ok(done),
                Err(wrong) => {
                    self.depth = depth;
                    for register in wrong {
                        closed.remove(&register);
                    }
                }
            }
        }
        Err(self.trouble(one, "what this loop carries is not followed"))
    }

    /// Follows one iteration.
    pub fn round(
        &mut self,
        one: &Loop,
        state: State,
        rest: &dyn Fn(&mut Facts),
    ) -> Result<Round, Obstacle> {
        let unfinished = self.unfinished;
        self.since = self.machine.unknowns.next();
        if let Some(ways) = &one.ways {
            let (decided, mut below) = (state.clone(), Vec::new());
            let mut start = state;
            rest(&mut start.facts);
            let (ended, stays) = self.stays_inside(one.header, ways, start, &mut below)?;
            if self.unfinished != unfinished {
                let at = self.place(one.header).0;
                self.over(at, "where this loop begins again, ")?;
            }
            return Ok(Round {
                decided,
                again: Value::Same(stays),
                above: Vec::new(),
                ended,
                below,
            });
        }
        let mut above = Vec::new();
        let mut decided =
            self.region(one.header, one.leaving, Some(one.header), state, &mut above)?;
        self.block(one.leaving, &mut decided, &mut above)?;
        let again = self.again(one, &mut decided);
        let mut below = Vec::new();
        let mut start = decided.clone();
        if let Value::Same(condition) = &again {
            start.facts.assume(condition);
        }
        rest(&mut start.facts);
        let ended = self.region(one.inside, one.header, None, start, &mut below)?;
        if self.unfinished != unfinished {
            let at = self.place(one.header).0;
            self.over(at, "where this loop begins again, ")?;
        }
        Ok(Round {
            decided,
            again,
            above,
            ended,
            below,
        })
    }

    pub fn again(&mut self, one: &Loop, state: &mut State) -> Value {
        let Some(instruction) = self.last(one.leaving) else {
            return Value::Same(Condition::Constant(true));
        };
        match self.flow.blocks.get(one.leaving).map(|b| b.end) {
            Some(End::Branch(yes, _)) => {
                let taken = self.guard(instruction, state);
                let value = if yes == one.outside {
                    taken.negated()
                } else {
                    taken
                };
                match value.mask() {
                    Some(mask) if mask & state.active == 0 => {
                        Value::Same(Condition::Constant(false))
                    }
                    Some(mask) if mask & state.active == state.active => {
                        Value::Same(Condition::Constant(true))
                    }
                    _ => value,
                }
            }
            _ => Value::Same(Condition::Constant(true)),
        }
    }

    /// Follows an iteration that begins as guessed. The registers that do not end as guessed are
    /// the inner error.
    #[expect(
        clippy::type_complexity,
        reason = "a guess is right, wrong, or cannot be checked"
    )]
    pub fn checked(
        &mut self,
        one: &Loop,
        state: &State,
        closed: &BTreeMap<Register, Closed>,
        number: Unknown,
    ) -> Result<Result<(State, Vec<Statement>), BTreeSet<Register>>, Obstacle> {
        let written = self.written(&one.blocks).into_iter();
        let written = written.map(|register| (register, self.lanes_of(one, register)));
        let written: BTreeMap<Register, u32> = written.collect();
        let index = Sum::unknown(number);
        let place = self.place(one.header).0;
        let begin = |facts: &Facts| {
            let mut start = state.clone();
            start.facts = facts.clone();
            for (register, lanes) in &written {
                let value = match closed.get(register) {
                    Some(form) => {
                        let begun = form.at(&index, facts);
                        let begun = Integer {
                            sum: begun.sum.earlier(),
                            ..begun
                        };
                        Value::among(*lanes, begun, place)
                    }
                    None => {
                        Value::lost(place, "it changes in a loop in a way that is not followed")
                    }
                };
                if let Some(slot) = start.registers.get_mut(register.0 as usize) {
                    *slot = value;
                }
            }
            start
        };
        // How often, as far as it follows from the guess.
        let mut provisional = state.facts.clone();
        provisional.bound(number, 0, PROVISIONAL);
        let start = begin(&provisional);
        let assumed = self.machine.assumptions.clone();
        let guessing = std::mem::replace(&mut self.machine.guessing, true);
        self.numbers.push(Some(number));
        let round = self.round(one, start, &|_| {});
        self.numbers.pop();
        self.machine.guessing = guessing;
        *self.machine.assumptions = assumed;
        let again = match round?.again {
            Value::Same(condition) => condition,
            Value::Lost(loss) => {
                let mut obstacle = self.trouble(one, "");
                obstacle.from = Some(loss.at);
                obstacle.reason = format!("how often this loop runs is not known: {}", loss.why);
                return Err(obstacle);
            }
            _ => return Err(self.trouble(one, "lanes of one warp run this loop differently often")),
        };
        if self.reads(&again) || again.tests() {
            return Err(self.trouble(
                one,
                "how often this loop runs depends on memory that is read",
            ));
        }
        let Some(times) = trips(&again, number, &state.facts) else {
            return Err(self.trouble(one, "how often this loop runs is not followed"));
        };
        // Now with what is really known of the iteration's number.
        let mut facts = state.facts.clone();
        let most = facts.range(&times).1;
        facts.bound(number, 0, most.max(0));
        facts.assume_positive(&times.minus(&index));
        // What holds of the quotient that says how often, and of products with its divisor.
        for atom in times.terms.keys() {
            if let Atom::Quotient(dividend, divisor) = atom
                && divisor.as_constant().is_none()
            {
                let whole = Sum::atom(atom.clone()).times(divisor);
                facts.assume_positive(&dividend.minus(&whole));
                facts.assume_positive(&times.minus(&index).times(divisor));
            }
        }
        let start = begin(&facts);
        let strictly = |facts: &mut Facts| {
            facts.assume_positive(&times.minus(&index).plus_constant(-1));
        };
        self.numbers.push(Some(number));
        let round = self.round(one, start, &strictly);
        self.numbers.pop();
        let round = round?;
        // Below how often it runs, each of the conditions that keep it inside holds; some may be seen to.
        let stays = match &round.again {
            Value::Same(found) if one.ways.is_some() => asks_no_more(found, &again),
            found => *found == Value::Same(again.clone()),
        };
        if !stays {
            return Err(self.trouble(one, "the condition of this loop may wrap around"));
        }
        // In the last iteration an exit is taken. No value may have wrapped around there, either.
        if one.ways.is_some() {
            self.numbers.push(Some(number));
            let last = self.round(one, begin(&facts), &|_| {});
            self.numbers.pop();
            let left = match last?.again {
                Value::Same(found) => follows(&again, &found, &facts),
                _ => false,
            };
            if !left {
                return Err(self.trouble(one, "the condition of this loop may wrap around"));
            }
        }
        // `setmaxnreg` says how many registers there are from then on: what it takes or gives back is the same in each
        // iteration only if that is so when each begins.
        if [&round.decided, &round.ended]
            .into_iter()
            .any(|s| s.held != state.held)
        {
            let why = "how many registers the warp has is not the same in each round of this loop";
            return Err(self.trouble(one, why));
        }
        let rounds = [&round.decided, &round.ended];
        if !state.relinquished && rounds.into_iter().any(|s| s.relinquished) {
            let why =
                "the permit to allocate tensor memory is given up in a loop, which is not followed";
            return Err(self.trouble(one, why));
        }
        // Lanes that did not wait in one iteration may be ahead in the next, and those that used
        // shared memory may be behind.
        let apart = both(round.ended.apart, state.apart);
        let touched = round.ended.touched | state.touched;
        if apart != state.apart || touched != state.touched {
            let mut ahead = state.clone();
            ahead.apart = apart;
            ahead.touched = touched;
            return self.checked(one, &ahead, closed, number);
        }
        let mut wrong = BTreeSet::new();
        let fields = self.fields(one);
        for (register, form) in closed {
            let expected = form.after(&index, &round.ended.facts);
            let lanes = self.lanes_of(one, *register);
            let held =
                |state: &State| Some(state.registers.get(register.0 as usize)?.of_lanes(lanes));
            let (found, first) = (held(&round.ended), held(state));
            let begins = match &first {
                Some(Value::Integer(entry)) => {
                    let at_start = form.at(&Sum::of(0), &state.facts);
                    entry.lanes == at_start.lanes
                        && (state.facts.same(&entry.sum, &at_start.sum)
                            || state.facts.same_all_around(&entry.sum, &at_start.sum))
                }
                _ => false,
            };
            let ends = match &found {
                Some(Value::Integer(found)) => {
                    let facts = &round.ended.facts;
                    let same = |apart: &i128| {
                        facts.same_in_all_cases(&found.sum, &expected.sum.plus_constant(*apart))
                    };
                    let around: &[i128] = if fields.contains(register) {
                        &[0, 1 << 32, -(1 << 32)]
                    } else {
                        &[0]
                    };
                    found.lanes == expected.lanes && around.iter().any(same)
                }
                _ => false,
            };
            if !begins || !ends {
                wrong.insert(*register);
            }
        }
        if !wrong.is_empty() {
            return Ok(Err(wrong));
        }
        let initialises = |s: &Statement| matches!(s.action, Action::Init(..));
        if one.ways.is_none()
            && round.above.iter().chain(&round.below).any(initialises)
            && let Some(done) = self.unrolled(one, state)
        {
            return Ok(Ok(done));
        }
        if let Some(ways) = &one.ways {
            return Ok(Ok(self.left(
                one,
                ways,
                &again,
                (number, most, times),
                begin(&facts),
                round,
            )?));
        }
        // The state after the loop.
        let mut after = state.clone();
        after.apart = both(round.decided.apart, both(round.ended.apart, state.apart));
        after.touched |= round.decided.touched | round.ended.touched;
        let last = |u: Unknown| (u == number).then(|| times.clone());
        for register in written.keys() {
            let value = match round.decided.registers.get(register.0 as usize) {
                Some(Value::Integer(integer)) => Value::Integer(Integer {
                    sum: after.facts.replaced(&integer.sum, &last),
                    lanes: integer.lanes.clone(),
                }),
                Some(Value::Same(c)) if c.mentions(&|u| u == number) => {
                    Value::Same(after.facts.replaced_in(c, &last))
                }
                Some(value) => value.clone().together(),
                None => continue,
            };
            if let Some(slot) = after.registers.get_mut(register.0 as usize) {
                *slot = value;
            }
        }
        let most = if round.above.is_empty() {
            most - 1
        } else {
            most
        };
        self.machine.unknowns.1.bound(number, 0, most.max(0));
        let statements = self.written_out(one, number, times, round, &after.facts);
        Ok(Ok((after, statements)))
    }

    /// What comes after a loop that is left in several places, with its last iteration.
    fn left(
        &mut self,
        one: &Loop,
        ways: &Several,
        again: &Condition,
        (number, most, times): (Unknown, i128, Sum),
        mut start: State,
        round: Round,
    ) -> Result<(State, Vec<Statement>), Obstacle> {
        let facts = start.facts.clone();
        start
            .facts
            .assume_positive(&Sum::unknown(number).minus(&times));
        start.facts.assume(&again.negated());
        start.apart = both(start.apart, round.ended.apart);
        start.touched |= round.ended.touched;
        let mut tail = Vec::new();
        self.numbers.push(Some(number));
        let after = self.last_round(one, ways, start, &mut tail);
        self.numbers.pop();
        let mut after = after?;
        let last = |u: Unknown| (u == number).then(|| times.clone());
        for slot in &mut after.registers {
            match slot {
                Value::Integer(integer) if integer.sum.mentions(&|u| u == number) => {
                    integer.sum = facts.replaced(&integer.sum, &last);
                }
                Value::Same(condition) if condition.mentions(&|u| u == number) => {
                    *condition = facts.replaced_in(condition, &last);
                }
                Value::Parted(_) | Value::Groups(..) => {
                    *slot = Value::lost(self.place(one.header).0, "it is left behind by a loop");
                }
                _ => {}
            }
        }
        self.machine.unknowns.1.bound(number, 0, (most - 1).max(0));
        let mut statements = self.written_out(one, number, times.clone(), round, &facts);
        let mut known = facts.clone();
        known.assume(&facts.replaced_in(&again.negated(), &last));
        statements.extend(replaced(&tail, &known, &last));
        Ok((after, statements))
    }

    fn written_out(
        &self,
        one: &Loop,
        number: Unknown,
        times: Sum,
        round: Round,
        facts: &Facts,
    ) -> Vec<Statement> {
        let (at, location) = self.place(one.header);
        let statement = |action| Statement {
            action,
            at,
            location,
            memory: "",
        };
        let Round { above, below, .. } = round;
        if above.is_empty() && below.is_empty() {
            return Vec::new();
        }
        if below.is_empty() {
            let action = Action::For(number, times.plus_constant(1), above);
            return vec![statement(action)];
        }
        if above.is_empty() {
            return vec![statement(Action::For(number, times, below))];
        }
        let last = |u: Unknown| (u == number).then(|| times.clone());
        let tail = replaced(&above, facts, &last);
        let mut body = above;
        body.extend(below);
        let mut all = vec![statement(Action::For(number, times, body))];
        all.extend(tail);
        all
    }
}
