//! Loads, stores and atomic operations.

use crate::ir;
use crate::ir::AtomicOperation;
use crate::ir::Compute;
use crate::ir::MemoryOrder;
use crate::ir::OperationKind;
use crate::ir::Scope;
use crate::ir::Stability;

use super::Lower;
use super::scope;
use super::signed;
use super::width;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Operand;
use crate::ptx::slot;

pub const FORMS: &[(&str, Lower)] = &[
    (
        "ld{.mmio}{.order}{.scope}{.space}{.nc}{.cop}{.level1::eviction_priority}\
         {.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.unified}{.vec}.type \
         d, [a]{, u}{, cache-policy}; .order = .weak .volatile .relaxed .acquire",
        load,
    ),
    ("ldu{.space}{.vec}.type d, [a]", load),
    (
        "st{.async}{.mmio}{.order}{.scope}{.space}{.cop}{.level1::eviction_priority}\
         {.level2::eviction_priority}{.level::cache_hint}{.vec}.type \
         [a], b{, cache-policy}; .order = .weak .volatile .relaxed .release",
        store,
    ),
    (
        "atom{.sem}{.scope}{.space}.op{.noftz}{.level::cache_hint}{.vec}.type d, [a], b{, cache-policy}; \
         .op = .and .or .xor .exch .add .inc .dec .min .max",
        atomic,
    ),
    (
        "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type d, [a], b, c{, cache-policy}; .op = .cas",
        atomic,
    ),
    (
        "red.async{.mmio}.sem.scope.space.op.type [a], b; \
         .sem = .release; .space = .global; .op = .add",
        atomic,
    ),
    (
        "atom{.sem}{.scope}{.space}{.level::cache_hint}.vec.type.op{.noftz} d, [a], b{, cache-policy}; \
         .op = .add .min .max",
        atomic,
    ),
    (
        "red{.sem}{.scope}{.space}{.level::cache_hint}.vec.type.op{.noftz} [a], b{, cache-policy}; \
         .op = .add .min .max",
        atomic,
    ),
    (
        "red{.sem}{.scope}{.space}.op{.noftz}{.level::cache_hint}{.vec}.type [a], b{, cache-policy}; \
         .op = .and .or .xor .add .inc .dec .min .max",
        atomic,
    ),
];

/// Memory order and scope. Strong operations without a scope have the scope of the device. Volatile operations and
/// those on memory-mapped devices have the scope of the system.
fn order(m: &Matched<'_, '_>) -> (MemoryOrder, Scope) {
    let order = match m.class("order").or(m.class("sem")) {
        Some("volatile") => MemoryOrder::Volatile,
        Some("relaxed") => MemoryOrder::Relaxed,
        Some("acquire") => MemoryOrder::Acquire,
        Some("release") => MemoryOrder::Release,
        Some("acq_rel") => MemoryOrder::AcquireRelease,
        _ => MemoryOrder::Weak,
    };
    let scope = match (m.class("scope"), order) {
        (Some(name), _) => scope(name),
        (None, MemoryOrder::Weak) => Scope::Cta,
        (None, MemoryOrder::Volatile) => Scope::System,
        (None, _) => Scope::Gpu,
    };
    (order, scope)
}

/// `.cv` is a hint for caches. It still shows that the kernel expects other threads to write.
fn stability(m: &Matched<'_, '_>) -> Stability {
    match () {
        () if m.has("nc") => Stability::Constant,
        () if m.has("cv") => Stability::Refetched,
        () => Stability::Unsaid,
    }
}

