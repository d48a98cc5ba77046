//! Divergence that depends on the launch, as in `if (block * 256 + thread >= n) return;`, and barriers of some lanes.
//!
//! A case split finds the lanes that take the branch. The condition of one lane is assumed to hold, then assumed not to
//! hold, and so on until it is decided for every lane. Statements that all cases have in common are written once.

use super::walk::Walker;
use crate::ptx::operations::instruction::Done;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::machine::Machine;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::Touched;
use crate::ptx::warp::machine::wrap;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::LANES;
use crate::ptx::warp::value::Value;

/// Cases that are told apart for one warp.
const MOST_CASES: usize = 1 << 8;

/// Cases that are told apart even where many instructions have been followed: all lanes or none.
const FEW_CASES: usize = 4;

/// Instructions followed for one kernel, beyond which only few cases are told apart.
const MANY_STEPS: usize = 30_000;

/// A branch: its two successors, and the block at which they join.
pub(in crate::ptx) type Ways = (usize, usize, usize);

impl<'m> Walker<'_, 'm, '_> {
    /// Follows a branch that lanes may take differently depending on the launch.
    pub fn parted(
        &mut self,
        value: &Value,
        ways: Ways,
        state: State,
        instruction: &Instruction<'m>,
        out: &mut Vec<Statement>,
    ) -> Result<State, Obstacle> {
        let seen = value.seen(state.active, &state.facts);
        let (yes, no, join) = ways;
        if let (Value::Same(condition), None) = (&seen, seen.mask()) {
            return self.fork(condition.clone(), ways, state, instruction, out);
        }
        let Some(split) = split(&seen, &state) else {
            self.cases += 1;
            let many = self.steps > MANY_STEPS;
            if self.cases > if many { FEW_CASES } else { MOST_CASES } {
                let reason = "lanes of a warp go different ways in too many ways to tell apart";
                return Err(Obstacle::new(instruction.at, reason));
            }
            return match seen.mask().map(|m| m & state.active) {
                Some(0) => self.region(no, join, None, state, out),
                Some(taken) if taken == state.active => self.region(yes, join, None, state, out),
                _ => {
                    let parts = seen.parts().unwrap_or_default();
                    self.apart(&parts, ways, state, instruction, out)
                }
            };
        };
        if !split.whole
            && let Some(after) = self.some(&seen, ways, &state, instruction, out)
        {
            return Ok(after);
        }
        let on = split.on;
        self.either(on, state, instruction, out, &mut |walker, _, side, out| {
            walker.parted(&seen, ways, side, instruction, out)
        })
    }

    /// Follows a branch of which one side does nothing that matters, and the other is taken by one lane for
    /// certain: what is done there has to be the same for any lanes.
    fn some(
        &mut self,
        seen: &Value,
        (yes, no, join): Ways,
        state: &State,
        instruction: &Instruction<'m>,
        out: &mut Vec<Statement>,
    ) -> Option<State> {
        let (yes_blocks, no_blocks) = (self.flow.between(yes, join), self.flow.between(no, join));
        let holds = match (self.touching(&yes_blocks), self.touching(&no_blocks)) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        if state.vague {
            return None;
        }
        for side in [&yes_blocks, &no_blocks] {
            self.none_leaves(side, instruction.at, "").ok()?;
        }
        let parts = seen.parts()?;
        let certain = Condition::Constant(holds);
        if !parts
            .iter()
            .any(|(lanes, c)| lanes & state.active != 0 && *c == certain)
        {
            return None;
        }
        let never = Condition::Constant(!holds);
        let possible = parts.iter().filter(|(_, c)| *c != never);
        let mut side = state.clone();
        side.vague = true;
        side.active &= possible.fold(0, |all, (lanes, _)| all | lanes);
        let (depth, before) = (self.depth, out.len());
        let assumed = self.machine.assumptions.clone();
        let (way, other) = if holds { (yes, no) } else { (no, yes) };
        if self.leaves(other, way) {
            side.whole &= side.active | !state.active;
        }
        match self.region(way, join, None, side, out) {
            Ok(_) => {
                let mut after = state.clone();
                let mut blocks = yes_blocks;
                blocks.extend(no_blocks);
                let reason = "lanes of a warp take a branch differently before";
                self.give_up(&blocks, instruction.at, reason, &mut after);
                Some(after)
            }
            Err(_) => {
                self.depth = depth;
                out.truncate(before);
                *self.machine.assumptions = assumed;
                None
            }
        }
    }

