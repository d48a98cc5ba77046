//! Code lenses that ask for verdicts, and the checks that they start.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lsp_types::CodeLens;
use lsp_types::Command;
use serde::Deserialize;
use serde::Serialize;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::report::Finding;
use warplock::report::expect;
use warplock::report::finding;
use warplock::report::text::abridged;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::Shared;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::hazard;

use super::document::Document;
use crate::failure::Failure;

/// The name of the command that starts a check.
pub const CHECK: &str = "warplock.check";

/// How much of a verdict a lens shows, in characters.
const TITLE: usize = 100;

/// What a check decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The name of a property, or `all` for every property that applies.
    Property(String),
    /// An `expect` line, counted from 0.
    Expect(usize),
}

impl Default for Target {
    fn default() -> Target {
        Target::Property(Property::Deadlock.name().to_owned())
    }
}

/// A check that has ended, with its findings, or one that is running.
pub struct Verdict {
    target: Target,
    state: State,
}

enum State {
    Running(Arc<AtomicBool>),
    Done(Vec<Finding>),
}

impl Verdict {
    /// A check that is running. Setting `cancel` to true ends the check.
    pub fn running(target: Target, cancel: Arc<AtomicBool>) -> Verdict {
        let state = State::Running(cancel);
        Verdict { target, state }
    }

    /// A check that has ended.
    pub fn done(target: Target, findings: Vec<Finding>) -> Verdict {
        let state = State::Done(findings);
        Verdict { target, state }
    }

    /// Whether it is a check of this target.
    pub fn is_about(&self, target: &Target) -> bool {
        self.target == *target
    }

    /// Whether it is the running check that this flag cancels.
    pub fn is_work_of(&self, flag: &Arc<AtomicBool>) -> bool {
        matches!(&self.state, State::Running(cancel) if Arc::ptr_eq(cancel, flag))
    }

    /// The findings; none while the check is running.
    pub fn findings(&self) -> &[Finding] {
        match &self.state {
            State::Running(_) => &[],
            State::Done(findings) => findings,
        }
    }

    /// Cancels the check if it is running.
    pub fn cancel(&self) {
        if let State::Running(cancel) = &self.state {
            cancel.store(true, Ordering::Relaxed);
        }
    }

    fn title(&self) -> String {
        let findings = match &self.state {
            State::Running(_) => return "checking ...".to_owned(),
            State::Done(findings) => findings.as_slice(),
        };
        let title = match findings {
            [one] => match &one.expectation {
                Some(expected) if expected.met => format!("ok: {}", expected.found),
                Some(expected) => format!("differs: {}", expected.found),
                None => format!("{}: {} {}", one.property, one.verdict.as_str(), one.summary),
            },
            several => {
                let words = several.iter();
                let words = words.map(|one| format!("{}: {}", one.property, one.verdict.as_str()));
                words.collect::<Vec<_>>().join(", ")
            }
        };
        abridged(&title, TITLE)
    }
}

/// The lenses of a text without mistakes: two at its header, and one at each expectation.
pub fn lenses(document: &Document) -> Vec<CodeLens> {
    let (Ok(protocol), Some(index)) = (&document.loaded, document.index()) else {
        return Vec::new();
    };
    let properties = [Property::Deadlock.name(), "all"];
    let titles = ["check", "check all properties"];
    let at_header = properties.iter().zip(titles).map(|(name, title)| {
        let target = Target::Property((*name).to_owned());
        (index.header, target, title)
    });
    let expectations = protocol.expectations.iter().enumerate();
    let at_expectations = expectations.map(|(at, it)| (it.span, Target::Expect(at), "check"));
    let lens = |(span, target, title): (_, Target, &str)| {
        let verdict = document
            .verdicts
            .iter()
            .find(|verdict| verdict.is_about(&target));
        let title = verdict.map_or_else(|| title.to_owned(), Verdict::title);
        let arguments = vec![serde_json::json!(document.uri), serde_json::json!(target)];
        CodeLens {
            range: document.range(span),
            command: Some(Command::new(title, CHECK.to_owned(), Some(arguments))),
            data: None,
        }
    };
    at_header.chain(at_expectations).map(lens).collect()
}

/// A check that is to be run. It does not borrow the document, so it can run in another thread.
pub struct Question {
    /// The text, without mistakes.
    pub protocol: Protocol,
    /// The name of the text.
    pub name: String,
    /// What the check decides.
    pub target: Target,
    /// The time for each property.
    pub timeout: Duration,
    /// Set to true when the result is no longer wanted.
    pub cancel: Arc<AtomicBool>,
}

impl Question {
    /// Decides. `tell` receives the current stage.
    pub fn answer(self, tell: &(dyn Fn(&str) + Sync)) -> Result<Vec<Finding>, Failure> {
        let expectation = match &self.target {
            Target::Expect(at) => {
                let found = self.protocol.expectations.get(*at);
                Some(found.ok_or_else(|| Failure::input("there is no such expectation"))?)
            }
            Target::Property(_) => None,
        };
        let name = match (&self.target, expectation) {
            (_, Some(expectation)) => expectation.property.as_str(),
            (Target::Property(name), None) => name.as_str(),
            (Target::Expect(_), None) => "",
        };
        let properties = match (name, Property::from_name(name)) {
            ("all", _) => hazard::applicable(&self.protocol),
            (_, Some(property)) => vec![property],
            (_, None) => return Err(Failure::input(format!("no property named `{name}`"))),
        };
        let mut narrowing = Narrowing::default();
        let assuming = expectation
            .iter()
            .flat_map(|expectation| &expectation.assuming);
        narrowing.assume.extend(assuming.map(|it| it.text.clone()));
        let mut protocol = self.protocol.clone();
        text::narrow(&mut protocol, &narrowing).map_err(|found| {
            let message = found.first().map(|found| found.message.clone());
            Failure::input(message.unwrap_or_default())
        })?;
        let settings = Settings {
            timeout: self.timeout,
            objectives: None,
            cancel: &self.cancel,
            tell,
            kernel: false,
        };
        let shared = Shared::default();
        let mut findings = Vec::new();
        for property in properties {
            let internal = |error: &dyn std::fmt::Display| Failure::Internal(error.to_string());
            let decision =
                verdict::decide_sharing(&protocol, &narrowing, property, &settings, &shared)
                    .map_err(|error| internal(&error))?;
            let mut found = finding::finding(&self.name, &protocol, &decision)
                .map_err(|error| internal(&error))?;
            found.expectation =
                expectation.map(|expected| expect::compare(&self.protocol, expected, &found));
            findings.push(found);
            if self.cancel.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(findings)
    }
}
