//! A warp's program as a tree: symbolic execution with 32 lanes along the structure of the graph.
//!
//! A register holds one term for all lanes or one for each. A branch that the lanes take differently
//! is walked once for each side with its lanes, up to the immediate postdominator, where they
//! meet. A branch on a term becomes an `if`, and what its sides leave in registers a choice. At the head of a
//! loop every register that the loop assigns is a phi, an unknown of its own; what is at the end of an
//! iteration is recorded with it, for [`crate::recover::recurrence`].
//!
//! Sound because every step is exact for all values of the atoms, or gives an atom of which nothing is known,
//! or is refused.

mod beside;
mod choice;
mod counters;
mod events;
mod exchanges;
mod groups;
mod lanes;
mod launch;
mod multiply;
mod once;
mod operands;
mod ring_words;
mod shared_words;
mod thresholds;
mod touches;
mod values;
mod waits;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use groups::Groups;
pub use lanes::differs;
pub use thresholds::Ordered;
use touches::Order;
use values::Value;
use values::lane_of;
use values::packed;
use values::shared;

use crate::cfg::Loop;
use crate::ir::BlockId;
use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::operand_width;
use crate::meaning::result_of;
use crate::meaning::result_width;
use crate::recover::graph::Graph;
use crate::recover::launch::is_launch;
use crate::recover::noted::Left;
use crate::recover::noted::Noted;
use crate::recover::noted::Spares;
use crate::recover::read_only_memory::ReadOnlyMemory;
use crate::recover::ring_words::RingWords;
use crate::recover::shared_words::Position;
use crate::recover::shared_words::SharedWords;
use crate::recover::slice::MOST_BYTES;
use crate::recover::slice::Slice;
use crate::recover::slice::is_event;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Arena;
use crate::recover::tree::Awaited;
use crate::recover::tree::EventKind;
use crate::recover::tree::LoopId;
use crate::recover::tree::Obstacle;
use crate::recover::tree::Phi;
use crate::recover::tree::Statement;
use crate::recover::tree::Test;
use crate::recover::tree::in_time;
use crate::recover::tree::misused;
use crate::recover::tree::refuse;

/// Why lanes that several others need may be missing.
const MISSING: &str = "lanes take this branch differently, depending on the launch, and below it something is done by several \
                       lanes together, some of which may be missing: that is undefined";

/// Nesting of regions, and blocks walked, beyond which a kernel is given up.
const MAX_DEPTH: u32 = 200;
const MAX_BLOCKS: u32 = 200_000;

/// Conditions of the launch that the lanes of one branch ask for.
const MAX_CASES: usize = 4;

/// The shape of a launch that is recovered, and which warp of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub threads: [u32; 3],
    pub cluster: [u32; 3],
    /// The rank of the CTA in its cluster.
    pub rank: u32,
    pub warp: u32,
}

impl Place {
    fn lanes(self) -> u32 {
        let threads = self.threads.iter().map(|n| u64::from(*n)).product::<u64>();
        let before = u64::from(self.warp) * 32;
        let here = threads.saturating_sub(before).min(32);
        if here == 32 {
            u32::MAX
        } else {
            (1 << here) - 1
        }
    }
}

type State = Vec<Option<Value>>;

/// A test in a spin loop: what it looks for, and where.
type Look = (Awaited, Location);

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The events of the warp.
    Events,
    /// Which lanes carry out what several have to do together; no statement but multiplications comes of it.
    Together,
}

/// Lanes on their way.
#[derive(Debug, Clone)]
struct Path {
    state: State,
    mask: u32,
    /// Lanes that have ended.
    exited: u32,
    /// What has held since the beginning of the innermost loop's iteration.
    condition: TermId,
    /// The lanes that have waited while others of the warp did not, until all lanes come together: the others may be ahead.
    waited: Option<u32>,
    /// Between which barriers of all threads.
    position: Position,
    /// Which lanes have touched shared memory, and waited.
    order: Order,
}

struct Frame {
    header: BlockId,
    /// Its number, if it is walked once for all of its iterations.
    id: Option<LoopId>,
    /// Whether its header has been walked in this iteration.
    started: bool,
    follow: Option<BlockId>,
    continues: Vec<Path>,
    breaks: Vec<Path>,
    /// Where it is left.
    left: Vec<Left>,
}

struct Walker<'a> {
    kernel: &'a Kernel,
    graph: &'a Graph,
    slice: &'a Slice,
    terms: &'a mut Terms,
    phis: &'a mut Vec<Phi>,
    tests: &'a mut Vec<Test>,
    loops: &'a mut LoopId,
    opaque: &'a mut u32,
    loaded: &'a mut BTreeMap<u32, Location>,
    responses: &'a mut u32,
    /// How many events there were, how many loops have begun, and how often lanes that had gone different ways met. Whether a test spares a wait that comes
    /// behind others.
    events: &'a mut u64,
    decided_by: &'a mut BTreeSet<TermId>,
    spared: &'a mut Spares,
    noted: &'a mut Noted,
    over: Option<fn() -> bool>,
    parities: &'a mut Vec<(TermId, Location)>,
    alike: &'a mut Vec<(TermId, Location)>,
    trusts_memory: &'a mut bool,
    shared_words: &'a mut SharedWords,
    ring_words: &'a mut Option<RingWords>,
    unwritten: &'a ReadOnlyMemory,
    wider: &'a mut bool,
    levels: &'a mut bool,
    branches: &'a mut Vec<(TermId, Location)>,
    given: Option<(TermId, bool)>,
    orders: &'a mut BTreeMap<Ordered, Location>,
    /// The comparisons of the launch by which lanes have parted around here, and what they gave.
    answers: Vec<(TermId, bool)>,
    /// The block that is walked, and which of its operations.
    here: (BlockId, u32),
    purpose: Purpose,
    place: Place,
    full: u32,
    /// Where other lanes may be, for each branch at which lanes have parted around here.
    beside: Vec<BTreeSet<BlockId>>,
    frames: Vec<Frame>,
    blocks: u32,
    /// While a spin loop is walked: what its test gives, and the waits that were met.
    spinning: Option<(bool, Vec<Look>)>,
    /// The lanes whose tests were met in it.
    tested: u32,
    groups: Groups,
    /// Lanes that have touched shared memory and ended, while others of the warp go on.
    gone: u32,
    /// Of these, lanes that have started copies of their own, which nobody else can wait for.
    gone_copied: u32,
    /// While a loop that looks at memory is walked: the looks that were met.
    looking: Option<Vec<counters::Look>>,
}

type Result<T> = std::result::Result<T, Obstacle>;

