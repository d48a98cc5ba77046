//! `warplock run`: runs a program and decides the properties of the kernels that it compiles.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process;
use std::process::ExitStatus;

use clap::Args;
use warplock_artifacts::hooks;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::inputs::program;
use crate::session::Session;
use crate::solver;

use super::check;

/// Options of `run`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The program and its arguments, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Keep what the program compiles in this new folder; it is deleted if not given
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// What to decide.
    #[command(flatten)]
    pub options: check::Options,
}

/// Runs `run`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    // The temporary folder, which is deleted when this function returns.
    let private;
    let folder = match &arguments.keep {
        Some(folder) => empty(folder)?,
        None => {
            private = tempfile::tempdir().map_err(|error| {
                Failure::input(format!("cannot make a temporary folder: {error}"))
            })?;
            private.path().to_owned()
        }
    };
    let ended = run_in(&folder, &arguments, session)?;
    let mut exit = Exit::Success;
    if !ended.success() {
        session.failed(&Failure::input(format!(
            "the program {}",
            program::how(ended)
        )));
        exit = Exit::Input;
    }
    let Some(inputs) = inputs::left_in(&folder, arguments.keep.is_some()) else {
        let hint = match ended.success() {
            true => {
                "kernels of Triton, CuTe DSL, TileLang and DeepGEMM are kept; give others as files: see warplock check --help"
            }
            false => {
                "its own message is above; where there is no GPU, `warplock check FILE.py` gives Triton a stand-in for it"
            }
        };
        return Err(Failure::input("the program compiled no kernel that was kept").hint(hint));
    };
    Ok(exit.max(check::decide(inputs, &arguments.options, session)?))
}

fn run_in(folder: &Path, arguments: &Arguments, session: &Session) -> Result<ExitStatus, Failure> {
    for name in hooks::FOLDERS {
        files::folder(&folder.join(name))?;
    }
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(Failure::input("no program is given").hint("warplock run -- python train.py"));
    };
    let mut command = process::Command::new(program);
    command.args(rest).envs(hooks::variables(folder));
    // In this format, stdout has one document and nothing else, so the program's output goes to stderr.
    if arguments.options.format != check::Format::Text {
        command.stdout(io::stderr());
    }
    session.progress.bars().suspend(|| program::run(command))
}

/// An empty folder, as an absolute path, because the program may change its working directory.
fn empty(folder: &Path) -> Result<PathBuf, Failure> {
    files::folder(folder)?;
    let failed = |error: io::Error| Failure::file("read", folder, error);
    if fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(Failure::input(format!(
            "{} is not empty, so what is compiled would mix with what is there",
            crate::sources::name_of(folder)
        ))
        .hint("give a new folder to --keep"));
    }
    fs::canonicalize(folder).map_err(failed)
}
