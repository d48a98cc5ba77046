//! Shared addresses that wrap around before they are widened. Compilers add the offset of a stage in 64 bits, since the
//! place in global memory is computed in 64 bits anyway. They add it to an address from which whole turns of the ring
//! were subtracted in 32 bits: `cvt.u64.u32 (b - 3072 * (t / 3))` plus `1024 * t`. The 32-bit value is far below 0. So
//! the widened value is written as a remainder by 2^32, which is right for every value. The remainder is removed again
//! where only the low 32 bits are used.

use super::machine::Machine;
use super::machine::Meaning;
use super::machine::State;
use super::term::Sum;
use super::value::Integer;

impl Machine<'_, '_> {
    /// What bits that wrap around mean with this sign and width: those of a shared address, or of what is certainly negative
    /// where no sign is read. Of other numbers it may be assumed that they do not wrap around.
    pub(super) fn around(
        &self,
        value: &Integer,
        (signed, bits): (bool, u32),
        state: &State,
    ) -> Option<Integer> {
        let shared = |u| matches!(self.unknowns.meaning(u), Some(Meaning::Shared(_)));
        let below_zero = !signed && state.facts.range(&value.sum).1 <= 0;
        if value.lanes.is_some() || !below_zero && !value.sum.mentions(&shared) {
            return None;
        }
        low_bits(value, (signed, bits), state)
    }

    /// Whether a number is made of what the launch gives only.
    pub(super) fn is_of_launch(&self, value: &Integer) -> bool {
        let other = |u| {
            !matches!(
                self.unknowns.meaning(u),
                Some(Meaning::Parameter(..) | Meaning::Blocks(_))
            )
        };
        !value.sum.mentions(&other) && !value.sum.reads_memory()
    }
}

/// What the low bits of a number mean with this sign, written out as a remainder.
pub(super) fn low_bits(
    value: &Integer,
    (signed, bits): (bool, u32),
    state: &State,
) -> Option<Integer> {
    if value.lanes.is_some() {
        return None;
    }
    let full = 1i128 << bits;
    let below = if signed { full / 2 } else { 0 };
    let moved = value.sum.plus_constant(below);
    let rest = state.facts.modulo(&moved, &Sum::of(full))?;
    Some(Integer::same(rest.plus_constant(-below)))
}
