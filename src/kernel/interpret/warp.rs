//! A warp: control flow, guards and the registers of its lanes.

use std::collections::BTreeMap;

use super::divergence::Blocked;
use super::divergence::DivergenceTree;
use super::divergence::LaneGroup;
use super::divergence::Round;
use super::event::Event;
use super::event::EventKind;
use super::event::Object;
use super::event::Place;
use super::memory::Memory;
use super::taint::Origins;
use super::taint::Taint;
use super::trace::Decision;
use super::trace::Outcome;
use super::trace::StopReason;
use super::trace::WarpTrace;
use super::value::Lanes;
use super::value::Value;
use super::value::lanes_of;
use super::world::Halt;
use super::world::World;
use crate::ir::Block;
use crate::ir::BlockId;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::RegisterId;
use crate::ir::Terminator;

pub struct Warp {
    /// The rank of its CTA in the cluster.
    pub cta: u32,
    pub number: u32,
    /// The lanes that have threads.
    pub existing: Lanes,
    pub exited: Lanes,
    pub registers: Vec<Value>,
    pub taints: Vec<Taint>,
    /// The local memory of the threads: one window of 2^32 bytes for each thread, one after the other.
    pub local: Memory,
    pub splits: DivergenceTree,
    pub trace: WarpTrace,
    /// A counter for results that have another value at every read, such as clocks.
    pub looks: u64,
    /// How many answers of cluster launch control the warp has read.
    pub asked: u32,
    /// How often the warp has read each word that is handed over by mbarriers.
    pub ring_words: BTreeMap<(Place, u32), u32>,
}

/// How the lanes that executed an operation continue.
pub enum Flow {
    Next,
    /// The operation is done, and the lanes wait before the next one.
    Wait(Blocked),
    /// The operation itself has to wait and is repeated.
    Retry(Blocked),
}

/// The result of a turn of a warp.
pub enum Progress {
    /// It executed at least one operation.
    Went,
    Blocked,
    Done,
}

impl Warp {
    pub fn new(world: &World, cta: u32, number: u32) -> Self {
        let existing = world
            .alive
            .get(world.index(cta, number))
            .copied()
            .unwrap_or(0);
        let count = world.program.kernel.registers.len();
        let start = Place {
            block: BlockId(0),
            index: 0,
        };
        Self {
            cta,
            number,
            existing,
            exited: 0,
            registers: vec![Value::Uniform(0); count],
            taints: vec![Taint::default(); count],
            local: Memory::default(),
            splits: DivergenceTree::new(start, existing),
            trace: WarpTrace::default(),
            looks: 0,
            asked: 0,
            ring_words: BTreeMap::new(),
        }
    }

    /// The result of a load, if it is a word that a warp hands over by mbarriers.
    pub fn ring_word(&mut self, (at, index): (Place, usize), world: &World) -> Option<u128> {
        let word = (at, u32::try_from(index).ok()?);
        let (more, no_more) = *world.launch.by_mbarriers.get(&word)?;
        let most = world.launch.ring_words?;
        let read = self.ring_words.entry(word).or_default();
        let number = if *read < most { more } else { no_more };
        *read = read.saturating_add(1);
        Some(number.into())
    }

    pub fn live(&self) -> Lanes {
        self.existing & !self.exited
    }

    /// Executes at most `quantum` operations.
    pub fn run(&mut self, world: &mut World, quantum: u64) -> Result<Progress, Halt> {
        let mut left = quantum;
        let mut went = false;
        loop {
            if self.splits.is_done() {
                return Ok(Progress::Done);
            }
            let Some(leaf) = self.pick(world)? else {
                return Ok(if went {
                    Progress::Went
                } else {
                    Progress::Blocked
                });
            };
            went = true;
            self.advance(leaf, world, &mut left)?;
            if left == 0 {
                return Ok(Progress::Went);
            }
        }
    }

