//! An upper bound for how often a loop returns to its header, if its bound is a constant.
//!
//! For example, `for (i = 0; i < min(n, 1); i++)` has at most one iteration that returns to the
//! header. A software pipeline issues its first groups of multiplications in such a loop, before it
//! waits for any of them. The conditions are these.
//!
//! - Each iteration that returns to the header executes a block that leaves the loop unless
//!   `i < high`. Here `high` is a constant, or the minimum of a constant and something else.
//! - Each such iteration adds one positive constant, the step, to `i` once. No other operation of
//!   the loop writes `i`.
//! - Outside the loop, `i` is only set to constants. It is set before each entry into the loop, by
//!   a block that dominates the loop and whose innermost loop is the one around it. (If there is no
//!   loop around it, the block is in none.) Loops have one entry each. So every path back to this
//!   loop passes the header of the loop around it, and then this block.
//!
//! So at the k-th return to the header, `i` was at least its least initial value plus k - 1 steps,
//! and below `high`. So there are at most `(high - begin) / step` returns, rounded up. It is
//! checked that no sum wraps around.

use crate::cfg::Dominators;
use crate::cfg::Loop;
use crate::cfg::Loops;
use crate::ir::Block;
use crate::ir::BlockId;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Terminator;

/// What is known of the graph of a kernel.
pub struct Bounds<'a> {
    pub kernel: &'a Kernel,
    pub dominators: &'a Dominators,
    pub loops: &'a Loops,
}

/// A comparison `counter < high`, in words of so many bits.
struct Below {
    counter: RegisterId,
    high: i128,
    signed: bool,
    width: u16,
}