/// What the warp at a place does.
pub fn walk(
    kernel: &Kernel,
    graph: &Graph,
    slice: &Slice,
    arena: &mut Arena,
    place: Place,
    purpose: Purpose,
) -> Result<Vec<Statement>> {
    let alignments = kernel.variables.iter().map(|variable| variable.alignment);
    arena.terms.align(alignments.collect());
    let truth = arena.terms.constant(1, 1);
    let mut walker = Walker {
        kernel,
        graph,
        slice,
        terms: &mut arena.terms,
        phis: &mut arena.phis,
        tests: &mut arena.tests,
        loops: &mut arena.loops,
        opaque: &mut arena.opaque,
        loaded: &mut arena.loaded,
        responses: &mut arena.responses,
        events: &mut arena.events,
        spared: &mut arena.spared,
        noted: &mut arena.noted,
        over: arena.over,
        parities: &mut arena.parities,
        alike: &mut arena.alike,
        trusts_memory: &mut arena.trusts_memory,
        shared_words: &mut arena.shared_words,
        ring_words: &mut arena.ring_words,
        unwritten: &arena.unwritten,
        wider: &mut arena.wider,
        levels: &mut arena.levels,
        branches: &mut arena.branches,
        decided_by: &mut arena.decided_by,
        given: arena.given,
        orders: &mut arena.orders,
        answers: Vec::new(),
        here: (BlockId(0), 0),
        purpose,
        place,
        full: place.lanes(),
        beside: Vec::new(),
        frames: Vec::new(),
        blocks: 0,
        spinning: None,
        tested: 0,
        groups: Groups::default(),
        gone: 0,
        gone_copied: 0,
        looking: None,
    };
    let path = Path {
        state: vec![None; kernel.registers.len()],
        mask: walker.full,
        exited: 0,
        condition: truth,
        waited: None,
        position: Position::default(),
        order: Order::default(),
    };
    let mut statements = Vec::new();
    *walker.events += 1;
    let events = *walker.events;
    if !kernel.blocks.is_empty() {
        walker.region(BlockId(0), None, path, &mut statements, 0)?;
    }
    walker.noted.warp((events, *walker.events));
    Ok(statements)
}

