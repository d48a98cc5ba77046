//! What can be written on the command line.

use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;

use crate::commands;

/// Proves that a GPU kernel's synchronization cannot deadlock, or prints the smallest input that
/// hangs it.
#[derive(Debug, Parser)]
#[command(name = "warplock", max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub output: Output,
}

/// Options of every command.
#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: Color,
    /// Say only the first line of each result, and show no progress
    #[arg(short, long, global = true, help_heading = "Output")]
    pub quiet: bool,
    /// Say everything: every step, element, blocked member and assumption
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "quiet",
        help_heading = "Output"
    )]
    pub verbose: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands, each in a file of its own.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Decide the properties of protocols
    Check(commands::check::Arguments),
    /// Print the protocol that a compiled kernel follows
    Lift(commands::lift::Arguments),
    /// Look a compiled kernel through for what a reader with a checklist looks for
    Lint(commands::lint::Arguments),
    /// Run a compiled kernel at a concrete launch and print what its warps do
    Trace(commands::trace::Arguments),
    /// Run a program, and decide the properties of the kernels that it compiles
    Run(commands::run::Arguments),
    /// Check certificates again, without the prover
    Certify(commands::certify::Arguments),
    /// Say at which parameter values a protocol hangs, as a formula
    Condition(commands::condition::Arguments),
    /// Print the roles, storage, hand-offs and lifetimes of a kernel as tables
    Worksheet(commands::worksheet::Arguments),
    /// Decide every kernel below folders once, and print one table
    Sweep(commands::sweep::Arguments),
    /// Say what differs between the protocols of two builds, and between their verdicts
    Diff(commands::diff::Arguments),
    /// Explain a hang that was seen: whether the kernel gets there, and how
    Hang(commands::hang::Arguments),
    /// Look for the edits that make a refuted protocol a proved one
    Repair(commands::repair::Arguments),
    /// Say whether a kernel that takes turns by a lock hangs on concrete block-sparse tensors
    Csr(commands::csr::Arguments),
    /// Print the smallest input that hangs a protocol, and write it as tensors or a script
    Repro(commands::repro::Arguments),
    /// Run a counterexample again
    Replay(commands::replay::Arguments),
    /// Run a protocol once at concrete values
    Simulate(commands::simulate::Arguments),
    /// Search every schedule at concrete values
    Explore(commands::explore::Arguments),
    /// Write a protocol as the input of another verifier
    Export(commands::export::Arguments),
    /// Lay protocol files out
    Fmt(commands::fmt::Arguments),
    /// Explain verdicts, exit codes, properties and the proof rule
    Explain(commands::explain::Arguments),
    /// Print a completion script for a shell
    Completions(commands::completions::Arguments),
    /// Print the manual page
    Man(commands::man::Arguments),
}
