//! `--emit FORM -o PATH`: selects the output format for tensors, and writes the file.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use warplock::repro::emit::Emission;

use crate::failure::Failure;
use crate::files;
use crate::session::Session;

/// Where and in which form tensors are written.
#[derive(Debug, Clone, Args)]
pub struct Target {
    /// Write the tensors in this form
    #[arg(long, value_name = "FORM", value_parser = form())]
    pub emit: Option<Emission>,
    /// Where to write them; standard output if not given
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

fn form() -> impl TypedValueParser<Value = Emission> {
    PossibleValuesParser::new(Emission::ALL.map(Emission::name)).try_map(|name| {
        let mut all = Emission::ALL.into_iter();
        all.find(|form| form.name() == name)
            .ok_or_else(|| format!("no form named `{name}`"))
    })
}

impl Target {
    /// The format to write, if there is anything to write. It is the one given by `--emit`, or else the
    /// one of the file's extension.
    pub fn form(&self) -> Result<Option<Emission>, Failure> {
        let extension = self.output.as_deref().and_then(Path::extension);
        match (self.emit, &self.output, extension.and_then(|e| e.to_str())) {
            (Some(form), _, _) => Ok(Some(form)),
            (None, None, _) => Ok(None),
            (None, Some(_), Some("json")) => Ok(Some(Emission::Json)),
            (None, Some(_), Some("npz")) => Ok(Some(Emission::Npz)),
            (None, Some(_), Some("safetensors")) => Ok(Some(Emission::Safetensors)),
            (None, Some(_), Some("py")) => Ok(Some(Emission::Torch)),
            (None, Some(_), Some("cu")) => Ok(Some(Emission::Cuda)),
            (None, Some(_), _) => Err(Failure::input(
                "the name of the output file does not say its form",
            )
            .hint("give --emit json, npz, safetensors, torch or cuda")),
        }
    }

    /// Whether standard output is free for the report, because the tensors go to a file or are not
    /// written.
    pub fn leaves_stdout(&self) -> bool {
        self.output.is_some() || self.emit.is_none()
    }

    /// Writes to the file or, without one, to standard output.
    pub fn write(&self, bytes: &[u8], form: Emission, session: &Session) -> Result<(), Failure> {
        match &self.output {
            Some(path) => files::write(path, bytes),
            None if !form.is_text() && session.terminal.out_is_terminal() => {
                Err(Failure::input(format!("{} is not text", form.name()))
                    .hint("give a file with -o PATH"))
            }
            None => {
                session.terminal.out_bytes(bytes);
                Ok(())
            }
        }
    }
}
