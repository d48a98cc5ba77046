//! Barriers of a CTA, a warp and a cluster.

use crate::ir;
use crate::ir::BarrierReduction;
use crate::ir::MemoryOrder;
use crate::ir::Synchronization;

use super::Lower;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;

pub const FORMS: &[(&str, Lower)] = &[
    ("bar.warp.sync membermask", warp),
    (
        "barrier.cluster.arrive{.order}{.aligned}; .order = .release .relaxed",
        cluster_arrive,
    ),
    ("barrier.cluster.wait{.acquire}{.aligned}", cluster_wait),
    ("bar{.cta}.sync a{, b}", sync),
    ("bar{.cta}.arrive a, b", arrive),
    ("bar{.cta}.red.popc.u32 d, a{, b}, c", reduce),
    ("bar{.cta}.red.op.pred d, a{, b}, c; .op = .and .or", reduce),
    ("barrier{.cta}.sync{.aligned} a{, b}", sync),
    ("barrier{.cta}.arrive{.aligned} a, b", arrive),
    ("barrier{.cta}.red.popc{.aligned}.u32 d, a{, b}, c", reduce),
    (
        "barrier{.cta}.red.op{.aligned}.pred d, a{, b}, c; .op = .and .or",
        reduce,
    ),
];

fn warp<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let mask = l.value(m.operand("membermask")?, 32)?;
    l.synchronize(Synchronization::WarpSync { mask });
    Ok(())
}

fn cluster_arrive<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::ClusterArrive {
        order: if m.has("relaxed") {
            MemoryOrder::Relaxed
        } else {
            MemoryOrder::Release
        },
        aligned: m.has("aligned"),
    });
    Ok(())
}

fn cluster_wait<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::ClusterWait {
        aligned: m.has("aligned"),
    });
    Ok(())
}

/// `bar` is `barrier.aligned`.
fn aligned(m: &Matched<'_, '_>) -> bool {
    m.instruction.opcode == "bar" || m.has("aligned")
}

fn threads<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered<Option<ir::Operand>> {
    match m.optional("b") {
        Some(b) => Ok(Some(l.value(b, 32)?)),
        None => Ok(None),
    }
}

fn sync<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let barrier = l.value(m.operand("a")?, 32)?;
    let threads = threads(l, m)?;
    l.synchronize(Synchronization::BarrierSync {
        barrier,
        threads,
        aligned: aligned(m),
        reduction: None,
    });
    Ok(())
}

fn arrive<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let barrier = l.value(m.operand("a")?, 32)?;
    let threads = l.value(m.operand("b")?, 32)?;
    l.synchronize(Synchronization::BarrierArrive {
        barrier,
        threads,
        aligned: aligned(m),
    });
    Ok(())
}

fn reduce<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let barrier = l.value(m.operand("a")?, 32)?;
    let threads = threads(l, m)?;
    let source = l.value(m.operand("c")?, 1)?;
    let width = if m.has("popc") { 32 } else { 1 };
    let result = l.exact(m.operand("d")?, width)?;
    let reduction = if m.has("popc") {
        BarrierReduction::Count { result, source }
    } else if m.has("and") {
        BarrierReduction::And { result, source }
    } else {
        BarrierReduction::Or { result, source }
    };
    l.synchronize(Synchronization::BarrierSync {
        barrier,
        threads,
        aligned: aligned(m),
        reduction: Some(reduction),
    });
    Ok(())
}
