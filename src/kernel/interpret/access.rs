//! Loads, stores and atomic operations.

use super::address;
use super::event::EventKind;
use super::event::Object;
use super::event::Place;
use super::execute::low;
use super::execute::mix;
use super::memory::Byte;
use super::program;
use super::taint::Origins;
use super::taint::Taint;
use super::trace::StopReason;
use super::value::LANES;
use super::value::Lanes;
use super::value::Value;
use super::value::lanes_of;
use super::warp::Warp;
use super::world::Halt;
use super::world::World;
use crate::ir::AtomicOperation;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;

/// A location in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub space: Space,
    /// The CTA whose shared memory it is in.
    pub cta: u32,
    pub address: u64,
}

impl Warp {
    pub fn access(
        &mut self,
        kind: &OperationKind,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        match kind {
            OperationKind::Load {
                results,
                space,
                address,
                width,
                signed,
                order,
                ..
            } => {
                self.ordered(*space, *address, *order, None, at, lanes, control, world)?;
                let form = (*space, *width, *signed);
                self.load(results, form, *address, at, lanes, control, world)
            }
            OperationKind::Store {
                space,
                address,
                values,
                width,
                order,
                ..
            } => {
                let first = values.first().copied();
                self.ordered(*space, *address, *order, first, at, lanes, control, world)?;
                self.store(*space, *width, *address, values, at, lanes, control, world)
            }
            OperationKind::Atomic {
                operation,
                result,
                space,
                address,
                operands,
                width,
                order,
                ..
            } => {
                let form = (*operation, *space, *width, *order);
                self.atomic(form, *result, *address, operands, at, lanes, control, world)
            }
            _ => Err(world.stop(StopReason::Malformed, at)),
        }
    }

