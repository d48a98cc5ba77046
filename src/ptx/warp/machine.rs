//! The state of one warp during symbolic execution: its place in the launch, the unknowns, the registers.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::statement::Obstacle;
use super::term::Atom;
use super::term::Sum;
use super::term::Unknown;
use super::value::Integer;
use super::value::LANES;
use super::value::Value;
use super::words::Words;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::syntax::ast::Variable;
use crate::ptx::syntax::variables::mentions;

/// The largest value of a kernel's integer parameter: half of what 32 bits hold, so that a sum of
/// two does not wrap around.
pub(in crate::ptx) const MOST_PARAMETER: i128 = (1 << 30) - 1;

/// The most that is taken to be given for a parameter of so many bytes, a word or more.
pub(in crate::ptx) fn most_given(bytes: u64) -> i128 {
    match bytes {
        // A pointer is about as large as addresses get.
        8 => 1 << 62,
        _ => MOST_PARAMETER,
    }
}

/// The most CTAs along an axis of a grid: PTX allows no more along the second and third.
pub(in crate::ptx) fn most_blocks(axis: usize) -> i128 {
    if axis == 0 { MOST_PARAMETER } else { 0xffff }
}

/// What an unknown stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) enum Meaning {
    /// A parameter of the kernel: its index and the offset in it.
    Parameter(usize, i64),
    /// Where a parameter of the kernel lies.
    ParameterAddress(usize),
    /// The address of a shared variable.
    Shared(String),
    /// Added to a shared address, the same place in another CTA of the cluster.
    Peer(u32),
    /// Added to a shared address, the same place in another CTA of the cluster for each lane.
    Peers([u32; LANES]),
    /// The index of the CTA, or of the cluster where there are clusters, along an axis.
    Block(usize),
    /// The extent of the grid along an axis, in CTAs.
    Blocks(usize),
    /// The number of a loop's iteration.
    Iteration(u32),
    /// The number of an iteration among those that are counted by a condition.
    Counted,
    /// What a register holds when an iteration of a loop begins.
    Carried(u32),
    /// The number of a warp among those that are one role.
    Member,
    /// What was read from memory: the address, and how many bytes.
    Read(Sum, u32),
    /// What an arrival of the whole CTA found at an address, and the axes of the grid that all arrive along.
    Found(Sum, Vec<usize>),
    /// What an arrival of one CTA found at an address, where it counts those who come.
    FetchedCount(Sum),
    /// A meeting of CTAs that are counted at one address and wait for another one to change.
    Met(Sum, Sum),
    /// The bits in which what was read at an address is other than what was found there, and what was read.
    Flipped(Sum, Unknown, Unknown),
    /// What came of a vote of all threads of a CTA, 0 or 1.
    Voted,
    /// A special register that the driver defines.
    Environment(u32),
    /// What was read where an answer to a request for work may be: the address, and the iteration.
    Answer(Sum, Option<Unknown>),
    /// The quotient of a parameter, with something added to it, by something.
    Divided(Unknown, i128, i128),
    /// How often a loop runs that goes through numbers below a parameter in steps of the grid.
    Rounds(Unknown, usize),
    /// The quotient of two parameters.
    Ratio(Unknown, Unknown),
    /// How many requests for work are granted.
    Granted,
}

/// The unknowns that have been met, and their bounds wherever they occur in statements.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Unknowns(Vec<Meaning>, pub Facts);

