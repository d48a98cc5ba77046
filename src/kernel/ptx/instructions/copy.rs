//! Asynchronous copies: `cp.async`, bulk and tensor copies, remote stores.

use crate::ir;
use crate::ir::Completion;
use crate::ir::Compute;
use crate::ir::Expected;
use crate::ir::GroupKind;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Synchronization;

use super::Lower;
use super::width;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Operand;

pub const FORMS: &[(&str, Lower)] = &[
    (
        "cp.async.cop.dst.global{.level::cache_hint}{.level::prefetch_size} [d], [a], size, ...; \
         .cop = .ca .cg; .dst = .shared .shared::cta",
        copy,
    ),
    ("cp.async.commit_group", commit),
    ("cp.async.wait_group N", wait),
    ("cp.async.wait_all", wait_all),
    ("cp.async.bulk.commit_group", commit_bulk),
    ("cp.async.bulk.wait_group{.read} N", wait_bulk),
    (
        "cp.async.bulk.dst.src.completion_mechanism{.multicast::cluster}{.level::cache_hint}\
         {.ignore_oob} [d], [a], size, ...; \
         .dst = .shared::cta .shared::cluster; .src = .global .shared::cta",
        bulk,
    ),
    (
        "cp.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}{.cp_mask} [d], [a], size, ...",
        bulk,
    ),
    (
        "cp.reduce.async.bulk.dst.src.completion_mechanism.op.type [d], [a], size, [mbar]; \
         .dst = .shared::cluster; .src = .shared::cta; .op = .and .or .xor .add .inc .dec .min .max; \
         .type = .s32 .u32 .s64 .u64 .b32 .b64",
        bulk,
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.op{.noftz}.type \
         [d], [a], size{, cache-policy}; .op = .and .or .xor .add .inc .dec .min .max; \
         .type = .f16 .bf16 .b32 .u32 .s32 .b64 .u64 .s64 .f32 .f64",
        bulk,
    ),
    (
        "cp.async.bulk.tensor.dim.dst.global{.load_mode}.completion_mechanism{.multicast::cluster}\
         {.cta_group}{.level::cache_hint} [d], [map, coordinates], [mbar], ...; \
         .dst = .shared::cta .shared::cluster; \
         .load_mode = .tile .tile::gather4 .im2col .im2col::w .im2col::w::128 .im2col_no_offs",
        tensor_load,
    ),
    (
        "cp.async.bulk.tensor.dim.global.shared::cta{.load_mode}.bulk_group{.level::cache_hint} \
         [map, coordinates], [a]{, cache-policy}; \
         .load_mode = .tile .tile::scatter4 .im2col_no_offs",
        tensor_store,
    ),
    (
        "cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{.load_mode}.bulk_group\
         {.level::cache_hint} [map, coordinates], [a]{, cache-policy}; \
         .redOp = .add .min .max .inc .dec .and .or .xor; .load_mode = .tile .im2col_no_offs",
        tensor_store,
    ),
    (
        "st.async{.sem}{.scope}{.shared::cluster}.completion_mechanism{.vec}.type [a], b, [mbar]; \
         .sem = .weak .relaxed",
        store_async,
    ),
    (
        "red.async{.sem}{.scope}{.shared::cluster}.completion_mechanism.op.type [a], b, [mbar]; \
         .sem = .weak .relaxed; .op = .and .or .xor .add .inc .dec .min .max",
        store_async,
    ),
];

fn bytes(operand: &Operand<'_>) -> Lowered<u32> {
    match operand {
        Operand::Integer(value) => {
            u32::try_from(*value).map_err(|_| "a size of more than 32 bits".to_owned())
        }
        _ => Err("the size is no constant".to_owned()),
    }
}

fn copy<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let destination = l.address(m.operand("d")?)?;
    let bytes = bytes(m.operand("size")?)?;
    l.synchronize(Synchronization::Copy { destination, bytes });
    Ok(())
}

fn commit<'a>(l: &mut Lowering<'_, 'a>, _: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::CommitGroup(GroupKind::Copy));
    Ok(())
}

fn commit_bulk<'a>(l: &mut Lowering<'_, 'a>, _: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::CommitGroup(GroupKind::Bulk));
    Ok(())
}

fn wait<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let pending = l.value(m.operand("N")?, 32)?;
    l.synchronize(Synchronization::WaitGroup {
        kind: GroupKind::Copy,
        pending,
        read_only: false,
    });
    Ok(())
}

/// Lowered to a commit and a wait for all groups.
fn wait_all<'a>(l: &mut Lowering<'_, 'a>, _: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::CommitGroup(GroupKind::Copy));
    l.synchronize(Synchronization::WaitGroup {
        kind: GroupKind::Copy,
        pending: ir::Operand::Constant(0),
        read_only: false,
    });
    Ok(())
}

fn wait_bulk<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let pending = l.value(m.operand("N")?, 32)?;
    l.synchronize(Synchronization::WaitGroup {
        kind: GroupKind::Bulk,
        pending,
        read_only: m.has("read"),
    });
    Ok(())
}

