//! Special registers, and warp-level operations.

use super::lower::Lower;
use super::syntax::Operation;
use super::value::Value;
use super::value::parts_of;
use crate::ir::Operand;
use crate::ir::ShuffleMode;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::ir::VoteMode;

/// All lanes of a warp.
pub const ALL_LANES: Operand = Operand::Constant(0xffff_ffff);

impl<'a> Lower<'_, 'a> {
    pub fn special(&mut self, operation: &Operation<'a>) -> Option<()> {
        let name = operation.name;
        if let Some(register) = name.strip_prefix("nvvm.read.ptx.sreg.") {
            let special = special_register(register)?;
            return self.machine_number(operation, special);
        }
        let axis = ["x", "y", "z"]
            .iter()
            .zip(0..3)
            .find_map(|(axis, number)| operation.has_word(axis).then_some(number));
        let special = match (name, axis) {
            ("gpu.thread_id", Some(axis)) => Special::ThreadIndex(axis),
            ("gpu.block_id", Some(axis)) => Special::CtaIndex(axis),
            ("gpu.block_dim", Some(axis)) => Special::CtaThreads(axis),
            ("gpu.grid_dim", Some(axis)) => Special::GridCtas(axis),
            ("gpu.cluster_id", Some(axis)) => Special::ClusterIndex(axis),
            ("gpu.cluster_block_id", Some(axis)) => Special::ClusterCtaIndex(axis),
            ("gpu.cluster_dim_blocks", Some(axis)) => Special::ClusterCtas(axis),
            ("gpu.lane_id", _) => Special::Lane,
            _ => return self.lanes(operation),
        };
        self.machine_number(operation, special)
    }

    fn machine_number(&mut self, operation: &Operation<'a>, special: Special) -> Option<()> {
        let ty = self.result_type(operation, 0)?;
        let width = ty.scalar_width()?;
        // The machine has 32-bit words, and an index is wider.
        let own = width.min(32);
        let word = self.build.special(special, own);
        let operand = self.build.convert(word, own, width, false);
        self.set(operation, 0, Value::new(ty, vec![operand]))
    }

    fn lanes(&mut self, operation: &Operation<'a>) -> Option<()> {
        match operation.name {
            // Every lane takes the value of lane 0.
            "cute_nvgpu.arch.make_warp_uniform" => {
                let value = self.operand_values(operation).into_iter().next()?;
                let [operand] = value.parts.as_slice() else {
                    return None;
                };
                let width = *parts_of(&value.ty)?.first()?;
                if width > 32 {
                    return None;
                }
                if matches!(operand, Operand::Constant(_)) {
                    return self.set(operation, 0, value);
                }
                let word = self.build.convert(*operand, width, 32, false);
                let zero = Operand::Constant(0);
                let result = self.shuffle(ShuffleMode::Index, word, zero, 31, ALL_LANES);
                let result = self.build.convert(result, 32, width, false);
                let ty = value.ty.clone();
                self.set(operation, 0, Value::new(ty, vec![result]))
            }
            "nvvm.shfl.sync" => {
                let values = self.operand_values(operation);
                let [mask, value, lane, clamp] = values.as_slice() else {
                    return None;
                };
                let mode = if operation.has_word("bfly") {
                    ShuffleMode::Butterfly
                } else if operation.has_word("up") {
                    ShuffleMode::Up
                } else if operation.has_word("down") {
                    ShuffleMode::Down
                } else if operation.has_word("idx") {
                    ShuffleMode::Index
                } else {
                    return None;
                };
                let ty = self.result_type(operation, 0)?;
                if parts_of(&ty)? != [32] || operation.has_word("return_value_and_is_valid") {
                    return None;
                }
                // Unknown values, such as most floating-point numbers, are shuffled as well.
                let value = match value.parts.first() {
                    Some(value) => *value,
                    None => self.build.opaque("data", Vec::new(), &[32], false)[0],
                };
                let result = self.build.register(32);
                self.build.synchronize(Synchronization::Shuffle {
                    mode,
                    result,
                    valid: None,
                    value,
                    lane: *lane.parts.first()?,
                    clamp: *clamp.parts.first()?,
                    mask: *mask.parts.first()?,
                });
                self.set(
                    operation,
                    0,
                    Value::new(ty, vec![Operand::Register(result)]),
                )
            }
            "nvvm.vote.sync" | "nvvm.vote.ballot.sync" => {
                let (mask, predicate) = (self.scalar(operation, 0)?, self.scalar(operation, 1)?);
                let (mode, width) = if operation.has_word("all") {
                    (VoteMode::All, 1)
                } else if operation.has_word("any") {
                    (VoteMode::Any, 1)
                } else if operation.has_word("uni") {
                    (VoteMode::Uniform, 1)
                } else {
                    (VoteMode::Ballot, 32)
                };
                let result = self.build.register(width);
                self.build.synchronize(Synchronization::Vote {
                    mode,
                    result,
                    predicate,
                    mask,
                });
                self.set(
                    operation,
                    0,
                    Value::scalar(width, Operand::Register(result)),
                )
            }
            "nvvm.redux.sync" => {
                let (value, mask) = (self.scalar(operation, 0)?, self.scalar(operation, 1)?);
                let names = [
                    ("add", "add.u32"),
                    ("umax", "max.u32"),
                    ("umin", "min.u32"),
                    ("max", "max.s32"),
                    ("min", "min.s32"),
                    ("and", "and.b32"),
                    ("or", "or.b32"),
                    ("xor", "xor.b32"),
                ];
                let (_, reduction) = names
                    .into_iter()
                    .find(|(name, _)| operation.has_word(name))?;
                let result = self.build.register(32);
                self.build.synchronize(Synchronization::Reduce {
                    operation: reduction,
                    result,
                    value,
                    mask,
                });
                self.set(operation, 0, Value::scalar(32, Operand::Register(result)))
            }
            "nvvm.elect.sync" => {
                let mask = match operation.operands().len() {
                    0 => ALL_LANES,
                    _ => self.scalar(operation, 0)?,
                };
                let elected = self.elect(mask);
                self.set(operation, 0, Value::scalar(1, Operand::Register(elected)))
            }
            "nvvm.bar.warp.sync" => {
                let mask = self.scalar(operation, 0)?;
                self.build.synchronize(Synchronization::WarpSync { mask });
                Some(())
            }
            _ => None,
        }
    }

    /// A predicate that holds in one lane of the mask.
    pub fn elect(&mut self, mask: Operand) -> crate::ir::RegisterId {
        let elected = self.build.register(1);
        self.build.synchronize(Synchronization::Elect {
            leader: None,
            elected: Some(elected),
            mask,
        });
        elected
    }

    fn shuffle(
        &mut self,
        mode: ShuffleMode,
        value: Operand,
        lane: Operand,
        clamp: u128,
        mask: Operand,
    ) -> Operand {
        let result = self.build.register(32);
        self.build.synchronize(Synchronization::Shuffle {
            mode,
            result,
            valid: None,
            value,
            lane,
            clamp: Operand::Constant(clamp),
            mask,
        });
        Operand::Register(result)
    }
}

