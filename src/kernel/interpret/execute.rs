//! Operations without side effects: they only write their result registers.

use std::hash::Hash;
use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::address;
use super::compute::compute;
use super::event::Place;
use super::taint::Origins;
use super::taint::Taint;
use super::trace::StopReason;
use super::value::Lanes;
use super::value::Value;
use super::value::lanes_of;
use super::warp::Flow;
use super::warp::Warp;
use super::world::Halt;
use super::world::World;
use crate::ir::Compute;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Special;
use crate::meaning;

impl Warp {
    /// Executes an operation in the lanes of `lanes`. `control` contains the origins on which its execution depends.
    pub fn execute(
        &mut self,
        kind: &OperationKind,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<Flow, Halt> {
        if world.launch.accesses
            && let Some(touch) = kind.touch()
        {
            self.touches(&touch, at, lanes, control, world)?;
        }
        match kind {
            OperationKind::Compute {
                compute,
                width,
                result,
                operands,
            } => self.computed(
                *compute, *width, *result, operands, at, lanes, control, world,
            )?,
            OperationKind::Special { result, special } => {
                let value = self.special(*special, world);
                let origins = match special {
                    Special::Clock | Special::Other => world.origin(at),
                    _ => Origins::NONE,
                };
                let origins = world.sets.union(origins, control);
                let value = self.cut(*result, value, world);
                self.write(*result, value, Taint::new(lanes, origins), lanes, world);
            }
            OperationKind::AddressOf {
                result,
                variable,
                generic,
            } => {
                let Some((space, mut place)) = world.layout.address(*variable) else {
                    return Err(world.stop(StopReason::Malformed, at));
                };
                if matches!(space, crate::ir::Space::Shared | crate::ir::Space::Cluster) {
                    place = place.wrapping_add(address::shared_window(self.cta));
                }
                if *generic {
                    place = address::to_generic(space, place);
                }
                let value = self.cut(*result, Value::Uniform(place.into()), world);
                self.write(*result, value, Taint::new(lanes, control), lanes, world);
            }
            OperationKind::ConvertAddress {
                result,
                address,
                space,
                to_generic,
            } => {
                let convert = |_: &mut Self, number: u64, _: u64| {
                    if *to_generic {
                        address::to_generic(*space, number)
                    } else {
                        address::from_generic(*space, number)
                    }
                };
                let nothing = Operand::Constant(0);
                self.mapped(
                    *result,
                    [*address, nothing],
                    convert,
                    at,
                    lanes,
                    control,
                    world,
                )?;
            }
            OperationKind::MapAddress {
                result,
                address,
                rank,
                generic,
            } => {
                let map = |_: &mut Self, number: u64, rank: u64| {
                    let window = address::shared_window(u32::try_from(rank & 0xff).unwrap_or(0));
                    let mapped = number & address::MAX_SHARED | window;
                    if *generic {
                        address::to_generic(crate::ir::Space::Cluster, mapped)
                    } else {
                        mapped
                    }
                };
                self.mapped(*result, [*address, *rank], map, at, lanes, control, world)?;
            }
            OperationKind::CtaRank {
                result, address, ..
            } => {
                let rank = |_: &mut Self, number: u64, _: u64| number >> 24 & 0xff;
                let nothing = Operand::Constant(0);
                self.mapped(
                    *result,
                    [*address, nothing],
                    rank,
                    at,
                    lanes,
                    control,
                    world,
                )?;
            }
            OperationKind::Load { .. }
            | OperationKind::Store { .. }
            | OperationKind::Atomic { .. } => self.access(kind, at, lanes, control, world)?,
            OperationKind::Synchronization(operation) => {
                return self.synchronize(operation, at, lanes, control, world);
            }
            OperationKind::Opaque {
                mnemonic,
                results,
                operands,
                pure,
                write,
                ..
            } => {
                if let Some(write) = write {
                    for (_, numbers) in self.groups(&[write.address], lanes, world, at)? {
                        let address = numbers.first().copied().unwrap_or(0);
                        self.overwritten(write.space, address, write.bytes, world);
                    }
                }
                let kind = (mnemonic.as_str(), *pure);
                self.opaque(kind, results, operands, at, lanes, control, world)?;
            }
            OperationKind::Unsupported {
                mnemonic, results, ..
            } => {
                let origin = world.origin(at);
                let reasons = world.sets.union(origin, control);
                let kind = super::event::EventKind::Unsupported;
                self.emit(at, kind, None, lanes, reasons, world)?;
                self.opaque((mnemonic, false), results, &[], at, lanes, control, world)?;
            }
        }
        Ok(Flow::Next)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    fn computed(
        &mut self,
        operation: Compute,
        width: u16,
        result: RegisterId,
        operands: &[Operand],
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let taint = self.joined(operands, lanes, control, world);
        let of = |operand: &Operand| match operand {
            Operand::Constant(value) => Value::Uniform(*value),
            Operand::Register(_) => Value::Uniform(0),
        };
        let constants: Vec<Value> = operands.iter().map(of).collect();
        let mut values: Vec<&Value> = Vec::with_capacity(operands.len());
        for (index, operand) in operands.iter().enumerate() {
            values.push(match operand {
                Operand::Register(register) => self.register(*register),
                Operand::Constant(_) => &constants[index],
            });
        }
        let Some(value) = compute(operation, width, &values, lanes) else {
            return Err(world.stop(StopReason::Malformed, at));
        };
        // A result that is not narrower than the register need not be cut.
        let wide = meaning::result_width(operation, width, operands.len());
        let value = if wide.is_some_and(|wide| wide <= width_of(result, world)) {
            value
        } else {
            self.cut(result, value, world)
        };
        self.write(result, value, taint, lanes, world);
        Ok(())
    }

    /// The taint of a result that is computed from these operands.
    pub fn joined(
        &self,
        operands: &[Operand],
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Taint {
        let mut taint = Taint::new(lanes, control);
        for operand in operands {
            let of = self.taint_of(*operand);
            if of.lanes & lanes != 0 {
                taint = world
                    .sets
                    .join(taint, Taint::new(of.lanes & lanes, of.origins));
            }
        }
        taint
    }

    /// The result of an operation on two 64-bit operands in every lane.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    fn mapped(
        &mut self,
        result: RegisterId,
        operands: [Operand; 2],
        function: impl Fn(&mut Self, u64, u64) -> u64,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let taint = self.joined(&operands, lanes, control, world);
        let a = self.value(operands[0], world, at)?;
        let b = self.value(operands[1], world, at)?;
        let value = match (a.uniform_in(lanes), b.uniform_in(lanes)) {
            (Some(a), Some(b)) => Value::Uniform(function(self, low(a), low(b)).into()),
            _ => Value::collect(|lane| function(self, low(a.lane(lane)), low(b.lane(lane))).into()),
        };
        let value = self.cut(result, value, world);
        self.write(result, value, taint, lanes, world);
        Ok(())
    }

    /// Gives results that are unknown a number: a hash of the operation and its operands.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one operation and its context"
    )]
    fn opaque(
        &mut self,
        (mnemonic, pure): (&str, bool),
        results: &[RegisterId],
        operands: &[Operand],
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<(), Halt> {
        let mut taint = self.joined(operands, lanes, control, world);
        if taint.lanes & lanes != lanes || operands.is_empty() {
            let origin = world.origin(at);
            taint = world.sets.join(taint, Taint::new(lanes, origin));
        }
        let mut seed = FxHasher::default();
        mnemonic.hash(&mut seed);
        if !pure {
            self.looks = self.looks.wrapping_add(1);
            self.looks.hash(&mut seed);
        }
        let mut hashes = vec![seed.finish()];
        for operand in operands {
            let value = self.value(*operand, world, at)?;
            if let Some(value) = value.uniform_in(lanes) {
                for hash in &mut hashes {
                    *hash = mix(*hash, low(value) ^ low(value >> 64).rotate_left(7));
                }
            } else {
                if hashes.len() == 1 {
                    hashes = vec![hashes[0]; super::value::LANES];
                }
                for (lane, hash) in hashes.iter_mut().enumerate() {
                    let value = value.lane(lane);
                    *hash = mix(*hash, low(value) ^ low(value >> 64).rotate_left(7));
                }
            }
        }
        for (index, result) in (0_u64..).zip(results) {
            let number = |lane: usize| {
                let hash = hashes.get(lane).or(hashes.first()).copied().unwrap_or(0);
                let low = mix(hash, 2 * index + 1);
                u128::from(mix(low, 5)) << 64 | u128::from(low)
            };
            let value = if hashes.len() == 1 {
                Value::Uniform(number(0))
            } else {
                Value::collect(number)
            };
            let value = self.cut(*result, value, world);
            self.write(*result, value, taint, lanes, world);
        }
        Ok(())
    }

    /// A value cut to the width of a register.
    pub fn cut(&self, register: RegisterId, value: Value, world: &World) -> Value {
        let width = width_of(register, world);
        if width >= 128 {
            return value;
        }
        let mask = (1_u128 << width) - 1;
        match value {
            Value::Uniform(number) => Value::Uniform(number & mask),
            Value::Narrow(values) if width < 64 => {
                let mask = (1_u64 << width) - 1;
                Value::from_narrow(values.map(|number| number & mask))
            }
            Value::Narrow(_) => value,
            _ => Value::collect(|lane| value.lane(lane) & mask),
        }
    }

    fn special(&self, special: Special, world: &World) -> Value {
        let launch = world.launch;
        let axis = |of: [u32; 3], axis: u8| of.get(usize::from(axis)).copied().unwrap_or(0);
        let [x, y, _] = launch.cluster.map(|each| each.max(1));
        let in_cluster = [self.cta % x, self.cta / x % y, self.cta / x / y];
        let number: u64 = match special {
            Special::ThreadIndex(which) => {
                let [x, y, _] = launch.threads.map(|each| each.max(1));
                return Value::collect(|lane| {
                    let lane = u32::try_from(lane).unwrap_or(0);
                    let linear = self.number.wrapping_mul(32).wrapping_add(lane);
                    axis([linear % x, linear / x % y, linear / x / y], which).into()
                });
            }
            Special::Lane => return Value::collect(|lane| lane as u128),
            Special::LaneMaskEqual => return Value::collect(|lane| 1 << lane),
            Special::LaneMaskLess => return Value::collect(|lane| (1 << lane) - 1),
            Special::LaneMaskLessEqual => return Value::collect(|lane| (2 << lane) - 1),
            Special::LaneMaskGreater => {
                return Value::collect(|lane| 0xffff_ffff & !((2 << lane) - 1));
            }
            Special::LaneMaskGreaterEqual => {
                return Value::collect(|lane| 0xffff_ffff & !((1 << lane) - 1));
            }
            Special::CtaThreads(which) => axis(launch.threads, which).into(),
            Special::CtaIndex(which) => {
                u64::from(axis(launch.cta, which)) + u64::from(axis(in_cluster, which))
            }
            Special::GridCtas(which) => axis(launch.grid, which).into(),
            Special::ClusterIndex(which) => {
                (axis(launch.cta, which) / axis(launch.cluster, which).max(1)).into()
            }
            Special::GridClusters(which) => {
                (axis(launch.grid, which) / axis(launch.cluster, which).max(1)).into()
            }
            Special::ClusterCtaIndex(which) => axis(in_cluster, which).into(),
            Special::ClusterCtas(which) => axis(launch.cluster, which).into(),
            Special::ClusterCtaRank => self.cta.into(),
            Special::ClusterCtaCount => world.ctas.into(),
            Special::Warp => self.number.into(),
            Special::WarpCount => world.warps.into(),
            Special::DynamicSharedSize => launch.dynamic_shared,
            Special::TotalSharedSize => world
                .layout
                .static_shared()
                .saturating_add(launch.dynamic_shared),
            Special::Clock | Special::Other => mix(0x5eed, 7),
        };
        Value::Uniform(number.into())
    }

    /// The values of an operand in the lanes that execute. Each value comes with its lanes, and the one with the
    /// lowest lane comes first.
    pub fn groups(
        &self,
        operands: &[Operand],
        lanes: Lanes,
        world: &World,
        at: Place,
    ) -> Result<Vec<(Lanes, Vec<u64>)>, Halt> {
        let mut values = Vec::with_capacity(operands.len());
        for operand in operands {
            values.push(self.value(*operand, world, at)?);
        }
        let uniform: Option<Vec<u64>> = values
            .iter()
            .map(|value| value.uniform_in(lanes).map(low))
            .collect();
        if let Some(uniform) = uniform {
            return Ok(vec![(lanes, uniform)]);
        }
        let mut groups: Vec<(Lanes, Vec<u64>)> = Vec::new();
        for lane in lanes_of(lanes) {
            let numbers: Vec<u64> = values.iter().map(|value| low(value.lane(lane))).collect();
            match groups.iter_mut().find(|(_, known)| *known == numbers) {
                Some((lanes, _)) => *lanes |= 1 << lane,
                None => groups.push((1 << lane, numbers)),
            }
        }
        Ok(groups)
    }
}

fn width_of(register: RegisterId, world: &World) -> u16 {
    let registers = &world.program.kernel.registers;
    registers
        .get(register.0 as usize)
        .map_or(128, |register| register.width)
}

/// The low 64 bits.
pub fn low(number: u128) -> u64 {
    u64::try_from(number & u128::from(u64::MAX)).unwrap_or(0)
}

/// A number that depends on both numbers in an irregular way.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut mixed = a.rotate_left(23) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
