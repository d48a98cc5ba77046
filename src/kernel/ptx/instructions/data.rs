//! Instructions that concern data only. They do not synchronize. Their results are unknown, and so are the values
//! that they write to memory.
//!
//! An instruction without a result that has an address is taken to write there, unless the table says that it only
//! reads. For example, `wmma.store [p], {..}` writes at `p`. Anything at this place before, such as an mbarrier, is
//! overwritten.

use crate::ir;
use crate::ir::OperationKind;
use crate::ir::RegisterId;

use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Instruction;
use crate::ptx::resolved::Operand;
use crate::ptx::resolved::visit_operand;

/// Opcodes whose result depends only on their operands, in those forms that are not lowered otherwise: floating-point
/// and packed numbers, saturation, video instructions.
const PURE: &[&str] = &[
    "add",
    "sub",
    "mul",
    "mad",
    "mul24",
    "mad24",
    "fma",
    "div",
    "rem",
    "abs",
    "neg",
    "min",
    "max",
    "sad",
    "rcp",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "lg2",
    "ex2",
    "tanh",
    "testp",
    "copysign",
    "set",
    "setp",
    "selp",
    "slct",
    "cvt",
    "bfind",
    "fns",
    "bmsk",
    "szext",
    "dp2a",
    "dp4a",
    "prmt",
    "lop3",
    "vadd",
    "vsub",
    "vabsdiff",
    "vmin",
    "vmax",
    "vshl",
    "vshr",
    "vmad",
    "vset",
    "vadd2",
    "vsub2",
    "vavrg2",
    "vabsdiff2",
    "vmin2",
    "vmax2",
    "vset2",
    "vadd4",
    "vsub4",
    "vavrg4",
    "vabsdiff4",
    "vmin4",
    "vmax4",
    "vset4",
    "isspacep",
    "istypep",
    "createpolicy",
    "clusterlaunchcontrol.query_cancel",
];

/// Opcodes that read data, exchange values with other lanes, or give hints to the machine.
const READING: &[&str] = &[
    "tex",
    "tld4",
    "txq",
    "suld",
    "suq",
    "ldmatrix",
    "movmatrix",
    "mma",
    "wmma.load",
    "wmma.mma",
    "multimem.ld_reduce",
    "tcgen05.ld",
    "alloca",
    "stacksave",
];

/// Opcodes without a result that write to no addressable memory: at most to surfaces and to tensor memory.
const SILENT: &[&str] = &[
    "sust",
    "sured",
    "tcgen05.st",
    "prefetch",
    "prefetchu",
    "applypriority",
    "cp.async.bulk.prefetch",
    "pmevent",
    "brkpt",
    "stackrestore",
];

/// How many bytes an instruction writes from its address on.
enum Extent {
    /// Exactly this many bytes.
    Bytes(u64),
    /// At least this many bytes.
    AtLeast(u64),
    /// As many bytes as this operand says.
    Operand(usize),
}

/// The size of a tensor map.
const MAP: u64 = 128;

/// Opcodes without a result whose first operand is the address that they write to.
const WRITING: &[(&str, Extent)] = &[
    // Each lane names a row of 16 bytes.
    ("stmatrix", Extent::Bytes(16)),
    // A row, and further rows at a stride.
    ("wmma.store", Extent::AtLeast(16)),
    ("st.bulk", Extent::Operand(1)),
    // The contents afterwards are undetermined.
    ("discard", Extent::Operand(1)),
    ("tensormap.replace", Extent::Bytes(MAP)),
    ("tensormap.cp_fenceproxy", Extent::Bytes(MAP)),
];

/// Whether an opcode begins with these words.
pub fn begins(instruction: &Instruction<'_>, words: &str) -> bool {
    let mut words = words.split('.');
    let own = std::iter::once(instruction.opcode).chain(instruction.modifiers.iter().copied());
    words.next() == Some(instruction.opcode)
        && own.skip(1).zip(words.clone()).all(|(a, b)| a == b)
        && words.count() <= instruction.modifiers.len()
}

/// Lowers an instruction that is in the lists above; `None` if it is in none of them.
pub fn lowered<'a>(l: &mut Lowering<'_, 'a>, instruction: &Instruction<'a>) -> Option<Lowered> {
    let among = |list: &[&str]| list.iter().any(|words| begins(instruction, words));
    if among(PURE) {
        return Some(written(l, instruction, true));
    }
    if among(READING) {
        return Some(written(l, instruction, false));
    }
    if among(SILENT) {
        return Some(silent(l, instruction, None, None));
    }
    let mut writing = WRITING.iter();
    let (_, extent) = writing.find(|(words, _)| begins(instruction, words))?;
    Some(storing(l, instruction, extent))
}

