//! Termination of loops without synchronization: it is shown, or else printed as an assumption.
//!
//! For example, `i = 0; do i += 2; while (i != n);` never ends if `n` is odd. The recovery leaves
//! such a loop out of the text. But its warp would hang in it, and so would all who wait for that warp.
//!
//! A loop terminates if each iteration executes a branch that leaves the loop when some comparison
//! holds, and if that comparison is of a register with a value that the loop does not change:
//!
//! - The register moves by the same step in each iteration, and the comparison is `<`, `>` or such,
//!   in the direction of the step. The bound must not be so near the end of its type that a step
//!   may jump over it and wrap around.
//! - The register moves by the same step, the comparison is for equality, and the step is 1, -1, or
//!   a power of two that divides the distance.
//! - The register is shifted to the right, zeros are shifted in, and the comparison is that it is 0
//!   or below a positive constant.
//!
//! A loop that changes nothing in its exit condition ends in its first iteration or never. The
//! kernel is then refused.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::cfg;
use crate::cfg::Dominators;
use crate::cfg::Loop;
use crate::ir::BlockId;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Stability;
use crate::ir::Terminator;
use crate::meaning::Word;
use crate::recover::addresses::Addresses;
use crate::recover::graph::Graph;
use crate::recover::register_intervals::interval;
use crate::recover::slice::Slice;
use crate::recover::slice::is_event;
use crate::recover::slice::is_unchanging;
use crate::recover::tree::Obstacle;

/// Through how many operations a number is followed back to its definition.
const MOST_STEPS: u32 = 24;

const UNCHANGING: &str =
    "no round of this loop changes the condition that ends it: it ends in its first round or never";

/// How many loops an assumption names.
const MOST_NAMED: usize = 3;

/// The assumption about bounds of loops that the launch gives. Otherwise such a bound may be so near
/// to the end of its type that a step jumps over it.
const SIZED: &str = "launch parameters that bound loops without synchronization are at least 0 and below 2^30 (below 2^62 if they have 64 bits)";

/// The assumptions about loops without synchronization. There are none if all are shown to end.
pub fn assumptions(kernel: &Kernel, graph: &Graph, slice: &Slice) -> Vec<String> {
    let (open, sized) = open_loops(kernel, graph, slice);
    let named = named(&open);
    named
        .into_iter()
        .chain(sized.then(|| SIZED.to_owned()))
        .collect()
}

/// The assumption that these loops end.
fn named(open: &[Location]) -> Option<String> {
    let places: BTreeSet<String> = open.iter().filter_map(Location::shown).collect();
    let named: Vec<&str> = places.iter().map(String::as_str).take(MOST_NAMED).collect();
    let more = match places.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match named.as_slice() {
        [] => None,
        [one] => Some(format!(
            "the loop at {one}, which does not synchronize, ends"
        )),
        several => Some(format!(
            "the loops at {}{more}, which do not synchronize, end",
            several.join(", ")
        )),
    }
}

/// Refuses loops without synchronization in which nothing changes the exit condition.
pub fn refuse_unchanging(kernel: &Kernel, graph: &Graph) -> Result<(), Obstacle> {
    let mut loops = graph.loops().map(|(_, natural)| natural);
    match loops
        .find(|natural| !has_events(kernel, natural) && is_unchanging(kernel, graph, natural))
    {
        None => Ok(()),
        Some(natural) => Err(Obstacle::new(
            UNCHANGING,
            kernel.blocks[natural.header.0 as usize].location.clone(),
        )),
    }
}

fn has_events(kernel: &Kernel, natural: &Loop) -> bool {
    let blocks = natural.blocks.iter();
    let mut operations = blocks.flat_map(|at| &kernel.blocks[at.0 as usize].operations);
    operations.any(is_event)
}

/// The loops without synchronization that are not shown to end. Also whether some other loop is
/// shown to end only with the assumption [`SIZED`].
fn open_loops(kernel: &Kernel, graph: &Graph, slice: &Slice) -> (Vec<Location>, bool) {
    let edges = cfg::Graph::new(kernel);
    let dominators = Dominators::of(&edges);
    let addresses = Addresses::new(kernel);
    let ends = |iteration: &Iteration<'_>| {
        let mut always = iteration.always.iter();
        always.any(|at| iteration.leaves(&edges, *at))
    };
    let mut open = Vec::new();
    let mut sized = false;
    for (id, natural) in graph.loops() {
        if has_events(kernel, natural) {
            continue;
        }
        let mut iteration = Iteration::new(kernel, &addresses, graph, &dominators, natural);
        if slice.memory_waits.contains_key(&id) && iteration.looks_at_one_word() {
            continue;
        }
        if ends(&iteration) {
            iteration.sizes = false;
            sized |= !ends(&iteration);
        } else {
            open.push(kernel.blocks[natural.header.0 as usize].location.clone());
        }
    }
    (open, sized)
}

