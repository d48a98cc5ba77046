//! `warplock fmt`: formats protocol files.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use warplock::report::style::Style;
use warplock::text;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::session::Session;
use crate::sources;

/// Options of `fmt`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Protocol files; a folder stands for all .wlk files below it, - for standard input, which
    /// is laid out to standard output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Change nothing, name the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
}

/// Runs `fmt`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    for file in sources::files(&arguments.files) {
        let done = file.and_then(|path| one(&path, arguments.check, session));
        match done {
            Ok(ended) => exit = exit.max(ended),
            Err(failure) => {
                session.failed(&failure);
                exit = exit.max(failure.exit());
            }
        }
    }
    Ok(exit)
}

fn one(path: &Path, check: bool, session: &Session) -> Result<Exit, Failure> {
    let bytes = sources::read(path)?;
    let name = sources::name_of(path);
    let formatted = formatted(&bytes, &name, session.terminal.err_style())?;
    let changed = formatted.as_bytes() != bytes;
    if check {
        if changed {
            session.terminal.out(&format!("{name}\n"));
            return Ok(Exit::Refuted);
        }
    } else if sources::is_stdin(path) {
        session.terminal.out(&formatted);
    } else if changed {
        files::write(path, formatted.as_bytes())?;
    }
    Ok(Exit::Success)
}

fn formatted(bytes: &[u8], name: &str, style: Style) -> Result<String, Failure> {
    // `load_bytes` reports text that is not UTF-8, so that every command reports it with the same words.
    let source = match std::str::from_utf8(bytes) {
        Ok(source) => source,
        Err(_) => {
            sources::load_bytes(bytes, name, style)?;
            return Err(Failure::input(format!("{name} is not UTF-8")));
        }
    };
    text::format(source).map_err(|findings| Failure::text(&findings, name, source, style))
}
