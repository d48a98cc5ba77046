//! `warplock lift`: prints the protocol that a compiled kernel follows.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::kernels::Kernels;
use crate::kernels::Text;
use crate::session::Session;
use crate::sources;

/// Options of `lift`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A kernel as PTX, - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which entry.
    #[command(flatten)]
    pub kernels: Kernels,
    /// Say also what is read and written in shared memory, as `check --property race` does
    #[arg(long)]
    pub data: bool,
    /// Write the protocol here instead of to standard output
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// Lifts.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let name = sources::name_of(&arguments.file);
    session.progress.begin(0, &name);
    let (kernels, path) = (arguments.kernels.clone(), arguments.file.clone());
    let (style, progress) = (session.terminal.err_style(), session.progress.clone());
    let wanted = if arguments.data {
        Text::WithData
    } else {
        Text::Bare
    };
    let lifted =
        interrupt::run(move || kernels.lift(&path, wanted, style, &|what| progress.tell(0, what)));
    session.progress.end(0);
    let lifted = lifted?;
    if lifted.len() > 1 {
        let names: Vec<&str> = lifted.iter().map(|l| l.entry.as_str()).collect();
        return Err(
            Failure::input(format!("{name} has {} entries", lifted.len()))
                .hint(format!("choose one with --entry: {}", names.join(", "))),
        );
    }
    let mut exit = Exit::Success;
    for kernel in lifted {
        match (kernel.protocol, &arguments.output) {
            (Ok(text), None) => session.terminal.out(&text),
            (Ok(text), Some(path)) => files::write(path, text.as_bytes())?,
            (Err(reason), _) => {
                let entry = kernel.entry;
                let message = format!("{name}: {entry}: UNKNOWN {reason}\n");
                session.terminal.err(&message);
                exit = exit.max(Exit::Unknown);
            }
        }
    }
    Ok(exit)
}