/// How a number changes from one iteration to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// The loop does not change it.
    Fixed,
    /// It moves by the step `by`. The lowest `zeros` bits are 0 in each part of the step, and in
    /// the registers before the loop.
    Steps { by: i128, zeros: u32 },
    /// It is shifted to the right, and zeros are shifted in.
    Halved,
}

/// What happens once in each iteration of a loop.
struct Iteration<'k> {
    kernel: &'k Kernel,
    addresses: &'k Addresses<'k>,
    natural: &'k Loop,
    /// The blocks that every iteration executes exactly once.
    always: BTreeSet<BlockId>,
    /// The operations whose result the loop assigns exactly once in each iteration, without a
    /// guard.
    once: BTreeMap<RegisterId, &'k OperationKind>,
    /// Everything that the loop assigns.
    assigned: BTreeSet<RegisterId>,
    /// Whether [`SIZED`] is assumed of bounds that the launch gives.
    sizes: bool,
}

impl<'k> Iteration<'k> {
    fn new(
        kernel: &'k Kernel,
        addresses: &'k Addresses<'k>,
        graph: &Graph,
        dominators: &Dominators,
        natural: &'k Loop,
    ) -> Self {
        let inner: Vec<&Loop> = graph
            .loops()
            .map(|(_, other)| other)
            .filter(|other| other.header != natural.header && natural.contains(other.header))
            .collect();
        let own = |at: &BlockId| !inner.iter().any(|other| other.contains(*at));
        let comes = |at: &BlockId| {
            let mut latches = natural.latches.iter();
            latches.all(|latch| dominators.dominates(*at, *latch))
        };
        let always: BTreeSet<BlockId> = natural
            .blocks
            .iter()
            .copied()
            .filter(|at| own(at) && comes(at))
            .collect();
        let mut once = BTreeMap::new();
        let mut assigned = BTreeSet::new();
        let mut several = BTreeSet::new();
        for at in &natural.blocks {
            for Operation { kind, guard, .. } in &kernel.blocks[at.0 as usize].operations {
                for register in kind.results() {
                    let again = !assigned.insert(register);
                    if again || guard.is_some() || !always.contains(at) {
                        several.insert(register);
                    }
                    once.insert(register, kind);
                }
            }
        }
        once.retain(|register, _| !several.contains(register));
        Self {
            kernel,
            addresses,
            natural,
            always,
            once,
            assigned,
            sizes: true,
        }
    }

    /// Whether the loop reads the same word again and again, which others may write meanwhile. Such a
    /// loop needs no assumption here: either the protocol has it as a wait, or the kernel is refused.
    fn looks_at_one_word(&self) -> bool {
        let blocks = self.natural.blocks.iter();
        let mut operations = blocks.flat_map(|at| &self.kernel.blocks[at.0 as usize].operations);
        operations.any(|operation| {
            let address = match operation.kind {
                OperationKind::Load {
                    address,
                    order,
                    stability,
                    ..
                } if order != MemoryOrder::Weak || stability == Stability::Refetched => address,
                OperationKind::Atomic { address, .. } => address,
                _ => return false,
            };
            match address {
                Operand::Register(register) => !self.assigned.contains(&register),
                Operand::Constant(_) => true,
            }
        })
    }

    /// Whether the branch at the end of a block certainly leaves the loop in some iteration.
    fn leaves(&self, graph: &cfg::Graph, at: BlockId) -> bool {
        let Terminator::Branch {
            condition: Operand::Register(condition),
            then,
            otherwise,
        } = self.kernel.blocks[at.0 as usize].end
        else {
            return false;
        };
        let outside = |to: BlockId| !self.natural.contains(to) || graph.traps(to);
        let on = match (outside(then), outside(otherwise)) {
            (true, false) => false,
            (false, true) => true,
            _ => return false,
        };
        self.comes_to(condition, !on, MOST_STEPS)
    }

    /// Whether a predicate certainly has this value in some iteration.
    fn comes_to(&self, predicate: RegisterId, value: bool, steps: u32) -> bool {
        let (Some(kind), Some(steps)) = (self.once.get(&predicate), steps.checked_sub(1)) else {
            return false;
        };
        let OperationKind::Compute {
            compute,
            width,
            operands,
            ..
        } = kind
        else {
            return false;
        };
        match (compute, operands.as_slice()) {
            (Compute::Not, [Operand::Register(inner)]) => self.comes_to(*inner, !value, steps),
            (Compute::Copy, [Operand::Register(inner)]) => self.comes_to(*inner, value, steps),
            (Compute::Compare(compare), [a, b]) => {
                let compare = if value { *compare } else { opposite(*compare) };
                self.meets(compare, *a, *b, *width) || self.meets(mirrored(compare), *b, *a, *width)
            }
            _ => false,
        }
    }