impl Unknowns {
    pub fn of(&mut self, meaning: Meaning) -> Unknown {
        let found = self.0.iter().position(|m| *m == meaning);
        let index = found.unwrap_or_else(|| {
            self.0.push(meaning);
            self.0.len() - 1
        });
        Unknown(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub fn fresh(&mut self, meaning: Meaning) -> Unknown {
        self.0.push(meaning);
        Unknown(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// The unknown that is made next, if one is.
    pub fn next(&self) -> Unknown {
        Unknown(u32::try_from(self.0.len()).unwrap_or(u32::MAX))
    }

    pub fn find(&self, meaning: &Meaning) -> Option<Unknown> {
        let index = self.0.iter().position(|m| m == meaning)?;
        Some(Unknown(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    pub fn meaning(&self, unknown: Unknown) -> Option<&Meaning> {
        self.0.get(unknown.0 as usize)
    }

    /// Bounds an unknown in a state and for good.
    pub fn bound(&mut self, unknown: Unknown, low: i128, high: i128, state: &mut State) {
        self.1.bound(unknown, low, high);
        state.facts.bound(unknown, low, high);
    }
}

/// How the kernel is launched.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Launch {
    pub threads: [u32; 3],
    pub cluster: [u32; 3],
    /// Registers per thread, where the kernel says.
    pub most_registers: Option<u32>,
    /// The fewest registers that a `setmaxnreg.inc` asks for.
    pub raised_to: Option<u32>,
    /// CTAs that have to fit on an SM.
    pub ctas: u32,
}

/// The name that tensor memory has beside shared variables; no variable has it.
pub(in crate::ptx) const TENSOR: &str = "%tensor";

/// The columns of tensor memory.
pub(in crate::ptx) const COLUMNS: i128 = 512;

/// The registers of an SM.
const SM_REGISTERS: u32 = 1 << 16;

impl Launch {
    pub fn count(&self) -> u32 {
        self.threads.iter().fold(1u32, |a, b| a.saturating_mul(*b))
    }

    pub fn warps(&self) -> u32 {
        self.count().div_ceil(32)
    }

    /// The registers that each thread has at launch: as many as fit, in steps of 8. The compiler sees to it that
    /// `setmaxnreg.inc` can raise them, which would be undefined otherwise.
    pub fn registers(&self) -> u32 {
        let threads = self.warps().max(1) * 32 * self.ctas.clamp(1, 64);
        let fit = (SM_REGISTERS / threads).min(256);
        let most = self.raised_to.map_or(fit, |raised| raised.min(fit));
        self.most_registers.unwrap_or(most).min(256) / 8 * 8
    }

    pub fn ranks(&self) -> u32 {
        self.cluster.iter().fold(1u32, |a, b| a.saturating_mul(*b))
    }
}

/// What is known at one place of the walk.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct State {
    pub registers: Vec<Value>,
    pub facts: Facts,
    /// The lanes that are here.
    pub active: u32,
    /// Whether only some of these are, at least one, and which is not known.
    pub vague: bool,
    /// The lanes that have not left.
    pub whole: u32,
    /// Which lanes of the warp waited, as long as the others may be ahead of them.
    pub apart: Option<u32>,
    /// Which lanes have used shared memory since all lanes met.
    pub touched: Touched,
    /// The last arrival at each mbarrier: its address, its number and the lanes.
    pub arrivals: Vec<(Sum, u32, u32)>,
    /// The registers that each thread has, if that is known.
    pub held: Option<i128>,
    /// Whether the warp may have given back the permit to allocate tensor memory.
    pub relinquished: bool,
    /// Unknowns before this were read before a fence.
    pub fenced: Unknown,
}

impl State {
    /// Keeps of what the warp has done only what holds here and in another state, too.
    pub fn join(&mut self, other: &State) {
        self.apart = both(self.apart, other.apart);
        self.touched |= other.touched;
        self.fenced = self.fenced.min(other.fenced);
        self.held = self.held.filter(|held| other.held == Some(*held));
        self.relinquished |= other.relinquished;
        self.arrivals.retain(|a| other.arrivals.contains(a));
    }

    /// The same with only these lanes here.
    pub fn narrowed(&self, lanes: u32) -> State {
        State {
            active: lanes,
            ..self.clone()
        }
    }
}

/// Lanes that have used shared memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::ptx) struct Touched {
    pub read: u32,
    pub written: u32,
    /// Those that may be ahead of a fence that others have carried out.
    pub unfenced: u32,
}

impl Touched {
    /// All of them.
    pub fn lanes(self) -> u32 {
        self.read | self.written
    }

    /// Whether a lane has used what another one writes, or the other way around, as far as the lanes say.
    pub fn meets(self, other: Touched) -> bool {
        let differ = |a: u32, b: u32| a != 0 && b != 0 && (a | b).count_ones() > 1;
        differ(self.written, other.lanes()) || differ(self.lanes(), other.written)
    }
}

impl std::ops::BitOr for Touched {
    type Output = Touched;

    fn bitor(self, other: Touched) -> Touched {
        Touched {
            read: self.read | other.read,
            written: self.written | other.written,
            unfenced: self.unfenced | other.unfenced,
        }
    }
}

impl std::ops::BitOrAssign for Touched {
    fn bitor_assign(&mut self, other: Touched) {
        *self = *self | other;
    }
}

/// The lanes that waited wherever some did.
pub(in crate::ptx) fn both(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a & b),
        (one, other) => one.or(other),
    }
}

/// One warp.
pub(in crate::ptx) struct Machine<'m, 'a> {
    pub function: &'m Function<'a>,
    pub launch: &'m Launch,
    pub warp: u32,
    pub rank: u32,
    pub unknowns: &'m mut Unknowns,
    /// Sums over parameters that are assumed to be 0 or more, so that nothing wraps around.
    pub assumptions: &'m mut BTreeSet<(Sum, usize)>,
    /// The instructions of which something may be assumed, if not of all.
    pub allowed: Option<&'m BTreeSet<usize>>,
    /// Whether something would have been assumed of another one.
    pub denied: bool,
    /// Whether it may be assumed that sums over blocks and iterations do not wrap around.
    pub generous: bool,
    /// Whether a guess is being made, so that nothing has to fit: it is checked afterwards.
    pub guessing: bool,
    /// Whether nothing may be assumed.
    pub sure: bool,
    /// Whether dynamic shared memory has been taken to begin at a multiple of the largest swizzled atom.
    pub leveled: bool,
    /// What is done with words of memory.
    pub words: Words<'m>,
    /// Whether lanes of the warp may use what others of it write with nothing in between that orders them but the program.
    pub in_step: bool,
    /// Whether a test of an mbarrier spares a wait, and something may be done between the two.
    pub looks_ahead: bool,
    /// The shared variables.
    pub shared: &'m [Variable<'a>],
    /// Where in shared memory it is written where the tensor memory lies.
    pub tensors: &'m BTreeSet<Sum>,
}

impl Machine<'_, '_> {
    pub fn initial(&mut self) -> State {
        let threads = self.launch.count();
        let first = self.warp * 32;
        let lanes = threads.saturating_sub(first).min(32);
        let active = if lanes == 32 {
            u32::MAX
        } else {
            (1u32 << lanes) - 1
        };
        let undefined = Value::lost(0, "it is read before it is written");
        State {
            registers: vec![undefined; self.function.registers.len()],
            facts: Facts::default(),
            active,
            vague: false,
            whole: active,
            apart: None,
            touched: Touched::default(),
            arrivals: Vec::new(),
            held: Some(i128::from(self.launch.registers())),
            relinquished: false,
            fenced: Unknown(0),
        }
    }