impl Walker<'_> {
    /// Walks from a block to `until`, and gives what comes there. Lanes that end, leave the
    /// innermost loop or begin its next iteration do not.
    fn region(
        &mut self,
        from: BlockId,
        until: Option<BlockId>,
        mut path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<Option<Path>> {
        let mut at = from;
        loop {
            let block = &self.kernel.blocks[at.0 as usize];
            self.blocks += 1;
            if let Some(over) = self.over {
                in_time(over)?;
            }
            if depth > MAX_DEPTH || self.blocks > MAX_BLOCKS {
                return refuse(
                    "the control flow is nested too deeply to be followed",
                    &block.location,
                );
            }
            let mut begins = false;
            if let Some(frame) = self.frames.last_mut() {
                if at == frame.header && frame.started {
                    frame.continues.push(path);
                    return Ok(None);
                }
                if at == frame.header {
                    frame.started = true;
                    begins = true;
                }
                if Some(at) == frame.follow {
                    frame.breaks.push(path);
                    frame.left.push(self.noted.here(*self.events));
                    out.push(Statement::Break);
                    return Ok(None);
                }
            }
            if Some(at) == until {
                return Ok(Some(path));
            }
            for frame in self.frames.iter().rev().skip(1) {
                if at == frame.header || Some(at) == frame.follow {
                    return refuse("a jump leaves two loops at once", &block.location);
                }
            }
            let graph = self.graph;
            if !begins && let Some((_, natural)) = graph.headed_by(at) {
                let events = *self.events;
                let entered = self.enter(natural, path, out, depth);
                self.noted.repeats((events, *self.events));
                match entered? {
                    Some((to, next)) => {
                        at = to;
                        path = next;
                        continue;
                    }
                    None => return Ok(None),
                }
            }
            self.operations(at, &mut path, out)?;
            match &block.end {
                Terminator::Jump(to) => at = *to,
                Terminator::Exit => {
                    if path.mask | path.exited == self.full {
                        out.push(Statement::Return);
                    } else {
                        self.gone |= path.order.lanes() & path.mask;
                        self.gone_copied |= path.order.copied & path.mask;
                    }
                    return Ok(None);
                }
                Terminator::Trap => return Ok(None),
                Terminator::Switch { index, targets } => {
                    if self.slice.branches[at.0 as usize] {
                        let index = self.operand(*index, 32, &path.state);
                        if let Some(to) = self.picked(&index, targets) {
                            at = to;
                            continue;
                        }
                        return refuse(
                            "an indirect branch decides about synchronization",
                            &block.location,
                        );
                    }
                    if let Value::Uniform(index) = self.operand(*index, 32, &path.state)
                        && self.terms.value(index).is_some()
                        && self.picked(&Value::Uniform(index), targets).is_none()
                    {
                        return misused(
                            "the index of this indirect branch lies behind the end of its list: this is undefined",
                            &block.location,
                        );
                    }
                    match self.skip(at, &mut path)? {
                        Some(to) => at = to,
                        None => return Ok(None),
                    }
                }
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                } => {
                    if !self.slice.branches[at.0 as usize] {
                        match self.skip(at, &mut path)? {
                            Some(to) => at = to,
                            None => return Ok(None),
                        }
                        continue;
                    }
                    match self.branch(at, *condition, *then, *otherwise, path, out, depth)? {
                        Some((to, next)) => {
                            at = to;
                            path = next;
                        }
                        None => return Ok(None),
                    }
                }
            }
        }
    }

    /// Where a switch goes whose index is known.
    fn picked(&self, index: &Value, targets: &[BlockId]) -> Option<BlockId> {
        let Value::Uniform(index) = index else {
            return None;
        };
        let index = usize::try_from(self.terms.value(*index)?).ok()?;
        targets.get(index).copied()
    }

    /// From a branch that decides nothing to where its sides meet.
    fn skip(&mut self, at: BlockId, path: &mut Path) -> Result<Option<BlockId>> {
        let join = self.graph.join(at);
        if let Some(natural) = self.innermost()
            && self.graph.comes_round(natural, at, join)
        {
            let location = &self.kernel.blocks[at.0 as usize].location;
            return refuse(
                "what is not followed decides whether the rest of an iteration is left out",
                location,
            );
        }
        let blocks = self.graph.between(at, join);
        self.forget(&blocks, path)?;
        Ok(join)
    }

    /// The innermost loop that is walked.
    fn innermost(&self) -> Option<&Loop> {
        let frame = self.frames.last()?;
        self.graph
            .headed_by(frame.header)
            .map(|(_, natural)| natural)
    }

    /// What blocks without events assign is unknown behind them.
    fn forget(&mut self, blocks: &[BlockId], path: &mut Path) -> Result<()> {
        for block in blocks {
            if self.slice.events[block.0 as usize] {
                let location = &self.kernel.blocks[block.0 as usize].location;
                return refuse(
                    "what is not followed decides about synchronization",
                    location,
                );
            }
            if self.purpose == Purpose::Events
                && let Some((id, _)) = self.graph.headed_by(*block)
                && let Some(location) = self.slice.memory_waits.get(&id)
            {
                return refuse(
                    "a loop goes on until memory changes, which is not followed, or for ever",
                    location,
                );
            }
        }
        self.lose_all(blocks, path);
        Ok(())
    }

    /// What blocks assign is unknown behind them.
    fn lose_all(&mut self, blocks: &[BlockId], path: &mut Path) {
        self.lose_words(blocks, path);
        for register in self.assigned(blocks) {
            let term = self.unknown(register);
            path.state[register.0 as usize] = Some(Value::Uniform(term));
        }
    }

    /// The registers that blocks assign, of those that matter.
    fn assigned(&self, blocks: &[BlockId]) -> BTreeSet<RegisterId> {
        let mut assigned = BTreeSet::new();
        for block in blocks {
            let at = block.0 as usize;
            let operations = self.kernel.blocks[at]
                .operations
                .iter()
                .zip(&self.slice.operations[at]);
            for (operation, _) in operations.filter(|(_, relevant)| **relevant) {
                assigned.extend(operation.kind.results());
            }
        }
        assigned
    }

    fn width_of(&self, register: RegisterId) -> u16 {
        self.kernel.registers[register.0 as usize].width
    }

    fn unknown(&mut self, register: RegisterId) -> TermId {
        let width = self.width_of(register);
        self.unknown_of(width)
    }

    fn unknown_of(&mut self, width: u16) -> TermId {
        *self.opaque += 1;
        self.terms.atom(Atom::Opaque(*self.opaque), width)
    }

    /// What is read from memory, of which nothing is known.
    fn loaded_of(&mut self, width: u16, location: &Location) -> TermId {
        let term = self.unknown_of(width);
        self.loaded.insert(*self.opaque, location.clone());
        term
    }

    /// A branch that decides about events.
    #[allow(clippy::too_many_arguments)]
    fn branch(
        &mut self,
        at: BlockId,
        condition: Operand,
        then: BlockId,
        otherwise: BlockId,
        path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<Option<(BlockId, Path)>> {
        let location = self.kernel.blocks[at.0 as usize].location.clone();
        let mut value = self.operand(condition, 1, &path.state);
        if self.purpose == Purpose::Together {
            value = self.each(&value, |walker, term| walker.rounded(term));
        }
        let (term, taken) = match &value {
            Value::Uniform(term) => match self.terms.truth(*term) {
                Some(truth) => (None, if truth { path.mask } else { 0 }),
                None => (Some(*term), 0),
            },
            Value::Lanes(lanes) => {
                let active: Vec<TermId> = (0..32)
                    .filter(|lane| path.mask >> lane & 1 == 1)
                    .map(|lane| lanes[lane])
                    .collect();
                if active.windows(2).all(|pair| pair[0] == pair[1])
                    && self.terms.truth(active[0]).is_none()
                {
                    (Some(active[0]), 0)
                } else {
                    let mut taken = 0;
                    let mut open = BTreeSet::new();
                    for lane in 0..32 {
                        if path.mask >> lane & 1 == 1 {
                            let truth = self.terms.truth(lanes[lane]);
                            let truth = truth.or_else(|| self.decided(lanes[lane], path.condition));
                            match truth.or_else(|| self.answered(lanes[lane], &location)) {
                                Some(true) => taken |= 1 << lane,
                                Some(false) => {}
                                None => {
                                    open.insert(lanes[lane]);
                                }
                            }
                        }
                    }
                    if let Some(case) = open.first() {
                        if let Some(on) = self.beside_the_ended(then, otherwise, &open) {
                            return Ok(Some((on, path)));
                        }
                        let branch = (at, condition, then, otherwise);
                        let many = open.len() > MAX_CASES || !self.answers.is_empty();
                        if many
                            && self.purpose == Purpose::Events
                            && !self.is_silent(at, self.join(at))
                            && let Some(case) = self.comparison(&open, &location)
                        {
                            let case = (case, true);
                            return self.by_cases(case, branch, path, out, depth, &location);
                        }
                        if open.len() > MAX_CASES || open.iter().any(|term| self.is_opaque(*term)) {
                            return self.by_launch(at, path, &value, &location);
                        }
                        let case = (*case, false);
                        return self.by_cases(case, branch, path, out, depth, &location);
                    }
                    (None, taken)
                }
            }
        };
        // Inside a loop, ways out are walked to where they leave it.
        let join = self.join(at);
        if let Some(term) = term {
            if let Some(truth) = self
                .is_given(term)
                .or_else(|| self.answered(term, &location))
            {
                return Ok(Some((if truth { then } else { otherwise }, path)));
            }
            self.branches.push((term, location.clone()));
            if self.is_opaque(term) && self.is_silent(at, join) {
                return self.by_launch(at, path, &value, &location);
            }
            return self.choice(term, then, otherwise, join, path, out, depth, &location);
        }
        if taken == path.mask {
            return Ok(Some((then, path)));
        }
        if taken == 0 {
            return Ok(Some((otherwise, path)));
        }
        let (all, gone) = (path.mask, path.exited);
        let mut path = path;
        let mut other = path.clone();
        other.mask &= !taken;
        path.mask = taken;
        let meeting = self.graph.join(at);
        if self.ends(otherwise, meeting) {
            path.exited |= other.mask;
        }
        if self.ends(then, meeting) {
            other.exited |= taken;
        }
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let frames = self
            .frames
            .last()
            .map(|frame| (frame.continues.len(), frame.breaks.len()));
        let before = path.state.clone();
        let events = *self.events;
        let one = self.region_beside(
            otherwise,
            then,
            join,
            path,
            &mut first,
            (meeting, depth + 1),
        )?;
        let between = *self.events;
        other.exited |= taken & !one.as_ref().map_or(0, |path| path.mask);
        // What is done on this side is written behind what is done on the other one.
        if let Some(one) = &one {
            other.order.touched |= one.order.touched;
            other.order.open |= one.order.open;
            other.order.ungrouped |= one.order.ungrouped;
            other.order.reads_of(&one.order);
        }
        let two = self.region_beside(
            then,
            otherwise,
            join,
            other,
            &mut second,
            (meeting, depth + 1),
        )?;
        self.noted.apart(events, between, *self.events);
        if frames
            != self
                .frames
                .last()
                .map(|frame| (frame.continues.len(), frame.breaks.len()))
        {
            return refuse(
                "lanes of a warp leave a loop in different iterations",
                &location,
            );
        }
        first.retain(|statement| *statement != Statement::Return);
        second.retain(|statement| *statement != Statement::Return);
        if !first.is_empty() && !second.is_empty() {
            let blocks = |statements: &[Statement]| statements.iter().any(may_block);
            if blocks(&first) || blocks(&second) {
                return refuse("lanes of a warp wait on both sides of a branch", &location);
            }
        }
        out.append(&mut first);
        out.append(&mut second);
        if one.is_none() && two.is_none() && all | gone == self.full {
            out.push(Statement::Return);
        }
        let merged = match (one, two) {
            (Some(one), Some(two)) => {
                // These lanes went on at the same time: a test on one side may come before what is written in front of it.
                *self.events += 1;
                Some(self.united(&before, one, two))
            }
            (one, two) => one.or(two),
        };
        let (Some(path), Some(join)) = (merged, join) else {
            return Ok(None);
        };
        Ok(Some((join, path)))
    }

    /// Whether a condition holds in the case that is walked.
    fn is_given(&mut self, term: TermId) -> Option<bool> {
        let (given, truth) = self.given?;
        if term == given {
            return Some(truth);
        }
        (term == self.terms.not(&given)).then_some(!truth)
    }

    /// Whether a term depends on what nothing is known of, which may also differ between lanes.
    fn is_opaque(&self, term: TermId) -> bool {
        let atoms = self.terms.atoms(term);
        atoms
            .iter()
            .any(|atom| matches!(atom, Atom::Opaque(_) | Atom::RingWord(_)))
    }

    /// A branch that the lanes take differently, nobody knows how: without events below it, what it
    /// leaves is unknown.
    fn by_launch(
        &mut self,
        at: BlockId,
        mut path: Path,
        condition: &Value,
        location: &Location,
    ) -> Result<Option<(BlockId, Path)>> {
        let join = self.join(at);
        if !self.is_silent(at, join) {
            if self.purpose == Purpose::Events {
                return refuse(
                    "lanes take a branch differently, depending on the launch or on memory",
                    location,
                );
            }
            if !self.depends_on_memory(condition, path.mask) {
                let mut obstacle = Obstacle::new(MISSING, location.clone());
                obstacle.undefined = self.parts(condition, path.mask) && self.one_side_acts(at);
                return Err(obstacle);
            }
            *self.trusts_memory = true;
            let blocks = self.graph.between(at, join);
            self.lose_all(&blocks, &mut path);
            return Ok(join.map(|join| (join, path)));
        }
        let blocks = self.graph.between(at, join);
        self.forget(&blocks, &mut path)?;
        Ok(join.map(|join| (join, path)))
    }

    /// Whether a condition of some lanes depends on what nothing is known of.
    fn depends_on_memory(&self, condition: &Value, mask: u32) -> bool {
        (0..32).any(|lane| mask >> lane & 1 == 1 && self.is_opaque(lane_of(condition, lane)))
    }

    /// Whether both sides of a branch come to `join` without events.
    fn is_silent(&self, at: BlockId, join: Option<BlockId>) -> bool {
        join.is_some()
            && self.graph.between(at, join).iter().all(|block| {
                let index = block.0 as usize;
                !self.slice.events[index]
                    && !matches!(self.kernel.blocks[index].end, Terminator::Exit)
            })
    }

    /// Where the sides of a branch meet, if that is inside of the innermost loop and in the same iteration.
    fn join(&self, at: BlockId) -> Option<BlockId> {
        let join = self.graph.join(at)?;
        if self.frames.is_empty() {
            return Some(join);
        }
        let natural = self.innermost()?;
        let meets = natural.contains(join) && !self.graph.comes_round(natural, at, Some(join));
        meets.then_some(join)
    }

    fn chosen(&mut self, term: TermId, one: Path, two: Path) -> Path {
        let mut path = two;
        path.mask |= one.mask;
        path.exited |= one.exited;
        path.waited = both(path.waited, one.waited);
        path.position = path.position.joined(&one.position);
        path.order = path.order.joined(one.order);
        for (register, (a, b)) in one.state.into_iter().zip(&mut path.state).enumerate() {
            if a == *b {
                continue;
            }
            *b = match (a, b.take()) {
                (Some(Value::Uniform(x)), Some(Value::Uniform(y))) => {
                    Some(Value::Uniform(self.terms.select(&term, &x, &y)))
                }
                (Some(x), Some(y)) => {
                    let width = self.kernel.registers[register].width;
                    let lanes = std::array::from_fn(|lane| {
                        let (x, y) = (lane_of(&x, lane), lane_of(&y, lane));
                        if self.terms.width_of(x) == width && self.terms.width_of(y) == width {
                            self.terms.select(&term, &x, &y)
                        } else {
                            y
                        }
                    });
                    Some(packed(lanes))
                }
                // Assigned on one side only: not used behind, or not initialised.
                (a, b) => a.or(b),
            };
        }
        path
    }

    /// Two groups of lanes meet.
    fn united(&mut self, before: &State, one: Path, two: Path) -> Path {
        let mut path = one;
        for (at, (a, b)) in path.state.iter_mut().zip(two.state).enumerate() {
            if *a == b {
                continue;
            }
            *a = match (a.take(), b) {
                (Some(x), Some(y)) => {
                    let rest = before[at].clone().unwrap_or_else(|| y.clone());
                    let lanes = std::array::from_fn(|lane| {
                        if path.mask >> lane & 1 == 1 {
                            lane_of(&x, lane)
                        } else if two.mask >> lane & 1 == 1 {
                            lane_of(&y, lane)
                        } else {
                            lane_of(&rest, lane)
                        }
                    });
                    Some(packed(lanes))
                }
                (a, b) => a.or(b),
            };
        }
        path.mask |= two.mask;
        path.exited |= two.exited;
        path.waited = both(path.waited, two.waited);
        path.position = path.position.joined(&two.position);
        path.order = path.order.joined(two.order);
        path
    }

    /// A loop: gives where its ways out come together and what comes there.
    fn enter(
        &mut self,
        natural: &Loop,
        mut path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<Option<(BlockId, Path)>> {
        let kernel = self.kernel;
        let location = &kernel.blocks[natural.header.0 as usize].location;
        let blocks = natural
            .blocks
            .iter()
            .map(|block| &kernel.blocks[block.0 as usize]);
        let mut events = blocks
            .flat_map(|block| &block.operations)
            .filter(|operation| is_event(operation))
            .peekable();
        let follow = self.graph.follow(natural);
        let mut inside = natural.blocks.iter();
        if !inside.any(|block| self.slice.events[block.0 as usize]) {
            // Ways out may come to several places before they meet.
            let blocks = self.graph.between(natural.header, follow);
            self.forget(&blocks, &mut path)?;
            return Ok(follow.map(|follow| (follow, path)));
        }
        let spins = events.peek().is_some()
            && !natural.blocks.iter().any(|block| self.accesses(*block))
            && events.all(|operation| {
                matches!(
                    operation.kind,
                    OperationKind::Synchronization(Synchronization::MbarrierTest { .. })
                )
            });
        if self.looks_at_memory(natural) {
            return self.await_counter(natural, path, out, depth);
        }
        if spins && self.spinning.is_none() {
            let Some(follow) = follow else {
                return refuse("a loop of tests of an mbarrier never ends", location);
            };
            let path = self.spin(natural.header, follow, path, out, depth, location)?;
            return Ok(Some((follow, path)));
        }
        if let Some(left) = self.unfolded(natural, &path, out, depth)? {
            return Ok(left);
        }
        self.iterate(natural, path, out, depth, location)
    }

    /// A loop that does nothing but test an mbarrier: a wait.
    ///
    /// With a test that passes, the loop has to be left; with one that fails, to go on. What changes
    /// from one iteration to the next is unknown; the wait has to be the same all the same.
    fn spin(
        &mut self,
        header: BlockId,
        follow: BlockId,
        path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
        location: &Location,
    ) -> Result<Path> {
        let mut start = path;
        for _ in 0..8 {
            self.tested = 0;
            let (waits, left, again) =
                self.try_spin(header, follow, &start, true, depth, location)?;
            let tested = self.tested;
            if again.is_some() || left.is_none() {
                return refuse(
                    "a loop of tests of an mbarrier goes on after one has passed",
                    location,
                );
            }
            let (looks, escaped, next) =
                self.try_spin(header, follow, &start, false, depth, location)?;
            if escaped.is_some() {
                return refuse(
                    "a loop of tests of an mbarrier ends though none has passed",
                    location,
                );
            }
            // Whatever is looked at, it is one phase of one mbarrier.
            let mut seen = waits.iter().chain(&looks).map(|(awaited, _)| *awaited);
            let one = seen.next();
            if seen.any(|look| Some(look) != one) {
                return refuse("a loop tests several mbarriers", location);
            }
            let mut changed = false;
            let mut joined = start.clone();
            if let Some(next) = &next {
                for register in 0..joined.state.len() {
                    if joined.state[register] == next.state[register] {
                        continue;
                    }
                    let is_unknown = matches!(&joined.state[register], Some(Value::Uniform(term))
                        if matches!(self.terms.node(*term), Node::Atom(Atom::Opaque(_))));
                    if !is_unknown {
                        self.give_up(&mut joined, register);
                        changed = true;
                    }
                }
            }
            if !changed {
                let Some(left) = left else {
                    return refuse("a loop of tests of an mbarrier never ends", location);
                };
                // One test decides, whichever lanes look.
                let mut waits = waits;
                waits.dedup_by(|a, b| a.0 == b.0);
                waits.retain(|_| self.purpose == Purpose::Events);
                for (awaited, location) in waits {
                    self.put_event(awaited.event(), left.mask.count_ones(), &location, out);
                }
                let mut left = left;
                left.waited = self.waited_by(left.mask, &left);
                let all = left.mask | (self.full & !left.exited);
                left.order.wait(left.mask & tested, all);
                return Ok(left);
            }
            start = joined;
        }
        refuse(
            "a loop of tests of an mbarrier changes what it looks at",
            location,
        )
    }

    /// One iteration of a spin loop, with tests that pass or fail: the waits that were met, what has
    /// left the loop, and what is at its head again.
    #[allow(clippy::type_complexity)]
    fn try_spin(
        &mut self,
        header: BlockId,
        follow: BlockId,
        start: &Path,
        passes: bool,
        depth: u32,
        location: &Location,
    ) -> Result<(Vec<Look>, Option<Path>, Option<Path>)> {
        self.spinning = Some((passes, Vec::new()));
        let (walked, done) = self.once_around(header, follow, start, depth);
        let waits = self
            .spinning
            .take()
            .map(|(_, waits)| waits)
            .unwrap_or_default();
        let Some(mut frame) = walked? else {
            return refuse("a loop of tests of an mbarrier is not understood", location);
        };
        if done.iter().any(acts) {
            return refuse(
                "a loop of tests of an mbarrier is left in several places, and something is done behind one of them",
                location,
            );
        }
        if frame.breaks.len() > 1 || frame.continues.len() > 1 {
            return refuse(
                "a loop of tests of an mbarrier is left in several places",
                location,
            );
        }
        let restore = |path: Option<Path>| {
            path.map(|mut path| {
                path.condition = start.condition;
                path.position.perhaps = start.position.perhaps;
                path
            })
        };
        Ok((
            waits,
            restore(frame.breaks.pop()),
            restore(frame.continues.pop()),
        ))
    }

    /// One iteration of a loop, whose conditions are those since it began: the ways out and on, and what is done.
    fn once_around(
        &mut self,
        header: BlockId,
        follow: BlockId,
        start: &Path,
        depth: u32,
    ) -> (Result<Option<Frame>>, Vec<Statement>) {
        self.frames.push(Frame {
            header,
            id: None,
            started: false,
            follow: Some(follow),
            continues: Vec::new(),
            breaks: Vec::new(),
            left: Vec::new(),
        });
        let mut done = Vec::new();
        let mut path = start.clone();
        path.condition = self.terms.constant(1, 1);
        let walked = self.region(header, None, path, &mut done, depth + 1);
        let frame = self.frames.pop();
        (walked.map(|_| frame), done)
    }

    /// Nothing is known of a register any more.
    fn give_up(&mut self, path: &mut Path, register: usize) {
        let width = self.kernel.registers[register].width;
        let term = self.unknown_of(width);
        path.state[register] = Some(Value::Uniform(term));
    }

    /// A loop with events: its body once, over phis.
    fn iterate(
        &mut self,
        natural: &Loop,
        path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
        location: &Location,
    ) -> Result<Option<(BlockId, Path)>> {
        let (header, follow) = (natural.header, self.graph.follow(natural));
        let assigned = self.assigned(&natural.blocks);
        // Registers that turn out to keep their value, and those that differ between lanes.
        let mut kept: BTreeSet<RegisterId> = BTreeSet::new();
        let mut by_lane: BTreeSet<RegisterId> = BTreeSet::new();
        let mut waited = path.waited;
        let mut order = path.order.clone();
        let known = u32::try_from(self.phis.len()).unwrap_or(u32::MAX);
        let of_loop = |atom: &Atom| matches!(atom, Atom::Phi(phi) if *phi >= known);
        for _ in 0..12 {
            let id = *self.loops;
            *self.loops += 1;
            // A test before the loop is none of this round.
            *self.events += 1;
            let events = *self.events;
            let mut start = path.clone();
            start.condition = self.terms.constant(1, 1);
            start.waited = waited;
            start.order = order.clone();
            start.position = path.position.in_loop();
            let mut phis: BTreeMap<RegisterId, Vec<u32>> = BTreeMap::new();
            for register in &assigned {
                let first = match path.state[register.0 as usize].clone() {
                    Some(first) => first,
                    // Not assigned yet, and a round may read what one before has left.
                    None if self.slice.live.at(header, *register) => {
                        Value::Uniform(self.unknown(*register))
                    }
                    None => continue,
                };
                if kept.contains(register) {
                    continue;
                }
                // Lanes that are not in the loop keep what they have.
                let outside = self.full & !(path.mask | path.exited);
                let shared = shared(&first, path.mask).filter(|_| !by_lane.contains(register));
                let mut numbers = Vec::new();
                let mut phi = |walker: &mut Self, first: TermId| {
                    let number = u32::try_from(walker.phis.len()).unwrap_or(u32::MAX);
                    let width = walker.terms.width_of(first);
                    let atom = walker.terms.atom(Atom::Phi(number), width);
                    walker.phis.push(Phi {
                        in_loop: id,
                        first,
                        next: atom,
                    });
                    numbers.push(number);
                    atom
                };
                start.state[register.0 as usize] = Some(match shared {
                    Some(term) => {
                        let atom = phi(self, term);
                        let in_loop = |lane: usize| outside >> lane & 1 == 0;
                        packed(std::array::from_fn(|lane| match in_loop(lane) {
                            true => atom,
                            false => lane_of(&first, lane),
                        }))
                    }
                    None => Value::Lanes(Rc::new(std::array::from_fn(|lane| {
                        phi(self, lane_of(&first, lane))
                    }))),
                });
                phis.insert(*register, numbers);
            }
            self.frames.push(Frame {
                header,
                id: Some(id),
                started: false,
                follow,
                continues: Vec::new(),
                breaks: Vec::new(),
                left: Vec::new(),
            });
            let mut body = Vec::new();
            let walked = self.region(header, None, start.clone(), &mut body, depth + 1);
            let frame = self.frames.pop();
            walked?;
            let Some(frame) = frame else {
                return refuse("a loop is not understood", location);
            };
            if frame
                .continues
                .iter()
                .chain(&frame.breaks)
                .any(|path| path.mask != start.mask)
            {
                return refuse(
                    "lanes of a warp leave a loop in different iterations",
                    location,
                );
            }
            let Some(end) = self.gathered(frame.continues) else {
                return match self.once(natural, &path, out, depth)? {
                    Some(left) => Ok(left),
                    None => refuse("a loop is never repeated", location),
                };
            };
            let ahead = both(waited, end.waited);
            let mut again = ahead != waited;
            waited = ahead;
            let mut rounds = order.clone().joined(end.order.clone());
            rounds.forget(self.terms, &of_loop);
            again |= rounds != order;
            order = rounds;
            let mut unchanged = BTreeSet::new();
            let mut parted = BTreeSet::new();
            for (register, numbers) in &phis {
                let Some(value) = end.state[register.0 as usize].clone() else {
                    continue;
                };
                let value = match (numbers.as_slice(), shared(&value, path.mask)) {
                    ([_], Some(term)) => Value::Uniform(term),
                    ([_], None) => {
                        parted.insert(*register);
                        continue;
                    }
                    _ => value,
                };
                let mut same = true;
                for (lane, number) in numbers.iter().enumerate() {
                    let next = lane_of(&value, lane);
                    let width = self.terms.width_of(next);
                    same &= next == self.terms.atom(Atom::Phi(*number), width);
                    self.phis[*number as usize].next = next;
                }
                if same {
                    unchanged.insert(*register);
                }
            }
            again |= !parted.is_empty() || !unchanged.is_empty();
            // In this round a register that differs between lanes was one value for all of them. So what seems to be unchanged may
            // not be: for example, what lanes exchange would be equal.
            if parted.is_empty() {
                kept.append(&mut unchanged);
            }
            by_lane.append(&mut parted);
            if again {
                self.noted.forget(events);
                continue;
            }
            if self.ends_when_repeated(&body, &phis)
                && let Ok(Some(left)) = self.once(natural, &path, out, depth)
            {
                return Ok(left);
            }
            let ends = frame.breaks.iter().chain([&end]);
            let position = path.position.behind_loop(ends.map(|path| &path.position));
            let left = self.gathered(frame.breaks);
            self.noted.looped(id, (events, *self.events), &frame.left);
            // What comes behind the loop is not in it.
            *self.events += 1;
            out.push(Statement::Loop {
                id,
                body,
                location: location.clone(),
            });
            let (Some(mut left), Some(follow)) = (left, follow) else {
                return Ok(None);
            };
            left.condition = path.condition;
            left.position = position;
            left.order.forget(self.terms, &of_loop);
            return Ok(Some((follow, left)));
        }
        refuse(
            "a loop's registers differ between lanes in too many ways",
            location,
        )
    }

    /// Paths that come to one place, each under its condition.
    fn gathered(&mut self, paths: Vec<Path>) -> Option<Path> {
        let mut paths = paths.into_iter().rev();
        let mut all = paths.next()?;
        for path in paths {
            let condition = path.condition;
            all = self.chosen(condition, path, all);
        }
        Some(all)
    }

    fn operand(&mut self, operand: Operand, width: u16, state: &State) -> Value {
        match operand {
            Operand::Constant(bits) => Value::Uniform(self.terms.constant(bits, width)),
            Operand::Register(register) => {
                let value = match state[register.0 as usize].clone() {
                    Some(value) => value,
                    None => Value::Uniform(self.unknown(register)),
                };
                match value {
                    Value::Uniform(term) => Value::Uniform(self.fitted(term, width)),
                    Value::Lanes(lanes) => {
                        packed(std::array::from_fn(|lane| self.fitted(lanes[lane], width)))
                    }
                }
            }
        }
    }

    fn fitted(&mut self, term: TermId, width: u16) -> TermId {
        let from = self.terms.width_of(term);
        if from > width {
            self.terms.extract(&term, 0, width)
        } else {
            self.terms.extend(&term, width, false)
        }
    }

    fn set(&mut self, register: RegisterId, value: Value, mask: u32, path: &mut Path) {
        let width = self.width_of(register);
        let value = match value {
            Value::Uniform(term) => Value::Uniform(self.fitted(term, width)),
            Value::Lanes(lanes) => {
                packed(std::array::from_fn(|lane| self.fitted(lanes[lane], width)))
            }
        };
        // Nobody reads what lanes have in registers that have ended.
        let written = mask | path.exited & !path.mask;
        let slot = &mut path.state[register.0 as usize];
        *slot = match slot.take() {
            Some(old) if written != self.full => Some(packed(std::array::from_fn(|lane| {
                lane_of(if mask >> lane & 1 == 1 { &value } else { &old }, lane)
            }))),
            _ => Some(value),
        };
    }

    /// The operations of a block that matter.
    fn operations(&mut self, at: BlockId, path: &mut Path, out: &mut Vec<Statement>) -> Result<()> {
        let (kernel, slice) = (self.kernel, self.slice);
        let block = &kernel.blocks[at.0 as usize];
        let numbered = (0..).zip(&block.operations);
        for ((index, operation), relevant) in numbered.zip(&slice.operations[at.0 as usize]) {
            self.here = (at, index);
            self.meet(operation, path);
            if let Some(name) = operation.kind.of_whole_warp() {
                self.computed_by_all(name, operation, path)?;
            }
            if !relevant && !self.touches() {
                continue;
            }
            let Some(guard) = operation.guard else {
                self.execute(operation, path.mask, path, out)?;
                continue;
            };
            let mut value = self.operand(Operand::Register(guard.predicate), 1, &path.state);
            if guard.negated {
                value = match value {
                    Value::Uniform(term) => Value::Uniform(self.terms.not(&term)),
                    Value::Lanes(lanes) => {
                        packed(std::array::from_fn(|lane| self.terms.not(&lanes[lane])))
                    }
                };
            }
            self.guarded(operation, &value, path, out)?;
        }
        Ok(())
    }

    fn guarded(
        &mut self,
        operation: &Operation,
        guard: &Value,
        path: &mut Path,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let mut groups: BTreeMap<TermId, u32> = BTreeMap::new();
        for lane in 0..32 {
            if path.mask >> lane & 1 == 1 {
                *groups.entry(lane_of(guard, lane)).or_default() |= 1 << lane;
            }
        }
        for (term, mask) in groups {
            match self.terms.truth(term) {
                Some(false) => {}
                Some(true) => self.execute(operation, mask, path, out)?,
                None => {
                    let events = *self.events;
                    *self.trusts_memory |=
                        self.purpose == Purpose::Together && self.is_opaque(term);
                    let mut other = path.clone();
                    other.position.perhaps = true;
                    let mut inner = Vec::new();
                    self.execute(operation, mask, &mut other, &mut inner)?;
                    if !inner.is_empty() {
                        self.decide(term, inner, Vec::new(), events, out, &operation.location)?;
                    }
                    let (condition, perhaps) = (path.condition, path.position.perhaps);
                    *path = self.chosen(term, other, path.clone());
                    path.condition = condition;
                    path.position.perhaps = perhaps;
                }
            }
        }
        Ok(())
    }

    fn execute(
        &mut self,
        operation: &Operation,
        mask: u32,
        path: &mut Path,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let location = &operation.location;
        if self.touches() {
            self.touch(operation, mask, path, out)?;
            let (block, index) = self.here;
            if !self.slice.operations[block.0 as usize][index as usize] {
                return Ok(());
            }
        }
        match &operation.kind {
            OperationKind::Compute {
                compute,
                width,
                result,
                operands,
            } => {
                let values: Vec<Value> = operands
                    .iter()
                    .enumerate()
                    .map(|(index, operand)| {
                        self.operand(
                            *operand,
                            operand_width(*compute, *width, index),
                            &path.state,
                        )
                    })
                    .collect();
                let value = self.computed(*compute, *width, &values, mask);
                self.set(*result, value, mask, path);
            }
            OperationKind::Special { result, special } => {
                let value = self.special(*special);
                self.set(*result, value, mask, path);
            }
            OperationKind::AddressOf {
                result,
                variable,
                generic,
            } => {
                let width = self.width_of(*result);
                let term = match self.kernel.variables[variable.0 as usize].space {
                    Space::Shared | Space::Cluster => {
                        let atom = Atom::Shared {
                            variable: *variable,
                            rank: self.place.rank,
                        };
                        let narrow = self.terms.atom(atom, 32);
                        let wide = self.terms.extend(&narrow, width, false);
                        if *generic {
                            self.generic_of(wide)
                        } else {
                            wide
                        }
                    }
                    _ => self.terms.atom(
                        Atom::Address {
                            variable: *variable,
                        },
                        width,
                    ),
                };
                self.set(*result, Value::Uniform(term), mask, path);
            }
            OperationKind::ConvertAddress {
                result,
                address,
                space,
                to_generic,
            } => {
                let width = self.width_of(*result);
                let mut value = self.operand(*address, width, &path.state);
                if matches!(space, Space::Shared | Space::Cluster) {
                    value = self.each(&value, |walker, term| {
                        if *to_generic {
                            walker.generic_of(term)
                        } else {
                            walker.window_of(term)
                        }
                    });
                }
                self.set(*result, value, mask, path);
            }
            OperationKind::MapAddress {
                result,
                address,
                rank,
                ..
            } => {
                let width = self.width_of(*result);
                let address = self.operand(*address, width, &path.state);
                let rank = self.operand(*rank, 32, &path.state);
                let mut lanes = [TermId::default(); 32];
                for (lane, slot) in lanes.iter_mut().enumerate() {
                    let (address, rank) = (lane_of(&address, lane), lane_of(&rank, lane));
                    *slot = match self
                        .terms
                        .value(rank)
                        .and_then(|rank| u32::try_from(rank).ok())
                    {
                        Some(rank) => self.terms.of_rank(address, &|_| rank),
                        None => self.unknown_of(width),
                    };
                }
                self.set(*result, packed(lanes), mask, path);
            }
            OperationKind::CtaRank {
                result, address, ..
            } => {
                let address = self.operand(*address, 64, &path.state);
                let value = self.each(&address, |walker, term| {
                    let ranks: BTreeSet<u32> = walker
                        .terms
                        .atoms(term)
                        .iter()
                        .filter_map(|atom| match atom {
                            Atom::Shared { rank, .. } => Some(*rank),
                            _ => None,
                        })
                        .collect();
                    match ranks.first() {
                        Some(rank) if ranks.len() == 1 => {
                            walker.terms.constant(u128::from(*rank), 32)
                        }
                        _ => walker.unknown_of(32),
                    }
                });
                self.set(*result, value, mask, path);
            }
            OperationKind::Load {
                results,
                space,
                address,
                width,
                signed,
                ..
            } => {
                if space.may_be_shared()
                    && let Some(terms) = self.load_words(*address, *width, results.len(), path)
                {
                    for (result, term) in results.iter().zip(terms) {
                        let Some(result) = result else { continue };
                        let to = self.width_of(*result).max(*width);
                        let term = self.terms.extend(&term, to, *signed);
                        self.set(*result, Value::Uniform(term), mask, path);
                    }
                    return Ok(());
                }
                if space.may_be_shared()
                    && self.load_ring_word(
                        *address,
                        results,
                        (*width, *signed),
                        mask,
                        path,
                        out,
                        location,
                    )
                {
                    return Ok(());
                }
                let address = self.operand(*address, 64, &path.state);
                if self.unwritten.loads.contains(&self.here)
                    && let Some(words) = self.words_at(&address, *width, results.len(), mask)
                {
                    for (result, word) in results.iter().zip(words) {
                        let Some(result) = result else { continue };
                        let to = self.width_of(*result).max(*width);
                        let word = self.terms.extend(&word, to, *signed);
                        self.set(*result, Value::Uniform(word), mask, path);
                    }
                    return Ok(());
                }
                for (index, result) in results.iter().enumerate() {
                    let Some(result) = result else { continue };
                    let to = self.width_of(*result).max(*width);
                    let offset = match (&address, space) {
                        (Value::Uniform(term), Space::Parameter) => self.terms.value(*term),
                        _ => None,
                    };
                    let offset = offset
                        .and_then(|offset| u32::try_from(offset).ok())
                        .and_then(|offset| {
                            offset.checked_add(u32::try_from(index).ok()? * u32::from(*width / 8))
                        });
                    let term = match offset {
                        Some(offset) => self.parameter(offset, *width),
                        None => self.loaded_of(*width, &operation.location),
                    };
                    let term = self.terms.extend(&term, to, *signed);
                    self.set(*result, Value::Uniform(term), mask, path);
                }
            }
            OperationKind::Store {
                space,
                address,
                values,
                width,
                ..
            } => {
                if space.may_be_shared() {
                    let bytes = u32::from(width.div_ceil(8));
                    let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
                    let bytes = bytes.saturating_mul(count);
                    self.store_ring_word(*address, bytes, mask, path, out, location);
                    let values: Vec<_> = values.iter().copied().map(Some).collect();
                    self.store_words(*address, &values, *width, mask, path);
                }
            }
            OperationKind::Atomic {
                result,
                space,
                address,
                width,
                ..
            } => {
                if space.may_be_shared() {
                    self.store_words(*address, &[None], *width, mask, path);
                }
                if let Some(result) = result {
                    let term = self.unknown(*result);
                    self.set(*result, Value::Uniform(term), mask, path);
                }
            }
            OperationKind::Opaque { results, .. } => {
                if let Some(write) = operation.kind.write()
                    && write.space.may_be_shared()
                {
                    // In pieces of 8 bytes.
                    let bytes = write.bytes.min(MOST_BYTES);
                    let pieces = vec![None; usize::try_from(bytes.div_ceil(8)).unwrap_or(1)];
                    self.store_words(write.address, &pieces, 64, mask, path);
                }
                for result in results {
                    let term = self.unknown(*result);
                    self.set(*result, Value::Uniform(term), mask, path);
                }
            }
            OperationKind::Unsupported {
                mnemonic, reason, ..
            } => {
                return refuse(format!("`{mnemonic}`: {reason}"), location);
            }
            OperationKind::Synchronization(synchronization) => {
                self.synchronize(synchronization, mask, path, out, location)?;
            }
        }
        Ok(())
    }

    /// Words of memory that nobody writes, at one address for all of these lanes that the launch determines, or the launch and
    /// what loops carry. What each lane reads for itself is data.
    fn words_at(
        &mut self,
        address: &Value,
        width: u16,
        count: usize,
        mask: u32,
    ) -> Option<Vec<TermId>> {
        let mut lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let address_of = |lane: usize| lane_of(address, lane);
        let first = address_of(lanes.next()?);
        let atoms = self.terms.atoms(first);
        // Whether lanes go the same way is not looked at in what loops carry.
        let mut carried = self.purpose == Purpose::Events;
        carried &= atoms.iter().all(|atom| {
            matches!(
                atom,
                Atom::Parameter { .. } | Atom::Special(_) | Atom::Phi(_)
            )
        });
        if !lanes.all(|lane| address_of(lane) == first)
            || !(carried || is_launch(first, self.terms))
        {
            return None;
        }
        let bits = self.terms.width_of(first);
        let bytes = u128::from(width.div_ceil(8));
        let offsets = (0..count as u128).map(|index| index * bytes);
        let words = offsets.map(|offset| {
            let at = self.terms.sum(offset, &[(first, 1)], bits);
            self.terms.memory(at, width)
        });
        Some(words.collect())
    }

    fn each(&mut self, value: &Value, mut by: impl FnMut(&mut Self, TermId) -> TermId) -> Value {
        match value {
            Value::Uniform(term) => Value::Uniform(by(self, *term)),
            Value::Lanes(lanes) => packed(std::array::from_fn(|lane| by(self, lanes[lane]))),
        }
    }

    fn generic_of(&mut self, term: TermId) -> TermId {
        let width = self.terms.width_of(term);
        let window = self.terms.atom(Atom::SharedWindow, width);
        self.terms.binary(Binary::Add, &term, &window)
    }

    fn window_of(&mut self, term: TermId) -> TermId {
        let width = self.terms.width_of(term);
        let window = self.terms.atom(Atom::SharedWindow, width);
        self.terms.difference(term, window)
    }

    fn computed(&mut self, compute: Compute, width: u16, values: &[Value], mask: u32) -> Value {
        let uniform: Option<Vec<TermId>> = values
            .iter()
            .map(|value| match value {
                Value::Uniform(term) => Some(*term),
                Value::Lanes(_) => None,
            })
            .collect();
        if let Some(operands) = uniform {
            return Value::Uniform(self.result(compute, width, &operands));
        }
        let mut lanes = [None; 32];
        for (lane, slot) in lanes.iter_mut().enumerate() {
            if mask >> lane & 1 == 1 {
                let operands: Vec<TermId> =
                    values.iter().map(|value| lane_of(value, lane)).collect();
                *slot = Some(self.result(compute, width, &operands));
            }
        }
        let any = lanes.iter().flatten().next().copied().unwrap_or_default();
        packed(lanes.map(|term| term.unwrap_or(any)))
    }

    fn result(&mut self, compute: Compute, width: u16, operands: &[TermId]) -> TermId {
        match result_of(self.terms, compute, width, operands) {
            Some(term) => term,
            None => {
                let width = result_width(compute, width, operands.len()).unwrap_or(width);
                self.unknown_of(width)
            }
        }
    }
}

/// Whether an operation does nothing but compute.
fn only_computes(operation: &Operation) -> bool {
    let kind = &operation.kind;
    let of_cluster = matches!(
        kind,
        OperationKind::MapAddress { .. } | OperationKind::CtaRank { .. }
    );
    of_cluster || kind.only_computes()
}

/// Whether a statement can block its warp.
fn may_block(statement: &Statement) -> bool {
    match statement {
        Statement::Event(event) => matches!(
            event.kind,
            EventKind::Wait { .. }
                | EventKind::WaitOwn { .. }
                | EventKind::CounterWait { .. }
                | EventKind::BarrierSync { .. }
                | EventKind::ClusterWait
                | EventKind::SetMaxRegisters { .. }
                | EventKind::TensorAllocate { .. }
                // It holds up the lanes that have started copies, and no others.
                | EventKind::WaitGroup { .. }
        ),
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(may_block),
        Statement::Loop { body, .. } => body.iter().any(may_block),
        Statement::Break | Statement::Return => false,
    }
}

/// Whether something is done in a statement.
fn acts(statement: &Statement) -> bool {
    match statement {
        Statement::Event(_) => true,
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(acts),
        Statement::Loop { body, .. } => body.iter().any(acts),
        Statement::Break | Statement::Return => false,
    }
}

/// The lanes that have waited on both of two ways, where some have not.
fn both(one: Option<u32>, two: Option<u32>) -> Option<u32> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one & two),
        (one, two) => one.or(two),
    }
}
