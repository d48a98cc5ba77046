//! Parameters that are read in pieces.

use std::ops::Range;

use super::evaluate::bits_of;
use super::evaluate::destinations;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Operand;

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
