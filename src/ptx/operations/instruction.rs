//! Translates synchronization instructions to statements. An instruction of a known family in an unsupported form is
//! never ignored: the kernel is refused.

use super::access::ordering;
use super::counters::written_at;
use super::flips::found;
use super::peek::may_meet;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::Touched;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Rule;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Test;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// The most arrivals or bytes that an mbarrier counts, by the PTX manual.
const MOST_PENDING: i128 = (1 << 20) - 1;

/// The size and alignment of an mbarrier.
const MBARRIER_BYTES: i128 = 8;

/// Whether an instruction takes part in synchronization, so that it may not be left out unseen.
/// Writes to memory count only where the kernel waits for memory.
pub(in crate::ptx) fn touches(instruction: &Instruction<'_>, counters: bool) -> bool {
    let mut parts = instruction.parts();
    let first = parts.next().unwrap_or_default();
    match first {
        "bar" | "barrier" => true,
        "mbarrier" => true,
        "cp" => {
            instruction.has("mbarrier")
                || instruction.opcode.contains("mbarrier::")
                || counters && (instruction.has("reduce") || written_at(instruction).is_some())
        }
        "wmma" | "discard" | "tensormap" => counters && written_at(instruction).is_some(),
        "tcgen05" => ["commit", "alloc", "dealloc"]
            .iter()
            .any(|p| instruction.has(p)),
        "clusterlaunchcontrol" => !instruction.has("query_cancel"),
        "setmaxnreg" | "brx" => true,
        // The four warps of a warpgroup multiply together, equally often.
        "wgmma" => !instruction.has("fence"),
        "call" => !instruction.operands.iter().any(|o| {
            matches!(
                o,
                Operand::Name("vprintf" | "__assertfail" | "malloc" | "free")
            )
        }),
        "multimem" => counters,
        "red" | "atom" | "st" => {
            let shared = instruction.opcode.contains("shared");
            (counters && !shared && !instruction.has("local") && !instruction.has("param"))
                || instruction.has("async")
        }
        _ => false,
    }
}

/// Whether an instruction reads what other threads write meanwhile: in a loop it may be how the
/// kernel waits.
pub(in crate::ptx) fn watches(instruction: &Instruction<'_>) -> bool {
    match instruction.parts().next() {
        Some("ld") => ["volatile", "acquire", "relaxed", "mmio"]
            .iter()
            .any(|p| instruction.has(p)),
        Some("atom" | "nanosleep" | "multimem" | "suld") => true,
        _ => false,
    }
}

pub(in crate::ptx) type Done = Result<(), Obstacle>;