    /// Whether the lanes that take one side of a branch exit, so that no lane of the other side waits for them. They have to
    /// reach `ret` or `exit` without an operation that waits, and the block at which the sides join must have no other code.
    /// If lanes have more to do after the branch, the machine may make them wait there for the other lanes.
    pub fn leaves(&self, way: usize, other: usize) -> bool {
        let exit = self.flow.exit();
        let (going, staying) = (self.flow.between(way, exit), self.flow.between(other, exit));
        let waits = |block: &usize| self.code(*block).iter().any(|i| i.has("sync"));
        let done = |block: &usize| self.code(*block).is_empty();
        // Another iteration may come after the end of this one.
        self.inside.is_empty()
            && !self.touching(&going)
            && !going.iter().any(waits)
            && going.intersection(&staying).all(done)
    }

    /// Refuses what depends on which lanes are here, where that is not known.
    pub fn definite(&self, instruction: &Instruction<'_>, state: &State) -> Done {
        let barrier = instruction.opcode.starts_with("bar");
        let plain = !self.touches(instruction) && !instruction.opcode.starts_with("wgmma");
        if !state.vague || barrier || plain {
            return Ok(());
        }
        self.refuse(instruction, "which lanes of the warp are here is not known")
    }

    /// `bar.warp.sync`: the lanes of its mask wait for each other. Those of them that have not left have to be
    /// here, with the same mask.
    pub fn warp_barrier(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
    ) -> Done {
        let Some(operand) = instruction.operands.first() else {
            return self.refuse(instruction, "an operand is missing");
        };
        let masks = match self.machine.value(operand, state, instruction.at) {
            Value::Integer(masks) => masks.constants(),
            Value::Lost(loss) => {
                let why = self.machine.because(operand, &loss);
                return self.refuse(instruction, &why);
            }
            _ => None,
        };
        let Some(masks) = masks.map(|m| m.map(|m| wrap(m, false, 32))) else {
            return self.refuse(instruction, "which lanes it waits for is not known");
        };
        if !complete(&masks, lanes, state) {
            return self.misused(instruction, INCOMPLETE);
        }
        if lanes == state.whole && masks.iter().all(|m| *m == 0xffff_ffff) {
            state.apart = None;
            state.touched = Touched::default();
        }
        Ok(())
    }
}

/// Why lanes of a warp that wait for each other may wait for ever.
const INCOMPLETE: &str = "a lane is not in its own mask, or lanes of the mask are not here";

pub(super) const PERHAPS: &str =
    "it is not known which lanes of the warp execute this, and some lanes of the mask may not";

/// Whether lanes of a warp exchange something by an instruction.
pub(super) fn is_exchange(instruction: &Instruction<'_>) -> bool {
    let exchanges = ["shfl", "vote", "match", "redux", "elect"];
    let mut parts = instruction.parts();
    parts.next().is_some_and(|first| exchanges.contains(&first))
}

/// Whether an instruction waits for the lanes of the warp that its mask names.
pub(super) fn names_lanes(instruction: &Instruction<'_>) -> bool {
    is_exchange(instruction) && instruction.has("sync")
}

/// Whether every lane that is here names itself, and only lanes that are here with the same mask or have left.
fn complete(masks: &[i128; 32], lanes: u32, state: &State) -> bool {
    let bit = |lane: usize| 1u32 << lane;
    (0..masks.len())
        .filter(|lane| lanes & bit(*lane) != 0)
        .all(|lane| {
            let named = masks[lane];
            let of_mask = |other: usize| named >> other & 1 == 1;
            let alone = (0..masks.len()).any(|other| {
                let here = lanes & bit(other) != 0 && masks[other] == named;
                of_mask(other) && state.whole & bit(other) != 0 && !here
            });
            !alone && of_mask(lane)
        })
}

impl Walker<'_, '_, '_> {
    /// Refuses votes and exchanges of lanes of which some may be somewhere else: the others wait for them.
    /// Where the mask is not known, nothing is said.
    pub fn converged(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
    ) -> Done {
        if !names_lanes(instruction) {
            return Ok(());
        }
        if state.vague || self.is_of_some(instruction, state) {
            return self.undefined(instruction, PERHAPS);
        }
        let Some(operand) = instruction.operands.last() else {
            return Ok(());
        };
        let Value::Integer(masks) = self.machine.value(operand, state, instruction.at) else {
            return Ok(());
        };
        match masks.constants().map(|m| m.map(|m| wrap(m, false, 32))) {
            Some(masks) if !complete(&masks, lanes, state) => {
                self.undefined(instruction, INCOMPLETE)
            }
            _ => Ok(()),
        }
    }

    /// Whether some lanes may carry out a guarded instruction while others do not.
    fn is_of_some(&mut self, instruction: &Instruction<'_>, state: &mut State) -> bool {
        let Some((guard, _)) = instruction.guard else {
            return false;
        };
        let value = self
            .machine
            .value(&Operand::Register(guard), state, instruction.at);
        value.mask().is_none() && !matches!(value, Value::Same(_))
    }

    /// The groups of lanes that mean different mbarriers, where there are several: none of these operations
    /// waits, so lanes carry them out one group after the other.
    pub fn by_address(
        &mut self,
        instruction: &Instruction<'_>,
        address: Option<&Operand<'_>>,
        lanes: u32,
        state: &mut State,
    ) -> Option<Vec<u32>> {
        let Value::Integer(integer) = self.machine.value(address?, state, instruction.at) else {
            return None;
        };
        let mut groups: Vec<(Sum, u32)> = Vec::new();
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
            let own = self.machine.in_lane(&integer, lane, state);
            match groups.iter_mut().find(|(other, _)| *other == own) {
                Some((_, group)) => *group |= 1 << lane,
                None => groups.push((own, 1 << lane)),
            }
        }
        (groups.len() > 1).then(|| groups.into_iter().map(|(_, group)| group).collect())
    }
}

