//! `--emit FORM -o PATH`: choosing the form and writing the file.

use std::io::IsTerminal;
use std::path::Path;

use warplock::repro::emit::Emission;

use super::output;

/// Reads the name of a form.
pub fn parse(text: &str) -> Result<Emission, String> {
    let found = Emission::ALL.into_iter().find(|form| form.name() == text);
    found.ok_or_else(|| {
        let names = Emission::ALL.map(Emission::name);
        format!("expected one of {}", names.join(", "))
    })
}

/// The form given or, failing that, the one that the file's name says.
pub fn form(given: Option<Emission>, path: Option<&Path>) -> Result<Emission, String> {
    if let Some(form) = given {
        return Ok(form);
    }
    let extension = path.and_then(Path::extension).and_then(|e| e.to_str());
    match extension {
        Some("json") => Ok(Emission::Json),
        Some("npz") => Ok(Emission::Npz),
        Some("safetensors") => Ok(Emission::Safetensors),
        Some("py") => Ok(Emission::Torch),
        _ => Err(
            "error: the name of the output file does not say its form: give --emit json, npz, \
             safetensors or torch\n"
                .to_owned(),
        ),
    }
}

/// Writes to the file or, without one, to stdout.
pub fn write(bytes: &[u8], form: Emission, path: Option<&Path>) -> Result<(), String> {
    match path {
        Some(path) => output::file(path, bytes).map_err(|message| format!("error: {message}\n")),
        None if !form.is_text() && std::io::stdout().is_terminal() => Err(format!(
            "error: {} is binary: give a file with -o PATH\n",
            form.name()
        )),
        None => output::result(bytes).map_err(|error| format!("error: {error}\n")),
    }
}