    /// What was met on one side of a branch or in a loop keeps its bounds after it, where they follow
    /// from the launch alone.
    pub fn remind(&self, state: &mut State) {
        state.facts.learn(&self.unknowns.1, &|unknown| {
            matches!(
                self.unknowns.meaning(unknown),
                Some(
                    Meaning::Parameter(..)
                        | Meaning::ParameterAddress(_)
                        | Meaning::Shared(_)
                        | Meaning::Block(_)
                        | Meaning::Blocks(_)
                        | Meaning::Environment(_)
                )
            )
        });
    }

    /// The value of an operand.
    pub fn value(&mut self, operand: &Operand<'_>, state: &mut State, at: usize) -> Value {
        match operand {
            Operand::Register(register) => self.register(*register, state),
            Operand::Not(register) => self.register(*register, state).negated(),
            Operand::Integer(value) => Value::constant(i128::from(*value)),
            Operand::Name(name) if name.starts_with('%') => self.special(name, state, at),
            Operand::Name(name) => {
                let mut parameters = self.function.parameters.iter();
                if self.shared.iter().any(|s| s.name == *name) {
                    Value::Integer(Integer::same(self.shared_address(name, state)))
                } else if let Some(index) = parameters.position(|p| p.name == *name) {
                    let unknown = self.unknowns.of(Meaning::ParameterAddress(index));
                    self.unknowns.bound(unknown, 0, 1 << 62, state);
                    Value::Integer(Integer::same(Sum::unknown(unknown)))
                } else {
                    Value::lost(at, format!("the address of `{name}` is not followed"))
                }
            }
            Operand::Address { base, offset, .. } => match self.value(base, state, at) {
                Value::Integer(integer) => Value::Integer(Integer {
                    sum: integer.sum.plus_constant(i128::from(*offset)),
                    lanes: integer.lanes,
                }),
                other => other.together(),
            },
            Operand::Float => Value::lost(at, "floating-point numbers are not followed"),
            Operand::Target(_) | Operand::Vector(_) | Operand::Pair(_) => {
                Value::lost(at, "this kind of operand is not followed")
            }
        }
    }

