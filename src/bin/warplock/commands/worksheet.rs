//! `warplock worksheet`: tables for checking a kernel by hand.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warplock::deadline;
use warplock::report::worksheet;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::kernel_options::Kernels;
use crate::options;
use crate::protocols;
use crate::protocols::Loaded;
use crate::protocols::Reading;
use crate::session::Session;

/// Options of `worksheet`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A protocol file, PTX, MLIR, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Time for following the kernel, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// Which entries.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// Runs `worksheet`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let kernels = &arguments.kernels;
    let entry = kernels.entry.as_deref();
    let input = inputs::one(&arguments.file, entry, &kernels.compiler, session)?;
    let style = session.terminal.err_style();
    session.answer(&input.name.clone(), move |progress| {
        let tell = |what: &str| progress.tell(0, what);
        let end = deadline::after(arguments.timeout);
        let read = |data| Reading {
            kernels: &arguments.kernels,
            data,
            style,
            end,
            tell: &tell,
        };
        let mut out = String::new();
        let mut exit = Exit::Success;
        // First with reads and writes. Entries for which these cannot be recovered are tried again without.
        let mut pending: Vec<(String, String)> = Vec::new();
        protocols::each(&input, &read(true), &|_, _| true, &mut |entry, loaded| {
            match loaded {
                Ok(loaded) => out.push_str(&shown(&input.name, entry, &loaded)),
                Err(reason) => pending.push((entry.to_owned(), reason)),
            }
            Ok(())
        })?;
        for (entry, _) in pending {
            let wanted = |name: &str, _: &[String]| name == entry;
            protocols::each(&input, &read(false), &wanted, &mut |entry, loaded| {
                match loaded {
                    Ok(loaded) => out.push_str(&shown(&input.name, entry, &loaded)),
                    Err(reason) => {
                        out.push_str(&format!("# Worksheet: {entry}\n\nUNKNOWN: {reason}.\n"));
                        exit = Exit::Unknown;
                    }
                }
                Ok(())
            })?;
        }
        Ok((out, exit))
    })
}

fn shown(file: &str, entry: &str, loaded: &Loaded) -> String {
    let protocol = &loaded.protocol;
    let title = match entry {
        "" => format!("{} ({file})", protocol.name),
        entry => format!("{entry} ({file})"),
    };
    let lines: Vec<&str> = protocol.source.lines().collect();
    let recovered = loaded.recovered.is_some();
    worksheet::worksheet(protocol, &title, &|line| {
        let text = line.checked_sub(1).and_then(|at| lines.get(at));
        let named = text.and_then(|text| Some(text.rsplit_once("// ")?.1));
        match named.filter(|_| recovered) {
            Some(place) => place.trim().to_owned(),
            None => format!("line {line}"),
        }
    })
}
