//! Where results go, and what an exit status means.

use std::fs;
use std::io;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use serde_json::json;

/// Every property proved.
pub const PROVED: u8 = 0;
/// At least one refuted.
pub const REFUTED: u8 = 1;
/// The command line or a file is at fault.
pub const USAGE: u8 = 2;
/// At least one bounded, none refuted.
pub const BOUNDED: u8 = 3;
/// At least one unknown, none refuted.
pub const UNKNOWN: u8 = 4;
/// An error of the program.
pub const INTERNAL: u8 = 101;

/// Reports a mistake of the user's.
pub fn usage(message: &str) -> ExitCode {
    diagnostic(&format!("error: {message}\n"));
    ExitCode::from(USAGE)
}

/// Writes to stderr; a closed one is nobody's problem.
pub fn diagnostic(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a result to stdout. A reader that has gone is no error.
pub fn result(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a file as a whole or not at all.
pub fn file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let written = || -> io::Result<()> {
        if path.exists() && !path.is_file() {
            // A device or a pipe, such as /dev/stdout.
            return fs::write(path, bytes);
        }
        let mut partial = tempfile::Builder::new()
            .permissions(permissions())
            .tempfile_in(folder)?;
        partial.write_all(bytes)?;
        partial.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// What a new file may be read by, before the umask.
fn permissions() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o666)
}

/// The JSON document around one result.
pub fn document(result: &Value) -> String {
    let document = json!({
        "schema": 1,
        "tool": "warplock",
        "version": env!("CARGO_PKG_VERSION"),
        "z3": z3::full_version(),
        "results": [result],
    });
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text + "\n"
}
