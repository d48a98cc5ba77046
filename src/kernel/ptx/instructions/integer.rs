//! Integer arithmetic.

use crate::ir;
use crate::ir::Compute;

use super::Lower;
use super::signed;
use super::width;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;

pub const FORMS: &[(&str, Lower)] = &[
    ("add.itype d, a, b", binary),
    ("sub.itype d, a, b", binary),
    ("mul.mode.itype d, a, b; .mode = .hi .lo .wide", multiply),
    (
        "mad.mode.itype d, a, b, c; .mode = .hi .lo .wide",
        multiply_add,
    ),
    ("mul24.lo.type d, a, b; .type = .u32 .s32", multiply_24),
    ("mad24.lo.type d, a, b, c; .type = .u32 .s32", multiply_24),
    ("div.itype d, a, b", binary),
    ("rem.itype d, a, b", binary),
    ("min.itype d, a, b", binary),
    ("max.itype d, a, b", binary),
    ("abs.itype d, a", unary),
    ("neg.itype d, a", unary),
    ("popc.btype d, a", unary),
    ("clz.btype d, a", unary),
    ("brev.btype d, a", unary),
    ("bfind.itype d, a", unary),
    ("bfe.itype d, a, b, c", extract),
    ("bfi.btype d, a, b, c, e", insert),
    ("cnot.btype d, a", logical_not),
    ("add.cc.itype d, a, b", with_carry),
    ("addc{.cc}.itype d, a, b", with_carry),
    ("sub.cc.itype d, a, b", with_carry),
    ("subc{.cc}.itype d, a, b", with_carry),
    (
        "mad.mode.cc.itype d, a, b, c; .mode = .hi .lo",
        multiply_with_carry,
    ),
    (
        "madc.mode{.cc}.itype d, a, b, c; .mode = .hi .lo",
        multiply_with_carry,
    ),
];

fn binary<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let kind = m.class("itype");
    let (width, signed) = (width(kind)?, signed(kind));
    let compute = match m.instruction.opcode {
        "add" => Compute::Add,
        "sub" => Compute::Subtract,
        "div" => Compute::Divide { signed },
        "rem" => Compute::Remainder { signed },
        "min" => Compute::Minimum { signed },
        _ => Compute::Maximum { signed },
    };
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, compute, width, vec![a, b], signed)
}

fn unary<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let kind = m.class("itype").or(m.class("btype"));
    let (width, signed) = (width(kind)?, signed(kind));
    let compute = match m.instruction.opcode {
        "abs" => Compute::Absolute,
        "neg" => Compute::Negate,
        "popc" => Compute::PopulationCount,
        "clz" => Compute::LeadingZeros,
        "brev" => Compute::Reverse,
        _ => Compute::FindHighest { signed },
    };
    let a = l.value(m.operand("a")?, width)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, compute, width, vec![a], signed)
}

/// The product, its width in bits, and whether it is signed.
fn product<'a>(
    l: &mut Lowering<'_, 'a>,
    m: &Matched<'_, 'a>,
) -> Lowered<(Compute, u16, u16, Vec<ir::Operand>, bool)> {
    let kind = m.class("itype");
    let (width, signed) = (width(kind)?, signed(kind));
    let (compute, wide) = match m.class("mode") {
        Some("hi") => (Compute::MultiplyHigh { signed }, width),
        Some("wide") => (Compute::MultiplyWide { signed }, 2 * width),
        _ => (Compute::Multiply, width),
    };
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    Ok((compute, width, wide, vec![a, b], signed))
}

fn multiply<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (compute, width, wide, operands, signed) = product(l, m)?;
    let d = l.result(m.operand("d")?, wide)?;
    l.assign(d, compute, width, operands, signed)
}

fn multiply_add<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (compute, width, wide, operands, signed) = product(l, m)?;
    let product = l.compute(compute, width, operands)?;
    let c = l.value(m.operand("c")?, wide)?;
    let d = l.result(m.operand("d")?, wide)?;
    l.assign(d, Compute::Add, wide, vec![product, c], signed)
}