    fn register(&self, register: Register, state: &State) -> Value {
        match state.registers.get(register.0 as usize) {
            Some(value) => value.read(state.active),
            None => Value::lost(0, "it is not declared"),
        }
    }

    fn shared_address(&mut self, name: &str, state: &mut State) -> Sum {
        let unknown = self.unknowns.of(Meaning::Shared(name.to_owned()));
        let most = self.begins_below(name);
        self.unknowns.bound(unknown, 0, most, state);
        Sum::unknown(unknown)
    }

    /// A parameter of the kernel; if it is less than a word, whether it is read as a signed number.
    pub fn parameter(&mut self, index: usize, offset: i64, signed: bool, state: &mut State) -> Sum {
        let unknown = self.unknowns.of(Meaning::Parameter(index, offset));
        let bytes = match self.function.parameters.get(index) {
            Some(p) if p.kind == ".b8" && p.bytes == 8 && self.in_words(p.name) => 4,
            Some(p) => p.bytes,
            None => 4,
        };
        // A byte or a half word is no size: all of its values are those of launches.
        let (least, most) = match bytes {
            1 | 2 if signed => (-(1 << (8 * bytes - 1)), (1 << (8 * bytes - 1)) - 1),
            1 | 2 => (0, (1 << (8 * bytes)) - 1),
            _ => (0, most_given(bytes)),
        };
        self.unknowns.bound(unknown, least, most, state);
        Sum::unknown(unknown)
    }

    /// Whether a parameter is also read by loads of another type.
    pub fn is_read_otherwise(&self, index: usize, parts: &[&str]) -> bool {
        let Some(name) = self.function.parameters.get(index).map(|p| p.name) else {
            return true;
        };
        let mut loads = self
            .function
            .code
            .iter()
            .filter(|instruction| instruction.operands.iter().any(|o| mentions(o, name)));
        loads.any(|load| load.opcode.rsplit('.').next() != parts.last().copied())
    }

    /// Whether a parameter is only ever read in words of 4 bytes.
    fn in_words(&self, name: &str) -> bool {
        self.function.code.iter().all(|instruction| {
            let here = instruction.operands.iter().any(|o| mentions(o, name));
            !here || instruction.opcode.starts_with("ld.") && instruction.opcode.ends_with("32")
        })
    }

    /// The parameter of the kernel that an address lies in, and how far from where it begins.
    pub fn in_parameter(&self, address: &Integer) -> Option<(usize, i64)> {
        let base = address.sum.plus_constant(-address.sum.constant);
        match base.single()? {
            (Atom::Unknown(unknown), 1) if address.lanes.is_none() => {
                let Meaning::ParameterAddress(index) = self.unknowns.meaning(*unknown)? else {
                    return None;
                };
                Some((*index, i64::try_from(address.sum.constant).ok()?))
            }
            _ => None,
        }
    }

    /// The CTA of the cluster that a shared address lies in.
    pub fn home(&self, address: &Sum) -> u32 {
        let mut peers = address.terms.keys().filter_map(|atom| match atom {
            Atom::Unknown(u) => match self.unknowns.meaning(*u) {
                Some(Meaning::Peer(rank)) => Some(*rank),
                _ => None,
            },
            _ => None,
        });
        peers.next().unwrap_or(self.rank)
    }

    /// The shared address of the same place in another CTA of the cluster.
    pub fn in_peer(&mut self, address: &Sum, rank: u32, state: &mut State) -> Sum {
        let mut there = address.clone();
        there.terms.retain(|atom, _| match atom {
            Atom::Unknown(u) => !matches!(
                self.unknowns.meaning(*u),
                Some(Meaning::Peer(_) | Meaning::Peers(_))
            ),
            _ => true,
        });
        if rank == self.rank {
            return there;
        }
        let peer = self.unknowns.of(Meaning::Peer(rank));
        state.facts.bound(peer, 0, 1 << 31);
        there.plus(&Sum::unknown(peer))
    }

