//! Moves, conversions and addresses.

use crate::ir;
use crate::ir::Compute;
use crate::ir::OperationKind;
use crate::ir::Space;

use super::Lower;
use super::signed;
use super::width;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Memory;
use crate::ptx::resolved::Operand;

pub const FORMS: &[(&str, Lower)] = &[
    (
        "mov.type d, a; .type = .pred .b16 .b32 .b64 .b128 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64",
        move_value,
    ),
    ("mov.vec.type d, a", move_vector),
    ("mov.argument d, a", pass),
    (
        "cvt.dtype.atype d, a; .dtype = .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64; \
         .atype = .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64",
        convert,
    ),
    ("cvta.space.size p, a; .size = .u32 .u64", to_generic),
    ("cvta.to.space.size p, a; .size = .u32 .u64", from_generic),
    (
        "mapa{.shared::cluster}.type d, a, b; .type = .u32 .u64",
        map,
    ),
    (
        "getctarank{.shared::cluster}.type d, a; .type = .u32 .u64",
        rank,
    ),
];

fn move_value<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let (d, a) = (m.operand("d")?, m.operand("a")?);
    if let Operand::Vector(parts) = d {
        return unpack(l, parts, a, width);
    }
    let d = l.result(d, width)?;
    match a {
        Operand::Special(special, own) if *own == l.width(d) => {
            l.emit(OperationKind::Special {
                result: d,
                special: *special,
            });
            Ok(())
        }
        Operand::Vector(parts) => {
            let count = u16::try_from(parts.len()).unwrap_or(u16::MAX);
            if count == 0 || !width.is_multiple_of(count) {
                return Err(format!("{count} parts of {width} bits"));
            }
            let each = width / count;
            let values: Vec<ir::Operand> = parts
                .iter()
                .map(|part| l.value(part, each))
                .collect::<Lowered<_>>()?;
            l.assign(d, Compute::Concatenate, each, values, false)
        }
        Operand::Variable(memory @ (Memory::Module(_) | Memory::Own(_)), 0)
            if l.width(d) == width =>
        {
            let variable = l.variable(*memory)?;
            l.emit(OperationKind::AddressOf {
                result: d,
                variable,
                generic: false,
            });
            Ok(())
        }
        // The type of the address of a function does not matter.
        Operand::Name(name) => {
            l.emit(OperationKind::Opaque {
                mnemonic: format!("address of {name}"),
                results: vec![d],
                operands: Vec::new(),
                pure: true,
                write: None,
                rows: None,
            });
            Ok(())
        }
        Operand::Special(_, own) if *own > width => {
            let value = l.value(a, width)?;
            let low = Compute::Extract { low: 0, to: width };
            l.assign(d, low, *own, vec![value], false)
        }
        _ => {
            let value = l.value(a, width)?;
            l.assign(d, Compute::Copy, width, vec![value], false)
        }
    }
}

fn move_vector<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let each = width(m.class("type"))?;
    let Operand::Vector(parts) = m.operand("d")? else {
        return Err("the result is no vector".to_owned());
    };
    let count = u16::try_from(parts.len()).unwrap_or(u16::MAX);
    unpack(l, parts, m.operand("a")?, each.saturating_mul(count))
}

/// Parts of a value, the least significant first.
fn unpack<'a>(
    l: &mut Lowering<'_, 'a>,
    parts: &[Operand<'a>],
    value: &Operand<'a>,
    width: u16,
) -> Lowered {
    let count = u16::try_from(parts.len()).unwrap_or(u16::MAX);
    if count == 0 || !width.is_multiple_of(count) {
        return Err(format!("{count} parts of {width} bits"));
    }
    let each = width / count;
    if let Operand::Vector(values) = value {
        // From vector to vector, component by component. All components are read before one is written.
        if values.len() != parts.len() {
            return Err("vectors of different length".to_owned());
        }
        let mut all = Vec::new();
        for (part, value) in parts.iter().zip(values) {
            let value = l.value(value, each)?;
            let value = l.compute(Compute::Copy, each, vec![value])?;
            all.push((l.result(part, each)?, value, each));
        }
        return l.put_all(all);
    }
    let value = l.value(value, width)?;
    for (part, low) in parts.iter().zip((0..width).step_by(usize::from(each))) {
        if *part == Operand::Sink {
            continue;
        }
        let d = l.result(part, each)?;
        l.assign(
            d,
            Compute::Extract { low, to: each },
            width,
            vec![value],
            false,
        )?;
    }
    Ok(())
}

/// Lowers a value that is passed to a function in a register.
fn pass<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = match (m.operand("d")?, m.operand("a")?) {
        (_, Operand::Register(register)) | (Operand::Register(register), _) => l.width(*register),
        _ => return Err("neither is a register".to_owned()),
    };
    let value = l.value(m.operand("a")?, width)?;
    let d = l.result(m.operand("d")?, width)?;
    l.assign(d, Compute::Copy, width, vec![value], false)
}

/// Cuts the value to the type that is read, extends it to the type that is written, and then to the register.
fn convert<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (to, from) = (m.class("dtype"), m.class("atype"));
    let (wide, narrow) = (width(to)?, width(from)?);
    let value = l.value(m.operand("a")?, narrow)?;
    let d = l.result(m.operand("d")?, wide)?;
    let convert = Compute::Convert {
        to: wide,
        signed: signed(from),
    };
    l.assign(d, convert, narrow, vec![value], signed(to))
}

fn named_space(name: Option<&str>) -> Lowered<Space> {
    Ok(match name {
        Some("const") => Space::Constant,
        Some("global") => Space::Global,
        Some("local") => Space::Local,
        Some("shared" | "shared::cta") => Space::Shared,
        Some("shared::cluster") => Space::Cluster,
        Some("param" | "param::entry") => Space::Parameter,
        _ => return Err("no space that addresses can be of".to_owned()),
    })
}

fn to_generic<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("size"))?;
    let result = l.exact(m.operand("p")?, width)?;
    let mut space = named_space(m.class("space"))?;
    let a = m.operand("a")?;
    if let Operand::Variable(memory, _) = a
        && space == Space::Parameter
    {
        // An argument of an inlined function is a variable.
        space = l.space_of(*memory);
    }
    let address = l.address(a)?;
    l.emit(OperationKind::ConvertAddress {
        result,
        address,
        space,
        to_generic: true,
    });
    Ok(())
}

fn from_generic<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("size"))?;
    let result = l.exact(m.operand("p")?, width)?;
    let space = named_space(m.class("space"))?;
    let address = l.value(m.operand("a")?, width)?;
    l.emit(OperationKind::ConvertAddress {
        result,
        address,
        space,
        to_generic: false,
    });
    Ok(())
}

fn map<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let result = l.exact(m.operand("d")?, width)?;
    let generic = !m.has("shared::cluster");
    let a = m.operand("a")?;
    let mut address = l.address(a)?;
    if generic && matches!(a, Operand::Variable(..)) {
        address = l.converted(address, Space::Shared, true);
    }
    let rank = l.value(m.operand("b")?, 32)?;
    l.emit(OperationKind::MapAddress {
        result,
        address,
        rank,
        generic,
    });
    Ok(())
}

fn rank<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let result = l.exact(m.operand("d")?, 32)?;
    let generic = !m.has("shared::cluster");
    let a = m.operand("a")?;
    let mut address = l.address(a)?;
    if generic && matches!(a, Operand::Variable(..)) {
        address = l.converted(address, Space::Shared, true);
    }
    l.emit(OperationKind::CtaRank {
        result,
        address,
        generic,
    });
    Ok(())
}