    /// Whether a comparison of a moving number with a fixed one certainly holds in some iteration.
    fn meets(&self, compare: Compare, moving: Operand, bound: Operand, width: u16) -> bool {
        if self.course(bound, width) != Some(Course::Fixed) {
            return false;
        }
        let Some(course) = self.course(moving, width) else {
            return false;
        };
        match (course, compare) {
            (Course::Steps { by, .. }, Compare::Greater { .. } | Compare::GreaterEqual { .. }) => {
                by > 0 && self.fits(compare, bound, by, width)
            }
            (Course::Steps { by, .. }, Compare::Less { .. } | Compare::LessEqual { .. }) => {
                by < 0 && self.fits(compare, bound, by, width)
            }
            (Course::Steps { by, zeros }, Compare::Equal) => {
                let size = by.unsigned_abs();
                let bits = size.trailing_zeros();
                size == 1
                    || size.is_power_of_two()
                        && zeros >= bits
                        && self.multiple(bound, MOST_STEPS) >= bits
            }
            (Course::Halved, Compare::Equal) => bound == Operand::Constant(0),
            (Course::Halved, Compare::Less { signed }) => {
                constant(bound, signed, width).is_some_and(|bound| bound > 0)
            }
            (Course::Halved, Compare::LessEqual { signed }) => {
                constant(bound, signed, width).is_some_and(|bound| bound >= 0)
            }
            _ => false,
        }
    }

    /// Whether a number that moves by a step certainly meets the comparison with the bound before it
    /// wraps around. For example, no unsigned number becomes less than 0, and no unsigned 16-bit
    /// number becomes greater than 65535.
    fn fits(&self, compare: Compare, bound: Operand, by: i128, width: u16) -> bool {
        let (is_signed, strict) = match compare {
            Compare::Less { signed } | Compare::Greater { signed } => (signed, true),
            Compare::LessEqual { signed } | Compare::GreaterEqual { signed } => (signed, false),
            Compare::Equal | Compare::NotEqual => return false,
        };
        let Some(values) = 1_i128.checked_shl(u32::from(width)).filter(|_| width <= 64) else {
            return false;
        };
        let (least, most) = match is_signed {
            true => (-values / 2, values / 2 - 1),
            false => (0, values - 1),
        };
        let (low, high) = match (
            constant(bound, is_signed, width),
            interval(self.addresses, bound, width, self.sizes),
        ) {
            (Some(value), _) => (value, value),
            (None, (low, high)) if is_signed || low >= 0 => (low, high),
            (None, _) => (least, most),
        };
        let room = match by < 0 {
            true => low - least,
            false => most - high,
        };
        room + i128::from(!strict) >= by.abs()
    }

    fn course(&self, number: Operand, width: u16) -> Option<Course> {
        let mut at = match number {
            Operand::Constant(_) => return Some(Course::Fixed),
            Operand::Register(register) => register,
        };
        let mut sum: i128 = 0;
        let mut zeros = u32::MAX;
        let mut shifted = false;
        let mut seen: BTreeMap<RegisterId, i128> = BTreeMap::new();
        for _ in 0..MOST_STEPS {
            if !self.assigned.contains(&at) {
                return seen.is_empty().then_some(Course::Fixed);
            }
            if let Some(before) = seen.insert(at, sum) {
                let by = sum.checked_sub(before)?;
                return match (shifted, by) {
                    (true, 0) => Some(Course::Halved),
                    (false, by) if by != 0 => {
                        let begin = seen.keys().filter_map(|at| self.begins_with(*at)).min();
                        let zeros = begin.map_or(0, |begin| begin.min(zeros));
                        Some(Course::Steps { by, zeros })
                    }
                    _ => None,
                };
            }
            let OperationKind::Compute {
                compute,
                width: own,
                operands,
                ..
            } = self.once.get(&at)?
            else {
                return None;
            };
            if *own != width {
                return None;
            }
            let constant = |bits: u128| signed(bits, width);
            let (next, step) = match (compute, operands.as_slice()) {
                (Compute::Copy, [Operand::Register(from)]) => (*from, 0),
                (
                    Compute::Add,
                    [Operand::Register(from), Operand::Constant(bits)]
                    | [Operand::Constant(bits), Operand::Register(from)],
                ) => (*from, constant(*bits)),
                (Compute::Subtract, [Operand::Register(from), Operand::Constant(bits)]) => {
                    (*from, constant(*bits).checked_neg()?)
                }
                (
                    Compute::ShiftRight { signed: false },
                    [Operand::Register(from), Operand::Constant(by)],
                ) if *by != 0 => {
                    shifted = true;
                    (*from, 0)
                }
                _ => return None,
            };
            if shifted && step != 0 {
                return None;
            }
            if step != 0 {
                zeros = zeros.min(step.trailing_zeros());
            }
            sum = sum.checked_add(step)?;
            at = next;
        }
        None
    }