    /// A leaf that can go on.
    fn pick(&mut self, world: &mut World) -> Result<Option<usize>, Halt> {
        for leaf in self.splits.leaves() {
            let Some(split) = self.splits.get(leaf) else {
                continue;
            };
            let Some(blocked) = split.blocked.clone() else {
                return Ok(Some(leaf));
            };
            if let Blocked::Lanes { mask, .. } = blocked {
                if let Some(leaf) = self.gather(leaf, mask, world) {
                    return Ok(Some(leaf));
                }
            } else if self.wake(leaf, &blocked, world)? {
                if let Some(split) = self.splits.get_mut(leaf) {
                    split.blocked = None;
                }
                return Ok(Some(leaf));
            }
        }
        Ok(None)
    }

    /// Joins the lanes of `mask` to one leaf, if all of them that have not ended wait at the same place.
    fn gather(&mut self, leaf: usize, mask: Lanes, world: &mut World) -> Option<usize> {
        let at = self.splits.get(leaf)?.at;
        let wanted = mask & self.live();
        let mut here = Vec::new();
        let (mut lanes, mut missed) = (0, 0);
        for other in self.splits.leaves() {
            let split = self.splits.get(other)?;
            if let Some(Blocked::Lanes { missing, .. }) = split.blocked
                && split.at == at
            {
                lanes |= split.lanes;
                missed |= missing;
                here.push(other);
            }
        }
        if wanted & !lanes != 0 {
            return None;
        }
        let gathered = match here.as_slice() {
            [only] => *only,
            _ => self.splits.merge(&here, self.exited, &mut world.sets)?,
        };
        let missed = missed & self.exited;
        let split = self.splits.get_mut(gathered)?;
        split.blocked = None;
        split.missed = missed;
        Some(gathered)
    }

    /// Executes operations of a leaf until it waits, diverges or ends.
    fn advance(&mut self, leaf: usize, world: &mut World, left: &mut u64) -> Result<(), Halt> {
        let kernel = world.program.kernel;
        loop {
            let Some(split) = self.splits.get_mut(leaf) else {
                return Ok(());
            };
            if split.join == Some(split.at) {
                self.splits.end(leaf, self.exited);
                return Ok(());
            }
            if !split.controls.is_empty() {
                let at = split.at;
                split.controls.retain(|(join, _)| *join != Some(at));
            }
            if *left == 0 {
                return Ok(());
            }
            *left -= 1;
            let (at, lanes) = (split.at, split.lanes);
            world.step(at)?;
            self.trace.steps += 1;
            let Some(block) = kernel.blocks.get(at.block.0 as usize) else {
                return Err(world.stop(StopReason::Malformed, at));
            };
            let Some(operation) = block.operations.get(at.index as usize) else {
                if self.terminate(leaf, block, at, lanes, world)? {
                    continue;
                }
                return Ok(());
            };
            if !self.operate(leaf, operation, at, lanes, world)? {
                return Ok(());
            }
        }
    }