impl Walker<'_, '_, '_> {
    /// Carries one instruction out. Branches are not its business.
    pub fn step(
        &mut self,
        instruction: &Instruction<'_>,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        let parts: Vec<&str> = instruction.parts().collect();
        let lanes = self.guarded(instruction, &parts, state)?;
        if lanes == 0 {
            return Ok(());
        }
        self.definite(instruction, state)?;
        let count = i128::from(lanes.count_ones());
        let by_all = matches!(
            parts.as_slice(),
            ["ldmatrix" | "stmatrix" | "movmatrix" | "mma" | "wmma", ..]
                | ["tcgen05", "ld" | "st", ..]
        );
        let together = by_all || self.touches(instruction);
        if together && instruction.has("aligned") && lanes != state.whole {
            return self.undefined(
                instruction,
                "all lanes of the warp have to carry this out together",
            );
        }
        self.converged(instruction, lanes, state)?;
        let looks = instruction.has("try_wait") || instruction.has("test_wait");
        let meets = matches!(parts.first(), Some(&("bar" | "barrier")));
        if self.touches(instruction) && !looks && !meets {
            self.ordered(instruction, lanes, state)?;
            let tells = match parts.as_slice() {
                ["mbarrier", kind, ..] => !matches!(*kind, "init" | "inval" | "pending_count"),
                ["tcgen05", kind, ..] => *kind == "commit",
                ["cp", ..] => instruction.opcode.contains("mbarrier"),
                _ => false,
            };
            if tells {
                self.behind(instruction, lanes, state)?;
            }
        }
        let warp = matches!(parts.as_slice(), ["bar", "warp", ..]);
        if self.data && !looks && !warp && touches(instruction, self.has_counters()) {
            self.finished(instruction)?;
        }
        if matches!(parts.as_slice(), ["tcgen05", "commit", ..]) {
            self.commits(instruction, lanes)?;
        }
        self.access(instruction, lanes, state, out)?;
        if !matches!(parts.first(), Some(&("red" | "atom" | "st"))) {
            self.written_over(instruction, lanes, state)?;
        }
        match parts.as_slice() {
            ["mbarrier", ..] => self.mbarrier(instruction, &parts, lanes, state, out),
            ["bar", "warp", ..] => self.warp_barrier(instruction, lanes, state),
            ["barrier", "cluster", kind, ..] => {
                self.together(instruction, lanes, state)?;
                match *kind {
                    // Nobody waits for the other lanes here.
                    "arrive" => self.push(out, instruction, Action::ClusterArrive),
                    "wait" => {
                        state.touched = Touched::default();
                        self.push(out, instruction, Action::ClusterWait);
                    }
                    _ => return self.refuse(instruction, "this cluster barrier is not modelled"),
                }
                Ok(())
            }
            ["bar" | "barrier", ..] => self.barrier(instruction, &parts, lanes, state, out),
            ["cp", ..] => self.copy(instruction, &parts, count, state, out),
            ["tcgen05", ..] => self.tensor(instruction, &parts, count, state, out),
            ["red" | "atom", ..] => self.atomic(instruction, &parts, lanes, state, out),
            ["st", ..] => self.store(instruction, lanes, state, out),
            ["wgmma", ..] => {
                self.multiply(instruction, &parts, lanes, out)?;
                self.machine.compute(instruction, state);
                Ok(())
            }
            ["setmaxnreg", ..] => self.registers(instruction, lanes, state, out),
            ["clusterlaunchcontrol", "try_cancel", ..] => self.ask(instruction, lanes, state, out),
            ["brx", ..] => self.refuse(
                instruction,
                "where it goes is not known, or the index may lie behind the end of its list, which is undefined",
            ),
            ["clusterlaunchcontrol" | "call" | "multimem", ..]
                if touches(instruction, self.has_counters()) =>
            {
                self.refuse(instruction, "this instruction is not modelled")
            }
            _ => {
                let first = self.machine.unknowns.next();
                self.fenced(instruction, state);
                if !self.hear(instruction, &parts, state) {
                    self.machine.compute(instruction, state);
                }
                self.seen_now(instruction, first);
                Ok(())
            }
        }
    }

    /// Refuses more bytes than an mbarrier can wait for.
    fn countable(&self, instruction: &Instruction<'_>, bytes: &Sum) -> Done {
        match bytes.as_constant() {
            Some(bytes) if !(0..=MOST_PENDING).contains(&bytes) => {
                self.misused(instruction, "an mbarrier counts up to 2^20 - 1 bytes")
            }
            _ => Ok(()),
        }
    }

    pub fn refuse(&self, instruction: &Instruction<'_>, why: &str) -> Done {
        Err(self.obstacle(instruction, why))
    }

    /// Refuses what the hardware does not take, or nobody can say what it does.
    pub fn misused(&self, instruction: &Instruction<'_>, why: &str) -> Done {
        Err(self.obstacle(instruction, why).misused())
    }

    /// Refuses what lanes or warps that have to be here are missing for.
    pub fn undefined(&self, instruction: &Instruction<'_>, why: &str) -> Done {
        let mut obstacle = self.obstacle(instruction, why).misused();
        obstacle.rule = Some(Rule::Together);
        Err(obstacle)
    }

    pub fn obstacle(&self, instruction: &Instruction<'_>, why: &str) -> Obstacle {
        let reason = format!("`{}`: {why}", instruction.opcode);
        Obstacle::new(instruction.at, reason)
    }

    pub fn push(&self, out: &mut Vec<Statement>, instruction: &Instruction<'_>, action: Action) {
        // Waiting is best told by who calls for it, an access by itself.
        let location = match &action {
            Action::Touch(..) => instruction.written,
            _ => instruction.location,
        };
        out.push(Statement {
            action,
            at: instruction.at,
            location,
            memory: if self.data { ordering(instruction) } else { "" },
        });
    }

    /// The active lanes in which the guard holds. Only instructions that take part in
    /// synchronization have to know it.
    fn guarded(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Result<u32, Obstacle> {
        let Some((guard, negated)) = instruction.guard else {
            return Ok(state.active);
        };
        let operand = Operand::Register(guard);
        let value = self.machine.value(&operand, state, instruction.at);
        let value = if negated { value.negated() } else { value };
        let computes = !self.touches(instruction)
            || parts
                .first()
                .is_some_and(|p| matches!(*p, "elect" | "shfl"));
        match value.mask() {
            Some(mask) => Ok(mask & state.active),
            None if computes => Ok(state.active),
            None => {
                let reason = match &value {
                    Value::Lost(loss) => self.machine.because(&operand, loss),
                    _ => "it is predicated by a condition on the launch, which is followed for \
                          branches only"
                        .to_owned(),
                };
                self.refuse(instruction, &reason)?;
                Ok(0)
            }
        }
    }

    /// The value of an operand that is the same in all lanes.
    pub fn uniform(
        &mut self,
        instruction: &Instruction<'_>,
        operand: Option<&Operand<'_>>,
        state: &mut State,
    ) -> Result<Sum, Obstacle> {
        let Some(operand) = operand else {
            self.refuse(instruction, "an operand is missing")?;
            return Ok(Sum::of(0));
        };
        let integer = self
            .machine
            .integer(operand, state, instruction.at)
            .map_err(|mut obstacle| {
                obstacle.reason = format!("`{}`: {}", instruction.opcode, obstacle.reason);
                obstacle
            })?;
        self.one(instruction, &integer, state)
    }

    pub fn one(
        &mut self,
        instruction: &Instruction<'_>,
        integer: &Integer,
        state: &mut State,
    ) -> Result<Sum, Obstacle> {
        let active = state.active;
        let mut lanes = (0..32).filter(|lane| active >> lane & 1 == 1);
        let first = self
            .machine
            .in_lane(integer, lanes.next().unwrap_or(0), state);
        if lanes.any(|lane| self.machine.in_lane(integer, lane, state) != first) {
            self.refuse(
                instruction,
                "an operand differs between the lanes of a warp",
            )?;
        }
        // What is known here may decide what was open where it was computed.
        let first = state.facts.rewritten(&first);
        self.followed(instruction, &first)?;
        Ok(first)
    }

    /// Refuses what depends on memory or on a loop that is not understood.
    pub fn followed(&self, instruction: &Instruction<'_>, sum: &Sum) -> Done {
        let memory = |u: Unknown| found(self.machine.unknowns, u);
        if sum.mentions(&memory) {
            return self.refuse(instruction, "an operand is read from memory");
        }
        Ok(())
    }

    /// Refuses unless all lanes of the warp are here.
    pub fn together(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
    ) -> Done {
        if lanes != state.whole {
            // `bar` is short for `barrier` with `.aligned`.
            return match instruction.parts().next() {
                Some("bar") => self.undefined(
                    instruction,
                    "only some lanes of the warp come to this barrier, which is `.aligned`: that is undefined",
                ),
                _ => self.misused(instruction, "only some lanes of the warp are here"),
            };
        }
        state.apart = None;
        Ok(())
    }

    /// Refuses where lanes that did not wait may be ahead of those that did.
    pub fn ordered(&self, instruction: &Instruction<'_>, lanes: u32, state: &State) -> Done {
        match state.apart {
            Some(waited) if lanes & !waited != 0 => self.misused(
                instruction,
                "some lanes of the warp waited before, and the others may come here ahead of them: a \
                 `bar.warp.sync` is missing",
            ),
            _ => Ok(()),
        }
    }

    fn mbarrier(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        let count = i128::from(lanes.count_ones());
        let kind = parts.get(1).copied().unwrap_or_default();
        if kind == "pending_count" {
            self.machine.compute(instruction, state);
            return Ok(());
        }
        let place = instruction
            .operands
            .iter()
            .position(|o| matches!(o, Operand::Address { .. }));
        let Some(place) = place else {
            return self.refuse(instruction, "it has no address");
        };
        let mut seen = state.narrowed(lanes);
        let address = instruction.operands.get(place);
        let after = instruction.operands.get(place + 1);
        let apart = matches!(
            kind,
            "init" | "inval" | "arrive" | "expect_tx" | "complete_tx"
        );
        if apart && let Some(groups) = self.by_address(instruction, address, lanes, state) {
            for group in groups {
                self.mbarrier(instruction, parts, group, state, out)?;
            }
            let reason = "lanes of a warp arrive at several mbarriers";
            let lost = Value::lost(instruction.at, reason);
            self.machine.write_all(instruction, &lost, state);
            return Ok(());
        }
        let barrier = self.uniform(instruction, address, &mut seen)?;
        let misplaced = |a: &Sum| a.constant.rem_euclid(MBARRIER_BYTES) != 0;
        if barrier.minus(&Sum::of(barrier.constant)).single().is_some() && misplaced(&barrier) {
            return self.misused(instruction, "an mbarrier lies at a multiple of 8 bytes");
        }
        match kind {
            "init" if count > 1 => {
                return self.misused(instruction, "several lanes initialise one mbarrier");
            }
            "init" => {
                let expected = self.uniform(instruction, after, &mut seen)?;
                let Some(expected) = expected.as_constant() else {
                    return self.refuse(instruction, "the count is not a constant");
                };
                if !(1..=MOST_PENDING).contains(&expected) {
                    return self.misused(instruction, "an mbarrier counts 1 to 2^20 - 1 arrivals");
                }
                self.push(out, instruction, Action::Init(barrier, expected));
            }
            "inval" if count > 1 => {
                return self.misused(instruction, "several lanes invalidate one mbarrier");
            }
            "inval" => self.push(out, instruction, Action::Inval(barrier)),
            "arrive" | "arrive_drop" => {
                if parts.contains(&"expect_tx") {
                    self.arrival_counts.note(instruction.at, 1, count);
                    let bytes = self.uniform(instruction, after, &mut seen)?;
                    self.countable(instruction, &bytes)?;
                    if count == 1 {
                        self.push(
                            out,
                            instruction,
                            Action::ArriveExpectTx(barrier.clone(), bytes),
                        );
                    } else {
                        let all = bytes.scaled(count);
                        self.push(out, instruction, Action::ExpectTx(barrier.clone(), all));
                        self.push(out, instruction, Action::Arrive(barrier.clone(), count));
                    }
                } else {
                    let times = match after {
                        Some(operand) => self.uniform(instruction, Some(operand), &mut seen)?,
                        None => Sum::of(1),
                    };
                    let Some(times) = times.as_constant().filter(|t| *t > 0) else {
                        return self.refuse(instruction, "the count is not a constant");
                    };
                    self.arrival_counts.note(instruction.at, times, count);
                    let times = times * count;
                    // Written as one arrival that nothing comes between. All arrivals there have one count, or come in one phase
                    // (`cta/apart.rs`). So where the first of the two would complete the phase, which is undefined, both together are more
                    // than it lacks, and that is an error of the text. The same holds where others complete it between them.
                    let part = match out.last().map(|s| &s.action) {
                        Some(Action::ArrivePart(at, n, who)) if *at == barrier && *who == lanes => {
                            *n
                        }
                        _ => 0,
                    };
                    let action = if parts.contains(&"noComplete") {
                        Action::ArrivePart(barrier.clone(), times, lanes)
                    } else if part > 0 {
                        // What is expected then sinks by this arrival only.
                        if kind == "arrive_drop" {
                            let why = "an arrival in two parts that then drops out is not followed";
                            return self.refuse(instruction, why);
                        }
                        out.pop();
                        // Of each part a lane has made as many as of the whole.
                        self.arrival_counts
                            .note(instruction.at, part / count, count);
                        Action::Arrive(barrier.clone(), times + part)
                    } else if raised(out, &barrier, times) {
                        // What was raised and this arrival cancel out: the later one is left.
                        out.truncate(out.len() - 2);
                        Action::Commit(barrier.clone(), times)
                    } else {
                        Action::Arrive(barrier.clone(), times)
                    };
                    self.push(out, instruction, action);
                }
                if kind == "arrive_drop" {
                    self.push(out, instruction, Action::Drop(barrier.clone()));
                }
                // The token that comes back stands for the phase of this arrival.
                let number = self.arrival_counts.number();
                self.last_arrival(barrier, number, lanes, state);
                if place > 0 {
                    self.machine
                        .write_all(instruction, &Value::Token(number), state);
                }
            }
            "expect_tx" => {
                let bytes = self.uniform(instruction, after, &mut seen)?.scaled(count);
                self.countable(instruction, &bytes)?;
                self.push(out, instruction, Action::ExpectTx(barrier, bytes));
            }
            "complete_tx" => {
                let bytes = self.uniform(instruction, after, &mut seen)?.scaled(count);
                self.push(out, instruction, Action::CompleteTx(barrier, bytes));
            }
            "try_wait" | "test_wait" => {
                let parity = if parts.contains(&"parity") {
                    let parity = self.uniform(instruction, after, &mut seen)?;
                    let (low, high) = state.facts.range(&parity);
                    if (low < 0 || high > 1) && !self.machine.guessing {
                        return self.misused(instruction, "the parity may be other than 0 and 1");
                    }
                    Some(parity)
                } else {
                    self.own_phase(instruction, &barrier, after, lanes, state)?;
                    None
                };
                let memory = if self.data { ordering(instruction) } else { "" };
                let passed = Value::Same(Condition::passed(Test {
                    barrier,
                    parity,
                    memory,
                    time: self.moment(),
                }));
                self.machine.write_all(instruction, &passed, state);
            }
            _ => return self.refuse(instruction, "this form is not modelled"),
        }
        Ok(())
    }

    /// Notes that an arrival is the last one of these lanes at an mbarrier.
    pub fn last_arrival(&self, barrier: Sum, number: u32, lanes: u32, state: &mut State) {
        let State {
            arrivals, facts, ..
        } = state;
        arrivals.retain(|(other, _, _)| !may_meet(&self.machine, &barrier, other, facts));
        arrivals.push((barrier, number, lanes));
    }

    /// Refuses unless a phase token is that of the last arrival of these lanes at this mbarrier.
    fn own_phase(
        &mut self,
        instruction: &Instruction<'_>,
        barrier: &Sum,
        token: Option<&Operand<'_>>,
        lanes: u32,
        state: &mut State,
    ) -> Done {
        let Some(operand) = token else {
            return self.refuse(instruction, "an operand is missing");
        };
        match self.machine.value(operand, state, instruction.at) {
            Value::Token(number) => {
                let last = |(at, latest, arrived): &(Sum, u32, u32)| {
                    at == barrier && *latest == number && lanes & !arrived == 0
                };
                if state.arrivals.iter().any(last) {
                    return Ok(());
                }
                let why = "its phase token is not certainly that of the last arrival here";
                self.refuse(instruction, why)
            }
            Value::Lost(loss) => {
                let why = self.machine.because(operand, &loss);
                self.refuse(instruction, &why)
            }
            _ => self.refuse(instruction, "its phase token comes from no arrival"),
        }
    }

    fn barrier(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        let kind = parts
            .iter()
            .copied()
            .find(|p| matches!(*p, "sync" | "arrive" | "red"))
            .unwrap_or_default();
        self.together(instruction, lanes, state)?;
        if kind != "arrive" {
            state.touched = Touched::default();
        }
        let integers: Vec<&Operand<'_>> = if kind == "red" {
            // The predicates are first and last.
            let skipped = instruction.operands.iter().skip(1);
            let mut rest: Vec<&Operand<'_>> = skipped.collect();
            rest.pop();
            rest
        } else {
            instruction.operands.iter().collect()
        };
        let all = i128::from(self.machine.launch.warps() * 32);
        let id = match integers.first() {
            Some(operand) => self.uniform(instruction, Some(operand), state)?,
            None => Sum::of(0),
        };
        let (low, high) = state.facts.range(&id);
        if low < 0 || high > 15 {
            let mut obstacle = self.obstacle(instruction, "the barrier may be other than 0 to 15");
            obstacle.rule = (low > 15).then_some(Rule::BarrierId);
            obstacle.misuse = obstacle.rule.is_some();
            return Err(obstacle);
        }
        let given = integers.get(1).is_some();
        let by_thread = parts.first() == Some(&"barrier") && !instruction.has("aligned");
        if given && by_thread && lanes != u32::MAX {
            return self.refuse(
                instruction,
                "only some lanes of a warp arrive at this barrier, which has a thread count and no `.aligned`: PTX does not settle how many threads they count as",
            );
        }
        let threads = match integers.get(1) {
            Some(operand) => self.uniform(instruction, Some(operand), state)?,
            None => Sum::of(all),
        };
        // Of a count that the launch decides, each term is a multiple of a warp.
        let counted = Integer::same(threads.clone());
        let numbered = self
            .machine
            .read(&counted, false, 32, state, instruction.at)
            .is_some_and(|read| read == counted);
        let whole = threads.exactly_over(32).is_some() && state.facts.range(&threads).0 > 0;
        if !numbered || !whole {
            let why = "the thread count is no known multiple of 32";
            let mut obstacle = self.obstacle(instruction, why);
            obstacle.rule = threads.as_constant().map(|_| Rule::BarrierCount);
            obstacle.misuse = obstacle.rule.is_some();
            return Err(obstacle);
        }
        match kind {
            "sync" | "red" => {
                self.push(out, instruction, Action::Sync(id, threads, given));
                if kind == "red" {
                    let vote = self.votes(instruction, parts, state);
                    self.machine.compute(instruction, state);
                    if let Some(vote) = vote {
                        self.machine.write_all(instruction, &vote, state);
                    }
                }
            }
            "arrive" => self.push(out, instruction, Action::ArriveNamed(id, threads)),
            _ => return self.refuse(instruction, "this form is not modelled"),
        }
        Ok(())
    }
}

/// Whether the same lanes have just raised the count of an mbarrier by this much, for an arrival that
/// comes once their copies have landed.
fn raised(out: &[Statement], barrier: &Sum, times: i128) -> bool {
    let [.., expected, delivered] = out else {
        return false;
    };
    let bytes = Sum::of(times);
    expected.at == delivered.at
        && expected.action == Action::ExpectTx(barrier.clone(), bytes.clone())
        && delivered.action == Action::Copy(barrier.clone(), Some(bytes), None)
}
