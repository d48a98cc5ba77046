//! Loops. What a loop carries is guessed from one iteration with unknown beginnings, as a function
//! of the iteration's number; then an iteration that begins as guessed is followed, and has to end
//! as guessed for the next one. What does not is given up.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::exits::Several;
use super::flow::End;
use super::forms::Closed;
use super::forms::closed_forms;
use super::forms::trips;
use super::walk::Walker;
use crate::ptx::operations::flips::found;
use crate::ptx::operations::flips::found_before;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::both;
use crate::ptx::warp::rewrite::replaced;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Rule;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// Bound of unknowns while a guess is made; what is guessed is checked without it.
const PROVISIONAL: i128 = 1 << 20;

/// Where a ring stands that is moved on at the beginning of each round, before the first.
const BEFORE_FIRST: i128 = -1;

/// How often a guess is weakened.
const MOST_GUESSES: usize = 12;

/// A loop: where it begins, its blocks, the one that leaves it, and where that goes.
pub(in crate::ptx) struct Loop {
    pub header: usize,
    pub blocks: BTreeSet<usize>,
    pub leaving: usize,
    pub inside: usize,
    pub outside: usize,
    /// The ways out, where there are several: they meet outside.
    pub ways: Option<Several>,
}

/// One iteration up to the decision, and from there to the next.
pub(in crate::ptx) struct Round {
    decided: State,
    /// Under which condition another iteration follows.
    again: Value,
    above: Vec<Statement>,
    pub ended: State,
    below: Vec<Statement>,
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
        // Whose arrival was the last is not known behind a loop that arrives, nor in its rounds.
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
                    let reason = "nothing in this loop changes when it is left: it may never end";
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
            let reason = "nothing in this loop changes when it is left: it may never end";
            return Err(Obstacle::new(at, reason));
        }
        let Some(join) = self.behind_loop(header, &blocks) else {
            return Err(Obstacle::new(at, "this loop may never end"));
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
        let cycling = std::mem::replace(&mut self.cycling, true);
        let (inside, around) = (self.inside.len(), self.around.len());
        self.rounds.push(header);
        let followed = self.summarized(&one, state);
        self.rounds.pop();
        self.machine.guessing = guessing;
        self.cycling = cycling;
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
        let assumed = self.machine.assumptions.clone();
        let guessing = self.machine.guessing;
        let cycling = std::mem::replace(&mut self.cycling, true);
        let summary = self.summarized(one, state);
        self.machine.guessing = guessing;
        self.cycling = cycling;
        let first = match summary {
            Ok((after, statements)) => {
                out.extend(statements);
                return Ok(after);
            }
            Err(obstacle) => obstacle,
        };
        self.depth = depth;
        *self.machine.assumptions = assumed;
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
        Err(first)
    }

    /// Follows one iteration.
    pub fn round(
        &mut self,
        one: &Loop,
        state: State,
        rest: &dyn Fn(&mut Facts),
    ) -> Result<Round, Obstacle> {
        let unfinished = self.unfinished;
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

    fn summarized(
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

    /// What is known behind a loop that waits.
    fn waited_for(
        &self,
        one: &Loop,
        state: &State,
        statement: &Statement,
        (decided, own): (&State, &BTreeSet<Unknown>),
    ) -> State {
        let mut after = state.clone();
        if after.active != after.whole {
            after.apart = both(after.apart, Some(after.active));
        }
        let at = statement.at;
        self.give_up(&one.blocks, at, "it is written while waiting", &mut after);
        self.same_in_all(&one.blocks, decided, own, &mut after);
        self.forget_tests(&mut after, std::slice::from_ref(statement));
        after
    }

    /// What every iteration of a loop writes alike is known behind it.
    fn same_in_all(
        &self,
        blocks: &BTreeSet<usize>,
        decided: &State,
        own: &BTreeSet<Unknown>,
        after: &mut State,
    ) {
        let read = |u: Unknown| {
            found(self.machine.unknowns, u)
                || matches!(self.machine.unknowns.meaning(u), Some(Meaning::Answer(..)))
        };
        let moves = |u: Unknown| own.contains(&u) || read(u);
        for register in self.written(blocks) {
            let index = register.0 as usize;
            if let Some(value @ Value::Integer(integer)) = decided.registers.get(index)
                && !integer.sum.mentions(&moves)
                && !integer.sum.tests(&|_| true)
                && let Some(slot) = after.registers.get_mut(index)
            {
                *slot = value.clone();
            }
        }
    }

    fn trouble(&self, one: &Loop, why: &str) -> Obstacle {
        let at = self.last(one.leaving).map_or(0, |i| i.at);
        Obstacle::new(at, why)
    }

    /// Guesses what each register holds when an iteration begins.
    fn guessed(&mut self, one: &Loop, state: &State) -> Result<Guess, Obstacle> {
        let written = self.written(&one.blocks);
        let flipped = self.flipped(&one.blocks);
        let assumed = self.machine.assumptions.clone();
        let mut learnt = self.hints.len();
        loop {
            let mut start = state.clone();
            let mut carried = BTreeMap::new();
            let mut early = BTreeSet::new();
            for register in &written {
                let entry = state.registers.get(register.0 as usize).cloned();
                let value = match entry {
                    Some(Value::Integer(entry)) => {
                        let unknown = self.machine.unknowns.fresh(Meaning::Carried(register.0));
                        let hint = self.hints.iter().find(|(r, _)| r == register);
                        let bit = if flipped.contains(register) {
                            1
                        } else {
                            PROVISIONAL
                        };
                        let most = hint.map_or(bit, |(_, most)| *most);
                        start.facts.bound(unknown, 0, most);
                        let (mut entry, mut sum) = (entry, Sum::unknown(unknown));
                        if entry.sum.as_constant() == Some(BEFORE_FIRST) {
                            entry.sum = Sum::of(0);
                            sum.constant = BEFORE_FIRST;
                            early.insert(*register);
                        }
                        let lanes = entry.lanes.clone();
                        carried.insert(*register, (unknown, entry));
                        Value::Integer(Integer { sum, lanes })
                    }
                    _ => Value::lost(self.place(one.header).0, "it changes in a loop"),
                };
                if let Some(slot) = start.registers.get_mut(register.0 as usize) {
                    *slot = value;
                }
            }
            let depth = self.depth;
            let first = self.machine.unknowns.next();
            let guessing = std::mem::replace(&mut self.machine.guessing, true);
            self.numbers.push(None);
            let round = self.round(one, start, &|_| {});
            self.numbers.pop();
            self.machine.guessing = guessing;
            *self.machine.assumptions = assumed.clone();
            let round = match round {
                Ok(round) => round,
                // A loop inside may have said what it needs to know.
                Err(_) if self.hints.len() > learnt => {
                    learnt = self.hints.len();
                    self.depth = depth;
                    continue;
                }
                Err(obstacle) => return Err(obstacle),
            };
            if round.above.is_empty()
                && round.below.is_empty()
                && one.ways.is_none()
                && let Some(statement) = self.waits(one, &round, first)
            {
                let own = carried.values().map(|(unknown, _)| *unknown).collect();
                return Ok(Guess::Waits(Box::new((statement, round.decided, own))));
            }
            let mut ended = round.ended;
            for register in &early {
                if let Some(Value::Integer(integer)) = ended.registers.get_mut(register.0 as usize)
                {
                    integer.sum.constant -= BEFORE_FIRST;
                }
            }
            let counted = self.machine.unknowns.of(Meaning::Counted);
            let (mut closed, hints) = closed_forms(&carried, &ended, state, counted);
            for hint in hints {
                if !self.hints.contains(&hint) {
                    self.hints.push(hint);
                }
            }
            if self.hints.len() > learnt {
                learnt = self.hints.len();
                continue;
            }
            for (_, form) in closed.iter_mut().filter(|(r, _)| early.contains(r)) {
                form.above = BEFORE_FIRST;
            }
            return Ok(Guess::Closed(closed));
        }
    }

    /// Registers that are the operand of an exclusive or, or are moved to one: most likely phase bits.
    fn flipped(&self, blocks: &BTreeSet<usize>) -> BTreeSet<Register> {
        let mut found = BTreeSet::new();
        let code = || blocks.iter().flat_map(|b| self.code(*b));
        let moved = |i: &&Instruction<'_>| i.opcode.starts_with("mov.");
        for instruction in code().filter(|i| i.opcode.starts_with("xor.")) {
            found.extend(registers(instruction));
        }
        loop {
            let known = found.len();
            for instruction in code().filter(moved) {
                if matches!(instruction.operands.first(), Some(Operand::Register(r)) if found.contains(r))
                {
                    found.extend(registers(instruction));
                }
            }
            if found.len() == known {
                return found;
            }
        }
    }

    /// A loop that does nothing but look until something has happened.
    /// Unknowns from `first` on are of this round: what it looks at has to be.
    fn waits(&mut self, one: &Loop, round: &Round, first: Unknown) -> Option<Statement> {
        let Value::Same(again) = &round.again else {
            return None;
        };
        let (at, location) = self.last(one.leaving).map(|i| (i.at, i.location))?;
        let (at, location) = one
            .blocks
            .iter()
            .flat_map(|b| self.code(*b))
            .find(|i| i.has("try_wait") || i.has("test_wait") || i.opcode.starts_with("ld."))
            .map_or((at, location), |i| (i.at, i.location));
        let until = again.negated();
        if until.mentions(&|u| found_before(self.machine.unknowns, u, first)) {
            return None;
        }
        let (action, memory, bytes) = self.wait_until(&until)?;
        if let Action::CounterWait(address, ..) = &action {
            let pointer = self.pointer(address)?;
            self.waited.insert(pointer);
            self.widths.note(pointer, bytes, at);
        }
        let carried = self.written(&one.blocks);
        let own = |u: Unknown| match self.machine.unknowns.meaning(u) {
            Some(Meaning::Carried(r)) => carried.contains(&Register(*r)),
            _ => false,
        };
        let moves = match &action {
            Action::WaitOwn(a) => a.mentions(&own),
            Action::Wait(a, b) | Action::CounterWait(a, _, b) => {
                let reads = |u: Unknown| {
                    matches!(self.machine.unknowns.meaning(u), Some(Meaning::Read(..)))
                };
                a.mentions(&own) || b.mentions(&own) || b.mentions(&reads)
            }
            _ => false,
        };
        (!moves).then_some(Statement {
            action,
            at,
            location,
            memory,
        })
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
        let written = self.written(&one.blocks);
        let index = Sum::unknown(number);
        let place = self.place(one.header).0;
        let begin = |facts: &Facts| {
            let mut start = state.clone();
            start.facts = facts.clone();
            for register in &written {
                let value = match closed.get(register) {
                    Some(form) => {
                        let begun = form.at(&index, facts);
                        Value::Integer(Integer {
                            sum: begun.sum.earlier(),
                            ..begun
                        })
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
        if round.again != Value::Same(again.clone()) {
            return Err(self.trouble(one, "the condition of this loop may wrap around"));
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
            let found = round.ended.registers.get(register.0 as usize);
            let first = state.registers.get(register.0 as usize);
            let begins = match first {
                Some(Value::Integer(entry)) => {
                    let at_start = form.at(&Sum::of(0), &state.facts);
                    entry.lanes == at_start.lanes
                        && (state.facts.same(&entry.sum, &at_start.sum)
                            || state.facts.same_all_around(&entry.sum, &at_start.sum))
                }
                _ => false,
            };
            let ends = match found {
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
        // What is left behind.
        let mut after = state.clone();
        after.apart = both(round.decided.apart, both(round.ended.apart, state.apart));
        after.touched |= round.decided.touched | round.ended.touched;
        let last = |u: Unknown| (u == number).then(|| times.clone());
        for register in &written {
            let value = match round.decided.registers.get(register.0 as usize) {
                Some(Value::Integer(integer)) => Value::Integer(Integer {
                    sum: after.facts.replaced(&integer.sum, &last),
                    lanes: integer.lanes.clone(),
                }),
                Some(Value::Same(c)) if c.mentions(&|u| u == number) => {
                    Value::Same(after.facts.replaced_in(c, &last))
                }
                Some(Value::Apart(..)) => {
                    Value::lost(self.place(one.header).0, "it is left behind by a loop")
                }
                Some(value) => value.clone(),
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

    /// What comes behind a loop that is left in several places, with its last iteration.
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
                Value::Parted(_) | Value::Apart(..) => {
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

enum Guess {
    /// The loop waits, this is what one iteration leaves behind, and these unknowns are its own.
    Waits(Box<(Statement, State, BTreeSet<Unknown>)>),
    /// What registers hold in an iteration.
    Closed(BTreeMap<Register, Closed>),
}

/// The registers that an instruction of integers reads.
fn registers(instruction: &Instruction<'_>) -> impl Iterator<Item = Register> {
    let read = instruction.operands.iter().skip(1);
    read.filter_map(|operand| match operand {
        Operand::Register(register) => Some(*register),
        _ => None,
    })
}
