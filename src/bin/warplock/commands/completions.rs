//! `warplock completions`: prints a completion script for a shell.

use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;

/// Options of `completions`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Runs `completions`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut crate::command(),
        "warplock",
        &mut script,
    );
    session.terminal.out(&String::from_utf8_lossy(&script));
    Ok(Exit::Success)
}
