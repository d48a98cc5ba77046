//! Executes one warp symbolically and collects its statements. A divergent branch is executed with the lanes that take
//! it. A value that is not understood becomes unknown. If synchronization depends on it, the kernel is refused.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::hash::DefaultHasher;
use std::hash::Hash as _;
use std::hash::Hasher as _;
use std::rc::Rc;

use super::arrays::Arrays;
use super::common_arrival::CommonArrival;
use super::exits::Inside;
use super::flow::End;
use super::flow::Flow;
use super::lanes::PERHAPS;
use super::lanes::Ways;
use super::lanes::names_lanes;
use super::polls::Polled;
use super::polls::Says;
use crate::deadline;
use crate::ptx::cta::program::numbered;
use crate::ptx::operations::access::Copying;
use crate::ptx::operations::access::accesses;
use crate::ptx::operations::answers::Answers;
use crate::ptx::operations::arrival_counts::ArrivalCounts;
use crate::ptx::operations::counters::Widths;
use crate::ptx::operations::counters::elsewhere;
use crate::ptx::operations::flips::found;
use crate::ptx::operations::instruction::touches;
use crate::ptx::operations::instruction::watches;
use crate::ptx::operations::turns::Comer;
use crate::ptx::operations::turns::Coming;
use crate::ptx::operations::warpgroups::multiplies;
use crate::ptx::operations::warpgroups::without;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Location;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::evaluate::destinations;
use crate::ptx::warp::machine::Machine;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::TENSOR;
use crate::ptx::warp::rewrite::simplified;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Value;

/// Instructions followed for one kernel.
const MOST_STEPS: usize = 4_000_000;

/// Groups of lanes that are followed one by one.
const MOST_PARTS: usize = 2;

/// How deep branches and loops nest.
const MOST_DEPTH: usize = 60;

/// How one side of a condition is followed: whether it holds there, and what is known.
type Follow<'f, W> =
    dyn FnMut(&mut W, bool, State, &mut Vec<Statement>) -> Result<State, Obstacle> + 'f;

/// Follows one warp.
pub(in crate::ptx) struct Walker<'w, 'm, 'a> {
    pub machine: Machine<'m, 'a>,
    pub flow: Rc<Flow>,
    /// The control flow of the kernel as it is.
    pub whole: &'w Flow,
    /// What addresses are based on.
    pub arrays: &'w Arrays<'a>,
    /// Pointers to memory that the kernel waits for.
    pub counters: &'w BTreeSet<Unknown>,
    /// Whether accesses to shared memory and what orders them are followed, too.
    pub data: bool,
    /// Those met on this walk.
    pub waited: BTreeSet<Unknown>,
    /// In how many bytes they are used.
    pub widths: Widths,
    /// The arrivals that have been met.
    pub arrival_counts: ArrivalCounts,
    pub steps: usize,
    pub depth: usize,
    /// How many iterations have been followed only to see where they lead.
    pub rehearsals: usize,
    /// The headers of the loops that are being followed.
    pub rounds: Vec<usize>,
    /// Loops that are followed one iteration after the other, with how often they have begun.
    pub unrolling: Vec<(usize, usize)>,
    /// The loops around, with the number of the iteration where it is known.
    pub numbers: Vec<Option<Unknown>>,
    /// Whether the kernel asks for work of CTAs that have not been launched.
    pub asks: bool,
    pub answers: Answers,
    /// Which engine's groups of copies the warp makes, and with which lanes.
    pub groups: Option<(bool, u32)>,
    /// Which lanes start copies of threads, and which wait for all of theirs.
    pub copying: Copying,
    /// Where the warp reads tensor memory, and where it writes it, without having waited for that yet.
    pub unfinished: [Option<usize>; 2],
    /// The lane that starts multiplications.
    pub multiplier: Option<u32>,
    /// Where it is written where the tensor memory lies.
    pub allocated: BTreeSet<Sum>,
    /// The number of cases of divergent lanes that have been executed.
    pub cases: usize,
    /// The instruction that is carried out, by its number in the function.
    pub current: usize,
    /// Unknowns from here on are of this block, and were read after the last statement.
    pub looked: Unknown,
    /// Unknowns that were read by loads which see the writes of other threads, and whether these loads are ordered before the
    /// operations after them.
    pub looks: BTreeMap<Unknown, bool>,
    /// Those who came to a barrier where the last one lets the others go on.
    pub comers: BTreeMap<Unknown, Comer>,
    /// Unknowns from here on were read since the warp last waited at such a barrier, in this round of each loop around.
    pub since: Unknown,
    /// What the warp has said in votes of all threads, and whether the outcome is that all say so.
    pub said: BTreeMap<Unknown, (Says, bool)>,
    /// A CTA that has come to such a barrier, and will wait with the last one.
    pub coming: Option<Coming>,
    /// Loops that go on until a vote ends them.
    pub polls: Polled,
    /// Unknowns from here on were read after the last statement.
    pub quiet: Unknown,
    /// Bounds of what loops carry, learnt from the loops inside.
    pub hints: Vec<(Register, i128)>,
    /// Registers that only some lanes move on in the iterations of a loop, by its header.
    pub counting: BTreeMap<(usize, Register), u32>,
    /// The conditions around.
    pub around: Vec<Condition>,
    /// Iterations that are being executed without the exits of their loops.
    pub inside: Vec<Inside>,
}