    /// A shared address with the bit cleared that tells the CTAs of a pair apart: the same place in
    /// the first of the two. Bits that alignment makes 0 may be cleared with it.
    pub fn in_leader(&mut self, address: &Sum, mask: i128, state: &mut State) -> Option<Sum> {
        const PAIR: i128 = 1 << 24;
        let cleared = !mask & 0xffff_ffff;
        let low = cleared & !PAIR;
        if cleared & PAIR == 0 || low & (low + 1) != 0 {
            return None;
        }
        let mut based = false;
        for (atom, factor) in &address.terms {
            let meaning = match atom {
                Atom::Unknown(u) => self.unknowns.meaning(*u),
                _ => None,
            };
            let aligned = match meaning {
                Some(Meaning::Shared(name)) if *factor == 1 && !based => {
                    based = true;
                    let variable = self.shared.iter().find(|v| v.name == *name)?;
                    i128::from(variable.align) % (low + 1) == 0
                }
                Some(Meaning::Peer(_)) => true,
                _ => factor % (low + 1) == 0,
            };
            if !aligned {
                return None;
            }
        }
        if !based || address.constant % (low + 1) != 0 {
            return None;
        }
        let leader = self.home(address) & !1;
        Some(self.in_peer(address, leader, state))
    }

    fn block(&mut self, axis: usize, state: &mut State) -> Sum {
        let unknown = self.unknowns.of(Meaning::Block(axis));
        self.unknowns
            .bound(unknown, 0, most_blocks(axis) - 1, state);
        let extent = self.blocks(axis, state);
        let cluster = i128::from(self.launch.cluster[axis]);
        let block = Sum::unknown(unknown);
        // Everything of the cluster is inside the grid.
        let inside = extent.plus_times(&block, -cluster).plus_constant(-cluster);
        state.facts.assume_positive(&inside);
        block
    }

    fn blocks(&mut self, axis: usize, state: &mut State) -> Sum {
        let unknown = self.unknowns.of(Meaning::Blocks(axis));
        // A grid is made of whole clusters, and there is at least one.
        let least = i128::from(self.launch.cluster[axis]);
        self.unknowns
            .bound(unknown, least, most_blocks(axis), state);
        Sum::unknown(unknown)
    }

    fn special(&mut self, name: &str, state: &mut State, at: usize) -> Value {
        let (stem, axis) = match name.split_once('.') {
            Some((stem, "x")) => (stem, 0),
            Some((stem, "y")) => (stem, 1),
            Some((stem, "z")) => (stem, 2),
            Some(_) => return Value::lost(at, format!("`{name}` is not followed")),
            None => (name, 3),
        };
        let [x, y, _] = self.launch.threads;
        let first = self.warp * 32;
        let per_lane = |f: &dyn Fn(u32) -> u32| {
            let mut lanes = [0; LANES];
            for (lane, value) in (0u32..).zip(lanes.iter_mut()) {
                *value = i128::from(f(first + lane));
            }
            Value::Integer(Integer::lanes(lanes))
        };
        let coordinate = |index: u32, extents: [u32; 3]| match axis {
            0 => index % extents[0],
            1 => index / extents[0] % extents[1],
            _ => index / extents[0] / extents[1],
        };
        let constant = |value: u32| Value::constant(i128::from(value));
        match (stem, axis) {
            ("%tid", 0) => per_lane(&|t| t % x),
            ("%tid", 1) => per_lane(&|t| t / x % y),
            ("%tid", 2) => per_lane(&|t| t / x / y),
            ("%laneid", 3) => per_lane(&|t| t % 32),
            ("%ntid", 0..3) => constant(self.launch.threads[axis]),
            ("%nctaid", 0..3) => Value::Integer(Integer::same(self.blocks(axis, state))),
            ("%ctaid", 0..3) => {
                let cluster = self.launch.cluster;
                let inside = coordinate(self.rank, cluster);
                let block = self.block(axis, state).scaled(i128::from(cluster[axis]));
                Value::Integer(Integer::same(block.plus_constant(i128::from(inside))))
            }
            ("%clusterid", 0..3) => Value::Integer(Integer::same(self.block(axis, state))),
            ("%cluster_ctaid", 0..3) => constant(coordinate(self.rank, self.launch.cluster)),
            ("%cluster_nctaid", 0..3) => constant(self.launch.cluster[axis]),
            (name, 3) if name.starts_with("%envreg") => {
                let Ok(number) = name["%envreg".len()..].parse() else {
                    return Value::lost(at, format!("`{name}` is not followed"));
                };
                let unknown = self.unknowns.of(Meaning::Environment(number));
                self.unknowns.bound(unknown, 0, (1 << 32) - 1, state);
                Value::Integer(Integer::same(Sum::unknown(unknown)))
            }
            ("%cluster_ctarank", 3) => constant(self.rank),
            ("%cluster_nctarank", 3) => constant(self.launch.ranks()),
            _ => Value::lost(at, format!("`{name}` is not followed")),
        }
    }

