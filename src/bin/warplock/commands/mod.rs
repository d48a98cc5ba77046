//! One file per command.

pub mod certify;
pub mod check;
pub mod completions;
mod concrete;
pub mod condition;
pub mod csr;
pub mod diff;
mod emission;
pub mod explain;
pub mod explore;
pub mod export;
pub mod fmt;
pub mod hang;
mod interactive;
pub mod lift;
pub mod lint;
pub mod man;
pub mod repair;
pub mod replay;
pub mod repro;
pub mod run;
pub mod simulate;
pub mod sweep;
pub mod trace;
pub mod worksheet;

use crate::cli::Command;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;

/// Does what a command says.
pub fn run(command: Command, session: &Session) -> Result<Exit, Failure> {
    match command {
        Command::Check(arguments) => check::run(arguments, session),
        Command::Certify(arguments) => certify::run(arguments, session),
        Command::Lift(arguments) => lift::run(arguments, session),
        Command::Lint(arguments) => lint::run(arguments, session),
        Command::Trace(arguments) => trace::run(arguments, session),
        Command::Csr(arguments) => csr::run(arguments, session),
        Command::Run(arguments) => run::run(arguments, session),
        Command::Condition(arguments) => condition::run(arguments, session),
        Command::Repair(arguments) => repair::run(arguments, session),
        Command::Repro(arguments) => repro::run(arguments, session),
        Command::Replay(arguments) => replay::run(arguments, session),
        Command::Simulate(arguments) => simulate::run(arguments, session),
        Command::Explore(arguments) => explore::run(arguments, session),
        Command::Export(arguments) => export::run(arguments, session),
        Command::Diff(arguments) => diff::run(arguments, session),
        Command::Sweep(arguments) => sweep::run(arguments, session),
        Command::Worksheet(arguments) => worksheet::run(arguments, session),
        Command::Hang(arguments) => hang::run(arguments, session),
        Command::Fmt(arguments) => fmt::run(arguments, session),
        Command::Explain(arguments) => explain::run(arguments, session),
        Command::Completions(arguments) => completions::run(arguments, session),
        Command::Man(arguments) => man::run(arguments, session),
    }
}
