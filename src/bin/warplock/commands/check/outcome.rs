//! The result for one file, and how it is printed.

use warplock::report::Finding;
use warplock::report::expect;
use warplock::report::github;
use warplock::report::html;
use warplock::report::json;
use warplock::report::junit;
use warplock::report::markdown;
use warplock::report::mermaid;
use warplock::report::perfetto;
use warplock::report::sarif;
use warplock::report::style::Style;
use warplock::report::text;
use warplock::report::text::Detail;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::Gathered;
use crate::session::Session;
use crate::solver;

use super::Format;
use super::Options;
use super::table::Table;

/// The results for one file.
#[derive(Default)]
pub struct Outcome {
    /// The verdicts.
    pub findings: Vec<Finding>,
    /// The failures.
    pub failures: Vec<Failure>,
    /// The file's name, if its `expect` lines were asked for and it has none.
    pub without_expectations: Option<String>,
}

impl Outcome {
    /// A single failure.
    pub fn failed(failure: Failure) -> Outcome {
        Outcome {
            failures: vec![failure],
            ..Outcome::default()
        }
    }
}

/// Prints outcomes in file order and keeps the exit code.
pub struct Emitter<'s> {
    session: &'s Session,
    format: Format,
    detail: Detail,
    exit: Exit,
    /// All findings so far, for the formats that print one document at the end.
    findings: Vec<Finding>,
    failures: Vec<String>,
    printed: bool,
    /// Whether a result has been emitted.
    any: bool,
    /// The table that is printed at the end, if there is one.
    table: Option<Table>,
    /// Whether only the table is printed.
    alone: bool,
}

impl<'s> Emitter<'s> {
    /// Nothing has been printed.
    pub fn new(options: &Options, session: &'s Session) -> Emitter<'s> {
        Emitter {
            session,
            format: options.format,
            detail: Detail {
                style: session.terminal.out_style(),
                quiet: session.quiet,
                argument: options.explain_proof,
                chart: options.chart,
                z3: solver::version(),
            },
            exit: Exit::Success,
            findings: Vec::new(),
            failures: Vec::new(),
            printed: false,
            any: false,
            table: None,
            alone: false,
        }
    }

    /// In the text format, prints only a table of the results.
    pub fn sweep(&mut self, gathered: Gathered) {
        if self.format == Format::Text {
            self.table = Some(Table::alone(gathered));
            self.alone = true;
        }
    }

    /// In the text format, prints a table of the results at the end.
    pub fn sum_up(&mut self, gathered: Option<Gathered>) {
        self.table = gathered
            .filter(|_| self.format == Format::Text)
            .map(Table::of);
    }

    /// Prints one file's outcome.
    pub fn emit(&mut self, outcome: Outcome) {
        for finding in outcome.findings {
            self.any = true;
            self.exit = self.exit.max(verdict(&finding));
            if let Some(table) = &mut self.table {
                table.add(&finding);
            }
            if self.alone {
                continue;
            }
            if let Err(failure) = self.finding(finding) {
                self.failed(&failure);
            }
        }
        if let Some(name) = outcome.without_expectations {
            self.exit = self.exit.max(Exit::Refuted);
            let message = format!("{name}: no expect lines to compare with\n");
            self.session.terminal.err(&message);
        }
        for failure in &outcome.failures {
            self.failed(failure);
        }
    }

    /// Prints why something failed.
    pub fn failed(&mut self, failure: &Failure) {
        self.exit = self.exit.max(failure.exit());
        self.session.failed(failure);
        let text = failure.rendered(Style::PLAIN);
        if self.format == Format::Github {
            self.session.terminal.out(&github::failure(&text));
        }
        self.failures.push(text);
    }

    fn finding(&mut self, finding: Finding) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let text = match expect::line(&finding, self.detail.style) {
                    Some(line) => line,
                    None => {
                        let gap = if self.printed && !self.detail.quiet {
                            "\n"
                        } else {
                            ""
                        };
                        format!("{gap}{}", text::finding(&finding, self.detail))
                    }
                };
                self.session.terminal.out(&text);
                self.printed = true;
            }
            Format::JsonLines => {
                let line = json::line(&finding, solver::version()).map_err(unprintable)?;
                self.session.terminal.out(&line);
            }
            Format::Github => self.session.terminal.out(&github::line(&finding)),
            Format::Json
            | Format::Sarif
            | Format::Junit
            | Format::Markdown
            | Format::Html
            | Format::Mermaid
            | Format::Perfetto => {
                self.findings.push(finding);
            }
        }
        Ok(())
    }

    /// Prints the table, or the document of those formats that print one document, even for no results.
    pub fn finish(&mut self) -> Result<(), Failure> {
        if let Some(table) = &self.table {
            let style = self.session.terminal.out_style();
            let text = table.text(self.session.quiet, style);
            self.session.terminal.out(&text);
        }
        let z3 = solver::version();
        let (findings, failures) = (&self.findings, &self.failures);
        let text = match self.format {
            Format::Text | Format::JsonLines | Format::Github => return Ok(()),
            Format::Json => json::with_errors(findings, failures, z3).map_err(unprintable)?,
            Format::Sarif => sarif::log(findings, failures, z3).map_err(unprintable)?,
            Format::Junit => junit::document(findings, failures),
            Format::Markdown => markdown::document(findings, failures, z3),
            Format::Html => html::document(findings, failures, z3),
            Format::Mermaid => mermaid::document(findings),
            Format::Perfetto => perfetto::document(findings).map_err(unprintable)?,
        };
        self.session.terminal.out(&text);
        Ok(())
    }

    /// Whether there was no result and no failure.
    pub fn decided_nothing(&self) -> bool {
        !self.any && self.exit == Exit::Success
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

fn unprintable(error: serde_json::Error) -> Failure {
    Failure::Internal(format!("cannot write JSON: {error}"))
}

fn verdict(finding: &Finding) -> Exit {
    match &finding.expectation {
        Some(comparison) if comparison.met => Exit::Success,
        Some(_) => Exit::Refuted,
        None => finding.verdict.into(),
    }
}
