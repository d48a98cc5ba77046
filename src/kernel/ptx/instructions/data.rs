//! Instructions that concern data only: nothing is known of their results, and they neither
//! synchronize nor write to memory that control looks at.

use crate::ir;
use crate::ir::OperationKind;
use crate::ir::RegisterId;

use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Instruction;
use crate::ptx::resolved::Operand;
use crate::ptx::resolved::visit_operand;

/// Opcodes whose result depends on their operands only, in forms that are not lowered otherwise:
/// floating-point and packed numbers, saturation, video instructions.
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

/// Opcodes that read data, or work on what other lanes have, or tell the machine something.
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

/// Opcodes without a result. They write data that no control looks at, or nothing.
const SILENT: &[&str] = &[
    "sust",
    "sured",
    "stmatrix",
    "wmma.store",
    "tcgen05.st",
    "prefetch",
    "prefetchu",
    "applypriority",
    "discard",
    "cp.async.bulk.prefetch",
    "tensormap.replace",
    "tensormap.cp_fenceproxy",
    "pmevent",
    "brkpt",
    "stackrestore",
];

/// Whether an opcode begins with these words.
pub fn begins(instruction: &Instruction<'_>, words: &str) -> bool {
    let mut words = words.split('.');
    let own = std::iter::once(instruction.opcode).chain(instruction.modifiers.iter().copied());
    words.next() == Some(instruction.opcode)
        && own.skip(1).zip(words.clone()).all(|(a, b)| a == b)
        && words.count() <= instruction.modifiers.len()
}

/// Lowers an instruction that is of the lists above; `None` if it is of none.
pub fn lowered<'a>(l: &mut Lowering<'_, 'a>, instruction: &Instruction<'a>) -> Option<Lowered> {
    let among = |list: &[&str]| list.iter().any(|words| begins(instruction, words));
    if among(PURE) {
        return Some(written(l, instruction, true));
    }
    if among(READING) {
        return Some(written(l, instruction, false));
    }
    if among(SILENT) {
        let operands = read(l, &instruction.operands);
        l.emit(OperationKind::Opaque {
            mnemonic: instruction.mnemonic(),
            results: Vec::new(),
            operands,
            pure: false,
        });
        return Some(Ok(()));
    }
    None
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
    l.emit(OperationKind::Opaque {
        mnemonic: instruction.mnemonic(),
        results,
        operands,
        pure,
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

/// All that operands read. Constants count, as other constants may give other results.
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
