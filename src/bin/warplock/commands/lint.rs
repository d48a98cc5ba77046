//! `warplock lint`: checks protocols and compiled kernels against a list of common mistakes.

use std::path::PathBuf;

use clap::Args;
use warplock::lint;
use warplock::protocol::Protocol;
use warplock::report::Finding;
use warplock::report::text::visible;
use warplock::text::MAX_SOURCE_BYTES;
use warplock::text::words::words;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::interrupt;
use crate::kernel_options::Kernels;
use crate::kernels::Lint;
use crate::options::Domain;
use crate::session::Session;
use crate::sources;

/// Options of `lint`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A protocol file, or a kernel: PTX, MLIR, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which values, of a protocol.
    #[command(flatten)]
    pub domain: Domain,
    /// Which entries.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// Runs `lint`. The exit code is 1 if something is found; otherwise it is 4 if the synchronization of a kernel could
/// not be recovered.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    let kernels = arguments.kernels.clone();
    let entry = kernels.entry.as_deref();
    let input = inputs::one(&arguments.file, entry, &kernels.compiler, session)?;
    let name = input.name.clone();
    if !input.is_kernel() {
        let bytes = input.read(MAX_SOURCE_BYTES)?;
        let style = session.terminal.err_style();
        let mut protocol = sources::load_bytes(&bytes, &name, style)?;
        sources::narrow(&mut protocol, &arguments.domain.narrowing()?, &name, style)?;
        return Ok(protocol_file(&name, &protocol, session));
    }
    if !arguments.domain.set.is_empty() || !arguments.domain.assume.is_empty() {
        return Err(Failure::input(
            "--set and --assume are for protocols: lints of kernels look at no values".to_owned(),
        ));
    }
    session.progress.begin(0, &name);
    let (style, progress) = (session.terminal.err_style(), session.progress.clone());
    let (mut found, mut unknown) = (false, false);
    // The findings of each entry are printed as soon as they are there, because a file may have many entries.
    let result = interrupt::each(
        move |results| {
            let tell = |what: &str| progress.tell(0, what);
            kernels.each(&input, style, &tell, &mut |entry| {
                let linted = (entry.name().to_owned(), entry.lints()?);
                // After a signal, nobody reads the result any more.
                let _ = results.send(linted);
                Ok(())
            })
        },
        |(entry, lints)| {
            found |= !lints.found.is_empty();
            let reason = lints.unknown;
            if reason.is_none() || !lints.found.is_empty() {
                session
                    .terminal
                    .out(&shown(&name, &entry, lints.found, session.quiet));
            }
            if let Some(reason) = reason {
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

/// Applies the lints to a protocol that stands in a file.
fn protocol_file(name: &str, protocol: &Protocol, session: &Session) -> Exit {
    let lints = lint::lint(protocol);
    let file = visible(name);
    let mut text = String::new();
    for found in &lints {
        let lint::Lint {
            rule,
            line,
            message,
            hint,
            ..
        } = found;
        text.push_str(&format!("{file}:{line}: {rule}: {message}\n"));
        if !session.quiet {
            text.push_str(&format!("  hint: {hint}\n"));
            text.push_str(&section(rule));
        }
    }
    if lints.is_empty() {
        text = format!("{file}: nothing found\n");
    }
    session.terminal.out(&text);
    match lints.is_empty() {
        true => Exit::Success,
        false => Exit::Refuted,
    }
}

/// What the lints find in a protocol, as notes to a verdict. A lint is left out if the finding already mentions its
/// object or cites its line.
pub fn notes(protocol: &Protocol, finding: &Finding) -> Vec<String> {
    // The listed waits say already why they wait in vain.
    let stuck = finding.counterexample.as_ref();
    let listed = stuck.map_or(&[][..], |counterexample| &counterexample.stuck.blocked);
    let said = |lint: &lint::Lint| {
        let mut words = words(&finding.summary);
        let mut objects = listed
            .iter()
            .filter_map(|blocked| blocked.element.split('[').next());
        finding.line == Some(lint.line)
            || words.any(|word| word == lint.object)
            || objects.any(|object| object == lint.object)
    };
    let mut found = lint::lint(protocol);
    found.retain(|lint| !said(lint));
    // Of several lints about one object, only the first is kept.
    let mut objects = Vec::new();
    found.retain(|lint| {
        let fresh = !objects.contains(&lint.object);
        objects.push(lint.object.clone());
        fresh
    });
    let sentence = |lint: &lint::Lint| {
        let (line, message, id) = (lint.line, &lint.message, lint.rule);
        format!("lint at line {line}: {message} (`warplock explain {id}`)")
    };
    lint::first_few(found.iter().map(sentence).collect())
}

/// The line that cites the section of the PTX ISA on which a rule rests.
fn section(id: &str) -> String {
    let of_protocols = lint::rule(id).map(|rule| rule.section);
    let of_kernels = warplock::ptx::rule(id).map(|rule| rule.section);
    match of_protocols.or(of_kernels) {
        Some(section) => format!("  PTX ISA: {section} (warplock explain {id})\n"),
        None => String::new(),
    }
}

fn shown(name: &str, entry: &str, lints: Vec<Lint>, quiet: bool) -> String {
    if lints.is_empty() {
        return format!("{name}:{entry}: nothing found\n");
    }
    let mut text = String::new();
    for lint in lints {
        let place = lint
            .place
            .long()
            .map_or(String::new(), |place| format!("{place}: "));
        let (rule, message) = (lint.rule, lint.message);
        text.push_str(&format!("{name}:{entry}: {rule}: {place}{message}\n"));
        if !quiet {
            text.push_str(&format!("  hint: {}\n", lint.hint));
            text.push_str(&section(rule));
        }
    }
    text
}
