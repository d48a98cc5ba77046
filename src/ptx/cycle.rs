//! Loops. What a loop carries is guessed from one iteration with unknown beginnings, as a function
//! of the iteration's number; then an iteration that begins as guessed is followed, and has to end
//! as guessed for the next one. What does not is given up.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::ast::Operand;
use super::ast::Register;
use super::facts::Facts;
use super::flow::End;
use super::machine::Meaning;
use super::machine::State;
use super::statement::Action;
use super::statement::Obstacle;
use super::statement::Statement;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::term::Unknown;
use super::value::Integer;
use super::value::Value;
use super::walk::Walker;
use super::walk::both;

/// Bound of unknowns while a guess is made; what is guessed is checked without it.
const PROVISIONAL: i128 = 1 << 20;

/// Iterations that are written out one by one.
const MOST_UNROLLED: usize = 64;

/// Rings up to this size are recognised by their values.
const MOST_SAMPLED: i128 = 64;

/// How often a guess is weakened.
const MOST_GUESSES: usize = 12;

/// A loop: where it begins, its blocks, the one that leaves it, and where that goes.
struct Loop {
    header: usize,
    blocks: BTreeSet<usize>,
    leaving: usize,
    inside: usize,
    outside: usize,
}

/// One iteration up to the decision, and from there to the next.
struct Round {
    decided: State,
    /// Under which condition another iteration follows.
    again: Value,
    above: Vec<Statement>,
    ended: State,
    below: Vec<Statement>,
}

type Next = Result<(usize, State), Obstacle>;

