//! Runs the programs that produce kernels. A signal to this program ends them.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::thread;

use crate::failure::Failure;
use crate::interrupt;

/// How a program ended.
pub struct Ended {
    /// Whether its exit status is success.
    pub well: bool,
    /// Its output.
    pub said: String,
}

/// How much of a program's output is repeated at most, in bytes.
const MOST_WORDS: u64 = 1 << 20;

/// Runs a program and keeps its output, which goes to a file in the folder.
pub fn quietly(mut command: Command, folder: &Path) -> Result<Ended, Failure> {
    let path = folder.join("said.txt");
    // Into a file: a pipe that nobody empties would stop the program.
    let failed = |error: io::Error| Failure::file("write", &path, error);
    let said = File::create(&path).map_err(failed)?;
    let errors = said.try_clone().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(said).stderr(errors);
    let status = run(command)?;
    let mut said = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(MOST_WORDS).read_to_end(&mut said))
        .map_err(|error| Failure::file("read", &path, error))?;
    Ok(Ended {
        well: status.success(),
        said: String::from_utf8_lossy(&said).into_owned(),
    })
}

/// Runs a program to its end.
pub fn run(mut command: Command) -> Result<ExitStatus, Failure> {
    let program = Path::new(command.get_program()).to_owned();
    let failed = |error: io::Error| Failure::file("run", &program, error);
    let mut child = command.spawn().map_err(failed)?;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        if interrupt::requested() {
            end(&mut child);
            return Err(Failure::Interrupted("interrupted".to_owned()));
        }
        thread::sleep(interrupt::POLL);
    }
}

/// Says how a program that failed ended.
pub fn how(ended: ExitStatus) -> String {
    match ended.code() {
        Some(code) => format!("ended with {code}"),
        None => "was ended by a signal".to_owned(),
    }
}

/// Ends a program. Ctrl-C has sent it a signal already, but it may ignore that.
fn end(child: &mut Child) {
    // An error here means that the program has ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}