    /// Whether a sum lies in this window. Where it is made of parameters only and may leave the
    /// window, that it does not becomes an assumption of the protocol.
    pub fn fits(
        &mut self,
        integer: &Integer,
        low: i128,
        high: i128,
        state: &mut State,
        at: usize,
    ) -> bool {
        let (least, most) = integer.range(&state.facts);
        if low <= least && most <= high || self.guessing {
            return true;
        }
        let below = integer.sum.plus_constant(-low);
        let above = Sum::of(high).minus(&integer.sum);
        if integer.lanes.is_some() {
            return false;
        }
        let missing: Vec<Sum> = [below, above]
            .into_iter()
            .filter(|sum| !state.facts.is_positive(sum))
            .collect();
        let fixed = |u: Unknown| {
            !matches!(
                self.unknowns.meaning(u),
                Some(Meaning::Parameter(..) | Meaning::Blocks(_))
            )
        };
        if self.sure || integer.sum.as_constant().is_some() || integer.sum.reads_memory() {
            return missing.is_empty();
        }
        if integer.sum.mentions(&fixed) {
            if !self.generous {
                return missing.is_empty();
            }
            // Where the most that it can be is one of parameters, that it fits is assumed.
            let Some(most) = self.most(&integer.sum, state) else {
                return missing.is_empty();
            };
            if !state.facts.is_positive(&integer.sum.plus_constant(-low)) {
                return false;
            }
            let above = Sum::of(high).minus(&most);
            if !missing.is_empty() && !state.facts.is_positive(&above) {
                if state.facts.is_positive(&above.scaled(-1)) || !self.may_assume(at) {
                    return false;
                }
                state.facts.assume_positive(&above);
                self.assume(above, at);
            }
            return true;
        }
        // What holds nowhere, or at one value only, is no assumption to make, nor what leaves a parameter two of its values.
        let hardly = |sum: &Sum| {
            state.facts.range(sum).1 <= 0
                || state.facts.is_positive(&sum.scaled(-1))
                || state.facts.leaves_two(sum)
        };
        if missing.iter().any(hardly) || !missing.is_empty() && !self.may_assume(at) {
            return false;
        }
        for sum in missing {
            state.facts.assume_positive(&sum);
            self.assume(sum, at);
        }
        true
    }

    /// Assumes, of a divisor that is made of parameters only, that it is not 0: nobody says what comes of dividing by 0.
    pub fn divides(&mut self, divisor: &Sum, state: &mut State, at: usize) {
        let parameter =
            |u: Unknown| matches!(self.unknowns.meaning(u), Some(Meaning::Parameter(..)));
        let (least, most) = state.facts.range(divisor);
        let fixed = !divisor.mentions(&|u| !parameter(u)) && !divisor.reads_memory();
        let open = self.generous && least == 0 && most > 1 && fixed;
        if open && !self.sure && !self.guessing && self.may_assume(at) {
            let positive = divisor.plus_constant(-1);
            state.facts.assume_positive(&positive);
            self.assume(positive, at);
        }
    }

    /// Whether something may be assumed of an instruction.
    pub(super) fn may_assume(&mut self, at: usize) -> bool {
        let may = self.allowed.is_none_or(|places| places.contains(&at));
        self.denied |= !may;
        may
    }