/// The components of a vector, or the one operand.
fn parts<'o, 'a>(operand: &'o Operand<'a>) -> &'o [Operand<'a>] {
    match operand {
        Operand::Vector(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

fn load<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let kind = m.class("type");
    let (width, signed) = (width(kind)?, signed(kind));
    let d = parts(m.operand("d")?);
    if let Some((variable, offset, ..)) = slot::access(m.instruction)
        && l.piece(variable, offset).is_some()
    {
        for (part, at) in d.iter().zip(0_i64..) {
            let piece = offset.wrapping_add(at * i64::from(width / 8));
            let piece = l.piece(variable, piece).ok_or("a piece is missing")?;
            if *part != Operand::Sink {
                let d = l.result(part, width)?;
                l.put(d, ir::Operand::Register(piece), width, signed)?;
            }
        }
        return Ok(());
    }
    let a = m.operand("a")?;
    let space = l.space(m.class("space"), a)?;
    let address = l.address(a)?;
    let mut results = Vec::with_capacity(d.len());
    for part in d {
        results.push(match part {
            Operand::Sink => None,
            Operand::Register(register) if l.width(*register) >= width => Some(*register),
            _ => return Err(format!("results are registers of {width} bits or more")),
        });
    }
    let (order, scope) = order(m);
    l.emit(OperationKind::Load {
        results,
        space,
        address,
        width,
        signed,
        order,
        scope,
        stability: stability(m),
    });
    Ok(())
}

fn store<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let b = parts(m.operand("b")?);
    if let Some((variable, offset, ..)) = slot::access(m.instruction)
        && l.piece(variable, offset).is_some()
    {
        for (part, at) in b.iter().zip(0_i64..) {
            let piece = offset.wrapping_add(at * i64::from(width / 8));
            let piece = l.piece(variable, piece).ok_or("a piece is missing")?;
            let value = l.value(part, width)?;
            l.assign(piece, Compute::Copy, width, vec![value], false)?;
        }
        return Ok(());
    }
    let a = m.operand("a")?;
    let space = l.space(m.class("space"), a)?;
    let address = l.address(a)?;
    let values = b
        .iter()
        .map(|part| l.value(part, width))
        .collect::<Lowered<_>>()?;
    let (order, scope) = order(m);
    l.emit(OperationKind::Store {
        space,
        address,
        values,
        width,
        order,
        scope,
    });
    Ok(())
}

fn atomic<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let kind = m.class("type");
    let (width, signed) = (width(kind)?, signed(kind));
    let integer = kind.is_some_and(|kind| kind.starts_with(['b', 'u', 's']) && kind != "bf16");
    let packed = m.class("vec").is_some() || kind.is_some_and(|kind| kind.ends_with("x2"));
    let operation = match m.class("op") {
        Some("exch") => AtomicOperation::Exchange,
        Some("cas") => AtomicOperation::CompareAndSwap,
        _ if !integer || packed => AtomicOperation::Other,
        Some("add") => AtomicOperation::Add,
        Some("and") => AtomicOperation::And,
        Some("or") => AtomicOperation::Or,
        Some("xor") => AtomicOperation::Xor,
        Some("min") => AtomicOperation::Minimum { signed },
        Some("max") => AtomicOperation::Maximum { signed },
        Some("inc") => AtomicOperation::Increment,
        Some("dec") => AtomicOperation::Decrement,
        _ => return Err("no such atomic operation".to_owned()),
    };
    let a = m.operand("a")?;
    let space = l.space(m.class("space"), a)?;
    let address = l.address(a)?;
    let mut operands = Vec::new();
    for part in parts(m.operand("b")?) {
        operands.push(l.value(part, width)?);
    }
    if let Some(c) = m.optional("c") {
        operands.push(l.value(c, width)?);
    }
    let mut several = Vec::new();
    let result = match m.optional("d") {
        None | Some(Operand::Sink) => None,
        Some(Operand::Vector(parts)) => {
            for part in parts {
                if *part != Operand::Sink {
                    several.push(l.result(part, width)?);
                }
            }
            None
        }
        Some(d) => Some(l.result(d, width)?),
    };
    // A narrow result is extended to the register. The atomic operation does not do this itself.
    let own = result.filter(|result| l.width(*result) != width);
    let taken = match own {
        Some(_) => Some(l.fresh(width)),
        None => result,
    };
    let (order, scope) = order(m);
    l.emit(OperationKind::Atomic {
        operation,
        result: taken,
        space,
        address,
        operands,
        width,
        // An atomic operation that states no order is relaxed.
        order: if order == MemoryOrder::Weak {
            MemoryOrder::Relaxed
        } else {
            order
        },
        scope: if m.class("scope").is_some() {
            scope
        } else {
            Scope::Gpu
        },
    });
    if !several.is_empty() {
        l.emit(OperationKind::Opaque {
            mnemonic: m.instruction.mnemonic(),
            results: several,
            operands: Vec::new(),
            pure: false,
            write: None,
            rows: None,
        });
    }
    if let (Some(own), Some(taken)) = (own, taken) {
        l.put(own, ir::Operand::Register(taken), width, signed)?;
    }
    Ok(())
}