impl Walker<'_, '_, '_> {
    /// Goes through a loop.
    pub fn cycle(&mut self, header: usize, state: State, out: &mut Vec<Statement>) -> Next {
        let blocks = self.flow.loops.get(&header).cloned().unwrap_or_default();
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
        if let [(leaving, outside)] = ways.as_slice() {
            let inside = self.flow.next(*leaving);
            let inside = inside.into_iter().find(|b| blocks.contains(b));
            let one = Loop {
                header,
                leaving: *leaving,
                inside: inside.unwrap_or(header),
                outside: *outside,
                blocks,
            };
            let depth = self.depth;
            match self.followed_loop(&one, &state, out) {
                Ok(after) => return Ok((one.outside, after)),
                Err(obstacle) if touching => return Err(obstacle),
                Err(_) => self.depth = depth,
            }
            let mut after = state;
            self.give_up(
                &one.blocks,
                at,
                "it changes in a loop that is not followed",
                &mut after,
            );
            return Ok((one.outside, after));
        }
        if touching {
            let reason = "a loop with synchronization is left in more than one place";
            let at = ways
                .first()
                .and_then(|(b, _)| self.last(*b))
                .map_or(at, |i| i.at);
            return Err(Obstacle::new(at, reason));
        }
        let mut join = self.flow.join(header);
        while let Some(block) = join {
            if !blocks.contains(&block) {
                break;
            }
            join = self.flow.join(block);
        }
        let Some(join) = join else {
            return Err(Obstacle::new(at, "this loop may never end"));
        };
        let between = self.flow.between(header, join);
        if self.touching(&between) {
            let reason = "where this loop is left decides about synchronization";
            return Err(Obstacle::new(at, reason));
        }
        let mut after = state;
        self.give_up(
            &between,
            at,
            "it changes in a loop that is not followed",
            &mut after,
        );
        Ok((join, after))
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
        let summary = self.summarized(one, state);
        self.machine.guessing = guessing;
        let first = match summary {
            Ok((after, statements)) => {
                out.extend(statements);
                return Ok(after);
            }
            Err(obstacle) => obstacle,
        };
        self.depth = depth;
        *self.machine.assumptions = assumed;
        match self.unrolled(one, state) {
            Some((after, statements)) => {
                out.extend(statements);
                Ok(after)
            }
            None => {
                self.depth = depth;
                Err(first)
            }
        }
    }

    /// Follows one iteration.
    fn round(
        &mut self,
        one: &Loop,
        state: State,
        rest: &dyn Fn(&mut Facts),
    ) -> Result<Round, Obstacle> {
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
        Ok(Round {
            decided,
            again,
            above,
            ended,
            below,
        })
    }

    fn again(&mut self, one: &Loop, state: &mut State) -> Value {
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

    /// Writes the iterations out, while each one is known to follow.
    fn unrolled(&mut self, one: &Loop, state: &State) -> Option<(State, Vec<Statement>)> {
        let mut state = state.clone();
        let mut out = Vec::new();
        for _ in 0..MOST_UNROLLED {
            state = self
                .region(one.header, one.leaving, Some(one.header), state, &mut out)
                .ok()?;
            self.block(one.leaving, &mut state, &mut out).ok()?;
            match self.again(one, &mut state) {
                Value::Same(Condition::Constant(false)) => return Some((state, out)),
                Value::Same(Condition::Constant(true)) => {}
                _ => return None,
            }
            state = self
                .region(one.inside, one.header, None, state, &mut out)
                .ok()?;
        }
        None
    }

    fn summarized(
        &mut self,
        one: &Loop,
        state: &State,
    ) -> Result<(State, Vec<Statement>), Obstacle> {
        let guess = self.guessed(one, state)?;
        let mut closed = match guess {
            Guess::Waits(statement) => {
                let mut after = state.clone();
                if after.active != after.whole {
                    after.apart = both(after.apart, Some(after.active));
                }
                let at = statement.at;
                self.give_up(&one.blocks, at, "it is written while waiting", &mut after);
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
                        carried.insert(*register, (unknown, entry.clone()));
                        Value::Integer(Integer {
                            sum: Sum::unknown(unknown),
                            lanes: entry.lanes,
                        })
                    }
                    _ => Value::lost(self.place(one.header).0, "it changes in a loop"),
                };
                if let Some(slot) = start.registers.get_mut(register.0 as usize) {
                    *slot = value;
                }
            }
            let depth = self.depth;
            let guessing = std::mem::replace(&mut self.machine.guessing, true);
            let round = self.round(one, start, &|_| {});
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
                && let Some(statement) = self.waits(one, &round)
            {
                return Ok(Guess::Waits(statement));
            }
            let (closed, hints) = closed_forms(&carried, &round.ended, state);
            for hint in hints {
                if !self.hints.contains(&hint) {
                    self.hints.push(hint);
                }
            }
            if self.hints.len() > learnt {
                learnt = self.hints.len();
                continue;
            }
            return Ok(Guess::Closed(closed));
        }
    }

    /// Registers that are the operand of an exclusive or: most likely phase bits.
    fn flipped(&self, blocks: &BTreeSet<usize>) -> BTreeSet<Register> {
        let mut found = BTreeSet::new();
        let code = blocks.iter().flat_map(|b| self.code(*b));
        for instruction in code.filter(|i| i.opcode.starts_with("xor.")) {
            for operand in instruction.operands.iter().skip(1) {
                if let Operand::Register(register) = operand {
                    found.insert(*register);
                }
            }
        }
        found
    }

    /// A loop that does nothing but look until something has happened.
    fn waits(&mut self, one: &Loop, round: &Round) -> Option<Statement> {
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
        let inside =
            |u: Unknown| matches!(self.machine.unknowns.meaning(u), Some(Meaning::Carried(_)));
        let until = again.negated();
        let action = match &until {
            Condition::Passed(number) => {
                let test = self.tests.get(*number as usize)?;
                Action::Wait(test.barrier.clone(), test.parity.clone())
            }
            Condition::Zero(sum) | Condition::Negative(sum) => {
                let mut read = sum.terms.iter().filter_map(|(atom, factor)| match atom {
                    Atom::Unknown(u) => match self.machine.unknowns.meaning(*u) {
                        Some(Meaning::Read(address)) => Some((*u, *factor, address.clone())),
                        _ => None,
                    },
                    _ => None,
                });
                let (unknown, factor, address) = read.next()?;
                if read.next().is_some() {
                    return None;
                }
                let rest = sum.plus_times(&Sum::unknown(unknown), -factor);
                let exact = matches!(until, Condition::Zero(_));
                // Either side of an equality, but "at least" only where the counter is subtracted.
                let value = match (exact, factor) {
                    (true, 1) => rest.scaled(-1),
                    (true, -1) => rest,
                    (false, -1) => rest.plus_constant(1),
                    _ => return None,
                };
                let pointer = self.pointer(&address)?;
                self.waited.insert(pointer);
                Action::CounterWait(address, exact, value)
            }
            _ => return None,
        };
        let moves = match &action {
            Action::Wait(a, b) | Action::CounterWait(a, _, b) => {
                let reads =
                    |u: Unknown| matches!(self.machine.unknowns.meaning(u), Some(Meaning::Read(_)));
                let carried = self.written(&one.blocks);
                let own = |u: Unknown| match self.machine.unknowns.meaning(u) {
                    Some(Meaning::Carried(r)) => carried.contains(&Register(*r)),
                    _ => false,
                };
                (a.mentions(&inside) || b.mentions(&inside))
                    && (a.mentions(&own) || b.mentions(&own))
                    || b.mentions(&reads)
            }
            _ => false,
        };
        (!moves).then_some(Statement {
            action,
            at,
            location,
        })
    }

    /// Follows an iteration that begins as guessed. The registers that do not end as guessed are
    /// the inner error.
    #[expect(
        clippy::type_complexity,
        reason = "a guess is right, wrong, or cannot be checked"
    )]
    fn checked(
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
                    Some(form) => Value::Integer(form.at(&index, facts)),
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
        let round = self.round(one, start, &|_| {});
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
        let round = self.round(one, start, &strictly)?;
        if round.again != Value::Same(again.clone()) {
            return Err(self.trouble(one, "the condition of this loop may wrap around"));
        }
        // Lanes that did not wait in one iteration may be ahead in the next.
        let apart = both(round.ended.apart, state.apart);
        if apart != state.apart {
            let mut ahead = state.clone();
            ahead.apart = apart;
            return self.checked(one, &ahead, closed, number);
        }
        let mut wrong = BTreeSet::new();
        let next = index.plus_constant(1);
        for (register, form) in closed {
            let expected = form.at(&next, &round.ended.facts);
            let found = round.ended.registers.get(register.0 as usize);
            let first = state.registers.get(register.0 as usize);
            let begins = match first {
                Some(Value::Integer(entry)) => {
                    let at_start = form.at(&Sum::of(0), &state.facts);
                    entry.lanes == at_start.lanes && state.facts.same(&entry.sum, &at_start.sum)
                }
                _ => false,
            };
            let ends = match found {
                Some(Value::Integer(found)) => {
                    found.lanes == expected.lanes
                        && round.ended.facts.same(&found.sum, &expected.sum)
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
        if round.above.iter().chain(&round.below).any(initialises)
            && let Some(done) = self.unrolled(one, state)
        {
            return Ok(Ok(done));
        }
        // What is left behind.
        let mut after = state.clone();
        after.apart = both(round.decided.apart, both(round.ended.apart, state.apart));
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

/// Statements with unknowns replaced.
fn replaced(
    statements: &[Statement],
    facts: &Facts,
    with: &dyn Fn(Unknown) -> Option<Sum>,
) -> Vec<Statement> {
    let sum = |s: &Sum| facts.replaced(s, with);
    statements
        .iter()
        .map(|statement| Statement {
            action: match &statement.action {
                Action::Init(a, n) => Action::Init(sum(a), *n),
                Action::Arrive(a, n) => Action::Arrive(sum(a), *n),
                Action::ExpectTx(a, b) => Action::ExpectTx(sum(a), sum(b)),
                Action::ArriveExpectTx(a, b) => Action::ArriveExpectTx(sum(a), sum(b)),
                Action::CompleteTx(a, b) => Action::CompleteTx(sum(a), sum(b)),
                Action::Copy(a, b) => Action::Copy(sum(a), b.as_ref().map(sum)),
                Action::Commit(a, n) => Action::Commit(sum(a), *n),
                Action::Wait(a, b) => Action::Wait(sum(a), sum(b)),
                Action::Sync(a, b, given) => Action::Sync(sum(a), sum(b), *given),
                Action::ArriveNamed(a, b) => Action::ArriveNamed(sum(a), sum(b)),
                Action::CounterAdd(a, b) => Action::CounterAdd(sum(a), sum(b)),
                Action::CounterSet(a, b) => Action::CounterSet(sum(a), sum(b)),
                Action::CounterWait(a, exact, b) => Action::CounterWait(sum(a), *exact, sum(b)),
                Action::Acquire(a) => Action::Acquire(sum(a)),
                Action::Release(a) => Action::Release(sum(a)),
                Action::WaitGroup(a, read) => Action::WaitGroup(sum(a), *read),
                Action::For(u, n, body) => Action::For(*u, sum(n), replaced(body, facts, with)),
                Action::If(c, a, b) => Action::If(
                    facts.replaced_in(c, with),
                    replaced(a, facts, with),
                    replaced(b, facts, with),
                ),
                other @ (Action::ClusterArrive | Action::ClusterWait | Action::CommitGroup) => {
                    other.clone()
                }
            },
            at: statement.at,
            location: statement.location,
        })
        .collect()
}

/// Statements with loop variables renamed.
pub(super) fn renamed(
    statements: &[Statement],
    map: &BTreeMap<Unknown, Unknown>,
) -> Vec<Statement> {
    fn variables(statements: &mut [Statement], map: &BTreeMap<Unknown, Unknown>) {
        for statement in statements {
            match &mut statement.action {
                Action::For(unknown, _, body) => {
                    *unknown = *map.get(unknown).unwrap_or(unknown);
                    variables(body, map);
                }
                Action::If(_, yes, no) => {
                    variables(yes, map);
                    variables(no, map);
                }
                _ => {}
            }
        }
    }
    let with = |u: Unknown| map.get(&u).map(|to| Sum::unknown(*to));
    let mut all = replaced(statements, &Facts::default(), &with);
    variables(&mut all, map);
    all
}

enum Guess {
    /// The loop waits.
    Waits(Statement),
    /// What registers hold in an iteration.
    Closed(BTreeMap<Register, Closed>),
}

/// What a register holds when iteration `i` begins.
#[derive(Debug, Clone)]
pub(super) struct Closed {
    form: Form,
    lanes: Integer,
}

#[derive(Debug, Clone)]
enum Form {
    /// `entry + step * i`
    Even(Sum, Sum),
    /// `(entry + step * i) % size`
    Ring(Sum, Sum, i128),
    /// `(entry + (start + step * i) / size) % 2`
    Turns(Sum, Sum, Sum, i128),
}

impl Closed {
    fn at(&self, index: &Sum, facts: &Facts) -> Integer {
        let two = Sum::of(2);
        let sum = match &self.form {
            Form::Even(entry, step) => entry.plus(&step.times(index)),
            Form::Ring(entry, step, size) => {
                let reached = entry.plus(&step.times(index));
                facts.modulo(&reached, &Sum::of(*size)).unwrap_or(reached)
            }
            Form::Turns(entry, start, step, size) => {
                let reached = start.plus(&step.times(index));
                let turns = facts.quotient(&reached, &Sum::of(*size)).unwrap_or(reached);
                let all = entry.plus(&turns);
                facts.modulo(&all, &two).unwrap_or(all)
            }
        };
        Integer {
            sum,
            lanes: self.lanes.lanes.clone(),
        }
    }
}

type Carried = BTreeMap<Register, (Unknown, Integer)>;

/// Guesses a function of the iteration's number for each register, and bounds that would help.
fn closed_forms(
    carried: &Carried,
    ended: &State,
    state: &State,
) -> (BTreeMap<Register, Closed>, Vec<(Register, i128)>) {
    let mut closed: BTreeMap<Register, Closed> = BTreeMap::new();
    let mut hints = Vec::new();
    let facts = &ended.facts;
    loop {
        let before = closed.len();
        // What does not change is put in.
        let fixed = |u: Unknown| {
            let (register, (_, entry)) = carried.iter().find(|(_, (own, _))| *own == u)?;
            match &closed.get(register)?.form {
                Form::Even(_, step) if step.as_constant() == Some(0) && entry.lanes.is_none() => {
                    Some(entry.sum.clone())
                }
                _ => None,
            }
        };
        let mut found = Vec::new();
        for (register, (unknown, entry)) in carried {
            if closed.contains_key(register) {
                continue;
            }
            let Some(Value::Integer(next)) = ended.registers.get(register.0 as usize) else {
                continue;
            };
            if next.lanes != entry.lanes {
                continue;
            }
            let next = facts.replaced(&next.sum, &fixed);
            let own = Sum::unknown(*unknown);
            let moving =
                |sum: &Sum| sum.mentions(&|u| carried.values().any(|(other, _)| *other == u));
            let step = next.minus(&own);
            let form = if moving(&step) {
                ring(&next, *unknown, entry, &moving)
                    .or_else(|| turns(&next, *unknown, entry, carried, &closed, &moving))
            } else {
                Some(Form::Even(entry.sum.clone(), step))
            };
            if let Some(form) = form {
                let most = match &form {
                    Form::Ring(_, _, size) => Some(size - 1),
                    Form::Turns(..) => Some(1),
                    Form::Even(..) => None,
                };
                // Where a ring begins as another loop left it, that loop has to know its bounds.
                if let Some(most) = most {
                    for (register, bound) in entries(&entry.sum, state, most) {
                        hints.push((register, bound));
                    }
                    hints.push((*register, most));
                }
                found.push((*register, form, entry.clone()));
            }
        }
        for (register, form, lanes) in found {
            closed.insert(register, Closed { form, lanes });
        }
        if closed.len() == before {
            return (closed, hints);
        }
    }
}

/// The registers whose unknown beginning this is.
fn entries(entry: &Sum, state: &State, most: i128) -> Vec<(Register, i128)> {
    let mut found = Vec::new();
    for (index, value) in state.registers.iter().enumerate() {
        if let Value::Integer(integer) = value
            && integer.sum == *entry
            && entry.as_constant().is_none()
        {
            found.push((Register(u32::try_from(index).unwrap_or(u32::MAX)), most));
        }
    }
    found
}

/// `(own + step) % size`; with a constant step, whatever has these values.
fn ring(next: &Sum, own: Unknown, entry: &Integer, moving: &dyn Fn(&Sum) -> bool) -> Option<Form> {
    if let Some((dividend, size, 1, left)) = next.remainder()
        && left.as_constant() == Some(0)
    {
        let step = dividend.minus(&Sum::unknown(own));
        if !moving(&step) {
            return Some(Form::Ring(entry.sum.clone(), step, size));
        }
    }
    let size = size_in(next, own).filter(|size| *size <= MOST_SAMPLED)?;
    let facts = Facts::default();
    let at = |value: i128| {
        let with = |u: Unknown| (u == own).then(|| Sum::of(value));
        facts.replaced(next, &with).as_constant()
    };
    let step = at(0)?;
    let agrees = (0..size).all(|value| at(value) == Some((value + step).rem_euclid(size)));
    agrees.then(|| Form::Ring(entry.sum.clone(), Sum::of(step), size))
}

/// The size of a ring that a choice in a sum compares with.
fn size_in(sum: &Sum, own: Unknown) -> Option<i128> {
    sum.terms.keys().find_map(|atom| match atom {
        Atom::Choice(condition, yes, no) => limit(condition, own)
            .or_else(|| match &**condition {
                Condition::Zero(sum) => size_in(sum, own),
                _ => None,
            })
            .or_else(|| size_in(yes, own))
            .or_else(|| size_in(no, own)),
        Atom::Quotient(dividend, _) => size_in(dividend, own),
        Atom::Unknown(_) | Atom::Product(_) => None,
    })
}

/// The size of a ring from `own + 1 == size`.
fn limit(condition: &Condition, own: Unknown) -> Option<i128> {
    let Condition::Zero(sum) = condition else {
        return None;
    };
    for sign in [1, -1] {
        let sum = sum.scaled(sign);
        if sum.minus(&Sum::unknown(own)).as_constant().is_some() {
            return Some(1 - sum.constant).filter(|s| *s > 1);
        }
    }
    None
}

/// A bit that changes whenever a ring wraps around.
fn turns(
    next: &Sum,
    own: Unknown,
    entry: &Integer,
    carried: &Carried,
    closed: &BTreeMap<Register, Closed>,
    moving: &dyn Fn(&Sum) -> bool,
) -> Option<Form> {
    for (register, form) in closed {
        let Form::Ring(start, step, size) = &form.form else {
            continue;
        };
        let (ring, _) = carried.get(register)?;
        let around = Form::Turns(entry.sum.clone(), start.clone(), step.clone(), *size);
        // (own + (ring + step) / size) % 2
        if let Some((dividend, 2, 1, left)) = next.remainder()
            && left.as_constant() == Some(0)
        {
            let added = dividend.minus(&Sum::unknown(own));
            let single: Vec<_> = added.terms.iter().map(|(a, c)| (a.clone(), *c)).collect();
            if let [(Atom::Quotient(sum, by), 1)] = single.as_slice()
                && by.as_constant() == Some(*size)
                && added.constant == 0
                && !moving(&sum.minus(&Sum::unknown(*ring)))
            {
                return Some(around);
            }
        }
        let (Some(step), true) = (step.as_constant(), *size <= MOST_SAMPLED) else {
            continue;
        };
        let facts = Facts::default();
        let at = |place: i128, bit: i128| {
            let with = |u: Unknown| match u {
                u if u == *ring => Some(Sum::of(place)),
                u if u == own => Some(Sum::of(bit)),
                _ => None,
            };
            facts.replaced(next, &with).as_constant()
        };
        // The ring may go around once more in each iteration.
        for step in [step, step + size] {
            let agrees = (0..*size).all(|place| {
                (0..2).all(|bit| {
                    at(place, bit) == Some((bit + (place + step).div_euclid(*size)).rem_euclid(2))
                })
            });
            if agrees {
                return Some(Form::Turns(
                    entry.sum.clone(),
                    start.clone(),
                    Sum::of(step),
                    *size,
                ));
            }
        }
    }
    None
}

/// How often a loop goes on, from the condition under which it does in iteration `number`.
fn trips(again: &Condition, number: Unknown, facts: &Facts) -> Option<Sum> {
    match again {
        Condition::Constant(false) => Some(Sum::of(0)),
        Condition::Negative(sum) => {
            let (slope, rest) = sum.split(number)?;
            // The first iteration at which slope * i + rest >= 0.
            let above = slope.plus_constant(-1).minus(&rest);
            let times = facts.quotient(&above, &slope)?;
            let idle = Condition::Negative(times.clone());
            Some(facts.choice(&idle, &Sum::of(0), &times))
        }
        Condition::Not(inner) => {
            let Condition::Zero(sum) = &**inner else {
                return None;
            };
            let (slope, rest) = sum.split(number)?;
            let times = rest.exactly_over(-slope.as_constant()?)?;
            facts.is_positive(&times).then_some(times)
        }
        _ => None,
    }
}
