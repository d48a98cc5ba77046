//! Waits for words of global memory, additions to such words, and stores to them.
//!
//! For example, `while (load(w) < 8) {}` waits until the word `w` is at least 8. A *look* is the load in such a loop.
//! The interpreter finds out by trial at which values the loop ends. It executes the rest of an iteration for one
//! lane, with a chosen value as the result of the look. The iteration either leaves the loop or comes back to the
//! look. These values are tried: those that the loop compares with, 0, the least and the greatest value, all of these
//! minus constants that the loop may add, and the neighbours of all of them. If only `v` leaves the loop, it waits
//! for `v`. If exactly the values from `v` on leave it, it waits for at least `v`; negative values are not
//! considered.

use std::collections::BTreeSet;

use super::compute::one;
use super::event::EventKind;
use super::event::Object;
use super::event::Place;
use super::program::Spin;
use super::taint::Origins;
use super::value::Lanes;
use super::warp::Warp;
use super::world::Halt;
use super::world::World;
use crate::ir::AtomicOperation;
use crate::ir::BlockId;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Terminator;
use crate::meaning::Word;
use crate::meaning::operand_width;

/// The greatest constant that may be added to the value of a word before it is compared.
const MOST_ADDED: i128 = 1 << 16;

/// The most operations of an iteration.
const MOST_STEPS: usize = 500;

impl Warp {
    /// Executes a look. Its event is the wait that the loop around it makes.
    pub fn look_at_counter(
        &mut self,
        (address, result, width): (Operand, RegisterId, u16),
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        for (group, numbers) in self.groups(&[address], lanes, world, at)? {
            let reasons = self.joined(&[address], group, control, world).origins;
            let object = Object::Global {
                address: numbers.first().copied().unwrap_or(0),
            };
            let lane = group.trailing_zeros() as usize;
            let kind = match self.awaited_from(at, (result, width), lane, world) {
                Some((value, at_least)) => EventKind::CounterWait { value, at_least },
                None => EventKind::Unsupported,
            };
            self.emit(at, kind, Some(object), group, reasons, world)?;
        }
        let form = (Space::Global, width, false);
        self.load(&[Some(result)], form, address, at, lanes, control, world)
    }

    /// Executes an addition. It is one event.
    pub fn add_to_counter(
        &mut self,
        (address, value, width): (Operand, Operand, u16),
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let kind = |value| EventKind::CounterAdd { value };
        self.show_change((address, value, width), kind, at, lanes, control, world)?;
        let before = self.trace.events.len();
        let form = (
            AtomicOperation::Add,
            Space::Global,
            width,
            MemoryOrder::Relaxed,
        );
        self.atomic(form, None, address, &[value], at, lanes, control, world)?;
        // The addition is a single event, so the events of its accesses are dropped.
        self.trace.events.truncate(before);
        Ok(())
    }

    /// Executes a store. It is one event.
    pub fn set_counter(
        &mut self,
        (address, value, width): (Operand, Operand, u16),
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let kind = |value| EventKind::CounterSet { value };
        self.show_change((address, value, width), kind, at, lanes, control, world)?;
        let space = Space::Global;
        self.store(space, width, address, &[value], at, lanes, control, world)
    }

    /// The events of a change of words: one for each group of lanes with the same word and the same number.
    fn show_change(
        &mut self,
        (address, value, width): (Operand, Operand, u16),
        kind: impl Fn(i64) -> EventKind,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let shown = [address, value];
        for (group, numbers) in self.groups(&shown, lanes, world, at)? {
            let reasons = self.joined(&shown, group, control, world).origins;
            let number = |index: usize| numbers.get(index).copied().unwrap_or(0);
            let object = Object::Global { address: number(0) };
            let value = Word::new(number(1).into(), width).signed();
            let kind = kind(i64::try_from(value).unwrap_or(0));
            self.emit(at, kind, Some(object), group, reasons, world)?;
        }
        Ok(())
    }

