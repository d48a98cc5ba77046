//! `warplock lint`: looks compiled kernels through for what a reader with a checklist looks for.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::kernels::Kernels;
use crate::session::Session;
use crate::sources;

/// Options of `lint`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A kernel as PTX, - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which entries.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// Looks through. Findings end with 1, and kernels whose synchronization is not recovered with 4.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let name = sources::name_of(&arguments.file);
    session.progress.begin(0, &name);
    let (kernels, path) = (arguments.kernels.clone(), arguments.file.clone());
    let (style, progress) = (session.terminal.err_style(), session.progress.clone());
    let linted = interrupt::run(move || kernels.lint(&path, style, &|what| progress.tell(0, what)));
    session.progress.end(0);
    let linted = linted?;
    let (mut found, mut unknown) = (false, false);
    for kernel in linted {
        let entry = &kernel.entry;
        match kernel.lints {
            Ok(lints) if lints.is_empty() => {
                session
                    .terminal
                    .out(&format!("{name}:{entry}: nothing found\n"));
            }
            Ok(lints) => {
                found = true;
                for lint in lints {
                    let place = if lint.source.starts_with("line ") {
                        lint.source
                    } else {
                        format!("{} (line {})", lint.source, lint.line)
                    };
                    let (rule, message) = (lint.rule, lint.message);
                    let mut text = format!("{name}:{entry}: {rule}: {place}: {message}\n");
                    if !session.quiet {
                        text.push_str(&format!("  hint: {}\n", lint.hint));
                    }
                    session.terminal.out(&text);
                }
            }
            Err(reason) => {
                unknown = true;
                session
                    .terminal
                    .err(&format!("{name}:{entry}: UNKNOWN {reason}\n"));
            }
        }
    }
    Ok(match (found, unknown) {
        (true, _) => Exit::Refuted,
        (false, true) => Exit::Unknown,
        (false, false) => Exit::Success,
    })
}
