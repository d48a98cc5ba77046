//! Warp-level operations, which exchange values between lanes.
//!
//! Source: PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync", "activemask".

use super::event::Place;
use super::execute::low;
use super::taint::Origins;
use super::taint::Taint;
use super::value::Lanes;
use super::value::Value;
use super::value::lanes_of;
use super::warp::Warp;
use super::world::Halt;
use super::world::World;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::VoteMode;
use crate::meaning::shuffled;

/// The result of `redux.sync`; `None` for an operation that is not on integers. The operation is written as in the
/// text, including its type if signs matter.
pub fn reduced(operation: &str, values: impl Iterator<Item = u32>) -> Option<u32> {
    let mut parts = operation
        .split('.')
        .filter(|part| !matches!(*part, "redux" | "sync"));
    let name = parts.next()?;
    let form = parts.next_back();
    let signed = form == Some("s32");
    if form.is_some_and(|form| form.starts_with('f')) {
        return None;
    }
    let function: fn(u32, u32, bool) -> u32 = match name {
        "add" => |a, b, _| a.wrapping_add(b),
        "and" => |a, b, _| a & b,
        "or" => |a, b, _| a | b,
        "xor" => |a, b, _| a ^ b,
        "min" if form.is_some() => |a, b, signed| {
            let less = if signed {
                a.cast_signed() < b.cast_signed()
            } else {
                a < b
            };
            if less { a } else { b }
        },
        "max" if form.is_some() => |a, b, signed| {
            let less = if signed {
                a.cast_signed() < b.cast_signed()
            } else {
                a < b
            };
            if less { b } else { a }
        },
        _ => return None,
    };
    values.reduce(|a, b| function(a, b, signed))
}

impl Warp {
    /// The lanes that have to execute an operation together with these lanes; `None` for an operation that ties no
    /// lanes together.
    pub fn together(
        &self,
        kind: &OperationKind,
        lanes: Lanes,
        world: &World,
        at: Place,
    ) -> Result<Option<Lanes>, Halt> {
        let OperationKind::Synchronization(operation) = kind else {
            return Ok(None);
        };
        let mask = match operation {
            Synchronization::WarpSync { mask }
            | Synchronization::Elect { mask, .. }
            | Synchronization::Shuffle { mask, .. }
            | Synchronization::Vote { mask, .. }
            | Synchronization::Match { mask, .. }
            | Synchronization::Reduce { mask, .. } => {
                let mask = self.value(*mask, world, at)?;
                let first = lanes.trailing_zeros() as usize;
                return Ok(Some(
                    u32::try_from(low(mask.lane(first)) & 0xffff_ffff).unwrap_or(0),
                ));
            }
            Synchronization::BarrierSync { aligned, .. }
            | Synchronization::BarrierArrive { aligned, .. }
            | Synchronization::ClusterArrive { aligned, .. }
            | Synchronization::ClusterWait { aligned } => *aligned,
            Synchronization::MultiplyFence
            | Synchronization::Multiply { .. }
            | Synchronization::CommitGroup(crate::ir::GroupKind::Multiply)
            | Synchronization::WaitGroup {
                kind: crate::ir::GroupKind::Multiply,
                ..
            }
            | Synchronization::TensorAllocate { .. }
            | Synchronization::TensorDeallocate { .. }
            | Synchronization::TensorRelinquish { .. }
            | Synchronization::TensorWait { .. }
            | Synchronization::SetMaxRegisters { .. } => true,
            _ => false,
        };
        Ok(mask.then_some(u32::MAX))
    }

    /// Whether an operation that needs no other lanes of the warp can still make lanes wait.
    pub fn may_wait(kind: &OperationKind) -> bool {
        let OperationKind::Synchronization(operation) = kind else {
            return false;
        };
        matches!(
            operation,
            Synchronization::BarrierSync { .. }
                | Synchronization::ClusterWait { .. }
                | Synchronization::MbarrierWait { .. }
        )
    }

