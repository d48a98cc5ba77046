//! Parameters and registers that are read with another size than they are written.

use std::ops::Range;

use super::evaluate::bits_of;
use super::evaluate::destinations;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;

/// Whether some of these bytes of a parameter are also read as part of something that begins elsewhere: what the two have
/// in common is not followed. Of words that begin at the same place, the smaller is the low part of the other.
pub(super) fn in_pieces(function: &Function<'_>, index: usize, here: Range<i64>) -> bool {
    let Some(parameter) = function.parameters.get(index).filter(|p| p.bytes > 4) else {
        return false;
    };
    function.code.iter().any(|instruction| {
        let (true, Some(Operand::Address { base, offset, .. })) = (
            instruction.opcode.starts_with("ld."),
            instruction.operands.get(1),
        ) else {
            return false;
        };
        if **base != Operand::Name(parameter.name) {
            return false;
        }
        let parts: Vec<&str> = instruction.parts().collect();
        let bytes = i64::from(bits_of(&parts).unwrap_or(8) / 8);
        let several = i64::try_from(destinations(instruction).len()).unwrap_or(1);
        (0..several).any(|k| {
            let start = offset + k * bytes;
            start != here.start && start < here.end && here.start < start + bytes
        })
    })
}

/// Instructions that read all bits of a register that their type has.
const WHOLE: [&str; 18] = [
    "add", "sub", "mul", "mad", "and", "or", "xor", "not", "neg", "min", "max", "div", "rem",
    "setp", "selp", "mov", "cvt", "st",
];

/// Instructions that do so with their first operand.
const FIRST: [&str; 4] = ["shl", "shr", "bfe", "abs"];

/// Whether a register to which so many bits are written is read somewhere as a wider one: what is filled up above them
/// counts there.
pub(super) fn read_wider(function: &Function<'_>, register: Register, bits: u32) -> bool {
    let own = Operand::Register(register);
    function.code.iter().any(|instruction| {
        let Some(place) = instruction.operands.iter().rposition(|o| *o == own) else {
            return false;
        };
        let parts: Vec<&str> = instruction.parts().collect();
        let verb = parts.first().copied().unwrap_or_default();
        let reads = match place {
            0 => false,
            1 => FIRST.contains(&verb) || WHOLE.contains(&verb),
            _ => WHOLE.contains(&verb),
        };
        let Some(width) = bits_of(&parts).filter(|_| reads) else {
            return false;
        };
        let sums = place == 3 && parts.contains(&"wide");
        width * if sums { 2 } else { 1 } > bits
    })
}