fn special_register(name: &str) -> Option<Special> {
    let (base, axis) = match name.rsplit_once('.') {
        Some((base, "x")) => (base, 0),
        Some((base, "y")) => (base, 1),
        Some((base, "z")) => (base, 2),
        _ => (name, 3),
    };
    Some(match (base, axis) {
        ("tid", 0..=2) => Special::ThreadIndex(axis),
        ("ntid", 0..=2) => Special::CtaThreads(axis),
        ("ctaid", 0..=2) => Special::CtaIndex(axis),
        ("nctaid", 0..=2) => Special::GridCtas(axis),
        ("clusterid", 0..=2) => Special::ClusterIndex(axis),
        ("nclusterid", 0..=2) => Special::GridClusters(axis),
        ("cluster.ctaid", 0..=2) => Special::ClusterCtaIndex(axis),
        ("cluster.nctaid", 0..=2) => Special::ClusterCtas(axis),
        ("cluster.ctarank", _) => Special::ClusterCtaRank,
        ("cluster.nctarank", _) => Special::ClusterCtaCount,
        ("laneid", _) => Special::Lane,
        ("warpid", _) => Special::Warp,
        ("nwarpid", _) => Special::WarpCount,
        ("lanemask.eq", _) => Special::LaneMaskEqual,
        ("lanemask.lt", _) => Special::LaneMaskLess,
        ("lanemask.le", _) => Special::LaneMaskLessEqual,
        ("lanemask.gt", _) => Special::LaneMaskGreater,
        ("lanemask.ge", _) => Special::LaneMaskGreaterEqual,
        ("dynamic_smem_size", _) => Special::DynamicSharedSize,
        ("total_smem_size", _) => Special::TotalSharedSize,
        ("clock" | "clock64" | "globaltimer" | "globaltimer.lo", _) => Special::Clock,
        ("smid" | "nsmid" | "gridid", _) => Special::Other,
        _ => return None,
    })
}
