//! Guesses the values of loop-carried registers from one iteration with symbolic start values. Recognises loops that only
//! wait.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::cycle::Loop;
use super::forms::Closed;
use super::forms::closed_forms;
use super::induction::Round;
use super::walk::Walker;
use crate::ptx::operations::counters::near;
use crate::ptx::operations::flips::found;
use crate::ptx::operations::flips::found_before;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::machine::both;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::LANES;
use crate::ptx::warp::value::Value;

/// Bound of unknowns while a guess is made; what is guessed is checked without it.
pub(super) const PROVISIONAL: i128 = 1 << 20;

/// Where a ring stands that is moved on at the beginning of each round, before the first.
const BEFORE_FIRST: i128 = -1;

impl Walker<'_, '_, '_> {
    /// Guesses what each register holds when an iteration begins.
    pub(super) fn guessed(&mut self, one: &Loop, state: &State) -> Result<Guess, Obstacle> {
        let written = self.written(&one.blocks);
        let flipped = self.flipped(&one.blocks);
        let assumed = self.machine.assumptions.clone();
        let mut learnt = self.hints.len();
        loop {
            let mut start = state.clone();
            let mut carried = BTreeMap::new();
            let mut early = BTreeSet::new();
            for register in &written {
                let lanes = self.lanes_of(one, *register);
                let entry = state.registers.get(register.0 as usize);
                let value = match entry.map(|entry| entry.of_lanes(lanes)) {
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
                        let begun = Integer {
                            sum,
                            lanes: entry.lanes.clone(),
                        };
                        carried.insert(*register, (unknown, entry));
                        Value::among(lanes, begun, self.place(one.header).0)
                    }
                    _ => Value::lost(self.place(one.header).0, "it changes in a loop"),
                };
                if let Some(slot) = start.registers.get_mut(register.0 as usize) {
                    *slot = value;
                }
            }
            let begun = start.clone();
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
                let decided = match &statement.action {
                    // A number that does not fit is none that a counter has, as counters do not wrap around: it is awaited for ever.
                    Action::CounterWait(_, true, _) => round.decided,
                    _ => {
                        self.depth = depth;
                        self.waits_indeed(one, begun, &statement)?
                    }
                };
                return Ok(Guess::Waits(Box::new((statement, decided, own))));
            }
            let mut ended = round.ended;
            if self.counted_by_some(one, &carried, &ended) {
                self.depth = depth;
                continue;
            }
            for register in carried.keys() {
                let lanes = self.lanes_of(one, *register);
                if let Some(slot) = ended.registers.get_mut(register.0 as usize) {
                    *slot = slot.of_lanes(lanes);
                }
            }
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

    /// What an iteration of a loop that waits leaves behind where nothing is taken to fit for the sake of a guess, as `n - 1` as
    /// a number without sign. It has to wait for the same: for `n` to be more than that says nothing if `n - 1` is -1.
    fn waits_indeed(
        &mut self,
        one: &Loop,
        begun: State,
        statement: &Statement,
    ) -> Result<State, Obstacle> {
        let first = self.machine.unknowns.next();
        self.numbers.push(None);
        let round = self.round(one, begun, &|_| {});
        self.numbers.pop();
        let round = round?;
        let found = self.waits(one, &round, first);
        if found.is_none_or(|found| found.action != statement.action) {
            let why = match &statement.action {
                Action::CounterWait(_, false, _) => {
                    "what this loop waits for is not followed: a side of its comparison may be below 0, or wrap around"
                }
                _ => "what this loop waits for is not followed",
            };
            return Err(self.trouble(one, why));
        }
        Ok(round.decided)
    }

    /// The lanes in which a register that a loop carries is followed.
    pub fn lanes_of(&self, one: &Loop, register: Register) -> u32 {
        let own = self.counting.get(&(one.header, register));
        own.copied().unwrap_or(u32::MAX)
    }

    /// Registers that some lanes move on in an iteration, and the others leave as they are, are followed in these lanes only:
    /// whether there is such a register that has not been known to be one.
    fn counted_by_some(
        &mut self,
        one: &Loop,
        carried: &BTreeMap<Register, (Unknown, Integer)>,
        ended: &State,
    ) -> bool {
        let mut found = false;
        for (register, (unknown, entry)) in carried {
            let begun = Sum::unknown(*unknown);
            let moving: Vec<u32> = match ended.registers.get(register.0 as usize) {
                Some(Value::Groups(_, groups)) => {
                    let moving = groups.iter().filter(|(_, value)| value.sum != begun);
                    moving.map(|(lanes, _)| *lanes).collect()
                }
                // By constants, which differ from lane to lane.
                Some(Value::Integer(value)) if value.lanes != entry.lanes => {
                    let began = Integer {
                        sum: begun,
                        lanes: entry.lanes.clone(),
                    };
                    let steps = (0..LANES).map(|lane| value.lane(lane).minus(&began.lane(lane)));
                    let mut moving: Vec<(Sum, u32)> = Vec::new();
                    for (lane, step) in steps.enumerate().filter(|(_, step)| *step != Sum::of(0)) {
                        match moving.iter_mut().find(|(other, _)| *other == step) {
                            Some((_, lanes)) => *lanes |= 1 << lane,
                            None => moving.push((step, 1 << lane)),
                        }
                    }
                    moving.into_iter().map(|(_, lanes)| lanes).collect()
                }
                _ => continue,
            };
            if let ([lanes], u32::MAX) = (moving.as_slice(), self.lanes_of(one, *register))
                && *lanes != u32::MAX
            {
                self.counting.insert((one.header, *register), *lanes);
                found = true;
            }
        }
        found
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
        let carried = self.written(&one.blocks);
        let own = |unknowns: &Unknowns, u: Unknown| match unknowns.meaning(u) {
            Some(Meaning::Carried(r)) => carried.contains(&Register(*r)),
            _ => false,
        };
        // A look in the scope of the CTA need not see what others do.
        let mut code = one.blocks.iter().flat_map(|b| self.code(*b));
        let looks =
            |i: &&Instruction<'_>| i.opcode.starts_with("ld.") || i.opcode.starts_with("atom.");
        if code.any(|i| looks(&i) && near(i)) {
            return None;
        }
        // Lanes that look for themselves may have looked before, each at another time.
        let alone = round.decided.active.is_power_of_two() && !round.decided.vague;
        if let Some((action, bytes)) = self.changed(&until, first).filter(|_| alone) {
            let Action::GridWait(address, _) = &action else {
                return None;
            };
            if address.mentions(&|u| own(self.machine.unknowns, u)) {
                return None;
            }
            let pointer = self.pointer(address)?;
            self.waited.insert(pointer);
            self.widths.note(pointer, bytes, at);
            return Some(Statement {
                action,
                at,
                location,
                memory: "",
            });
        }
        if until.mentions(&|u| found_before(self.machine.unknowns, u, first)) {
            return None;
        }
        let (action, memory, bytes) = self.wait_until(&until)?;
        if let Action::CounterWait(address, ..) = &action {
            let pointer = self.pointer(address)?;
            self.waited.insert(pointer);
            self.widths.note(pointer, bytes, at);
        }
        let own = |u: Unknown| own(self.machine.unknowns, u);
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

    /// What is known after a loop that waits.
    pub(super) fn waited_for(
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

    /// What every iteration of a loop writes alike is known after it.
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
}

pub(super) enum Guess {
    /// The loop waits. The state is that at the end of one iteration, and the unknowns are those of that iteration.
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