impl Bounds<'_> {
    /// How often control returns to the header at most, for each entry into the loop.
    pub fn returns(&self, each: &Loop) -> Option<u128> {
        if !self.loops.irreducible().is_empty() {
            return None;
        }
        let mut exits = each.exits.iter();
        exits.find_map(|(at, _)| self.returns_by(each, *at))
    }

    fn returns_by(&self, each: &Loop, exit: BlockId) -> Option<u128> {
        self.every_round(each, exit).then_some(())?;
        let below = self.stays_below(each, exit)?;
        let (mut inside, mut begins) = (None, Vec::new());
        for (at, block) in self.blocks() {
            for (number, operation) in block.operations.iter().enumerate() {
                if !operation.kind.results().contains(&below.counter) {
                    continue;
                }
                if !each.contains(at) {
                    let always = operation.guard.is_none();
                    begins.push((at, always, constant_of(operation, &below)?));
                } else if inside.replace((at, number)).is_some() {
                    return None;
                }
            }
        }
        let (at, number) = inside?;
        self.every_round(each, at).then_some(())?;
        let step = self.step(at, number, &below)?;
        begins
            .iter()
            .any(|(at, always, _)| *always && self.before_each_entry(each, *at))
            .then_some(())?;
        let least = begins.iter().map(|(.., begin)| *begin).min()?;
        let most = begins.iter().map(|(.., begin)| *begin).max()?;
        // While control stays, the counter is below `high` before it is added to.
        let limit = 1_i128.checked_shl(u32::from(below.width.min(64) - 1))?;
        let greatest = most.max(below.high).checked_add(step.checked_mul(2)?)?;
        (greatest < limit).then_some(())?;
        let between = below.high.checked_sub(least)?.max(0);
        let rounds = between.checked_add(step.checked_sub(1)?)? / step;
        u128::try_from(rounds).ok()
    }

    fn blocks(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        let id = |at| BlockId(u32::try_from(at).unwrap_or(u32::MAX));
        let blocks = self.kernel.blocks.iter().enumerate();
        blocks.map(move |(at, block)| (id(at), block))
    }

    /// Whether each iteration that returns to the header passes this block exactly once.
    fn every_round(&self, each: &Loop, at: BlockId) -> bool {
        let own = self.loops.headed_by(each.header);
        let mut latches = each.latches.iter();
        own.is_some()
            && self.loops.innermost(at) == own
            && latches.all(|latch| self.dominators.dominates(at, *latch))
    }

    fn before_each_entry(&self, each: &Loop, at: BlockId) -> bool {
        self.dominators.dominates(at, each.header) && self.loops.innermost(at) == each.parent
    }

    /// The comparison that holds if control stays in the loop at the end of this block.
    fn stays_below(&self, each: &Loop, exit: BlockId) -> Option<Below> {
        let block = self.kernel.blocks.get(exit.0 as usize)?;
        let Terminator::Branch {
            condition: Operand::Register(condition),
            then,
            otherwise,
        } = &block.end
        else {
            return None;
        };
        let holds = match (each.contains(*then), each.contains(*otherwise)) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        let (at, operation) = self.only(*condition)?;
        let (compute, width, operands) = computed(operation)?;
        let (Compute::Compare(Compare::Less { signed }), [Operand::Register(counter), high], true) =
            (compute, operands, holds)
        else {
            return None;
        };
        // The comparison is made in the round in which it decides.
        (at == exit).then_some(())?;
        Some(Below {
            counter: *counter,
            high: self.at_most(*high, exit, signed, width)?,
            signed,
            width,
        })
    }

    /// The only operation that writes a register, if it has no guard.
    fn only(&self, register: RegisterId) -> Option<(BlockId, &Operation)> {
        let mut found = None;
        for (at, block) in self.blocks() {
            for operation in &block.operations {
                if operation.kind.results().contains(&register)
                    && found.replace((at, operation)).is_some()
                {
                    return None;
                }
            }
        }
        found.filter(|(_, operation)| operation.guard.is_none())
    }

    /// A number that an operand never exceeds in this block.
    fn at_most(&self, operand: Operand, within: BlockId, signed: bool, width: u16) -> Option<i128> {
        let register = match operand {
            Operand::Constant(bits) => return number(bits, signed, width),
            Operand::Register(register) => register,
        };
        let (at, operation) = self.only(register)?;
        let before = at != within && self.dominators.dominates(at, within);
        let (compute, own, operands) = computed(operation)?;
        (before && own == width).then_some(())?;
        match compute {
            Compute::Copy => self.at_most(*operands.first()?, at, signed, width),
            Compute::Minimum { signed: same } if same == signed => {
                let bound = |operand: &Operand| match operand {
                    Operand::Constant(bits) => number(*bits, signed, width),
                    Operand::Register(_) => None,
                };
                operands.iter().filter_map(bound).min()
            }
            _ => None,
        }
    }

    /// What the operation at this place adds to the counter: `i = i + 1`, possibly through another
    /// register.
    fn step(&self, at: BlockId, number_in_block: usize, below: &Below) -> Option<i128> {
        let block = self.kernel.blocks.get(at.0 as usize)?;
        let operation = block.operations.get(number_in_block)?;
        operation.guard.is_none().then_some(())?;
        let (compute, width, operands) = computed(operation)?;
        (width == below.width).then_some(())?;
        match (compute, operands) {
            (Compute::Copy, [Operand::Register(sum)]) => {
                let (there, added) = self.only(*sum)?;
                let first = block.operations.iter().position(|each| each == added)?;
                (there == at && first < number_in_block).then_some(())?;
                added_to(added, below)
            }
            _ => added_to(operation, below),
        }
    }
}

fn number(bits: u128, signed: bool, width: u16) -> Option<i128> {
    let value = i128::try_from(bits).ok()?;
    let half = 1_i128.checked_shl(u32::from(width.checked_sub(1)?))?;
    let whole = half.checked_mul(2)?;
    (value < whole).then_some(())?;
    Some(if signed && value >= half {
        value - whole
    } else {
        value
    })
}

/// The computation of an operation, its width in bits, and its operands.
fn computed(operation: &Operation) -> Option<(Compute, u16, &[Operand])> {
    match &operation.kind {
        OperationKind::Compute {
            compute,
            width,
            operands,
            ..
        } => Some((*compute, *width, operands)),
        _ => None,
    }
}

/// The constant that the operation sets the counter to.
fn constant_of(operation: &Operation, below: &Below) -> Option<i128> {
    match computed(operation)? {
        (Compute::Copy, width, [Operand::Constant(bits)]) if width == below.width => {
            number(*bits, below.signed, width)
        }
        _ => None,
    }
}

/// The positive constant that the operation adds to the counter.
fn added_to(operation: &Operation, below: &Below) -> Option<i128> {
    let (Compute::Add, width, operands) = computed(operation)? else {
        return None;
    };
    (width == below.width).then_some(())?;
    let counter = Operand::Register(below.counter);
    let added = match operands {
        [first, Operand::Constant(bits)] if *first == counter => bits,
        [Operand::Constant(bits), second] if *second == counter => bits,
        _ => return None,
    };
    number(*added, true, below.width).filter(|step| *step > 0)
}
