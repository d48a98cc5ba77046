//! Prints a panic as one line with its source location.

use std::io;
use std::io::Write;
use std::panic;

/// Replaces the default report, which with `RUST_BACKTRACE` set gathers a backtrace under a lock
/// that the report of a failed allocation takes as well: out of memory, the program would wait
/// for itself forever instead of ending.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or("?", |location| location.file());
        let line = info.location().map_or(0, panic::Location::line);
        // Nobody can be told when this fails. The message itself follows as an internal error.
        let _ = writeln!(io::stderr().lock(), "panic at {place}:{line}");
    }));
}