impl Machine<'_, '_> {
    /// The same place in the CTA of the cluster that each lane names.
    pub fn in_peers(
        &mut self,
        address: &Integer,
        ranks: &Integer,
        state: &mut State,
    ) -> Option<Integer> {
        let mut all = [0; LANES];
        for (lane, rank) in all.iter_mut().enumerate() {
            if state.active >> lane & 1 == 1 {
                *rank = u32::try_from(ranks.lane(lane).as_constant()?).ok()?;
            }
            if *rank >= self.launch.ranks() {
                return None;
            }
        }
        let own = self.in_peer(&address.sum, self.rank, state);
        let peers = Sum::unknown(self.unknowns.of(Meaning::Peers(all)));
        Some(Integer {
            sum: own.plus(&peers),
            lanes: address.lanes.clone(),
        })
    }

    /// Whether this address lies in a CTA of its own for each lane.
    pub fn parts_lanes(&self, sum: &Sum) -> bool {
        sum.mentions(&|u| matches!(self.unknowns.meaning(u), Some(Meaning::Peers(_))))
    }

    /// An address as one lane has it.
    pub fn in_lane(&mut self, address: &Integer, lane: usize, state: &mut State) -> Sum {
        let own = address.lane(lane);
        let ranks = own.terms.iter().find_map(|(atom, _)| match atom {
            Atom::Unknown(u) => match self.unknowns.meaning(*u) {
                Some(Meaning::Peers(ranks)) => ranks.get(lane).copied(),
                _ => None,
            },
            _ => None,
        });
        match ranks {
            Some(rank) => self.in_peer(&own, rank, state),
            None => own,
        }
    }
}

/// A condition that distinguishes two cases, and whether in one of them no lanes diverge.
struct Split {
    on: Condition,
    whole: bool,
}

/// By what the lanes of a predicate are told apart next; nothing if each is decided.
fn split(seen: &Value, state: &State) -> Option<Split> {
    let mut parts = seen.parts()?;
    parts.retain(|(_, c)| !matches!(c, Condition::Constant(_)));
    parts.sort_by_key(|(lanes, _)| lanes.trailing_zeros());
    let mut found = Vec::new();
    for (_, condition) in parts.first().into_iter().chain(parts.last()) {
        undecided(condition, state, &mut found);
    }
    for on in found {
        for holds in [on.clone(), on.negated()] {
            let mut facts = state.facts.clone();
            facts.assume(&holds);
            let mask = seen.seen(state.active, &facts).mask();
            let taken = mask.map(|m| m & state.active);
            if taken == Some(0) || taken == Some(state.active) {
                return Some(Split { on, whole: true });
            }
        }
    }
    let (low, high) = parts.split_at(parts.len() / 2);
    let mut found = Vec::new();
    for (_, condition) in high.iter().chain(low) {
        undecided(condition, state, &mut found);
        if let Some(on) = found.pop() {
            return Some(Split { on, whole: false });
        }
    }
    None
}

/// The undecided parts of a condition. Each outcome of such a part is a new fact.
fn undecided(condition: &Condition, state: &State, found: &mut Vec<Condition>) {
    if state.facts.decide(condition).is_some() {
        return;
    }
    let told = |c: &Condition, holds: &Condition, expected: bool| {
        let mut facts = state.facts.clone();
        facts.assume(holds);
        facts.decide(c) == Some(expected)
    };
    match condition {
        Condition::Negative(_) => {
            if told(condition, condition, true) && told(condition, &condition.negated(), false) {
                found.push(condition.clone());
            }
        }
        Condition::Zero(sum) => {
            undecided(&Condition::Negative(sum.clone()), state, found);
            undecided(&Condition::Negative(sum.scaled(-1)), state, found);
        }
        Condition::Not(inner) => undecided(inner, state, found),
        Condition::And(a, b) | Condition::Or(a, b) => {
            undecided(a, state, found);
            undecided(b, state, found);
        }
        Condition::Constant(_) | Condition::Passed(_) => {}
    }
}
