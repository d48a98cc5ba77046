//! `warplock repro`: the smallest input that makes a protocol hang.

use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use serde_json::Value;
use serde_json::json;
use warplock::certificate;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::report;
use warplock::report::Word;
use warplock::report::style::Style;
use warplock::repro;
use warplock::repro::Failure as Hang;
use warplock::repro::ReproError;
use warplock::repro::emit;
use warplock::repro::emit::Emission;
use warplock::repro::emit::EmitError;
use warplock::repro::family;
use warplock::repro::family::Family;
use warplock::repro::family::Finding;
use warplock::repro::family::TileSizes;
use warplock::text::Narrowing;
use warplock::verdict::deadlock;
use warplock::verdict::decision::Verdict;
use warplock::verdict::engine;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::options;
use crate::options::Domain;
use crate::progress::Progress;
use crate::session::Session;
use crate::solver;
use crate::sources;

use super::check::minimize;
use super::csr::Format;
use super::emission::Target;

/// Options of `repro`.
///
/// Without --family, any input of the protocol counts. With one, only patterns that it makes:
/// the fewest tokens, then segments, of packed sequences; the least sq, sk, wl, wr of a window.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The protocol file, - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What to make small, most important first: parameters, `entries`, `initial`
    #[arg(
        long,
        value_name = "ORDER",
        value_delimiter = ',',
        conflicts_with = "family"
    )]
    pub minimize: Vec<String>,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// Consider only patterns of this origin
    #[arg(long, value_name = "FAMILY", value_parser = family())]
    pub family: Option<Family>,
    /// Tile size of both axes, for --family; 128 for packings, each of 64, 128, 256 for windows
    /// if not given
    #[arg(long, value_name = "T", requires = "family", conflicts_with_all = ["tile_m", "tile_n"])]
    pub tile: Option<u64>,
    /// Queries per row tile, for --family
    #[arg(long, value_name = "TM", requires = "family", requires = "tile_n")]
    pub tile_m: Option<u64>,
    /// Keys per column tile, for --family
    #[arg(long, value_name = "TN", requires = "family", requires = "tile_m")]
    pub tile_n: Option<u64>,
    /// Where and in which form the input is written.
    #[command(flatten)]
    pub target: Target,
    /// How long to search, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// How to print the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

fn family() -> impl TypedValueParser<Value = Family> {
    PossibleValuesParser::new(Family::ALL.map(Family::name)).try_map(|name| {
        let mut all = Family::ALL.into_iter();
        all.find(|family| family.name() == name)
            .ok_or_else(|| format!("no family named `{name}`"))
    })
}

/// Runs `repro`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let work = Work {
        arguments: arguments.clone(),
        name: sources::name_of(&arguments.file),
        form: arguments.target.form()?,
        quiet: session.quiet,
        style: session.terminal.err_style(),
        progress: session.progress.clone(),
    };
    session.progress.begin(0, &work.name);
    let result = interrupt::run(move || work.answer());
    let answer = session.progress.close(0, result)?;
    if let Some((form, bytes)) = &answer.written {
        arguments.target.write(bytes, *form, session)?;
    }
    // If the input goes to standard output, the report goes to standard error.
    if answer.written.is_none() || arguments.target.leaves_stdout() {
        session.terminal.out(&answer.report);
    } else {
        session.terminal.err(&answer.report);
    }
    Ok(answer.exit)
}

/// What is to be written and printed.
struct Answer {
    written: Option<(Emission, Vec<u8>)>,
    report: String,
    exit: Exit,
}

/// The result, before its report is made.
struct Found {
    word: Word,
    /// The question, which the report has between the file's name and the verdict.
    about: String,
    sentence: String,
    reason: String,
    hang: Option<Box<Hang>>,
    engine: &'static str,
}

struct Work {
    arguments: Arguments,
    name: String,
    form: Option<Emission>,
    quiet: bool,
    style: Style,
    progress: Progress,
}

impl Work {
    fn answer(&self) -> Result<Answer, Failure> {
        let started = Instant::now();
        let narrowing = self.arguments.domain.narrowing()?;
        let mut protocol = sources::load(&self.arguments.file, self.style)?;
        sources::narrow(&mut protocol, &narrowing, &self.name, self.style)?;
        if let Some(form) = self.form
            && !form.is_text()
            && repro::open_pattern(&protocol).is_none()
        {
            return Err(self.failed(&EmitError::NoArrays(form.name())));
        }
        let found = match self.arguments.family {
            Some(family) => self.search(&protocol, &narrowing, family)?,
            None => self.decide(&protocol, &narrowing)?,
        };
        self.worded(&protocol, &found, started)
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::input(format!("{}: {error}", self.name))
    }

    fn not_found(&self, error: &ReproError) -> Failure {
        match error.is_internal() {
            true => Failure::Internal(format!("{}: {error}", self.name)),
            false => self.failed(error),
        }
    }

