//! `warplock lint`: looks compiled kernels through for what a reader with a checklist looks for.

use std::path::PathBuf;

use clap::Args;
use warplock::ptx::Lint;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::interrupt;
use crate::kernel_options::Kernels;
use crate::session::Session;

/// Options of `lint`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A kernel: PTX, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which entries.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// Looks through. Findings end with 1, and kernels whose synchronization is not recovered with 4.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let kernels = arguments.kernels.clone();
    let entry = kernels.entry.as_deref();
    let input = inputs::one(&arguments.file, entry, &kernels.compiler, session)?;
    let name = input.name.clone();
    session.progress.begin(0, &name);
    let (style, progress) = (session.terminal.err_style(), session.progress.clone());
    let (mut found, mut unknown) = (false, false);
    // Each entry's findings are printed as they are there: a file may have many.
    let result = interrupt::each(
        move |results| {
            let tell = |what: &str| progress.tell(0, what);
            kernels.each(&input, style, &tell, &mut |entry| {
                let linted = (entry.name().to_owned(), entry.lints()?);
                // Nobody is left to read it after a signal.
                let _ = results.send(linted);
                Ok(())
            })
        },
        |(entry, lints)| match lints {
            Ok(lints) => {
                found |= !lints.is_empty();
                session
                    .terminal
                    .out(&shown(&name, &entry, lints, session.quiet));
            }
            Err(reason) => {
                unknown = true;
                session
                    .terminal
                    .err(&format!("{name}:{entry}: UNKNOWN {reason}\n"));
            }
        },
    );
    session.progress.close(0, result)?;
    Ok(match (found, unknown) {
        (true, _) => Exit::Refuted,
        (false, true) => Exit::Unknown,
        (false, false) => Exit::Success,
    })
}

fn shown(name: &str, entry: &str, lints: Vec<Lint>, quiet: bool) -> String {
    if lints.is_empty() {
        return format!("{name}:{entry}: nothing found\n");
    }
    let mut text = String::new();
    for lint in lints {
        let place = if lint.source.starts_with("line ") {
            lint.source
        } else {
            format!("{} (line {})", lint.source, lint.line)
        };
        let (rule, message) = (lint.rule, lint.message);
        text.push_str(&format!("{name}:{entry}: {rule}: {place}: {message}\n"));
        if !quiet {
            text.push_str(&format!("  hint: {}\n", lint.hint));
            if let Some(rule) = warplock::ptx::rule(rule) {
                let (section, id) = (rule.section, rule.id);
                text.push_str(&format!("  PTX ISA: {section} (warplock explain {id})\n"));
            }
        }
    }
    text
}