/// An operation that writes to the address that is its first operand.
fn storing<'a>(
    l: &mut Lowering<'_, 'a>,
    instruction: &Instruction<'a>,
    extent: &Extent,
) -> Lowered {
    let Some(first @ Operand::Address { .. }) = instruction.operands.first() else {
        return Err("the first operand is no address".to_owned());
    };
    let spaces = ["global", "shared", "shared::cta", "shared::cluster"];
    // For a copy, the first one is the destination.
    let mut named = instruction.modifiers.iter().copied();
    let named = named.find(|modifier| spaces.contains(modifier));
    let space = l.space(named, first)?;
    let address = l.address(first)?;
    let bytes = match extent {
        Extent::Bytes(bytes) => Some(*bytes),
        Extent::AtLeast(_) => None,
        Extent::Operand(place) => match instruction.operands.get(*place) {
            Some(Operand::Integer(bytes)) => u64::try_from(*bytes).ok(),
            _ => None,
        },
    };
    let least = match extent {
        Extent::AtLeast(bytes) => *bytes,
        _ => 1,
    };
    let write = ir::Write {
        space,
        address,
        bytes: bytes.unwrap_or(least),
        further: bytes.is_none(),
    };
    let rows = rows(instruction).map(|count| ir::Rows {
        space,
        address,
        count,
        writes: true,
    });
    silent(l, instruction, Some(write), rows)
}

/// How many lanes give the address of a row of 16 bytes, if the instruction accesses no other memory.
fn rows(instruction: &Instruction<'_>) -> Option<u32> {
    let of_matrices = matches!(instruction.opcode, "ldmatrix" | "stmatrix");
    let has = |word: &str| instruction.modifiers.contains(&word);
    if !of_matrices || !has("m8n8") || !has("b16") {
        return None;
    }
    let counts = [("x1", 8), ("x2", 16), ("x4", 32)];
    let found = counts.into_iter().find(|(word, _)| has(word));
    found.map(|(_, count)| count)
}

/// The rows that `ldmatrix` reads, if its form is one whose rows are known.
fn rows_read<'a>(
    l: &mut Lowering<'_, 'a>,
    instruction: &Instruction<'a>,
) -> Result<Option<ir::Rows>, String> {
    let Some(count) = rows(instruction) else {
        return Ok(None);
    };
    let Some(operand @ Operand::Address { .. }) = instruction.operands.get(1) else {
        return Ok(None);
    };
    let spaces = ["shared", "shared::cta"];
    let mut named = instruction.modifiers.iter().copied();
    let named = named.find(|modifier| spaces.contains(modifier));
    Ok(Some(ir::Rows {
        space: l.space(named, operand)?,
        address: l.address(operand)?,
        count,
        writes: false,
    }))
}

/// An operation without a result.
fn silent<'a>(
    l: &mut Lowering<'_, 'a>,
    instruction: &Instruction<'a>,
    write: Option<ir::Write>,
    rows: Option<ir::Rows>,
) -> Lowered {
    let operands = read(l, &instruction.operands);
    l.emit(OperationKind::Opaque {
        mnemonic: instruction.mnemonic(),
        results: Vec::new(),
        operands,
        pure: false,
        write,
        rows,
    });
    Ok(())
}

/// An operation whose results are the registers of the first operand.
pub fn written<'a>(l: &mut Lowering<'_, 'a>, instruction: &Instruction<'a>, pure: bool) -> Lowered {
    let Some((first, rest)) = instruction.operands.split_first() else {
        return Err("an instruction without a result".to_owned());
    };
    let results = registers(std::slice::from_ref(first));
    if matches!(first, Operand::Address { .. }) {
        return Err("the result is no register".to_owned());
    }
    let operands = read(l, rest);
    let rows = rows_read(l, instruction)?;
    l.emit(OperationKind::Opaque {
        mnemonic: instruction.mnemonic(),
        results,
        operands,
        pure,
        write: None,
        rows,
    });
    Ok(())
}

/// All registers that operands name.
pub fn registers(operands: &[Operand<'_>]) -> Vec<RegisterId> {
    let mut found = Vec::new();
    for operand in operands {
        visit_operand(operand, &mut |operand| {
            if let Operand::Register(register) = operand
                && !found.contains(register)
            {
                found.push(*register);
            }
        });
    }
    found
}

/// All registers and constants that operands read. Constants are included, because another constant may give another
/// result.
fn read<'a>(l: &mut Lowering<'_, 'a>, operands: &[Operand<'a>]) -> Vec<ir::Operand> {
    let mut found = Vec::new();
    for operand in operands {
        visit_operand(operand, &mut |operand| {
            let value = match operand {
                Operand::Register(register) | Operand::Not(register) => {
                    Some(ir::Operand::Register(*register))
                }
                Operand::Integer(value) => Some(ir::Operand::Constant(value.cast_unsigned())),
                Operand::Float(bits, _) => Some(ir::Operand::Constant(u128::from(*bits))),
                Operand::Special(_, width) => l.value(operand, *width).ok(),
                Operand::Variable(..) => l.address(operand).ok(),
                _ => None,
            };
            found.extend(value);
        });
    }
    found
}
