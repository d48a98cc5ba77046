//! Operations on bits: logic, shifts, `lop3` tables, permutations.

use crate::ir;
use crate::ir::Compute;

use super::Lower;
use super::signed;
use super::width;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Operand;

pub const FORMS: &[(&str, Lower)] = &[
    ("and.type d, a, b; .type = .pred .b16 .b32 .b64", binary),
    ("or.type d, a, b; .type = .pred .b16 .b32 .b64", binary),
    ("xor.type d, a, b; .type = .pred .b16 .b32 .b64", binary),
    ("not.type d, a; .type = .pred .b16 .b32 .b64", not),
    ("shl.type d, a, b; .type = .b16 .b32 .b64", shift),
    (
        "shr.type d, a, b; .type = .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64",
        shift,
    ),
    (
        "shf.direction.mode.b32 d, a, b, c; .direction = .l .r; .mode = .clamp .wrap",
        funnel,
    ),
    ("lop3.b32 d, a, b, c, immLut", table),
    ("prmt.b32 d, a, b, c", permute),
];

fn binary<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let compute = match m.instruction.opcode {
        "and" => Compute::And,
        "or" => Compute::Or,
        _ => Compute::Xor,
    };
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, width)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, compute, width, vec![a, b], false)
}

fn not<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let a = l.value(m.operand("a")?, width)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, Compute::Not, width, vec![a], false)
}

fn shift<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let kind = m.class("type");
    let (width, signed) = (width(kind)?, signed(kind));
    let compute = match m.instruction.opcode {
        "shl" => Compute::ShiftLeft,
        _ => Compute::ShiftRight { signed },
    };
    let a = l.value(m.operand("a")?, width)?;
    let b = l.value(m.operand("b")?, 32)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, compute, width, vec![a, b], signed)
}

fn funnel<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let compute = Compute::FunnelShift {
        left: m.has("l"),
        wrap: m.has("wrap"),
    };
    three(l, m, compute)
}

fn table<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let Operand::Integer(table) = m.operand("immLut")? else {
        return Err("the table is no constant".to_owned());
    };
    let table = u8::try_from(*table).map_err(|_| "a table of more than 8 bits".to_owned())?;
    three(l, m, Compute::Logic3 { table })
}

fn permute<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    three(l, m, Compute::Permute)
}

fn three<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>, compute: Compute) -> Lowered {
    let operands: Vec<ir::Operand> = ["a", "b", "c"]
        .iter()
        .map(|name| l.value(m.operand(name)?, 32))
        .collect::<Lowered<_>>()?;
    let d = l.result(m.operand("d")?, 32)?;
    l.assign(d, compute, 32, operands, false)
}