/// The low 32 bits of the product of the low 24 bits.
fn multiply_24<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let signed = signed(m.class("type"));
    let mut factors = Vec::new();
    for name in ["a", "b"] {
        let value = l.value(m.operand(name)?, 32)?;
        let low = l.compute(Compute::Extract { low: 0, to: 24 }, 32, vec![value])?;
        factors.push(l.compute(Compute::Convert { to: 32, signed }, 24, vec![low])?);
    }
    let d = l.result(m.operand("d")?, 32)?;
    let Some(c) = m.optional("c") else {
        return l.assign(d, Compute::Multiply, 32, factors, signed);
    };
    let product = l.compute(Compute::Multiply, 32, factors)?;
    let c = l.value(c, 32)?;
    l.assign(d, Compute::Add, 32, vec![product, c], signed)
}

fn extract<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let kind = m.class("itype");
    let (width, signed) = (width(kind)?, signed(kind));
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, 32)?;
    let c = l.value(m.operand("c")?, 32)?;
    let d = l.result(m.operand("d")?, width)?;
    let compute = Compute::ExtractField { signed };
    l.assign(d, compute, width, vec![a, b, c], signed)
}

fn insert<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("btype"))?;
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    let c = l.value(m.operand("c")?, 32)?;
    let e = l.value(m.operand("e")?, 32)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, Compute::InsertField, width, vec![a, b, c, e], false)
}

/// 1 for 0, and 0 for all others.
fn logical_not<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("btype"))?;
    let a = l.value(m.operand("a")?, width)?;
    let zero = ir::Operand::Constant(0);
    let equal = Compute::Compare(ir::Compare::Equal);
    let zero = l.compute(equal, width, vec![a, zero])?;
    let d = l.result(m.operand("d")?, width)?;
    let to = Compute::Convert {
        to: width,
        signed: false,
    };
    l.assign(d, to, 1, vec![zero], false)
}

/// `a + b` or `a - b`. The carry is added if the opcode ends in `c`, and it is stored with `.cc`.
fn with_carry<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("itype"))?;
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    let opcode = m.instruction.opcode;
    carried(
        l,
        m,
        width,
        a,
        b,
        opcode.starts_with("sub"),
        opcode.ends_with('c'),
    )
}

fn multiply_with_carry<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (compute, width, _, operands, _) = product(l, m)?;
    let product = l.compute(compute, width, operands)?;
    let c = l.value(m.operand("c")?, width)?;
    carried(
        l,
        m,
        width,
        product,
        c,
        false,
        m.instruction.opcode == "madc",
    )
}

fn carried<'a>(
    l: &mut Lowering<'_, 'a>,
    m: &Matched<'_, 'a>,
    width: u16,
    a: ir::Operand,
    b: ir::Operand,
    subtract: bool,
    with: bool,
) -> Lowered {
    let wide = width + 1;
    let extend = Compute::Convert {
        to: wide,
        signed: false,
    };
    let compute = if subtract {
        Compute::Subtract
    } else {
        Compute::Add
    };
    let a = l.compute(extend, width, vec![a])?;
    let b = l.compute(extend, width, vec![b])?;
    let mut sum = l.compute(compute, wide, vec![a, b])?;
    let carry = l.carry();
    if with {
        let more = l.compute(extend, 1, vec![ir::Operand::Register(carry)])?;
        sum = l.compute(compute, wide, vec![sum, more])?;
    }
    let d = l.result(m.operand("d")?, width)?;
    l.assign(
        d,
        Compute::Extract { low: 0, to: width },
        wide,
        vec![sum],
        false,
    )?;
    if m.has("cc") {
        let top = Compute::Extract { low: width, to: 1 };
        l.assign(carry, top, wide, vec![sum], false)?;
    }
    Ok(())
}
