//! Comparison and selection.

use crate::ir;
use crate::ir::Compare;
use crate::ir::Compute;

use super::Lower;
use super::signed;
use super::width;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;

pub const FORMS: &[(&str, Lower)] = &[
    (
        "setp.CmpOp{.BoolOp}.stype p{|q}, a, b{, c}; \
         .CmpOp = .eq .ne .lt .le .gt .ge .lo .ls .hi .hs; .BoolOp = .and .or .xor; \
         .stype = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64",
        set_predicate,
    ),
    (
        "set.CmpOp{.BoolOp}.dtype.stype d, a, b{, c}; \
         .CmpOp = .eq .ne .lt .le .gt .ge .lo .ls .hi .hs; .BoolOp = .and .or .xor; \
         .dtype = .u32 .s32 .f32; .stype = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64",
        set,
    ),
    (
        "selp.type d, a, b, c; \
         .type = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64",
        select,
    ),
    (
        "slct.type.s32 d, a, b, c; \
         .type = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64",
        select_by_sign,
    ),
];

/// The comparison and its operands.
fn compared<'a>(
    l: &mut Lowering<'_, 'a>,
    m: &Matched<'_, 'a>,
) -> Lowered<(Compute, u16, Vec<ir::Operand>)> {
    let kind = m.class("stype");
    let (width, signed) = (width(kind)?, signed(kind));
    let compare = match m.class("CmpOp") {
        Some("eq") => Compare::Equal,
        Some("ne") => Compare::NotEqual,
        Some("lt") => Compare::Less { signed },
        Some("le") => Compare::LessEqual { signed },
        Some("gt") => Compare::Greater { signed },
        Some("ge") => Compare::GreaterEqual { signed },
        Some("lo") => Compare::Less { signed: false },
        Some("ls") => Compare::LessEqual { signed: false },
        Some("hi") => Compare::Greater { signed: false },
        _ => Compare::GreaterEqual { signed: false },
    };
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    Ok((Compute::Compare(compare), width, vec![a, b]))
}

/// The operation that combines the result of a comparison with a predicate.
fn combination(m: &Matched<'_, '_>) -> Option<Compute> {
    Some(match m.class("BoolOp")? {
        "and" => Compute::And,
        "or" => Compute::Or,
        _ => Compute::Xor,
    })
}

fn set_predicate<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (compare, width, operands) = compared(l, m)?;
    let p = l.exact(m.operand("p")?, 1)?;
    let combine = combination(m);
    let c = match m.optional("c") {
        Some(c) => Some(l.value(c, 1)?),
        None => None,
    };
    if combine.is_some() != c.is_some() {
        return Err(
            "a predicate is combined with a comparison by `.and`, `.or`, `.xor`".to_owned(),
        );
    }
    let combination = combine.zip(c);
    let Some(q) = m.optional("q") else {
        let Some((combine, c)) = combination else {
            return l.assign(p, compare, width, operands, false);
        };
        let holds = l.compute(compare, width, operands)?;
        return l.assign(p, combine, 1, vec![holds, c], false);
    };
    let q = l.exact(q, 1)?;
    let mut holds = l.compute(compare, width, operands)?;
    let mut fails = l.compute(Compute::Not, 1, vec![holds])?;
    if let Some((combine, c)) = combination {
        holds = l.compute(combine, 1, vec![holds, c])?;
        fails = l.compute(combine, 1, vec![fails, c])?;
    }
    l.put_all(vec![(p, holds, 1), (q, fails, 1)])
}

fn set<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (compare, width, operands) = compared(l, m)?;
    let mut holds = l.compute(compare, width, operands)?;
    if let (Some(combine), Some(c)) = (combination(m), m.optional("c")) {
        let c = l.value(c, 1)?;
        holds = l.compute(combine, 1, vec![holds, c])?;
    }
    let one = if m.class("dtype") == Some("f32") {
        u128::from(1_f32.to_bits())
    } else {
        u128::from(u32::MAX)
    };
    let d = l.result(m.operand("d")?, 32)?;
    let operands = vec![holds, ir::Operand::Constant(one), ir::Operand::Constant(0)];
    l.assign(d, Compute::Select, 32, operands, false)
}

fn select<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    let c = l.value(m.operand("c")?, 1)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, Compute::Select, width, vec![c, a, b], false)
}

/// `a` if `c` is not negative, otherwise `b`.
fn select_by_sign<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    let c = l.value(m.operand("c")?, 32)?;
    let at_least = Compute::Compare(Compare::GreaterEqual { signed: true });
    let c = l.compute(at_least, 32, vec![c, ir::Operand::Constant(0)])?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, Compute::Select, width, vec![c, a, b], false)
}
