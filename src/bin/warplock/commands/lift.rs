//! `warplock lift`: prints the protocol that is recovered from a compiled kernel.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warplock::deadline;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::interrupt;
use crate::kernel_options::Kernels;
use crate::options;
use crate::session::Session;

/// Options of `lift`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A kernel: PTX, MLIR, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which entry.
    #[command(flatten)]
    pub kernels: Kernels,
    /// Say also what is read and written in shared memory, as `check --property race` does
    #[arg(long)]
    pub data: bool,
    /// Time for following the kernel, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// Write the protocol here instead of to standard output
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// Runs `lift`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let kernels = arguments.kernels.clone();
    let entry = kernels.entry.as_deref();
    let input = inputs::one(&arguments.file, entry, &kernels.compiler, session)?;
    let name = input.name.clone();
    if name.ends_with(".wlk") {
        return Err(
            Failure::input(format!("{name} is a protocol already, so there is nothing to recover"))
                .hint("`lift` takes a kernel (.ptx, .mlir, .cu, .py, a binary); `warplock fmt` prints a protocol"),
        );
    }
    session.progress.begin(0, &name);
    let (style, progress) = (session.terminal.err_style(), session.progress.clone());
    let data = arguments.data;
    let end = deadline::after(arguments.timeout);
    let several = name.clone();
    let result = interrupt::run(move || {
        let mut recovered = None;
        let tell = |what: &str| progress.tell(0, what);
        kernels.each(&input, style, &tell, &mut |entry| {
            if let [_, _, ..] = entry.asked {
                let count = entry.asked.len();
                return Err(
                    Failure::input(format!("{several} has {count} entries")).hint(format!(
                        "choose one with --entry: {}",
                        entry.asked.join(", ")
                    )),
                );
            }
            let protocol = deadline::until(end, || match data {
                true => entry.races(),
                false => entry.protocol(),
            })?;
            recovered = Some((entry.name().to_owned(), protocol));
            Ok(())
        })?;
        recovered.ok_or_else(|| Failure::Internal("an entry was not followed".to_owned()))
    });
    let (entry, recovered) = session.progress.close(0, result)?;
    match (recovered, &arguments.output) {
        (Ok(lifted), None) => session.terminal.out(&lifted.text),
        (Ok(lifted), Some(path)) => files::write(path, lifted.text.as_bytes())?,
        (Err(reason), _) => {
            let message = format!("{name}: {entry}: UNKNOWN {reason}\n");
            session.terminal.err(&message);
            return Ok(Exit::Unknown);
        }
    }
    Ok(Exit::Success)
}
