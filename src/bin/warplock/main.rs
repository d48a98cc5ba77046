//! The command line: reads arguments, runs one command, ends with its exit code.
//!
//! Results go to stdout, progress and diagnostics to stderr, both through `terminal`. Work that may take long runs in
//! separate threads, so that a signal can end the program at once.

mod cache;
mod cli;
mod commands;
mod exit;
mod failure;
mod files;
mod form;
mod graphs;
mod inputs;
mod interrupt;
mod kernel_options;
mod kernels;
mod memory;
mod options;
mod panics;
mod progress;
mod protocols;
mod session;
mod solver;
mod sources;
mod terminal;

use std::process;

use clap::CommandFactory;
use clap::FromArgMatches;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;
use crate::terminal::Color;
use crate::terminal::Output;

fn main() {
    panics::install();
    memory::keep_freed();
    let exit = match arguments() {
        Ok(cli) => {
            let session = Session::new(cli.output);
            let exit = run(cli, &session).unwrap_or_else(|failure| {
                session.failed(&failure);
                interrupt::told();
                failure.exit()
            });
            if session.terminal.failed() {
                exit.max(Exit::Input)
            } else {
                exit
            }
        }
        Err(error) => refused(&error),
    };
    // Workers may still run. Returning would not wait for them either, but this says so.
    process::exit(i32::from(exit.code()));
}

fn run(cli: Cli, session: &Session) -> Result<Exit, Failure> {
    interrupt::install()?;
    commands::run(cli.command, session)
}

fn arguments() -> Result<Cli, clap::Error> {
    let mut matches = command().try_get_matches()?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// The command line with the versions that `--version` prints.
fn command() -> clap::Command {
    let version = format!("{}\nZ3 {}", env!("CARGO_PKG_VERSION"), solver::version());
    Cli::command().version(&*version.leak())
}

/// Help and version go to stdout, usage errors to stderr.
fn refused(error: &clap::Error) -> Exit {
    let session = Session::new(Output {
        color: Color::Auto,
        quiet: false,
        verbose: false,
    });
    let text = error.render();
    if error.use_stderr() {
        let style = session.terminal.err_style();
        session.terminal.err(&shown(&text, style.color));
        return Exit::Input;
    }
    let style = session.terminal.out_style();
    session.terminal.out(&shown(&text, style.color));
    Exit::Success
}

fn shown(text: &clap::builder::StyledStr, color: bool) -> String {
    if color {
        text.ansi().to_string()
    } else {
        text.to_string()
    }
}
