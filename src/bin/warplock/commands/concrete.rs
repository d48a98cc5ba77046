//! Concrete inputs given on the command line.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use warplock::protocol::Protocol;
use warplock::report::style::Style;
use warplock::semantics::error::RunError;
use warplock::semantics::input::Input;
use warplock::text::Diagnostic;
use warplock::text::Narrowing;

use crate::failure::Failure;
use crate::options::Domain;
use crate::sources;

/// The largest pattern file that is read, in bytes.
const LARGEST: usize = 256 << 20;

/// A protocol and the values to run it at.
#[derive(Debug, Clone, Args)]
pub struct Concrete {
    /// A protocol file, - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// The entries of open patterns, as JSON {"visits": [[0, 1], ...]}; a witness will do
    #[arg(long, value_name = "FILE")]
    pub pattern: Option<PathBuf>,
}

/// A protocol and values for its parameters.
pub struct Loaded {
    /// Its name in reports.
    pub name: String,
    /// The protocol. It has the assumptions of the command line, but its parameters do not have the values yet.
    pub protocol: Protocol,
    /// The values, in declaration order.
    pub params: Vec<i64>,
    /// What narrows it to them, and the protocol that is narrowed.
    pub narrowed: (Narrowing, Protocol),
    /// Per pattern its entries; `None` where no file was given.
    pub patterns: Option<Vec<BTreeSet<Vec<i64>>>>,
}

impl Concrete {
    /// Reads the protocol and the entries of its patterns, and checks that every parameter has a value.
    pub fn load(&self, style: Style) -> Result<Loaded, Failure> {
        let name = sources::name_of(&self.file);
        let mut protocol = sources::load(&self.file, style)?;
        let narrowing = self.domain.narrowing()?;
        let mut checked = protocol.clone();
        sources::narrow(&mut checked, &narrowing, &name, style)?;
        let assumed = Narrowing {
            assume: narrowing.assume.clone(),
            ..Narrowing::default()
        };
        sources::narrow(&mut protocol, &assumed, &name, style)?;
        let value = |p: &warplock::protocol::Param| narrowing.set.get(&p.name).copied();
        let missing: Vec<String> = protocol
            .params
            .iter()
            .filter(|p| value(p).is_none())
            .map(|p| p.name.clone())
            .collect();
        if !missing.is_empty() {
            let options = missing.iter().map(|name| format!("--set {name}=..."));
            let advice = format!("add {}", options.collect::<Vec<_>>().join(" "));
            let message = format!("{name}: no value for {}", missing.join(", "));
            return Err(Failure::input(message).hint(advice));
        }
        let params = protocol.params.iter().filter_map(value).collect();
        let patterns = match &self.pattern {
            Some(path) => Some(entries(&protocol, path)?),
            None => None,
        };
        Ok(Loaded {
            name,
            protocol,
            params,
            narrowed: (narrowing, checked),
            patterns,
        })
    }
}

impl Loaded {
    /// The concrete input. A failure if an open pattern has no entries.
    pub fn input(&self) -> Result<Input, Failure> {
        let open: Vec<&str> = self
            .protocol
            .patterns
            .iter()
            .filter(|p| p.definition.is_none())
            .map(|p| p.name.as_str())
            .collect();
        let patterns = match &self.patterns {
            Some(patterns) => patterns.clone(),
            None if open.is_empty() => vec![BTreeSet::new(); self.protocol.patterns.len()],
            None => {
                let message = format!("{}: no entries for {}", self.name, open.join(", "));
                let advice = format!(
                    "give --pattern FILE with JSON such as {{\"{}\": [[0, 0]]}}",
                    open[0]
                );
                return Err(Failure::input(message).hint(advice));
            }
        };
        Ok(Input {
            params: self.params.clone(),
            patterns,
            ..Input::default()
        })
    }

    /// A failure that points at the place in the protocol's text.
    pub fn cannot_run(&self, error: &RunError, style: Style) -> Failure {
        match error.span {
            Some(span) => {
                let finding = Diagnostic::error(span, format!("cannot run: {error}"));
                Failure::text(&[finding], &self.name, &self.protocol.source, style)
            }
            None => Failure::input(format!("{}: cannot run: {error}", self.name)),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PatternFile {
    Witness {
        patterns: BTreeMap<String, BTreeSet<Vec<i64>>>,
    },
    Plain(BTreeMap<String, BTreeSet<Vec<i64>>>),
}

fn entries(protocol: &Protocol, path: &Path) -> Result<Vec<BTreeSet<Vec<i64>>>, Failure> {
    let bytes = sources::read_up_to(path, LARGEST)?;
    let file: PatternFile = serde_json::from_slice(&bytes).map_err(|_| {
        Failure::file("use", path, "it holds no patterns")
            .hint("expected JSON such as {\"visits\": [[0, 1], [1, 0]]}, or a witness")
    })?;
    let (PatternFile::Witness { patterns: given } | PatternFile::Plain(given)) = file;
    let open = || {
        let patterns = protocol.patterns.iter();
        patterns.filter(|p| p.definition.is_none())
    };
    if let Some(name) = given.keys().find(|name| open().all(|p| p.name != **name)) {
        return Err(Failure::file(
            "use",
            path,
            format!("the protocol has no open pattern `{name}`"),
        ));
    }
    let mut all = Vec::new();
    for pattern in &protocol.patterns {
        all.push(match (&pattern.definition, given.get(&pattern.name)) {
            (Some(_), _) => BTreeSet::new(),
            (None, Some(entries)) => entries.clone(),
            (None, None) => {
                let missing = format!("it has no entries for `{}`", pattern.name);
                return Err(Failure::file("use", path, missing));
            }
        });
    }
    Ok(all)
}