    /// Assumes for good that a sum is 0 or more.
    pub(super) fn assume(&mut self, sum: Sum, at: usize) {
        assume(self.assumptions, sum, at);
    }

    /// The integer with its bits read as a signed or unsigned number.
    pub fn read(
        &mut self,
        integer: &Integer,
        signed: bool,
        bits: u32,
        state: &mut State,
        at: usize,
    ) -> Option<Integer> {
        if let Some(constants) = integer.constants() {
            return Some(Integer::lanes(constants.map(|c| wrap(c, signed, bits))));
        }
        // What is known here may decide what was open where it was computed.
        let integer = &Integer {
            sum: state.facts.settled(&integer.sum),
            lanes: integer.lanes.clone(),
        };
        let (low, high) = window(signed, bits);
        let (least, most) = integer.range(&state.facts);
        if (least < low || high < most)
            && integer.lanes.is_none()
            && let Some((least, most)) = state.facts.spread(&integer.sum)
            && low <= least
            && most <= high
        {
            return Some(integer.clone());
        }
        if self.fits(integer, low, high, state, at) {
            return Some(integer.clone());
        }
        let full = 1i128 << bits;
        let (least, most) = integer.range(&state.facts);
        for shift in [full, -full] {
            if low <= least + shift && most + shift <= high {
                return Some(integer.plus_times(&Integer::same(Sum::of(shift)), 1));
            }
        }
        None
    }

    /// A value as an integer, or why not.
    pub fn integer(
        &mut self,
        operand: &Operand<'_>,
        state: &mut State,
        at: usize,
    ) -> Result<Integer, Obstacle> {
        match self.value(operand, state, at).together() {
            Value::Integer(integer) => Ok(integer),
            Value::Lost(loss) => Err(Obstacle {
                at,
                reason: self.because(operand, &loss),
                from: Some(loss.at),
                misuse: false,
                rule: None,
            }),
            Value::Groups(from, _) => Err(Obstacle {
                at,
                reason: "it differs between the lanes of a warp".to_owned(),
                from: Some(from),
                misuse: false,
                rule: None,
            }),
            Value::Token(_) => Err(Obstacle {
                at,
                reason: "a phase token stands where an integer is needed".to_owned(),
                from: None,
                misuse: false,
                rule: None,
            }),
            Value::Same(_) | Value::Mask(_) | Value::Parted(_) => Err(Obstacle {
                at,
                reason: "a predicate stands where an integer is needed".to_owned(),
                from: None,
                misuse: false,
                rule: None,
            }),
        }
    }

    /// Why an operand is not known, naming it.
    pub fn because(&self, operand: &Operand<'_>, loss: &super::value::Loss) -> String {
        match self.named(operand) {
            Some(name) => format!("{name} is not known here: {}", loss.why),
            None => loss.why.clone(),
        }
    }

    /// The register that an operand is, or that its address is in.
    pub fn named(&self, operand: &Operand<'_>) -> Option<&str> {
        let register = match operand {
            Operand::Register(r) | Operand::Not(r) => r,
            Operand::Address { base, .. } => match &**base {
                Operand::Register(r) => r,
                _ => return None,
            },
            _ => return None,
        };
        self.function.registers.get(register.0 as usize).copied()
    }
}

/// Assumes that a sum is 0 or more. Of what is assumed at one place of sums that differ by a constant, as in lanes and warps,
/// the least is enough.
pub(in crate::ptx) fn assume(assumptions: &mut BTreeSet<(Sum, usize)>, sum: Sum, at: usize) {
    let apart = |other: &Sum| sum.minus(other).as_constant();
    let mut like = assumptions.iter().filter(|(_, a)| *a == at);
    if like.any(|(other, _)| apart(other).is_some_and(|d| d >= 0)) {
        return;
    }
    assumptions.retain(|(other, a)| *a != at || apart(other).is_none());
    assumptions.insert((sum, at));
}

/// The numbers that bits can mean.
pub(in crate::ptx) fn window(signed: bool, bits: u32) -> (i128, i128) {
    if signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

/// A number reduced to its bits.
pub(in crate::ptx) fn wrap(value: i128, signed: bool, bits: u32) -> i128 {
    let full = 1i128 << bits;
    let low = value.rem_euclid(full);
    if signed && low >= full / 2 {
        low - full
    } else {
        low
    }
}
