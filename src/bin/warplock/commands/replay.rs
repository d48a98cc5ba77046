//! `warplock replay`: runs a counterexample again.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::report;
use warplock::report::finding::Word;
use warplock::report::input;
use warplock::report::stuck;
use warplock::report::text::visible;
use warplock::report::trace;
use warplock::text;
use warplock::text::Narrowing;
use warplock::witness;
use warplock::witness::Replayed;
use warplock::witness::Witness;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::session::Session;
use crate::sources;

/// The largest witness that is read, in bytes.
const LARGEST: usize = 256 << 20;

/// Options of `replay`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A witness that `check --witness` wrote, - for standard input
    #[arg(value_name = "WITNESS")]
    pub witness: PathBuf,
}

/// Runs `replay`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let name = sources::name_of(&arguments.witness);
    let path = arguments.witness;
    let (protocol, replayed) = interrupt::run(move || load(&path))?;
    session
        .terminal
        .out(&shown(&name, &protocol, &replayed, session));
    Ok(Exit::Success)
}

/// Reads a witness and replays it.
pub(super) fn load(path: &Path) -> Result<(Protocol, Replayed), Failure> {
    let bytes = sources::read_up_to(path, LARGEST)?;
    let witness = Witness::from_json(&bytes).map_err(|error| {
        Failure::input(format!(
            "{} is not a witness: {error}",
            sources::name_of(path)
        ))
    })?;
    let protocol = protocol_of(&witness)?;
    let replayed = witness::replay(&protocol, &witness)
        .map_err(|error| Failure::Refused(format!("failed to replay: {error}")))?;
    Ok((protocol, replayed))
}

/// The protocol in the witness, narrowed by the assumptions of the witness.
fn protocol_of(witness: &Witness) -> Result<Protocol, Failure> {
    let refused = |findings: Vec<text::Diagnostic>| {
        let first = findings.first();
        let message = first.map_or_else(String::new, |d| d.message.clone());
        Failure::Refused(format!("the embedded protocol is not valid: {message}"))
    };
    let mut protocol = text::load(witness.source.as_bytes()).map_err(refused)?;
    let narrowing = Narrowing {
        assume: witness.assumptions.clone(),
        ..Narrowing::default()
    };
    text::narrow(&mut protocol, &narrowing).map_err(refused)?;
    Ok(protocol)
}

fn shown(name: &str, protocol: &Protocol, replayed: &Replayed, session: &Session) -> String {
    let style = session.terminal.out_style();
    let stuck = stuck::shown(protocol, replayed);
    let events = trace::trace(&protocol.source, &replayed.instance, &replayed.schedule);
    let ends = match (&replayed.hazard, replayed.property) {
        (Some(_), _) | (None, Property::Deadlock) => stuck.sentence.clone(),
        (None, _) => events.last().map_or_else(String::new, |event| {
            format!("{} {}", event.member, event.what)
        }),
    };
    let at = match input::sentence(protocol, &replayed.input).as_str() {
        "" => String::new(),
        values => format!("at {values}: "),
    };
    let mut out = format!(
        "{}: {}: {} {at}{ends}\n",
        style.bold(&visible(name)),
        replayed.property.name(),
        style.verdict(Word::Refuted),
    );
    if session.quiet {
        return out;
    }
    if let Some(line) = stuck.line {
        out.push_str(&report::text::snippet(
            &format!("the protocol in {name}"),
            &protocol.source,
            line,
            style,
        ));
    }
    let patterns = input::patterns(protocol, &replayed.input);
    out.push_str(&report::text::run(&patterns, &stuck, &events, style));
    if let Some(second) = &replayed.second {
        let events = trace::trace(&protocol.source, &replayed.instance, second);
        out.push_str(&report::text::other_run(&events, style));
    }
    out
}
