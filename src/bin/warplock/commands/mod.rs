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
pub mod lsp;
pub mod man;
pub mod repair;
pub mod replay;
pub mod repro;
pub mod run;
pub mod simulate;
pub mod sweep;
pub mod trace;
pub mod worksheet;

use clap::Subcommand;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;

/// The commands, each in a file of its own.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Decide the properties of protocols and kernels
    Check(check::Arguments),
    /// Print the protocol that a compiled kernel follows
    Lift(lift::Arguments),
    /// Check a protocol or a compiled kernel for a list of common mistakes
    Lint(lint::Arguments),
    /// Run a compiled kernel at a concrete launch and print what its warps do
    Trace(trace::Arguments),
    /// Run a program, and decide the properties of the kernels that it compiles
    Run(run::Arguments),
    /// Check certificates again, without the prover
    Certify(certify::Arguments),
    /// Say at which parameter values a protocol hangs, as a formula
    Condition(condition::Arguments),
    /// Print the roles, storage, hand-offs and lifetimes of a kernel as tables
    Worksheet(worksheet::Arguments),
    /// Check every kernel below folders once, and print one table
    Sweep(sweep::Arguments),
    /// Say what differs between the protocols of two builds, and between their verdicts
    Diff(diff::Arguments),
    /// Explain a hang seen in a debugger: whether the kernel gets there, and how
    Hang(hang::Arguments),
    /// Look for the edits that make a refuted protocol a proved one
    Repair(repair::Arguments),
    /// Say whether a kernel that takes turns by a lock hangs on concrete block-sparse tensors
    Csr(csr::Arguments),
    /// Print the smallest input that hangs a protocol, and write it as tensors or a script
    Repro(repro::Arguments),
    /// Run a counterexample again
    Replay(replay::Arguments),
    /// Run a protocol once at concrete values
    Simulate(simulate::Arguments),
    /// Search every schedule at concrete values
    Explore(explore::Arguments),
    /// Write a protocol as the input of another verifier
    Export(export::Arguments),
    /// Serve an editor: errors, names and verdicts of protocol files, over stdin and stdout
    Lsp(lsp::Arguments),
    /// Format protocol files
    Fmt(fmt::Arguments),
    /// Explain verdicts, exit codes, properties and the proof rules
    Explain(explain::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Print the manual page
    Man(man::Arguments),
}

/// Runs a command.
pub fn run(command: Command, session: &Session) -> Result<Exit, Failure> {
    match command {
        Command::Check(arguments) if arguments.condition => {
            condition::of_each(arguments.files, &arguments.options, session)
        }
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
        Command::Lsp(arguments) => lsp::run(arguments, session),
        Command::Fmt(arguments) => fmt::run(arguments, session),
        Command::Explain(arguments) => explain::run(arguments, session),
        Command::Completions(arguments) => completions::run(arguments, session),
        Command::Man(arguments) => man::run(arguments, session),
    }
}