    /// The event of an access that is not weak.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    fn ordered(
        &mut self,
        space: Space,
        address: Operand,
        order: MemoryOrder,
        stored: Option<Operand>,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        if order == MemoryOrder::Weak || !program::is_common(space) {
            return Ok(());
        }
        let operands: Vec<Operand> = std::iter::once(address).chain(stored).collect();
        for (lanes, numbers) in self.groups(&operands, lanes, world, at)? {
            let reasons = self.joined(&operands, lanes, control, world).origins;
            let Some(object) = self.spot(space, numbers[0], 0).object() else {
                continue;
            };
            let kind = match numbers.get(1) {
                Some(value) => EventKind::Store {
                    order,
                    value: *value,
                },
                None => EventKind::Load { order },
            };
            self.emit(at, kind, Some(object), lanes, reasons, world)?;
        }
        Ok(())
    }

    pub(super) fn spot(&self, space: Space, address: u64, lane: usize) -> Spot {
        let (space, address) = match space {
            Space::Generic => address::space_of(address),
            // Windows have 32 bits.
            Space::Shared | Space::Cluster | Space::Local | Space::Parameter => {
                (space, address::space_of(address).1)
            }
            _ => (space, address),
        };
        match space {
            Space::Shared | Space::Cluster => Spot {
                space: Space::Shared,
                cta: u32::try_from(address >> 24 & 0xffff_ffff).unwrap_or(u32::MAX),
                address: address & address::MAX_SHARED,
            },
            Space::Local => Spot {
                space,
                cta: 0,
                address: (address & 0xffff_ffff) | (lane as u64) << 32,
            },
            _ => Spot {
                space,
                cta: 0,
                address,
            },
        }
    }

    /// Bytes of memory. Also returns whether other warps may have written them, and the origins of their values.
    fn read(&self, spot: Spot, out: &mut [Option<Byte>], world: &World) -> (bool, Origins) {
        let alone = !world.simulates();
        match spot.space {
            Space::Shared => {
                let Some(memory) = world.shared.get(spot.cta as usize) else {
                    return (true, Origins::NONE);
                };
                memory.read(spot.address, out);
                (alone, memory.unknown_writes)
            }
            Space::Local => {
                self.local.read(spot.address, out);
                (false, self.local.unknown_writes)
            }
            Space::Constant => {
                world.constant.read(spot.address, out);
                (false, Origins::NONE)
            }
            Space::Parameter => {
                for (offset, byte) in (0_u64..).zip(out.iter_mut()) {
                    let known = world.launch.parameter(spot.address.wrapping_add(offset));
                    *byte = known.filter(|(_, given)| *given).map(|(value, _)| Byte {
                        value,
                        origins: Origins::NONE,
                    });
                }
                (false, Origins::NONE)
            }
            _ => {
                world.global.read(spot.address, out);
                (alone, world.global.unknown_writes)
            }
        }
    }

    /// A number in memory, and what it depends on.
    fn number(&self, spot: Spot, bytes: usize, at: Place, world: &mut World) -> (u128, Origins) {
        let mut out = [None; 16];
        let bytes = bytes.min(out.len());
        let (foreign, poison) = self.read(spot, &mut out[..bytes], world);
        let handed_over = spot.space == Space::Shared && world.launch.handed_over.contains(&at);
        let unwritten_by_any = spot.space == Space::Global && world.launch.unwritten.contains(&at);
        if unwritten_by_any {
            world.launch.put_unwritten(spot.address, &mut out[..bytes]);
        }
        let mut number = 0_u128;
        let mut origins = match unwritten_by_any {
            true => Origins::NONE,
            false => poison,
        };
        let mut unknown = foreign && !handed_over && !unwritten_by_any;
        for (index, byte) in out[..bytes].iter().enumerate() {
            let value = match byte {
                Some(byte) => {
                    origins = world.sets.union(origins, byte.origins);
                    byte.value
                }
                None => {
                    unknown = true;
                    unwritten(spot, index as u64)
                }
            };
            number |= u128::from(value) << (8 * index);
        }
        if unknown {
            let origin = world.origin(at);
            origins = world.sets.union(origins, origin);
        }
        (number, origins)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    pub(super) fn load(
        &mut self,
        results: &[Option<RegisterId>],
        (space, width, signed): (Space, u16, bool),
        address: Operand,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let base = self.joined(&[address], lanes, control, world);
        let addresses = self.value(address, world, at)?;
        let bytes = usize::from(width.div_ceil(8));
        let extend = |number: u128, to: u16| {
            let word = crate::meaning::Word::new(number, width);
            if signed && to > width {
                crate::meaning::Word::new(word.signed().cast_unsigned(), to).bits
            } else {
                word.bits
            }
        };
        let registers = &world.program.kernel.registers;
        for (index, result) in results.iter().enumerate() {
            let Some(result) = result else { continue };
            let to = registers
                .get(result.0 as usize)
                .map_or(width, |register| register.width);
            let offset = (index as u64).wrapping_mul(bytes as u64);
            let uniform = addresses
                .uniform_in(lanes)
                .filter(|_| space != Space::Local);
            if let Some(word) = self.ring_word((at, index), world) {
                let value = self.cut(*result, Value::Uniform(extend(word, to)), world);
                self.write(*result, value, base, lanes, world);
                continue;
            }
            let (value, taint) = if let Some(address) = uniform
                && self.spot(space, low(address), 0).space != Space::Local
            {
                let spot = self.spot(space, low(address).wrapping_add(offset), 0);
                let (number, origins) = self.number(spot, bytes, at, world);
                (
                    Value::Uniform(extend(number, to)),
                    Taint::new(lanes, origins),
                )
            } else {
                let mut numbers = [0_u128; LANES];
                let mut taint = Taint::default();
                for lane in lanes_of(lanes) {
                    let place = low(addresses.lane(lane)).wrapping_add(offset);
                    let spot = self.spot(space, place, lane);
                    let (number, origins) = self.number(spot, bytes, at, world);
                    numbers[lane] = extend(number, to);
                    taint = world.sets.join(taint, Taint::new(1 << lane, origins));
                }
                (Value::from_wide(numbers), taint)
            };
            let taint = world.sets.join(base, taint);
            let value = self.cut(*result, value, world);
            self.write(*result, value, taint, lanes, world);
        }
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    pub(super) fn store(
        &mut self,
        space: Space,
        width: u16,
        address: Operand,
        values: &[Operand],
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let unknown = self.taint_of(address).within(lanes);
        if !unknown.is_none() {
            self.unknown_write(space, unknown, world);
        }
        let addresses = self.value(address, world, at)?;
        let bytes = usize::from(width.div_ceil(8)).min(16);
        for (index, operand) in values.iter().enumerate() {
            let value = self.value(*operand, world, at)?;
            let taint = self.taint_of(*operand);
            let offset = (index as u64).wrapping_mul(bytes as u64);
            let uniform = addresses.uniform_in(lanes).zip(value.uniform_in(lanes));
            let alike = match uniform {
                Some((address, _)) => self.spot(space, low(address), 0).space != Space::Local,
                None => false,
            };
            // If lanes write one number to one location, they are one write.
            let writing = if alike {
                lanes & lanes.wrapping_neg()
            } else {
                lanes
            };
            for lane in lanes_of(writing) {
                let origins = taint.within(if alike { lanes } else { 1 << lane });
                let origins = world.sets.union(origins, control);
                let place = low(addresses.lane(lane)).wrapping_add(offset);
                let spot = self.spot(space, place, lane);
                let number = value.lane(lane).to_le_bytes();
                self.put(spot, &number[..bytes], origins, world);
            }
        }
        world.version += 1;
        world.check_memory(self.local.pages(), at)
    }

    fn put(&mut self, spot: Spot, bytes: &[u8], origins: Origins, world: &mut World) {
        let memory = match spot.space {
            Space::Shared => world.shared.get_mut(spot.cta as usize),
            Space::Local => Some(&mut self.local),
            Space::Global => Some(&mut world.global),
            _ => None,
        };
        // A warp that runs on its own knows nothing about global memory, even where it has written, because other
        // warps may have written there, too.
        if spot.space == Space::Global && !world.launch.simulates() && !origins.is_none() {
            world.global.forget(spot.address, bytes.len() as u64);
        } else if let Some(memory) = memory {
            memory.write(spot.address, bytes, origins, &mut world.sets);
        }
    }

    /// Notes a write to this space whose address is unknown, or of which it is unknown whether it happens.
    pub fn unknown_write(&mut self, space: Space, origins: Origins, world: &mut World) {
        let World {
            shared,
            global,
            sets,
            ..
        } = world;
        let everywhere = space == Space::Generic;
        if everywhere || matches!(space, Space::Shared | Space::Cluster) {
            for memory in shared {
                memory.unknown_writes = sets.union(memory.unknown_writes, origins);
            }
        }
        if everywhere || space == Space::Global {
            global.unknown_writes = sets.union(global.unknown_writes, origins);
        }
        if everywhere || space == Space::Local {
            self.local.unknown_writes = sets.union(self.local.unknown_writes, origins);
        }
    }

    /// Forgets the bytes at an address of shared memory, because something else writes them.
    pub fn overwritten(&mut self, space: Space, address: u64, count: u64, world: &mut World) {
        let spot = self.spot(space, address, 0);
        let memory = match spot.space {
            Space::Shared => world.shared.get_mut(spot.cta as usize),
            Space::Global => Some(&mut world.global),
            _ => None,
        };
        if let Some(memory) = memory {
            memory.forget(spot.address, count.min(1 << 24));
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    pub(super) fn atomic(
        &mut self,
        (operation, space, width, order): (AtomicOperation, Space, u16, MemoryOrder),
        result: Option<RegisterId>,
        address: Operand,
        operands: &[Operand],
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let unknown = self.taint_of(address).within(lanes);
        if !unknown.is_none() {
            self.unknown_write(space, unknown, world);
        }
        let addresses = self.value(address, world, at)?;
        let mut values = Vec::new();
        for operand in operands {
            values.push(self.value(*operand, world, at)?);
        }
        if operation != AtomicOperation::Other {
            let shown: Vec<Operand> = std::iter::once(address)
                .chain(operands.last().copied())
                .collect();
            for (lanes, numbers) in self.groups(&shown, lanes, world, at)? {
                let reasons = self.joined(&shown, lanes, control, world).origins;
                let object = self.spot(space, numbers[0], 0).object();
                let kind = EventKind::Atomic {
                    operation,
                    order,
                    value: numbers.get(1).copied().unwrap_or(0),
                };
                self.emit(at, kind, object, lanes, reasons, world)?;
            }
        }
        let bytes = usize::from(width.div_ceil(8)).min(16);
        let mut old = [0_u128; LANES];
        let mut taint = self.joined(&[address], lanes, control, world);
        for lane in lanes_of(lanes) {
            let spot = self.spot(space, low(addresses.lane(lane)), lane);
            let (before, mut origins) = self.number(spot, bytes, at, world);
            old[lane] = before;
            let given: Vec<u128> = values.iter().map(|value| value.lane(lane)).collect();
            let after = updated(operation, width, before, &given);
            if after.is_none() {
                let origin = world.origin(at);
                origins = world.sets.union(origins, origin);
            }
            taint = world.sets.join(taint, Taint::new(1 << lane, origins));
            for operand in operands {
                let of = self.taint_of(*operand).within(1 << lane);
                origins = world.sets.union(origins, of);
            }
            origins = world.sets.union(origins, control);
            let after = after.unwrap_or_else(|| {
                let hash = given
                    .iter()
                    .fold(low(before), |hash, each| mix(hash, low(*each)));
                u128::from(mix(hash, 3))
            });
            if after != before || !origins.is_none() {
                world.version += u64::from(after != before);
                self.put(spot, &after.to_le_bytes()[..bytes], origins, world);
            }
        }
        if let Some(result) = result {
            let value = self.cut(result, Value::from_wide(old), world);
            self.write(result, value, taint, lanes, world);
        }
        world.check_memory(self.local.pages(), at)
    }
}

impl Spot {
    fn object(self) -> Option<Object> {
        match self.space {
            Space::Shared => Some(Object::Shared {
                cta: self.cta,
                address: u32::try_from(self.address).ok()?,
            }),
            Space::Global => Some(Object::Global {
                address: self.address,
            }),
            _ => None,
        }
    }
}

/// A byte that was never written.
fn unwritten(spot: Spot, offset: u64) -> u8 {
    if spot.space == Space::Parameter {
        return 0;
    }
    let address = spot.address.wrapping_add(offset);
    let word = mix(mix(spot.space as u64, spot.cta.into()), address / 8);
    word.to_le_bytes()[(address % 8) as usize]
}

/// The value that an atomic operation writes; `None` if it is not on integers.
fn updated(operation: AtomicOperation, width: u16, old: u128, given: &[u128]) -> Option<u128> {
    use crate::ir::Compute;
    let first = *given.first()?;
    let by = |compute| super::compute::one(compute, width, &[old, first]);
    let cut = |number| crate::meaning::Word::new(number, width).bits;
    match operation {
        AtomicOperation::Add => by(Compute::Add),
        AtomicOperation::And => by(Compute::And),
        AtomicOperation::Or => by(Compute::Or),
        AtomicOperation::Xor => by(Compute::Xor),
        AtomicOperation::Exchange => Some(cut(first)),
        AtomicOperation::CompareAndSwap => Some(if old == cut(first) {
            cut(*given.get(1)?)
        } else {
            old
        }),
        AtomicOperation::Minimum { signed } => by(Compute::Minimum { signed }),
        AtomicOperation::Maximum { signed } => by(Compute::Maximum { signed }),
        AtomicOperation::Increment => Some(if old >= cut(first) {
            0
        } else {
            cut(old.wrapping_add(1))
        }),
        AtomicOperation::Decrement => {
            let limit = cut(first);
            Some(if old == 0 || old > limit {
                limit
            } else {
                old - 1
            })
        }
        AtomicOperation::Other => None,
    }
}