impl<'m> Walker<'_, 'm, '_> {
    /// What the warp does.
    pub fn run(&mut self) -> Result<Vec<Statement>, Obstacle> {
        let mut state = self.machine.initial();
        if self.asks {
            self.granted(&mut state);
        }
        let mut out = Vec::new();
        self.region(0, self.flow.exit(), None, state, &mut out)?;
        Ok(out)
    }

    /// Whether an instruction takes part in what is followed.
    pub fn touches(&self, instruction: &Instruction<'_>) -> bool {
        touches(instruction, self.has_counters()) && !self.elsewhere(instruction)
            || self.data && accesses(instruction)
    }

    pub fn elsewhere(&self, instruction: &Instruction<'_>) -> bool {
        elsewhere(
            instruction,
            self.arrays,
            self.counters,
            self.machine.unknowns,
        )
    }

    /// What is followed, in words.
    pub fn followed_here(&self) -> &'static str {
        if self.data {
            "synchronization or shared memory"
        } else {
            "synchronization"
        }
    }

    pub fn has_counters(&self) -> bool {
        !self.counters.is_empty()
    }

    /// The pointer that an address is based on, if it is one.
    pub fn pointer(&self, address: &Sum) -> Option<Unknown> {
        if self.mixed(address) {
            return None;
        }
        let mut found = address
            .terms
            .iter()
            .filter_map(|(atom, factor)| match atom {
                Atom::Unknown(u) if *factor == 1 => match self.machine.unknowns.meaning(*u) {
                    Some(Meaning::Environment(_)) => Some(*u),
                    Some(Meaning::Parameter(index, _)) => {
                        let parameter = self.machine.function.parameters.get(*index)?;
                        (parameter.bytes == 8 || parameter.kind == ".b8").then_some(*u)
                    }
                    _ => None,
                },
                _ => None,
            });
        let first = found.next()?;
        // What is computed from a pointer that is waited for, as by rounding, may lead back there.
        let hidden = |u: Unknown| u != first && self.counters.contains(&u);
        (found.next().is_none() && !address.mentions(&hidden)).then_some(first)
    }

    /// Whether an address lies in shared memory.
    pub fn in_shared(&self, address: &Sum) -> bool {
        let shared = |(atom, factor): (&Atom, &i128)| match atom {
            Atom::Unknown(u) if *factor == 1 => {
                let meaning = self.machine.unknowns.meaning(*u);
                matches!(meaning, Some(Meaning::Shared(name)) if name != TENSOR)
            }
            _ => false,
        };
        let hidden = |u: Unknown| self.counters.contains(&u);
        address.terms.iter().any(shared) && !self.mixed(address) && !address.mentions(&hidden)
    }

    /// Whether a sum may contain a pointer that was read from memory, or one of several.
    fn mixed(&self, sum: &Sum) -> bool {
        let mut terms = sum.terms.iter();
        terms.any(|(atom, factor)| *factor == 1 && self.points(atom))
    }

    fn points(&self, atom: &Atom) -> bool {
        let whole = |u: Unknown| match self.machine.unknowns.meaning(u) {
            Some(Meaning::Read(_, bytes)) => *bytes == 8,
            _ => false,
        };
        match atom {
            Atom::Unknown(unknown) => whole(*unknown),
            Atom::Cell(_, cell) => cell.bytes == 8,
            Atom::Choice(_, yes, no) => [yes, no]
                .into_iter()
                .any(|side| self.mixed(side) || self.pointer(side).is_some()),
            Atom::Quotient(..) | Atom::Product(_) | Atom::Count(..) => false,
        }
    }

    pub fn code(&self, block: usize) -> &'m [Instruction<'m>] {
        let function: &'m Function<'m> = self.machine.function;
        let range = self.flow.blocks.get(block).map(|b| b.code.clone());
        range.and_then(|r| function.code.get(r)).unwrap_or_default()
    }

    /// The instruction that ends a block, or stands first in it.
    pub fn last(&self, block: usize) -> Option<&'m Instruction<'m>> {
        let function: &'m Function<'m> = self.machine.function;
        let end = self.flow.blocks.get(block)?.code.end;
        function.code.get(end).or_else(|| function.code.last())
    }

    pub fn touching(&self, blocks: &BTreeSet<usize>) -> bool {
        blocks.iter().any(|block| {
            let mut code = self.code(*block).iter();
            code.any(|i| {
                self.touches(i) || watches(i) && self.spins(i, *block) || self.stares(i, *block)
            })
        })
    }

    /// Carries out what stands in a block before its end.
    pub fn block(
        &mut self,
        block: usize,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Result<(), Obstacle> {
        self.looked = self.machine.unknowns.next();
        let first = self.flow.blocks.get(block).map_or(0, |b| b.code.start);
        for (index, instruction) in self.code(block).iter().enumerate() {
            self.current = first + index;
            self.steps += 1;
            if deadline::over() {
                return Err(Obstacle::late());
            }
            if self.steps > MOST_STEPS {
                let reason = "the kernel is too large to follow";
                return Err(Obstacle::new(instruction.at, reason));
            }
            let before = out.len();
            self.predicated(instruction, state, out)?;
            let new = out.get(before..).unwrap_or_default();
            if !new.is_empty() {
                self.looked = self.machine.unknowns.next();
                self.quiet = self.looked;
            }
            self.forget_tests(state, new);
        }
        Ok(())
    }

    /// What tells a test that is made here from others: where it stands, and in which round of loops that are followed
    /// round by round. What a loop carries from the round before is made to differ (`Sum::earlier`).
    pub fn moment(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.current, &self.unrolling).hash(&mut hasher);
        hasher.finish()
    }

    /// Where a condition on the launch guards synchronization, the statement is conditional. Lanes with a
    /// condition each carry it out one group after the other: what waits for other lanes refuses some of them.
    fn predicated(
        &mut self,
        instruction: &Instruction<'m>,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Result<(), Obstacle> {
        let reads = self.data && accesses(instruction);
        let arrives = instruction.opcode.starts_with("mbarrier.arrive.");
        let writes = !reads && !arrives && !destinations(instruction).is_empty();
        if let Some((guard, negated)) = instruction.guard
            && !writes
            && self.touches(instruction)
        {
            let value = self
                .machine
                .value(&Operand::Register(guard), state, instruction.at);
            let value = value.seen(state.active, &state.facts);
            let value = if negated { value.negated() } else { value };
            let mut parts = value.parts().unwrap_or_default();
            parts.retain_mut(|(lanes, condition)| {
                *lanes &= state.active;
                *lanes != 0 && *condition != Condition::Constant(false)
            });
            let known = |c: &Condition| matches!(c, Condition::Constant(_));
            let open = parts.iter().any(|(_, c)| !known(c));
            if open
                && parts.len() <= MOST_PARTS
                && !parts.iter().any(|(_, c)| c.tests() || self.reads(c))
            {
                let plain = Instruction {
                    guard: None,
                    ..instruction.clone()
                };
                let all = state.active;
                for (lanes, condition) in parts {
                    let mut inner = Vec::new();
                    let before = state.clone();
                    state.active = lanes;
                    let done = self.step(&plain, state, &mut inner);
                    state.active = all;
                    done?;
                    // It may not have been done.
                    state.join(&before);
                    self.conditional(condition, inner, Vec::new(), state, instruction, out);
                }
                let why = match arrives {
                    true => "what an arrival gives that only some runs make is not followed",
                    false => "it is read from memory",
                };
                let lost = Value::lost(instruction.at, why);
                self.machine.write_all(&plain, &lost, state);
                return Ok(());
            }
        }
        self.step(instruction, state, out)
    }

    pub fn reads(&self, condition: &Condition) -> bool {
        condition.mentions(&|u| found(self.machine.unknowns, u))
    }

    fn conditional(
        &self,
        condition: Condition,
        yes: Vec<Statement>,
        no: Vec<Statement>,
        state: &State,
        instruction: &Instruction<'_>,
        out: &mut Vec<Statement>,
    ) {
        if yes == no {
            out.extend(yes);
            return;
        }
        // One side may say what the other does, too, where the condition holds.
        if !yes.is_empty() && !no.is_empty() {
            for (other, general, holds) in [
                (&yes, &no, condition.clone()),
                (&no, &yes, condition.negated()),
            ] {
                let mut facts = state.facts.clone();
                facts.assume(&holds);
                let seen = |s: &[Statement]| numbered(&simplified(s, &facts));
                if seen(other) == seen(general) {
                    out.extend(general.iter().cloned());
                    return;
                }
            }
        }
        let (condition, yes, no) = if yes.is_empty() {
            (condition.negated(), no, yes)
        } else {
            (condition, yes, no)
        };
        // Loops that run no time where the condition fails need no condition.
        let mut outside = state.facts.clone();
        outside.assume(&condition.negated());
        let idle = |statement: &Statement| match &statement.action {
            Action::For(_, count, _) => outside.is_positive(&outside.rewritten(&count.scaled(-1))),
            _ => false,
        };
        if no.is_empty() && yes.iter().all(idle) {
            out.extend(yes);
            return;
        }
        out.push(Statement {
            action: Action::If(condition, yes, no),
            at: instruction.at,
            location: instruction.location,
            memory: "",
        });
    }

    /// Goes from the beginning of a block up to the beginning of another.
    pub fn region(
        &mut self,
        from: usize,
        stop: usize,
        entered: Option<usize>,
        mut state: State,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        let mut block = from;
        let mut entered = entered;
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            let at = self.last(block).map_or(0, |i| i.at);
            return Err(Obstacle::new(at, "branches and loops nest too deep"));
        }
        while block != stop && block != self.flow.exit() {
            if self.begins_again(block)? {
                entered = Some(block);
            }
            if self.flow.loops.contains_key(&block) && entered != Some(block) {
                let before = out.len();
                let (next, after) = self.cycle(block, state, out)?;
                if out.len() != before {
                    self.all_wait(out)?;
                    self.quiet = self.machine.unknowns.next();
                }
                (block, state) = (next, after);
                self.machine.remind(&mut state);
                continue;
            }
            entered = None;
            self.block(block, &mut state, out)?;
            self.not_left(block, &mut state)?;
            match self.flow.blocks.get(block).map(|b| b.end) {
                None => break,
                Some(End::Goto(next)) => block = next,
                Some(End::Branch(yes, no)) => {
                    let (next, after) = self.branch(block, yes, no, state, out)?;
                    (block, state) = (next, after);
                    self.machine.remind(&mut state);
                }
            }
        }
        self.depth -= 1;
        Ok(state)
    }

    /// The condition under which a block takes its branch.
    pub fn guard(&mut self, instruction: &Instruction<'_>, state: &mut State) -> Value {
        let Some((guard, negated)) = instruction.guard else {
            return Value::Same(Condition::Constant(true));
        };
        let value = self
            .machine
            .value(&Operand::Register(guard), state, instruction.at);
        let value = value.seen(state.active, &state.facts);
        if negated { value.negated() } else { value }
    }

    pub fn branch(
        &mut self,
        block: usize,
        yes: usize,
        no: usize,
        mut state: State,
        out: &mut Vec<Statement>,
    ) -> Result<(usize, State), Obstacle> {
        let Some(instruction) = self.last(block) else {
            return Ok((no, state));
        };
        let at = instruction.at;
        let value = self.guard(instruction, &mut state);
        if let Some(mask) = value.mask() {
            let taken = mask & state.active;
            if taken == state.active {
                return Ok((yes, state));
            }
            if taken == 0 {
                return Ok((no, state));
            }
        }
        // What leaves a loop that is written out has to be decided each time.
        let leaves = |(header, _): &(usize, usize)| {
            let blocks = self.flow.loops.get(header);
            blocks.is_some_and(|all| {
                all.contains(&block) && !(all.contains(&yes) && all.contains(&no))
            })
        };
        if value.mask().is_none() && self.unrolling.iter().any(leaves) {
            let reason = "how often this loop runs is not known";
            return Err(Obstacle::new(at, reason));
        }
        let Some(join) = self.flow.join(block) else {
            return Err(Obstacle::new(
                at,
                "after this branch the kernel may never end",
            ));
        };
        match value {
            Value::Parted(parts) if parts.len() > MOST_PARTS => {
                let mut blocks = self.flow.between(yes, join);
                blocks.extend(self.flow.between(no, join));
                if self.touching(&blocks) {
                    let value = Value::Parted(parts);
                    let after = self.parted(&value, (yes, no, join), state, instruction, out)?;
                    return Ok((join, after));
                }
                let mut code = blocks.iter().flat_map(|block| self.code(*block));
                if let Some(one) = code.find(|one| names_lanes(one)) {
                    return Err(Obstacle::new(one.at, PERHAPS));
                }
                let reason = "lanes of a warp take a branch differently before";
                self.none_leaves(&blocks, at, reason)?;
                self.give_up(&blocks, at, reason, &mut state);
                Ok((join, state))
            }
            Value::Mask(_) | Value::Parted(_) => {
                let parts = value.parts().unwrap_or_default();
                let ways = (yes, no, join);
                let after = match self.tested_beside(ways, &parts, &state) {
                    Some(test) => self.unthreaded(&test, (block, ways), state, instruction, out)?,
                    None => self.apart(&parts, ways, state, instruction, out)?,
                };
                Ok((join, after))
            }
            Value::Same(condition) => {
                let after = self.fork(condition, (yes, no, join), state, instruction, out)?;
                Ok((join, after))
            }
            Value::Lost(_) | Value::Integer(_) | Value::Groups(..) | Value::Token(_) => {
                let mut blocks = self.flow.between(yes, join);
                blocks.extend(self.flow.between(no, join));
                if self.touching(&blocks) {
                    let reason = match (&value, instruction.guard) {
                        (Value::Lost(loss), Some((register, _))) => {
                            let why = self.machine.because(&Operand::Register(register), loss);
                            format!("a branch decides about {}, but {why}", self.followed_here())
                        }
                        _ => "a branch on an integer".to_owned(),
                    };
                    return Err(Obstacle {
                        at,
                        reason,
                        from: match &value {
                            Value::Lost(loss) => Some(loss.at),
                            _ => None,
                        },
                        misuse: false,
                        rule: None,
                    });
                }
                // At the bottom of it is why the branch is not followed.
                const SIDE: &str = "it is written on one side of a branch that is not followed";
                let (from, reason) = match &value {
                    Value::Lost(loss) if loss.why.starts_with(SIDE) => (loss.at, loss.why.clone()),
                    Value::Lost(loss) => (loss.at, format!("{SIDE}: {}", loss.why)),
                    _ => (at, SIDE.to_owned()),
                };
                self.none_leaves(&blocks, from, &reason)?;
                self.give_up(&blocks, from, &reason, &mut state);
                Ok((join, state))
            }
        }
    }

    /// Registers that these blocks write are not known any more.
    pub fn give_up(&self, blocks: &BTreeSet<usize>, at: usize, why: &str, state: &mut State) {
        let lost = Value::lost(at, why);
        for register in self.written(blocks) {
            if let Some(slot) = state.registers.get_mut(register.0 as usize) {
                *slot = lost.clone();
            }
        }
    }

    pub fn written(&self, blocks: &BTreeSet<usize>) -> BTreeSet<Register> {
        let mut written = BTreeSet::new();
        for block in blocks {
            for instruction in self.code(*block) {
                written.extend(destinations(instruction).into_iter().flatten());
            }
        }
        written
    }

    /// A branch at which lanes diverge, or at which the launch decides whether they do.
    pub fn apart(
        &mut self,
        parts: &[(u32, Condition)],
        (yes, no, join): Ways,
        state: State,
        instruction: &Instruction<'_>,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        let (yes_leaves, no_leaves) = (self.leaves(yes, no), self.leaves(no, yes));
        let leaving = parts.iter().filter(|(_, condition)| match condition {
            Condition::Constant(taken) => {
                if *taken {
                    yes_leaves
                } else {
                    no_leaves
                }
            }
            _ => false,
        });
        let left = leaving.fold(0, |all, (group, _)| all | group) & state.active;
        let mut sides = Vec::new();
        for (group, condition) in parts {
            let lanes = group & state.active;
            if lanes == 0 {
                continue;
            }
            let mut side = state.clone();
            side.active = lanes;
            // Those that leave do not come back.
            side.whole &= lanes | !left;
            let mut statements = Vec::new();
            let after = match condition {
                Condition::Constant(taken) => {
                    let way = if *taken { yes } else { no };
                    self.region(way, join, None, side, &mut statements)?
                }
                condition => {
                    let ways = (yes, no, join);
                    self.fork(condition.clone(), ways, side, instruction, &mut statements)?
                }
            };
            sides.push((lanes, after, statements));
        }
        // Lanes on one side may have waited since others tested.
        for number in 0..sides.len() {
            let (before, rest) = sides.split_at_mut(number);
            if let Some(((_, side, _), after)) = rest.split_first_mut() {
                for (_, _, others) in before.iter().chain(after.iter()) {
                    self.forget_tests(side, others);
                }
            }
        }
        if state.vague && sides.iter().any(|(_, _, s)| !s.is_empty()) {
            let reason = "which lanes of the warp are here is not known";
            return Err(Obstacle::new(instruction.at, reason));
        }
        // Accesses of different lanes do not wait for each other.
        let several = sides.iter().filter(|(_, _, s)| !s.is_empty()).count() > 1
            && !sides.iter().all(|(_, _, s)| only_accesses(s));
        let meeting = CommonArrival::of(&sides, &self.arrival_counts).filter(|_| several);
        if several && meeting.is_none() {
            let reason = "lanes of one warp take different ways, and both take part in \
                          synchronization";
            return Err(Obstacle::new(instruction.at, reason));
        }
        // The machine may execute the sides of a divergent branch in any order.
        for (number, (_, one, _)) in sides.iter().enumerate() {
            let mut others = sides.iter().skip(number + 1);
            let differs = |side: &State| side.touched != state.touched;
            self.machine.in_step |= others.any(|(_, other, _)| {
                differs(one) && differs(other) && one.touched.meets(other.touched)
            });
        }
        let mut merged = state;
        let Some((_, first, _)) = sides.first() else {
            return Ok(merged);
        };
        merged.registers.clone_from(&first.registers);
        merged.apart = first.apart;
        merged.touched = first.touched;
        merged.held = first.held;
        merged.relinquished = first.relinquished;
        merged.arrivals.clone_from(&first.arrivals);
        for (lanes, side, _) in sides.iter().skip(1) {
            merged.join(side);
            for (slot, other) in merged.registers.iter_mut().zip(&side.registers) {
                if slot != other {
                    *slot = Value::by_lane(*lanes, other, slot, instruction.at);
                }
            }
        }
        if let Some(meeting) = meeting {
            self.arrival_counts.met += 1;
            meeting.one_token(&sides, self.arrival_counts.met, &mut merged);
            let CommonArrival {
                barrier,
                lanes,
                statements,
            } = meeting;
            self.last_arrival(barrier, self.arrival_counts.met, lanes, &mut merged);
            out.extend(statements);
        } else {
            out.extend(sides.into_iter().flat_map(|(_, _, statements)| statements));
        }
        Ok(merged)
    }

    /// A uniform branch that depends on the launch.
    pub fn fork(
        &mut self,
        condition: Condition,
        (yes, no, join): Ways,
        state: State,
        instruction: &Instruction<'_>,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        let sides = &mut |walker: &mut Self, holds: bool, side, out: &mut Vec<Statement>| {
            let way = if holds { yes } else { no };
            walker.region(way, join, None, side, out)
        };
        self.either(condition, state, instruction, out, sides)
    }

    /// What happens where a condition holds, and what happens where it does not.
    pub fn either(
        &mut self,
        condition: Condition,
        state: State,
        instruction: &Instruction<'_>,
        out: &mut Vec<Statement>,
        follow: &mut Follow<'_, Self>,
    ) -> Result<State, Obstacle> {
        let mut sides = Vec::new();
        let looked = self.looked;
        // Asynchronous work for which one side waits is still in flight on the other.
        let before = self.unfinished;
        let mut unfinished = [None, None];
        for holds in [true, false] {
            let mut side = state.clone();
            let here = if holds {
                condition.clone()
            } else {
                condition.negated()
            };
            side.facts.assume(&here);
            let mut statements = Vec::new();
            self.around.push(here);
            let after = follow(self, holds, side, &mut statements);
            self.around.pop();
            sides.push((after?, statements));
            for (all, here) in unfinished.iter_mut().zip(self.unfinished) {
                *all = all.or(here);
            }
            self.unfinished = before;
        }
        self.unfinished = unfinished;
        let (Some((second, below)), Some((first, above))) = (sides.pop(), sides.pop()) else {
            return Ok(state);
        };
        let vague = condition.tests() || self.reads(&condition);
        if vague {
            let (above, below) = (without(above, &multiplies), without(below, &multiplies));
            let waiting = self.peeked(&condition, looked, &above, &below);
            if let Some(wait) = waiting {
                self.machine.looks_ahead |= condition.tests() && !self.has_just_tested(instruction);
                out.push(wait);
                self.all_wait(out)?;
            } else if self.takes_turns(&condition, (&above, &below), out)? {
                // It is written as a barrier.
            } else if self.machine.guessing && condition.tests() {
                // What decides is looked at once the guess is checked.
            } else if !above.is_empty() || !below.is_empty() {
                let reason = if condition.tests() {
                    "a branch depends on a single test of an mbarrier"
                } else {
                    &format!(
                        "a branch decides about {}, but depends on memory that is read",
                        self.followed_here()
                    )
                };
                return Err(Obstacle::new(instruction.at, reason));
            }
        } else {
            self.conditional(condition.clone(), above, below, &state, instruction, out);
        }
        let mut merged = State {
            apart: first.apart,
            touched: first.touched,
            held: first.held,
            relinquished: first.relinquished,
            arrivals: first.arrivals.clone(),
            ..state
        };
        merged.join(&second);
        for (index, slot) in merged.registers.iter_mut().enumerate() {
            let (Some(a), Some(b)) = (first.registers.get(index), second.registers.get(index))
            else {
                continue;
            };
            *slot = if a == b {
                a.clone()
            } else if vague {
                Value::lost(instruction.at, "it depends on what is read from memory")
            } else {
                Value::choice(&condition, a, b, &merged.facts, instruction.at)
            };
        }
        Ok(merged)
    }

    /// Where an instruction comes from, for a statement.
    pub fn place(&self, block: usize) -> (usize, Option<Location>) {
        match self.code(block).first().or(self.last(block)) {
            Some(i) => (i.at, i.location),
            None => (0, None),
        }
    }
}

/// Whether statements do nothing but read and write shared memory themselves.
pub(in crate::ptx) fn only_accesses(statements: &[Statement]) -> bool {
    statements.iter().all(|s| match &s.action {
        Action::Touch(How::Read | How::Write, _) => true,
        Action::For(_, _, body) => only_accesses(body),
        Action::If(_, yes, no) => only_accesses(yes) && only_accesses(no),
        _ => false,
    })
}
