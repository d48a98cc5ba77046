//! The syntax of the command line.

use clap::Parser;

use crate::commands::Command;
use crate::terminal::Output;

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