    /// Executes an operation. Returns `false` if the leaf does not go on.
    fn operate(
        &mut self,
        leaf: usize,
        operation: &Operation,
        at: Place,
        lanes: Lanes,
        world: &mut World,
    ) -> Result<bool, Halt> {
        let mut executing = lanes;
        let mut control = self.control(leaf, world);
        if let Some(guard) = operation.guard {
            let predicate = Operand::Register(guard.predicate);
            let holding = self.holding(predicate, lanes, world, at)?;
            executing = if guard.negated {
                lanes & !holding
            } else {
                holding
            };
            let taint = self.taint_of(predicate);
            let origins = taint.within(lanes);
            if !origins.is_none() {
                self.unknown_guard(&operation.kind, at, executing, lanes, origins, world);
                control = world.sets.union(control, origins);
            }
            if executing == 0 {
                self.go_to(leaf, after(at));
                return Ok(true);
            }
        }
        let together = self.together(&operation.kind, executing, world, at)?;
        if executing != lanes && (together.is_some() || Self::may_wait(&operation.kind)) {
            let groups = [(at, executing), (after(at), lanes & !executing)];
            self.splits
                .part(leaf, &groups, Some(after(at)), &mut world.sets);
            return Ok(false);
        }
        if let Some(mask) = together
            && mask & self.live() & !executing != 0
        {
            let missing = mask & self.live() & !executing;
            if let Some(split) = self.splits.get_mut(leaf) {
                split.blocked = Some(Blocked::Lanes { mask, missing });
            }
            return Ok(false);
        }
        let before = self.trace.events.len();
        let flow = self.execute(&operation.kind, at, executing, control, world)?;
        let Some(split) = self.splits.get_mut(leaf) else {
            return Ok(false);
        };
        if std::mem::take(&mut split.missed) != 0 {
            for event in self.trace.events.iter_mut().skip(before) {
                event.partial = true;
            }
        }
        match flow {
            Flow::Next => {
                split.at = after(at);
                Ok(true)
            }
            Flow::Wait(blocked) => {
                split.at = after(at);
                split.blocked = Some(blocked);
                Ok(false)
            }
            Flow::Retry(blocked) => {
                split.blocked = Some(blocked);
                Ok(false)
            }
        }
    }

