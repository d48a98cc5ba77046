//! `warplock export`: writes a protocol as the input of another verifier.

use std::path::PathBuf;

use clap::Args;
use clap::ValueEnum;
use warplock::export::Refused;
use warplock::export::horn;
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
use crate::sources;

use super::concrete::Concrete;
use super::replay;

/// Options of `export`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// What to export.
    #[command(flatten)]
    pub concrete: Concrete,
    /// Another verifier's language
    #[arg(long, value_name = "LANGUAGE")]
    pub to: Language,
    /// FILE is a witness: export its protocol at its values, row orders and start values
    #[arg(long, conflicts_with_all = ["set", "assume", "pattern"])]
    pub witness: bool,
    /// With `horn`: how many rounds a member may be ahead of another; what is often enough if not
    /// given
    #[arg(long, value_name = "N")]
    pub window: Option<usize>,
    /// Write here instead of to standard output
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// A language of another verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// A model for SPIN, with a value for everything that is open
    Promela,
    /// Constrained Horn clauses in SMT-LIB 2 for Z3's Spacer and its like, for all values
    Horn,
}

/// Runs `export`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let style = session.terminal.err_style();
    let output = arguments.output.clone();
    let text = interrupt::run(move || match arguments.to {
        Language::Promela => model(&arguments, style),
        Language::Horn => clauses(&arguments, style),
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

fn clauses(arguments: &Arguments, style: Style) -> Result<String, Failure> {
    if arguments.witness || arguments.concrete.pattern.is_some() {
        let message = "horn takes a protocol file and no values of patterns";
        return Err(Failure::input(message).hint("leave --witness and --pattern to promela"));
    }
    let name = sources::name_of(&arguments.concrete.file);
    let (protocol, _) =
        sources::narrowed(&arguments.concrete.file, &arguments.concrete.domain, style)?;
    horn::clauses(&protocol, arguments.window)
        .map_err(|refused| cannot(&refused, &protocol, &name, style))
}

/// The failure for a protocol that cannot be exported. It points at the place in the text, if the reason has one.
fn cannot(refused: &Refused, protocol: &Protocol, name: &str, style: Style) -> Failure {
    match refused.span {
        Some(span) => {
            let finding = Diagnostic::error(span, format!("cannot export: {refused}"));
            Failure::text(&[finding], name, &protocol.source, style)
        }
        None => Failure::input(format!("{name}: cannot export: {refused}")),
    }
}
