//! The linked Z3.

use crate::failure::Failure;

/// The oldest version of Z3 with which this program is tested.
const OLDEST: (u32, u32) = (5, 3);

/// The version of the linked Z3: `5.4.0.0`.
pub fn version() -> &'static str {
    let full = z3::full_version();
    let mut words = full.split_whitespace();
    words
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(full)
}

/// Refuses a Z3 that is too old.
pub fn check() -> Result<(), Failure> {
    let found = version();
    let mut parts = found.split('.').map(|part| part.parse::<u32>().ok());
    let number = (parts.next().flatten(), parts.next().flatten());
    match number {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(()),
        _ => Err(Failure::Refused(format!(
            "the Z3 library is version {found}; {}.{} or newer is needed",
            OLDEST.0, OLDEST.1
        ))),
    }
}
