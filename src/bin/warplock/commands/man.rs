//! `warplock man`: prints the manual page.

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;

/// Options of `man`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The page of one command; the main page if not given
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// Runs `man`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    // The title line of the page has room for a version of one line only.
    let mut command = crate::command().version(env!("CARGO_PKG_VERSION"));
    command.build();
    let command = match &arguments.command {
        None => command,
        Some(name) => command
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| Failure::input(format!("no command named `{name}`")))?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    session.terminal.out(&String::from_utf8_lossy(&page));
    Ok(Exit::Success)
}
