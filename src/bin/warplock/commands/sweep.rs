//! `warplock sweep`: checks every kernel of a folder or a cache once, and prints one table.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::session::Session;
use crate::solver;

use super::check;

/// Options of `sweep`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Folders, of which every kernel and protocol is decided once, or single files
    #[arg(required = true, value_name = "DIR")]
    pub files: Vec<PathBuf>,
    /// What to decide.
    #[command(flatten)]
    pub options: check::Options,
}

/// Runs `sweep`. The exit code is the worst of all results.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let Arguments { files, options } = arguments;
    let inputs = inputs::of(
        &files,
        options.kernels.entry.as_deref(),
        &options.kernels.compiler,
        session,
    )?;
    check::sweep(inputs, &options, session)
}
