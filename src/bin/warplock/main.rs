//! The command line.

mod commands;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use clap::Subcommand;

/// Proves that a GPU kernel's synchronization cannot deadlock, or prints the smallest input that
/// hangs it.
#[derive(Debug, Parser)]
#[command(name = "warplock", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Csr(commands::csr::Csr),
    Repro(commands::repro::Repro),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Csr(args) => commands::csr::run(&args),
        Command::Repro(args) => commands::repro::run(&args, &AtomicBool::new(false)),
    }
}