    /// Executes the terminator of a block. Returns `false` if the leaf does not go on.
    fn terminate(
        &mut self,
        leaf: usize,
        block: &Block,
        at: Place,
        lanes: Lanes,
        world: &mut World,
    ) -> Result<bool, Halt> {
        match &block.end {
            Terminator::Jump(to) => self.jump(leaf, at, *to, world),
            Terminator::Exit => {
                self.exited |= lanes;
                self.trace.exited |= lanes;
                self.splits.end(leaf, self.exited);
                world.exit(self.cta, self.number, lanes, at)?;
                Ok(false)
            }
            Terminator::Trap => Err(Halt::End(Outcome::Trap { place: at })),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                let holding = self.holding(*condition, lanes, world, at)?;
                let reasons = self.taint_of(*condition).within(lanes);
                let mut groups = [(*then, holding), (*otherwise, lanes & !holding)];
                if !reasons.is_none() {
                    let forced = self.forced(at, [*then, *otherwise], reasons, world);
                    if let Some((to, known)) = forced {
                        groups = [(to, lanes), (to, 0)];
                        if known {
                            return self.depart(leaf, at, &groups, world);
                        }
                    }
                    self.unknown_branch(leaf, at, lanes, reasons, world);
                }
                self.depart(leaf, at, &groups, world)
            }
            Terminator::Switch { index, targets } => {
                let value = self.value(*index, world, at)?;
                let reasons = self.taint_of(*index).within(lanes);
                if !reasons.is_none() {
                    self.unknown_branch(leaf, at, lanes, reasons, world);
                }
                let mut groups: Vec<(BlockId, Lanes)> = Vec::new();
                for lane in lanes_of(lanes) {
                    let target = usize::try_from(value.lane(lane)).ok();
                    let Some(to) = target.and_then(|target| targets.get(target)) else {
                        let what = "an index behind the last target of a switch".to_owned();
                        return Err(Halt::End(Outcome::Undefined { place: at, what }));
                    };
                    match groups.iter_mut().find(|(known, _)| known == to) {
                        Some((_, lanes)) => *lanes |= 1 << lane,
                        None => groups.push((*to, 1 << lane)),
                    }
                }
                self.depart(leaf, at, &groups, world)
            }
        }
    }

    /// The target that a branch on an unknown value takes, and whether this is certain. If every wait is passed, a
    /// spin loop on memory ends. An abort is assumed not to happen.
    fn forced(
        &self,
        at: Place,
        to: [BlockId; 2],
        reasons: Origins,
        world: &World,
    ) -> Option<(BlockId, bool)> {
        if !world.simulates() {
            let reasons = world.sets.get(reasons);
            if let Some(out) = world.program.way_out(at.block, to, reasons) {
                return Some((out, true));
            }
        }
        match to.map(|to| world.program.graph.traps(to)) {
            [true, false] => Some((to[1], false)),
            [false, true] => Some((to[0], false)),
            _ => None,
        }
    }

    fn depart(
        &mut self,
        leaf: usize,
        at: Place,
        groups: &[(BlockId, Lanes)],
        world: &mut World,
    ) -> Result<bool, Halt> {
        let mut there = groups.iter().filter(|(_, lanes)| *lanes != 0);
        if let (Some((to, _)), None) = (there.next(), there.next()) {
            return self.jump(leaf, at, *to, world);
        }
        if let [(a, _), (b, _)] = groups
            && a == b
        {
            return self.jump(leaf, at, *a, world);
        }
        let join = world.program.join(at.block).map(start);
        let groups: Vec<(Place, Lanes)> = groups
            .iter()
            .map(|(to, lanes)| (start(*to), *lanes))
            .collect();
        self.splits.part(leaf, &groups, join, &mut world.sets);
        for child in self.splits.leaves() {
            let Some(split) = self.splits.get(child) else {
                continue;
            };
            let (to, lanes) = (split.at, split.lanes);
            if groups.contains(&(to, lanes)) && split.join != Some(to) {
                self.enter(child, at, to.block, world)?;
            }
        }
        Ok(false)
    }

    fn jump(
        &mut self,
        leaf: usize,
        from: Place,
        to: BlockId,
        world: &mut World,
    ) -> Result<bool, Halt> {
        self.go_to(leaf, start(to));
        self.enter(leaf, from, to, world)
    }

    /// Notes that a leaf has gone along an edge. Returns `false` if it has to wait.
    fn enter(
        &mut self,
        leaf: usize,
        from: Place,
        to: BlockId,
        world: &mut World,
    ) -> Result<bool, Halt> {
        if let Some((index, spin)) = world.program.spin(from.block, to) {
            let registers: Vec<Value> = spin
                .assigned
                .iter()
                .map(|register| self.register(*register).clone())
                .collect();
            let Some(split) = self.splits.get_mut(leaf) else {
                return Ok(false);
            };
            let round = Round {
                spin: index,
                version: world.version,
                registers,
                events: self.trace.events.len(),
            };
            match split.spins.iter_mut().find(|known| known.spin == index) {
                Some(known) => {
                    let polls = |event: &Event| {
                        spin.polled.contains(&event.place)
                            && matches!(event.kind, EventKind::Load { .. })
                    };
                    let since = self.trace.events.get(known.events..).unwrap_or(&[]);
                    let mut round = round;
                    if !since.is_empty() && since.iter().all(polls) {
                        self.trace.events.truncate(known.events);
                        round.events = known.events;
                    }
                    let same = known.version == round.version && known.registers == round.registers;
                    *known = round;
                    if same && world.simulates() {
                        let version = world.version;
                        split.blocked = Some(Blocked::Change { version });
                        return Ok(false);
                    }
                }
                None => split.spins.push(round),
            }
        } else if world.launch.loop_headers && world.program.is_header(to) {
            let lanes = self.splits.get(leaf).map_or(0, |split| split.lanes);
            let reasons = self.control(leaf, world);
            self.emit(
                start(to),
                EventKind::LoopHeader(to),
                None,
                lanes,
                reasons,
                world,
            )?;
        }
        Ok(true)
    }

    /// Notes that a branch depends on an unknown value. All registers that may be written before its sides
    /// join become unknown.
    fn unknown_branch(
        &mut self,
        leaf: usize,
        at: Place,
        lanes: Lanes,
        reasons: Origins,
        world: &mut World,
    ) {
        let region = world.region(at.block);
        if region.decides {
            self.decide(at, reasons);
        }
        let new = Taint::new(lanes, reasons);
        for register in &region.registers {
            if let Some(taint) = self.taints.get_mut(register.0 as usize) {
                *taint = world.sets.join(*taint, new);
            }
        }
        for space in &region.stores {
            self.unknown_write(*space, reasons, world);
        }
        let join = world.program.join(at.block).map(start);
        if let Some(split) = self.splits.get_mut(leaf) {
            split.control(join, reasons, &mut world.sets);
        }
    }

    pub fn decide(&mut self, place: Place, reasons: Origins) {
        let decisions = &mut self.trace.decisions;
        if !decisions.iter().any(|known| known.place == place) {
            decisions.push(Decision { place, reasons });
        }
    }

    /// The origins on which the place of a leaf depends.
    fn control(&self, leaf: usize, world: &mut World) -> Origins {
        let Some(split) = self.splits.get(leaf) else {
            return Origins::NONE;
        };
        let mut all = split.inherited;
        for (_, origins) in &split.controls {
            all = world.sets.union(all, *origins);
        }
        all
    }

    fn go_to(&mut self, leaf: usize, to: Place) {
        if let Some(split) = self.splits.get_mut(leaf) {
            split.at = to;
        }
    }

    pub fn emit(
        &mut self,
        place: Place,
        kind: EventKind,
        object: Option<Object>,
        lanes: Lanes,
        reasons: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        world.events += 1;
        if world.events > world.launch.max_events {
            return Err(world.stop(StopReason::Events(world.launch.max_events), place));
        }
        self.trace.events.push(Event {
            kind,
            object,
            lanes,
            place,
            reasons,
            partial: false,
        });
        Ok(())
    }

    pub fn register(&self, register: RegisterId) -> &Value {
        const NOTHING: &Value = &Value::Uniform(0);
        self.registers.get(register.0 as usize).unwrap_or(NOTHING)
    }

    pub fn value(&self, operand: Operand, world: &World, at: Place) -> Result<Value, Halt> {
        match operand {
            Operand::Constant(value) => Ok(Value::Uniform(value)),
            Operand::Register(register) => match self.registers.get(register.0 as usize) {
                Some(value) => Ok(value.clone()),
                None => Err(world.stop(StopReason::Malformed, at)),
            },
        }
    }

    pub fn taint_of(&self, operand: Operand) -> Taint {
        match operand {
            Operand::Constant(_) => Taint::default(),
            Operand::Register(register) => self
                .taints
                .get(register.0 as usize)
                .copied()
                .unwrap_or_default(),
        }
    }

    /// The lanes in which a predicate holds.
    pub fn holding(
        &self,
        predicate: Operand,
        lanes: Lanes,
        world: &World,
        at: Place,
    ) -> Result<Lanes, Halt> {
        let value = self.value(predicate, world, at)?;
        if let Some(value) = value.uniform_in(lanes) {
            return Ok(if value & 1 == 1 { lanes } else { 0 });
        }
        let holds = |lane: &usize| value.lane(*lane) & 1 == 1;
        Ok(lanes_of(lanes)
            .filter(holds)
            .fold(0, |all, lane| all | 1 << lane))
    }

    /// Writes a register in the lanes that execute.
    pub fn write(
        &mut self,
        register: RegisterId,
        value: Value,
        taint: Taint,
        lanes: Lanes,
        world: &mut World,
    ) {
        let live = self.live();
        let index = register.0 as usize;
        if let Some(place) = self.registers.get_mut(index) {
            place.write(value, lanes, live);
        }
        if let Some(old) = self.taints.get_mut(index) {
            let kept = Taint::new(old.lanes & !lanes & live, old.origins);
            let new = Taint::new(taint.lanes & lanes, taint.origins);
            *old = world.sets.join(new, kept);
        }
    }

    pub fn split(&self, leaf: usize) -> Option<&LaneGroup> {
        self.splits.get(leaf)
    }
}

pub fn after(at: Place) -> Place {
    Place {
        block: at.block,
        index: at.index.saturating_add(1),
    }
}

fn start(block: BlockId) -> Place {
    Place { block, index: 0 }
}
