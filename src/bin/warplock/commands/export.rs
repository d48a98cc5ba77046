//! `warplock export`: writes a protocol as the input of another verifier.

use std::path::PathBuf;

use clap::Args;
use clap::ValueEnum;
use warplock::export::Refused;
use warplock::export::promela;
use warplock::protocol::Protocol;
use warplock::report::style::Style;
use warplock::semantics::unfold;
use warplock::text::Diagnostic;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::session::Session;

use super::concrete::Concrete;
use super::replay;

/// Options of `export`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// What to export; `promela` needs a value for everything that is open.
    #[command(flatten)]
    pub concrete: Concrete,
    /// Another verifier's language
    #[arg(long, value_name = "LANGUAGE")]
    pub to: Language,
    /// FILE is a witness: export its protocol at its values, row orders and start values
    #[arg(long, conflicts_with_all = ["set", "assume", "pattern"])]
    pub witness: bool,
    /// Write here instead of to standard output
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// A language of another verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// A model for SPIN of one instance
    Promela,
}

/// Exports.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let style = session.terminal.err_style();
    let output = arguments.output.clone();
    let text = interrupt::run(move || match arguments.to {
        Language::Promela => model(&arguments, style),
    })?;
    match &output {
        Some(path) => files::write(path, text.as_bytes())?,
        None => session.terminal.out(&text),
    }
    Ok(Exit::Success)
}

fn model(arguments: &Arguments, style: Style) -> Result<String, Failure> {
    if arguments.witness {
        let (protocol, replayed) = replay::load(&arguments.concrete.file)?;
        let name = format!("{}.wlk", protocol.name);
        return promela::model(&protocol, &replayed.input, &replayed.instance)
            .map_err(|refused| cannot(&refused, &protocol, &name, style));
    }
    let loaded = arguments.concrete.load(style)?;
    let input = loaded.input()?;
    let instance = unfold::instantiate(&loaded.protocol, &input)
        .map_err(|error| loaded.cannot_run(&error, style))?;
    promela::model(&loaded.protocol, &input, &instance)
        .map_err(|refused| cannot(&refused, &loaded.protocol, &loaded.name, style))
}

/// A refusal that points at the text, where it is about a place there.
fn cannot(refused: &Refused, protocol: &Protocol, name: &str, style: Style) -> Failure {
    match refused.span {
        Some(span) => {
            let finding = Diagnostic::error(span, format!("cannot export: {refused}"));
            Failure::text(&[finding], name, &protocol.source, style)
        }
        None => Failure::input(format!("{name}: cannot export: {refused}")),
    }
}
