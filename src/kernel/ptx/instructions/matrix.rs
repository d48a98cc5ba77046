//! Asynchronous matrix operations: `wgmma` and `tcgen05`.

use crate::ir::GroupKind;
use crate::ir::Matrices;
use crate::ir::Product;
use crate::ir::Space;
use crate::ir::Synchronization;

use super::Lower;
use super::copy::widened;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Instruction;
use crate::ptx::resolved::Operand;

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
    let matrices = of_warpgroup(l, m.instruction)?.map(Box::new);
    l.synchronize(Synchronization::Multiply {
        matrices,
        at_once: false,
    });
    super::data::written(l, m.instruction, false)
}

/// The matrices in shared memory that `wgmma.mma_async` reads; `None` for an unknown form.
fn of_warpgroup<'a>(
    l: &mut Lowering<'_, 'a>,
    instruction: &Instruction<'a>,
) -> Result<Option<Matrices>, String> {
    let words = &instruction.modifiers;
    let shape = words.iter().find_map(|word| word.strip_prefix("m64n"));
    let columns = shape.and_then(|shape| shape.split('k').next()?.parse().ok());
    let element = |word: Option<&&str>| match word.copied() {
        Some("f16" | "bf16") => Some(2),
        Some("tf32") => Some(4),
        Some("e4m3" | "e5m2" | "s8" | "u8") => Some(1),
        _ => None,
    };
    // After the types of the operands, only modifiers about results follow.
    let types: Vec<&&str> = words
        .iter()
        .filter(|word| element(Some(*word)).is_some())
        .collect();
    let (Some(columns), [.., first, second], false) =
        (columns, types.as_slice(), words.contains(&"sp"))
    else {
        return Ok(None);
    };
    let (Some(first), Some(second)) = (element(Some(*first)), element(Some(*second))) else {
        return Ok(None);
    };
    let operands = &instruction.operands;
    let in_registers = matches!(operands.get(1), Some(Operand::Vector(_)));
    let flag = |at: usize| match operands.get(at) {
        None => Some(false),
        Some(Operand::Integer(value)) => Some(*value != 0),
        Some(_) => None,
    };
    let transposed = match in_registers {
        true => [Some(false), flag(6)],
        false => [flag(6), flag(7)],
    };
    let (Some(second_operand), [Some(a), Some(b)]) = (operands.get(2), transposed) else {
        return Ok(None);
    };
    let first_operand = match operands.get(1) {
        Some(operand) if !in_registers => Some(l.value(operand, 64)?),
        _ => None,
    };
    Ok(Some(Matrices {
        first: first_operand,
        second: l.value(second_operand, 64)?,
        product: Product::Warpgroup {
            columns,
            elements: [first, second],
            transposed: [a, b],
        },
    }))
}

fn pair(m: &Matched<'_, '_>) -> bool {
    m.has("cta_group::2")
}

fn work<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let matrices = of_tensor(l, m.instruction)?.map(Box::new);
    l.synchronize(Synchronization::TensorWork {
        pair: pair(m),
        matrices,
    });
    Ok(())
}

/// The matrices in shared memory that `tcgen05.mma` reads; `None` for an unknown form.
fn of_tensor<'a>(
    l: &mut Lowering<'_, 'a>,
    instruction: &Instruction<'a>,
) -> Result<Option<Matrices>, String> {
    let has = |word: &str| instruction.modifiers.contains(&word);
    let element = match () {
        () if has("kind::f16") => 2,
        () if has("kind::tf32") => 4,
        () if has("kind::f8f6f4") || has("kind::i8") => 1,
        () => 0,
    };
    let other = ["ws", "sp", "block_scale", "ashift"];
    if element == 0 || !has("mma") || other.iter().any(|word| has(word)) {
        return Ok(None);
    }
    let operands = &instruction.operands;
    let (Some(first), Some(second), Some(word)) =
        (operands.get(1), operands.get(2), operands.get(3))
    else {
        return Ok(None);
    };
    let first = match first {
        Operand::Address { .. } => None,
        first => Some(l.value(first, 64)?),
    };
    Ok(Some(Matrices {
        first,
        second: l.value(second, 64)?,
        product: Product::Tensor {
            element,
            narrow: has("kind::f8f6f4"),
            word: l.value(word, 32)?,
        },
    }))
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