    /// How many of the lowest bits of a register are certainly 0 before the first iteration. `None`
    /// if it has no value then.
    fn begins_with(&self, register: RegisterId) -> Option<u32> {
        let outside = self.kernel.blocks.iter().zip(0..).filter(|(_, at)| {
            let at = BlockId(*at);
            !self.natural.contains(at)
        });
        let operations = outside.flat_map(|(block, _)| &block.operations);
        operations
            .filter(|operation| operation.kind.results().contains(&register))
            .map(|operation| self.multiple_of(&operation.kind, MOST_STEPS))
            .min()
    }

    /// How many of the lowest bits of a number are certainly 0.
    fn multiple(&self, number: Operand, steps: u32) -> u32 {
        if let Operand::Constant(bits) = number {
            return bits.trailing_zeros();
        }
        match (self.addresses.definition(number), steps.checked_sub(1)) {
            (Some(kind), Some(steps)) => self.multiple_of(kind, steps),
            _ => 0,
        }
    }

    fn multiple_of(&self, kind: &OperationKind, steps: u32) -> u32 {
        let OperationKind::Compute {
            compute, operands, ..
        } = kind
        else {
            return 0;
        };
        match (compute, operands.as_slice()) {
            (Compute::Copy | Compute::Convert { .. } | Compute::Negate, [from]) => {
                self.multiple(*from, steps)
            }
            (Compute::And, [a, b]) => self.multiple(*a, steps).max(self.multiple(*b, steps)),
            // `n - n % 4`, which is written `n - (n & 3)`.
            (Compute::Subtract, [whole, rest]) if self.rest_of(*rest, *whole).is_some() => {
                self.rest_of(*rest, *whole).unwrap_or(0)
            }
            (Compute::Add | Compute::Subtract | Compute::Or, [a, b]) => {
                self.multiple(*a, steps).min(self.multiple(*b, steps))
            }
            (Compute::Multiply, [a, b]) => self
                .multiple(*a, steps)
                .saturating_add(self.multiple(*b, steps)),
            (Compute::ShiftLeft, [from, Operand::Constant(by)]) => {
                let by = u32::try_from(*by).unwrap_or(0);
                self.multiple(*from, steps).saturating_add(by)
            }
            _ => 0,
        }
    }

    /// How many of the lowest bits of `whole` make up `rest`. For `rest = whole & 3` there are 2.
    fn rest_of(&self, rest: Operand, whole: Operand) -> Option<u32> {
        // Both refer to one value of `whole` only if it has one definition.
        self.addresses.definition(whole)?;
        let OperationKind::Compute {
            compute: Compute::And,
            operands,
            ..
        } = self.addresses.definition(rest)?
        else {
            return None;
        };
        match operands.as_slice() {
            [of, Operand::Constant(mask)] | [Operand::Constant(mask), of] if *of == whole => {
                let size = mask.checked_add(1)?;
                size.is_power_of_two().then(|| size.trailing_zeros())
            }
            _ => None,
        }
    }
}

/// The value of a constant, as a comparison reads it.
fn constant(operand: Operand, is_signed: bool, width: u16) -> Option<i128> {
    let Operand::Constant(bits) = operand else {
        return None;
    };
    let word = Word::new(bits, width);
    match is_signed {
        true => Some(word.signed()),
        false => i128::try_from(word.bits).ok(),
    }
}

/// The signed value of a constant.
fn signed(bits: u128, width: u16) -> i128 {
    Word::new(bits, width).signed()
}

/// The negation of a comparison.
fn opposite(compare: Compare) -> Compare {
    match compare {
        Compare::Equal => Compare::NotEqual,
        Compare::NotEqual => Compare::Equal,
        Compare::Less { signed } => Compare::GreaterEqual { signed },
        Compare::LessEqual { signed } => Compare::Greater { signed },
        Compare::Greater { signed } => Compare::LessEqual { signed },
        Compare::GreaterEqual { signed } => Compare::Less { signed },
    }
}

/// The comparison with its operands exchanged.
fn mirrored(compare: Compare) -> Compare {
    match compare {
        Compare::Equal | Compare::NotEqual => compare,
        Compare::Less { signed } => Compare::Greater { signed },
        Compare::LessEqual { signed } => Compare::GreaterEqual { signed },
        Compare::Greater { signed } => Compare::Less { signed },
        Compare::GreaterEqual { signed } => Compare::LessEqual { signed },
    }
}
