//! Matrix operations that are asynchronous: `wgmma` and `tcgen05`.

use crate::ir::GroupKind;
use crate::ir::Space;
use crate::ir::Synchronization;

use super::Lower;
use super::copy::widened;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;

pub const FORMS: &[(&str, Lower)] = &[
    ("wgmma.fence.sync.aligned", wgmma_fence),
    ("wgmma.commit_group.sync.aligned", wgmma_commit),
    ("wgmma.wait_group.sync.aligned N", wgmma_wait),
    (
        "tcgen05.alloc.cta_group.sync.aligned{.space}.b32 [dst], nCols",
        allocate,
    ),
    (
        "tcgen05.dealloc.cta_group.sync.aligned.b32 taddr, nCols",
        deallocate,
    ),
    (
        "tcgen05.relinquish_alloc_permit.cta_group.sync.aligned",
        relinquish,
    ),
    ("tcgen05.wait::ld.sync.aligned", wait),
    ("tcgen05.wait::st.sync.aligned", wait),
    ("tcgen05.fence::before_thread_sync", fence),
    ("tcgen05.fence::after_thread_sync", fence),
    (
        "tcgen05.commit.cta_group{.completion}{.space}{.multicast::cluster}.b64 [mbar]{, ctaMask}; \
         .completion = .mbarrier::arrive::one",
        commit,
    ),
];

/// Opcodes whose further modifiers concern data only.
pub const WORK: &[(&str, Lower)] = &[
    ("wgmma.mma_async", wgmma),
    ("tcgen05.mma", work),
    ("tcgen05.cp", work),
    ("tcgen05.shift", work),
];

fn wgmma_fence<'a>(l: &mut Lowering<'_, 'a>, _: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::MultiplyFence);
    Ok(())
}

fn wgmma_commit<'a>(l: &mut Lowering<'_, 'a>, _: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::CommitGroup(GroupKind::Multiply));
    Ok(())
}

fn wgmma_wait<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let pending = l.value(m.operand("N")?, 32)?;
    l.synchronize(Synchronization::WaitGroup {
        kind: GroupKind::Multiply,
        pending,
        read_only: false,
    });
    Ok(())
}

fn wgmma<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::Multiply);
    super::data::written(l, m.instruction, false)
}

fn pair(m: &Matched<'_, '_>) -> bool {
    m.has("cta_group::2")
}

fn work<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::TensorWork { pair: pair(m) });
    Ok(())
}

fn allocate<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (destination, _) = l.shared_address(m.operand("dst")?, m.class("space"), Space::Shared)?;
    let columns = l.value(m.operand("nCols")?, 32)?;
    l.synchronize(Synchronization::TensorAllocate {
        destination,
        columns,
        pair: pair(m),
    });
    Ok(())
}

fn deallocate<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let address = l.value(m.operand("taddr")?, 32)?;
    let columns = l.value(m.operand("nCols")?, 32)?;
    l.synchronize(Synchronization::TensorDeallocate {
        address,
        columns,
        pair: pair(m),
    });
    Ok(())
}

fn relinquish<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::TensorRelinquish { pair: pair(m) });
    Ok(())
}

fn wait<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::TensorWait {
        store: m.has("wait::st"),
    });
    Ok(())
}

fn fence<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    l.synchronize(Synchronization::TensorFence {
        after: m.has("fence::after_thread_sync"),
    });
    Ok(())
}

fn commit<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (address, cluster) =
        l.shared_address(m.operand("mbar")?, m.class("space"), Space::Cluster)?;
    let multicast = match m.optional("ctaMask") {
        Some(mask) => {
            let mask = l.value(mask, 16)?;
            Some(widened(l, mask, 16)?)
        }
        None => None,
    };
    l.synchronize(Synchronization::TensorCommit {
        address,
        pair: pair(m),
        multicast,
        cluster,
    });
    Ok(())
}
