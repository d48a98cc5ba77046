//! Prints a panic as one line with its source location.

use std::io;
use std::io::Write;
use std::panic;

/// Replaces the default panic message. With `RUST_BACKTRACE`, the default collects a backtrace under
/// a lock. The message of a failed allocation takes the same lock. So without this hook, a program
/// that is out of memory would deadlock instead of ending.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or("?", |location| location.file());
        let line = info.location().map_or(0, panic::Location::line);
        // An error here cannot be reported. The message of the panic follows as an internal error.
        let _ = writeln!(io::stderr().lock(), "panic at {place}:{line}");
    }));
}