    fn decide(&self, protocol: &Protocol, narrowing: &Narrowing) -> Result<Found, Failure> {
        let objectives = match self.arguments.minimize.as_slice() {
            [] => None,
            order => Some(minimize::objectives(protocol, order, &self.name)?),
        };
        let tell = |what: &str| self.progress.tell(0, what);
        let settings = deadlock::Settings {
            timeout: self.arguments.timeout,
            objectives,
            cancel: &interrupt::CANCEL,
            tell: &tell,
            kernel: false,
        };
        let (decision, hang) = repro::smallest(protocol, narrowing, &settings)
            .map_err(|error| self.not_found(&error))?;
        let (word, sentence, reason) = match (&decision.verdict, &hang) {
            (Verdict::Refuted(_), Some(hang)) => {
                (Word::Refuted, report::repro::sentence(hang), String::new())
            }
            (Verdict::Refuted(_), None) => {
                return Err(Failure::Internal(
                    "a refutation without an input".to_owned(),
                ));
            }
            (Verdict::Proved(_), _) => (
                Word::Proved,
                "no input hangs: it is proved for every value of the declared domain".to_owned(),
                String::new(),
            ),
            (Verdict::Bounded { within, reason }, _) => (
                Word::Bounded,
                format!("no failing input {within}"),
                reason.clone(),
            ),
            (Verdict::Unknown { reason, .. }, _) => (Word::Unknown, reason.clone(), String::new()),
        };
        Ok(Found {
            word,
            about: "deadlock".to_owned(),
            sentence,
            reason,
            hang: hang.map(Box::new),
            engine: decision.engine,
        })
    }

    fn search(
        &self,
        protocol: &Protocol,
        narrowing: &Narrowing,
        family: Family,
    ) -> Result<Found, Failure> {
        let sizes = self.sizes(family);
        let tell = |what: &str| self.progress.tell(0, what);
        let settings = family::Settings {
            timeout: self.arguments.timeout,
            cancel: &interrupt::CANCEL,
            tell: &tell,
        };
        let finding = family::smallest(protocol, narrowing, family, &sizes, &settings)
            .map_err(|error| self.not_found(&error))?;
        let (word, sentence, reason, hang) = match finding {
            Finding::Hangs(hang) => {
                let sentence = report::repro::sentence(&hang);
                (Word::Refuted, sentence, String::new(), Some(hang))
            }
            Finding::Proved(_) => (
                Word::Proved,
                "none can hang: it is proved for every pattern".to_owned(),
                String::new(),
                None,
            ),
            Finding::Bounded { within, reason } => {
                (Word::Bounded, format!("none hangs {within}"), reason, None)
            }
            Finding::Unknown(reason) => (Word::Unknown, reason, String::new(), None),
        };
        Ok(Found {
            word,
            about: report::repro::family(family, &sizes),
            sentence,
            reason,
            hang,
            engine: engine::RESTRICTED_EVENTS,
        })
    }

    fn sizes(&self, family: Family) -> Vec<TileSizes> {
        let square = |tile| vec![TileSizes { m: tile, n: tile }];
        let given = &self.arguments;
        match (given.tile, given.tile_m, given.tile_n) {
            (Some(tile), _, _) => square(tile),
            (None, Some(m), Some(n)) => vec![TileSizes { m, n }],
            _ => match family {
                Family::Packed | Family::PackedCausal => square(128),
                Family::Causal | Family::Local => {
                    let usual = [64, 128, 256];
                    let pairs = usual
                        .iter()
                        .flat_map(|m| usual.iter().map(move |n| TileSizes { m: *m, n: *n }));
                    pairs.collect()
                }
            },
        }
    }

    fn worded(
        &self,
        protocol: &Protocol,
        found: &Found,
        started: Instant,
    ) -> Result<Answer, Failure> {
        let (name, about, sentence) = (&self.name, &found.about, &found.sentence);
        let headline = match &found.hang {
            Some(_) if self.arguments.family.is_some() => format!("{name}: {about}: {sentence}"),
            _ => format!("{name}: {about}: {}: {sentence}", found.word.as_str()),
        };
        let written = match (&found.hang, self.form) {
            (Some(hang), Some(form)) => {
                let bytes = emit::failure(protocol, hang, &headline, form)
                    .map_err(|error| self.failed(&error))?;
                Some((form, bytes))
            }
            _ => None,
        };
        let report = match (self.arguments.format, self.quiet) {
            (Format::Json, _) => {
                let result = self.json(protocol, found, started);
                report::json::document(&[result], solver::version())
                    .map_err(|error| Failure::Internal(error.to_string()))?
            }
            (Format::Text, true) => format!("{headline}\n"),
            (Format::Text, false) => self.text(&headline, found, written.is_some()),
        };
        Ok(Answer {
            written,
            report,
            exit: found.word.into(),
        })
    }

    fn text(&self, headline: &str, found: &Found, written: bool) -> String {
        let mut text = format!("{headline}\n");
        if let Some(hang) = &found.hang {
            text += &report::repro::details(hang);
        } else if !found.reason.is_empty() {
            text += &format!("  {}\n", found.reason);
        }
        match &self.arguments.target.output {
            Some(path) if written => text += &format!("\n  written to {}\n", path.display()),
            _ if self.form.is_some() && !written => text += "  nothing was written\n",
            _ => {}
        }
        text
    }

    fn json(&self, protocol: &Protocol, found: &Found, started: Instant) -> Value {
        let hang = found.hang.as_deref();
        json!({
            "file": self.name,
            "protocol": protocol.name,
            "property": "deadlock",
            "verdict": found.word.as_str(),
            "reason": found.sentence,
            "engine": found.engine,
            "seconds": started.elapsed().as_secs_f64(),
            "parameters": hang.map(|hang| &hang.witness.parameters),
            "assumptions": certificate::environment(protocol, Property::Deadlock),
            "certificate": null,
            "witness": null,
            "family": self.arguments.family.map(Family::name),
            "repro": hang.map(report::repro::json),
        })
    }
}
