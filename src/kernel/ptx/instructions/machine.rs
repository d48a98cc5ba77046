//! Fences, dependent launches, cluster launch control, and register counts (`setmaxnreg`).

use crate::ir::MemoryOrder;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Synchronization;

use super::Lower;
use super::scope;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;

pub const FORMS: &[(&str, Lower)] = &[
    (
        "fence{.order}.scope; .order = .sc .acq_rel .acquire .release",
        fence,
    ),
    (
        "fence.order.restrict.scope; .order = .acquire .release; \
         .restrict = .sync_restrict::shared::cluster .sync_restrict::shared::cta",
        fence,
    ),
    ("fence.mbarrier_init.release.scope", init),
    ("fence.proxy.kind; .kind = .alias .async", proxy),
    (
        "fence.proxy.async.space; .space = .global .shared::cta .shared::cluster",
        proxy,
    ),
    (
        "fence.proxy.kind.order.scope ...; .kind = .tensormap::generic; .order = .acquire .release",
        proxy,
    ),
    (
        "fence.proxy.async::generic.order.restrict.scope; .order = .acquire .release; \
         .restrict = .sync_restrict::shared::cluster .sync_restrict::shared::cta",
        proxy,
    ),
    ("membar.level; .level = .cta .gl .sys", membar),
    ("membar.proxy.kind; .kind = .alias .async", proxy),
    ("nanosleep.u32 t", sleep),
    (
        "griddepcontrol.action; .action = .launch_dependents .wait",
        grid,
    ),
    (
        "setmaxnreg.action.sync.aligned.u32 count; .action = .inc .dec",
        registers,
    ),
    (
        "clusterlaunchcontrol.try_cancel.async{.shared::cta}.completion_mechanism\
         {.multicast::cluster::all}.b128 [addr], [mbar]",
        try_cancel,
    ),
    (
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response",
        query,
    ),
];

fn fence<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    fence_of(l, m, false)
}

fn proxy<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    fence_of(l, m, true)
}

fn fence_of<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>, proxy: bool) -> Lowered {
    let order = match m.class("order") {
        Some("sc") => MemoryOrder::SequentiallyConsistent,
        Some("acquire") => MemoryOrder::Acquire,
        Some("release") => MemoryOrder::Release,
        _ => MemoryOrder::AcquireRelease,
    };
    let scope = m.class("scope").map_or(Scope::Cta, scope);
    l.synchronize(Synchronization::Fence {
        order,
        scope,
        proxy,
    });
    Ok(())
}

fn init<'a>(l: &mut Lowering<'_, 'a>, _: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::FenceMbarrierInit);
    Ok(())
}

fn membar<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let scope = match m.class("level") {
        Some("cta") => Scope::Cta,
        Some("gl") => Scope::Gpu,
        _ => Scope::System,
    };
    l.synchronize(Synchronization::Fence {
        order: MemoryOrder::SequentiallyConsistent,
        scope,
        proxy: false,
    });
    Ok(())
}

fn sleep<'a>(l: &mut Lowering<'_, 'a>, _: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::Sleep);
    Ok(())
}

fn grid<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(if m.has("wait") {
        Synchronization::GridDependencyWait
    } else {
        Synchronization::GridDependencyLaunch
    });
    Ok(())
}

fn registers<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let count = l.value(m.operand("count")?, 32)?;
    l.synchronize(Synchronization::SetMaxRegisters {
        count,
        increase: m.has("inc"),
    });
    Ok(())
}

fn query<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let result = l.exact(m.operand("p")?, 1)?;
    let response = l.value(m.operand("response")?, 128)?;
    l.synchronize(Synchronization::ClusterLaunchQuery { result, response });
    Ok(())
}

fn try_cancel<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let space = m.has("shared::cta").then_some("shared::cta");
    let (destination, _) = l.shared_address(m.operand("addr")?, space, Space::Shared)?;
    let (address, _) = l.shared_address(m.operand("mbar")?, space, Space::Shared)?;
    l.synchronize(Synchronization::ClusterLaunchTryCancel {
        destination,
        address,
        multicast: m.has("multicast::cluster::all"),
    });
    Ok(())
}
