//! Arithmetic of machine numbers that is exact: what does not fit is refused, and never another number.
//!
//! Everywhere else in this room the lints of `trusted/mod.rs` and `clippy.toml` forbid operators
//! and methods that wrap, saturate or overflow. Numbers of any size are [`num_bigint::BigInt`]s.

use super::unsupported::Unsupported;

/// A sum.
///
/// # Errors
///
/// One beyond 64 bits.
pub fn sum(a: i64, b: i64) -> Result<i64, Unsupported> {
    a.checked_add(b).ok_or_else(too_large)
}

/// A difference.
///
/// # Errors
///
/// One beyond 64 bits.
pub fn difference(a: i64, b: i64) -> Result<i64, Unsupported> {
    a.checked_sub(b).ok_or_else(too_large)
}

/// A product.
///
/// # Errors
///
/// One beyond 64 bits.
pub fn product(a: i64, b: i64) -> Result<i64, Unsupported> {
    a.checked_mul(b).ok_or_else(too_large)
}

/// A position or a length as a number.
///
/// # Errors
///
/// One beyond 63 bits.
pub fn number(position: usize) -> Result<i64, Unsupported> {
    i64::try_from(position).map_err(|_| too_large())
}

/// The representative of a number in `0..size`, as a position.
///
/// # Errors
///
/// A size below 1.
pub fn around(value: i64, size: i64) -> Result<usize, Unsupported> {
    let rest = value.checked_rem_euclid(size).filter(|_| size > 0);
    let rest = rest.and_then(|rest| usize::try_from(rest).ok());
    rest.ok_or_else(too_large)
}

/// The refusal of a number that does not fit.
pub fn too_large() -> Unsupported {
    Unsupported::whole("numbers beyond 64 bits")
}

/// The position after this one. Positions are those of what is in memory, of which there are fewer than half of all numbers.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "no list has as many entries as there are numbers"
)]
pub fn next(position: usize) -> usize {
    position + 1
}

/// The position so many entries behind another, or the length of two lists together.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "no two lists together have as many entries as there are numbers"
)]
pub fn together(a: usize, b: usize) -> usize {
    a + b
}