/// The operands after those that all forms have: the mbarrier, the mask, and others that concern only data.
fn further<'i, 'a>(m: &Matched<'i, 'a>, fixed: usize) -> &'i [Operand<'a>] {
    m.instruction.operands.get(fixed..).unwrap_or_default()
}

/// The mask of CTAs that a copy goes to. A cache policy follows it.
fn multicast<'a>(
    l: &mut Lowering<'_, 'a>,
    m: &Matched<'_, 'a>,
    behind: &[Operand<'a>],
) -> Lowered<Option<ir::Operand>> {
    if !m.has("multicast::cluster") {
        return Ok(None);
    }
    let policy = usize::from(m.has("L2::cache_hint"));
    let mask = behind
        .len()
        .checked_sub(policy + 1)
        .and_then(|index| behind.get(index))
        .ok_or("the mask of CTAs is missing")?;
    let mask = l.value(mask, 16)?;
    widened(l, mask, 16).map(Some)
}

/// A value of 32 bits of which only the low bits matter.
pub fn widened(l: &mut Lowering<'_, '_>, value: ir::Operand, width: u16) -> Lowered<ir::Operand> {
    if let ir::Operand::Constant(bits) = value {
        return Ok(ir::Operand::Constant(bits & ((1 << width) - 1)));
    }
    let convert = Compute::Convert {
        to: 32,
        signed: false,
    };
    l.compute(convert, width, vec![value])
}

fn space(name: Option<&str>) -> Lowered<Space> {
    match name {
        Some("global") => Ok(Space::Global),
        Some("shared::cluster") => Ok(Space::Cluster),
        Some("shared::cta") => Ok(Space::Shared),
        _ => Err("source and destination are not said".to_owned()),
    }
}

fn bulk<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let destination = l.address(m.operand("d")?)?;
    let source = l.address(m.operand("a")?)?;
    let size = l.value(m.operand("size")?, 32)?;
    let (destination_space, source_space) = if m.has("bulk_group") {
        (Space::Global, Space::Shared)
    } else {
        (space(m.class("dst"))?, space(m.class("src"))?)
    };
    let completion = if m.has("bulk_group") {
        Completion::Group(GroupKind::Bulk)
    } else {
        // The number of bytes to be ignored may stand before it.
        let mut behind = further(m, 3);
        while let [Operand::Integer(_) | Operand::Register(_), rest @ ..] = behind {
            behind = rest;
        }
        let (mbarrier, behind) = behind.split_first().ok_or("the mbarrier is missing")?;
        Completion::Mbarrier {
            address: l.address(mbarrier)?,
            multicast: multicast(l, m, behind)?,
            pair: false,
        }
    };
    if m.has("cp_mask") || m.has("ignore_oob") {
        // Some bytes are left out. It is not followed which bytes are read or written.
        l.emit(OperationKind::Opaque {
            mnemonic: m.instruction.mnemonic(),
            results: Vec::new(),
            operands: Vec::new(),
            pure: false,
            write: None,
            rows: None,
        });
    }
    l.synchronize(Synchronization::BulkCopy {
        destination,
        destination_space,
        source,
        source_space,
        bytes: Expected::Bytes(size),
        completion,
    });
    Ok(())
}

fn tensor_load<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let destination = l.address(m.operand("d")?)?;
    let source = l.address(m.operand("map")?)?;
    let address = l.address(m.operand("mbar")?)?;
    let multicast = multicast(l, m, further(m, 3))?;
    l.synchronize(Synchronization::BulkCopy {
        destination,
        destination_space: space(m.class("dst"))?,
        source,
        source_space: Space::Global,
        bytes: Expected::TensorMap,
        completion: Completion::Mbarrier {
            address,
            multicast,
            pair: m.has("cta_group::2"),
        },
    });
    Ok(())
}

fn tensor_store<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let destination = l.address(m.operand("map")?)?;
    let source = l.address(m.operand("a")?)?;
    l.synchronize(Synchronization::BulkCopy {
        destination,
        destination_space: Space::Global,
        source,
        source_space: Space::Shared,
        bytes: Expected::TensorMap,
        completion: Completion::Group(GroupKind::Bulk),
    });
    Ok(())
}

fn store_async<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let destination = m.operand("a")?;
    let (destination, _) =
        l.shared_address(destination, Some("shared::cluster"), Space::Cluster)?;
    let mbarrier = m.operand("mbar")?;
    let (address, _) = l.shared_address(mbarrier, Some("shared::cluster"), Space::Cluster)?;
    let count = match m.class("vec") {
        Some("v2") => 2,
        Some("v4") => 4,
        Some("v8") => 8,
        _ => 1,
    };
    let bytes = u32::from(width(m.class("type"))?) / 8 * count;
    l.synchronize(Synchronization::StoreAsync {
        destination,
        bytes,
        address,
    });
    Ok(())
}
