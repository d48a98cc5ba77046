//! `warplock certify`: checks certificates again, without the prover.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Checked;
use warplock::certificate::manifest::Rejection;
use warplock::deadline;
use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::verdict;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::options;
use crate::progress::Progress;
use crate::session::Session;
use crate::solver;
use crate::sources;

/// Options of `certify`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Folders of certificates, or their manifest.json
    #[arg(required = true, value_name = "CERTIFICATE")]
    pub certificates: Vec<PathBuf>,
    /// The protocol that the certificates must be about
    #[arg(long, value_name = "FILE")]
    pub protocol: Option<PathBuf>,
    /// A solver that takes an SMT-LIB file as its last argument; the linked Z3 if not given
    #[arg(long, value_name = "PROGRAM")]
    pub solver: Option<PathBuf>,
    /// Time for each certificate, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = options::seconds)]
    pub timeout: Duration,
}

/// Runs `certify`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let solver = match &arguments.solver {
        Some(program) => Solver::Program(program.clone()),
        None => {
            solver::check()?;
            Solver::BuiltIn
        }
    };
    let source = match &arguments.protocol {
        Some(path) => Some(sources::read(path)?),
        None => None,
    };
    let style = session.terminal.out_style();
    let mut exit = Exit::Success;
    for (number, path) in arguments.certificates.iter().enumerate() {
        let work = Work {
            path: path.clone(),
            source: source.clone(),
            solver: solver.clone(),
            time: arguments.timeout,
            progress: session.progress.clone(),
            number,
        };
        session.progress.begin(number, &path.display().to_string());
        let result = interrupt::run(move || work.check());
        let result = result.map_err(|failure| match failure {
            Failure::Interrupted(message) => {
                Failure::Interrupted(format!("{message}, {number} certificates checked"))
            }
            other => other,
        });
        let result = session.progress.close(number, result);
        if let Err(failure @ Failure::Interrupted(_)) = result {
            return Err(failure);
        }
        match result {
            Ok(answer) => {
                let (text, ended) = shown(path, &answer, style, session.quiet);
                session.terminal.out(&text);
                exit = exit.max(ended);
            }
            Err(failure) => {
                session.failed(&failure);
                exit = exit.max(failure.exit());
            }
        }
    }
    Ok(exit)
}

struct Work {
    path: PathBuf,
    source: Option<Vec<u8>>,
    solver: Solver,
    time: Duration,
    progress: Progress,
    number: usize,
}

impl Work {
    /// Checks the certificate. A failure means that it could not be checked.
    fn check(self) -> Result<Result<Checked, Rejection>, Failure> {
        let manifest = if self.path.is_dir() {
            self.path.join(manifest::MANIFEST)
        } else {
            self.path.clone()
        };
        File::open(&manifest).map_err(|error| {
            let failure = Failure::file("read", &manifest, &error);
            match self.path.is_dir() && error.kind() == ErrorKind::NotFound {
                true => failure.hint(
                    "this folder is no certificate; `warplock check --certificate DIR` writes one folder below DIR for \
                     each proof, and `certify DIR/*` checks them all",
                ),
                false => failure,
            }
        })?;
        Ok(self.accepted())
    }

    fn accepted(self) -> Result<Checked, Rejection> {
        let end = deadline::after(self.time);
        let certificate = manifest::read(&self.path)?;
        if let Some(source) = &self.source
            && *source != certificate.source.as_bytes()
        {
            return Err(Rejection::Mismatch(
                "the certificate is about another text than the protocol's".to_owned(),
            ));
        }
        let tell = |what: &str| self.progress.tell(self.number, what);
        deadline::until(end, || {
            let checked = manifest::check(&certificate, &self.solver, self.time, &tell)?;
            // If no values satisfy the assumptions, every property holds.
            match verdict::nothing_to_decide(&manifest::protocol(&certificate)?) {
                None => Ok(checked),
                Some(reason) => Err(Rejection::Mismatch(reason.to_owned())),
            }
        })
    }
}

fn shown(
    path: &Path,
    answer: &Result<Checked, Rejection>,
    style: Style,
    quiet: bool,
) -> (String, Exit) {
    let path = style.bold(&visible(&path.display().to_string()));
    match answer {
        Ok(checked) => {
            let how = match checked.searched {
                Some(searched) => format!("exhaustive search of {}", searched.extent()),
                None => format!(
                    "the {}: {} obligations hold",
                    checked.checker, checked.obligations
                ),
            };
            let mut text = format!(
                "{path}: CERTIFIED {} of `{}` by {how}\n",
                checked.property, checked.protocol
            );
            if !quiet {
                text.push_str(&format!("  {}\n", style.bold("assumptions:")));
                for assumption in &checked.assumptions {
                    text.push_str(&format!("    {assumption}\n"));
                }
            }
            (text, Exit::Success)
        }
        Err(rejection) => {
            let text = format!("{path}: REJECTED {}\n", visible(&rejection.to_string()));
            (text, Exit::Internal)
        }
    }
}