    /// Executes an operation across lanes. Returns `false` if it is no such operation.
    pub fn across(
        &mut self,
        operation: &Synchronization,
        at: Place,
        lanes: Lanes,
        control: Origins,
        world: &mut World,
    ) -> Result<bool, Halt> {
        let holds = |value: &Value, lane: usize| value.lane(lane) & 1 == 1;
        let read = operation.operands();
        let all = self.joined(&read, lanes, control, world);
        let all = Taint::new(lanes, all.origins);
        match operation {
            Synchronization::Elect {
                leader,
                elected,
                mask,
            } => {
                let mask = low(self
                    .value(*mask, world, at)?
                    .lane(lanes.trailing_zeros() as usize));
                let among = lanes & u32::try_from(mask & 0xffff_ffff).unwrap_or(0);
                let first = among.trailing_zeros();
                if let Some(leader) = leader {
                    let value = self.cut(*leader, Value::Uniform(first.into()), world);
                    self.write(*leader, value, all, lanes, world);
                }
                if let Some(elected) = elected {
                    let value = Value::Split {
                        lanes: 1_u32.checked_shl(first).unwrap_or(0),
                        inside: 1,
                        outside: 0,
                    };
                    self.write(*elected, value, all, lanes, world);
                }
            }
            Synchronization::Shuffle {
                mode,
                result,
                valid,
                value,
                lane,
                clamp,
                ..
            } => {
                let numbers = self.value(*value, world, at)?;
                let by = self.value(*lane, world, at)?;
                let clamps = self.value(*clamp, world, at)?;
                let of = self.taint_of(*value);
                let rest: Vec<Operand> =
                    read.iter().copied().filter(|each| each != value).collect();
                let mut taint = self.joined(&rest, lanes, control, world);
                let mut given = [0_u128; super::value::LANES];
                let mut in_range: Lanes = 0;
                let word = |value: &Value, lane| {
                    u32::try_from(value.lane(lane) & 0xffff_ffff).unwrap_or(0)
                };
                for lane in lanes_of(lanes) {
                    let own = u32::try_from(lane).unwrap_or(0);
                    let (from, valid) = shuffled(*mode, own, word(&by, lane), word(&clamps, lane));
                    in_range |= u32::from(valid) << own;
                    given[lane] = u128::from(word(&numbers, from as usize));
                    let mut origins = of.within(1 << from);
                    if lanes >> from & 1 == 0 {
                        // The result of a lane that does not take part is arbitrary.
                        let origin = world.origin(at);
                        origins = world.sets.union(origins, origin);
                    }
                    taint = world.sets.join(taint, Taint::new(1 << own, origins));
                }
                let value = self.cut(*result, Value::from_wide(given), world);
                self.write(*result, value, taint, lanes, world);
                if let Some(valid) = valid {
                    let value = Value::collect(|lane| u128::from(in_range >> lane & 1));
                    let taint = self.joined(&rest, lanes, control, world);
                    self.write(*valid, value, taint, lanes, world);
                }
            }
            Synchronization::Vote {
                mode,
                result,
                predicate,
                ..
            } => {
                let value = self.value(*predicate, world, at)?;
                let holding = lanes_of(lanes).filter(|lane| holds(&value, *lane));
                let holding = holding.fold(0_u32, |all, lane| all | 1 << lane);
                let number: u32 = match mode {
                    VoteMode::All => u32::from(holding == lanes),
                    VoteMode::Any => u32::from(holding != 0),
                    VoteMode::Uniform => u32::from(holding == lanes || holding == 0),
                    VoteMode::Ballot => holding,
                };
                let value = self.cut(*result, Value::Uniform(number.into()), world);
                self.write(*result, value, all, lanes, world);
            }
            Synchronization::Match {
                all: every,
                result,
                predicate,
                value,
                ..
            } => {
                let value = self.value(*value, world, at)?;
                let alike = |lane: usize| {
                    let same =
                        lanes_of(lanes).filter(|other| value.lane(*other) == value.lane(lane));
                    same.fold(0_u32, |all, lane| all | 1 << lane)
                };
                let (numbers, agree) = if *every {
                    let agree = alike(lanes.trailing_zeros() as usize) == lanes;
                    (Value::Uniform(if agree { lanes.into() } else { 0 }), agree)
                } else {
                    (Value::collect(|lane| alike(lane).into()), false)
                };
                let numbers = self.cut(*result, numbers, world);
                self.write(*result, numbers, all, lanes, world);
                if let Some(predicate) = predicate {
                    let value = Value::Uniform(agree.into());
                    self.write(*predicate, value, all, lanes, world);
                }
            }
            Synchronization::Reduce {
                operation,
                result,
                value,
                ..
            } => {
                let value = self.value(*value, world, at)?;
                let word = |lane| u32::try_from(value.lane(lane) & 0xffff_ffff).unwrap_or(0);
                let number = reduced(operation, lanes_of(lanes).map(word));
                let mut taint = all;
                if number.is_none() {
                    let origin = world.origin(at);
                    taint = world.sets.join(all, Taint::new(lanes, origin));
                }
                let number = number.unwrap_or_else(|| word(lanes.trailing_zeros() as usize));
                let value = self.cut(*result, Value::Uniform(number.into()), world);
                self.write(*result, value, taint, lanes, world);
            }
            Synchronization::ActiveMask { result } => {
                let value = self.cut(*result, Value::Uniform(lanes.into()), world);
                self.write(*result, value, all, lanes, world);
            }
            Synchronization::ClusterLaunchQuery { result, .. } => {
                let unknown = world.origin(at);
                let origin = match world.launch.granted {
                    Some(_) => control,
                    None => world.sets.union(control, unknown),
                };
                let more = world
                    .launch
                    .granted
                    .is_some_and(|granted| self.asked < granted);
                self.asked = self.asked.saturating_add(1);
                let taint = Taint::new(lanes, origin);
                self.write(*result, Value::Uniform(more.into()), taint, lanes, world);
            }
            Synchronization::WarpSync { .. } => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}