    /// The value that the loop around a look waits for, in one lane, and whether greater values will do, too.
    fn awaited_from(
        &self,
        at: Place,
        (result, width): (RegisterId, u16),
        lane: usize,
        world: &World,
    ) -> Option<(i64, bool)> {
        let spin = world.program.spin_around(at.block)?;
        let mut numbers: BTreeSet<i128> = BTreeSet::new();
        let mut added: BTreeSet<i128> = BTreeSet::new();
        let signed = |number: u128| Word::new(number, width).signed();
        let mut note = |number: u128| numbers.insert(signed(number));
        let highest = 1 << (width - 1);
        for number in [0, highest, highest - 1] {
            note(number);
        }
        for id in &spin.blocks {
            let block = world.program.kernel.blocks.get(id.0 as usize)?;
            for operand in block
                .operations
                .iter()
                .flat_map(|operation| operation.kind.operands())
            {
                note(match operand {
                    Operand::Constant(number) => {
                        added.insert(signed(number).saturating_abs());
                        number
                    }
                    Operand::Register(register) => self.register(register).lane(lane),
                });
            }
        }
        // A constant may be added before the comparison.
        added.retain(|more| *more <= MOST_ADDED);
        let mut tried: BTreeSet<i128> = BTreeSet::new();
        for number in &numbers {
            for more in added.iter().copied().chain([0]) {
                let value = number.saturating_sub(more);
                tried.extend([value.saturating_sub(1), value, value.saturating_add(1)]);
            }
        }
        let least = -(1_i128 << (width - 1));
        let mut leaves = Vec::new();
        for value in tried {
            // Neighbours beyond the range of the type are skipped.
            if value < least || value > -(least + 1) {
                continue;
            }
            let bits = value.cast_unsigned();
            leaves.push((value, self.leaves(spin, at, (result, bits), lane, world)?));
        }
        let of = |(value, _): &(i128, bool)| i64::try_from(*value).ok();
        let mut left = leaves.iter().filter(|(_, leaves)| *leaves);
        if let (Some(only), None) = (left.next(), left.next()) {
            return Some((of(only)?, false));
        }
        // Words are not negative and do not wrap around. A value plus a constant may.
        leaves.retain(|(value, _)| *value >= 0);
        let first = leaves.iter().position(|(_, leaves)| *leaves)?;
        let grows = leaves.iter().skip(first).all(|(_, leaves)| *leaves);
        grows.then_some((of(leaves.get(first)?)?, true))
    }

    /// Whether an iteration leaves the loop if its look returns a certain value.
    fn leaves(
        &self,
        spin: &Spin,
        at: Place,
        (result, found): (RegisterId, u128),
        lane: usize,
        world: &World,
    ) -> Option<bool> {
        let kernel = world.program.kernel;
        let mut changed: Vec<(RegisterId, u128)> = Vec::new();
        let width_of = |register: RegisterId| {
            let found = kernel.registers.get(register.0 as usize);
            found.map_or(0, |register| register.width)
        };
        changed.push((result, Word::new(found, width_of(result)).bits));
        let value = |changed: &[(RegisterId, u128)], operand: Operand| match operand {
            Operand::Constant(number) => number,
            Operand::Register(register) => {
                let mut written = changed.iter().rev();
                match written.find(|(other, _)| *other == register) {
                    Some((_, number)) => *number,
                    None => self.register(register).lane(lane),
                }
            }
        };
        let (mut block, mut index) = (at.block, at.index as usize + 1);
        for _ in 0..MOST_STEPS {
            let here = kernel.blocks.get(block.0 as usize)?;
            let Some(operation) = here.operations.get(index) else {
                let to: BlockId = match &here.end {
                    Terminator::Jump(to) => *to,
                    Terminator::Branch {
                        condition,
                        then,
                        otherwise,
                    } => {
                        if value(&changed, *condition) & 1 == 1 {
                            *then
                        } else {
                            *otherwise
                        }
                    }
                    _ => return None,
                };
                if !spin.contains(to) {
                    return Some(true);
                }
                (block, index) = (to, 0);
                continue;
            };
            if block == at.block && index == at.index as usize {
                return Some(false);
            }
            index += 1;
            if let Some(guard) = operation.guard
                && (value(&changed, Operand::Register(guard.predicate)) & 1 == 1) == guard.negated
            {
                continue;
            }
            match &operation.kind {
                OperationKind::Compute {
                    compute,
                    width,
                    result,
                    operands,
                } => {
                    let numbers: Vec<u128> = operands
                        .iter()
                        .enumerate()
                        .map(|(nth, operand)| {
                            let cut = operand_width(*compute, *width, nth);
                            Word::new(value(&changed, *operand), cut).bits
                        })
                        .collect();
                    let number = one(*compute, *width, &numbers)?;
                    changed.push((*result, Word::new(number, width_of(*result)).bits));
                }
                OperationKind::Synchronization(operation) if operation.results().is_empty() => {}
                _ => return None,
            }
        }
        None
    }
}
