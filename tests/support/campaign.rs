//! How much a comparison does, and where it says what it came to.
//!
//! `WARPLOCK_CASES` multiplies the number of cases (20 takes a few minutes in a release build),
//! `WARPLOCK_SEED` moves on to other ones, and `WARPLOCK_CASES_LOG` names a file that gets a line
//! of figures and the text of whatever should not be.

use std::fs;
use std::io::Write as _;

/// A number from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// Adds a line to the file that `WARPLOCK_CASES_LOG` names, if it names one.
pub fn log(line: &str) {
    if let Ok(path) = std::env::var("WARPLOCK_CASES_LOG") {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.unwrap(), "{line}").unwrap();
    }
}
