//! Mbarriers.

use crate::ir;
use crate::ir::MemoryOrder;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::Token;

use super::Lower;
use super::scope;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Operand;

pub const FORMS: &[(&str, Lower)] = &[
    ("mbarrier.init{.space}.b64 [addr], count", init),
    ("mbarrier.inval{.space}.b64 [addr]", invalidate),
    (
        "mbarrier.expect_tx{.relaxed{.scope}}{.space}.b64 [addr], txCount",
        transactions,
    ),
    (
        "mbarrier.complete_tx{.relaxed{.scope}}{.space}.b64 [addr], txCount",
        transactions,
    ),
    (
        "mbarrier.arrive{.sem}{.scope}{.space}.b64 [addr]{, count}",
        arrive,
    ),
    (
        "mbarrier.arrive{.sem}{.scope}{.space}.b64 state, [addr]{, count}",
        arrive,
    ),
    (
        "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 [addr], txCount",
        arrive,
    ),
    (
        "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 state, [addr], txCount",
        arrive,
    ),
    (
        "mbarrier.arrive.noComplete{.sem}{.scope}{.space}.b64 state, [addr], count",
        arrive,
    ),
    (
        "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 [addr]{, count}",
        arrive,
    ),
    (
        "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 state, [addr]{, count}",
        arrive,
    ),
    (
        "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64 [addr], txCount",
        arrive,
    ),
    (
        "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64 state, [addr], txCount",
        arrive,
    ),
    (
        "mbarrier.arrive_drop.noComplete{.sem}{.scope}{.space}.b64 state, [addr], count",
        arrive,
    ),
    (
        "mbarrier.test_wait{.sem}{.scope}{.space}.b64 p, [addr], state",
        test,
    ),
    (
        "mbarrier.test_wait.parity{.sem}{.scope}{.space}.b64 p, [addr], phaseParity",
        test,
    ),
    (
        "mbarrier.try_wait{.sem}{.scope}{.space}.b64 p, [addr], state{, suspendTimeHint}",
        test,
    ),
    (
        "mbarrier.try_wait.parity{.sem}{.scope}{.space}.b64 p, [addr], phaseParity{, suspendTimeHint}",
        test,
    ),
    ("mbarrier.pending_count.b64 count, state", pending),
    (
        "cp.async.mbarrier.arrive{.noinc}{.space}.b64 [addr]",
        copy_arrive,
    ),
];

/// The address of the mbarrier, which belongs to the own CTA.
fn own<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered<ir::Operand> {
    let (address, _) = l.shared_address(m.operand("addr")?, m.class("space"), Space::Shared)?;
    Ok(address)
}

/// The address of the mbarrier, and whether the mbarrier may belong to another CTA.
fn any<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered<(ir::Operand, bool)> {
    l.shared_address(m.operand("addr")?, m.class("space"), Space::Cluster)
}

fn init<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let address = own(l, m)?;
    let count = l.value(m.operand("count")?, 32)?;
    l.synchronize(Synchronization::MbarrierInit { address, count });
    Ok(())
}

fn invalidate<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let address = own(l, m)?;
    l.synchronize(Synchronization::MbarrierInvalidate { address });
    Ok(())
}

fn transactions<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (address, cluster) = any(l, m)?;
    let bytes = l.value(m.operand("txCount")?, 32)?;
    l.synchronize(if m.has("expect_tx") {
        Synchronization::MbarrierExpect {
            address,
            bytes,
            cluster,
        }
    } else {
        Synchronization::MbarrierComplete {
            address,
            bytes,
            cluster,
        }
    });
    Ok(())
}

fn arrive<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (address, cluster) = any(l, m)?;
    let count = match m.optional("count") {
        Some(count) => l.value(count, 32)?,
        None => ir::Operand::Constant(1),
    };
    let expect = match m.optional("txCount") {
        Some(bytes) => Some(l.value(bytes, 32)?),
        None => None,
    };
    let token = match m.optional("state") {
        None | Some(Operand::Sink) => None,
        Some(state) => Some(l.exact(state, 64)?),
    };
    l.synchronize(Synchronization::MbarrierArrive {
        address,
        count,
        expect,
        drop: m.has("arrive_drop"),
        no_complete: m.has("noComplete"),
        token,
        cluster,
        order: if m.has("relaxed") {
            MemoryOrder::Relaxed
        } else {
            MemoryOrder::Release
        },
        scope: m.class("scope").map_or(Scope::Cta, scope),
    });
    Ok(())
}

fn test<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let address = own(l, m)?;
    let token = match m.optional("phaseParity") {
        Some(parity) => Token::Parity(l.value(parity, 32)?),
        None => Token::State(l.value(m.operand("state")?, 64)?),
    };
    let result = l.exact(m.operand("p")?, 1)?;
    l.synchronize(Synchronization::MbarrierTest {
        result,
        address,
        token,
        blocking: m.has("try_wait"),
        order: if m.has("relaxed") {
            MemoryOrder::Relaxed
        } else {
            MemoryOrder::Acquire
        },
        scope: m.class("scope").map_or(Scope::Cta, scope),
    });
    Ok(())
}

fn pending<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let token = l.value(m.operand("state")?, 64)?;
    let result = l.exact(m.operand("count")?, 32)?;
    l.synchronize(Synchronization::MbarrierPending { result, token });
    Ok(())
}

fn copy_arrive<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let address = own(l, m)?;
    l.synchronize(Synchronization::CopyArrive {
        address,
        no_increment: m.has("noinc"),
    });
    Ok(())
}
